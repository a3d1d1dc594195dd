------------------------------- MODULE SkipsMemo -------------------------------
(***************************************************************************)
(* A holder that does not look at the memo once it has the permit: two     *)
(* runs of one component and one key, the second does the work of the      *)
(* first again.  NoDoubleWork does not hold.                               *)
(***************************************************************************)
EXTENDS PermitInvariants

WorksAnyway(r) ==
  /\ r \in Here /\ Handed(r) /\ UNCHANGED resizes
  /\ Works(r) \/ DropsAndAsks(r)

NextAnyway ==
  \E r \in Runs :
    \/ Ask(r) \/ WorksAnyway(r) \/ Finish(r)
    \/ r \in Here /\ Component(r) = None /\ Resume(r)
SpecAnyway == Init /\ [][NextAnyway]_vars

\* Not a theorem: SpecAnyway => NoDoubleWork
=============================================================================
