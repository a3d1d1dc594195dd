-------------------------------- MODULE MCTrees --------------------------------
(***************************************************************************)
(* The trees and switches that the models pick their scenarios from.  Of   *)
(* each run its parent, 0 for none; runs are numbered, parents first.      *)
(***************************************************************************)
EXTENDS Bodies

MCRuns == 1 .. 7
MCCaps == {1, 2, 3}

Chain2      == <<0, 1>>
Chain3      == <<0, 1, 2>>
Chain4      == <<0, 1, 2, 3>>
Pair        == <<0, 1, 1>>               \* a root with two children
Fork        == <<0, 1, 1, 2>>            \* one of which has a child
Twins       == <<0, 1, 1, 2, 3>>         \* each of which has one
Star4       == <<0, 1, 1, 1, 1>>         \* a root with four children
Comb6       == <<0, 1, 1, 3, 3, 5>>
Binary7     == <<0, 1, 1, 2, 2, 3, 3>>
TwoChains   == <<0, 1, 0, 3>>
TwoPairs    == <<0, 1, 1, 0, 4, 4>>
ThreeRoots  == <<0, 0, 0>>
ThreeRoots5 == <<0, 1, 0, 3, 0>>
ThreeChains == <<0, 1, 0, 3, 0, 5>>

Plain       == [cancel |-> FALSE, early |-> FALSE, late |-> FALSE, resizes |-> 0]
WithCancel  == [Plain EXCEPT !.cancel = TRUE]
WithEarly   == [Plain EXCEPT !.early = TRUE, !.late = TRUE]
WithAll     == [WithEarly EXCEPT !.cancel = TRUE]
Resized(n, acts) == [acts EXCEPT !.resizes = n]

Family(trees, caps, relend, acts) ==
  {[parent |-> tree, cap |-> cap, relend |-> on, cancel |-> acts.cancel,
    early |-> acts.early, late |-> acts.late, resizes |-> acts.resizes,
    most |-> Most(tree, cap)] : tree \in trees, cap \in caps, on \in relend}
=============================================================================
