------------------------------- MODULE PerLevel -------------------------------
(***************************************************************************)
(* One pool per level of the tree, each of cap slots.  No deadlock, and    *)
(* both counts stay within cap x levels; but the levels must be known, and *)
(* more than cap runs can be at work.                                      *)
(***************************************************************************)
EXTENDS Slots

TakenAt(p, level) ==
  Cardinality({r \in Here : p.token[r] = "pool" /\ p.level[r] = level})

Admitted(p, r) ==
  IF TakenAt(p, p.level[r]) < p.cap THEN Take(p, r) ELSE Wait(p, r)

ServeLevel(p, level) ==       \* one slot of the level came back
  LET line == SelectSeq(p.waiting, LAMBDA c : p.level[c] = level)
  IN IF line = << >> THEN p ELSE Take(Leave(p, Head(line), "pool"), Head(line))

Ended(p, r) ==
  LET gone == Forget(Orphan(p, r, Nobody), r)
  IN ServeLevel(Uncharged(gone, r), p.level[r])

Ask(r) ==
  /\ r \in Here /\ MayAsk(r)
  /\ Asks(r, Admitted(Enter(pool, r, Above(r)), r))

Finish(r) ==
  /\ r \in Here /\ MayFinish(r)
  /\ Ends(r, Ended(pool, r))

Next == \E r \in Runs : Ask(r) \/ Resume(r) \/ Finish(r)
Spec == Init /\ [][Next]_vars

TypeOK == BodiesOK /\ PoolOK

WithinCapTimesLevels == Cardinality(InFlight) <= pool.cap * levels
ExecutingWithinCap == Cardinality(Unlent) <= pool.cap

THEOREM Spec => [](TypeOK /\ WithinCapTimesLevels /\ NoDeadlock)
\* Not a theorem: Spec => []ExecutingWithinCap
=============================================================================
