"""Replays: a fault shows on the faulty pool and not on the real one, and what does not fit is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from traces import HELPS_NOBODY, SHOWS, going_round, of, of_history, of_mutant

from slotcheck.checks.cli import main
from slotcheck.checks.forms.itf import read_trace, write_trace
from slotcheck.checks.forms.registry import subject_of
from slotcheck.checks.player import player_of
from slotcheck.checks.replay import Replayed, replay
from slotcheck.checks.subject import ClassSubject, resolve_subject
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.explore import Verdict
from slotlending import Pool
from slotlending.snapshot import Snapshot


def replayed(trace: Trace, spec: str | None = None) -> Replayed:
    return replay(trace, player_of(trace, subject_of(trace, spec)))


@pytest.mark.parametrize("name", SHOWS)
def test_a_trace_shows_its_fault_on_the_faulty_pool_and_not_on_the_real_one(name: str) -> None:
    trace = read_trace(write_trace(of_mutant(name)))  # what stands in the file is enough
    on_faulty, on_real = replayed(trace), replayed(trace, "pool")
    assert (on_faulty.verdict, on_faulty.accepted, on_faulty.restored) == (Verdict.VIOLATED, True, False)
    assert (on_real.verdict, on_real.accepted) == (Verdict.HOLDS, False)


def test_a_history_is_replayed_with_its_restored_pools() -> None:
    assert replayed(of_history()).accepted
    assert replayed(of_history(), "pool").verdict is Verdict.HOLDS


def test_a_rule_and_a_circle_are_replayed() -> None:
    stuck = of("cap: 1\ntree: a(b)", resolve_subject("rule:hold"), "NoDeadlock")
    assert replayed(stuck).accepted
    assert replayed(stuck, "rule:lend").verdict is Verdict.HOLDS
    trace = going_round()
    assert replay(trace, player_of(trace, HELPS_NOBODY)).accepted
    assert not replayed(trace, "rule:help").accepted
    unfair = replace(trace, again=())
    assert not replay(unfair, player_of(unfair, HELPS_NOBODY)).accepted


def test_the_first_event_that_does_not_fit_is_named_with_what_was_enabled() -> None:
    trace = of_mutant("LendsTwice")
    steps = (*trace.steps[:2], *trace.steps[3:])  # without the ask of b
    found = replayed(replace(trace, steps=(trace.steps[0], *trace.steps[2:])))
    assert (found.verdict, found.step, found.accepted) == (Verdict.UNDETERMINED, 2, False)
    assert found.message.startswith("step 2 does not fit: 'ask b' is not enabled")
    assert found.enabled == ("resume a",)
    found = replayed(replace(trace, steps=steps))
    assert (found.step, found.verdict) == (3, Verdict.HOLDS)
    assert "the view afterwards is another" in found.message


def test_a_trace_that_begins_with_another_pool_says_nothing_of_a_mend() -> None:
    trace = of_mutant("LendsTwice")
    found = replayed(replace(trace, cap=trace.cap + 1), "pool")
    assert (found.verdict, found.accepted, found.step) == (Verdict.UNDETERMINED, False, 0)
    assert "a new pool here is not the one that the trace begins with: here the view" in found.message


def test_an_answer_or_a_view_that_is_another_is_named() -> None:
    trace = of_mutant("LendsTwice")
    last = trace.steps[-1]
    assert last.call is not None
    other = replace(last, call=last.call._replace(granted=(("c", "pool"),)))
    found = replayed(replace(trace, steps=(*trace.steps[:-1], other)))
    assert (found.accepted, found.step, found.verdict) == (False, 4, Verdict.VIOLATED)
    assert "ask c under a" in found.message or "ask('c', 'a')" in found.message
    start = replace(trace.start, view={**trace.start.view, "taken": 1})
    found = replayed(replace(trace, start=start))
    assert (found.accepted, found.step) == (False, 0)
    assert "taken should be 1, but is 0" in found.message


def without_held(trace: Trace) -> Trace:
    steps = [replace(step, call=None if step.call is None else step.call._replace(held=())) for step in trace.steps]
    return replace(trace, steps=tuple(steps))


def test_what_jobs_hold_is_compared_only_where_the_trace_and_the_subject_tell_it() -> None:
    trace = of_mutant("LendsTwice")
    assert any(step.call is not None and step.call.held for step in trace.steps)
    assert replayed(without_held(trace)).accepted  # as of a port, which has no request for it
    assert replayed(trace, "rule:lend").step == 4  # as on the real pool, and not where it is first told
    drifts = of_mutant("HeldDrifts")
    assert drifts.steps[-1].call is not None
    other = drifts.steps[-1].call._replace(held=((("a",), 7),))
    found = replayed(replace(drifts, steps=(*drifts.steps[:-1], replace(drifts.steps[-1], call=other))))
    assert (found.accepted, found.step) == (False, len(drifts))
    assert replayed(drifts, "pool").verdict is Verdict.HOLDS


def test_a_subject_that_tells_nothing_of_what_jobs_hold_is_not_cleared_of_telling_it_wrong() -> None:
    found = replayed(of_mutant("HeldDrifts"), "rule:lend")
    assert (found.verdict, found.accepted) == (Verdict.UNDETERMINED, False)
    assert found.message == "the subject does not tell what a job holds"


def test_a_trace_that_fits_and_shows_nothing_is_not_accepted() -> None:
    trace = of_mutant("LendsTwice")
    found = replayed(replace(trace, steps=trace.steps[:-1]))
    assert (found.verdict, found.accepted, found.step) == (Verdict.HOLDS, False, None)
    assert found.message == "all 3 steps fit, but LevelWithinCap does not fail"


def test_a_trace_of_another_version_that_does_not_fit_says_so() -> None:
    trace = replace(of_mutant("LendsTwice"), versions={"slotcheck": "0.0.1"})
    assert replayed(trace).accepted
    assert "written by slotcheck 0.0.1" in replayed(trace, "pool").message


def test_what_no_replay_can_show_is_undetermined() -> None:
    trace = of_mutant("LendsTwice")
    assert replayed(replace(trace, invariant="Graphs")).verdict is Verdict.UNDETERMINED
    assert replayed(replace(trace, invariant="Diagnosis", steps=())).verdict is Verdict.UNDETERMINED


class ForgetsWhenRestored(Pool):
    """Restoring it loses that a slot is lent: a search sees it lend twice, a user of one pool does not."""

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Any:
        runs = frozenset(run._replace(lent=False) if run.token == "pool" else run for run in snapshot.runs)
        return super().restore(snapshot._replace(runs=runs))


def test_what_shows_only_on_a_restored_pool_says_so() -> None:
    subject = ClassSubject("test_replay:ForgetsWhenRestored", ForgetsWhenRestored)
    trace = of("cap: 1\ntree: a(b c)", subject, "OneChainPerSlot")
    found = replay(trace, player_of(trace, subject))
    assert (found.accepted, found.restored) == (True, True)


# -- the command -------------------------------------------------------------------------------------------------


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "bug.itf.json"
    path.write_text(write_trace(of_mutant("LendsTwice")))
    return str(path)


def test_a_fault_that_is_still_there_ends_with_1(file: str) -> None:
    result = run("replay", file)
    assert result.exit_code == 1
    assert "accepted: all 4 steps fit, and LevelWithinCap fails as told" in result.output
    assert result.output.rstrip().endswith("verdict: violated")


def test_a_fault_that_is_mended_ends_with_0(file: str) -> None:
    result = run("replay", file, "--subject", "pool")
    assert result.exit_code == 0
    assert "rejected: step 4 does not fit" in result.output


def test_a_trace_that_does_not_apply_ends_with_3(file: str) -> None:
    text = Path(file).read_text().replace('"mbt::actionTaken":"resume"', '"mbt::actionTaken":"work"')
    Path(file).write_text(text)
    result = run("replay", file)
    assert result.exit_code == 3
    assert "step 2 does not fit: 'work a' is not enabled" in result.output
    assert "enabled instead: resume a" in result.output


def test_json_says_the_same(file: str) -> None:
    told = json.loads(run("replay", file, "--format", "json").output)
    assert (told["verdict"], told["accepted"], told["violations"][0]["invariant"]) == (
        "violated", True, "LevelWithinCap"
    )  # fmt: skip
    told = json.loads(run("replay", file, "--format", "json", "--subject", "pool").output)
    assert (told["verdict"], told["first_step_that_does_not_fit"], told["violations"]) == ("holds", 4, [])


def test_bad_input_ends_with_2_and_one_line(file: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.itf.json"
    spec.write_text(Path(file).read_text().replace("slotcheck.checks.mutants:LendsTwice", "spec:SlotLending"))
    for args, told in (
        ((str(tmp_path / "nowhere"),), "cannot be read"),
        ((file, "--subject", "nowhere:Pool"), "cannot import 'nowhere'"),
        ((str(spec),), "is a TLA+ module"),
    ):
        for command in ("replay", "show"):
            result = run(command, *args)
            assert result.exit_code == 2
            assert told in result.output
            assert len(result.output.splitlines()) == 1
