"""The gate's runner and its verdict: nothing is green that was not seen to hold, whatever a piece's command does."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from processes import runs, wait_until
from rich.console import Console

from slotcheck.checks.gate.base import against_base, against_pins, pins_of
from slotcheck.checks.gate.inputs import Group, Inputs
from slotcheck.checks.gate.piece import Piece, PieceResult, Source
from slotcheck.checks.gate.progress import Estimate, told, watching
from slotcheck.checks.gate.report import GateReport, gate_as_json, verdict_line
from slotcheck.checks.gate.run import Nobody, Runner
from slotcheck.checks.gate.store import Kept, Store
from slotcheck.pymodel.result import Verdict

#: What runs instead of `slotcheck`: the piece's command is a program in Python.
PYTHON = (sys.executable, "-c")

GREEN: dict[str, Any] = {"verdict": "holds", "covered": {"states": 3}, "violations": [], "parts": [{"name": "a"}]}
RED = {**GREEN, "verdict": "violated", "violations": [{"invariant": "NoSlotLeak", "scenario": "s", "trace": None}]}


def says(report: object, code: int = 0, more: str = "") -> str:
    return f"{more}\nimport sys\nprint({json.dumps(report)!r})\nsys.exit({code})"


def piece(program: str, name: str = "one", **more: Any) -> Piece:
    return Piece(name, "a test", (program,), ("files",), **more)


def gate(folder: Path, *pieces: Piece, store: Store | None = None, **more: Any) -> GateReport:
    inputs = Inputs([Group("files", (folder / "input",))])
    report = GateReport("default", "pool")
    report.results = Runner(inputs, store, folder, program=PYTHON, **more).run(pieces)
    return report


def test_a_piece_that_holds_is_green(tmp_path: Path) -> None:
    report = gate(tmp_path, piece(says(GREEN)))
    assert report.verdict is Verdict.HOLDS
    assert verdict_line(report) == "holds (lane default; 1 piece)"
    assert report.results[0].memory > 0


def test_a_piece_that_is_violated_makes_the_gate_red_whatever_else_is_undetermined(tmp_path: Path) -> None:
    report = gate(tmp_path, piece(says(RED, 1)), piece("raise SystemExit(9)", "two"))
    assert report.verdict is Verdict.VIOLATED
    assert [violation["invariant"] for violation in report.results[0].violations] == ["NoSlotLeak"]


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("raise SystemExit(0)", "ended with exit code 0, and printed no result"),
        ("print('garbage {')", "ended with exit code 0, and printed no result"),
        ("print('[]')", "printed no verdict"),
        ('print(\'{"verdict": "green"}\')', "printed no verdict"),
        (says(GREEN) + "\n", None),
        (says(GREEN, 1), "it says holds, but ended with exit code 1"),
        (says(GREEN, 3), "it says holds, but ended with exit code 3"),
        (says(RED, 0), "it says violated, but ended with exit code 0"),
        (says({**GREEN, "covered": {}}), "nothing was checked"),
        (says({**GREEN, "covered": {"states": 0}}), "nothing was checked"),
        (says({**GREEN, "parts": []}), "nothing was checked"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by signal 9"),
        ("import sys; sys.exit('no java here')", "it said: no java here"),
        (
            says({**GREEN, "verdict": "undetermined", "undetermined": ["a witness is missing"]}, 3),
            "a witness is missing",
        ),
    ],
)
def test_whatever_else_a_command_does_is_undetermined(tmp_path: Path, program: str, told: str | None) -> None:
    report = gate(tmp_path, piece(program))
    if told is None:
        assert report.verdict is Verdict.HOLDS
    else:
        assert report.verdict is Verdict.UNDETERMINED
        assert told in " ".join(report.why_undetermined)


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    hangs = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('child', 'w').write(str(child.pid))\n"
        "time.sleep(600)"
    )
    report = gate(tmp_path, piece(hangs, limit=2))
    assert report.verdict is Verdict.UNDETERMINED
    assert "one: ended after 2 s" in report.why_undetermined
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not runs(child))


def test_a_program_that_is_not_there_is_undetermined(tmp_path: Path) -> None:
    inputs = Inputs([Group("files")])
    (result,) = Runner(inputs, None, tmp_path, program=(str(tmp_path / "none"),)).run([piece("")])
    assert result.verdict is Verdict.UNDETERMINED
    assert "No such file" in " ".join(result.why)


def test_a_tool_that_is_missing_is_undetermined(tmp_path: Path) -> None:
    report = gate(tmp_path, piece(says(GREEN), absent="cargo is not here"), piece(says(GREEN), "two"))
    assert report.verdict is Verdict.UNDETERMINED
    assert report.why_undetermined == ["one: cargo is not here"]


def test_a_build_that_fails_is_undetermined(tmp_path: Path) -> None:
    build = ((*PYTHON, "import sys; sys.exit('does not compile')"),)
    report = gate(tmp_path, piece(says(GREEN), build=build))
    assert report.verdict is Verdict.UNDETERMINED
    assert "does not compile" in " ".join(report.why_undetermined)


def test_a_gate_of_nothing_is_undetermined(tmp_path: Path) -> None:
    assert gate(tmp_path).verdict is Verdict.UNDETERMINED
    report = gate(tmp_path, piece(says(GREEN)), skip=lambda _: Source.SKIPPED)
    assert report.verdict is Verdict.UNDETERMINED
    assert report.why_undetermined == ["nothing was checked"]


def test_what_was_left_out_stands_in_the_verdict_line(tmp_path: Path) -> None:
    pieces = [piece(says(GREEN), name) for name in ("one", "two", "three")]
    left_out = {"two": Source.SKIPPED, "three": Source.UNCHANGED}
    report = gate(tmp_path, *pieces, skip=lambda one: left_out.get(one.name))
    report.since = "main"
    assert report.verdict is Verdict.HOLDS
    told = "holds (lane default; 1 piece; skipped: two; unchanged since main and not run: three)"
    assert verdict_line(report) == told


#: Says that it is there, and waits for the other one.
MEETS = """
import pathlib, time
pathlib.Path({me!r}).touch()
while not pathlib.Path({other!r}).exists():
    time.sleep(0.01)
