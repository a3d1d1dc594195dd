------------------------------ MODULE BuildPermit ------------------------------
(***************************************************************************)
(* The build permit, SEMANTICS R9: the runs of one component work one      *)
(* after another, and a memo spares those that would make again what is    *)
(* there.  Slot before permit; nobody waits for a slot while holding a     *)
(* permit.  Slots are lent (SlotLending), first come, first served.        *)
(***************************************************************************)
EXTENDS Bodies

VARIABLES
  pool, levels, resizes,    \* as in Slots
  permits                   \* a record, see NoPermits

vars == <<scenario, progress, pool, levels, resizes, permits>>

Lending == INSTANCE SlotLending WITH
  scenario <- scenario, progress <- progress, pool <- pool, levels <- levels,
  resizes <- resizes

None == 0
Component(r) == scenario.component[r]
Components == {Component(r) : r \in Here} \ {None}
Numbers == 1 .. (CHOOSE n \in Components \cup {None} : \A c \in Components : c <= n)
RunsOf(c) == {r \in Here : Component(r) = c}

\* Present: has entered and is not over, slot or not.
Present == {r \in Here : progress[r] \in {"asked", "resumed"}}

NoPermits ==
  [holder |-> [c \in Numbers |-> Nobody],
   queue  |-> [c \in Numbers |-> << >>],     \* who queued first stands first
   memo   |-> [c \in Numbers |-> None],      \* key of its last body that ended
                                             \* well
   under  |-> [r \in Here |-> Nobody]]       \* the run that a present run asks
                                             \* under, while that is present
PermitsOK ==
  /\ permits.holder \in [Numbers -> Here \cup {Nobody}]
  /\ permits.queue \in [Numbers -> Seq(Here)]
  /\ permits.memo \in [Numbers -> Nat]
  /\ permits.under \in [Here -> Here \cup {Nobody}]

-----------------------------------------------------------------------------
\* Who mounted r, directly or through others, ended runs included.
RECURSIVE Lineage(_)
Lineage(r) ==
  IF Above(r) = Nobody THEN {} ELSE {Above(r)} \cup Lineage(Above(r))

\* It would wait for its own lineage, so it is refused (component_above).
BelowItself(r) ==
  Component(r) # None /\ \E m \in Lineage(r) : Component(m) = Component(r)

Beside(r) == Component(r) # None /\ Present \cap RunsOf(Component(r)) # {}

-----------------------------------------------------------------------------
\* From the permits m to the next; pools as in SlotLending.
Queues(m, r) ==                   \* queueing on a free permit takes it
  LET c == Component(r)
  IN IF c = None THEN m
     ELSE IF m.holder[c] = Nobody THEN [m EXCEPT !.holder[c] = r]
     ELSE [m EXCEPT !.queue[c] = Append(@, r)]

Drops(m, c) ==                    \* to the run that queued first
  IF m.queue[c] = << >> THEN [m EXCEPT !.holder[c] = Nobody]
  ELSE [m EXCEPT !.holder[c] = Head(m.queue[c]), !.queue[c] = Tail(@)]

Over(m, r) ==                     \* nobody asks under it from now on
  [m EXCEPT !.under = [x \in Here |->
                         IF x = r \/ @[x] = r THEN Nobody ELSE @[x]]]

\* Whoever waited in p and has a slot in q queues on its permit.
RECURSIVE QueueAll(_, _)
QueueAll(m, line) ==
  IF line = << >> THEN m ELSE QueueAll(Queues(m, Head(line)), Tail(line))
Granted(m, p, q) ==
  QueueAll(m, SelectSeq(p.waiting, LAMBDA x : q.phase[x] = "in_flight"))

HasSlot(r) == pool.phase[r] = "in_flight"
Handed(r) == /\ progress[r] = "asked" /\ Component(r) # None
             /\ permits.holder[Component(r)] = r
Answers(r) == scenario.key[r] # None
              /\ permits.memo[Component(r)] = scenario.key[r]

Highest(p, r) == IF p.level[r] > levels THEN p.level[r] ELSE levels

