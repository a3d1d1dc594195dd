"""``slotcheck size``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.command import EXIT_CODES, BadInput
from slotcheck.checks.options import CapType, form_option
from slotcheck.checks.paths import levels_of
from slotcheck.checks.scenario import ScenarioError, UnknownScenarioError, read_scenario, resolve
from slotcheck.checks.sizing import Heavy, Seen, parse_size, peak_seen, size_text
from slotcheck.checks.terminal import console, versions
from slotcheck.pymodel.explore import Limits, Verdict
from slotcheck.pymodel.scenario import Scenario

__all__ = ["size_command"]

_EXPLORED = 50_000  # states at most, unless told otherwise


@click.command("size")
@click.argument("scenario", required=False, metavar="[SCENARIO]")
@click.option("--tree", metavar="TREE", help="Instead of a scenario a tree in its notation, as 'walk(a(a1 a2) b)'.")
@click.option("--cap", "caps", type=CapType(), multiple=True, help="Instead of the scenario's caps.")
@click.option(
    "--each", metavar="SIZE", help="What a run holds, unless told otherwise. Without any size, runs are counted."
)
@click.option("--level", "by_level", multiple=True, metavar="N=SIZE", help="What each run on level N holds.")
@click.option("--run", "by_run", multiple=True, metavar="RUN=SIZE", help="What this run holds.")
@click.option("--explore/--no-explore", default=True, show_default=True, help="Also look for the peak that is reached.")
@click.option("--max-states", type=click.IntRange(1), default=_EXPLORED, show_default=True, help="Of that look.")
@form_option
def size_command(
    scenario: str | None,
    tree: str | None,
    caps: tuple[int, ...],
    each: str | None,
    by_level: tuple[str, ...],
    by_run: tuple[str, ...],
    explore: bool,
    max_states: int,
    form: str,
) -> None:
    """Size a cap: the most state that runs in flight can hold at once under lending.

    A cap bounds how many runs hold a slot, not memory. But what is in flight lies on `cap` downward paths of the tree,
    so its state is at most the sum over the heaviest of these; where runs just ask for all their children and wait, it
    comes to that. SIZE is a number of bytes, or one with a unit: 100KB.
    """
    chosen = _chosen(scenario, tree, caps)
    counted = each is None and not by_level and not by_run
    sizes = {run.name: 1 for run in chosen.runs} if counted else _sizes(chosen, each, by_level, by_run)
    rows: list[tuple[int, Heavy, Seen | None]] = []
    for cap in dict.fromkeys(caps or chosen.caps):
        heavy = Heavy.of(chosen.runs, sizes, cap)
        limits = Limits(states=max_states)
        seen = peak_seen(chosen, sizes, cap, limits, bound=heavy) if explore else None
        rows.append((cap, heavy, seen))
    wrong = [cap for cap, heavy, seen in rows if seen is not None and seen.size > heavy.by_paths]
    explored = all(seen is not None and seen.stopped is None for _, _, seen in rows)
    # A bound that was not explored to its end is arithmetic, and no verdict.
    verdict = Verdict.VIOLATED if wrong else Verdict.HOLDS if explored else None
    if form == "json":
        click.echo(json.dumps(_as_json(chosen, rows, verdict, "runs" if counted else "bytes"), indent=1))
    else:
        console().print(_as_text(chosen, rows, "{:,} runs".format if counted else size_text))
        for cap in wrong:
            console().print(Text(f"cap {cap}: more is in flight than the bound allows", style="bold red"))
    sys.exit(0 if verdict is None else EXIT_CODES[verdict])


def _chosen(name: str | None, tree: str | None, caps: tuple[int, ...]) -> Scenario:
    if (name is None) == (tree is None):
        raise BadInput("give one of them: a scenario, or --tree TREE with --cap CAP")
    try:
        if name is not None:
            return resolve([name])[0]
        if not caps:
            raise BadInput("--tree needs --cap CAP")
        return read_scenario(f"tree: {tree}\ncap: {' '.join(map(str, dict.fromkeys(caps)))}\n", "tree")
    except (ScenarioError, UnknownScenarioError) as error:
        raise BadInput(str(error)) from error


def _sizes(scenario: Scenario, each: str | None, by_level: tuple[str, ...], by_run: tuple[str, ...]) -> dict[str, int]:
    """What each run holds: the general size, then its level's, then its own."""
    levels = levels_of(scenario.runs)
    sizes = dict.fromkeys(levels, 0 if each is None else _size("--each", each))
    for given in by_level:
        level, _, size = given.partition("=")
        if not level.isdecimal() or int(level) not in levels.values():
            raise BadInput(f"--level {given}: the levels are 1 to {scenario.levels}, as in --level 2=100KB")
        sizes |= {run: _size("--level", size) for run, on in levels.items() if on == int(level)}
    for given in by_run:
        run, _, size = given.partition("=")
        if run not in sizes:
            raise BadInput(f"--run {given}: the scenario has no run {run!r}")
        sizes[run] = _size("--run", size)
    return sizes


