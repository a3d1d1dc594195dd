"""A trace as a Mermaid sequence diagram: the runs and the pool, what they ask and what it answers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.lettering import clean
from slotcheck.checks.trace import Trace
from slotcheck.checks.trace_lines import permit_lines

__all__ = ["MERMAID"]

_MOST = 300  # messages: more of them no browser draws
_LINE = 500  # characters

#: What stands for itself in a text of Mermaid. Anything else could end it, or be taken for markup, and is written as
#: the number of its character.
_PLAIN = re.compile(r"[A-Za-z0-9 _.,()'=-]")
_ARROW = " -> "


def _make(making: Making) -> dict[str, str]:
    trace = making.trace
    if len(trace.steps) + len(trace.again) > _MOST:
        raise NotWrittenError(f"a sequence diagram of more than {_MOST} steps cannot be read")
    return {f"{making.stem}.mmd": "\n".join(_lines(trace)) + "\n"}


def _lines(trace: Trace) -> Iterator[str]:
    runs = _runs(trace)
    yield "sequenceDiagram"
    yield f"  accTitle: {_text(f'{trace.invariant} is violated by {trace.subject}')}"
    yield f"  participant pool as {_text(f'pool, cap {trace.cap}')}"
    yield from (f"  participant {number} as {_text(run)}" for run, number in runs.items())
    permits: list[str] = []
    for number, step in enumerate((*trace.steps, *trace.again), 1):
        if number == len(trace.steps) + 1:
            yield f"  loop {_text('for ever')}"
        said, arrow, outcome = step.event.partition(_ARROW)
        who = runs.get(step.run, "pool") if step.run is not None else "pool"
        if step.call is None:
            yield f"  Note over {who}: {_text(f'{number}. {step.event}')}"
        else:
            yield f"  {who}->>pool: {_text(f'{number}. {said}')}"
            if arrow:
                yield f"  pool-->>{who}: {_text(outcome)}"
        was, permits = permits, list(permit_lines(step.after.view))
        told = [line for line in permits if line not in was] or ["nobody holds a permit"] * bool(was and not permits)
        yield from (f"  Note left of pool: {_text(line)}" for line in told)
    if trace.again:
        yield "  end"
    yield f"  Note over pool: {_text(f'{trace.invariant}: {trace.message}')}"


def _runs(trace: Trace) -> dict[str, str]:
    """The runs by what the diagram calls them."""
    runs = [] if trace.play is None else [run.name for run in trace.play.runs]
    runs += [step.run for step in (*trace.steps, *trace.again) if step.run is not None]
    return {run: f"r{number}" for number, run in enumerate(dict.fromkeys(runs))}


def _text(told: str) -> str:
    """One line, with nothing in it that Mermaid knows: neither its signs nor its word ``end``."""
    plain = clean(told, _LINE)
    written = "".join(char if _PLAIN.match(char) else f"#{ord(char)};" for char in plain)
    return re.sub(r"\bend\b", "#101;nd", written)


def _check(making: Making, files: dict[str, str]) -> None:
    """The events are read back, each from its one or two lines."""
    (written,) = files.values()
    read: list[str] = []
    for line in written.splitlines():
        message = re.match(r"  (?:Note over \w+|\w+(-?)->>\w+): (.*)$", line)
        if message is None:
            continue
        told = re.sub(r"#([0-9]+);", lambda code: chr(int(code[1])), message[2])
        if message[1]:
            read[-1] += f"{_ARROW}{told}"
        else:
            read.append(told)
    events = [step.event for step in (*making.trace.steps, *making.trace.again)]
    numbered = [_ARROW.join(clean(part, _LINE) for part in event.split(_ARROW, 1)) for event in _numbered(events)]
    if read[:-1] != numbered:
        raise NotWrittenError("the events cannot be read back")


def _numbered(events: list[str]) -> list[str]:
    return [f"{number}. {event}" for number, event in enumerate(events, 1)]


MERMAID = Form("mermaid", "a Mermaid sequence diagram", _make, _check)
