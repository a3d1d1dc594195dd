"""``slotcheck scenarios``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.command import BadInput
from slotcheck.checks.options import form_option
from slotcheck.checks.scenario import ScenarioError, UnknownScenarioError, builtin_scenarios, resolve
from slotcheck.checks.terminal import console, versions
from slotcheck.pymodel.scenario import Scenario

__all__ = ["scenarios_command"]


@click.command("scenarios")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@form_option
def scenarios_command(scenarios: tuple[str, ...], form: str) -> None:
    """List the scenarios that ship, or show those named.

    SCENARIO is the name of one that ships or a file.
    """
    try:
        chosen = resolve(scenarios) if scenarios else list(builtin_scenarios().values())
    except (ScenarioError, UnknownScenarioError) as error:
        raise BadInput(str(error)) from error
    if form == "json":
        click.echo(json.dumps(_as_json(chosen), indent=1))
    else:
        console().print(_as_text(chosen))


def _as_text(scenarios: Sequence[Scenario]) -> RenderableType:
    table = Table("scenario", "runs", "caps", "about", box=None, pad_edge=False)
    for one in scenarios:
        table.add_row(Text(one.name), str(len(one.runs)), ", ".join(map(str, one.caps)), Text(one.title))
    return table


def _as_json(scenarios: Sequence[Scenario]) -> dict[str, Any]:
    return {
        "verdict": None,
        "covered": {"scenarios": len(scenarios)},
        "parts": [
            {
                "name": one.name,
                "title": one.title,
                "tree": one.tree,
                "runs": [run.name for run in one.runs],
                "caps": list(one.caps),
                "relend": list(one.relend),
                "permits": one.permits,
                "diagnoses": [" ".join(diagnosis) for diagnosis in one.diagnoses],
                "expect": {rule: [" ".join(outcome) for outcome in expected] for rule, expected in one.expect.items()},
                "source": one.source,
            }
            for one in scenarios
        ],
        "versions": versions(),
    }
