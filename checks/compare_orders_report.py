"""The tables of ``slotcheck compare --orders``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.compare_orders import Comparison
from slotcheck.checks.terminal import versions
from slotcheck.pymodel.explore import Verdict

__all__ = ["orders_as_json", "orders_as_text", "verdict_of"]


def verdict_of(compared: Sequence[Comparison]) -> Verdict:
    """Violated if a figure that must come out equal did not."""
    return Verdict.VIOLATED if any(one.different for one in compared) else Verdict.HOLDS


def orders_as_text(compared: Sequence[Comparison]) -> RenderableType:
    """For each table our figures, and in brackets those of the source where they differ or were measured."""
    told: list[RenderableType] = []
    for one in compared:
        told.append(Text(f"{one.title} ({one.source})", style="bold"))
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for column in one.columns:
            table.add_column(column, justify="right")
        for row in one.rows:
            cells = [_cell(one, ours, theirs) for ours, theirs in zip(row.ours, row.told, strict=True)]
            table.add_row(row.name, *cells)
        told.append(table)
        told += [Text(one.note)] if one.note else []
        told.append(Text())
    equal, judged = _counts(compared)
    told.append(Text(f"verdict: {verdict_of(compared).value} ({equal} of {judged} figures of the posts equal)"))
    return Group(*told)


def _cell(one: Comparison, ours: str, theirs: str) -> Text:
    if not theirs or (one.exact and ours == theirs):
        return Text(ours)
    return Text(f"{ours} (told: {theirs})", style="bold red" if one.exact else "")


def _counts(compared: Sequence[Comparison]) -> tuple[int, int]:
    judged = sum(1 for one in compared if one.exact for row in one.rows for figure in row.told if figure)
    return judged - sum(len(one.different) for one in compared), judged


def orders_as_json(compared: Sequence[Comparison]) -> dict[str, Any]:
    """One object."""
    equal, judged = _counts(compared)
    return {
        "verdict": verdict_of(compared).value,
        "covered": {"tables": len(compared), "figures": judged, "equal": equal},
        "violations": [
            {
                "scenario": one.title,
                "invariant": "SameFigure",
                "message": f"{row.name}, {column}: {ours}, where {one.source} says {told}",
                "trace": None,
            }
            for one in compared
            for row, column, ours, told in one.different
        ],
        "parts": [
            {
                "title": one.title,
                "source": one.source,
                "exact": one.exact,
                "note": one.note,
                "columns": list(one.columns),
                "rows": [{"name": row.name, "ours": list(row.ours), "told": list(row.told)} for row in one.rows],
            }
            for one in compared
        ],
        "versions": versions(),
    }
