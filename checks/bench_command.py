"""``slotcheck bench``."""

from __future__ import annotations

import json

import click

from slotcheck.checks.bench import bench
from slotcheck.checks.command import progress
from slotcheck.checks.options import form_option
from slotcheck.checks.tables import bench_as_json, bench_as_text
from slotcheck.checks.terminal import console

__all__ = ["bench_command"]


@click.command("bench")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True, help="Best of so many.")
@form_option
def bench_command(rounds: int, form: str) -> None:
    """Measure the pool and the explorer, as figures and ratios of one run beside their targets.

    Takes some minutes. The exit code is 0 whatever the figures are: a busy machine is no fault.
    """
    figures = []
    with progress("measuring", 0) as (tell, _):
        for figure in bench(rounds=rounds):
            figures.append(figure)
            tell(len(figures))
    if form == "json":
        click.echo(json.dumps(bench_as_json(figures), indent=1))
    else:
        console().print(bench_as_text(figures))
