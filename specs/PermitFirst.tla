------------------------------ MODULE PermitFirst ------------------------------
(***************************************************************************)
(* Permits the other way round: queue on the permit first, and ask for a   *)
(* slot while holding it.  PermitOrder does not hold, and a run that sits  *)
(* on the last slot waits for a child that queues on the permit of a run   *)
(* that waits for that slot: NoDeadlock does not hold either.              *)
(***************************************************************************)
EXTENDS Bodies

VARIABLES
  pool, levels, resizes, permits    \* as in BuildPermit

Permits == INSTANCE PermitInvariants WITH
  scenario <- scenario, progress <- progress, pool <- pool, levels <- levels,
  resizes <- resizes, permits <- permits

vars == <<scenario, progress, pool, levels, resizes, permits>>

Enters(r) ==
  /\ Moves(r, "asked")
  /\ permits' = Permits!Queues([permits EXCEPT !.under[r] = Above(r)], r)
  /\ UNCHANGED <<pool, levels>>

AsksAndKeeps(r) ==
  LET p == Permits!Lending!Admitted(
             Permits!Lending!Enter(pool, r, permits.under[r]), r)
  IN /\ pool' = p
     /\ levels' = Permits!Highest(p, r)
     /\ UNCHANGED <<scenario, progress, permits>>

Ask(r) ==
  /\ r \in Here /\ MayAsk(r) /\ UNCHANGED resizes
  /\ IF Permits!Component(r) = 0 THEN Permits!Enters(r, Above(r)) ELSE Enters(r)

Resume(r) ==
  /\ r \in Here
  /\ IF Permits!Component(r) = 0 \/ Permits!Answers(r) \/ Permits!HasSlot(r)
     THEN Permits!Resume(r)
     ELSE /\ Permits!Handed(r) /\ pool.phase[r] = "unknown"
          /\ AsksAndKeeps(r) /\ UNCHANGED resizes

EndsWell(r) ==
  LET p == Permits!Lending!Ended(pool, r)
      c == Permits!Component(r)
      gone == Permits!Over(permits, r)
  IN /\ Moves(r, "ended")
     /\ pool' = p
     /\ permits' = IF c = 0 THEN gone
                   ELSE Permits!Drops([gone EXCEPT !.memo[c] = scenario.key[r]], c)
     /\ UNCHANGED <<levels, resizes>>

Finish(r) == r \in Here /\ MayFinish(r) /\ EndsWell(r)

Next == \E r \in Runs : Ask(r) \/ Resume(r) \/ Finish(r)
Spec == Permits!Init /\ [][Next]_vars

PermitOrder == Permits!PermitOrder /\ DOMAIN permits.holder # {}

\* A holder that waits for its slot can do nothing.
CanStep ==
  \E r \in Here : MayAsk(r) \/ MayFinish(r)
    \/ IF Permits!Component(r) = 0 THEN Permits!Lending!MayResume(r)
       ELSE Permits!Handed(r) /\ pool.phase[r] # "waiting"
NoDeadlock == Finished \/ CanStep

\* Not theorems: Spec => []PermitOrder, Spec => []NoDeadlock.
=============================================================================
