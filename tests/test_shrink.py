"""Shrinking: what a big scenario or a random walk came upon is cut down to what is needed, and still fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner
from traces import going_round, of_history

from slotcheck.checks.check import Settings, check_part, parts_of
from slotcheck.checks.cli import main
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.player import player_of
from slotcheck.checks.replay import replay
from slotcheck.checks.scenario import builtin_scenarios, read_scenario
from slotcheck.checks.shrink import shrink
from slotcheck.checks.subject import AnySubject, resolve_subject
from slotcheck.checks.trace import Trace, size_of, switches
from slotcheck.pymodel.scenario import Scenario

WALK = Settings(search="walk", walks=10)


def found(scenario: Scenario, subject: AnySubject, invariant: str, settings: Settings = WALK) -> Trace:
    """A trace, whatever its size."""
    for part in parts_of([scenario]):
        for trace in check_part(part, subject, settings=settings).traces:
            if trace.invariant == invariant:
                return trace
    raise AssertionError(f"{invariant} is not violated")


@pytest.mark.parametrize(
    ("spec", "name", "invariant", "runs", "steps"),
    [
        ("rule:hold", "binary-tree-two-slots", "NoDeadlock", 2, 3),
        ("slotcheck.checks.mutants:LendsTwice", "binary-tree-two-slots", "LevelWithinCap", 3, 4),
        ("slotcheck.checks.mutants:LosesWakeUp", "walk-files-chunks", "NoLostWakeUp", 2, 4),
    ],
)
def test_a_walk_in_a_big_tree_is_cut_to_the_smallest_there_is(
    spec: str, name: str, invariant: str, runs: int, steps: int
) -> None:
    subject = resolve_subject(spec)
    big = found(builtin_scenarios()[name], subject, invariant)
    small = shrink(big, subject)
    assert small.play is not None
    assert (len(small.play.runs), small.cap, len(small)) == (runs, 1, steps)
    assert size_of(small) < size_of(big)
    assert replay(small, player_of(small, subject)).accepted


def test_a_random_walk_on_a_pool_that_lives_on_is_cut() -> None:
    subject = resolve_subject("slotcheck.checks.mutants:KeepsHiddenState")
    scenario = read_scenario("cap: 2\ntree: a(b c) d e f(g) h\nenvironment: cancel *", "here")
    big = found(scenario, subject, "Replays")
    small = shrink(big, subject)
    assert len(small) == 7  # four asks, of which two wait, and two ends that give a slot back
    assert size_of(small) < size_of(big)
    assert replay(small, player_of(small, subject)).accepted


def test_acts_scripts_bodies_and_options_that_are_not_needed_go() -> None:
    text = (
        "cap: 3\ntree: r(a b(c)) s t\nbody b: L.take; +c; &c; L.drop\nbody s: !e; w\nbody t: ?e; w\nspawn: blocks\n"
        "environment: cancel *; finish *; cap := 1 2\nlate children: yes\nrelend: on"
    )
    subject = resolve_subject("slotcheck.checks.mutants:LosesWakeUp")
    small = shrink(found(read_scenario(text, "busy"), subject, "NoLostWakeUp"), subject)
    play = small.play
    assert play is not None
    assert (len(play.runs), small.cap, small.relend, len(small)) == (2, 1, False, 3)
    assert [act.verb for act in play.environment] == ["cancel"]  # else it takes a step more
    assert (play.blocking_spawn, play.late_children) == (False, False)
    assert not any(run.body for run in play.runs)
    assert small.scenario == "busy"


def test_a_body_is_cut_step_by_step() -> None:
    text = "cap: 1\ntree: p(q) o\nbody p: w; !e; +q; !f; L.take; &q; L.drop\nbody q: w; w; ?f; w"
    subject = resolve_subject("rule:hold")
    small = shrink(found(read_scenario(text, "long"), subject, "NoDeadlock", Settings()), subject)
    assert small.play is not None
    assert [run.body for run in small.play.runs] == [None, None]
    assert small.events == ("ask p -> p admitted on a pool slot", "resume p", "ask q under p -> waits")


@pytest.mark.parametrize("name", ["LendsTwice", "WaitsInOneQueue", "DropsParkedSlot"])
def test_what_a_search_of_all_small_forests_finds_cannot_be_cut(name: str) -> None:
    subject = resolve_subject(f"slotcheck.checks.mutants:{name}")
    invariants: dict[str, Trace] = {}
    for part in parts_of(generated_scenarios(3), caps=[1], relend=[False]):
        for trace in check_part(part, subject).traces:
            if trace.invariant not in invariants or size_of(trace) < size_of(invariants[trace.invariant]):
                invariants[trace.invariant] = trace
    invariants.pop("Replays", None)  # that comes from random walks
    for trace in invariants.values():
        assert size_of(shrink(trace, subject))[:4] == size_of(trace)[:4]


def test_of_shortest_traces_the_one_with_the_fewest_switches_is_told() -> None:
    assert switches([("ask", "a"), ("resume", "a"), ("ask", "b"), ("resize", 2), ("ask", "a")]) == 3
    text = "cap: 1\ntree: r(a b) s\nenvironment: cap := 2"
    subject = resolve_subject("slotcheck.checks.mutants:ResizeForgetsQueue")
    trace = found(read_scenario(text, "here"), subject, "NoLostWakeUp", Settings(search="depth"))
    small = shrink(trace, subject)
    assert switches(small.actions) <= 2
    assert size_of(small) < size_of(trace)


def test_what_cannot_be_cut_is_left_as_it_is() -> None:
    for trace in (of_history(), going_round(), replace(of_history(), steps=())):
        assert shrink(trace, resolve_subject("pool")) is trace
    subject = resolve_subject("slotcheck.checks.mutants:LendsTwice")
    trace = found(read_scenario("cap: 1\ntree: a(b c)", "here"), subject, "LevelWithinCap", Settings())
    assert shrink(trace, resolve_subject("pool")) is trace  # where it does not fail


def test_the_command_cuts_what_a_walk_finds() -> None:
    args = [
        "check",
        "binary-tree-two-slots",
        "--subject",
        "rule:hold",
        "--search",
        "walk",
        "--walks",
        "5",
        "--jobs",
        "1",
    ]
    result = CliRunner().invoke(main, [*args, "--no-timing"])
    assert result.exit_code == 1
    assert result.output == CliRunner().invoke(main, [*args, "--no-timing"]).output
    assert "  3. ask" in result.output
    assert "  4. " not in result.output
