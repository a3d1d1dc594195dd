"""Lockstep with the reference, and the calls that must change nothing."""

from __future__ import annotations

import pytest

from slotcheck.checks.conformance import BAD_CAPS, calls_without_effect, difference, refuses_bad_caps
from slotcheck.checks.facts import Facts
from slotcheck.checks.mutants import AcceptsCapOfZero, ChangesOnRefusal
from slotcheck.checks.subject import ClassSubject, resolve_subject
from slotcheck.pymodel.rules import Lend
from slotlending import Pool


def full_pool() -> Pool:
    """Every kind of run: r lends to a; a has ended and is parked for x; b waits under r; w waits alone."""
    pool = Pool(1)
    pool.ask("r", None, ("app", "r"))
    for run, parent in (("a", "r"), ("x", "a"), ("b", "r")):
        pool.ask(run, parent)
    pool.ask("w")
    pool.finish("a")
    return pool


NAMES = ["r", "a", "x", "b", "w", "gone"]


def test_refused_calls_are_tried_with_every_code() -> None:
    calls = calls_without_effect(Facts(full_pool().snapshot()), NAMES)  # type: ignore[arg-type]
    by_code: dict[str | None, set[str]] = {}
    for call, code in calls:
        by_code.setdefault(code, set()).add(call[0])
    assert by_code == {
        "run_known": {"ask", "try_ask"},
        "parent_not_in_flight": {"ask", "try_ask"},
        "job_not_leaf": {"ask", "try_ask"},
        "not_admitted": {"finish"},
        "not_known": {"finish", "cancel"},
        "bad_cap": {"resize"},
        None: {"try_ask"},
    }


def test_the_pool_and_the_rules_refuse_them_and_change_nothing() -> None:
    snapshot = full_pool().snapshot()
    calls = calls_without_effect(Facts(snapshot), NAMES)  # type: ignore[arg-type]
    for name in ("pool", "rule:lend", "rule:hold", "rule:release"):
        assert resolve_subject(name).unchanged(snapshot, calls) is None


def test_a_call_that_is_answered_though_it_must_be_refused_is_named() -> None:
    subject = resolve_subject("pool")
    snapshot = Pool(1).snapshot()
    assert subject.unchanged(snapshot, [(("ask", "r", None, None), "run_known")]) == (
        "ask('r', None, None) must be refused with run_known, but was answered (('r', 'pool'),), ()"
    )
    assert subject.unchanged(snapshot, [(("finish", "r"), "not_admitted")]) == (
        "finish('r') must be refused with not_admitted, but was refused with not_known"
    )


def test_a_refusal_that_leaves_something_behind_is_named_alone() -> None:
    subject = ClassSubject("mutant", ChangesOnRefusal)
    calls = [(("finish", "w"), "not_known"), (("ask", "r", "w", None), "parent_not_in_flight")]
    said = subject.unchanged(subject.initial(1, relend=False), calls)
    assert said == "ask('r', 'w', None) must change nothing, but did"


@pytest.mark.parametrize("name", ["pool", "rule:lend", "rule:hold", "rule:release"])
def test_bad_caps_are_refused(name: str) -> None:
    assert refuses_bad_caps(resolve_subject(name)) is None


def test_a_bad_cap_that_is_accepted_is_named() -> None:
    assert refuses_bad_caps(ClassSubject("mutant", AcceptsCapOfZero)) == (
        "a new pool of cap 0 must be refused with bad_cap, but was made"
    )
    assert {type(cap) for cap in BAD_CAPS} == {int, float, bool, str, type(None)}


def test_a_difference_is_told_by_its_first_field() -> None:
    lend = Lend()
    one = lend.ask(lend.initial(1), "r").state
    other = lend.ask(lend.initial(2), "r").state
    assert difference(one, one) is None
    assert difference(one, other) == "cap should be 1, but is 2"
    two = lend.ask(one, "a", "r").state
    assert difference(one, two) == (
        "run a should be not known, but is phase 'in_flight', token 'loan', lent False, level 2, parent 'r', job ('r',)"
    )
