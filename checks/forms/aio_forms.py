"""The forms of what the check of an asyncio port found: text, Markdown, and a program that runs it again."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from slotcheck.checks.aio_check import AioTrace, play
from slotcheck.checks.aio_report import aio_trace_text
from slotcheck.checks.aio_suite import resolve_port
from slotcheck.checks.forms.program import comment, template
from slotcheck.checks.forms.prose import fenced
from slotcheck.checks.forms.written import WrittenTrace
from slotcheck.checks.lettering import clean
from slotcheck.checks.terminal import versions

__all__ = ["aio_program", "write_aio_traces"]

_LINE = 2_000  # characters


def write_aio_traces(named: list[tuple[str, AioTrace]], folder: Path) -> list[WrittenTrace]:
    """Write the forms of each under the name given for its files to a folder that there is. The program is played again
    first, and what does not show the fault is not written.

    Raises:
        OSError: a file cannot be written.
        SubjectError: the port cannot be found any more.
    """
    outcomes = []
    for stem, trace in named:
        outcome = WrittenTrace(trace.invariant)
        outcomes.append(outcome)
        played = play(trace.program, resolve_port(trace.subject), trace.done)
        if trace.invariant not in played.faults:
            why = f"{trace.invariant} is not seen in a single run of the program"
            outcome.not_written = dict.fromkeys(("text", "markdown", "asyncio"), why)
            continue
        told = _lines(trace)
        files = {
            "text": (f"{stem}.txt", "\n".join(told) + "\n"),
            "markdown": (f"{stem}.md", "\n".join(fenced(told))),
            "asyncio": (f"{stem}_asyncio.py", aio_program(trace)),
        }
        for form, (name, text) in files.items():
            (folder / name).write_text(text, "utf-8")
            outcome.files[form] = [name]
    return outcomes


def _lines(trace: AioTrace) -> list[str]:
    told = aio_trace_text(trace)
    lines = [line.plain for line in told.renderables if isinstance(line, Text)]
    lines += ["", ", ".join(f"{name} {version}" for name, version in versions().items())]
    return [f"{line[: len(line) - len(line.lstrip())]}{clean(line.strip(), _LINE)}" for line in lines]


def aio_program(trace: AioTrace) -> str:
    """A program that runs it again, and ends with 1 as long as the fault is there."""
    return template("aio_program.py.jinja").render(
        heading=comment(f"{trace.invariant} is violated by {trace.subject} in {trace.scenario}, cap {trace.cap}"),
        message=comment(trace.message),
        version=comment(versions()["slotcheck"]),
        subject=ascii(trace.subject),
        program=ascii(trace.program),
        acts=ascii(list(trace.done)),
        invariant=ascii(trace.invariant),
    )
