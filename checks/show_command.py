"""``slotcheck show``: a trace in another form."""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from slotcheck.checks.command import EXIT_CODES, BadInput
from slotcheck.checks.forms.form import NotWrittenError
from slotcheck.checks.forms.itf import SUFFIX, TraceError, load_trace
from slotcheck.checks.forms.picture import SVG, still_of
from slotcheck.checks.forms.registry import FORMS, making_of, subject_of, written_form
from slotcheck.checks.options import OUT_FOLDER
from slotcheck.checks.subject import SubjectError
from slotcheck.pymodel.explore import Verdict

__all__ = ["show_command", "stem_of"]


def stem_of(path: Path) -> str:
    """What files made of a trace's file are called."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", path.name.removesuffix(SUFFIX))[:80] or "trace"


@click.command("show")
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@click.option(
    "--as", "form", type=click.Choice(list(FORMS)), default="text", show_default=True, help="The form to show it in."
)
@click.option("--step", type=click.IntRange(0), metavar="N", help="Of svg: the state after step N (default: the last).")
@click.option("--subject", metavar="SUBJECT", help="Replay it on this subject, instead of the one that it names.")
@click.option("--to", "folder", type=OUT_FOLDER, metavar="DIR", help="Write it to files there.")
def show_command(trace: Path, form: str, step: int | None, subject: str | None, folder: Path | None) -> None:
    """Show a trace in another form.

    TRACE is a file NAME.itf.json, as `slotcheck check --traces DIR` writes them. The trace is replayed first, on the
    subject that it names (whose module is imported), and the form itself is replayed or read back: what does not show
    the violation here is not written.

    Exit codes: 0 shown; 2 bad input; 3 it cannot be replayed here, and the reason is told.
    """
    if step is not None and form != SVG.name:
        raise BadInput(f"--step {step}: only --as {SVG.name} shows one state")
    try:
        loaded = load_trace(trace)
        last = len(loaded.steps) + len(loaded.again)
        if step is not None and step > last:
            raise BadInput(f"--step {step}: the trace has {last} steps")
        chosen = FORMS[form] if step is None else still_of(step)
        with redirect_stdout(sys.stderr):  # what a subject prints must not get into the form
            making = making_of(loaded, subject_of(loaded, subject), stem_of(trace))
            files = written_form(chosen, making)
    except (TraceError, SubjectError) as error:
        raise BadInput(str(error)) from error
    except NotWrittenError as error:
        click.echo(f"slotcheck: not written as {form}: {error}", err=True)
        sys.exit(EXIT_CODES[Verdict.UNDETERMINED])
    if folder is None:
        click.echo(next(iter(files.values())), nl=False)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
            click.echo(folder / name)
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror or error}") from error
