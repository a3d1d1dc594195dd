"""``slotcheck port``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click

from slotcheck.checks.command import EXIT_CODES, BadInput, progress
from slotcheck.checks.forms.written import WrittenTrace
from slotcheck.checks.options import OUT_FILE, Seconds, cap_option, form_option, no_timing_option, only_with
from slotcheck.checks.port.check import PortReport, PortSettings, check_port, starter
from slotcheck.checks.port.counterexample import script_of, write_forms
from slotcheck.checks.port.levels import EDGES, LEVELS, RANDOM
from slotcheck.checks.port.process import StartError
from slotcheck.checks.port.report import port_as_json, port_as_text
from slotcheck.checks.terminal import console
from slotcheck.checks.traces_option import new_folder, traces_as_text, traces_option

__all__ = ["port_command"]

_MOST_RUNS = 8  # trees of so many already have tens of millions of edges
_DEFAULTS = PortSettings()


@click.command("port")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option(
    "--level",
    "levels",
    type=click.Choice(LEVELS),
    multiple=True,
    help="Only this level (default: all three, in this order). May be repeated.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, _MOST_RUNS),
    default=_DEFAULTS.runs,
    show_default=True,
    help="Edges: all trees of up to N runs.",
)
@cap_option("Edges: only this cap (default 1, 2 and 3). May be repeated.")
@click.option(
    "--histories",
    type=click.IntRange(min=1),
    default=_DEFAULTS.histories,
    show_default=True,
    help="Random: so many for each order, with relend off and on.",
)
@click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True, help="Random: of the first history.")
@click.option(
    "--timeout",
    type=Seconds(positive=True),
    default=_DEFAULTS.timeout,
    show_default=True,
    metavar="S",
    help="Seconds that the port may take for one answer.",
)
@click.option("--max-seconds", type=Seconds(), metavar="S", help="Give up after S seconds.")
@click.option(
    "--script",
    type=OUT_FILE,
    metavar="FILE",
    help="Write the counterexample to FILE, as a script to pipe into the port.",
)
@traces_option
@form_option
@no_timing_option
def port_command(
    command: tuple[str, ...],
    levels: tuple[str, ...],
    runs: int,
    caps: tuple[int, ...],
    histories: int,
    seed: int,
    timeout: float,
    max_seconds: float | None,
    script: Path | None,
    traces: Path | None,
    form: str,
    no_timing: bool,
) -> None:
    """Check lending in another language: a program that speaks the port protocol (ports/PROTOCOL.md).

    COMMAND starts it. vectors: the conformance vectors. edges: every edge of the graphs of all trees of up to N runs
    (of forests up to 5), with the calls that the rules refuse. random: long random histories.

    Exit codes: 0 the port does what the rules say, 1 it does not (or hangs, ends, prints garbage), 2 bad input (it
    cannot be started), 3 undetermined.
    """
    chosen = tuple(level for level in LEVELS if level in levels) or LEVELS
    only_with("--level edges", EDGES in chosen, "runs", "caps")
    only_with("--level random", RANDOM in chosen, "histories", "seed")
    settings = PortSettings(
        chosen, runs, tuple(dict.fromkeys(caps)) or _DEFAULTS.caps, histories, seed, timeout, max_seconds
    )
    if traces is not None:
        new_folder(traces)
    started = time.monotonic()
    try:
        with progress("checking the port", 0) as (tell, _):
            report = check_port(command, settings, progress=tell)
    except StartError as error:
        raise BadInput(str(error)) from error
    seconds = None if no_timing else time.monotonic() - started
    if script is not None and report.violation is not None:
        try:
            script.write_text("".join(f"{line}\n" for line in script_of(report.violation)), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"--script {script}: {error.strerror}") from error
    written = None if traces is None else _written(report, traces)
    if form == "json":
        told = port_as_json(report, seconds)
        if written is not None:
            told["traces"] = [one.as_dict() for one in written]
        click.echo(json.dumps(told, indent=1))
    else:
        console().print(port_as_text(report, seconds), crop=False)  # what is to be copied is not cut
        if traces is not None and written is not None:
            console().print(traces_as_text(traces, written))
    sys.exit(EXIT_CODES[report.verdict])


def _written(report: PortReport, folder: Path) -> list[WrittenTrace]:
    if report.violation is None or report.trace is None:
        return []
    start = starter(report.command, report.settings.timeout)
    try:
        return [write_forms(start, report.violation, report.trace, folder, report.violation.fault.invariant)]
    except OSError as error:
        raise BadInput(f"--traces {folder}: {error.strerror or error}") from error
