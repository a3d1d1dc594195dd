"""``slotcheck fairness``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.command import EXIT_CODES, BadInput, progress
from slotcheck.checks.fairness import Worst, claims, worst_overtaking
from slotcheck.checks.options import form_option, no_timing_option
from slotcheck.checks.subject import SubjectError, resolve_subject
from slotcheck.checks.terminal import console, versions
from slotcheck.pymodel.explore import Verdict

__all__ = ["fairness_command"]


@click.command("fairness")
@click.option(
    "--subject",
    default="pool",
    show_default=True,
    metavar="SUBJECT",
    help="What to look at: pool, rule:NAME, or package.module:Class.",
)
@click.option("--witnesses/--no-witnesses", default=True, show_default=True, help="With the way to each worst case.")
@form_option
@no_timing_option
def fairness_command(subject: str, witnesses: bool, form: str, no_timing: bool) -> None:
    """How many pool slots go to others, at worst, before a waiting job gets one: per order and tie-break, exactly.

    Found by exploring a few jobs whose runs ask and finish for ever: in the space "cap 2: t 1, a 3, b 2" one run of t,
    three of a and two of b can be there at once. Where there is no worst case, the circle that shows it is told. Exit
    code 1: it is not what the rules promise.
    """
    found: list[Worst] = []
    todo = list(claims())
    started = time.monotonic()
    with progress("exploring", len(todo)) as (tell, _):
        for claim in todo:
            try:
                found.append(worst_overtaking(resolve_subject(subject, order=claim.order, tie=claim.tie), claim))
            except (SubjectError, ValueError) as error:
                raise BadInput(str(error)) from error
            tell(len(found))
    seconds = None if no_timing else time.monotonic() - started
    verdict = Verdict.VIOLATED if any(worst.kept is False for worst in found) else Verdict.HOLDS
    if form == "json":
        click.echo(json.dumps(_as_json(found, verdict, seconds), indent=1))
    else:
        console().print(_as_text(found, verdict, seconds, witnesses))
    sys.exit(EXIT_CODES[verdict])


def _order(worst: Worst) -> str:
    return " ".join(part for part in (worst.claim.order, worst.claim.tie) if part)


def _count(grants: int | str | None) -> str:
    return "without bound" if grants is None else str(grants)


def _as_text(found: Sequence[Worst], verdict: Verdict, seconds: float | None, witnesses: bool) -> RenderableType:
    told: list[RenderableType] = []
    for holds_nothing, title in (
        (True, "The waiting job (t), and every job above it, holds nothing"),
        (False, "The waiting job, or a job above it, may hold a slot"),
    ):
        table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
        for name in ("order", "slots to others at worst", "promised", "space", "states", "edges"):
            table.add_column(name, justify="left" if name in ("order", "space") else "right")
        for worst in found:
            if worst.claim.holds_nothing == holds_nothing:
                style = "bold red" if worst.kept is False else ""
                counts = f"{worst.states:,}", f"{worst.edges:,}"
                grants, promised = Text(_count(worst.grants), style=style), _count(worst.claim.promised)
                table.add_row(_order(worst), grants, promised, worst.claim.streams.told, *counts)
        told += [table, Text()]
    if witnesses:
        told += [Text(line) for worst in found for line in _witness(worst)]
    kept = sum(worst.kept is True for worst in found)
    judged = sum(worst.kept is not None for worst in found)
    timing = "" if seconds is None else f", {seconds:.1f} s"
    told.append(Text(f"verdict: {verdict.value} ({kept} of {judged} worst cases as promised{timing})"))
    return Group(*told)


def _witness(worst: Worst) -> list[str]:
    """The way to the worst case, in a few lines."""
    way = worst.witness
    lines = [f"{_order(worst)}, {worst.claim.streams.told}: {_count(worst.grants)}"]
    lines.append(f"  first: {'; '.join(way.before)}")
    if way.during:
        lines.append(f"  then, while t waits: {'; '.join(way.during)}")
    if way.circle:
        lines.append(f"  then, while t waits, round and round: {'; '.join(way.circle)}")
    return [*lines, ""]


def _as_json(found: Sequence[Worst], verdict: Verdict, seconds: float | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "verdict": verdict.value,
        "covered": {
            "spaces": len(found),
            "states": sum(worst.states for worst in found),
            "edges": sum(worst.edges for worst in found),
        },
        "violations": [
            {
                "scenario": worst.claim.streams.told,
                "invariant": "WorstOvertaking",
                "message": f"{_order(worst)}: {_count(worst.grants)}, promised {_count(worst.claim.promised)}",
                "trace": {"before": list(worst.witness.before), "circle": list(worst.witness.circle)},
            }
            for worst in found
            if worst.kept is False
        ],
        "parts": [
            {
                "order": worst.claim.order,
                "tie": worst.claim.tie,
                "space": worst.claim.streams.told,
                "holds_nothing": worst.claim.holds_nothing,
                "grants": worst.grants,
                "bounded": worst.grants is not None,
                "kept": worst.kept,
                "states": worst.states,
                "edges": worst.edges,
                "witness": {key: list(steps) for key, steps in worst.witness._asdict().items()},
            }
            for worst in found
        ],
        "versions": versions(),
    }
    if seconds is not None:
        told["timing"] = {"seconds": round(seconds, 3)}
    return told
