"""The relation is the code's: compared edge for edge, and a difference on either side is found."""

from __future__ import annotations

from collections import Counter

import pytest

from slotcheck.checks.generated import forests
from slotcheck.checks.mutants import MUTANTS
from slotcheck.checks.relation_check import (
    Comparison,
    compare,
    compare_forest,
    seen,
    seen_in,
    structure_of,
    successors,
)
from slotcheck.checks.relation_graph import edges_of
from slotcheck.checks.relation_sample import sample
from slotcheck.checks.subject import ClassSubject, resolve_subject
from slotcheck.proofs.relation import ACTIONS
from slotcheck.proofs.wrong import WRONG
from slotcheck.pymodel.rules import RULES
from slotcheck.pymodel.scenario import RunSpec

FIFO = resolve_subject("pool", order="fifo")
LEND = RULES["lend"]


def whole(runs: int, order: str, tie: str | None = None) -> Comparison:
    found = Comparison()
    for count in range(1, runs + 1):
        for relend in (False, True):
            subject = resolve_subject("pool", order=order, tie=tie)
            for one in compare(subject, LEND, count, exact=order == "fifo", relend=relend):
                found.add(one)
    return found


def test_with_fifo_the_relation_allows_what_the_pool_does_and_nothing_else() -> None:
    found = whole(3, "fifo")
    assert found.differences == []
    assert (found.states, found.edges, found.allowed) == (522, 4186, 4186)
    assert found.refused == 2225
    assert found.conjuncts == 28 * found.states
    assert found.bounds == 4 * found.states
    assert found.composed > 0
    assert found.idle > 0


@pytest.mark.parametrize("tie", ["served", "oldest"])
def test_under_every_order_the_pool_does_what_the_relation_allows(tie: str) -> None:
    found = whole(3, "fewest_held", tie)
    assert found.differences == []
    assert found.allowed >= found.edges


def test_every_step_is_taken_by_the_pool() -> None:
    found = whole(3, "fifo")
    # This one needs four runs: two chains that join end to end while a third run waits.
    rest = (RunSpec("a"), RunSpec("b", "a"), RunSpec("c", "a"), RunSpec("d"))
    found.add(compare_forest(FIFO, LEND, rest, exact=True, relend=True))
    assert {name for name, count in found.fired.items() if count} == set(ACTIONS)


def test_graphs_are_explored_up_to_names() -> None:
    """Three alike children: a sixth of the states, more or less, and never fewer."""
    forest = (RunSpec("a"), RunSpec("b", "a"), RunSpec("c", "a"), RunSpec("d", "a"))
    states = {edge.before for edge in edges_of(FIFO, forest, (1,), relend=False)}
    phases = Counter(tuple(sorted(run.phase for run in state.runs)) for state in states)
    assert phases[()] == 1
    assert len(states) == len(set(states))
    chain = (RunSpec("a"), RunSpec("b", "a"), RunSpec("c", "b"), RunSpec("d", "c"))
    assert states
    assert {edge.before for edge in edges_of(FIFO, chain, (1,), relend=False)}


def test_views_and_structures_tell_the_same() -> None:
    forest = forests(3)[0]
    names = [spec.name for spec in forest]
    for edge in edges_of(FIFO, forest, (1, 2), relend=True):
        for state in (edge.before, edge.after):
            assert seen_in(structure_of(state, names, fifo=True), names) == seen(state, names)


#: Wrong relations that the graphs of at most three runs show; the others need more, or are of the order or permits.
SHOWN = (
    "lends-twice", "parked-slot-released", "parked-slot-dropped", "loan-returned-to-pool", "cascade-stops-short",
    "waiter-forgotten", "stays-in-queue", "grant-above-cap", "level-of-parent", "orphans-keep-parent", "relend-skipped",
    "relent-keeps-pool-token", "relent-slot-stays-out", "cancelled-stays-in-line", "raise-serves-nobody",
    "lowering-revokes", "cap-creeps-up",
)  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_wrong_relation_is_not_the_code(name: str) -> None:
    wrong = WRONG[name].action
    found = Comparison()
    for one in compare(FIFO, LEND, 3, exact=True, relend=True, actions={**ACTIONS, wrong.name: wrong}):
        found.add(one)
        if found.differences:
            break
    assert found.differences


@pytest.mark.parametrize("name", ["LosesWakeUp", "LendsTwice", "ReturnsLoanToPool", "CascadeStopsShort"])
def test_a_faulty_pool_is_not_the_relation(name: str) -> None:
    mutant = next(mutant for mutant in MUTANTS.values() if mutant.__name__ == name)
    subject = ClassSubject(name, mutant, order="fifo")
    found = Comparison()
    for count in (2, 3):
        for one in compare(subject, LEND, count, exact=True, relend=False):
            found.add(one)
            if found.differences:
                return
    pytest.fail("no difference was found")


def test_a_relation_without_a_step_is_not_the_code() -> None:
    less = {name: action for name, action in ACTIONS.items() if name != "finish-parks"}
    (forest,) = [forest for forest in forests(2) if forest[1].parent]
    found = compare_forest(FIFO, LEND, forest, exact=True, relend=False, actions=less)
    assert "no action of the relation" in found.differences[0]


def test_refused_calls_are_no_steps() -> None:
    state = LEND.ask(LEND.initial(1, order="fifo"), "a").state
    start = structure_of(state, ["a", "b"], fifo=True)
    assert successors("ask", ("a", None), start, ["a", "b"]) == []
    assert successors("finish", ("b",), start, ["a", "b"]) == []
    assert [name for name, _ in successors("finish", ("a",), start, ["a", "b"])] == ["finish-slot-free"]


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_solver_and_evaluation_agree_on_steps_right_and_spoilt(solver: str) -> None:
    found = sample(solver, 20.0)
    assert found.differences == []
    assert found.spoilt == sum(found.steps.values())
    assert len(found.steps) >= len(ACTIONS) - 1  # a relend that serves a waiter takes four runs
