"""Why nothing goes on: one shortest circle, and whether lending promised otherwise."""

from __future__ import annotations

import pytest

from slotcheck.checks.check import ledger_for, parts_of
from slotcheck.checks.diagnosis import Stuck, names, stuck
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import resolve_subject
from slotcheck.pymodel.explore import explore
from slotcheck.pymodel.workload import Workload, WorkloadState


def all_stuck(text: str, rule: str = "rule:lend") -> list[Stuck]:
    """What is found in every stuck state of a scenario."""
    (part,) = parts_of([read_scenario(text, "here")])
    ledger = ledger_for(part, resolve_subject(rule))
    workload = Workload(part.scenario, ledger.calls, cap=part.cap)
    states: list[WorkloadState] = []
    explore(workload, on_state=states.append)
    found = [stuck(workload, ledger.facts(state.pool), state) for state in states]
    return [one for one in found if one is not None]


def test_nothing_is_stuck_where_everybody_waits_below() -> None:
    assert all_stuck("cap: 1\ntree: r(a(b) c) s(d)") == []


@pytest.mark.parametrize(
    ("text", "rule", "circle", "promised"),
    [
        ("cap: 1\ntree: r(a)", "rule:hold", ("a", "r"), True),
        ("cap: 2\ntree: p(c)\nbody p: L.take; +c; &*; L.drop\nbody c: L.take; L.drop", "rule:lend", ("c", "p"), False),
        ("cap: 1\ntree: f(d u)\nbody f: +d; +u; &*\nbody d: ~u", "rule:lend", ("d", "u"), False),
        ("cap: 3\ntree: a b c\nbody a: ~b\nbody b: ~c\nbody c: ~a", "rule:lend", ("a", "b", "c"), False),
        ("cap: 1\ntree: a\nbody a: L.take; L.take; L.drop; L.drop", "rule:lend", ("a",), False),
    ],
)
def test_a_circle_is_found_from_its_first_run_by_name(
    text: str, rule: str, circle: tuple[str, ...], promised: bool
) -> None:
    found = all_stuck(text, rule)
    assert found
    assert {(one.circles, one.promised) for one in found} == {((circle,), promised)}


def test_a_wait_for_a_run_that_has_not_asked_is_one_for_whoever_asks_for_it() -> None:
    found = all_stuck("cap: 1\ntree: r(a b(c(d)))\nbody r: +a; +b; &*\nbody a: ~d")
    assert {(one.circles, one.promised) for one in found} == {((("a", "d", "c", "b"),), False)}
    told = found[0].told
    assert told[:2] == ("a waits for d to end", "d has not asked yet, which is c's to do")
    assert told[2:] == ("c has not asked yet, which is b's to do", "b waits for a slot, and a holds one")


def test_every_circle_is_found_the_shortest_first() -> None:
    text = "cap: 5\ntree: a b c x y\nbody a: ~b\nbody b: ~c\nbody c: ~a\nbody x: ~y\nbody y: ~x"
    assert {one.circles for one in all_stuck(text)} == {(("x", "y"), ("a", "b", "c"))}
    assert {one.name for one in all_stuck(text)} == {"cycle x y; cycle a b c"}


def test_each_wait_of_a_circle_is_told_with_who_holds_what() -> None:
    (found,) = {one.told for one in all_stuck("cap: 1\ntree: r(a)", "rule:hold")}
    assert found == ("a waits for a slot, and r holds one", "r waits for a to end")


def test_an_event_that_nobody_can_set_any_more_is_named() -> None:
    (found,) = {(one.never, one.circles, one.promised) for one in all_stuck("cap: 2\ntree: r\nbody r: ?go")}
    assert found == (("go",), (), False)
    setter = all_stuck("cap: 2\ntree: r s\nbody r: ?go\nbody s: ?other; !go")
    assert {one.never for one in setter} == {("other",)}


def test_a_diagnosis_names_a_circle_whichever_run_it_begins_with() -> None:
    circle = ("cycle", "a", "b", "c")
    assert names(("cycle", "b", "c", "a"), circle)
    assert not names(("cycle", "b", "a", "c"), circle)
    assert not names(("never", "a"), circle)
    assert names(("never", "go"), ("never", "go"))
    assert not names(("never", "go"), ("never", "other"))


def test_a_first_ask_that_a_script_keeps_back_lets_nobody_go_on() -> None:
    text = "cap: 2\ntree: p(c) q(d) z\nscript: finish c; ask z"
    assert all_stuck(text, "rule:lend") == []
    found = all_stuck(text, "rule:hold")
    assert found
    assert all(one.promised for one in found)
