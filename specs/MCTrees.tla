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

Plain       == [cancel |-> FALSE, early |-> FALSE, late |-> FALSE, fail |-> FALSE,
                resizes |-> 0]
WithCancel  == [Plain EXCEPT !.cancel = TRUE]
WithEarly   == [Plain EXCEPT !.early = TRUE, !.late = TRUE]
WithAll     == [WithEarly EXCEPT !.cancel = TRUE]
Resized(n, acts) == [acts EXCEPT !.resizes = n]

\* By default each root has a job of its own, and so have all runs below it.
RECURSIVE RootOf(_, _)
RootOf(tree, r) == IF tree[r] = 0 THEN r ELSE RootOf(tree, tree[r])
OwnJob(tree) ==
  [r \in DOMAIN tree |->
     1 + Cardinality({x \in 1 .. RootOf(tree, r) : tree[x] = 0})]
OwnJobs(tree) ==
  [n \in 1 .. 1 + Cardinality({r \in DOMAIN tree : tree[r] = 0}) |->
     IF n = 1 THEN 0 ELSE 1]

Scenario(tree, cap, relend, acts) ==
  [parent |-> tree, cap |-> cap, order |-> "fifo", tie |-> "served",
   jobs |-> OwnJobs(tree), job |-> OwnJob(tree), relend |-> relend,
   cancel |-> acts.cancel, early |-> acts.early, late |-> acts.late,
   fail |-> acts.fail, component |-> [r \in DOMAIN tree |-> 0],
   key |-> [r \in DOMAIN tree |-> 0], resizes |-> acts.resizes,
   most |-> Most(tree, cap)]

Family(trees, caps, relend, acts) ==
  {Scenario(tree, cap, on, acts) : tree \in trees, cap \in caps, on \in relend}
=============================================================================
