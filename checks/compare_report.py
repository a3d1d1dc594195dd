"""A comparison for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.compare import COLUMNS, POST, POST_CAP, POST_FILES, Comparison, files_expected
from slotcheck.checks.designs import BREAKS, CONDITIONS, DESIGNS, Design, Series
from slotcheck.checks.report import versions
from slotcheck.checks.rows import Outcome, Row
from slotcheck.checks.trace import Trace

__all__ = ["comparison_as_json", "comparison_as_text"]

#: How the matrix of scenarios and rules shortens what was found.
_SHORT = {
    "holds": "holds",
    "NoDeadlock": "stuck",
    "InFlightWithinCapTimesLevels": "flight",
    "CapRespected": "cap",
    "cycle": "circle",
    "never": "never",
    "refused": "declined",
}

_LEGEND = (
    "holds: nothing below; stuck: NoDeadlock; circle, never: stuck in waits that lending does not promise to meet, as "
    "named; flight: InFlightWithinCapTimesLevels; cap: CapRespected; declined: some run is never admitted; "
    "?: no 'expect' line; !: not what it says"
)


def comparison_as_text(compared: Comparison, seconds: float | None) -> RenderableType:
    """The tables, each "no" with its shortest way there, the differences, the verdict."""
    parts: list[RenderableType] = []
    if compared.designs:
        parts += [*_designs(compared), ""]
    if compared.rows:
        parts += [_matrix(compared.rows), Text(_LEGEND, style="dim"), ""]
    for difference in compared.differences:
        told = f"{difference.what}: expected {difference.expected}, found {difference.found}"
        parts.append(Text(told, style="bold red"))
    for row in compared.rows:
        if row.agrees is False:
            named = [outcome[0] for outcome in row.found if (outcome,) not in (row.expected or (),)]
            parts += [_trace(trace) for name, trace in row.traces.items() if name in named]
    parts += [Text(f"undetermined: {reason}", style="yellow") for reason in compared.undetermined]
    counts = _counts(compared)
    told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    took = "" if seconds is None else f", in {seconds:.1f} s"
    parts.append(Text(f"compared: {told}{took}"))
    parts.append(Text(f"verdict: {compared.verdict.value}", style="bold"))
    return Group(*parts)


def _designs(compared: Comparison) -> Iterator[RenderableType]:
    look = compared.look
    assert look is not None
    table = Table(box=None, pad_edge=False)
    for name in ("design", "deadlock-free", "executing", "in flight", "levels known", "one pool", "as the post says"):
        table.add_column(name)
    for row in compared.designs:
        cells = list(row.cells().values())
        post = POST.get(row.name)
        same = "not in it" if post is None else "yes" if list(post) == cells else "NO"
        table.add_row(row.name, *cells, Text(same, style="bold red" if same == "NO" else ""))
    yield Text("what each design keeps", style="bold")
    yield table
    yield ""
    conditions = Table(box=None, pad_edge=False)
    for name in ("design", *CONDITIONS, "declines runs"):
        conditions.add_column(name)
    for row in compared.designs:
        broken = ["keeps" if row.seen[name] else "breaks" for name in CONDITIONS]
        conditions.add_row(row.name, *broken, "yes" if "every run admitted" in row.breaks else "no")
    yield Text("the four conditions for deadlock: which it breaks", style="bold")
    yield conditions
    yield ""
    series = Table(box=None, pad_edge=False)
    for name in ("design", "executing", "in flight", "on level 2", "the post's files", "pools"):
        series.add_column(name)
    for row in compared.designs:
        files = files_expected(row)
        told = "not in it" if files is None else f"{POST_FILES[row.name]:,} at cap {POST_CAP}"
        maxima = [_series(one) for one in (row.executing, row.in_flight, row.second_level)]
        series.add_row(row.name, *maxima, told, str(row.pools))
    widths = " ".join(map(str, look.widths))
    title = f"maxima over trees of {look.levels} levels and width {widths}, cap {look.cap}: constant or growing"
    yield Text(title, style="bold")
    yield series
    yield ""
    yield Text("each thing that a design breaks, in the shortest way", style="bold")
    for row in compared.designs:
        for what in BREAKS:
            if what in row.breaks:
                yield _trace(row.breaks[what], f"{row.name}, not '{what}'")


def _series(series: Series) -> str:
    bound = series.bound
    kind = "" if bound is None else " grows" if bound.most is None else ""
    return " ".join(map(str, series.maxima)) + kind


def _trace(trace: Trace, title: str | None = None) -> RenderableType:
    head = title or f"{trace.invariant} is violated by {trace.subject}"
    lines = [f"{head}: {trace.tree}, cap {trace.cap}{', relend' if trace.relend else ''}"]
    lines += [f"  {at}. {event}" for at, event in enumerate(trace.events, 1)]
    return Text("\n".join([*lines, f"  {trace.message}"]))


def _matrix(rows: list[Row]) -> RenderableType:
    rules = [rule for rule in DESIGNS if any(row.rule == rule for row in rows)]
    found = {(row.scenario, row.rule): row for row in rows}
    table = Table(box=None, pad_edge=False)
    for name in ("scenario", *rules):
        table.add_column(name, overflow="fold")
    for scenario in dict.fromkeys(row.scenario for row in rows):
        table.add_row(scenario, *[_cell(found.get((scenario, rule))) for rule in rules])
    return Group(Text("each scenario under each rule, expected against found", style="bold"), table)


def _cell(row: Row | None) -> Text:
    if row is None:
        return Text("")
    told = " ".join(dict.fromkeys(_short(outcome) for outcome in row.found))
    if row.agrees is False:
        return Text(f"{told}!", style="bold red")
    if row.stopped is not None:
        return Text(f"{told}...", style="yellow")
    return Text(f"{told}?" if row.expected is None else told, style="dim" if row.expected is None else "")


def _short(outcome: Outcome) -> str:
    return _SHORT.get(outcome[0], outcome[0])


def _counts(compared: Comparison) -> dict[str, int]:
    rows = compared.rows
    return {
        "designs": len(compared.designs),
        "forests": sum(row.forests for row in compared.designs),
        "scenarios": len({row.scenario for row in rows}),
        "rows": len(rows),
        "rows_as_expected": sum(row.agrees is True for row in rows),
        "rows_that_differ": sum(row.agrees is False for row in rows),
        "rows_without_an_expectation": sum(row.expected is None for row in rows),
        "rows_diagnosed": sum(row.diagnosed for row in rows),
        "states": sum(row.states for row in compared.designs) + sum(row.states for row in rows),
        "edges": sum(row.edges for row in compared.designs) + sum(row.edges for row in rows),
    }


def comparison_as_json(compared: Comparison, seconds: float | None) -> dict[str, Any]:
    """One object; ``seconds`` None leaves the timing out, and then the same input gives the same bytes."""
    look = compared.look
    told: dict[str, Any] = {
        "verdict": compared.verdict.value,
        "covered": {**_counts(compared), "look": None if look is None else look._asdict()},
        "violations": [
            {"scenario": None, "invariant": one.what, "expected": one.expected, "found": one.found, "trace": None}
            for one in compared.differences
        ],
        "undetermined": compared.undetermined,
        "designs": [_design(row) for row in compared.designs],
        "parts": [
            {
                "scenario": row.scenario,
                "rule": row.rule,
                "expected": None if row.expected is None else row.told_expected,
                "found": row.told_found,
                "agrees": row.agrees,
                "diagnosed": row.diagnosed,
                "parts": row.parts,
                "states": row.states,
                "edges": row.edges,
                "stopped": row.stopped,
                "traces": {name: trace.as_dict() for name, trace in sorted(row.traces.items())},
            }
            for row in compared.rows
        ],
        "versions": versions(),
    }
    if seconds is not None:
        told["timing"] = {"seconds": round(seconds, 3)}
    return told


def _design(row: Design) -> dict[str, Any]:
    post = POST.get(row.name)
    return {
        "name": row.name,
        "cells": row.cells(),
        "post": None if post is None else dict(zip(COLUMNS, post, strict=True)),
        "conditions_broken": row.broken_conditions,
        "widths": list(row.look.widths),
        "executing": list(row.executing.maxima),
        "in_flight": list(row.in_flight.maxima),
        "second_level": list(row.second_level.maxima),
        "pools": row.pools,
        "breaks": {what: trace.as_dict() for what, trace in sorted(row.breaks.items())},
        "forests": row.forests,
        "states": row.states,
        "edges": row.edges,
        "stopped": row.stopped,
    }
