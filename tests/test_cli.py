"""The command line: verdicts and exit codes, and what is said to a careless user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slotcheck.checks.cli import main
from slotcheck.checks.command import EXIT_CODES
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.pymodel.explore import Verdict


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def test_a_pool_that_holds_ends_with_0() -> None:
    result = run("check", "--runs", "2", "--jobs", "1")
    assert result.exit_code == 0
    assert result.output.rstrip().endswith("verdict: holds")


def test_a_rule_that_deadlocks_ends_with_1_and_its_trace() -> None:
    result = run("check", "--runs", "2", "--subject", "rule:hold", "--jobs", "1")
    assert result.exit_code == 1
    assert "NoDeadlock is violated by rule:hold in a(b) plain, cap 1" in result.output
    assert "3. ask b under a -> waits" in result.output
    assert "before step 3: 1 of 1 slots taken" in result.output
    assert "after step 3: 1 of 1 slots taken, waiting: b" in result.output
    assert "b: waiting, no slot, level 2, parent a" in result.output
    assert "Lockstep" in result.output
    assert "not judged" in result.output  # a rule has no reference, and that is not called green


def test_a_check_cut_short_ends_with_3() -> None:
    result = run("check", "--runs", "3", "--max-states", "5", "--jobs", "1")
    assert result.exit_code == 3
    assert "verdict: undetermined" in result.output
    assert "more than 5 states" in result.output
    assert "so far" in result.output


def test_json_tells_what_was_covered_and_is_the_same_in_two_runs() -> None:
    args = ("check", "--runs", "3", "--format", "json", "--no-timing")
    first, second = run(*args, "--jobs", "1"), run(*args, "--jobs", "2")
    assert first.output == second.output
    told = json.loads(first.output)
    assert told["verdict"] == "holds"
    assert told["violations"] == []
    assert set(told) == {"verdict", "subject", "covered", "violations", "undetermined", "parts", "versions"}
    covered = told["covered"]
    assert set(covered["invariants"]) == set(ALL_INVARIANTS)
    assert covered["plain_parts"] == covered["plain_parts_that_reach_max_in_flight"] > 0
    assert {"scenarios", "trees", "states", "edges", "full_states", "calls", "actions"} <= set(covered)
    assert sum(part["states"] for part in told["parts"]) == covered["states"]


def test_json_of_a_violation_carries_its_trace() -> None:
    result = run("check", "--runs", "2", "--subject", "rule:release", "--format", "json", "--jobs", "1")
    assert result.exit_code == 1
    told = json.loads(result.output)
    (found,) = [one for one in told["violations"] if one["invariant"] == "InFlightWithinCapTimesLevels"]
    assert found["scenario"] == "a(b) cancel, cap 1"
    assert [event.split()[0] for event in found["trace"]["events"]] == ["ask", "resume", "ask", "cancel"]
    assert found["trace"]["after"]["taken"] == 0
    assert told["timing"]["seconds"] > 0


def test_caps_and_relend_can_be_chosen() -> None:
    told = json.loads(run("check", "--runs", "2", "--cap", "2", "--relend", "on", "--format", "json").output)
    assert told["covered"]["caps"] == [2]
    assert all("relend" in part["name"] for part in told["parts"])


def test_no_symmetry_explores_every_state() -> None:
    merged = json.loads(run("check", "wide-root-one-slot", "--format", "json").output)["covered"]
    args = ("check", "parent-ends-while-lending", "--runs", "3", "--no-symmetry", "--format", "json", "--jobs", "1")
    full = json.loads(run(*args).output)["covered"]
    assert merged["full_states"] > 100 * merged["states"]
    assert full["full_states"] == full["states"]
    assert full["parts_merged_by_symmetry"] == 0


def test_named_scenarios_alone_are_checked() -> None:
    result = run("check", "parent-ends-while-lending", "--format", "json")
    assert result.exit_code == 0
    assert [part["name"] for part in json.loads(result.output)["parts"]] == ["parent-ends-while-lending, cap 1"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("check", "parent-ends-while-lendin"), "parent-ends-while-lending"),
        (("check", "--cap", "0"), "0: a cap is an integer from 1 to 1,000,000"),
        (
            ("check", "--subject", "rule:lent"),
            "no rule 'lent': there are help, help+inline, hold, lend, per_level, refuse, re",
        ),
        (("check", "--subject", "subjects:WithoutCancel"), "lacks cancel"),
        (("check", "--subject", "rule:lend", "--tie", "lifo"), "tie is one of served, oldest, not 'lifo'"),
        (("check", "--max-seconds", "nan"), "nan: a number of seconds is 0 or more"),
        (("check", "--runs", "100"), "1<=x<=10"),
        (("check", "--subject", "subjects:WithoutRelend", "--runs", "1"), "--relend off"),
        (
            ("check", "--order", "lifo"),
            "strict_priority:NAME,..., fixed_share:N, not 'lifo'",
        ),
        (("mutants", "LendsTwise"), "no mutant 'LendsTwise'; did you mean LendsTwice"),
        (("scenarios", "nothing-like-it"), "nothing-like-it"),
    ],
)
def test_bad_input_ends_with_2_and_a_reason(args: tuple[str, ...], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cap: 0\ntree: r", ":1:6: '0' is not a cap"),
        ("cap: 1\ntree: r(a(r))", ":2:11: run r is below itself"),
        ("cap: 1\ntree: r(a", "this bracket is never closed"),
        ("cap: 1\ntree: r\nbody x: w", "unknown run 'x'"),
    ],
)
def test_a_bad_scenario_ends_with_2_and_the_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bad.scenario"
    file.write_text(text)
    result = run("check", str(file))
    assert result.exit_code == 2
    assert str(file) in result.output
    assert said in result.output


def test_scenarios_are_listed_with_what_they_are_about() -> None:
    result = run("scenarios")
    assert result.exit_code == 0
    assert "parent-ends-while-lending" in result.output
    assert "a parent ends while its slot is lent" in " ".join(result.output.split())


def test_mutants_are_told_in_a_table_and_end_with_0() -> None:
    result = run("mutants", "LendsTwice", "AcceptsCapOfZero")
    assert result.exit_code == 0
    assert "LevelWithinCap" in result.output
    assert "2 of 2 caught by the invariant named" in result.output
    told = json.loads(run("mutants", "LendsTwice", "--format", "json").output)
    assert told["verdict"] == "holds"
    assert told["parts"][0]["steps"] == 4


def test_a_mutant_that_survives_is_never_green() -> None:
    result = run("mutants", "RelendNotDone", "--runs", "1")
    assert "SURVIVED RelendLeavesNoIdle" in result.output
    # One run is too few to show the mistake, so that says nothing.
    assert result.exit_code == 3
    assert "verdict: undetermined" in result.output


def test_the_help_names_every_command_and_the_exit_codes() -> None:
    told = run("--help").output
    for word in ("check", "scenarios", "mutants", "bench", "0 holds, 1 violated, 2 bad input, 3 undetermined"):
        assert word in told


def test_what_a_subject_prints_does_not_get_into_the_report() -> None:
    for jobs in ("1", "2"):
        args = ("check", "--runs", "2", "--subject", "subjects:Prints", "--format", "json", "--jobs", jobs)
        assert json.loads(run(*args).stdout)["verdict"] == "holds"


def test_a_scenario_too_big_to_explore_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "big.scenario"
    file.write_text("cap: 1\ntree: x1..x5000")
    result = run("check", str(file))
    assert result.exit_code == 2
    assert "big has 5,000 runs; at most 1,000 can be explored" in result.output


@pytest.mark.parametrize("command", ["check", "mutants", "bench"])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "interrupted, so undetermined"),
        (RuntimeError("a bug of ours"), "failed itself, so undetermined: this is no verdict on the subject"),
    ],
)
def test_a_command_that_does_not_come_to_a_verdict_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, command: str, error: BaseException, said: str
) -> None:
    def fail(*args: object, **named: object) -> None:
        raise error

    for name in ("check_command.check", "mutants_command.catch", "bench_command.bench"):
        monkeypatch.setattr(f"slotcheck.checks.{name}", fail)
    result = run(command)
    assert result.exit_code == 3
    assert said in result.output
    assert "verdict:" not in result.output


def test_an_interrupt_while_the_suite_is_being_imported_is_undetermined() -> None:
    program = """
import builtins
from slotcheck.checks import entry
real = builtins.__import__
def interrupted(name, *rest):
    if name == "slotcheck.checks.cli":
        raise KeyboardInterrupt
    return real(name, *rest)
builtins.__import__ = interrupted
entry.run()
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert told.returncode == EXIT_CODES[Verdict.UNDETERMINED]
    assert told.stderr == "slotcheck: interrupted, so undetermined\n"
