"""``slotcheck mutants``."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path

import click

from slotcheck.checks.command import EXIT_CODES, BadInput, progress
from slotcheck.checks.mutants import FAULTY, MUTANT_RUNS, catch, catch_named
from slotcheck.checks.options import form_option
from slotcheck.checks.tables import mutants_as_json, mutants_as_text
from slotcheck.checks.terminal import console
from slotcheck.checks.trace import Trace
from slotcheck.checks.traces_option import new_folder, traces_as_text, traces_option, write_aio_folder, write_folder
from slotcheck.pymodel.explore import Verdict

__all__ = ["mutants_command"]


@click.command("mutants")
@click.argument("names", nargs=-1, metavar="[MUTANT]...")
@click.option(
    "--runs", type=click.IntRange(min=1), metavar="N", help=f"Look at forests of up to N runs (default {MUTANT_RUNS})."
)
@click.option(
    "--named",
    is_flag=True,
    help="Look only where each is known to be caught, for the message known; stop at the first that survives.",
)
@traces_option
@form_option
def mutants_command(names: tuple[str, ...], runs: int | None, named: bool, traces: Path | None, form: str) -> None:
    """Check faulty pools and asyncio ports, each of which the invariant it is named for must catch.

    Exit code 0: every one was caught; 1: one survived; 3: one survived on forests of fewer runs than the default.
    """
    for name in names:
        if name not in FAULTY:
            near = difflib.get_close_matches(name, FAULTY, 3, 0.4)
            raise BadInput(f"no mutant {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""))
    if named and runs is not None:
        raise BadInput("--named looks where each is known to be caught, so it takes no --runs")
    if runs is None:
        runs = MUTANT_RUNS
    chosen = names or tuple(FAULTY)
    if traces is not None:
        new_folder(traces)
    caught = []
    written = {}
    with progress("checking mutants", len(chosen)) as (tell, _):
        for one in map(catch_named, chosen) if named else catch(chosen, runs):
            caught.append(one)
            if traces is not None and one.trace is not None:
                folder = traces / one.name
                new_folder(folder)
                if isinstance(one.trace, Trace):
                    written[one.name] = write_folder(folder, [(one.trace.invariant, one.trace)])
                else:
                    written[one.name] = write_aio_folder(folder, [one.trace])
            tell(len(caught))
            if named and not one.caught:
                break
    survived = [one.name for one in caught if not one.caught]
    verdict = Verdict.HOLDS
    if survived:  # on forests too small to show a mistake, that says nothing
        verdict = Verdict.VIOLATED if runs >= MUTANT_RUNS else Verdict.UNDETERMINED
    if form == "json":
        told = mutants_as_json(caught, verdict)
        if traces is not None:
            told["traces"] = {name: [one.as_dict() for one in outcomes] for name, outcomes in written.items()}
        click.echo(json.dumps(told, indent=1))
    else:
        console().print(mutants_as_text(caught, verdict))
        for name, outcomes in written.items():
            console().print(traces_as_text(Path(name), outcomes))
    sys.exit(EXIT_CODES[verdict])
