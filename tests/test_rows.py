"""Rows: a scenario under a rule, what its line expects against what is found; and that a wrong line is told apart."""

from __future__ import annotations

from typing import Any

import pytest

from slotcheck.checks import rows
from slotcheck.checks.designs import DESIGNS
from slotcheck.checks.mutants import MUTANTS
from slotcheck.checks.rows import Row, explore_row, rows_of, told
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import ClassSubject
from slotcheck.pymodel.explore import Limits
from slotcheck.pymodel.rules import RULES, Help, Hold, Outcome, Release
from slotcheck.pymodel.scenario import Scenario

CHAIN = "cap: 1\ntree: r(a)\n"
#: a waits for b and b for a, beside each other: stuck under any rule that admits both.
CROSS = "cap: 3\ntree: r(a b c)\nbody a: ~b\nbody b: ~c\nbody c: ~a\n"


def scenario(text: str) -> Scenario:
    return read_scenario(text, "here.scenario")


def row(text: str, rule: str, limits: Limits | None = None) -> Row:
    return explore_row(scenario(text), rule, limits)


# -- expected against found --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("hold", "NoDeadlock"),
        ("release", "InFlightWithinCapTimesLevels"),
        ("retake", "InFlightWithinCapTimesLevels"),
        ("per_level", "holds"),  # at cap 1 each level has its slot
        ("help", "InFlightWithinCapTimesLevels"),
        ("help+inline", "holds"),
        ("refuse", "refused"),
        ("lend", "holds"),
        ("lend+relend", "holds"),
    ],
)
def test_what_each_rule_does_with_a_tree_deeper_than_the_cap(rule: str, found: str) -> None:
    one = row(f"cap: 1\ntree: r(a(x) b(y) c(z))\nexpect {rule}: {found}", rule)
    assert (one.told_found, one.told_expected, one.agrees) == (found, found, True)
    assert (one.parts, one.stopped, one.diagnosed) == (1, None, False)
    assert one.states > 0
    # One trace for each thing found that an invariant is about.
    assert set(found.split(", ")) - {"holds", "refused"} <= set(one.traces)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("hold", "holds"),
        ("hold", "refused"),
        ("hold", "NoDeadlock, InFlightWithinCapTimesLevels"),  # more than is found
        ("per_level", "CapRespected"),  # less than is found
        ("per_level", "InFlightWithinCapTimesLevels"),
        ("per_level", "CapRespected, InFlightWithinCapTimesLevels, NoDeadlock"),
        ("refuse", "holds"),
        ("refuse", "refused, NoDeadlock"),
        ("lend", "NoDeadlock"),
        ("lend", "cycle a r"),
    ],
)
def test_a_line_that_says_more_or_less_or_something_else_is_violated(rule: str, line: str) -> None:
    one = row(f"{CHAIN}expect {rule}: {line}", rule)
    assert one.agrees is False
    assert set(one.told_expected.split(", ")) == set(line.split(", "))


@pytest.mark.parametrize(
    ("line", "agrees"),
    [
        ("InFlightWithinCapTimesLevels, cycle a d b, cycle b d", True),
        ("cycle d b, InFlightWithinCapTimesLevels, cycle b a d", True),
        ("cycle a d b, cycle b d", False),
        ("InFlightWithinCapTimesLevels, cycle b d", False),
        ("InFlightWithinCapTimesLevels, cycle a d b", False),
        ("InFlightWithinCapTimesLevels, cycle a d b, cycle b d, NoDeadlock", False),
        ("InFlightWithinCapTimesLevels, cycle a b d, cycle b d", False),
        ("InFlightWithinCapTimesLevels", False),
    ],
)
def test_of_several_things_found_each_must_be_said(line: str, agrees: bool) -> None:
    one = row(f"cap: 1\ntree: a(b) c(d)\nbody d: ~b\nexpect release: {line}", "release")
    assert one.agrees is agrees


