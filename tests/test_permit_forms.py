"""Traces of runs that need permits: their file, their replay, their forms, and what is cut from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from traces import making, of, of_permits

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.cli import main
from slotcheck.checks.forms.form import NotWrittenError
from slotcheck.checks.forms.itf import TraceError, read_trace, write_trace
from slotcheck.checks.forms.registry import FORMS, making_of, subject_of, written_form
from slotcheck.checks.mutants import PERMITS
from slotcheck.checks.player import player_of
from slotcheck.checks.replay import Replayed, replay
from slotcheck.checks.scenario import builtin_scenarios, read_scenario
from slotcheck.checks.shrink import shrink
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.trace import Trace, size_of
from slotcheck.checks.wait_circle import wait_circle
from slotcheck.pymodel.explore import Verdict

QUICK = ("text", "markdown", "html", "svg", "itf", "mermaid")


def replayed(trace: Trace, spec: str | None = None) -> Replayed:
    return replay(trace, player_of(trace, subject_of(trace, spec)))


def text_of(form: str, trace: Trace) -> str:
    return next(iter(written_form(FORMS[form], making(trace)).values()))


@pytest.mark.parametrize("name", PERMITS)
def test_its_file_is_all_there_is_to_it_and_shows_the_fault_on_the_faulty_permits_only(name: str) -> None:
    trace = of_permits(name)
    read = read_trace(write_trace(trace))
    assert read.play is not None
    assert trace.play is not None
    assert sorted(read.play.runs, key=str) == sorted(trace.play.runs, key=str)
    assert read == replace(trace, play=read.play, versions=read.versions)
    on_faulty = replayed(read)
    assert (on_faulty.verdict, on_faulty.accepted, on_faulty.restored) == (Verdict.VIOLATED, True, False)
    for spec in ("pool", "rule:lend"):
        on_right = replayed(read, spec)
        assert (on_right.verdict, on_right.accepted) == (Verdict.HOLDS, False)
        assert on_right.step is not None  # a rule tells no held, which is no difference


@pytest.mark.parametrize("name", PERMITS)
def test_every_quick_form_is_written_and_read_back(name: str) -> None:
    made = making(of_permits(name))
    for form in QUICK:
        assert written_form(FORMS[form], made)


@pytest.mark.parametrize(
    "name", ["AnsweredKeepsSlot", "KeepsOlderMemo", "MountsItself", "PermitThenSlot", "ResumesTwice"]
)
def test_a_pytest_file_fails_on_the_faulty_permits_and_passes_on_those_that_ship(name: str) -> None:
    source = text_of("pytest", of_permits(name))  # runs it on both
    assert f"from slotcheck.checks.mutants import {name} as Permits" in source
    assert "pool = Permits(Pool(1))" in source


def test_tlc_refuses_the_step_where_the_specification_of_permits_does_otherwise() -> None:
    source = text_of("tla", of_permits("CancelStaysInQueue"))  # runs TLC on it
    assert "EXTENDS BuildPermit" in source
    assert "TLC must refuse step\n\\* 3:" in source
    made = making(of_permits("CancelStaysInQueue"))
    files = FORMS["tla"].make(made)
    mended = {name: "<<<<>>>>".join(text.rsplit("<<<<2>>>>", 1)) for name, text in files.items()}
    assert mended != files  # of the last step
    with pytest.raises(NotWrittenError, match="TLC does not refuse it"):
        FORMS["tla"].check(made, mended)


def test_a_call_that_no_body_makes_is_no_step_of_the_specification() -> None:
    with pytest.raises(NotWrittenError, match="the specification has no step for 'call'"):
        FORMS["tla"].make(making(of_permits("ResumesTwice")))


def test_what_has_no_permits_is_not_written_and_says_so() -> None:
    made = making(of_permits("SkipsMemoCheck"))
    for form, told in (("port", "the port protocol has none"), ("asyncio", "ask for slots only")):
        with pytest.raises(NotWrittenError, match=told):
            FORMS[form].make(made)


def test_the_first_step_that_does_not_fit_is_named() -> None:
    trace = of_permits("SkipsMemoCheck")
    found = replayed(trace, "pool")
    assert found.step == 5
    assert "resume('b') -> the memo answers it, and it is over here, not 'resume b -> works'" in found.message
    found = replayed(replace(trace, steps=(trace.steps[0], *trace.steps[2:])))
    assert (found.verdict, found.step, found.enabled) == (Verdict.UNDETERMINED, 2, ("resume a", "ask b"))


def test_a_trace_with_a_view_of_permits_that_is_another_is_rejected() -> None:
    trace = of_permits("LosesPermit")
    after = trace.steps[-1].after
    permits = {"S": {**after.view["permits"]["S"], "memo": "another"}}
    last = replace(trace.steps[-1], after=replace(after, view={**after.view, "permits": permits}))
    found = replayed(replace(trace, steps=(*trace.steps[:-1], last)))
    assert (found.accepted, found.step) == (False, 4)
    assert "permits should have" in found.message


def test_a_pool_of_ones_own_is_replayed_under_the_permits_that_ship() -> None:
    subject = resolve_subject("slotcheck.checks.mutants:LendsTwice")
    trace = of("cap: 1\ntree: a(b c)\ncomponent S: a\ncomponent T: b", subject, "LevelWithinCap")
    assert trace.permits
    assert replayed(trace).accepted
    assert replayed(trace, "pool").verdict is Verdict.HOLDS
    source = text_of("pytest", trace)
    assert "import LendsTwice as Pool" in source
    assert "from slotlending.permit import Permits" in source


# -- deadlocks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "circle"),
    [
        ("PermitThenSlot", ("a", "b", "c")),
        ("AsksWithoutParent", ("a", "b")),
        ("MountsItself", ("a", "b")),
    ],
)
def test_a_deadlock_is_told_as_the_circle_that_the_check_tells(name: str, circle: tuple[str, ...]) -> None:
    trace = of_permits(name)
    found = wait_circle(trace)
    assert found is not None
    assert found.runs == circle
    assert trace.message.endswith(f": {'; '.join(found.waits)}")
    for form in ("text", "markdown", "html", "svg"):
        assert all(wait in text_of(form, trace) for wait in found.waits)


def test_who_holds_what_and_which_request_would_have_freed_it() -> None:
    found = wait_circle(of_permits("PermitThenSlot"))
    assert found is not None
    assert found.slots == (
        "a holds a pool slot, unlent",
        "b has asked for no slot yet: it entered beside another run of its component",
        "c waits for a slot; it holds the permit of S",
    )
    assert found.freed == ("c asked in step 5 (resume c): a slot for it would free them all",)


def test_components_that_mount_each_other_are_diagnosed_not_violated() -> None:
    text = "cap: 2\ntree: a(b) c(d)\ncomponent S: a d\ncomponent T: b c\n"
    trace = of(text, resolve_subject("pool"), "Diagnosis")
    assert replayed(trace).accepted
    assert not replayed(replace(trace, invariant="NoDeadlockWithPermits")).accepted
    found = wait_circle(trace)
    assert found is not None
    assert "b queues on the permit of T, which c holds" in found.waits


# -- what pictures and diagrams show -----------------------------------------------------------------------------


def test_permits_are_shown_wherever_the_state_is() -> None:
    trace = of_permits("PermitThenSlot")
    line = "permit of S: held by c, queued: b"
    for form in ("text", "markdown", "html", "svg"):
        assert line in text_of(form, trace)
    assert "Note left of pool: permit of S#58; held by c, queued#58; b" in text_of("mermaid", trace)
    assert '<g class="run waiting" data-run="b">' in text_of("svg", trace)
    assert "b: has entered and has asked for no slot yet." in text_of("svg", trace)


def test_a_memo_is_shown_and_a_diagram_says_when_nobody_holds_a_permit() -> None:
    assert "permit of S: held by nobody, memo v2" in text_of("text", of_permits("StoresOnFailure"))
    text = "cap: 1\ntree: a b\ncomponent S: a\nenvironment: fail a\n"
    subject = resolve_subject("slotcheck.checks.mutants:LosesWakeUp")
    told = text_of("mermaid", of(text, subject, "NoLostWakeUp"))
    assert "Note left of pool: permit of S#58; held by a" in told
    assert "Note left of pool: nobody holds a permit" in told


# -- files that are none -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"permits":', '"premits":', "there is no 'permits'"),
        ('"came_to":', '"come_to":', "there is no 'came_to'"),
        ('"working":true', '"working":1', "expected true or false"),
        ('"verb":"resume"', '"verb":"resumes"', "there is no call 'resumes'"),
    ],
)
def test_a_file_that_lacks_what_permits_need_is_refused(old: str, new: str, told: str) -> None:
    written = write_trace(of_permits("SkipsMemoCheck"))
    first, rest = written.split(old, 1)
    spoilt = first + new + rest if old != '"permits":' else first + old + rest.replace(old, new)
    with pytest.raises(TraceError, match=told):
        read_trace(spoilt)


# -- what is cut -------------------------------------------------------------------------------------------------


def test_components_keys_live_lines_jobs_and_times_that_are_not_needed_go() -> None:
    text = (
        "cap: 1\ntree: r(l) s t\nlive l: waiter\ncomponent S: s t\ncomponent T: r\nkey one: s t\njob s: x/y\n"
        "at s: 5\nwork r: 7\nenvironment: cancel *"
    )
    subject = resolve_subject("slotcheck.checks.mutants:LosesWakeUp")
    part = parts_of([read_scenario(text, "busy")])[0]
    big = next(trace for trace in check_part(part, subject).traces if trace.invariant == "NoLostWakeUp")
    small = shrink(big, subject)
    assert small.play is not None
    assert (len(small.play.runs), small.cap) == (2, 1)
    assert not small.play.permits
    assert not any(run.key or run.live or run.job or run.at_ms or run.work_ms != 10 for run in small.play.runs)
    assert size_of(small) < size_of(big)
    assert making_of(small, subject, "small").replayed.accepted


def test_a_component_that_is_needed_stays() -> None:
    subject = resolve_subject("slotcheck.checks.mutants:SkipsMemoCheck")
    text = "cap: 2\ntree: r(a b) c\ncomponent S: a b\ncomponent T: c\nkey one: a b c\nenvironment: cancel *"
    part = parts_of([read_scenario(text, "busy")])[0]
    big = next(trace for trace in check_part(part, subject).traces if trace.invariant == "NoDoubleWork")
    small = shrink(big, subject)
    assert small.play is not None
    assert [(run.component, run.key) for run in small.play.runs] == [(small.play.runs[0].component, "one")] * 2
    assert small.cap == 1
    assert making_of(small, subject, "small").replayed.accepted


@pytest.mark.parametrize("spec", ["rule:hold", "slotcheck.checks.mutants:LosesWakeUp"])
def test_traces_with_live_runs_are_replayed_and_written(spec: str) -> None:
    subject = resolve_subject(spec)
    live = [one for one in builtin_scenarios().values() if any(run.live for run in one.runs) and len(one.runs) < 8]
    shown = set()
    for part in parts_of(live, caps=[1]):
        for trace in check_part(part, subject).traces:
            if not trace.steps:
                continue  # says what no behaviour comes to
            shown.add(part.scenario.name)
            assert replayed(trace).accepted, trace.name
            read = read_trace(write_trace(trace))
            assert replace(read, play=None, versions=None) == replace(trace, play=None)
    assert len(shown) > 3


# -- the commands ------------------------------------------------------------------------------------------------


def test_the_commands_write_them_replay_them_and_show_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FORMS, "tla")  # takes seconds
    done = CliRunner().invoke(main, ["mutants", "TakesSlotBeside", "--traces", str(tmp_path)])
    assert done.exit_code == 0
    folder = tmp_path / "TakesSlotBeside"
    assert {path.suffix for path in folder.iterdir()} == {".txt", ".md", ".html", ".svg", ".json", ".mmd", ".py"}
    file = str(folder / "EnterTakesNoSlot.itf.json")
    for subject, code, told in (
        ("slotcheck.checks.mutants:TakesSlotBeside", 1, "accepted: all 2 steps fit"),
        ("pool", 0, "rejected: step 2 does not fit"),
        ("rule:lend", 0, "rejected: step 2 does not fit"),
        ("rule:help", 2, "permits do not stand on a rule that acts"),
    ):
        result = CliRunner().invoke(main, ["replay", file, "--subject", subject])
        assert (result.exit_code, told in result.output) == (code, True), result.output
    result = CliRunner().invoke(main, ["show", file, "--as", "markdown"])
    assert result.exit_code == 0
    assert "permit of S: held by a" in result.output
