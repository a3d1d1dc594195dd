"""The tables of ``slotcheck mutants`` and ``slotcheck bench``, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.bench import Figure
from slotcheck.checks.mutants import Caught
from slotcheck.checks.report import versions
from slotcheck.pymodel.explore import Verdict

__all__ = ["bench_as_json", "bench_as_text", "mutants_as_json", "mutants_as_text"]


def mutants_as_text(caught: Sequence[Caught], verdict: Verdict) -> RenderableType:
    """A row for each faulty pool."""
    table = Table(box=None, pad_edge=False)
    for name in ("faulty pool", "the mistake", "caught by", "in", "steps"):
        table.add_column(name, justify="right" if name == "steps" else "left")
    for one in caught:
        where = "any pool" if one.trace is None else f"{one.trace.scenario}, cap {one.trace.cap}"
        steps = str(len(one.trace)) if one.trace is not None else "0"
        if one.caught:
            table.add_row(one.name, one.mistake, one.caught_by, where, steps)
        else:
            table.add_row(one.name, one.mistake, Text(f"SURVIVED {one.caught_by}", style="bold red"), "", "")
    killed = sum(one.caught for one in caught)
    told = Text(f"verdict: {verdict.value} ({killed} of {len(caught)} caught by the invariant named)")
    return Group(table, "", told)


def mutants_as_json(caught: Sequence[Caught], verdict: Verdict) -> dict[str, Any]:
    """One object."""
    return {
        "verdict": verdict.value,
        "covered": {"mutants": len(caught), "caught": sum(one.caught for one in caught)},
        "violations": [
            {"scenario": None, "invariant": one.caught_by, "trace": None} for one in caught if not one.caught
        ],
        "parts": [
            {
                "name": one.name,
                "mistake": one.mistake,
                "caught_by": one.caught_by,
                "verdict": "caught" if one.caught else "survived",
                "scenario": one.trace.scenario if one.trace is not None else None,
                "cap": one.trace.cap if one.trace is not None else None,
                "steps": len(one.trace) if one.trace is not None else 0,
                "message": one.message,
            }
            for one in caught
        ],
        "versions": versions(),
    }


def bench_as_text(figures: Sequence[Figure]) -> RenderableType:
    """A row for each figure, the target beside it."""
    table = Table(box=None, pad_edge=False)
    for name, justify in (("what", "left"), ("value", "right"), ("unit", "left"), ("target", "left"), ("of", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for figure in figures:
        value = f"{figure.value:,.2f}" if figure.value < 100 else f"{figure.value:,.0f}"
        target = Text(figure.target)
        if figure.met is not None:
            target = Text(
                f"{figure.target} {'met' if figure.met else 'missed'}", style="green" if figure.met else "red"
            )
        counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in figure.counts.items())
        table.add_row(figure.what, value, figure.unit, target, counts)
    return table


def bench_as_json(figures: Sequence[Figure]) -> dict[str, Any]:
    """One object; every figure is timing, so all stand there."""
    return {
        "timing": [
            {
                "what": figure.what,
                "value": round(figure.value, 4),
                "unit": figure.unit,
                "target": figure.target or None,
                "met": figure.met,
                "counts": figure.counts,
            }
            for figure in figures
        ],
        "versions": versions(),
    }