@pytest.mark.parametrize(
    ("text", "rule", "most", "steps"),
    [
        ("cap: 1\ntree: a(b) c(d)", "release", 2, 6),
        ("cap: 1\ntree: r(a(x) b(y) c(z))", "release", 3, 8),
        ("cap: 1\ntree: r(a(x) b(y) c(z))", "help", 3, 12),
        ("cap: 1\ntree: a(b) c(d) e(f) g(h)\nenvironment: cap := 2", "release", 4, 10),
    ],
)
def test_the_trace_to_more_in_flight_than_the_cap_allows_shows_that(
    text: str, rule: str, most: int, steps: int
) -> None:
    one = row(f"{text}\nexpect {rule}: InFlightWithinCapTimesLevels", rule)
    assert one.agrees is True
    trace = one.traces["InFlightWithinCapTimesLevels"]
    in_flight = [run["phase"] == "in_flight" for run in trace.after["runs"].values()].count(True)
    assert in_flight == most + 1
    assert trace.message.startswith(f"{in_flight} runs are in flight")
    assert len(trace) == steps


def test_the_trace_of_what_was_not_expected_is_told() -> None:
    one = row(f"{CHAIN}expect hold: holds", "hold")
    (trace,) = one.unexpected
    assert (trace.invariant, trace.cap, len(trace)) == ("NoDeadlock", 1, 3)
    one = row("cap: 1\ntree: a(b) c(d)\nexpect release: NoDeadlock", "release")
    assert [trace.invariant for trace in one.unexpected] == ["InFlightWithinCapTimesLevels"]
    assert row(f"{CHAIN}expect hold: NoDeadlock", "hold").unexpected == []


def test_without_a_line_nothing_is_said_about_what_is_found() -> None:
    one = row(CHAIN, "hold")
    assert (one.expected, one.told_expected, one.agrees) == (None, "", None)
    assert one.told_found == "NoDeadlock"


def test_all_caps_together_make_a_row() -> None:
    # At cap 2 the chain fits, at cap 1 it does not.
    one = row("cap: 2 1\ntree: r(a)\nexpect hold: NoDeadlock", "hold")
    assert (one.agrees, one.parts) == (True, 2)
    assert one.traces["NoDeadlock"].cap == 1
    assert row("cap: 2\ntree: r(a)\nexpect hold: NoDeadlock", "hold").agrees is False


# -- circles and events ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["lend", "lend+relend", "hold", "release"])
@pytest.mark.parametrize("start", ["cycle a b c", "cycle b c a", "cycle c a b"])
def test_a_circle_may_be_told_from_any_of_its_runs(rule: str, start: str) -> None:
    cap = "cap: 4" if rule == "hold" else "cap: 3"
    one = row(CROSS.replace("cap: 3", cap) + f"expect {rule}: {start}", rule)
    assert one.agrees is True
    assert one.told_expected == one.told_found == "cycle a b c"
    assert one.diagnosed


@pytest.mark.parametrize("line", ["cycle a c b", "cycle a b", "cycle a b c, never e", "holds", "NoDeadlock"])
def test_another_circle_is_violated(line: str) -> None:
    body = "body r: +a; +b; +c; &*; ?e\n" if "never e" in line else ""
    one = row(CROSS + body + f"expect lend: {line}", "lend")
    assert one.agrees is False
    if "cycle a b c" not in line:
        assert "Diagnosis" in [trace.invariant for trace in one.unexpected]


def test_diagnosed_stands_for_what_the_scenario_names() -> None:
    named = CROSS + "diagnosis: cycle c a b\nexpect lend: diagnosed\n"
    assert row(named, "lend").agrees is True
    assert row(named.replace("c a b", "c b a"), "lend").agrees is False
    more = "expect release: diagnosed, InFlightWithinCapTimesLevels\n"
    assert row(named + more, "release").expected == (("InFlightWithinCapTimesLevels",), ("cycle", "a", "b", "c"))


