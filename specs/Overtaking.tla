------------------------------ MODULE Overtaking -------------------------------
(***************************************************************************)
(* How often a job that waits is overtaken: FairAdmission with a count of  *)
(* it, a ghost that decides nothing, and with jobs that stream: a run of   *)
(* theirs may ask again once it is forgotten, for ever.                    *)
(***************************************************************************)
EXTENDS FairAdmission

CONSTANTS
  Streams,    \* the jobs (nodes) that stream
  Limit,      \* counted no further
  Watched     \* the run that liveness is stated for

ASSUME Limit \in Nat \ {0} /\ Watched \in Runs

VARIABLE
  passed      \* of a job that waits: how often each sibling was served since

allVars == <<scenario, progress, pool, levels, resizes, passed>>

\* What n waits for goes on: it waits before and after, was not served, and
\* holds something or nothing as before.
StillWaits(n) ==
  /\ WaitsAt(pool, n) /\ WaitsAt(pool', n)
  /\ \A r \in Granted : ~Lies(r, n)
  /\ Hungry(n) = Hungry(n)'

Least(x, y) == IF x < y THEN x ELSE y

Counts ==
  passed' = [n \in Nodes |-> [k \in Nodes |->
    IF Siblings(n, k) /\ StillWaits(n)
    THEN Least(Limit, passed[n][k] + Cardinality({r \in Granted : Lies(r, k)}))
    ELSE 0]]

AskAgain(r) ==
  /\ r \in Here /\ Above(r) = Nobody /\ scenario.job[r] \in Streams
  /\ progress[r] = "ended" /\ pool.phase[r] = "unknown"
  /\ Asks(r, Admitted(Enter(pool, r, Nobody), r))

CountedInit == Init /\ passed = [n \in Nodes |-> [k \in Nodes |-> 0]]
CountedNext == (Next \/ \E r \in Runs : AskAgain(r)) /\ Counts
CountedSpec == CountedInit /\ [][CountedNext]_allVars

\* Body steps go on for ever where they can; which of them is nobody's promise,
\* so that a run works as long as it likes while others do.  This is
\* WF_vars(BodyStep), with what enables a body step written out, as in
\* NoDeadlock: TLC takes exponential time to find it out by itself.
CanStep == \E r \in Here : MayAsk(r) \/ MayResume(r) \/ MayFinish(r)
GoesOn == []<>~CanStep \/ []<><<BodyStep>>_vars
CountedFairSpec == CountedSpec /\ GoesOn

-----------------------------------------------------------------------------
CountOK == passed \in [Nodes -> [Nodes -> 0 .. Limit]]

HungryOvertakenAtMostOnce ==
  \A n, k \in Nodes : Hungry(n) => passed[n][k] <= 1

HungryNeverOvertaken == \A n, k \in Nodes : Hungry(n) => passed[n][k] = 0

HolderOvertakenBelowLimit ==
  \A n, k \in Nodes : ~Hungry(n) => passed[n][k] < Limit

\* All the way from its job to the root, nobody holds anything.
AllHungry(r) ==
  r \in Waiting /\ \A n \in Way(scenario.job[r]) : HeldBy(n) = {}

\* Liveness, of one run, whichever it is: of all at once it would say as much.
HungryIsServed ==
  AllHungry(Watched) ~> ~AllHungry(Watched)
EveryoneIsServed ==
  (Watched \in Waiting) ~> (Watched \notin Waiting)

\* With the tie-break served, and fewest held first:
\* THEOREM CountedSpec => []HungryOvertakenAtMostOnce
\* THEOREM CountedFairSpec => HungryIsServed
\* Not theorems: HolderOvertakenBelowLimit, EveryoneIsServed.
=============================================================================
