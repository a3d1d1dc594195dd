----------------------------- MODULE SlotLending ------------------------------
(***************************************************************************)
(* Slot lending: a parent keeps its slot and lends it to one child at a    *)
(* time.  SEMANTICS R2 to R5, R7, R8 and R13 (a switch of the scenario),   *)
(* whatever the order.  Grant and resume are apart, so a cancel can fall   *)
(* between them.                                                           *)
(***************************************************************************)
EXTENDS Slots

Lend(p, lender, borrower) ==
  Admit([p EXCEPT !.lent[lender] = TRUE], borrower, "loan")

Borrower(p, r) ==
  CHOOSE c \in Here : p.parent[c] = r /\ p.token[c] = "loan"

Admitted(p, r) ==                                                  \* R2
  LET above == p.parent[r] IN
  IF above # Nobody /\ ~p.lent[above] THEN Lend(p, above, r)
  ELSE IF p.taken < p.cap THEN Take(p, r)
  ELSE Wait(p, r)

Relend(p, lender) ==                                               \* R13
  LET first == Head(p.children[lender]) IN
  Return([p EXCEPT !.lent[lender] = TRUE, !.token[first] = "loan"], first)

RECURSIVE GiveBack(_, _)
GiveBack(p, r) ==                                                  \* R4
  LET lender == p.parent[r]
      gone == Forget(p, r)
      back == [gone EXCEPT !.lent[lender] = FALSE]
      line == SelectSeq(p.waiting, LAMBDA c : p.parent[c] = lender)
  IN IF p.token[r] = "pool" THEN Return(gone, r)
     ELSE IF p.phase[lender] = "parked" THEN GiveBack(back, lender)
     ELSE IF line # << >>
          THEN Lend(Leave(back, Head(line), "loan"), lender, Head(line))
     ELSE IF scenario.relend /\ back.children[lender] # << >>
          THEN Relend(back, lender)
     ELSE back

Ended(p, r) ==                                                     \* R3
  IF p.lent[r]
  THEN [Orphan(p, r, Borrower(p, r)) EXCEPT !.phase[r] = "parked"]
  ELSE GiveBack(Orphan(p, r, Nobody), r)

Cancelled(p, r) ==                                                 \* R5
  IF p.phase[r] = "waiting" THEN Forget(Leave(p, r, "none"), r) ELSE Ended(p, r)

-----------------------------------------------------------------------------
Ask(r) ==
  /\ r \in Here /\ MayAsk(r)
  /\ Asks(r, Admitted(Enter(pool, r, Above(r)), r))

Finish(r) ==
  /\ r \in Here /\ MayFinish(r)
  /\ Ends(r, Ended(pool, r))

Cancel(r) ==
  /\ r \in Here /\ MayCancel(r)
  /\ Ends(r, Cancelled(pool, r))

FinishEarly(r) ==
  /\ r \in Here /\ MayFinishEarly(r)
  /\ Ends(r, Ended(pool, r))

AskLate(r) ==
  /\ r \in Here /\ MayAskLate(r)
  /\ Asks(r, Admitted(Enter(pool, r, Nobody), r))

BodyStep == \E r \in Runs : Ask(r) \/ Resume(r) \/ Finish(r)

Environment ==
  \/ \E r \in Runs : Cancel(r) \/ FinishEarly(r) \/ AskLate(r)
  \/ \E cap \in Caps : Resize(cap)

Next == BodyStep \/ Environment
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(BodyStep)    \* of body steps only

-----------------------------------------------------------------------------
TypeOK == BodiesOK /\ PoolOK

\* Loans form paths down the tree; each begins at a pool slot (its run's token
\* is no loan) and ends at the one run of it whose slot is unlent.
OneChainPerSlot ==
  /\ pool.taken = Cardinality(Heads)
  /\ \A r \in Holders :
       LET above == pool.parent[r]
           borrowers == {c \in Holders : /\ pool.token[c] = "loan"
                                         /\ pool.parent[c] = r}
       IN /\ Cardinality(borrowers) = IF pool.lent[r] THEN 1 ELSE 0
          /\ pool.token[r] = "loan" => /\ above \in Holders
                                       /\ pool.level[above] < pool.level[r]

NoLostWakeUp ==                                                    \* R7
  \A r \in Waiting :
    /\ pool.taken >= pool.cap
    /\ pool.parent[r] # Nobody => pool.lent[pool.parent[r]]

RelendLeavesNoIdle ==
  scenario.relend =>
    \A r \in Holders : pool.parent[r] # Nobody => pool.lent[pool.parent[r]]

THEOREM Spec => [](TypeOK /\ UnlentWithinCap /\ InFlightWithinCapTimesLevels)
THEOREM Spec => RefinesSlotPool
THEOREM FairSpec => AllFinish
=============================================================================