def test_a_line_with_reasons_of_its_own_goes_before_the_scenarios() -> None:
    text = "cap: 2\ntree: f(d u)\nbody d: ?e; w\nbody u: ?g; w\ndiagnosis: never e\ndiagnosis: never g\n"
    assert row(text + "expect lend: diagnosed", "lend").agrees is True
    assert row(text + "expect lend: never e", "lend").agrees is False
    assert row(text + "expect lend: never g, never e", "lend").told_found == "never e, never g"


def test_the_trace_of_a_circle_is_of_the_one_that_was_not_expected() -> None:
    two = "cap: 4\ntree: a b x y\nbody a: ~b\nbody b: ~a\nbody x: ~y\nbody y: ~x\n"
    named = "diagnosis: cycle a b\ndiagnosis: cycle x y\n"
    assert row(f"{two}{named}expect lend: diagnosed", "lend").unexpected == []
    (trace,) = row(f"{two}{named}expect lend: cycle a b", "lend").unexpected
    assert "cycle a b; cycle x y" in trace.message


# -- a row cut short ---------------------------------------------------------------------------------------------

WIDE = "cap: 1\ntree: a(b) c(d) e(f) g(h)\n"


def test_a_row_cut_short_never_agrees() -> None:
    for rule, line in (("lend", "holds"), ("release", "InFlightWithinCapTimesLevels"), ("hold", "NoDeadlock")):
        one = row(f"{WIDE}expect {rule}: {line}", rule, Limits(states=3))
        assert one.stopped == "more than 3 states"
        assert one.agrees is None
    # Even where all that is expected was found already.
    one = row(f"{WIDE}expect release: InFlightWithinCapTimesLevels", "release", Limits(states=100))
    assert (one.told_found, one.told_expected) == ("InFlightWithinCapTimesLevels",) * 2
    assert (one.stopped, one.agrees) == ("more than 100 states", None)


def test_a_row_cut_short_is_violated_if_something_unexpected_was_found_before() -> None:
    one = row(f"{WIDE}expect release: holds", "release", Limits(states=100))
    assert one.stopped is not None
    assert one.agrees is False
    assert [trace.invariant for trace in one.unexpected] == ["InFlightWithinCapTimesLevels"]