"""


def test_as_many_pieces_run_at_a_time_as_there_are_jobs_and_are_told_in_their_order(tmp_path: Path) -> None:
    late = MEETS.format(me="a", other="b") + MEETS.format(me="a", other="c")
    early = MEETS.format(me="b", other="a")
    third = MEETS.format(me="c", other="b")
    pieces = [piece(says(GREEN, more=more), name) for name, more in (("one", late), ("two", early), ("three", third))]
    report = gate(tmp_path, *pieces, jobs=2)
    assert report.verdict is Verdict.HOLDS, report.why_undetermined
    assert [result.piece.name for result in report.results] == ["one", "two", "three"]


def test_once_it_is_stopped_what_runs_is_ended_and_nothing_is_started(tmp_path: Path) -> None:
    stop = Event()

    class Stops(Nobody):
        def begun(self, piece: Piece) -> None:
            stop.set()

    hangs = "import time; time.sleep(600)"
    report = gate(tmp_path, piece(hangs), piece("open('ran', 'w')", "two"), stop=stop, watch=Stops())
    assert [result.source for result in report.results] == [Source.NOT_REACHED] * 2
    assert report.verdict is Verdict.UNDETERMINED
    assert not (tmp_path / "ran").exists()


def test_what_was_edited_while_it_was_checked_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("a")
    edits = [piece(says(GREEN, more="open('input', 'a').write('b')"))]
    assert kept(tmp_path, edits) == [Source.RUN]
    (tmp_path / "input").write_text("a")
    assert kept(tmp_path, edits) == [Source.RUN]


def test_what_is_left_is_told_from_what_pieces_took_last_time() -> None:
    now = 0.0
    estimate = Estimate({"one": 30.0, "two": 10.0, "three": 20.0}, 2, lambda: now)
    assert estimate.left() == 30  # 60 s of work for two, and the longest takes 30
    estimate.begun(piece("", "one"))
    estimate.begun(piece("", "two"))
    assert estimate.running == ["one", "two"]
    now = 10.0
    estimate.ended(PieceResult(piece("", "two"), Source.RUN, Verdict.HOLDS))
    assert estimate.left() == 20
    assert estimate.share_done() == pytest.approx(1 / 3)
    now = 50.0  # it takes longer than last time: there is always something left
    estimate.ended(PieceResult(piece("", "three"), Source.CACHE, Verdict.HOLDS))
    assert estimate.left() == 10
    estimate.ended(PieceResult(piece("", "one"), Source.RUN, Verdict.HOLDS))
    assert (estimate.left(), estimate.share_done()) == (0, 1)
    assert [told(seconds) for seconds in (0.4, 89, 600, 7200)] == ["0 s", "89 s", "10 min", "2.0 h"]


def test_where_there_is_no_terminal_each_piece_that_ran_has_a_line(tmp_path: Path) -> None:
    out = io.StringIO()
    with watching(Console(file=out, width=100), Estimate({"one": 1.0, "two": 1.0}, 1), timed=False) as watch:
        gate(tmp_path, piece(says(GREEN)), piece(says(RED, 1), "two"), watch=watch)
    assert out.getvalue() == "one: holds\ntwo: violated\n"


def test_on_a_terminal_a_bar_says_what_runs_and_what_is_left(tmp_path: Path) -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    with watching(console, Estimate({"one": 40.0}, 1, lambda: 0.0), timed=True) as watch:
        watch.begun(piece("", "one"))
    assert "one" in out.getvalue()
    assert "about 40 s left" in out.getvalue()


def test_a_gate_that_was_interrupted_is_undetermined(tmp_path: Path) -> None:
    report = gate(tmp_path, piece(says(GREEN)))
    report.stopped = "interrupted"
    report.results.append(PieceResult(piece("", "two"), Source.NOT_REACHED))
    assert report.verdict is Verdict.UNDETERMINED
    assert verdict_line(report) == "undetermined (lane default; 1 piece; not reached: two)"


# -- kept results ------------------------------------------------------------------------------------------------


def kept(folder: Path, programs: Sequence[Piece]) -> list[Source]:
    return [result.source for result in gate(folder, *programs, store=Store(folder / "kept")).results]


def test_a_result_is_kept_until_anything_it_depends_on_changes(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    file = tmp_path / "input" / "pool.py"
    file.write_text("a")
    one = [piece(says(GREEN))]
    assert kept(tmp_path, one) == [Source.RUN]
    assert kept(tmp_path, one) == [Source.CACHE]
    file.write_text("b")
    assert kept(tmp_path, one) == [Source.RUN]
    file.rename(tmp_path / "input" / "pool2.py")
    assert kept(tmp_path, one) == [Source.RUN]
    assert kept(tmp_path, [piece(says(GREEN) + "#")]) == [Source.RUN]
    assert kept(tmp_path, one) == [Source.CACHE]  # another command of the same name does not take its place
    (tmp_path / "input" / "notes.md").write_text("no result depends on it")
    assert kept(tmp_path, one) == [Source.CACHE]


@pytest.mark.parametrize("program", [says(RED, 1), says(GREEN, 3), "raise SystemExit(1)"])
def test_only_what_holds_is_kept(tmp_path: Path, program: str) -> None:
    assert kept(tmp_path, [piece(program)]) == [Source.RUN]
    assert kept(tmp_path, [piece(program)]) == [Source.RUN]


@pytest.mark.parametrize(
    "damage",
    [
        lambda said: "",
        lambda said: json.dumps(said)[:-9],
        lambda said: "[]",
        lambda said: json.dumps({**said, "version": 0}),
        lambda said: json.dumps({**said, "key": "another"}),
        lambda said: json.dumps({**said, "piece": "another"}),
        lambda said: json.dumps({**said, "report": None}),
        lambda said: json.dumps({**said, "report": {}}),
        lambda said: json.dumps({**said, "exit_code": "zero"}),
        lambda said: json.dumps({name: value for name, value in said.items() if name != "memory"}),
    ],
)
def test_a_kept_file_that_is_damaged_or_stale_says_nothing(tmp_path: Path, damage: Any) -> None:
    one = [piece(says(GREEN))]
    assert kept(tmp_path, one) == [Source.RUN]
    (file,) = (tmp_path / "kept").glob("*.json")
    file.write_text(damage(json.loads(file.read_text())))
    assert kept(tmp_path, one) == [Source.RUN]
    assert kept(tmp_path, one) == [Source.CACHE]


def test_a_kept_file_that_says_it_holds_is_judged_again(tmp_path: Path) -> None:
    one = piece(says(GREEN))
    store = Store(tmp_path / "kept")
    assert gate(tmp_path, one, store=store).verdict is Verdict.HOLDS
    key = json.loads(next((tmp_path / "kept").glob("*.json")).read_text())["key"]
    store.put(one.kept_as, key, Kept(1, GREEN, 1.0, 1))
    assert gate(tmp_path, one, store=store).verdict is Verdict.UNDETERMINED


# -- counts ------------------------------------------------------------------------------------------------------


def judged(name: str, covered: dict[str, Any], verdict: Verdict = Verdict.HOLDS) -> PieceResult:
    return PieceResult(piece("", name), Source.RUN, verdict, {**GREEN, "covered": covered})


def test_a_count_that_is_not_the_pinned_one_is_not_green() -> None:
    pinned = dict(pins_of("default")["mutants"])
    assert against_pins("default", [judged("mutants", pinned)]) == []
    report = GateReport("default", "pool", [judged("mutants", {**pinned, "caught": pinned["caught"] - 1})])
    report.pinned = against_pins("default", report.results)
    assert [one.told for one in report.pinned] == [f"mutants: caught: {pinned['caught'] - 1}, was {pinned['caught']}"]
    assert report.verdict is Verdict.VIOLATED
    assert gate_as_json(report, None)["violations"][0]["invariant"] == "Pinned"


def test_the_readme_shows_what_is_pinned() -> None:
    pins, readme = pins_of("default"), (Path(__file__).parent.parent / "README.md").read_text()
    shown = {
        "check": "{states:,} states, {edges:,} edges, {parts:,} parts",
        "mutants": "{caught} mutants caught",
        "tlc": "{configs} configurations, {graphs_equal} graphs equal, {edges_compared:,} edges compared",
        "prove": "{obligations} obligations, {code_edges:,} edges compared",
    }
    for name, words in shown.items():
        counts = {count.replace(".", "_"): number for count, number in pins[name].items()}
        assert f"{name:<16} holds    {words.format(**counts)}\n" in readme, name


def test_every_pinned_count_is_one_that_a_piece_tells() -> None:
    assert set(pins_of("default")) == {"check", "mutants", "asyncio", "tlc", "prove"}
    for lane in ("quick", "default"):
        for name, counts in pins_of(lane).items():
            assert counts, name
            assert all(type(count) is int and count > 0 for count in counts.values()), name


def test_beside_a_base_an_action_that_is_new_or_gone_is_named() -> None:
    base = {
        "lane": "default",
        "covered": {"check": {"states": 10, "actions": {"ask": 4, "relend": 2}, "invariants": {"A": {"judged_on": 1}}}},
        "timing": {"parts": {"check": 20.0}},
    }
    result = judged("check", {"states": 11, "actions": {"ask": 4, "cancel": 1}, "invariants": {"A": {"judged_on": 2}}})
    result.seconds = 31.2
    assert [one.told for one in against_base(base, [result, judged("tlc", {"configs": 1})])] == [
        "check: states: 11, was 10",
        "check: actions: relend: gone, was 2",
        "check: actions: cancel: new, 1",
        "check: seconds: 31, was 20",
    ]
    assert [one.name for one in against_base(base, [result], timed=False)][-1] == "actions.cancel"
