------------------------------ MODULE MCHoldSlot -------------------------------
\* Models of HoldSlot.  See MCTrees.
EXTENDS HoldSlot, MCTrees

MCScenarios ==
  Family({Chain4, Star4, Comb6, TwoPairs, ThreeRoots5}, {1, 2}, {FALSE}, Plain)
=============================================================================
