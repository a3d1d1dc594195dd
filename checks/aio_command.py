"""``slotcheck asyncio``: the check of an asyncio port on the command line."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import click

from slotcheck.checks.aio_programs import FORMS
from slotcheck.checks.aio_report import aio_as_json, aio_as_text
from slotcheck.checks.aio_suite import AioSettings, check_port, resolve_port
from slotcheck.checks.aio_trees import many_tasks
from slotcheck.checks.command import EXIT_CODES, BadInput, progress
from slotcheck.checks.options import Seconds, form_option, no_timing_option
from slotcheck.checks.subject import SubjectError
from slotcheck.checks.terminal import console
from slotcheck.checks.traces_option import new_folder, traces_as_text, traces_option, write_aio_folder

__all__ = ["asyncio_command"]

_DEFAULT = AioSettings()
_MOST_RUNS = 6  # there are 4,000 programs of these, each run some thousand times
_MILLION = 1_000_000


@click.command("asyncio")
@click.option(
    "--subject",
    default=_DEFAULT.subject,
    show_default=True,
    metavar="SUBJECT",
    help="What to check: aio, or package.module:Class with the calls of slotlending.aio.Pool.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, _MOST_RUNS),
    default=_DEFAULT.runs,
    show_default=True,
    metavar="N",
    help="Programs of up to N runs, every task cancelled before every callback.",
)
@click.option(
    "--odd-runs",
    type=click.IntRange(0, _MOST_RUNS),
    default=_DEFAULT.odd_runs,
    show_default=True,
    metavar="N",
    help="Up to N runs also with a body that raises (each in turn) or changes the cap.",
)
@click.option(
    "--pairs-runs",
    type=click.IntRange(0, _MOST_RUNS),
    default=_DEFAULT.pairs_runs,
    show_default=True,
    metavar="N",
    help="Up to N runs also with every pair of cancellations.",
)
@click.option("--form", "forms", type=click.Choice(list(FORMS)), multiple=True, help="Only this form. May be repeated.")
@click.option("--eager", is_flag=True, help="Tasks start inside create_task, as with asyncio.eager_task_factory.")
@click.option("--trees/--no-trees", default=True, show_default=True, help="Run the trees of the post on a real loop.")
@click.option("--million", is_flag=True, help="Also put a million tasks through one pool and see what memory is left.")
@traces_option
@form_option
@no_timing_option
@click.option("--keep-going", is_flag=True, help="Go on to more runs after a violation.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use (default: one a core).")
@click.option("--max-seconds", type=Seconds(), metavar="S", help="Give up after S seconds.")
def asyncio_command(
    subject: str,
    runs: int,
    odd_runs: int,
    pairs_runs: int,
    forms: tuple[str, ...],
    eager: bool,
    trees: bool,
    million: bool,
    traces: Path | None,
    form: str,
    no_timing: bool,
    keep_going: bool,
    jobs: int | None,
    max_seconds: float | None,
) -> None:
    """Check an asyncio port: cancel every task at every callback of every small program.

    On a loop that runs one callback at a time. After each, the port's core and its bodies are judged; in the end no
    slot is lost, no task left, every error delivered. What the core decides `slotcheck check` judges.
    """
    if eager and sys.version_info < (3, 12):
        raise BadInput("--eager: tasks can start eagerly from Python 3.12 on")
    chosen = tuple(name for name in FORMS if name in forms) or tuple(FORMS)
    settings = AioSettings(subject, runs, min(odd_runs, runs), min(pairs_runs, runs), chosen, eager)
    if traces is not None:
        new_folder(traces)
    started = time.monotonic()
    try:
        with redirect_stdout(sys.stderr):  # what a subject prints must not get into the report
            with progress("running programs", sum(1 for _ in settings.programs())) as (tell, _):
                report = check_port(
                    settings,
                    jobs=jobs or os.cpu_count() or 1,
                    trees=trees,
                    max_seconds=max_seconds,
                    keep_going=keep_going,
                    progress=tell,
                )
            if million and not report.stopped:
                with progress("tasks through one pool", _MILLION) as (tell, _):
                    report.growth = many_tasks(resolve_port(subject), _MILLION, tell=tell)
    except SubjectError as error:
        raise BadInput(str(error)) from error
    seconds = None if no_timing else time.monotonic() - started
    written = None if traces is None else write_aio_folder(traces, report.violations)
    if form == "json":
        told = aio_as_json(report, seconds)
        if written is not None:
            told["traces"] = [one.as_dict() for one in written]
        click.echo(json.dumps(told, indent=1))
    else:
        console().print(aio_as_text(report, seconds))
        if traces is not None and written is not None:
            console().print(traces_as_text(traces, written))
    sys.exit(EXIT_CODES[report.verdict])
