"""The witnesses: demanded where the means allow them, and nowhere else."""

from __future__ import annotations

import pytest

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.witnesses import WITNESSES, Means, Witness


@pytest.fixture(scope="module")
def shown() -> list[tuple[Means, set[str]]]:
    """What every part of up to 4 runs allows, and what it shows."""
    subject = resolve_subject("pool")
    return [
        (Means(part.scenario, part.cap, part.relend), set(check_part(part, subject).reached))
        for part in parts_of(generated_scenarios(4))
    ]


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda witness: witness.name)
def test_a_part_shows_a_witness_that_its_means_allow(shown: list[tuple[Means, set[str]]], witness: Witness) -> None:
    """So that a missing witness is never the scenario's fault."""
    allowed = [seen for means, seen in shown if means.allow(witness)]
    assert allowed
    assert all(witness.name in seen for seen in allowed)


def test_no_witness_is_shown_by_every_part(shown: list[tuple[Means, set[str]]]) -> None:
    for witness in WITNESSES:
        if witness.name not in ("every run finished", "the most in flight"):
            assert any(witness.name not in seen for _, seen in shown), witness.name


def test_bodies_of_their_own_promise_nothing() -> None:
    scenario = read_scenario("cap: 2\ntree: r(a b)\nbody r: +a; &a; +b; &b", "x")
    assert not any(Means(scenario, 2, True).allow(witness) for witness in WITNESSES)
