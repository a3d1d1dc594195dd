"""A deadlock, told once: one shortest circle of waits, who holds which slot, and which request would have freed it.

Read off the last moment of a trace, so that it can be told of any trace, whoever found it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx

from slotcheck.checks.diagnosis import shortest_circle, wait_in_words
from slotcheck.checks.trace import Moment, Step, Trace

__all__ = ["WaitCircle", "wait_circle"]

_STUCK = ("NoDeadlock", "NoDeadlockWithPermits", "AllFinish", "Diagnosis")


class WaitCircle(NamedTuple):
    """Runs each of which waits for the next, and the last for the first."""

    runs: tuple[str, ...]
    #: Each of these waits in words, in this order.
    waits: tuple[str, ...]
    #: Who holds which slot, and who lent it to whom.
    slots: tuple[str, ...]
    #: Which request waits, and what would free them; empty where no slot would.
    freed: tuple[str, ...]


def wait_circle(trace: Trace) -> WaitCircle | None:
    """The circle in which a trace ends; None if its invariant is about something else, or nothing goes round."""
    if trace.invariant not in _STUCK or trace.again:
        return None
    moment = trace.moments[-1]
    graph: nx.DiGraph[str] = nx.DiGraph()
    for run, other, why in (*_waits(moment), *_to_be_asked(trace, moment)):
        graph.add_edge(run, other, why=why)
    runs = shortest_circle(graph)
    if not runs:
        return None
    pairs = list(pairwise((*runs, runs[0])))
    waits = tuple(str(graph.edges[pair]["why"]) for pair in pairs)
    return WaitCircle(runs, waits, tuple(_slots(moment.view, runs)), tuple(_freed(trace, pairs)))


def _waits(moment: Moment) -> Iterator[tuple[str, str, str]]:
    for run, waits in moment.waits.items():
        for kind, name, enders in waits:
            for ender in enders:
                yield run, ender, wait_in_words(kind, name, run, ender)
    known = moment.view["runs"]
    for run in moment.view["waiting"]:
        for name, holder in known.items():
            if holder["token"] != "none" and not holder["lent"]:
                yield run, name, f"{run} waits for a slot, and {name} holds one"
    for stack in moment.view.get("stacks", ()):
        for below, above in pairwise([run for run in stack if known.get(run, {}).get("phase") != "parked"]):
            yield below, above, f"{below} cannot go on before {above}, which runs on top of it"


def _to_be_asked(trace: Trace, moment: Moment) -> Iterator[tuple[str, str, str]]:
    """A run that has not asked is its parent's to ask for."""
    for spec in () if trace.play is None else trace.play.runs:
        parent = spec.mounter or spec.parent
        if parent is not None and moment.progress.get(spec.name) == "idle" and moment.progress[parent] != "ended":
            yield spec.name, parent, f"{spec.name} has not asked yet, which is {parent}'s to do"


def _slots(view: Mapping[str, Any], runs: tuple[str, ...]) -> Iterator[str]:
    known = view["runs"]
    for run in runs:
        seen = known.get(run)
        if seen is None:
            if run in view.get("present", ()):
                yield f"{run} has asked for no slot yet: it entered beside another run of its component"
            continue
        if seen["token"] == "none":
            phase = "waits for a slot" if seen["phase"] == "waiting" else "has no slot"
            parent = known.get(seen["parent"]) if seen["parent"] is not None else None
            below = ""
            if parent is not None and parent["token"] == "none":
                below = f"; its parent {seen['parent']} has none"
            elif parent is not None:
                below = f"; the slot of its parent {seen['parent']} is {'lent' if parent['lent'] else 'unlent'}"
            yield f"{run} {phase}{below}{_permit_of(view, run)}"
            continue
        slot = "a pool slot" if seen["token"] == "pool" else f"the slot of {seen['parent']} on loan"
        borrowers = [name for name, other in known.items() if other["token"] == "loan" and other["parent"] == run]
        lent = f", lent to {' and '.join(borrowers) or 'nobody'}" if seen["lent"] else ", unlent"
        yield f"{run} holds {slot}{lent}{_permit_of(view, run)}"


def _permit_of(view: Mapping[str, Any], run: str) -> str:
    held = [component for component, permit in view.get("permits", {}).items() if permit["holder"] == run]
    return f"; it holds the permit of {' and '.join(held)}" if held else ""


def _freed(trace: Trace, pairs: list[tuple[str, str]]) -> Iterator[str]:
    """For the first run of the circle that waits for a slot: its request, and what would free it now."""
    view = trace.after
    parents = {} if trace.play is None else {spec.name: spec.parent for spec in trace.play.runs}
    for run, holder in pairs:
        if run not in view["waiting"] or holder not in view["runs"]:
            continue
        asked = [at for at, step in enumerate(trace.steps, 1) if _asks(step, run)]
        if not asked:
            continue
        request = f"{run} asked in step {asked[-1]} ({trace.steps[asked[-1] - 1].event.partition(' ->')[0]})"
        parent = parents.get(run)
        lender = view["runs"].get(parent)
        if lender is not None and lender["token"] != "none" and not lender["lent"]:
            yield f"{request}: lending it the slot of {parent}, which holds it unlent, would free them all"
        else:
            yield f"{request}: a slot for it would free them all"
        return


def _asks(step: Step, run: str) -> bool:
    """Whether a run asks for a slot here, or one whose memo does not answer it."""
    asks = step.action[0] in ("ask", "ask late", "retake") or (step.call is not None and step.call.came_to == "asks")
    return asks and step.run == run
