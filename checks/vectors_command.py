"""``slotcheck vectors``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from slotcheck.checks.command import BadInput
from slotcheck.checks.options import OUT_FOLDER, form_option
from slotcheck.checks.port.report import vectors_as_json, vectors_as_text
from slotcheck.checks.port.vectors import write_vectors
from slotcheck.checks.terminal import console

__all__ = ["vectors_command"]


@click.command("vectors")
@click.argument("folder", type=OUT_FOLDER, metavar="DIR")
@click.option("--force", is_flag=True, help="Write over files there that say something else.")
@form_option
def vectors_command(folder: Path, force: bool, form: str) -> None:
    """Write the conformance vectors for ports to DIR: requests with the answers that the rules demand.

    The same every time. Their schema and a README for authors of ports are written beside them.
    """
    try:
        written = write_vectors(folder, over_others=force)
    except FileExistsError as error:
        raise BadInput(f"{error.filename} is there and says something else; --force writes over it") from error
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}") from error
    if form == "json":
        click.echo(json.dumps(vectors_as_json(written), indent=1))
    else:
        console().print(vectors_as_text(written, str(folder)))
