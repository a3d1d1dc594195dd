"""``slotcheck gate``."""

from __future__ import annotations

import difflib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import click

from slotcheck.checks.command import EXIT_CODES, BadInput
from slotcheck.checks.gate.base import BaseError, against_base, against_pins, read_base
from slotcheck.checks.gate.changes import Changes, changes_since
from slotcheck.checks.gate.inputs import Inputs
from slotcheck.checks.gate.lanes import DEFAULT, LANES, inputs_of, pieces_of
from slotcheck.checks.gate.piece import Piece, PieceResult, Source
from slotcheck.checks.gate.progress import Estimate, watching
from slotcheck.checks.gate.project import ProjectError, read_project
from slotcheck.checks.gate.report import GateReport, gate_as_json
from slotcheck.checks.gate.run import Runner, Watch
from slotcheck.checks.gate.store import FOLDER, Store
from slotcheck.checks.gate.tell import gate_as_markdown, gate_as_text
from slotcheck.checks.options import OUT_FILE, OUT_FOLDER, form_option, no_timing_option
from slotcheck.checks.terminal import console

__all__ = ["gate_command"]


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@click.command("gate")
@click.option("--lane", type=click.Choice(LANES), default=DEFAULT, show_default=True, help="How far to look.")
@click.option("--subject", metavar="SUBJECT", help="What to check: pool, or package.module:Class.")
@click.option("--relend", type=click.Choice(["off", "on", "both"]), help="Only with relend off, on, or both.")
@click.option("--only", multiple=True, metavar="PIECE", help="Run only this piece. May be repeated.")
@click.option("--skip", multiple=True, metavar="PIECE", help="Leave this piece out. May be repeated.")
@click.option("--changed-since", metavar="REV", help="Run only what a change since this revision may have broken.")
@click.option("--no-cache", is_flag=True, help="Run everything, whatever results are kept.")
@click.option(
    "--cache",
    type=OUT_FOLDER,
    default=Path(FOLDER),
    show_default=True,
    help="Where results are kept.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=_processors,
    show_default="processors",
    help="How many pieces run at a time.",
)
@click.option(
    "--base",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A report of another gate, to compare what was covered with.",
)
@click.option("--junit", type=OUT_FILE, metavar="FILE", help="Also write JUnit XML.")
@click.option("--sarif", type=OUT_FILE, metavar="FILE", help="Also write SARIF 2.1.0.")
@click.option("--summary", type=OUT_FILE, metavar="FILE", help="Also add a summary in Markdown to this file.")
@click.option("--report", type=OUT_FILE, metavar="FILE", help="Also write the JSON object.")
@click.option(
    "--traces",
    type=OUT_FOLDER,
    metavar="DIR",
    help="Also write each counterexample in all its forms.",
)
@form_option
@no_timing_option
def gate_command(
    lane: str,
    subject: str | None,
    relend: str | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    changed_since: str | None,
    no_cache: bool,
    cache: Path,
    jobs: int,
    base: Path | None,
    junit: Path | None,
    sarif: Path | None,
    summary: Path | None,
    report: Path | None,
    traces: Path | None,
    form: str,
    no_timing: bool,
) -> None:
    """Decide whether an admission change may land: every check, one verdict.

    Exit codes: 0 holds, 1 violated, 2 bad input, 3 undetermined.
    """
    folder = Path.cwd()
    try:
        project = read_project(folder).with_subject(subject, relend)
        compared = None if base is None else read_base(base)
    except (ProjectError, BaseError) as error:
        raise BadInput(str(error)) from error
    pieces = pieces_of(lane, project)
    _judge_names(pieces, (*only, *skip))
    inputs = inputs_of(project)
    changes = None if changed_since is None else changes_since(folder, changed_since)
    if changed_since is not None and changes is None:
        click.echo(f"slotcheck: git cannot tell what changed since {changed_since}, so all is run", err=True)
    started = time.monotonic()
    gate = GateReport(lane, project.subject, since=changed_since, folder=folder)
    if changes is not None:
        gate.changed = changes.lines
    store = None if no_cache else Store(folder / cache)
    stop = Event()
    expected = {piece.name: (store and store.seconds(piece.kept_as)) or piece.expected for piece in pieces}
    estimate = Estimate(expected, jobs)
    with watching(console(stderr=True), estimate, timed=not no_timing) as watch, _stopping(stop) as stopped_by:
        runner = Runner(
            inputs,
            store,
            folder,
            jobs,
            None if traces is None else traces.resolve(),
            _skips(only, skip, inputs, changes),
            _Refusals(watch, stop),
            stop=stop,
        )
        gate.results = runner.run(pieces)
    for result in gate.results:
        if _refuses(result):
            raise BadInput(str(result.refused).removeprefix("slotcheck: "))
    gate.stopped = stopped_by()
    gate.pinned = against_pins(lane, [result for result in gate.judged if not result.piece.users])
    if compared is not None:
        gate.changes = against_base(compared, gate.results, timed=not no_timing)
    seconds = None if no_timing else time.monotonic() - started
    _write(gate, seconds, junit=junit, sarif=sarif, summary=summary, report=report)
    if form == "json":
        click.echo(json.dumps(gate_as_json(gate, seconds), indent=1))
    else:
        console().print(gate_as_text(gate, seconds))
    sys.exit(EXIT_CODES[gate.verdict])


