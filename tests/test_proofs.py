"""The proofs hold, by both solvers; they could fail; what fails is told by a counterexample that Python confirms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotcheck.checks import prove
from slotcheck.checks.prove import PROVED, REFUTED, UNDETERMINED, Found, overall
from slotcheck.proofs import solve
from slotcheck.proofs.catalogue import consequences, needs, obligations, possibilities
from slotcheck.proofs.designs import existences
from slotcheck.proofs.existence import find
from slotcheck.proofs.finite import NotAnInstanceError, counterexample, instance_of, refutes
from slotcheck.proofs.invariant import CONJUNCTS
from slotcheck.proofs.logic import FALSE, TRUE, each, no, number, same, variable
from slotcheck.proofs.obligation import Obligation, keeps
from slotcheck.proofs.relation import ACTIONS, INIT
from slotcheck.proofs.solve import SOLVERS, SolverFailedError, answers
from slotcheck.proofs.tell import told_counterexample
from slotcheck.proofs.vocabulary import GHOSTS, RUN, SLOT, STATE, X, Z, in_flight, levels, taken
from slotcheck.proofs.wrong import SIZES, WRONG
from slotcheck.pymodel.explore import Verdict
from slotlending import snapshot

SECONDS = 20.0
BOTH = pytest.mark.parametrize("solver", SOLVERS)


@BOTH
def test_every_obligation_is_proved(solver: str) -> None:
    said = {answer.obligation: answer.said for answer in answers(list(obligations().values()), solver, SECONDS)}
    assert said == dict.fromkeys(obligations(), "unsat")


def test_init_and_each_step_are_posed_with_each_conjunct() -> None:
    for step in ("init", *ACTIONS):
        for conjunct in CONJUNCTS:
            assert f"{step}/{conjunct}" in obligations()
    assert len(CONJUNCTS) * (1 + len(ACTIONS)) == 532


def test_a_step_is_shown_from_the_whole_invariant_unless_it_changes_nothing_spoken_of() -> None:
    for action in ACTIONS.values():
        for made in keeps(action, list(CONJUNCTS.values())):
            conjunct = made.name.partition("/")[2]
            if set(made.hypotheses) == {conjunct}:
                assert made.goal == CONJUNCTS[conjunct].formula
            else:
                assert set(made.hypotheses) >= set(CONJUNCTS)


def test_the_words_are_those_of_the_pool() -> None:
    names = {symbol.name for symbol in STATE}
    words = {snapshot.WAITING, snapshot.IN_FLIGHT, snapshot.PARKED, snapshot.POOL, snapshot.LOAN}
    assert words | {"lent", "level", "parent", "taken"} <= names
    verbs = {verb for action in ACTIONS.values() for verb in action.verbs}
    assert verbs == {"ask", "try_ask", "finish", "cancel", "resize"}


def test_everything_is_said_in_words() -> None:
    for symbol in STATE:
        assert symbol.meaning
    assert all("ghost" in symbol.meaning for symbol in GHOSTS if symbol.name != "borrower")
    for conjunct in CONJUNCTS.values():
        assert conjunct.meaning
        assert conjunct.reason
    assert all(action.meaning for action in ACTIONS.values())
    assert all(obligation.meaning for obligation in obligations().values())


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_relation_breaks_the_obligation_that_it_should(name: str) -> None:
    wrong = WRONG[name]
    obligation = wrong.obligation()
    assert obligation.name == wrong.caught_by
    assert wrong.caught_by in obligations(), "the right relation must keep what the wrong one breaks"
    found = counterexample(obligation, SIZES)
    assert found is not None
    assert refutes(obligation, found) is None
    for solver in SOLVERS:
        (answer,) = answers([obligation], solver, 0.3)
        assert answer.said != "unsat"


def test_there_are_enough_wrong_relations_and_they_break_different_things() -> None:
    assert len(WRONG) >= 12
    assert len({wrong.caught_by for wrong in WRONG.values()}) >= 20


def test_every_step_and_every_hypothesis_is_possible() -> None:
    assert set(ACTIONS) <= set(possibilities())
    for name, obligation in possibilities().items():
        assert counterexample(obligation, SIZES) is not None, name


def test_every_conjunct_is_needed_or_follows_in_finite_states() -> None:
    assert {*needs(), *consequences()} == set(CONJUNCTS)
    assert not {*needs()} & {*consequences()}
    for name, obligation in needs().items():
        assert name not in obligation.hypotheses
        assert counterexample(obligation, SIZES) is not None, name
    for name, obligation in consequences().items():
        assert counterexample(obligation, SIZES[1:2]) is None, name


@BOTH
def test_what_goes_wrong_elsewhere_exists(solver: str) -> None:
    names = {claim.name.partition("/")[0] for claim in existences()}
    assert names == {"HoldDeadlocks", "ReleaseGrows", "PermitFirstDeadlocks", "MountCircleDeadlocks"}
    for claim in existences():
        assert find(claim, solver, SECONDS) is not None, claim.name


def test_what_does_not_exist_is_not_found() -> None:
    claim = next(claim for claim in existences() if claim.name == "HoldDeadlocks/cap-2")
    assert find(replace(claim, sizes={RUN: 3, SLOT: 2}), "z3", SECONDS) is None, "one parent has no child"
    assert find(replace(claim, start={**claim.start, "none": no(Z)(same(Z, Z))}), "z3", SECONDS) is None


def test_a_counterexample_is_judged_outside_the_solver() -> None:
    obligation = WRONG["lends-twice"].obligation()
    found = counterexample(obligation, SIZES)
    assert found is not None
    found.structure.values["lent"] = [False] * 3
    assert "hypothesis" in str(refutes(obligation, found))
    always = Obligation("x", "anything", {}, TRUE)
    assert refutes(always, found) == "the goal is true in it"


def test_a_model_that_python_does_not_confirm_is_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotcheck.proofs.finite.refutes", lambda *_: "made up")
    with pytest.raises(NotAnInstanceError, match="made up"):
        counterexample(WRONG["lends-twice"].obligation(), SIZES)


def test_a_counterexample_is_told_in_words() -> None:
    obligation = WRONG["lends-twice"].obligation()
    found = counterexample(obligation, SIZES)
    assert found is not None
    told = "\n".join(told_counterexample(obligation, found))
    assert "before:" in told
    assert "with run = run" in told
    assert "after:" in told
    assert told.endswith("two runs on one slot are on different levels")


# -- only unsat proves -------------------------------------------------------------------------------------------


class Says:
    """A solver that always gives one answer."""

    answer = "unknown"

    def __init__(self, seconds: float) -> None:
        pass

    def forget(self) -> None:
        pass

    def tell(self, text: str) -> str:
        return self.answer if "check-sat" in text else ""


@pytest.mark.parametrize("answer", ["unknown", "unknown (TIMEOUT)", "timeout", "", "sat"])
def test_what_is_not_unsat_is_undetermined(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(Says, "answer", answer)
    monkeypatch.setitem(SOLVERS, "says", Says)  # type: ignore[arg-type]
    (found,) = prove._prove([obligations()["NoSlotLeak/answered-for"]], "says", SECONDS)
    assert found.verdict == UNDETERMINED
    assert found.told == ["no counterexample over a few runs and slots"]
    assert overall([found]) is Verdict.UNDETERMINED


def test_a_solver_that_fails_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, text: str) -> str:
        raise SolverFailedError("broken")

    monkeypatch.setattr(Says, "tell", fail)
    monkeypatch.setitem(SOLVERS, "says", Says)  # type: ignore[arg-type]
    names = ["NoSlotLeak/answered-for", "NoLostWakeUp/pool"]
    found = prove._prove([obligations()[name] for name in names], "says", SECONDS)
    assert [one.name for one in found] == names
    assert {one.verdict for one in found} == {UNDETERMINED}


def test_a_refuted_obligation_is_violated() -> None:
    (found,) = prove._prove([WRONG["lends-twice"].obligation()], "z3", 1.0)
    assert found.verdict == REFUTED
    assert overall([found]) is Verdict.VIOLATED


def test_solvers_that_disagree_leave_it_undetermined() -> None:
    proved = Found("obligations", "x", "", PROVED, {"z3": "unsat"})
    refuted = Found("obligations", "x", "", REFUTED, {"cvc5": "sat"}, told=["before:"])
    both = prove._joined(proved, refuted)
    assert both.verdict == UNDETERMINED
    assert both.told[0] == "the solvers disagree"
    assert both.said == {"z3": "unsat", "cvc5": "sat"}
    unknown = Found("obligations", "x", "", UNDETERMINED, {"cvc5": "unknown"})
    assert prove._joined(proved, unknown).verdict == UNDETERMINED
    assert prove._joined(proved, Found("obligations", "x", "", PROVED, {"cvc5": "unsat"})).verdict == PROVED


def test_nothing_done_is_undetermined() -> None:
    assert overall([]) is Verdict.UNDETERMINED


@BOTH
def test_text_that_is_no_smtlib_fails_loudly(solver: str) -> None:
    with pytest.raises(SolverFailedError):
        SOLVERS[solver](1.0).tell("(assert (= a b))\n(check-sat)\n")


@BOTH
def test_a_kept_session_forgets(solver: str) -> None:
    session = solve.fresh(solver, SECONDS)
    session.tell("(declare-const a Int)\n(assert (< a a))\n")
    assert solve.fresh(solver, SECONDS).tell("(declare-const a Bool)\n(assert a)\n(check-sat)\n") == "sat"


# -- finite instances --------------------------------------------------------------------------------------------


def test_a_new_pool_is_an_instance_of_the_invariant() -> None:
    formulas = [*INIT.values(), *(conjunct.formula for conjunct in CONJUNCTS.values())]
    found = instance_of(formulas, {RUN: 2, SLOT: 2}, also=STATE)
    assert found is not None
    assert not any(found.structure.values["waiting"])
    assert any(found.structure.values["in_cap"])


def test_sizes_are_respected() -> None:
    two = [variable(name, RUN) for name in ("one", "two")]
    differ = ~same(*two)
    assert instance_of([differ], {RUN: 1}, two) is None
    found = instance_of([differ, each(X)(same(X, two[0]) | same(X, two[1]))], {RUN: 2}, two)
    assert found is not None
    assert instance_of([FALSE], {RUN: 2}) is None


def test_the_bound_is_reached_by_a_state_of_the_invariant_and_not_passed() -> None:
    formulas = [
        *(conjunct.formula for conjunct in CONJUNCTS.values()),
        each(Z)(taken(Z)),
        each(X)(in_flight(X)),
        same(levels(), number(2)),
    ]
    assert instance_of(formulas, {RUN: 4, SLOT: 2}) is not None
    assert instance_of(formulas, {RUN: 5, SLOT: 2}) is None
