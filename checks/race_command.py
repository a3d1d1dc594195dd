"""``slotcheck race``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from slotcheck.checks.command import BadInput
from slotcheck.checks.options import OutFile, form_option
from slotcheck.checks.race import CHUNK, RACED, READ, Race, race
from slotcheck.checks.race_drawing import race_drawing
from slotcheck.checks.terminal import console, versions

__all__ = ["race_command"]


@click.command("race")
@click.option("--files", type=click.IntRange(1, 20), default=6, show_default=True, help="Of the walk.")
@click.option("--chunks", type=click.IntRange(1, 9), default=2, show_default=True, help="Of each file.")
@click.option("--cap", type=click.IntRange(1, 20), default=2, show_default=True, help="How many slots.")
@click.option(
    "--rule", "rules", multiple=True, type=click.Choice(RACED), help="Only this rule. May be repeated (default: all)."
)
@click.option("--svg", type=OutFile(".svg"), metavar="FILE", help="Also draw it there.")
@form_option
def race_command(files: int, chunks: int, cap: int, rules: tuple[str, ...], svg: Path | None, form: str) -> None:
    """Play one walk over files under hold, release and lend, on one clock.

    Reading a file takes 1 tick, a chunk 2; a file waits for its chunks, and the walk for its files. This is one
    behaviour of each rule, no verdict: the exit code is 0. What holds in all of them is for `slotcheck compare`.
    """
    races = race(files, chunks, cap, tuple(dict.fromkeys(rules)) or RACED)
    if svg is not None:
        try:
            svg.write_text(race_drawing(races), encoding="utf-8", newline="\n")
        except OSError as error:
            raise BadInput(f"--svg {svg}: {error.strerror or error}") from error
    if form == "json":
        click.echo(json.dumps(_as_json(races, chunks), indent=1))
    else:
        console().print(_as_text(races))


def _as_text(races: Sequence[Race]) -> Table:
    table = Table("rule", "", box=None, pad_edge=False)
    for one in races:
        table.add_row(one.rule, str(one))
    return table


def _as_json(races: Sequence[Race], chunks: int) -> dict[str, Any]:
    return {
        "verdict": None,
        "covered": {"files": races[0].files, "chunks": chunks, "cap": races[0].cap, "read": READ, "chunk": CHUNK},
        "parts": [
            {
                "rule": one.rule,
                "stuck": one.end is None,
                "last": one.last,
                "peak_files_in_flight": one.peak,
                "files_in_flight": [one.in_flight.at(tick) for tick in range(one.last + 1)],
            }
            for one in races
        ],
        "versions": versions(),
    }
