---------------------------- MODULE MCPermitFirst -----------------------------
(***************************************************************************)
(* Models of PermitFirst: a run of a component beside another run that has *)
(* a child of that component, on one slot.                                 *)
(***************************************************************************)
EXTENDS PermitFirst, MCTrees

MCScenarios ==
  {[Scenario(<<0, 1, 0>>, 1, FALSE, Plain) EXCEPT !.component = <<0, 1, 1>>]}
=============================================================================
