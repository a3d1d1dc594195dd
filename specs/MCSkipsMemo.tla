------------------------------ MODULE MCSkipsMemo ------------------------------
\* Models of SkipsMemo: two overlapping updates of one component, unchanged.
EXTENDS SkipsMemo, MCTrees

MCScenarios ==
  {[Scenario(<<0, 0>>, cap, FALSE, Plain) EXCEPT
      !.component = <<1, 1>>, !.key = <<1, 1>>] : cap \in {1, 2}}
=============================================================================
