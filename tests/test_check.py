"""The main check: verdicts, what they stand on, and what keeps them from being known."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from itertools import groupby

import pytest

from slotcheck.checks import check as checking
from slotcheck.checks import processes
from slotcheck.checks.check import Part, Report, Settings, check, check_part, parts_of
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.ledger import Ledger
from slotcheck.checks.report import as_json
from slotcheck.checks.rows import explore_row
from slotcheck.checks.scenario import builtin_scenarios, read_scenario, resolve
from slotcheck.checks.subject import SubjectError, resolve_subject
from slotcheck.pymodel.explore import Limits, Verdict
from slotcheck.pymodel.scenario import Scenario


def small(runs: int = 3) -> list[Part]:
    return parts_of(generated_scenarios(runs))


def one(text: str, **options: Sequence[int] | Sequence[bool]) -> list[Part]:
    return parts_of([read_scenario(text, "here.scenario")], **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def of_pool() -> Report:
    return check(small(), Settings())


def test_the_pool_holds_on_all_small_forests(of_pool: Report) -> None:
    assert of_pool.verdict is Verdict.HOLDS
    assert not of_pool.violations
    assert not of_pool.missing
    assert all(part.verdict == "holds" for part in of_pool.parts)


def test_every_plain_part_reaches_the_most_in_flight_exactly(of_pool: Report) -> None:
    plain = [part for part in of_pool.parts if part.plain]
    assert len(plain) == 7 * 3 * 2
    assert all(part.most_in_flight == part.most for part in plain)


def test_several_processes_say_the_same_to_the_byte(of_pool: Report) -> None:
    again = check(small(), Settings(), jobs=2)
    assert json.dumps(as_json(again, None)) == json.dumps(as_json(of_pool, None))


@pytest.mark.parametrize(
    ("tie", "order"),
    [
        ("served", "fewest_held"),
        ("oldest", "fewest_held"),
        *(("served", order) for order in ("fifo", "round_robin", "strict_priority:c,b", "fixed_share:1")),
    ],
)
def test_the_pool_holds_under_every_order(order: str, tie: str) -> None:
    forests = [scenario for scenario in generated_scenarios(3) if scenario.name in ("a b c cancel", "a(b) c early")]
    assert check(parts_of(forests), Settings(order=order, tie=tie)).verdict is not Verdict.VIOLATED


def test_an_order_that_goes_by_names_lets_no_siblings_be_merged() -> None:
    (scenario,) = [scenario for scenario in generated_scenarios(3) if scenario.name == "a b c plain"]
    (part,) = parts_of([scenario], caps=[1], relend=[False])
    by_name = check_part(part, resolve_subject("pool", order="strict_priority:c,b"))
    by_turns = check_part(part, resolve_subject("pool", order="round_robin"))
    assert (by_name.reduced, by_turns.reduced) == (False, True)
    assert by_turns.states < by_turns.full_states
    assert by_name.verdict == by_turns.verdict == "holds"


def test_jobs_of_two_levels_are_judged_under_every_order() -> None:
    """A child may belong to another app than its parent: who is charged, and whose turn it is, on every call."""
    part = parts_of(resolve(["jobs-of-two-apps"]), caps=[2], relend=[True])[0]
    for order in ("fewest_held", "round_robin", "strict_priority:q,v", "fixed_share:1"):
        found = check_part(part, resolve_subject("pool", order=order))
        assert found.verdict == "holds"
        assert found.judged["FewestHeldFirst"] == found.judged["HeldMatches"] == found.calls > 300
    wrong = check_part(part, resolve_subject("slotcheck.checks.mutants:DropsJobOfChild"))
    assert "Lockstep" in {trace.invariant for trace in wrong.traces}


def test_hold_deadlocks_with_a_shortest_trace() -> None:
    report = check(small(), Settings("rule:hold"), keep_going=True)
    assert report.verdict is Verdict.VIOLATED
    found = {trace.invariant: trace for trace in report.violations}
    assert set(found) == {"NoDeadlock", "AllFinish", "NoLostWakeUp", "MaxInFlight", "RelendLeavesNoIdle"}
    deadlock = found["NoDeadlock"]
    assert (deadlock.tree, deadlock.cap) == ("a(b)", 1)
    assert deadlock.events == ("ask a -> a admitted on a pool slot", "resume a", "ask b under a -> waits")
    assert "a waits for b to end; b waits for a slot, and a holds one" in deadlock.message


def test_release_exceeds_the_bound_with_a_shortest_trace() -> None:
    report = check(small(), Settings("rule:release"), keep_going=True)
    assert report.verdict is Verdict.VIOLATED
    found = {trace.invariant: trace for trace in report.violations}
    assert set(found) == {"InFlightWithinCapTimesLevels", "LevelWithinCap"}
    assert len(found["InFlightWithinCapTimesLevels"]) == 4


def test_the_reference_rule_holds() -> None:
    report = check(small(), Settings("rule:lend"))
    assert report.verdict is not Verdict.VIOLATED
    # Nobody has asked it what a job holds, so nothing is said about that.
    assert "a job that holds two" in report.not_covered


@pytest.mark.parametrize(
    ("name", "rule"), [(name, rule) for name, one in builtin_scenarios().items() for rule in one.expect]
)
def test_a_rule_does_on_a_scenario_exactly_what_it_is_expected_to(name: str, rule: str) -> None:
    # The largest are looked at in part, and then nothing may be found that is not expected; `slotcheck compare` looks
    # at them in whole. Lending: the pool itself.
    row = explore_row(builtin_scenarios()[name], rule, Limits(states=1_000))
    assert row.agrees is (None if row.stopped else True), f"expected {row.told_expected}, found {row.told_found}"


# -- what keeps a verdict from being known -----------------------------------------------------------------------


def test_nothing_checked_is_undetermined() -> None:
    assert check([], Settings("rule:lend")).verdict is Verdict.UNDETERMINED


def test_a_limit_is_undetermined() -> None:
    (part, *_) = one("cap: 2\ntree: r(a b c)")
    result = check_part(part, resolve_subject("pool"), limits=Limits(states=3))
    assert (result.verdict, result.stopped) == ("undetermined", "more than 3 states")
    report = check([part], Settings("rule:lend", max_states=3))
    assert report.verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_time_left_is_undetermined(jobs: int) -> None:
    report = check(small(2), Settings(), jobs=jobs, max_seconds=0)
    assert report.verdict is Verdict.UNDETERMINED
    assert report.stopped == "more than 0 seconds"
    assert len(report.parts) < len(small(2))


def test_an_interrupt_gives_what_was_done_as_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = checking.check_part, 0

    def interrupted(*args: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return real(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(checking, "check_part", interrupted)
    report = check(small(2), Settings())
    assert report.stopped == "interrupted"
    assert len(report.parts) == 2
    assert report.verdict is Verdict.UNDETERMINED


def test_a_missing_witness_is_undetermined() -> None:
    sound = check(small(2), Settings("rule:lend"))
    assert sound.verdict is Verdict.HOLDS
    report = Report("rule:lend", sound.parts, missing=["a parked slot"])
    assert report.verdict is Verdict.UNDETERMINED


def test_random_walks_find_faults_and_never_say_holds() -> None:
    parts = one("cap: 2\ntree: r(a(x y z) b(u v w) c)")
    sound = check(parts, Settings("rule:lend", search="walk", walks=5, seed=7))
    assert (sound.verdict, sound.parts[0].stopped) == (
        Verdict.UNDETERMINED,
        "walked 5 times at random (seed 7), which cannot exhaust the states",
    )
    again = check(parts, Settings("rule:lend", search="walk", walks=5, seed=7))
    assert json.dumps(as_json(again, None)) == json.dumps(as_json(sound, None))
    faulty = check(parts, Settings("slotcheck.checks.mutants:LendsTwice", search="walk", walks=5, seed=7))
    assert faulty.verdict is Verdict.VIOLATED


def test_depth_first_says_the_same_as_breadth_first(of_pool: Report) -> None:
    deep = check(small(), Settings(search="depth"))
    assert [(part.verdict, part.states, part.edges) for part in deep.parts] == [
        (part.verdict, part.states, part.edges) for part in of_pool.parts
    ]


def test_a_script_that_cannot_happen_is_undetermined() -> None:
    (part,) = one("cap: 1\ntree: a b\nscript: ask a; ask b; cancel b when granted; finish a")
    result = check_part(part, resolve_subject("pool"))
    assert (result.verdict, result.stopped) == ("undetermined", "no behaviour gets through the script")


# -- outside what lending promises -------------------------------------------------------------------------------

CROSS = "cap: 1\ntree: r(b c)\nbody b: ~c\nbody c: ~b\n"


def test_a_circle_that_the_scenario_names_is_diagnosed() -> None:
    (part,) = one(CROSS + "diagnosis: cycle c b")
    result = check_part(part, resolve_subject("pool"))
    assert (result.verdict, result.diagnoses) == ("diagnosed", ["cycle b c"])


def test_a_circle_that_the_scenario_does_not_name_is_violated() -> None:
    for more in ("", "diagnosis: cycle r b"):
        (part,) = one(CROSS + more)
        result = check_part(part, resolve_subject("pool"))
        assert result.verdict == "violated"
        assert "Diagnosis" in {trace.invariant for trace in result.traces}


def test_a_diagnosis_that_is_never_met_is_violated() -> None:
    (part,) = one("cap: 2\ntree: r(b c)\nbody b: ~c\nbody c: w\ndiagnosis: cycle b c")
    result = check_part(part, resolve_subject("pool"))
    assert result.verdict == "violated"
    assert [trace.message for trace in result.traces] == ["the scenario names 'cycle b c', which was never found"]


def test_an_event_that_nobody_sets_is_diagnosed() -> None:
    (part,) = one("cap: 1\ntree: r\nbody r: ?go\ndiagnosis: never go")
    assert check_part(part, resolve_subject("pool")).diagnoses == ["never go"]


# -- faulty subjects ---------------------------------------------------------------------------------------------


def test_a_subject_that_raises_in_the_middle_is_violated_with_the_path() -> None:
    report = check(one("cap: 3\ntree: a b c"), Settings("subjects:FailsThirdGrant"))
    (trace,) = [trace for trace in report.violations if trace.invariant == "Answers"]
    assert trace.message == "ask raised ZeroDivisionError: third time unlucky"
    assert len(trace) == 3
    assert trace.events[-1] == "ask c -> ZeroDivisionError: third time unlucky"


def test_a_subject_that_refuses_what_the_rules_allow_is_violated() -> None:
    report = check(one("cap: 1\ntree: a\nenvironment: cancel *"), Settings("subjects:Refuses"))
    assert {trace.invariant for trace in report.violations} >= {"Answers"}


def test_the_smallest_counterexample_is_told() -> None:
    scenarios: list[Scenario] = sorted(generated_scenarios(3), key=lambda scenario: -len(scenario.runs))
    report = check(parts_of(scenarios), Settings("rule:hold"))
    (deadlock,) = [trace for trace in report.violations if trace.invariant == "NoDeadlock"]
    assert (deadlock.tree, deadlock.cap, len(deadlock)) == ("a(b)", 1, 3)


@pytest.mark.parametrize("jobs", [1, 2])
def test_larger_parts_are_left_alone_once_something_is_violated(jobs: int) -> None:
    report = check(small(), Settings("rule:hold"), jobs=jobs)
    assert max(part.runs for part in report.parts) == 2
    assert len(report.parts) + report.left_alone == len(small())
    assert report.verdict is Verdict.VIOLATED
    assert report.stopped is None
    assert check(small(), Settings("rule:hold"), jobs=jobs, keep_going=True).left_alone == 0


@pytest.mark.parametrize(
    ("subject", "invariant", "said"),
    [
        ("subjects:Exits", "Answers", "finish raised SystemExit: 0"),
        ("subjects:AnswersBadly", "Answers", "ask raised ValueError"),
        ("subjects:CannotRestore", "Answers", "raised OSError: disk full"),
        ("subjects:WrongToken", "Answers", "granted ('b', 'lent'): a token is 'pool' or 'loan'"),
        ("subjects:WrongLevel", "Answers", "snapshot: level of 'a' is None, not an integer >= 1"),
        ("subjects:HeldIsNone", "Answers", "held(('a',)) is None, which is no number of slots"),
        ("subjects:WaitsForNobody", "Answers", "snapshot: waiting names 'b', which is no run"),
    ],
)
def test_a_subject_that_breaks_off_is_violated(subject: str, invariant: str, said: str) -> None:
    report = check(small(2), Settings(subject))
    assert report.verdict is Verdict.VIOLATED
    found = {trace.invariant: trace.message for trace in report.violations}
    assert said in found[invariant]


def test_a_subject_that_ends_its_process_is_never_green() -> None:
    for jobs in (1, 2):
        report = check(small(2), Settings("subjects:ExitsHard"), jobs=jobs)
        assert report.verdict is Verdict.UNDETERMINED
        assert report.stopped == "a process that explored a part ended; the subject may have ended it"


def test_a_class_without_relend_is_checked_with_relend_off_only() -> None:
    with pytest.raises(SubjectError, match="does not take relend=True: check it with relend off only"):
        check(small(2), Settings("subjects:WithoutRelend"))
    report = check(parts_of(generated_scenarios(2), relend=[False]), Settings("subjects:WithoutRelend"))
    assert report.verdict is Verdict.HOLDS
    assert report.histories is not None
    assert report.histories.orders == ["its own"]


def test_counts_of_calls_are_of_different_ones_in_each_forest(of_pool: Report) -> None:
    ledgers = [ledger for _, ledger in _explored(small())]
    assert sum(part.calls for part in of_pool.parts) == sum(
        call.judged is not None for ledger in ledgers for call in set(ledger.calls)
    )
    assert sum(part.snapshots for part in of_pool.parts) == sum(ledger.views_judged for ledger in ledgers)


def _explored(parts: list[Part]) -> Iterator[tuple[Part, Ledger]]:
    subject = resolve_subject("pool")
    for _, group in groupby(parts, key=lambda part: part.scenario.runs):
        shared = list(group)
        ledger = checking.ledger_for(shared[0], subject)
        for part in shared:
            check_part(part, subject, ledger=ledger)
        yield shared[0], ledger


def test_a_subject_that_hangs_is_ended_and_never_green(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.1)
    report = check(small(2), Settings("subjects:Hangs"), jobs=2, max_seconds=0.5)
    assert report.verdict is Verdict.UNDETERMINED
    assert report.stopped == "more than 0.5 seconds: a call to the subject does not return"


def test_an_option_that_is_ignored_is_named() -> None:
    with pytest.raises(SubjectError, match="made with relend=True, but its snapshot says relend False"):
        check(small(2), Settings("subjects:IgnoresRelend"))


def test_a_class_with_just_what_is_asked_of_it_holds() -> None:
    report = check(small(), Settings("subjects:WithoutHeld"), jobs=2)
    assert report.verdict is Verdict.HOLDS
    assert "a job that holds two" in report.not_covered


def test_a_wrong_refusal_does_not_hide_what_is_worse() -> None:
    report = check(small(2), Settings("subjects:RefusesNoJob"))
    assert {trace.invariant for trace in report.violations} == {"Refused", "Lockstep"}
    assert len(report.parts) == len(small(2))


def test_an_interrupt_within_a_part_ends_the_whole_check(monkeypatch: pytest.MonkeyPatch) -> None:
    real = checking.explore
    monkeypatch.setattr(
        checking,
        "explore",
        lambda *args, **named: dataclasses.replace(real(*args, **named), stopped="interrupted"),
    )
    report = check(small(2), Settings())
    assert (report.stopped, len(report.parts)) == ("interrupted", 1)


def test_a_diagnosis_that_names_only_some_of_the_reasons_is_violated() -> None:
    two_events = "cap: 2\ntree: f(d u)\nbody d: ?e; w\nbody u: ?g; w\n"
    two_circles = "cap: 4\ntree: a b x y\nbody a: ~b\nbody b: ~a\nbody x: ~y\nbody y: ~x\n"
    for text, first, second in (
        (two_events, "diagnosis: never e\n", "diagnosis: never g\n"),
        (two_circles, "diagnosis: cycle a b\n", "diagnosis: cycle x y\n"),
    ):
        verdicts = [check_part(one(text + named)[0], resolve_subject("pool")) for named in (first, first + second)]
        assert [result.verdict for result in verdicts] == ["violated", "diagnosed"]


@pytest.mark.parametrize(
    "text", ["cap: 1\ntree: a b c\nenvironment: cap := 2", "cap: 3\ntree: a b c\nenvironment: cap := 1"]
)
def test_no_witness_is_demanded_that_the_resizes_cannot_show(text: str) -> None:
    report = check(one(text), Settings("rule:lend"))
    assert report.verdict is Verdict.HOLDS
    assert "two grants in one step" in report.not_covered


def test_an_end_outside_the_hypothesis_is_not_judged_by_what_promises_progress() -> None:
    text = "cap: 2\ntree: p(c)\nbody p: L.take; +c; &*; L.drop\nbody c: L.take; w; L.drop\ndiagnosis: cycle c p"
    (part,) = one(text)
    result = check_part(part, resolve_subject("pool"))
    assert result.verdict == "diagnosed"
    assert (result.judged["NoDeadlock"], result.judged["AllFinish"], result.judged["Diagnosis"]) == (0, 0, 1)
    (plain,) = one("cap: 2\ntree: p(c)")
    judged = check_part(plain, resolve_subject("pool")).judged
    assert (judged["NoDeadlock"], judged["Diagnosis"]) == (1, 0)
    assert judged["AllFinish"] > 0
