"""The notation of components, keys, live runs and failures."""

from __future__ import annotations

import pytest

from slotcheck.checks.diagnosis import mounts_in_a_circle
from slotcheck.checks.scenario import ScenarioError, read_scenario
from slotcheck.pymodel.scenario import Act, RunSpec, Scenario

HEAD = "cap: 1\ntree: r(a(x) b) s\n"


def read(text: str) -> Scenario:
    return read_scenario(HEAD + text, "here.scenario")


def test_runs_have_components_and_keys() -> None:
    scenario = read("key v1: a\ncomponent One: a b\ncomponent Two: x\nkey v2: x\nenvironment: fail a; fail *")
    by_name = {run.name: (run.component, run.key) for run in scenario.runs}
    assert by_name == {
        "r": (None, None), "a": ("One", "v1"), "x": ("Two", "v2"), "b": ("One", None), "s": (None, None)
    }  # fmt: skip
    assert scenario.permits
    assert not scenario.plain
    assert scenario.environment == (Act("fail", "a"), Act("fail"))
    assert scenario.lineage == {"r": (), "a": (), "x": ("One",), "b": (), "s": ()}


def test_a_live_run_says_whose_slot_it_may_borrow_and_who_mounted_it() -> None:
    scenario = read("live b: waiter\nlive a: mounter\nmounts a: b\ncomponent One: a\nbody r: &b; &a")
    assert scenario.runs[scenario.index["b"]] == RunSpec("b", "r", live="waiter", mounter="a")
    assert scenario.lineage["b"] == ("One",)
    assert [run.parent for run in scenario.mounted] == [None, "r", "a", "a", None]
    assert scenario.levels == 3
    assert not scenario.plain


def test_a_script_can_let_a_body_fail() -> None:
    assert read("script: ask r; fail r when resumed").script[-1] == Act("fail", "r", when="resumed")


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "expected"),
    [
        ("component One:", 3, 15, "unexpected end of line", "a run's name"),
        ("component One: q", 3, 16, "unknown run 'q'", "a run of the tree"),
        ("component One: a\ncomponent Two: a", 4, 16, "run a is a run of One already", ""),
        ("key v1: a", 3, 9, "run a is of no component, so nothing remembers its key", ""),
        ("component One: a\nkey v1: a\nkey v2: a", 5, 9, "run a has the key v1 already", ""),
        ("live a: parent", 3, 9, "unexpected 'parent'", "'waiter', 'mounter', 'given' or 'nobody'"),
        ("live a: waiter\nlive a: given", 4, 6, "run a is live already", ""),
        ("late: a\nlive a: given", 4, 6, "run a is late already", ""),
        ("live a: given\nlate: a", 4, 7, "run a is live already", ""),
        ("mounts a: b", 3, 11, "run b is not live: its parent in the tree mounts it", "a live run"),
        ("live a: waiter\nmounts b: a", 4, 8, "run b does not stand before a in the tree", ""),
        ("live b: waiter\nmounts a: b\nmounts r: b", 5, 11, "run b is mounted by a already", ""),
        ("live a: waiter\nbody r: +a", 4, 10, "a is live: it asks by itself", ""),
        ("script: fail r when granted", 3, 21, "a run that is granted cannot fail", "'resumed'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(text: str, line: int, column: int, message: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read(text)
    error = caught.value
    assert (error.line, error.column, error.message, error.expected) == (line, column, message, expected)


@pytest.mark.parametrize(
    ("components", "circle"),
    [
        ("component A: r\ncomponent B: a x", False),  # x is refused
        ("component A: r a b", False),
        ("component A: r\ncomponent B: a", False),
        ("component A: a\ncomponent B: x s", False),
        ("component A: a s\ncomponent B: x r", False),  # x is below r, so refused
    ],
)
def test_what_is_refused_makes_no_circle_of_mounts(components: str, circle: bool) -> None:
    assert mounts_in_a_circle(read(components)) is circle


def test_components_that_mount_each_other_make_a_circle() -> None:
    scenario = read_scenario("cap: 1\ntree: a(p(b2)) b(a2)\ncomponent A: a a2\ncomponent B: b b2", "x.scenario")
    assert mounts_in_a_circle(scenario)
