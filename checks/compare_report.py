"""A comparison for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.compare import COLUMNS, POST, POST_CAP, POST_FILES, Comparison, files_expected
from slotcheck.checks.designs import BREAKS, CONDITIONS, DESIGNS, Design, Series
from slotcheck.checks.rows import Row
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.explore import Verdict

__all__ = ["comparison_as_json", "comparison_as_text"]

#: How the table of scenarios and rules shortens what was found.
_SHORT = {
    "holds": "ok",
    "NoDeadlock": "D",
    "AllFinish": "L",
    "CapRespected": "C",
    "InFlightWithinCapTimesLevels": "F",
    "cycle": "O",
    "never": "N",
    "refused": "R",
}

_LEGEND = (
    "ok  nothing of what follows",
    "D   deadlock (NoDeadlock): stuck, though every wait is for runs below",
    "L   livelock (AllFinish): goes round for ever, though every step that can happen does at last",
    "C   more slots out than the cap (CapRespected)",
    "F   more runs in flight than cap x levels (InFlightWithinCapTimesLevels)",
    "O   stuck in a circle of waits that no rule here promises to meet",
    "N   stuck waiting for an event that nobody sets any more",
    "R   some run is refused for good, and its caller goes on without it",
)

#: What may stand behind: not what the 'expect' line says, none to compare with, not explored to its end.
_DIFFERS, _NO_LINE, _CUT = "!", "?", "~"

_IN_FLIGHT = "in flight <= cap x levels"

_LISTED = 3  # scenarios at most of which each row is told in full


def comparison_as_text(compared: Comparison, seconds: float | None) -> RenderableType:
    """The tables, each "no" with its shortest way there, the differences, the verdict."""
    parts: list[RenderableType] = []
    if compared.designs:
        parts += [*_designs(compared), ""]
    if compared.rows:
        few = len({row.scenario for row in compared.rows}) <= _LISTED
        parts += [Text("each scenario under each rule, as its file expects it and as it was found", style="bold")]
        parts += [_list(compared.rows) if few else _matrix(compared.rows), ""]
    for difference in compared.differences:
        told = f"{difference.what}: expected {difference.expected}, found {difference.found}"
        parts.append(Text(told, style="bold red"))
        if difference.scenario is not None:  # those of designs stand above
            parts += [_trace(trace) for trace in difference.traces]
    parts += [Text(f"undetermined: {reason}", style="yellow") for reason in compared.undetermined]
    counts = _counts(compared)
    told = ", ".join(_counted(count, name) for name, count in counts.items() if count)
    took = "" if seconds is None else f", in {seconds:.1f} s"
    parts.append(Text(f"compared: {told or 'nothing'}{took}"))
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
        differs = any(one.what.startswith(f"{row.name}: ") for one in compared.differences)
        same = "not in it" if post is None else "NO" if differs else "yes" if list(post) == cells else "unknown"
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
        if row.cells()["in flight"] == "unbounded" and _IN_FLIGHT not in row.breaks:
            told = f"no forest of up to {look.runs} runs shows it (see --runs), the maxima above do"
            yield Text(f"{row.name}, not '{_IN_FLIGHT}': {told}")


def _series(series: Series) -> str:
    bound = series.bound
    kind = "" if bound is None else " grows" if bound.most is None else ""
    return " ".join(map(str, series.maxima)) + kind


def _trace(trace: Trace, title: str | None = None) -> RenderableType:
    head = title or f"{trace.invariant} is violated by {trace.subject}"
    lines = [f"{head}: {trace.tree}, cap {trace.cap}{', relend' if trace.relend else ''}"]
    lines += [f"  {at}. {event}" for at, event in enumerate(trace.events, 1)]
    if trace.circle:
        lines += ["  and then for ever:", *[f"    {event}" for event in trace.circle]]
    return Text("\n".join([*lines, f"  {trace.message}"]))


def _list(rows: list[Row]) -> RenderableType:
    """A line for each row, its outcomes as an ``expect`` line says them."""
    table = Table(box=None, pad_edge=False)
    for name in ("scenario", "rule", "found", "expected"):
        table.add_column(name)
    before = ""
    for row in rows:
        style = "bold red" if row.agrees is False else "yellow" if row.stopped is not None else ""
        found = f"{row.told_found} so far" if row.stopped is not None else row.told_found
        expected = "no 'expect' line" if row.expected is None else "the same" if row.agrees else row.told_expected
        table.add_row(row.scenario if row.scenario != before else "", row.rule, Text(found, style), expected)
        before = row.scenario
    return table


def _matrix(rows: list[Row]) -> RenderableType:
    """A line for each scenario, a column for each rule."""
    rules = [rule for rule in DESIGNS if any(row.rule == rule for row in rows)]
    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", overflow="fold")
    for rule in rules:
        # A rule with a variant of it beside: `help+inline` in two lines.
        table.add_column(rule.replace("+", "\n+"), no_wrap=True, vertical="bottom")
    lines: list[tuple[str, dict[str, Row]]] = []
    for row in rows:  # two files may give a scenario one name
        if not lines or lines[-1][0] != row.scenario or row.rule in lines[-1][1]:
            lines.append((row.scenario, {}))
        lines[-1][1][row.rule] = row
    for scenario, found in lines:
        table.add_row(scenario, *[_cell(found.get(rule)) for rule in rules])
    legend = [*_LEGEND]
    if any(len(found) < len(rules) for _, found in lines):
        legend.append("    (blank) its file says nothing about this rule, so it was not explored under it")
    for mark, means, there in (
        (_DIFFERS, "not what its file expects", any(row.agrees is False for row in rows)),
        (_NO_LINE, "its file says nothing about this rule", any(row.expected is None for row in rows)),
        (_CUT, "not explored to its end", any(row.stopped is not None for row in rows)),
    ):
        if there:
            legend.append(f"{mark}   behind it: {means}")
    return Group(table, Text("\n".join(legend), style="dim"))


def _cell(row: Row | None) -> Text:
    if row is None:
        return Text("")
    short = [_SHORT.get(outcome[0], outcome[0]) for outcome in row.found]
    told = ("" if all(len(one) == 1 for one in short) else " ").join(dict.fromkeys(short))
    if row.stopped is not None:
        told += _CUT
    if row.agrees is False:
        return Text(f"{told}{_DIFFERS}", style="bold red")
    if row.expected is None:
        return Text(f"{told}{_NO_LINE}", style="dim")
    return Text(told, style="yellow" if row.stopped is not None else "")


def _counted(count: int, name: str) -> str:
    what, *more = name.split("_")
    return " ".join([f"{count:,}", what.removesuffix("s") if count == 1 else what, *more])


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
            {
                "scenario": one.scenario,
                "invariant": one.what,
                "expected": one.expected,
                "found": one.found,
                "trace": one.traces[0].as_dict() if one.traces else None,
            }
            for one in compared.differences
        ],
        "undetermined": compared.undetermined,
        "designs": [_design(row) for row in compared.designs],
        "parts": [
            {
                "scenario": row.scenario,
                "rule": row.rule,
                "verdict": _verdict(row).value,
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


def _verdict(row: Row) -> Verdict:
    return {True: Verdict.HOLDS, False: Verdict.VIOLATED, None: Verdict.UNDETERMINED}[row.agrees]


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
