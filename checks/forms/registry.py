"""All forms, and how they are written: the trace is replayed, the form made, and the form itself replayed or read back.

What cannot be replayed is not written, and why is told.
"""

from __future__ import annotations

from pathlib import Path

from slotcheck.checks.forms.asyncio_file import ASYNCIO
from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.forms.itf import ITF
from slotcheck.checks.forms.mermaid import MERMAID
from slotcheck.checks.forms.picture import HTML, SVG
from slotcheck.checks.forms.prose import MARKDOWN, TEXT
from slotcheck.checks.forms.pytest_file import PYTEST
from slotcheck.checks.forms.script import PORT
from slotcheck.checks.forms.tla import TLA
from slotcheck.checks.forms.written import WrittenTrace
from slotcheck.checks.player import player_of
from slotcheck.checks.replay import replay
from slotcheck.checks.shrink import shrink
from slotcheck.checks.subject import AnySubject, SubjectError, resolve_subject
from slotcheck.checks.trace import Trace

__all__ = ["FORMS", "WrittenTrace", "making_of", "subject_of", "write_traces", "written_form"]

FORMS: dict[str, Form] = {
    form.name: form for form in (TEXT, MARKDOWN, HTML, SVG, ITF, MERMAID, PYTEST, ASYNCIO, PORT, TLA)
}


def subject_of(trace: Trace, spec: str | None = None) -> AnySubject:
    """The subject of a trace, or another one.

    Raises:
        SubjectError: it cannot be replayed on that.
    """
    if spec is None and trace.subject.startswith("spec:"):
        raise SubjectError(
            f"{trace.subject} is a TLA+ module, which `slotcheck tlc` runs: name another one to replay on"
        )
    return resolve_subject(trace.subject if spec is None else spec)


def making_of(trace: Trace, subject: AnySubject, stem: str) -> Making:
    """What forms are made of.

    Raises:
        NotWrittenError: the trace does not show its violation, so that no form of it would.
    """
    replayed = replay(trace, player_of(trace, subject))
    if not replayed.accepted:
        raise NotWrittenError(f"replayed on {subject.name}, it does not show the violation: {replayed.message}")
    return Making(trace, subject, replayed, stem)


def written_form(form: Form, making: Making) -> dict[str, str]:
    """The files of a form, replayed or read back.

    Raises:
        NotWrittenError: it cannot be made, or does not show the violation.
    """
    files = form.make(making)
    form.check(making, files)
    return files


def write_traces(named: list[tuple[str, Trace]], folder: Path) -> list[WrittenTrace]:
    """Cut traces down, and write every form of each under the name given for its files to a folder that there is.

    Raises:
        OSError: a file cannot be written.
    """
    outcomes = []
    for stem, trace in named:
        outcome = WrittenTrace(trace.invariant)
        outcomes.append(outcome)
        try:
            subject = subject_of(trace)
            making = making_of(shrink(trace, subject), subject, stem)
        except (NotWrittenError, SubjectError) as error:
            outcome.not_written = dict.fromkeys(FORMS, str(error))
            continue
        for form in FORMS.values():
            try:
                files = written_form(form, making)
            except NotWrittenError as error:
                outcome.not_written[form.name] = str(error)
                continue
            for name, text in files.items():
                (folder / name).write_text(text, "utf-8")
            outcome.files[form.name] = list(files)
    return outcomes