def test_the_seconds_are_those_of_the_whole_row(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    real = rows.check_part

    def noted(*args: Any, **named: Any) -> Any:
        given.append(named["limits"].seconds)
        return real(*args, **named)

    monkeypatch.setattr(rows, "check_part", noted)
    row("cap: 1 2 3\ntree: r(a)", "hold", Limits(seconds=100))
    assert len(given) == 3
    assert 100 >= given[0] > given[1] > given[2] > 0


# -- scripts and rules that decline ------------------------------------------------------------------------------


def test_a_rule_that_declines_is_found_to() -> None:
    assert row("cap: 1\ntree: a b\nexpect refuse: refused", "refuse").agrees is True
    assert row("cap: 2\ntree: a b\nexpect refuse: holds", "refuse").agrees is True
    assert row("cap: 9\ntree: a(b(c(d)))\nexpect refuse: refused", "refuse").agrees is True  # too deep


#: c is cancelled while it waits; a rule that never lets it wait does not come to the end.
SCRIPT = "cap: 1\ntree: a c\nscript: ask a; ask c; cancel c when waiting; finish a\n"


def test_a_script_that_a_rule_cannot_get_through_is_excused_by_what_it_does_wrong() -> None:
    assert row(f"{SCRIPT}expect hold: holds", "hold").agrees is True
    one = row(f"{SCRIPT}expect refuse: refused", "refuse")
    assert (one.agrees, one.stopped) == (True, None)


@pytest.mark.parametrize("rule", ["hold", "release", "lend", "lend+relend"])
def test_a_script_that_never_happens_shows_nothing(rule: str) -> None:
    one = row(f"{SCRIPT.replace('cap: 1', 'cap: 2')}expect {rule}: holds", rule)
    assert one.told_found == "holds"
    assert (one.agrees, one.stopped) == (None, "no behaviour gets through the script")


# -- faulty rules and pools --------------------------------------------------------------------------------------


class NeverFull(Hold):
    """A child is admitted whether or not there is a slot for it."""

    def _admit(self, draft: Any, run: str) -> bool:
        if not self._take(draft, run):
            draft.taken += 1
            draft.admit(run, "pool")
        return True


class NeverServes(Release):
    """Whoever waits waits for ever."""

    def _serve(self, draft: Any) -> None:
        pass


class HelpsNobody(Help):
    """A worker that waits goes on looking for work, and takes none."""

    def help(self, state: Any, run: str) -> Outcome:
        return Outcome(state, (), ())


def test_a_rule_that_goes_round_for_ever_is_violated(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{CHAIN}expect help: holds"
    assert row(text, "help").agrees is True
    monkeypatch.setitem(RULES, "help", HelpsNobody())
    one = row(text, "help")
    assert (one.agrees, one.told_found) == (False, "AllFinish")
    assert one.unexpected[0].circle == ("r waits, and its worker helps",)


def test_a_rule_that_does_not_deadlock_as_expected_is_violated(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{CHAIN}expect hold: NoDeadlock"
    assert row(text, "hold").agrees is True
    monkeypatch.setitem(RULES, "hold", NeverFull())
    one = row(text, "hold")
    assert one.agrees is False
    assert one.told_found == "CapRespected"


def test_a_rule_that_loses_a_wake_up_is_violated(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "cap: 1\ntree: a b\nexpect release: holds"
    assert row(text, "release").agrees is True
    monkeypatch.setitem(RULES, "release", NeverServes())
    assert row(text, "release").told_found == "NoDeadlock"


@pytest.mark.parametrize("name", ["LendsTwice", "LeaksCancelledGrant", "LosesWakeUp"])
def test_of_lending_it_is_the_pool_that_is_judged_by_every_invariant(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(rows, "resolve_subject", lambda _: ClassSubject(f"mutants:{name}", MUTANTS[name]))
    one = row("cap: 1\ntree: r(a b) s\nenvironment: cancel *\nexpect lend: holds", "lend")
    assert one.agrees is False
    assert one.unexpected
    assert one.traces["Lockstep"].subject == f"mutants:{name}"


def test_relend_is_judged_where_the_rule_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "RelendNotDone"
    monkeypatch.setattr(rows, "resolve_subject", lambda _: ClassSubject(f"mutants:{name}", MUTANTS[name]))
    text = "cap: 2\ntree: r(a b)\nexpect lend: holds\nexpect lend+relend: holds"
    assert row(text, "lend").agrees is True
    assert "RelendLeavesNoIdle" in row(text, "lend+relend").told_found


def test_how_lending_gets_there_is_not_for_other_rules_to_keep() -> None:
    # Holding leaves a waiter beside its parent's unlent slot, which breaks NoLostWakeUp and more.
    one = row(f"{CHAIN}expect hold: NoDeadlock", "hold")
    assert one.told_found == "NoDeadlock"


# -- rows as data ------------------------------------------------------------------------------------------------


def test_there_is_a_row_for_every_scenario_and_rule() -> None:
    two = [scenario(CHAIN), scenario(CROSS)]
    assert [(one.tree, rule) for one, rule in rows_of(two, iter(["hold", "lend"]))] == [
        ("r(a)", "hold"),
        ("r(a)", "lend"),
        ("r(a b c)", "hold"),
        ("r(a b c)", "lend"),
    ]
    assert [rule for _, rule in rows_of(two[:1])] == list(DESIGNS)


def test_a_row_is_told_as_its_line_says_it() -> None:
    assert told([("NoDeadlock",), ("cycle", "a", "b"), ("never", "e")]) == "NoDeadlock, cycle a b, never e"
