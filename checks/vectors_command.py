"""``slotcheck vectors``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from slotcheck.checks.command import BadInput
from slotcheck.checks.port.report import vectors_as_json, vectors_as_text
from slotcheck.checks.port.vectors import write_vectors
from slotcheck.checks.terminal import console

__all__ = ["vectors_command"]


@click.command("vectors")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def vectors_command(folder: Path, form: str) -> None:
    """Write the conformance vectors for ports to DIR: requests with the answers that the rules demand.

    The same every time. Their schema and a README for authors of ports are written beside them.
    """
    try:
        written = write_vectors(folder)
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}") from error
    if form == "json":
        click.echo(json.dumps(vectors_as_json(written), indent=1))
    else:
        console().print(vectors_as_text(written, str(folder)))
