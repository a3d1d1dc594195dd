"""The permit relation is what the permits that ship do: edge for edge, and a mistake on either side is told."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from slotcheck.checks import mutants
from slotcheck.checks.permit_relation import compare_permits, permit_forests
from slotcheck.checks.permit_subject import PermitSubject, with_permits
from slotcheck.checks.relation_check import Comparison
from slotcheck.checks.subject import ClassSubject, resolve_subject
from slotcheck.proofs.action import Action
from slotcheck.proofs.permit import PERMIT_ACTIONS, PERMIT_CONJUNCTS, PERMIT_STATE
from slotcheck.proofs.wrong import WRONG
from slotcheck.pymodel.subject import Subject
from slotlending import Pool

#: Two runs of one component, unchanged and changed; and one of them below another run, without a key.
FORESTS = ("a b a:S b:S one key, cap 1", "a b a:S b:S two keys, cap 1", "a(b) c b:S c:S no key, cap 1")

SHIPPED = with_permits(resolve_subject("pool", order="fifo"))


def _compared(subject: Subject, *names: str, actions: Mapping[str, Action] = PERMIT_ACTIONS) -> Comparison:
    whole = Comparison()
    for forest in permit_forests(3):
        if forest.name in names:
            whole.add(compare_permits(subject, forest, actions=actions))
    return whole


@cache
def _shipped() -> Comparison:
    return _compared(SHIPPED, *FORESTS)


def test_the_permits_take_the_steps_of_the_relation_and_no_other() -> None:
    found = _shipped()
    assert found.differences == []
    assert found.forests == len(FORESTS)
    assert found.edges == found.allowed
    assert found.conjuncts == found.states * len(PERMIT_CONJUNCTS)
    assert found.refused > found.states


def test_every_step_of_the_relation_is_taken_by_code() -> None:
    steps = {name for name in PERMIT_ACTIONS if not name.startswith("slot-granted")}
    assert {*_shipped().fired} == {*steps, "slot-granted", "nothing"}


@pytest.mark.parametrize("name", [name for name, wrong in WRONG.items() if wrong.caught_by.startswith("Permit/")])
def test_a_wrong_permit_relation_is_not_the_code(name: str) -> None:
    wrong = WRONG[name].action
    assert _compared(SHIPPED, *FORESTS, actions={**PERMIT_ACTIONS, wrong.name: wrong}).differences


def test_a_relation_without_a_step_is_not_the_code() -> None:
    less = {name: action for name, action in PERMIT_ACTIONS.items() if name != "asks-hands-on"}
    assert "the relation allows" in _compared(SHIPPED, *FORESTS, actions=less).differences[0]


@pytest.mark.parametrize(
    "permits", [mutants.SkipsMemoCheck, mutants.TakesSlotBeside, mutants.LosesPermit, mutants.StoresOnFailure]
)
def test_faulty_permits_are_not_the_relation(permits: type) -> None:
    assert _compared(PermitSubject(ClassSubject("pool", Pool), permits), *FORESTS).differences


def test_permits_are_said_in_words() -> None:
    assert all(symbol.meaning for symbol in PERMIT_STATE)
    for conjunct in PERMIT_CONJUNCTS.values():
        assert conjunct.meaning
        assert conjunct.reason
    assert {verb for action in PERMIT_ACTIONS.values() for verb in action.verbs} == {
        "enter",
        "granted",
        "resume",
        "finish",
        "fail",
        "cancel",
    }
