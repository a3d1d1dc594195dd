"""The check of an asyncio port: it looks everywhere, is the same every time, and finds what is wrong."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from slotcheck.checks.aio_callers import judge_callers
from slotcheck.checks.aio_check import Act, Ways, check_program, check_programs, play
from slotcheck.checks.aio_command import asyncio_command
from slotcheck.checks.aio_programs import FORMS, Port, Program, programs_of
from slotcheck.checks.aio_suite import AioSettings, check_port, covered, resolve_port
from slotcheck.checks.aio_trees import TREES, Growth, Tree, grow_tree, many_tasks
from slotcheck.checks.aio_watch import PORT_WITNESSES, TWO_WOKEN
from slotcheck.checks.facts import most_in_flight
from slotcheck.checks.generated import forests
from slotcheck.checks.subject import SubjectError
from slotcheck.pymodel.explore import Verdict
from slotlending import aio

AIO = resolve_port("aio")


def program(runs: int, form: str, tree: str, cap: int = 1, **odd: Any) -> Program:
    """One program."""
    (found,) = [
        one
        for one in programs_of(runs, (form,))
        if (one.tree, one.cap, one.relend) == (tree, cap, False)
        and (one.raises, one.base, one.resize) == (odd.get("raises"), odd.get("base", False), odd.get("resize"))
    ]
    return found


def faulty(name: str) -> Port:
    return resolve_port(f"slotcheck.checks.mutants:{name}")


# -- what is looked at -------------------------------------------------------------------------------------------


def test_the_port_that_ships_holds() -> None:
    report = check_port(AioSettings(runs=3, odd_runs=2, pairs_runs=1), trees=False)
    assert report.violations == []
    assert report.verdict is Verdict.HOLDS
    counts = covered(report)
    # Two runs are woken at once where a body of three changes the cap.
    assert counts["witnesses"] == {**dict.fromkeys(PORT_WITNESSES, "reached"), TWO_WOKEN: "missing"}
    assert report.missing == []
    assert set(counts["forms"]) == set(FORMS)


def test_programs_are_all_forests_at_every_cap_in_every_form() -> None:
    programs = list(programs_of(3))
    trees = {one.runs for one in programs}
    assert trees == set(forests(3))
    plain = [one for one in programs if not (one.raises or one.resize)]
    assert {(one.tree, one.cap, one.form) for one in plain} == {
        (one.tree, cap, form) for one in plain for cap in (1, 2, 3) for form in FORMS
    }
    assert {one.tree for one in plain if one.relend} == {"a(b c)"}  # elsewhere it changes nothing
    for run in "abc":
        assert len([one for one in programs if one.raises == run]) == len(plain)
    assert len({one.told for one in programs}) == len(programs)


def test_every_task_is_cancelled_before_every_callback() -> None:
    for form in FORMS:
        one = program(2, form, "a(b)")
        alone = play(one, AIO, record=True)
        assert len(alone.alive) == alone.steps
        assert alone.alive[0] == (0,)  # the root task
        result = check_program(one, AIO, Ways(resizes=False))
        assert result.cancels == sum(map(len, alone.alive))
        assert result.traces == []


def test_every_pair_of_cancels_is_tried_the_second_one_where_the_first_one_leads() -> None:
    one = program(1, "tasks", "a")
    alone = play(one, AIO, record=True)
    pairs = 0
    for step, tasks in enumerate(alone.alive):
        for task in tasks:
            after = play(one, AIO, (Act(step, "cancel", task),), record=True).alive
            pairs += sum(len(alive) for alive in after[1:]) + sum(other > task for other in after[0])
    result = check_program(one, AIO, Ways(pairs=True, resizes=False))
    assert result.pairs == pairs > 10


def test_the_cap_is_changed_before_every_callback() -> None:
    result = check_program(program(2, "gather", "a b", cap=2), AIO)
    assert result.resizes == 2 * result.steps  # to 1 and to 3
    assert result.traces == []


def test_the_bodies_reach_what_is_the_most() -> None:
    for cap in (1, 2, 3):
        played = play(program(3, "gather", "a(b) c", cap=cap), AIO)
        assert played.most_executing == min(cap, 2)
        assert played.most_in_flight == most_in_flight(program(3, "gather", "a(b) c").runs, cap)


def test_what_happens_is_told_in_the_words_of_the_rules() -> None:
    played = play(program(2, "start", "a(b)"), AIO, (Act(3, "cancel", 2),), tell=True)
    assert [event for _, event in played.events] == [
        "ask a -> a admitted on a pool slot",
        "a goes on",
        "ask b under a -> b admitted on loan from a",
        "cancel the task of b before callback 4",
        "finish b (granted, not resumed)",
        "finish a",
    ]
    assert played.acts == ["cancel the task of b before callback 4"]
    assert played.faults == {}


def test_every_run_is_to_ask_with_what_its_program_gives_it() -> None:
    shared = program(3, "shared", "a(b c)")
    assert shared.jobs == {"a": ("jobs", "a"), "b": ("jobs", "a"), "c": ("jobs", "a")}
    start = program(3, "start", "a(b c)")
    assert start.jobs == {"a": ("a",), "b": ("a",), "c": ("jobs", "c")}
    apart = program(3, "apart", "a(b(c))")
    assert apart.lenders == {"a": None, "b": "a", "c": None}
    assert apart.jobs == {"a": ("jobs", "a"), "b": ("jobs", "a"), "c": ("c",)}


def test_an_error_that_is_no_exception_goes_the_same_way() -> None:
    for form in FORMS:
        for run in "ab":
            result = check_program(program(2, form, "a(b)", raises=run, base=True), AIO, Ways(resizes=False))
            assert result.traces == [], form


def test_calls_from_elsewhere_are_refused() -> None:
    assert judge_callers(AIO) is None
    assert judge_callers(faulty("NoThreadCheck")) == "from another thread try_ask is not refused"

    class Crashes(aio.Pool):
        """Refuses in its own way."""

        def _check_caller(self, *, leaving: bool = False) -> None:
            if self._loop is None:
                super()._check_caller(leaving=leaving)
            elif asyncio._get_running_loop() is None:
                raise KeyError("no loop")

    told = judge_callers(Port("x", Crashes, aio.current_run))
    assert told == "from another thread try_ask raises KeyError: 'no loop', and no WrongThread"


# -- what is wrong is found --------------------------------------------------------------------------------------


def test_a_trace_names_the_program_the_cancel_and_what_is_wrong() -> None:
    port = faulty("DropsCancelledGrant")
    (trace,) = check_program(program(2, "gather", "a b"), port).traces
    assert (trace.invariant, trace.scenario, trace.cap) == ("NoSlotLost", "a b gather", 1)
    assert trace.acts == ("cancel the task of main before callback 4",)
    assert trace.events[-1] == "finish a -> b admitted on a pool slot"
    assert "b is in flight" in trace.message


def test_a_program_that_hangs_or_never_ends_is_found() -> None:
    class Sleeps(aio.Pool):
        """Wakes nobody."""

        def _wake(self, granted: Any) -> None:
            pass

    played = play(program(2, "tasks", "a b"), Port("x", Sleeps, aio.current_run))
    assert "b has a slot, but was never woken" in played.faults["NoTaskLeft"][0]

    class Polls(aio.Pool):
        """Goes round for ever."""

        def try_ask(self, *_: Any, **options: Any) -> None:
            return None

    played = play(program(1, "try", "a"), Port("x", Polls, aio.current_run))
    assert "goes on" in played.faults["NoTaskLeft"][0]


def test_a_port_that_wants_to_end_the_process_does_not() -> None:
    class Exits(aio.Pool):
        """Has enough."""

        def _finish(self, run: aio.Run) -> None:
            super()._finish(run)
            raise SystemExit(0)

    played = play(program(1, "gather", "a"), Port("x", Exits, aio.current_run))
    assert "SystemExit" in played.faults["NothingHidden"][0]


def test_an_error_in_the_wrong_form_or_of_the_port_is_found() -> None:
    class Wraps(aio.Pool):
        """An error comes out of its blocks as another one."""

        async def __aexit__(self, kind: object = None, error: BaseException | None = None, *_: object) -> None:
            await self._end_by_hand()
            if isinstance(error, Exception):
                raise ExceptionGroup("wrapped", [error])

    played = play(program(1, "gather", "a", raises="a"), Port("x", Wraps, aio.current_run))
    assert "ExceptionGroup" in played.faults["ErrorsDelivered"][0]

    class Crashes(aio.Pool):
        """Fails by itself when a slot goes back."""

        def _finish(self, run: aio.Run) -> None:
            super()._finish(run)
            raise KeyError(run)

    played = play(program(1, "gather", "a"), Port("x", Crashes, aio.current_run))
    assert "which no body raised" in played.faults["ErrorsDelivered"][0]


def test_a_coroutine_that_nobody_awaits_is_found_and_the_program_that_left_it_named() -> None:
    class Leaves(aio.Pool):
        """Makes a coroutine and forgets it, when it grants a slot to somebody who waited."""

        def _wake(self, granted: Any) -> None:
            super()._wake(granted)
            if granted:
                asyncio.sleep(0)  # type: ignore[unused-coroutine]

    port = Port("x", Leaves, aio.current_run)
    quiet, loud = program(1, "gather", "a"), program(2, "gather", "a b")
    first, second = check_programs([(quiet, Ways()), (loud, Ways())], port)
    assert first.traces == []
    (trace,) = second.traces
    assert trace.invariant == "NothingHidden"
    assert "never awaited" in trace.message


def test_a_violated_port_is_left_alone_on_more_runs() -> None:
    report = check_port(AioSettings("slotcheck.checks.mutants:KeepsSlotOnError", runs=3), trees=False)
    assert report.verdict is Verdict.VIOLATED
    assert report.left_alone > 0
    assert covered(report)["runs"] == 1


def test_nothing_of_a_faulty_port_is_left_for_the_next_program() -> None:
    for port in map(faulty, ("DropsCancelledGrant", "GroupDoesNotWait", "ForgetsTask")):
        check_program(program(2, "soon", "a(b)"), port)
    assert check_program(program(2, "soon", "a(b)"), AIO).traces == []
    assert asyncio._get_running_loop() is None


# -- the command -------------------------------------------------------------------------------------------------


def run(*args: str) -> Result:
    return CliRunner().invoke(asyncio_command, args)


SMALL = ("--runs", "2", "--odd-runs", "1", "--pairs-runs", "1", "--jobs", "1", "--no-trees", "--no-timing")


def test_the_report_is_the_same_for_the_same_input() -> None:
    one, two = (run(*SMALL, "--format", "json") for _ in range(2))
    assert one.exit_code == 0, one.output
    assert one.stdout == two.stdout
    told = json.loads(one.stdout)
    assert told["verdict"] == "holds"
    assert {"covered", "violations", "parts", "versions", "undetermined"} <= set(told)
    assert "timing" not in told
    assert sum(part["cancellations"] for part in told["parts"]) == told["covered"]["cancellations"]


def test_several_processes_say_the_same() -> None:
    one, two = (json.loads(run(*SMALL, "--jobs", jobs, "--format", "json").stdout) for jobs in "12")
    assert one == two


def test_a_violation_is_told_with_its_trace_and_ends_with_1() -> None:
    result = run(*SMALL, "--subject", "slotcheck.checks.mutants:DropsCancelledGrant")
    assert result.exit_code == 1
    for words in (
        "NoSlotLost is violated by slotcheck.checks.mutants:DropsCancelledGrant in a b gather, cap 1",
        "cancel the task of main before callback 4",
        "5. finish a -> b admitted on a pool slot",
        "verdict: violated (NoSlotLost)",
    ):
        assert words in result.stdout
    told = json.loads(
        run(*SMALL, "--subject", "slotcheck.checks.mutants:DropsCancelledGrant", "--format", "json").stdout
    )
    (violation,) = told["violations"]
    assert violation["trace"]["events"][-1] == "finish a -> b admitted on a pool slot"


def test_peaks_and_memory_are_told_beside_the_figures_of_the_post(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotcheck.checks.aio_suite.TREES", TREES[:1])
    monkeypatch.setattr("slotcheck.checks.aio_command._MILLION", 2_000)
    args = ("--runs", "1", "--odd-runs", "0", "--pairs-runs", "0", "--jobs", "1", "--million")
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert "2 = 2      7 = 7           2 = 2               7      8" in result.stdout
    assert "2,000 tasks through one pool" in result.stdout
    told = json.loads(run(*args, "--format", "json").stdout)
    assert told["trees"][0]["exact_maximum_in_flight"] == 7
    assert told["growth"]["tasks"] == 2_000
    assert told["timing"]["seconds"] > 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks start eagerly from 3.12 on")
def test_eager_tasks_hold_too() -> None:
    report = check_port(AioSettings(runs=2, odd_runs=2, pairs_runs=1, eager=True), trees=False)
    assert report.verdict is Verdict.HOLDS, report.violations


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="tasks start eagerly from 3.12 on")
def test_eager_tasks_are_refused_where_there_are_none() -> None:
    assert run("--eager").exit_code == 2


def test_what_was_not_looked_at_or_cut_short_is_undetermined() -> None:
    result = run(*SMALL, "--max-seconds", "0")
    assert result.exit_code == 3
    assert "nothing was checked" in result.stdout
    report = check_port(AioSettings(runs=1), trees=False)
    assert report.verdict is Verdict.HOLDS
    report.missing.append("something")
    assert report.verdict is Verdict.UNDETERMINED


def test_several_runs_are_woken_by_one_step() -> None:
    one = program(3, "tasks", "a b c", cap=3, resize=1)
    assert TWO_WOKEN in play(one, AIO).witnessed


def test_one_form_alone_need_not_show_everything() -> None:
    result = run(*SMALL, "--form", "start")
    assert result.exit_code == 0, result.output
    assert "not seen" in result.stdout


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("nonsense", "names no port"),
        ("slotlending:Pool", "lacks __aenter__"),
        ("no.such.module:Pool", "cannot import"),
        ("slotlending.aio:Nothing", "has no 'Nothing'"),
    ],
)
def test_a_subject_that_cannot_be_checked_is_bad_input(subject: str, words: str) -> None:
    result = run("--subject", subject)
    assert result.exit_code == 2
    assert words in result.output


def test_a_port_that_cannot_be_made_is_bad_input() -> None:
    with pytest.raises(SubjectError, match="raised TypeError"):
        resolve_port(f"{__name__}:_NoCap")


class _NoCap(aio.Pool):
    def __init__(self) -> None:
        pass


MY_PORT = """
import os
from slotlending import aio

