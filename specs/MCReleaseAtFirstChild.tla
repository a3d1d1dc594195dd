------------------------- MODULE MCReleaseAtFirstChild -------------------------
\* Models of ReleaseAtFirstChild.  See MCTrees.
EXTENDS ReleaseAtFirstChild, MCTrees

MCScenarios ==
  Family({Chain4, Star4, Comb6, TwoPairs, ThreeRoots5}, {1, 2}, {FALSE}, Plain)
=============================================================================
