"""Long random histories: what they cover, and that they find what explorations cannot."""

from __future__ import annotations

import pytest

from slotcheck.checks.histories import Histories, play_histories
from slotcheck.checks.mutants import MUTANTS
from slotcheck.checks.subject import ClassSubject
from slotcheck.pymodel.rules import RULES
from slotlending import Pool

LEND = RULES["lend"]


@pytest.fixture(scope="module")
def of_pool() -> Histories:
    return play_histories(ClassSubject("pool", Pool), LEND)


ORDERS = [
    "fewest_held served", "fewest_held oldest", "fifo", "round_robin", "strict_priority:q,y,p", "fixed_share:1",
    "fixed_share:2",
]  # fmt: skip


def test_the_pool_follows_the_rules_through_long_lives_under_every_order(of_pool: Histories) -> None:
    assert of_pool.traces == []
    assert of_pool.orders == ORDERS
    assert of_pool.calls > 10_000
    assert of_pool.refused > 1_000


def test_the_same_histories_are_played_every_time(of_pool: Histories) -> None:
    assert play_histories(ClassSubject("pool", Pool), LEND) == of_pool


@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.in_histories])
def test_a_history_that_fails_is_cut_down_to_calls_that_are_needed(name: str) -> None:
    found = play_histories(ClassSubject("mutant", MUTANTS[name]), LEND)
    (trace,) = [trace for trace in found.traces if trace.invariant == MUTANTS[name].caught_by]
    assert 0 < len(trace) <= 12
    assert len(trace.events) == len(trace)
    assert trace.scenario.startswith("a random history, order")


def test_orders_that_a_class_does_not_take_are_told() -> None:
    class OneOrder(Pool):
        def __init__(self, cap: int, *, relend: bool = False) -> None:
            super().__init__(cap, relend=relend)

    found = play_histories(ClassSubject("mine", OneOrder), LEND)
    assert found.orders == ["its own"]
    assert found.orders_not_taken == ORDERS
    assert found.traces == []


def test_a_given_order_is_the_only_one_played() -> None:
    assert play_histories(ClassSubject("pool", Pool, order="fifo"), LEND).orders == ["as given"]
