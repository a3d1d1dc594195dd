"""``slotcheck compare``."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import NoReturn

import click

from slotcheck.checks.command import EXIT_CODES, BadInput, progress
from slotcheck.checks.compare import compare
from slotcheck.checks.compare_orders import compare_orders
from slotcheck.checks.compare_orders_report import orders_as_json, orders_as_text, verdict_of
from slotcheck.checks.compare_report import comparison_as_json, comparison_as_text
from slotcheck.checks.designs import DESIGNS, Look
from slotcheck.checks.options import CapType, Seconds, form_option, no_timing_option, not_beside
from slotcheck.checks.plots import PlotError, judge_path, save
from slotcheck.checks.relend_report import relend_as_json, relend_as_text, relend_gains, relend_plot
from slotcheck.checks.rows import rows_of
from slotcheck.checks.scenario import ScenarioError, UnknownScenarioError, builtin_scenarios, resolve
from slotcheck.checks.terminal import console
from slotcheck.pymodel.explore import Limits

__all__ = ["compare_command"]


@click.command("compare")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option("--rule", "rules", multiple=True, type=click.Choice(DESIGNS), help="Only this rule. May be repeated.")
@click.option("--designs/--no-designs", default=None, help="With or without the table (default: if none is named).")
@click.option(
    "--orders", is_flag=True, help="Instead: the orders and rules on the posts' workloads, on a virtual clock."
)
@click.option("--relend", is_flag=True, help="Instead: what relend gains in makespan, over caps and depths.")
@click.option("--plot", "plots", multiple=True, metavar="FILE", help="With --relend: draw it, as .png or .svg.")
@click.option("--runs", type=click.IntRange(2, 6), default=4, show_default=True, help="Forests up to N runs.")
@click.option("--cap", type=CapType(), default=2, show_default=True, help="Of the trees of growing width.")
@click.option("--levels", type=click.IntRange(3, 6), default=3, show_default=True, help="Their levels.")
@click.option("--width", type=click.IntRange(4, 10), default=6, show_default=True, help="Their greatest width.")
@form_option
@no_timing_option
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use (default: one a core).")
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="Give up on one beyond N states.")
@click.option("--max-seconds", type=Seconds(), metavar="S", help="Give up after S seconds.")
def compare_command(
    scenarios: tuple[str, ...],
    rules: tuple[str, ...],
    designs: bool | None,
    orders: bool,
    relend: bool,
    plots: tuple[str, ...],
    runs: int,
    cap: int,
    levels: int,
    width: int,
    form: str,
    no_timing: bool,
    jobs: int | None,
    max_states: int | None,
    max_seconds: float | None,
) -> None:
    """Compare the designs, and each scenario under each rule with what it is expected to do.

    The table of the designs is found by exploration: what is deadlock-free, what bounds the runs that execute and those
    in flight, whether the levels must be known, and which of the four conditions for deadlock is broken. SCENARIO is
    one that ships or a file; one that is named is explored under every rule, with or without an 'expect' line for it.
    """
    if plots and not relend:
        raise BadInput("--plot draws what --relend finds; slots held over time are drawn by slotcheck simulate")
    if orders or relend:
        if scenarios or rules or designs is not None or (orders and relend):
            raise BadInput("--orders and --relend each stand alone: no scenario, --rule or --designs beside them")
        not_beside(*(("--orders", "form", "no_timing") if orders else ("--relend", "form", "no_timing", "plots")))
        _compare_orders(form) if orders else _compare_relend(form, plots)
    try:
        chosen = resolve(dict.fromkeys(scenarios)) if scenarios else list(builtin_scenarios().values())
    except (ScenarioError, UnknownScenarioError) as error:
        raise BadInput(str(error)) from error
    compared_rules = tuple(rule for rule in DESIGNS if not rules or rule in rules)
    rows = [
        (scenario, rule) for scenario, rule in rows_of(chosen, compared_rules) if scenarios or rule in scenario.expect
    ]
    with_designs = designs if designs is not None else not scenarios
    look = Look(runs, tuple(range(2, width + 1)), cap, levels)
    started = time.monotonic()
    named = compared_rules if with_designs else ()
    with progress("comparing", len(named) + len(rows)) as (tell, _):
        compared = compare(
            named,
            rows,
            look=look,
            limits=Limits(states=max_states),
            jobs=jobs or os.cpu_count() or 1,
            max_seconds=max_seconds,
            progress=tell,
        )
    seconds = None if no_timing else time.monotonic() - started
    if form == "json":
        click.echo(json.dumps(comparison_as_json(compared, seconds), indent=1))
    else:
        console().print(comparison_as_text(compared, seconds))
    sys.exit(EXIT_CODES[compared.verdict])


def _compare_orders(form: str) -> NoReturn:
    compared = []
    with progress("simulating", 0) as (tell, _):
        for one in compare_orders():
            compared.append(one)
            tell(len(compared))
    if form == "json":
        click.echo(json.dumps(orders_as_json(compared), indent=1))
    else:
        console().print(orders_as_text(compared))
    sys.exit(EXIT_CODES[verdict_of(compared)])


def _compare_relend(form: str, plots: tuple[str, ...]) -> NoReturn:
    try:
        for path in plots:
            judge_path(path)
        gains = relend_gains()
        for path in plots:
            save(relend_plot(gains), path)
    except PlotError as error:
        raise BadInput(str(error)) from error
    if form == "json":
        click.echo(json.dumps(relend_as_json(gains), indent=1))
    else:
        console().print(relend_as_text(gains))
    sys.exit(EXIT_CODES[gains.verdict])