\* A slot is asked for, under the run that was fixed at enter.
AsksForSlot(r, m) ==
  LET p == Lending!Admitted(Lending!Enter(pool, r, m.under[r]), r)
  IN /\ pool' = p
     /\ permits' = IF p.phase[r] = "in_flight" THEN Queues(m, r) ELSE m
     /\ levels' = Highest(p, r)

Enters(r, above) ==
  LET m == [permits EXCEPT !.under[r] = above]
  IN IF BelowItself(r)
     THEN Moves(r, "ended") /\ UNCHANGED <<pool, levels, permits>>
     ELSE /\ Moves(r, "asked")
          /\ IF Beside(r) THEN permits' = Queues(m, r) /\ UNCHANGED <<pool, levels>>
             ELSE AsksForSlot(r, m)

\* It is over, with this memo if it held its permit; p is the pool then.
EndsWith(r, memo, p) ==
  LET c == Component(r)
      gone == Over(permits, r)
      dropped == IF c = None THEN gone
                 ELSE IF permits.holder[c] = r
                      THEN Drops([gone EXCEPT !.memo[c] = memo], c)
                 ELSE [gone EXCEPT !.queue[c] = SelectSeq(@, LAMBDA x : x # r)]
  IN /\ Moves(r, "ended")
     /\ pool' = p
     /\ permits' = Granted(dropped, pool, p)
     /\ UNCHANGED levels

\* The holder, on resuming, checks the memo first.
IsAnswered(r) ==
  EndsWith(r, permits.memo[Component(r)],
           IF HasSlot(r) THEN Lending!Ended(pool, r) ELSE pool)
Works(r) ==
  /\ HasSlot(r)
  /\ Moves(r, "resumed") /\ UNCHANGED <<pool, levels, permits>>
DropsAndAsks(r) ==
  /\ ~HasSlot(r)
  /\ AsksForSlot(r, Drops(permits, Component(r)))
  /\ UNCHANGED <<scenario, progress>>

NoChild(r) == \A x \in Present : permits.under[x] # r
EndsWell(r) ==                    \* before its children: stores nothing
  EndsWith(r, IF NoChild(r) THEN scenario.key[r] ELSE None,
           Lending!Ended(pool, r))

-----------------------------------------------------------------------------
Ask(r) ==
  /\ r \in Here /\ MayAsk(r) /\ Enters(r, Above(r)) /\ UNCHANGED resizes

Resume(r) ==
  /\ r \in Here
  /\ \/ Component(r) = None /\ Lending!Resume(r) /\ UNCHANGED permits
     \/ /\ Handed(r) /\ UNCHANGED resizes
        /\ IF Answers(r) THEN IsAnswered(r) ELSE Works(r) \/ DropsAndAsks(r)

Finish(r) ==
  /\ r \in Here /\ MayFinish(r) /\ EndsWell(r) /\ UNCHANGED resizes

FinishEarly(r) ==
  /\ r \in Here /\ MayFinishEarly(r) /\ EndsWell(r) /\ UNCHANGED resizes

Fail(r) ==
  /\ r \in Here /\ MayFail(r)
  /\ EndsWith(r, None, Lending!Ended(pool, r)) /\ UNCHANGED resizes

Cancel(r) ==         \* the pool never hears of a run that did not ask
  /\ r \in Here /\ MayCancel(r)
  /\ EndsWith(r, None, IF pool.phase[r] = "unknown" THEN pool
                       ELSE Lending!Cancelled(pool, r))
  /\ UNCHANGED resizes

AskLate(r) ==
  /\ r \in Here /\ MayAskLate(r) /\ Enters(r, Nobody) /\ UNCHANGED resizes

Resize(cap) ==
  /\ Lending!Resize(cap) /\ permits' = Granted(permits, pool, pool')

Init == Lending!Init /\ permits = NoPermits

BodyStep == \E r \in Runs : Ask(r) \/ Resume(r) \/ Finish(r)
Environment ==
  \/ \E r \in Runs : Cancel(r) \/ FinishEarly(r) \/ Fail(r) \/ AskLate(r)
  \/ \E cap \in Caps : Resize(cap)

Next == BodyStep \/ Environment
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(BodyStep)
=============================================================================
