"""Scenarios on a virtual clock: times worked out by hand, and agreement with what an exploration finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from slotcheck.checks.facts import Facts
from slotcheck.checks.generated import forests
from slotcheck.checks.order_workloads import files_and_chunks, flat, tree_walk
from slotcheck.checks.playing import play, workloads
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import SubjectError, resolve_subject
from slotcheck.pymodel.clock import Clock
from slotcheck.pymodel.explore import explore
from slotcheck.pymodel.live import LiveRule
from slotcheck.pymodel.rules import RULES, Refusal, Rule
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.simulate import simulate
from slotcheck.pymodel.subject import Calls
from slotcheck.pymodel.system import Property
from slotcheck.pymodel.timeline import Simulated, Steps
from slotcheck.pymodel.workload import Workload
from slotlending import Pool


def told(text: str, subject: str = "pool", cap: int = 1, **options: Any) -> dict[str, int]:
    """When each run of a scenario ends."""
    return ends(play(read_scenario(f"cap: 1\n{text}", "t"), subject, cap, **options).found)


def ends(found: Simulated) -> dict[str, int]:
    return {run.name: found.ended_ms[at] for at, run in enumerate(found.scenario.runs)}


def series(found: Simulated) -> Mapping[tuple[str, ...], Any]:
    return {job: (list(steps.times_ms), list(steps.values)) for job, steps in found.held.items()}


# -- the clock and the counts ----------------------------------------------------------------------------------------


def test_the_clock_does_things_by_time_and_then_in_the_order_they_were_set_down() -> None:
    clock, done = Clock(), []
    for time_ms, what in ((5, "c"), (0, "a"), (5, "d"), (3, "b")):
        clock.at(time_ms, lambda what: done.append((clock.now_ms, what)), what)
    while clock.next_ms() is not None:
        clock.tick()
    assert done == [(0, "a"), (3, "b"), (5, "c"), (5, "d")]


def test_steps_hold_changes_only_and_can_be_summed() -> None:
    steps = Steps()
    for time_ms, value in ((0, 2), (10, 3), (10, 4), (20, 4), (30, 0)):
        steps.set(time_ms, value)
    assert (list(steps.times_ms), list(steps.values)) == ([0, 10, 30], [2, 4, 0])
    assert [steps.at(time_ms) for time_ms in (-1, 0, 9, 10, 29, 30, 99)] == [0, 2, 2, 4, 4, 0, 0]
    assert [steps.area(until) for until in (0, 5, 10, 15, 40)] == [0, 10, 20, 40, 100]


# -- bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cap", "expected"),
    [
        ("tree: r(a b)", 1, {"r": 20, "a": 10, "b": 20}),
        ("tree: r(a b)", 2, {"r": 10, "a": 10, "b": 10}),
        ("tree: r(a b)\nbody r: w; +a; &a; w; +b; &b\nwork r: 3", 1, {"r": 26, "a": 13, "b": 26}),
        ("tree: r(a b)\nspawn: blocks\nbody r: +a; +b; w; &*", 1, {"r": 20, "a": 10, "b": 20}),  # works from 10 on
        ("tree: r s\nat s: 4", 1, {"r": 10, "s": 20}),
        ("tree: r s\nbody s: ?e; w\nbody r: w; !e; w", 2, {"r": 20, "s": 20}),
        ("tree: r s\nbody r s: L.take; w; L.drop", 2, {"r": 10, "s": 20}),
        ("tree: r1..r4\nbody r1..r4: G.take; w; G.drop\ngate G: 3", 4, {"r1": 10, "r2": 10, "r3": 10, "r4": 20}),
        ("tree: r s\nbody r: ~s\nwork s: 7", 2, {"r": 7, "s": 7}),
        ("tree: r(a)\nbody r: +a; raise", 2, {"r": 0, "a": 10}),
        ("tree: r(a)\nlate: a\nbody r: w", 1, {"r": 10, "a": 20}),
        ("tree: r\nbody r:\n  w\n  w\nwork r: 0", 1, {"r": 0}),
        ("tree: a b\nbody a: L.take; raise\nbody b: L.take; w", 2, {"a": 0, "b": 10}),  # an end drops every lock
    ],
)
def test_runs_end_when_their_bodies_say(text: str, cap: int, expected: dict[str, int]) -> None:
    assert told(text, cap=cap) == expected
    assert told(text, "rule:lend", cap) == expected


def test_a_slot_is_charged_to_its_job_from_grant_to_return_parked_or_not() -> None:
    text = "cap: 2\ntree: r(a) s\nbody r: +a; w\njob r a: p/r\njob s: p/s\nat s: 15\nwork r: 5\nwork a: 20"
    found = play(read_scenario(text, "t"), "pool", 2).found
    assert ends(found) == {"r": 5, "a": 20, "s": 25}
    # r ends at 5 while its slot is lent, so it stays charged to p/r until a, its borrower, ends.
    assert series(found) == {("p", "r"): ([0, 20], [1, 0]), ("p", "s"): ([15, 25], [1, 0])}
    assert found.share(("p",), 25) == 1
    assert found.share(("p", "s"), 25) == pytest.approx(10 / 30)


def test_the_peaks_count_within_an_instant() -> None:
    found = play(files_and_chunks(6), "rule:release", 2, order="fifo").found
    assert (found.alive.peak, found.in_flight.peak, found.working.peak) == (19, 9, 2)
    assert (found.in_flight.by_level[2], found.working.by_level[3]) == (6, 2)
    assert [found.in_flight_steps.at(time_ms) for time_ms in (0, 60)] == [9, 0]


def test_a_script_is_refused() -> None:
    with pytest.raises(ValueError, match="has a script, which fixes an order and not times"):
        told("tree: a b\nscript: ask b; ask a")


def test_a_class_that_fails_is_named() -> None:
    with pytest.raises(SubjectError, match="test_simulate:Breaks cannot be simulated: RuntimeError: no more"):
        play(flat(("a", 0, 1, 1)), "test_simulate:Breaks", 1)


class Breaks(Pool):
    def finish(self, run: Any) -> Any:
        raise RuntimeError("no more")


# -- rules -----------------------------------------------------------------------------------------------------------


def test_a_run_that_retakes_its_slot_waits_for_it() -> None:
    """At 10 a ends and r asks again; s has the slot by then."""
    text = "tree: r(a) s\nbody r: +a; &a; w\nat s: 5"
    assert told(text, "rule:retake") == {"r": 30, "a": 10, "s": 20}
    assert told(text) == {"r": 20, "a": 10, "s": 30}


def test_a_worker_that_helps_goes_on_when_what_it_took_on_top_ends() -> None:
    """While r waits for a, its worker runs s on top of it, so r ends with s and not with a."""
    text = "tree: r(a) s t\nwork a: 5\nwork s: 20\nwork t: 100"
    assert told(text, "rule:help", 2)["r"] >= told(text, "pool", 2)["r"]


def test_inline_a_parent_runs_the_child_itself_when_no_worker_is_free() -> None:
    assert told("tree: r(a b)\nbody r: +*; w; &*", "rule:help+inline") == {"r": 30, "a": 10, "b": 20}


def test_runs_that_are_declined_do_not_run_and_their_parent_goes_on() -> None:
    found = play(read_scenario("cap: 1\ntree: r(a b)", "t"), "rule:refuse", 2).found
    assert (ends(found), found.declined, found.stuck) == ({"r": 10, "a": 10, "b": -1}, ("b",), ())


def test_holding_is_stuck_with_the_runs_that_the_post_names() -> None:
    found = play(tree_walk(5, 2), "rule:hold", 4).found
    assert len(found.stuck) == found.alive.peak == 4 * 5 + 1
    assert sum(at >= 0 for at in found.admitted_ms) == 4
    assert found.took_ms(("n",)) is None


@pytest.mark.parametrize("name", RULES)
def test_what_a_simulation_does_an_exploration_finds_too(name: str) -> None:
    """Stuck only where some behaviour gets stuck; and a rule that never gets stuck never is."""
    stuck = 0
    for count in (1, 2, 3, 4):
        for runs in forests(count):
            rule = RULES[name].declared(count)
            for cap in (1, 2):
                scenario = Scenario("t", runs)
                found = simulate(scenario, LiveRule(rule, cap), rule.conduct)
                stuck += bool(found.stuck)
                if found.stuck:
                    assert gets_stuck(scenario, name, cap)
                else:
                    assert all(end >= 0 for end in found.ended_ms) or found.declined
    assert bool(stuck) == (name == "hold")


def gets_stuck(scenario: Scenario, name: str, cap: int) -> bool:
    subject: Any = resolve_subject(f"rule:{name}")
    workload = Workload(scenario, Calls(subject.declared(scenario.levels)), cap=cap)

    def bad_end(state: Any) -> dict[str, str] | None:
        return None if workload.finished(state) else {"stuck": "not finished"}

    return bool(explore(workload, [Property.ends("stuck", bad_end)]).violations)


class Pure:
    """A rule as the explorer has it: every call makes a new state of the old one."""

    def __init__(self, rule: Rule, cap: int, order: str) -> None:
        self.rule, self.state = rule, rule.initial(cap, order=order)

    def make(self, verb: str, *args: Any) -> Any:
        try:
            outcome = getattr(self.rule, verb)(self.state, *args)
        except Refusal as refusal:
            if refusal.code not in self.rule.declines:
                raise
            return None
        self.state = outcome.state
        return outcome

    def ask(self, *args: Any) -> Any:
        return self.make("ask", *args)

    def finish(self, run: str) -> Any:
        return self.make("finish", run)

    def held(self, job: tuple[str, ...]) -> int:
        return Facts(self.state).held(job)

    def waits(self) -> bool:
        return any(run.phase == "waiting" for run in self.state.runs)

    def lent(self, name: str) -> bool:
        return next(run.lent for run in self.state.runs if run.run == name)


@pytest.mark.parametrize("order", ["fewest_held", "round_robin", "fixed_share:2"])
@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_lives_on_does_what_it_does_state_by_state(name: str, order: str) -> None:
    rule = RULES[name].declared(3)
    for scenario in (files_and_chunks(4), flat(("big", 0, 6, 40), ("small", 3, 5, 10)), tree_walk(2, 2)):
        live = simulate(scenario, LiveRule(rule, 3, order=order), rule.conduct)
        pure = simulate(scenario, Pure(rule, 3, order), rule.conduct)
        assert (live.ended_ms, live.admitted_ms, live.stuck, live.declined) == (
            pure.ended_ms, pure.admitted_ms, pure.stuck, pure.declined,
        )  # fmt: skip
        assert series(live) == series(pure)


ORDERS = [
    {},
    {"tie": "oldest"},
    *({"order": name} for name in ("fifo", "round_robin", "strict_priority:small", "fixed_share:3")),
]


@pytest.mark.parametrize("relend", [False, True])
@pytest.mark.parametrize("way", ORDERS, ids=str)
def test_the_pool_and_the_rule_give_the_same_timeline(way: dict[str, str], relend: bool) -> None:
    scenarios = [
        flat(("big", 0, 12, 40), ("small", 3, 9, 10)),
        files_and_chunks(5),
        tree_walk(3, 3),
        tree_walk(3, 3, late=True),
    ]
    for scenario in scenarios:
        of_pool = simulate(scenario, Pool(4, relend=relend, **way))
        of_rule = simulate(scenario, LiveRule(RULES["lend"], 4, relend=relend, **way))
        assert series(of_pool) == series(of_rule)
        for found in ("asked_ms", "admitted_ms", "ended_ms", "end_ms", "stuck"):
            assert getattr(of_pool, found) == getattr(of_rule, found)


def test_the_workloads_that_ship_are_read_and_played() -> None:
    assert list(workloads()) == ["four-slots", "long-beside-short", "small-behind-big"]
    assert [len(one.runs) for one in workloads().values()] == [24, 800, 440]