class Mine(aio.Pool):
    pass

class Ends(aio.Pool):
    def resize(self, cap):
        os._exit(0)

class Hangs(aio.Pool):
    def resize(self, cap):
        while True:
            pass
"""


@pytest.fixture
def my_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_port.py").write_text(MY_PORT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_port", raising=False)


@pytest.mark.usefixtures("my_port")
def test_a_class_of_ones_own_is_checked_in_a_process_of_its_own() -> None:
    settings = AioSettings("my_port:Mine", runs=2, odd_runs=1, pairs_runs=0)
    assert check_port(settings, trees=False).verdict is Verdict.HOLDS
    report = check_port(settings._replace(subject="my_port:Ends"), trees=False)
    assert report.verdict is Verdict.UNDETERMINED
    assert "ended" in (report.stopped or "")


@pytest.mark.usefixtures("my_port")
def test_a_callback_that_never_returns_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotcheck.checks.processes.GRACE", 0.5)
    report = check_port(AioSettings("my_port:Hangs", runs=1), trees=False, max_seconds=1)
    assert report.verdict is Verdict.UNDETERMINED
    assert "does not return" in (report.stopped or "")


# -- on a real loop ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", [tree for tree in TREES if tree.depth < 10 or tree.fan_out == 1], ids=lambda t: t.name)
def test_the_trees_of_the_post_reach_its_figures_and_the_exact_maximum(tree: Tree) -> None:
    result = grow_tree(tree, AIO)
    assert result.faults == []
    assert (result.executing, result.in_flight, result.leaves) == (tree.executing, tree.in_flight, tree.leaves)
    assert result.bodies == result.in_flight == result.most <= tree.bound
    assert result.tasks == len(tree.runs)
    assert result.at_once_by_start == result.in_flight  # a child has a task once it has a slot


def test_peaks_that_differ_are_told() -> None:
    result = grow_tree(Tree(2, 1, 3, 1, 2, 3), AIO)
    assert len(result.faults) == 5
    assert any("executing 2, but it must be 1" in fault for fault in result.faults)


def test_many_tasks_through_one_pool_leave_nothing_behind() -> None:
    growth = many_tasks(AIO, 20_000, at_once=500)
    assert growth.tasks == 20_000
    assert growth.blocks < 500
    assert growth.faults == []


def test_a_port_that_keeps_its_runs_is_found_by_what_it_leaves() -> None:
    kept: list[aio.Run] = []

    class Keeps(aio.Pool):
        def _finish(self, run: aio.Run) -> None:
            kept.append(run)
            super()._finish(run)

    growth = many_tasks(Port("x", Keeps, aio.current_run), 5_000, at_once=500)
    assert growth.blocks > 4_000
    assert growth.faults
    assert Growth(1_000, 10, 3, 0).faults == []
