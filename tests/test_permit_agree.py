"""The permit that ships and the rule, written independently, say the same on long random histories."""

from __future__ import annotations

import random
from typing import Any

import pytest

from slotcheck.pymodel.rules import BuildPermit, Lend, PermitOutcome, PermitState, Refusal, State
from slotlending import Pool
from slotlending.errors import Refused
from slotlending.permit import Permits

IDS = tuple("abcdefgh")
COMPONENTS = ("S", "T", "U")


def a_call(rng: random.Random) -> tuple[Any, ...]:
    """Any call, sensible or not."""
    run = rng.choice(IDS)
    verb = rng.choices(
        ("enter", "resume", "finish", "fail", "cancel", "ask", "try_ask", "resize"), (8, 9, 5, 1, 2, 2, 1, 1)
    )[0]
    parent = rng.choice((None, None, *IDS))
    job = rng.choice((None, None, None, ("j",), ("j", "k"), ("l", run)))
    if verb == "enter":
        lineage = rng.choice((None, None, None, (), ("S",), ("T", "U")))
        return verb, run, rng.choice((*COMPONENTS, None)), rng.choice((None, "v1", "v1", "v2")), parent, job, lineage
    if verb in ("ask", "try_ask"):
        return verb, run, parent, job
    return (verb, rng.choice((1, 2, 3, 0))) if verb == "resize" else (verb, run)


def outcome(rule: BuildPermit, state: PermitState, verb: str, args: list[Any]) -> PermitOutcome | Refusal:
    try:
        return getattr(rule, verb)(state, *args)  # type: ignore[no-any-return]
    except Refusal as refusal:
        return refusal


@pytest.mark.parametrize("relend", [False, True], ids=["", "relend"])
def test_any_history_is_the_same(relend: bool) -> None:
    seen = {what for seed in range(60) for what in play(seed, relend=relend)}
    codes = {"component_above", "job_not_leaf", "not_admitted", "not_handed_over", "not_known", "not_working"}
    assert codes | {"answered", "works", "asks", "finish", "fail", "cancel"} <= seen


def play(seed: int, *, relend: bool) -> set[str]:
    """One history, told to both. Returns what was seen."""
    rng = random.Random(seed)
    cap = rng.choice((1, 2, 3))
    permits = Permits(Pool(cap, relend=relend))
    rule = BuildPermit(Lend())
    state = rule.initial(cap, relend=relend)
    seen: set[str] = set()
    for _ in range(150):
        verb, *args = a_call(rng)
        expected = outcome(rule, state, verb, args)
        if isinstance(expected, Refusal):
            with pytest.raises(Refused) as refused:
                getattr(permits, verb)(*args)
            assert refused.value.code == expected.code, (seed, verb, args)
            seen.add(expected.code)
        else:
            answer = getattr(permits, verb)(*args)
            assert tuple(answer) == tuple(expected[1:]), (seed, verb, args)
            state = expected.state
            seen.add(answer.came_to or verb)
        assert permits.snapshot() == state, (seed, verb, args)
        permits = permits if rng.random() < 0.5 else Permits.restore(permits.snapshot())
    return seen


def test_the_records_have_the_same_fields() -> None:
    permits = Permits(Pool(1))
    permits.enter("a", "S", "v1")
    snapshot = permits.snapshot()
    assert snapshot._fields == PermitState._fields
    state = BuildPermit(Lend()).enter(BuildPermit(Lend()).initial(1), "a", "S", "v1").state
    (present,), (permit,) = snapshot.present, snapshot.permits
    (of_rule,), (permit_of_rule,) = state.present, state.permits
    assert present._fields == of_rule._fields
    assert permit._fields == permit_of_rule._fields
    for name in State._fields:  # the permit shows the pool's fields as its own
        assert getattr(snapshot, name) == getattr(state, name) == getattr(snapshot.pool, name)
