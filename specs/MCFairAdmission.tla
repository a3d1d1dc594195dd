---------------------------- MODULE MCFairAdmission ----------------------------
(***************************************************************************)
(* Models of FairAdmission: trees and forests (MCTrees), each with a tree  *)
(* of jobs.  A tree of jobs names of each node the one above it (the root  *)
(* is 1, above it is 0), and of each run its job, a leaf.                  *)
(***************************************************************************)
EXTENDS FairAdmission, MCTrees

\* Two jobs of one node and one beside it; the children of a root with three
\* are of two jobs, neither of them the root's.
TwoLevels == <<0, 1, 1, 2, 2>>
Flat3     == <<0, 1, 1, 1>>

With(scenario_, jobs, job, order) ==
  [scenario_ EXCEPT !.jobs = jobs, !.job = job,
                    !.order = order.order, !.tie = order.tie]

Fifo       == [order |-> "fifo", tie |-> "served"]
ByServed   == [order |-> "fewest_held", tie |-> "served"]
ByOldest   == [order |-> "fewest_held", tie |-> "oldest"]
ByTurns    == [order |-> "round_robin", tie |-> "served"]
AllOrders  == {Fifo, ByServed, ByOldest, ByTurns}
FairOrders == {ByServed, ByOldest}

\* Of scenarios (a tree, its jobs, the job of each run) all variants.
Shared(cases, caps, relend, acts, orders) ==
  {With(Scenario(c[1], cap, on, acts), c[2], c[3], order) :
     c \in cases, cap \in caps, on \in relend, order \in orders}

FourRoots == <<0, 0, 0, 0>>
Backlog   == <<FourRoots, Flat3, <<2, 2, 2, 3>>>>      \* three runs and one
Nested    == <<FourRoots, TwoLevels, <<4, 5, 4, 3>>>>
Mixed     == <<TwoChains, TwoLevels, <<4, 3, 5, 5>>>>  \* a child of another
Spread    == <<Star4, TwoLevels, <<3, 4, 5, 4, 3>>>>   \* job than its parent
ForkJobs  == <<Fork, TwoLevels, <<3, 4, 5, 3>>>>
PairJobs  == <<Pair, TwoLevels, <<3, 4, 5>>>>
FiveRoots == <<<<0, 0, 0, 0, 0>>, TwoLevels, <<4, 4, 5, 3, 3>>>>

\* The default: every order where runs wait for one slot and where a parent
\* lends to another job; the rest under the orders that look at jobs.
MCFairScenarios ==
  Shared({Mixed}, {1, 2}, {FALSE}, Plain, AllOrders)
    \cup Shared({Nested}, {1}, {FALSE}, Plain, AllOrders \ {Fifo})
    \cup Shared({Nested}, {2}, {FALSE}, Plain, {ByServed})
    \cup Shared({Spread}, {2}, {TRUE}, Plain, {ByServed})
    \cup Shared({ForkJobs}, {2}, {TRUE}, WithCancel, FairOrders)
    \cup Shared({PairJobs}, {1}, {FALSE}, WithAll, FairOrders)

\* Bigger ones.
MCFairPlainScenarios ==
  Shared({Mixed, Nested, Backlog, Spread}, MCCaps, BOOLEAN, Plain, AllOrders)
    \cup Shared({FiveRoots}, {1, 2}, {FALSE}, Plain, FairOrders)
MCFairCancelScenarios ==
  Shared({Mixed, Nested, ForkJobs}, {1, 2}, BOOLEAN, WithCancel, FairOrders)
MCFairEarlyScenarios ==
  Shared({Mixed, ForkJobs, PairJobs}, {1, 2}, BOOLEAN, WithEarly, FairOrders)
MCFairResizeScenarios ==
  Shared({Mixed, Nested}, {1, 3}, BOOLEAN, Resized(2, Plain), FairOrders)

\* Small ones, each to reach one thing.
MCFairWitnessScenarios ==
  Shared({Nested, Backlog}, {2}, {FALSE}, Plain, {ByServed})
    \cup Shared({Mixed}, {1, 2}, {FALSE}, Plain, {ByServed})

-----------------------------------------------------------------------------
HoldsWithout(r, n) == Cardinality({x \in Heads' \ {r} : Lies(x, n)})
HoldsLess(r, n, k) == HoldsWithout(r, n) < HoldsWithout(r, k)
HoldsAsLittle(r, n, k) == HoldsWithout(r, n) = HoldsWithout(r, k)

\* Witnesses: each of these must be violated.
NeverAJobHoldsTwo ==
  \A n \in Nodes : JobsBelow(n) = {} => pool.held[n] < 2
NeverUnequalShares ==         \* a slot goes to a job that holds less than another
  [][ \A r \in Granted, n, k \in Nodes :
        Lies(r, n) /\ Siblings(n, k) /\ WaitsAt(pool, k) => ~HoldsLess(r, n, k) ]_vars
NeverATurn ==                 \* to one of two that hold as little, by its place
  [][ \A r \in Granted, n, k \in Nodes :
        Lies(r, n) /\ Siblings(n, k) /\ WaitsAt(pool, k) => ~HoldsAsLittle(r, n, k) ]_vars
NeverALoanToAnotherJob ==
  \A r \in Here : pool.token[r] = "loan" =>
    scenario.job[r] = scenario.job[pool.parent[r]]
=============================================================================
