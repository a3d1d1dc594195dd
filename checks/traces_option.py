"""``--traces DIR``: every counterexample of a report, in every form, as files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.aio_check import AioTrace
from slotcheck.checks.check import Report, Settings
from slotcheck.checks.command import BadInput
from slotcheck.checks.forms.aio_forms import write_aio_traces
from slotcheck.checks.forms.registry import write_traces
from slotcheck.checks.forms.written import WrittenTrace
from slotcheck.checks.lettering import clean
from slotcheck.checks.options import OUT_FOLDER
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.trace import Trace, trace_of_bad_cap

__all__ = ["new_folder", "traces_as_text", "traces_of", "traces_option", "write_aio_folder", "write_folder"]

traces_option: Callable[[Callable[..., None]], Callable[..., None]] = click.option(
    "--traces",
    type=OUT_FOLDER,
    metavar="DIR",
    help="Write each counterexample there in every form (see `slotcheck show`), each replayed before it is written.",
)


def new_folder(folder: Path) -> None:
    """Make a folder that files can be written to, if there is none.

    Raises:
        BadInput: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--traces {folder}: {error.strerror or error}") from error


def traces_of(report: Report, settings: Settings) -> list[tuple[str, Trace]]:
    """The counterexamples of a report by name: each invariant has one."""
    named = [(trace.invariant, trace) for trace in report.violations]
    if any(name == "Refused" for name, _ in report.faults):
        trace = trace_of_bad_cap(resolve_subject(settings.subject, order=settings.order, tie=settings.tie))
        if trace is not None:
            named.insert(0, ("Refused-cap", trace))
    return named


def write_folder(folder: Path, named: list[tuple[str, Trace]]) -> list[WrittenTrace]:
    """Write them.

    Raises:
        BadInput: a file cannot be written.
    """
    try:
        with redirect_stdout(sys.stderr):  # what a subject prints must not get into the report
            return write_traces(named, folder)
    except OSError as error:
        raise BadInput(f"--traces {folder}: {error.strerror or error}") from error


def write_aio_folder(folder: Path, traces: Sequence[AioTrace]) -> list[WrittenTrace]:
    """The same for what the check of an asyncio port found.

    Raises:
        BadInput: a file cannot be written.
    """
    try:
        with redirect_stdout(sys.stderr):
            return write_aio_traces([(trace.invariant, trace) for trace in traces], folder)
    except OSError as error:
        raise BadInput(f"--traces {folder}: {error.strerror or error}") from error


def traces_as_text(folder: Path, written: Sequence[WrittenTrace]) -> RenderableType:
    """Which forms were written, and why others were not."""
    table = Table(f"traces in {clean(folder)}", "written as", "not written", box=None, pad_edge=False)
    for one in written:
        reasons: dict[str, list[str]] = {}
        for form, reason in one.not_written.items():
            reasons.setdefault(reason, []).append(form)
        told = "; ".join(f"{', '.join(forms)}: {clean(reason, 500)}" for reason, forms in reasons.items())
        table.add_row(Text(one.invariant), Text(", ".join(one.files)), Text(told))
    return Group(Text(""), table)
