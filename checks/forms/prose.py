"""A trace as text and as Markdown, for a bug report."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.forms.itf import SUFFIX
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.lettering import clean
from slotcheck.checks.scenario_text import scenario_text
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import Trace
from slotcheck.checks.trace_lines import numbered_events, pool_line, run_lines, trace_lines
from slotcheck.checks.wait_circle import wait_circle

__all__ = ["MARKDOWN", "TEXT", "fenced", "replay_commands"]

_LINE = 2_000  # characters


def replay_commands(making: Making) -> list[str]:
    """Commands that show the trace again."""
    return [f"slotcheck replay {making.stem}{SUFFIX}", f"slotcheck show {making.stem}{SUFFIX} --as html"]


def _facts(trace: Trace) -> Iterator[tuple[str, str]]:
    yield "subject", trace.subject
    yield "scenario", trace.name
    yield "tree", trace.tree
    yield "order", f"{trace.order}, tie-break {trace.tie}" if trace.order == "fewest_held" else trace.order
    found = versions() if trace.versions is None else trace.versions
    yield "versions", ", ".join(f"{name} {version}" for name, version in found.items())


def _text(making: Making) -> dict[str, str]:
    trace = making.trace
    lines = [line for line, _ in trace_lines(trace)]
    lines += ["", *(f"{name}: {clean(fact, _LINE)}" for name, fact in _facts(trace) if fact)]
    lines += [f"to replay: {command}" for command in replay_commands(making)]
    return {f"{making.stem}.txt": "\n".join(lines) + "\n"}


def _markdown(making: Making) -> dict[str, str]:
    trace = making.trace
    lines = [f"## {_code(trace.invariant)} is violated by {_code(trace.subject)}", ""]
    if trace.invariant in ALL_INVARIANTS:
        lines += [f"The invariant: {ALL_INVARIANTS[trace.invariant]}.", ""]
    circle = wait_circle(trace)
    if circle is None:
        lines += ["What is wrong:", "", *fenced([trace.message])]
    else:
        head = trace.message.partition(": ")[0]
        lines += ["What is wrong:", "", *fenced([f"{head}:", "", *circle.waits, *circle.slots, *circle.freed])]
    lines += [f"- {name}: {_code(fact)}" for name, fact in _facts(trace) if fact]
    lines += ["", f"### {len(trace.steps)} steps", "", *fenced(numbered_events(trace))]
    if trace.again:
        lines += ["And then for ever:", "", *fenced(list(trace.circle))]
    for title, view in (("Before the last step", trace.before), ("After it", trace.after)):
        if trace.steps:
            lines += [f"### {title}", "", *fenced([pool_line(view), *(line for line, _ in run_lines(view))])]
    if trace.play is not None:
        lines += ["### The scenario", "", *fenced(scenario_text(trace.play).splitlines())]
    lines += ["### To replay", "", *fenced(replay_commands(making), "sh")]
    return {f"{making.stem}.md": "\n".join(lines).rstrip() + "\n"}


def _code(told: str) -> str:
    """As code in a line, whatever is in it."""
    told = clean(told, _LINE).strip() or " "
    ticks = "`" * (max(map(len, re.findall("`+", told)), default=0) + 1)
    pad = " " if told[0] == "`" or told[-1] == "`" else ""
    return f"{ticks}{pad}{told}{pad}{ticks}"


def fenced(lines: list[str], language: str = "") -> list[str]:
    """As a block of code, whatever is in it."""
    kept = [f"{line[: len(line) - len(line.lstrip())]}{clean(line.strip(), _LINE)}" for line in lines]
    fence = "`" * max(3, *(len(ticks) + 1 for line in kept for ticks in re.findall("`+", line)), 3)
    return [f"{fence}{language}", *kept, fence, ""]


def _check(making: Making, files: dict[str, str]) -> None:
    """The events are read back from the numbered lines."""
    (told,) = files.values()
    read = re.findall(r"^ *([0-9]+\. .*)$", told, flags=re.MULTILINE)
    if [line.strip() for line in read] != [event.strip() for event in numbered_events(making.trace)]:
        raise NotWrittenError("the events cannot be read back")


TEXT = Form("text", "plain text, for a bug report", _text, _check)
MARKDOWN = Form("markdown", "Markdown, for a bug report", _markdown, _check)
