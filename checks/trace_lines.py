"""A counterexample in words, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.lettering import clean
from slotcheck.checks.trace import Trace
from slotcheck.checks.wait_circle import wait_circle

__all__ = ["numbered_events", "permit_lines", "pool_line", "run_lines", "trace_lines"]

_EVENT, _LINE = 1_000, 2_000  # characters

_PLAIN, _DIM, _BAD = "", "dim", "bold red"


def trace_lines(trace: Trace) -> Iterator[tuple[str, str]]:
    """What fails and why, the numbered events, the state before and after the last one; each line with its style.

    Each is one line whatever names and messages are: what could break or turn it is shown as a replacement character.
    """
    for line, style in _lines(trace):
        yield f"{line[: len(line) - len(line.lstrip())]}{clean(line.strip(), _LINE)}", style


def _lines(trace: Trace) -> Iterator[tuple[str, str]]:
    yield f"{trace.invariant} is violated by {trace.subject} in {trace.name}", _BAD
    if trace.invariant in ALL_INVARIANTS:
        yield f"  {ALL_INVARIANTS[trace.invariant]}", _DIM
    circle = wait_circle(trace)
    if circle is None:
        yield f"  {trace.message}", _PLAIN
    else:
        yield f"  {trace.message.partition(': ')[0]}:", _PLAIN
        yield from ((f"    {line}", _PLAIN) for line in (*circle.waits, *circle.slots, *circle.freed))
    if trace.tree and trace.tree not in trace.scenario:
        yield f"  tree {trace.tree}", _PLAIN
    events = numbered_events(trace)
    yield from ((f"  {event}", _PLAIN) for event in events)
    if trace.again:
        yield "  and then for ever:", _PLAIN
        yield from ((f"    {clean(event, _EVENT)}", _PLAIN) for event in trace.circle)
    if trace.steps:
        if trace.before != trace.after:
            yield f"  before step {len(trace.events)}: {pool_line(trace.before)}", _PLAIN
            yield from run_lines(trace.before)
        yield f"  after step {len(trace.events)}: {pool_line(trace.after)}", _PLAIN
        yield from run_lines(trace.after)


def numbered_events(trace: Trace) -> list[str]:
    """The events with their numbers, a line each."""
    width = len(str(len(trace.events)))
    return [f"{number:>{width}}. {clean(event, _EVENT)}" for number, event in enumerate(trace.events, 1)]


def pool_line(state: dict[str, Any]) -> str:
    """The pool of a view."""
    waiting = f", waiting: {', '.join(state['waiting'])}" if state["waiting"] else ""
    return f"{state['taken']} of {state['cap']} slots taken{waiting}"


def run_lines(state: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each run of a view, and each permit that anybody holds or queues on."""
    if not state["runs"]:
        yield "      no run is known", _DIM
    for name, run in state["runs"].items():
        slots = {"none": "no slot", "pool": "a pool slot", "loan": f"its slot on loan from {run['parent']}"}
        lent = ", lent" if run["lent"] else ""
        parent = f", parent {run['parent']}" if run["parent"] and run["token"] != "loan" else ""
        phase = run["phase"].replace("_", " ")
        slot = slots.get(run["token"], run["token"])
        yield f"      {name}: {phase}, {slot}{lent}, level {run['level']}{parent}", _PLAIN
    yield from ((f"      {line}", _PLAIN) for line in permit_lines(state))


def permit_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """Each permit of a view: who holds it, who queues, the memo; and the runs that are present without the pool's
    knowing of them.
    """
    for component, permit in state.get("permits", {}).items():
        queue = f", queued: {', '.join(permit['queue'])}" if permit["queue"] else ""
        memo = f", memo {permit['memo']}" if permit["memo"] else ""
        yield f"permit of {component}: held by {permit['holder'] or 'nobody'}{queue}{memo}"
    unheard = [run for run in state.get("present", {}) if run not in state["runs"]]
    if unheard:
        yield f"present, without having asked for a slot: {', '.join(unheard)}"
