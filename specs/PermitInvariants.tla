--------------------------- MODULE PermitInvariants ---------------------------
(***************************************************************************)
(* What BuildPermit keeps, under the names of SEMANTICS, section 4; and    *)
(* what lending keeps below it.                                            *)
(***************************************************************************)
EXTENDS BuildPermit

TypeOK == BodiesOK /\ PermitsOK /\ Lending!TypeOK

UnlentWithinCap == Cardinality(Lending!Unlent) = pool.taken
InFlightWithinCapTimesLevels ==
  /\ Cardinality(Lending!InFlight) <= pool.taken * levels
  /\ resizes = 0 => pool.taken <= pool.cap
NoSlotLeak == pool.taken = Cardinality(Lending!Heads)
NoLostWakeUp == Lending!NoLostWakeUp /\ pool.cap > 0
EndedHoldsNoSlot ==
  \A r \in Here : progress[r] \in {"idle", "ended"} =>
    pool.phase[r] \in {"unknown", "parked"}

PermitOrder ==
  \A c \in Components : permits.holder[c] # Nobody =>
    pool.phase[permits.holder[c]] # "waiting"

Working(r) == Component(r) # None /\ progress[r] = "resumed"

PermitExclusive ==
  \A r, x \in Here : Working(r) /\ Working(x) /\ r # x =>
    Component(r) # Component(x)

NoPermitLost ==
  \A c \in Components : permits.queue[c] # << >> => permits.holder[c] # Nobody

HolderPresent ==
  \A c \in Components :
    LET queue == permits.queue[c]
        named == {queue[i] : i \in DOMAIN queue}
          \cup ({permits.holder[c]} \ {Nobody})
    IN named \subseteq Present \cap RunsOf(c)

WorksUnderPermit ==
  \A r \in Here : Working(r) => permits.holder[Component(r)] = r /\ HasSlot(r)

-----------------------------------------------------------------------------
\* Step by step.  A body that ends stores its key or clears, and clears if a
\* child is present still; nothing else makes a memo what it was not.
EndsItsBody(r, c) == Component(r) = c /\ Working(r) /\ progress'[r] = "ended"

MemoTrue ==
  [][ \A c \in Components :
        LET now == permits'.memo[c]
            ended == {r \in Here : EndsItsBody(r, c)}
        IN /\ ended = {} => now \in {None, permits.memo[c]}
           /\ \A r \in ended : now \in {None} \cup
                                 (IF NoChild(r) THEN {scenario.key[r]} ELSE {}) ]_vars

\* No body starts while the stored memo answers it.
NoDoubleWork ==
  [][ \A r \in Here : Component(r) # None /\ progress[r] = "asked"
                        /\ progress'[r] = "resumed" => ~Answers(r) ]_vars

PermitFirstCome ==
  [][ \A c \in Components :
        LET queued == permits.queue[c]
            stayed == SelectSeq(queued, LAMBDA x : progress'[x] = "asked")
            now == permits'.holder[c]
            fresh == now \notin {Nobody, permits.holder[c]}
            rest == IF fresh /\ stayed # << >> THEN Tail(stayed) ELSE stayed
        IN /\ fresh /\ stayed # << >> => now = Head(stayed)
           /\ SubSeq(permits'.queue[c], 1, Len(rest)) = rest ]_vars

EnterTakesNoSlot ==
  [][ \A r \in Here : progress[r] = "idle" /\ progress'[r] # "idle"
                        /\ (Beside(r) \/ BelowItself(r)) => pool' = pool ]_vars

CapRespected ==
  [][ Lending!Heads' \subseteq Lending!Heads \/ pool'.taken <= pool'.cap ]_vars

SlotPool == INSTANCE SlotPool WITH cap <- pool.cap, holders <- Lending!Heads
RefinesSlotPool == SlotPool!Spec

-----------------------------------------------------------------------------
\* S mounts T: a run of S is above a run of T in the lineage of mounts.
Mounts(s, t) ==
  \E r \in RunsOf(t) : \E m \in Lineage(r) : Component(m) = s
RECURSIVE Reaches(_, _, _)
Reaches(s, t, most) ==
  \/ Mounts(s, t)
  \/ most > 0 /\ \E u \in Components : Mounts(s, u) /\ Reaches(u, t, most - 1)
\* A run below its own component is refused, so it is no circle.
Acyclic ==
  \A s, t \in Components : s # t /\ Mounts(s, t) =>
    ~Reaches(t, s, Cardinality(Components))

CanStep ==
  \E r \in Here : MayAsk(r) \/ MayFinish(r)
    \/ IF Component(r) = None THEN Lending!MayResume(r) ELSE Handed(r)

NoDeadlock == Finished \/ CanStep
NoDeadlockWithPermits == Acyclic => NoDeadlock

AllFinish == <>[]Finished

\* How many slots sit with runs that queue on a permit.
Sitting ==
  {r \in Here : /\ pool.phase[r] = "in_flight" /\ progress[r] = "asked"
                /\ Component(r) # None /\ permits.holder[Component(r)] # r}

THEOREM Spec => [](TypeOK /\ PermitOrder /\ PermitExclusive /\ NoPermitLost)
THEOREM Spec => MemoTrue /\ NoDoubleWork /\ RefinesSlotPool
THEOREM Spec => []NoDeadlockWithPermits
\* Not a theorem: Spec => []NoDeadlock.  Two components that mount each other.
=============================================================================
