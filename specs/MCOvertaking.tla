----------------------------- MODULE MCOvertaking ------------------------------
(***************************************************************************)
(* Models of Overtaking.  Runs without a parent; one job of each model     *)
(* streams, so that its behaviours need not end.                           *)
(***************************************************************************)
EXTENDS Overtaking, MCTrees

MCStreams == {2}
MCLimit   == 3
MCWatched == 4

ByServed == [order |-> "fewest_held", tie |-> "served"]
ByOldest == [order |-> "fewest_held", tie |-> "oldest"]
ByFifo   == [order |-> "fifo", tie |-> "served"]
ByTurns  == [order |-> "round_robin", tie |-> "served"]

Roots(jobs, job, cap, order) ==
  [Scenario([r \in DOMAIN job |-> 0], cap, FALSE, Plain) EXCEPT
     !.jobs = jobs, !.job = job, !.order = order.order, !.tie = order.tie]

Two    == <<0, 1, 1>>
Three  == <<0, 1, 1, 1>>
Nested == <<0, 1, 1, 2, 2>>

\* As many busy jobs as slots, each with more runs than slots, and a new one.
MCOvertakingScenarios ==
  {Roots(Two, <<2, 2, 3>>, 1, ByServed), Roots(Three, <<2, 2, 3, 3, 4>>, 2, ByServed)}
MCNestedScenarios ==
  {Roots(<<0, 1, 1, 3, 3>>, <<2, 2, 4, 5, 5>>, cap, ByServed) : cap \in {1, 2}}
MCFallsBackScenarios == {Roots(Two, <<2, 2, 2, 3>>, 1, ByOldest)}
MCFifoScenarios      == {Roots(Two, <<2, 2, 2, 3>>, 1, ByFifo)}

\* One job has both slots when another comes: it is served next.
MCSpareScenarios  == {Roots(Two, <<2, 2, 2, 3>>, 2, ByOldest)}

\* Job 3 holds a slot and has another run waiting; job 2 streams.
MCHolderScenarios == {Roots(Two, <<2, 2, 3, 3>>, 2, ByServed)}
MCTurnsScenarios  == {Roots(Two, <<2, 2, 3, 3>>, 2, ByTurns)}
MCNoStreams == {}
=============================================================================
