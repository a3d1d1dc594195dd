"""``slotcheck simulate``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.command import EXIT_CODES, ORDER_HELP, BadInput
from slotcheck.checks.options import CapType, form_option
from slotcheck.checks.playing import Play, play, timed_scenario
from slotcheck.checks.plots import PlotError, judge_path, plot_held, save
from slotcheck.checks.scenario import ScenarioError, UnknownScenarioError
from slotcheck.checks.subject import SubjectError
from slotcheck.checks.terminal import console, versions
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.scenario import Scenario

__all__ = ["simulate_command"]

_MOST_ROWS = 20  # of the table of jobs; JSON has all


@click.command("simulate")
@click.argument("name", metavar="SCENARIO")
@click.option(
    "--subject",
    "subjects",
    multiple=True,
    default=("pool",),
    show_default=True,
    metavar="SUBJECT",
    help="What decides about slots: pool, rule:NAME, or package.module:Class. May be repeated.",
)
@click.option("--order", "orders", multiple=True, metavar="ORDER", help=f"{ORDER_HELP} May be repeated.")
@click.option("--tie", metavar="TIE", help="The tie-break of fewest_held: served or oldest.")
@click.option("--relend", is_flag=True, help="With relend on.")
@click.option("--cap", type=CapType(), help="Instead of the scenario's first cap.")
@click.option("--plot", "plots", multiple=True, metavar="FILE", help="Slots held per job over time, as .png or .svg.")
@form_option
def simulate_command(
    name: str,
    subjects: tuple[str, ...],
    orders: tuple[str, ...],
    tie: str | None,
    relend: bool,
    cap: int | None,
    plots: tuple[str, ...],
    form: str,
) -> None:
    """Play a scenario once on a virtual clock: who takes how long, and who holds how many slots when.

    SCENARIO is one that ships, a file, or a timed workload: small-behind-big, long-beside-short or four-slots.
    A line `at RUN: MS` says when a run without a parent asks (0), `work RUN: MS` how long each of its pieces of work
    takes (10); all else takes no time. Acts of the environment are left out. Exit code 1: runs are stuck.
    """
    try:
        for path in plots:
            judge_path(path)
        scenario = timed_scenario(name)
        plays = [
            play(scenario, subject, cap or scenario.caps[0], order=order, tie=tie, relend=relend)
            for subject in dict.fromkeys(subjects)
            for order in dict.fromkeys(orders) or (None,)
        ]
        for path in plots:
            save(plot_held(plays, scenario.title or scenario.name), path)
    except (ScenarioError, UnknownScenarioError, SubjectError, PlotError, ValueError) as error:
        raise BadInput(str(error)) from error
    verdict = Verdict.VIOLATED if any(one.found.stuck for one in plays) else Verdict.HOLDS
    if form == "json":
        click.echo(json.dumps(_as_json(scenario, plays, verdict), indent=1))
    else:
        console().print(_as_text(scenario, plays))
    sys.exit(EXIT_CODES[verdict])


def _as_text(scenario: Scenario, plays: Sequence[Play]) -> RenderableType:
    told: list[RenderableType] = [Text(f"{scenario.name}: {len(scenario.runs):,} runs on {scenario.levels} levels")]
    whole = Table(box=None, pad_edge=False)
    for title in ("subject", "cap", "ends, ms", "most in flight", "most at work", "declined", "stuck"):
        whole.add_column(title, justify="left" if title == "subject" else "right")
    for one in plays:
        found = one.found
        counts = found.in_flight.peak, found.working.peak, len(found.declined), len(found.stuck)
        ends = "never" if found.stuck else f"{found.end_ms:,}"
        whole.add_row(one.name, str(one.cap), ends, *[f"{count:,}" for count in counts])
    told += [whole, Text()]
    for one in plays:
        table = Table(box=None, pad_edge=False, title=one.name if len(plays) > 1 else None, title_justify="left")
        for title in ("job", "runs", "first asks, ms", "last ends, ms", "took, ms", "most held", "share of slot time"):
            table.add_column(title, justify="left" if title == "job" else "right")
        rows = _jobs(one)
        for job in rows[:_MOST_ROWS]:
            took = "" if job["took_ms"] is None else f"{job['took_ms']:,}"
            times = [f"{job['asks_ms']:,}", "never" if job["took_ms"] is None else f"{job['ends_ms']:,}"]
            table.add_row(job["job"], f"{job['runs']:,}", *times, took, str(job["most_held"]), f"{job['share']:.0%}")
        told.append(table)
        if len(rows) > _MOST_ROWS:
            told.append(Text(f"and {len(rows) - _MOST_ROWS} jobs more"))
        if one.found.stuck:
            names = ", ".join(one.found.stuck[:8])
            more = f" and {len(one.found.stuck) - 8} more" if len(one.found.stuck) > 8 else ""
            told.append(Text(f"stuck: {names}{more}", style="bold red"))
    return Group(*told)


def _jobs(one: Play) -> list[dict[str, Any]]:
    found, jobs = one.found, one.found.scenario.jobs
    places: dict[tuple[str, ...], list[int]] = {}
    for at, run in enumerate(found.scenario.runs):
        places.setdefault(jobs[run.name], []).append(at)
    rows = []
    for job in sorted(places):
        held = found.held.get(job)
        rows.append(
            {
                "job": "/".join(job),
                "runs": len(places[job]),
                "asks_ms": min(found.asked_ms[at] for at in places[job]),
                "ends_ms": found.ends_ms(job),
                "took_ms": found.took_ms(job),
                "most_held": max(held.values, default=0) if held is not None else 0,
                "share": round(found.share(job, found.end_ms), 6),
            }
        )
    return rows


def _as_json(scenario: Scenario, plays: Sequence[Play], verdict: Verdict) -> dict[str, object]:
    return {
        "verdict": verdict.value,
        "covered": {"scenario": scenario.name, "runs": len(scenario.runs), "plays": len(plays)},
        "violations": [
            {
                "scenario": scenario.name,
                "invariant": "NoDeadlock",
                "message": f"{one.name}, cap {one.cap}: {', '.join(one.found.stuck)} never end",
                "trace": None,
            }
            for one in plays
            if one.found.stuck
        ],
        "parts": [
            {
                "subject": one.name,
                "cap": one.cap,
                "end_ms": one.found.end_ms,
                "most_in_flight": one.found.in_flight.peak,
                "most_at_work": one.found.working.peak,
                "declined": list(one.found.declined),
                "stuck": list(one.found.stuck),
                "jobs": _jobs(one),
                "held": {
                    "/".join(job): [list(pair) for pair in zip(steps.times_ms, steps.values, strict=True)]
                    for job, steps in one.found.held.items()
                },
            }
            for one in plays
        ],
        "versions": versions(),
    }
