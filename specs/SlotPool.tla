------------------------------- MODULE SlotPool -------------------------------
(***************************************************************************)
(* The most abstract statement: runs hold slots of a pool, and no step     *)
(* hands out a slot that makes more than cap of them.  The cap may change; *)
(* lowering it takes a slot from nobody.                                   *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Runs,   \* who may hold a slot
  Caps    \* what the pool may be resized to

VARIABLES
  cap,       \* how many slots there are
  holders    \* the runs that hold one

vars == <<cap, holders>>

TypeOK == cap \in Nat \ {0} /\ holders \subseteq Runs

Init == cap \in Caps /\ holders = {}

HandsOut == holders' \subseteq holders \/ Cardinality(holders') <= cap'

\* A run asks: it, and nobody else, may get a slot.
Ask ==
  /\ holders' \in SUBSET Runs
  /\ holders \subseteq holders' /\ Cardinality(holders' \ holders) <= 1
  /\ UNCHANGED cap
  /\ HandsOut

\* A run gives its slot back, and it goes to somebody who waits for one.
GiveBack ==
  /\ holders' \in SUBSET Runs
  /\ Cardinality(holders \ holders') = 1 /\ Cardinality(holders' \ holders) <= 1
  /\ UNCHANGED cap
  /\ HandsOut

\* The cap changes; slots that this frees go to those who wait.
Resize ==
  /\ holders' \in SUBSET Runs
  /\ holders \subseteq holders'
  /\ cap' \in Caps
  /\ HandsOut

Next == Ask \/ GiveBack \/ Resize
Spec == Init /\ [][Next]_vars

CapRespected == [][HandsOut]_vars

THEOREM Spec => []TypeOK /\ CapRespected
=============================================================================
