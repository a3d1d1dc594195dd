"""``slotcheck scenarios``."""

from __future__ import annotations

import click
from rich.table import Table

from slotcheck.checks.command import BadInput
from slotcheck.checks.scenario import ScenarioError, UnknownScenarioError, builtin_scenarios, resolve
from slotcheck.checks.terminal import console

__all__ = ["scenarios_command"]


@click.command("scenarios")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
def scenarios_command(scenarios: tuple[str, ...]) -> None:
    """List the scenarios that ship, or show those named."""
    try:
        chosen = resolve(scenarios) if scenarios else list(builtin_scenarios().values())
    except (ScenarioError, UnknownScenarioError) as error:
        raise BadInput(str(error)) from error
    table = Table("scenario", "runs", "caps", "about", box=None, pad_edge=False)
    for scenario in chosen:
        caps = ", ".join(map(str, scenario.caps))
        table.add_row(scenario.name, str(len(scenario.runs)), caps, scenario.title)
    console().print(table)
