"""``slotcheck tlc``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click

from slotcheck.checks.command import EXIT_CODES, BadInput, progress
from slotcheck.checks.options import Seconds, form_option, no_timing_option
from slotcheck.checks.terminal import console
from slotcheck.checks.tlc.config import ConfigError
from slotcheck.checks.tlc.manifest import SPECS, chosen, read_manifest
from slotcheck.checks.tlc.report import tlc_as_json, tlc_as_text
from slotcheck.checks.tlc.run import MEMORY
from slotcheck.checks.tlc.suite import TlcReport, check_specs
from slotcheck.checks.tlc.tool import ToolMissingError, find_tool

__all__ = ["tlc_command"]

_LIMIT = 600.0  # seconds a run: some 20 times what the longest takes on two slow cores


@click.command("tlc")
@click.argument("configs", nargs=-1, metavar="[CONFIG]...")
@click.option("--deep", is_flag=True, help="Also the configurations that take longer.")
@click.option(
    "--specs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=SPECS,
    metavar="FOLDER",
    help="Another folder of modules, configurations and a manifest (default: those that ship).",
)
@form_option
@no_timing_option
@click.option("--jobs", type=click.IntRange(1, 8), default=2, show_default=True, help="Runs at a time.")
@click.option("--max-seconds", type=Seconds(positive=True), default=_LIMIT, show_default=True, help="A run.")
@click.option("--max-memory", type=click.IntRange(min=16), default=MEMORY, show_default=True, help="A run, in MiB.")
def tlc_command(
    configs: tuple[str, ...],
    deep: bool,
    specs: Path,
    form: str,
    no_timing: bool,
    jobs: int,
    max_seconds: float,
    max_memory: int,
) -> None:
    """Check the TLA+ specifications with TLC, and compare their graphs with the code's, edge for edge.

    CONFIG is the name of a configuration, as in the manifest. Without any, the default set is run.

    Exit codes: 0 every configuration came out as the manifest says and all graphs are equal, 1 one did not, 2 bad
    input, 3 undetermined: no TLC, or a run failed.
    """
    try:
        picked = chosen(read_manifest(specs), configs, deep=deep)
    except ConfigError as error:
        raise BadInput(str(error)) from error
    started = time.monotonic()
    try:
        tool = find_tool()
        with progress("checking specifications", len(picked)) as (tell, _):
            report = check_specs(tool, specs, picked, seconds=max_seconds, jobs=jobs, memory=max_memory, progress=tell)
    except ToolMissingError as error:
        report = TlcReport([], stopped=str(error))
    seconds = None if no_timing else time.monotonic() - started
    if form == "json":
        click.echo(json.dumps(tlc_as_json(report, seconds), indent=1))
    else:
        console().print(tlc_as_text(report, seconds))
    sys.exit(EXIT_CODES[report.verdict])
