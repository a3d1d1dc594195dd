"""The tables of ``slotcheck mutants`` and ``slotcheck bench``, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.bench import Exploration
from slotcheck.checks.figure import Figure
from slotcheck.checks.mutants import Caught
from slotcheck.checks.terminal import versions
from slotcheck.pymodel.explore import Verdict

__all__ = ["bench_as_json", "bench_as_text", "mutants_as_json", "mutants_as_text"]


def mutants_as_text(caught: Sequence[Caught], verdict: Verdict) -> RenderableType:
    """A row for each faulty pool or port."""
    table = Table(box=None, pad_edge=False)
    for name in ("faulty", "", "the mistake", "caught by", "in", "steps"):
        table.add_column(name, justify="right" if name == "steps" else "left")
    for one in caught:
        where = "any pool" if one.trace is None else f"{one.trace.scenario}, cap {one.trace.cap}"
        steps = str(len(one.trace)) if one.trace is not None else "0"
        if one.caught:
            table.add_row(one.name, one.kind, one.mistake, one.caught_by, where, steps)
        else:
            table.add_row(one.name, one.kind, one.mistake, Text(f"SURVIVED {one.caught_by}", style="bold red"), "", "")
            table.add_row("", "", Text(one.message, style="red"), "", "", "")
    killed = sum(one.caught for one in caught)
    told = Text(f"verdict: {verdict.value} ({killed} of {len(caught)} caught by the invariant named)")
    return Group(table, "", told)


def mutants_as_json(caught: Sequence[Caught], verdict: Verdict) -> dict[str, Any]:
    """One object."""
    return {
        "verdict": verdict.value,
        "covered": {"mutants": len(caught), "caught": sum(one.caught for one in caught)},
        "violations": [
            {
                "scenario": one.name,
                "invariant": "Caught",
                "message": f"{one.mistake}: {one.caught_by} is to catch it: {one.message}",
                "trace": None,
            }
            for one in caught
            if not one.caught
        ],
        "parts": [
            {
                "name": one.name,
                "kind": one.kind,
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


def bench_as_text(measured: Sequence[Figure | Exploration]) -> RenderableType:
    """The figures with their targets, then the explorations."""
    figures = Table(box=None, pad_edge=False)
    for name, justify in (("what", "left"), ("value", "right"), ("unit", "left"), ("target", "left"), ("of", "left")):
        figures.add_column(name, justify=justify)  # type: ignore[arg-type]
    explorations = Table(box=None, pad_edge=False)
    for name in ("subject", "tree", "symmetry", "judged", "states", "stand for", "edges", "s", "states/s", "edges/s"):
        explorations.add_column(
            name, justify="right" if name not in ("subject", "tree", "symmetry", "judged") else "left"
        )
    for one in measured:
        if isinstance(one, Figure):
            value = "" if one.value is None else f"{one.value:,.2f}" if one.value < 100 else f"{one.value:,.0f}"
            target = Text(one.target)
            if one.met is not None:
                target = Text(f"{one.target} {'met' if one.met else 'missed'}", style="green" if one.met else "red")
            counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in one.counts.items())
            figures.add_row(one.what, value, one.unit, target, counts)
        else:
            explorations.add_row(
                one.subject,
                one.size,
                "with" if one.symmetry else "without",
                "judged" if one.judged else "bare",
                *[f"{count:,}" for count in (one.states, one.full_states, one.edges)],
                f"{one.seconds:.2f}",
                *[f"{count / one.seconds:,.0f}" for count in (one.states, one.edges)],
            )
    return Group(figures, "", explorations)


def bench_as_json(measured: Sequence[Figure | Exploration]) -> dict[str, Any]:
    """One object; everything in it is timing, so all stands there."""
    return {
        "timing": {
            "figures": [
                {**one._asdict(), "value": None if one.value is None else round(one.value, 4), "met": one.met}
                for one in measured
                if isinstance(one, Figure)
            ],
            "explorations": [
                {
                    **one._asdict(),
                    "seconds": round(one.seconds, 4),
                    "states_per_second": round(one.states / one.seconds),
                    "edges_per_second": round(one.edges / one.seconds),
                }
                for one in measured
                if isinstance(one, Exploration)
            ],
        },
        "versions": versions(),
    }
