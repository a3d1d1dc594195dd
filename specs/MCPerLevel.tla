------------------------------ MODULE MCPerLevel -------------------------------
\* Models of PerLevel.  See MCTrees.
EXTENDS PerLevel, MCTrees

MCScenarios ==
  Family({Chain4, Star4, Comb6, TwoChains}, {1, 2}, {FALSE}, Plain)
=============================================================================
