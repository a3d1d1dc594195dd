"""Refusals as exceptions: one class and one code each, and nothing lost on the way to another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from slotlending import BadCap, JobNotLeaf, NotAdmitted, NotKnown, ParentNotInFlight, Pool, Refused, RunKnown
from slotlending.errors import ComponentAbove, NotHandedOver, NotWorking
from slotlending.permit import Permits

CODES = {
    BadCap: "bad_cap",
    RunKnown: "run_known",
    ParentNotInFlight: "parent_not_in_flight",
    JobNotLeaf: "job_not_leaf",
    NotAdmitted: "not_admitted",
    NotKnown: "not_known",
    ComponentAbove: "component_above",
    NotHandedOver: "not_handed_over",
    NotWorking: "not_working",
}


def refusal(call: Callable[[Pool], Any]) -> Refused:
    pool = Pool(1)
    pool.ask("a", job=("x", "y"))
    pool.ask(("w", 1))
    with pytest.raises(Refused) as caught:
        call(pool)
    return caught.value


def handed_over(pool: Pool) -> Permits:
    pool.resize(3)
    permits = Permits(pool)
    permits.enter("handed over", "part")
    permits.enter("beside it", "part")
    return permits


REFUSED = [
    refusal(call)
    for call in (
        lambda pool: pool.resize(0),
        lambda pool: pool.ask("a"),
        lambda pool: pool.ask("b", parent=("w", 1)),
        lambda pool: pool.ask("b", job=("x",)),
        lambda pool: pool.finish(("w", 1)),
        lambda pool: pool.cancel("nobody"),
        lambda pool: Permits(pool).enter("b", "part", lineage=("part",)),
        lambda pool: handed_over(pool).resume("beside it"),
        lambda pool: handed_over(pool).finish("handed over"),
    )
]


def test_every_class_of_refusal_has_its_own_code_and_is_raised() -> None:
    assert {type(error): error.code for error in REFUSED} == CODES
    assert set(Refused.__subclasses__()) == set(CODES)


def test_refusals_are_what_python_calls_such_errors_too() -> None:
    assert issubclass(BadCap, ValueError)
    assert issubclass(NotKnown, LookupError)


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: error.code)
def test_a_refusal_reads_as_its_code_and_its_message_with_the_value_in_it(error: Refused) -> None:
    assert str(error) == f"{error.code}: {error.message}"
    assert repr(error.value) in error.message


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: error.code)
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_a_copied_or_pickled_refusal_keeps_class_code_value_and_text(
    error: Refused, again: Callable[[Refused], Refused]
) -> None:
    other = again(error)
    assert other is not error
    assert type(other) is type(error)
    assert (other.code, other.value, other.message, str(other)) == (error.code, error.value, error.message, str(error))