def _size(option: str, text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from error


def _as_text(
    scenario: Scenario, rows: list[tuple[int, Heavy, Seen | None]], size_text: Callable[[int], str]
) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for title in ("cap", "cap x largest per level", "heaviest paths (the bound)", "reached", "in flight there"):
        table.add_column(title, justify="right" if title != "in flight there" else "left")
    for cap, heavy, seen in rows:
        reached = there = ""
        if seen is not None:
            reached = size_text(seen.size) + ("" if seen.stopped is None else " or more")
            there = _some(seen.runs)
        table.add_row(str(cap), size_text(heavy.by_levels), size_text(heavy.by_paths), reached, there)
    lines = [Text(f"{scenario.name}: {len(scenario.runs):,} runs on {scenario.levels} levels")]
    cap, heavy, _ = rows[-1]
    lines.append(Text(f"the heaviest paths at cap {cap}:"))
    paths = [path for path in heavy.paths if path.size]
    lines += [Text(f"  {size_text(path.size)}: {_some(path.runs, ' > ')}") for path in paths[:_SHOWN]]
    if len(paths) > _SHOWN:
        lines.append(Text(f"  and {len(paths) - _SHOWN:,} more"))
    for cap, _, seen in rows:
        if seen is not None and seen.stopped is not None:
            lines.append(Text(f"cap {cap}: explored only in part ({seen.stopped}), so more may be reached"))
    return Group(*lines[:1], table, *lines[1:])


_SHOWN = 8


def _some(runs: tuple[str, ...], between: str = " ") -> str:
    shown = between.join(runs[:_SHOWN])
    return shown if len(runs) <= _SHOWN else f"{shown} and {len(runs) - _SHOWN:,} more"


def _as_json(
    scenario: Scenario, rows: list[tuple[int, Heavy, Seen | None]], verdict: Verdict | None, unit: str
) -> dict[str, object]:
    return {
        "verdict": None if verdict is None else verdict.value,
        "covered": {"scenario": scenario.name, "runs": len(scenario.runs), "levels": scenario.levels},
        "unit": unit,
        "violations": [
            {
                "scenario": scenario.name,
                "invariant": "StateWithinHeaviestPaths",
                "message": f"cap {cap}: {seen.size} in flight, but the heaviest paths hold {heavy.by_paths}",
                "trace": None,
            }
            for cap, heavy, seen in rows
            if seen is not None and seen.size > heavy.by_paths
        ],
        "parts": [
            {
                "cap": cap,
                "by_levels": heavy.by_levels,
                "by_paths": heavy.by_paths,
                "paths": [{"runs": list(path.runs), "size": path.size} for path in heavy.paths],
                "reached": None
                if seen is None
                else {
                    "size": seen.size,
                    "runs": list(seen.runs),
                    "states": seen.states,
                    "stopped": seen.stopped,
                },
            }
            for cap, heavy, seen in rows
        ],
        "versions": versions(),
    }