@contextmanager
def _stopping(stop: Event) -> Iterator[Callable[[], str | None]]:
    """Within, what asks this process to end ends the pieces first. Yields what tells why it was stopped."""
    by: list[str] = []

    def ask(number: int, frame: object) -> None:
        by.append("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: by[0] if by else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class _Refusals:
    """A watch that ends the run once a piece refuses what the user wants checked: the others would, too."""

    watch: Watch
    stop: Event

    def begun(self, piece: Piece) -> None:
        self.watch.begun(piece)

    def ended(self, result: PieceResult) -> None:
        self.watch.ended(result)
        if _refuses(result):
            self.stop.set()


def _refuses(result: PieceResult) -> bool:
    return result.refused is not None and result.piece.users


def _judge_names(pieces: Sequence[Piece], names: Sequence[str]) -> None:
    known = list(dict.fromkeys(name for piece in pieces for name in (piece.name, piece.group)))
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3, 0.4)
            listed = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(known)}"
            raise BadInput(f"this lane has no piece {name!r}; {listed}")


def _skips(
    only: Sequence[str], skip: Sequence[str], inputs: Inputs, changes: Changes | None
) -> Callable[[Piece], Source | None]:
    # What a file outside all groups changes cannot be told, so then everything is run.
    run_all = changes is None or bool(inputs.unknown(changes.files))

    def why(piece: Piece) -> Source | None:
        names = {piece.name, piece.group}
        if (only and not names.intersection(only)) or names.intersection(skip):
            return Source.SKIPPED
        if run_all or changes is None or inputs.changed(piece.needs, changes.files):
            return None
        return Source.UNCHANGED

    return why


def _write(
    gate: GateReport,
    seconds: float | None,
    *,
    junit: Path | None,
    sarif: Path | None,
    summary: Path | None,
    report: Path | None,
) -> None:
    """The other forms, into the files that were named."""
    try:
        if junit is not None:
            from slotcheck.checks.gate.junit import gate_as_junit

            junit.write_text(gate_as_junit(gate, seconds))
        if sarif is not None:
            from slotcheck.checks.gate.sarif import gate_as_sarif

            sarif.write_text(json.dumps(gate_as_sarif(gate), indent=1) + "\n")
        if summary is not None:
            with summary.open("a", encoding="utf-8") as file:  # a step's summary may have parts by others
                file.write(gate_as_markdown(gate, seconds))
        if report is not None:
            report.write_text(json.dumps(gate_as_json(gate, seconds), indent=1) + "\n")
    except OSError as error:
        raise BadInput(f"{error.filename}: {error.strerror}") from error
