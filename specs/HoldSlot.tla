------------------------------- MODULE HoldSlot -------------------------------
(***************************************************************************)
(* Holding: a plain semaphore around each run.  A parent keeps its slot to *)
(* its end and lends it to nobody, so as many parents as there are slots   *)
(* can wait for children that get none: NoDeadlock does not hold.          *)
(***************************************************************************)
EXTENDS Slots

Admitted(p, r) == IF p.taken < p.cap THEN Take(p, r) ELSE Wait(p, r)

Ended(p, r) == Return(Forget(Orphan(p, r, Nobody), r), r)

Ask(r) ==
  /\ r \in Here /\ MayAsk(r)
  /\ Asks(r, Admitted(Enter(pool, r, Above(r)), r))

Finish(r) ==
  /\ r \in Here /\ MayFinish(r)
  /\ Ends(r, Ended(pool, r))

Next == \E r \in Runs : Ask(r) \/ Resume(r) \/ Finish(r)
Spec == Init /\ [][Next]_vars

TypeOK == BodiesOK /\ PoolOK

InFlightWithinCap == Cardinality(InFlight) <= pool.cap

THEOREM Spec => [](TypeOK /\ InFlightWithinCap) /\ RefinesSlotPool
\* Not a theorem: Spec => []NoDeadlock
=============================================================================
