------------------------------- MODULE MCHelping -------------------------------
\* Models of Helping.  See MCTrees.
EXTENDS Helping, MCTrees

MCScenarios ==
  Family({Chain4, Star4, Comb6, Binary7}, {1, 2}, {FALSE}, Plain)

\* Two stacks' worth of work below one worker: enough to pile up.
MCInFlightScenarios == Family({Twins}, {1}, {FALSE}, Plain)
=============================================================================
