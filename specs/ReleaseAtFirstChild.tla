-------------------------- MODULE ReleaseAtFirstChild --------------------------
(***************************************************************************)
(* Releasing: a parent gives its slot back for good when it asks for its   *)
(* first child.  No deadlock, and at most cap runs have a slot; but        *)
(* nothing bounds the runs in flight.                                      *)
(***************************************************************************)
EXTENDS Slots

\* The parent's slot goes to whoever has waited for one before the child gets
\* its turn: nothing barges.
Released(p, above) ==
  IF above # Nobody /\ p.token[above] = "pool"
  THEN Return([p EXCEPT !.token[above] = "none"], above)
  ELSE p

Admitted(p, r) ==
  LET q == Released(p, p.parent[r])
  IN IF q.taken < q.cap THEN Take(q, r) ELSE Wait(q, r)

Ended(p, r) ==
  LET gone == Forget(Orphan(p, r, Nobody), r)
  IN IF p.token[r] = "pool" THEN Return(gone, r) ELSE gone

Ask(r) ==
  /\ r \in Here /\ MayAsk(r)
  /\ Asks(r, Admitted(Enter(pool, r, Above(r)), r))

Finish(r) ==
  /\ r \in Here /\ MayFinish(r)
  /\ Ends(r, Ended(pool, r))

Next == \E r \in Runs : Ask(r) \/ Resume(r) \/ Finish(r)
Spec == Init /\ [][Next]_vars

TypeOK == BodiesOK /\ PoolOK

THEOREM Spec => [](TypeOK /\ UnlentWithinCap /\ NoDeadlock) /\ RefinesSlotPool
\* Not a theorem: Spec => []InFlightWithinCapTimesLevels
=============================================================================
