-------------------------------- MODULE Bodies --------------------------------
(***************************************************************************)
(* What the runs of a scenario do, whatever becomes of the slots: trees of *)
(* runs whose bodies ask for all children in any order, wait for all of    *)
(* them and finish; and what may happen to them from outside.              *)
(*                                                                         *)
(* A scenario is data in the state, chosen once and never changed, so that *)
(* one run of the checker covers many trees, caps and switches.            *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Runs,        \* 1 .. the most runs that a scenario has
  Caps,        \* what a pool may be resized to
  Scenarios    \* a set of scenarios

Nobody == 0    \* the parent of a run without one

ScenarioOK(s) ==
  /\ s.parent \in Seq(Runs \cup {Nobody})        \* of each run its parent,
  /\ \A r \in DOMAIN s.parent : s.parent[r] < r  \* which comes before it
  /\ s.cap \in Nat \ {0}
  /\ s.order \in {"fifo", "fewest_held", "round_robin"}      \* R6
  /\ s.tie \in {"served", "oldest"}
  /\ s.jobs \in Seq(Nat)       \* of each node of the tree of jobs the one
  /\ \A n \in DOMAIN s.jobs : s.jobs[n] < n     \* above it; 0 of the root
  /\ s.job \in [DOMAIN s.parent -> DOMAIN s.jobs \ {1}]   \* of each run, a
  /\ \A r \in DOMAIN s.job : \A n \in DOMAIN s.jobs : s.jobs[n] # s.job[r]
  /\ s.relend \in BOOLEAN      \* is R13 on?                         \* leaf
  /\ s.cancel \in BOOLEAN      \* may any run be cancelled at any time,
  /\ s.early \in BOOLEAN       \* finish before its body is through,
  /\ s.late \in BOOLEAN        \* or ask after its parent's end?
  /\ s.fail \in BOOLEAN        \* or fail once it has begun?
  /\ s.component \in [DOMAIN s.parent -> Nat]   \* of each run, 0 for none:
  /\ s.key \in [DOMAIN s.parent -> Nat]    \* what a memo can answer it by
  /\ s.resizes \in Nat         \* at most so many resizes in one behaviour
  /\ s.most \in Nat            \* Most(s.parent, s.cap), found once

ASSUME Runs \subseteq Nat \ {Nobody} /\ Caps \subseteq Nat \ {0}
ASSUME \A s \in Scenarios : ScenarioOK(s)

\* The most runs on cap disjoint downward paths.  A set of runs is covered by
\* as many such paths as it has members without a child in it.
Most(parent, cap) ==
  LET Ends(set) == {r \in set : \A c \in set : parent[c] # r}
      sizes == {Cardinality(set) : set \in
                 {s \in SUBSET DOMAIN parent : Cardinality(Ends(s)) <= cap}}
  IN CHOOSE m \in sizes : \A n \in sizes : n <= m

VARIABLES
  scenario,    \* rigid: what this behaviour is of
  progress     \* of each run: "idle", "asked", "resumed" or "ended"

Here == DOMAIN scenario.parent                 \* the runs of this scenario
Above(r) == scenario.parent[r]
Children(r) == {c \in Here : scenario.parent[c] = r}

BodiesOK == progress \in [Here -> {"idle", "asked", "resumed", "ended"}]

BodiesInit ==
  /\ scenario \in Scenarios
  /\ progress = [r \in Here |-> "idle"]

Moves(r, to) ==
  /\ progress' = [progress EXCEPT ![r] = to]
  /\ UNCHANGED scenario

\* Whether the body of r, or what may happen to it, lets it take a step.
MayAsk(r) ==
  /\ progress[r] = "idle"
  /\ Above(r) # Nobody => progress[Above(r)] = "resumed"

Through(r) == \A c \in Children(r) : progress[c] = "ended"
MayFinish(r) == progress[r] = "resumed" /\ Through(r)

MayCancel(r) == scenario.cancel /\ progress[r] \in {"asked", "resumed"}
MayFinishEarly(r) == scenario.early /\ progress[r] = "resumed" /\ ~Through(r)
MayFail(r) == scenario.fail /\ progress[r] = "resumed"
MayAskLate(r) ==
  /\ scenario.late
  /\ progress[r] = "idle"
  /\ IF Above(r) = Nobody THEN FALSE ELSE progress[Above(r)] = "ended"

\* Every run that has asked, or that a body will ask for, has ended.
Finished ==
  \A r \in Here :
    /\ progress[r] \notin {"asked", "resumed"}
    /\ Above(r) = Nobody => progress[r] = "ended"
=============================================================================
