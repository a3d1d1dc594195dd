"""``slotcheck check``."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import click

from slotcheck.checks.check import BREADTH, DEPTH, WALK, Settings, check, parts_of
from slotcheck.checks.command import EXIT_CODES, ORDER_HELP, BadInput, progress
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.generated_permits import permit_scenarios
from slotcheck.checks.options import Seconds, cap_option, form_option, no_timing_option, only_with
from slotcheck.checks.report import as_json, as_text
from slotcheck.checks.scenario import ScenarioError, UnknownScenarioError, builtin_scenarios, resolve
from slotcheck.checks.shrink import shrink
from slotcheck.checks.subject import SubjectError, resolve_subject
from slotcheck.checks.terminal import console
from slotcheck.checks.traces_option import new_folder, traces_as_text, traces_of, traces_option, write_folder

__all__ = ["DEFAULT_RUNS", "check_command"]

#: The generated scenarios go up to this many runs: ``slotcheck check`` then takes some 26 s on two slow cores, 11 s
#: with one less. Five are the fewest with which jobs of unequal shares compete while nothing is resized.
DEFAULT_RUNS = 5

#: Those of the build permit go up to this many: some 3 s; one more is two minutes.
DEFAULT_PERMIT_RUNS = 3

_MOST_GENERATED = 10  # runs: there are 2,000 forests of these, each explored some 30 times
_MOST_PERMIT_RUNS = 5
_MOST_RUNS = 1_000  # in one scenario: more cannot be explored in a lifetime


def _subject_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            click.option(
                "--subject",
                default="pool",
                show_default=True,
                metavar="SUBJECT",
                help="What to check: pool, rule:NAME, or package.module:Class.",
            ),
            click.option("--order", metavar="ORDER", help=ORDER_HELP),
            click.option("--tie", metavar="TIE", help="The tie-break of fewest_held: served or oldest."),
        )
    ):
        command = option(command)
    return command


@click.command("check")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@_subject_options
@click.option(
    "--runs",
    type=click.IntRange(1, _MOST_GENERATED),
    metavar="N",
    help=f"Generate all forests of up to N runs (default {DEFAULT_RUNS}, or none if scenarios are named).",
)
@click.option(
    "--permit-runs",
    type=click.IntRange(2, _MOST_PERMIT_RUNS),
    metavar="N",
    help=f"Generate all forests of up to N runs in which runs need permits (default {DEFAULT_PERMIT_RUNS} or --runs if "
    "that is less, or none if scenarios are named).",
)
@cap_option("Only these caps. May be repeated.")
@click.option("--relend", type=click.Choice(["off", "on", "both"]), help="Only with relend off, on, or both.")
@form_option
@no_timing_option
@click.option("--no-symmetry", is_flag=True, help="Do not merge states that differ by an exchange of siblings.")
@click.option(
    "--search",
    type=click.Choice([BREADTH, DEPTH, WALK]),
    default=BREADTH,
    show_default=True,
    help="Breadth first finds shortest traces; random walks look into spaces too big to exhaust, and never say holds.",
)
@click.option("--walks", type=click.IntRange(min=1), default=1_000, show_default=True, help="Random walks a part.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random walks.")
@traces_option
@click.option("--keep-going", is_flag=True, help="Go on to more runs after a violation (its trace grows no shorter).")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use (default: one a core).")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Give up on a part beyond N states.")
@click.option("--max-seconds", type=Seconds(), metavar="S", help="Give up after S seconds.")
@click.option("--max-memory", type=click.IntRange(min=1), metavar="MIB", help="Give up on a part beyond this memory.")
def check_command(
    scenarios: tuple[str, ...],
    subject: str,
    order: str | None,
    tie: str | None,
    runs: int | None,
    permit_runs: int | None,
    caps: tuple[int, ...],
    relend: str | None,
    form: str,
    no_timing: bool,
    no_symmetry: bool,
    search: str,
    walks: int,
    seed: int,
    traces: Path | None,
    keep_going: bool,
    jobs: int | None,
    max_states: int | None,
    max_seconds: float | None,
    max_memory: int | None,
) -> None:
    """Explore every interleaving and judge every invariant.

    SCENARIO is the name of one that ships (see `slotcheck scenarios`) or a file. Without any, all that ship and all
    forests of a few runs are checked.
    """
    only_with("--search walk", search == WALK, "walks", "seed")
    try:
        chosen = resolve(scenarios) if scenarios else list(builtin_scenarios().values())
    except (ScenarioError, UnknownScenarioError) as error:
        raise BadInput(str(error)) from error
    if runs is not None or not scenarios:
        # First, so that of two counterexamples of one size the one in the plainest words is told.
        chosen = [*generated_scenarios(DEFAULT_RUNS if runs is None else runs), *chosen]
    if permit_runs is None and not scenarios:
        permit_runs = min(DEFAULT_PERMIT_RUNS, runs or DEFAULT_PERMIT_RUNS)
    if permit_runs is not None:
        chosen = [*chosen, *permit_scenarios(permit_runs)]
    for scenario in chosen:
        if len(scenario.runs) > _MOST_RUNS:
            raise BadInput(f"{scenario.name} has {len(scenario.runs):,} runs; at most {_MOST_RUNS:,} can be explored")
    switches = {None: None, "off": (False,), "on": (True,), "both": (False, True)}[relend]
    parts = parts_of(chosen, caps=tuple(dict.fromkeys(caps)) or None, relend=switches)
    settings = Settings(
        subject, order, tie, not no_symmetry, search, walks, seed, max_states, max_memory and max_memory * 2**20
    )
    if traces is not None:
        new_folder(traces)
    started = time.monotonic()
    with progress("checking", len(parts)) as (tell, tell_within):
        try:
            with redirect_stdout(sys.stderr):  # what a subject prints must not get into the report
                report = check(
                    parts,
                    settings,
                    jobs=jobs or os.cpu_count() or 1,
                    max_seconds=max_seconds,
                    keep_going=keep_going,
                    progress=tell,
                    progress_within=tell_within,
                )
                if search != BREADTH:  # what a walk comes upon is far from smallest
                    on = resolve_subject(subject, order=order, tie=tie)
                    report.smallest = [shrink(trace, on) for trace in report.violations]
        except SubjectError as error:
            raise BadInput(str(error)) from error
    seconds = None if no_timing else time.monotonic() - started
    written = None if traces is None else write_folder(traces, traces_of(report, settings))
    if form == "json":
        told = as_json(report, seconds)
        if written is not None:
            told["traces"] = [one.as_dict() for one in written]
        click.echo(json.dumps(told, indent=1))
    else:
        console().print(as_text(report, seconds))
        if traces is not None and written is not None:
            console().print(traces_as_text(traces, written))
    sys.exit(EXIT_CODES[report.verdict])
