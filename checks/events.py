"""Events in words: what is done, and what it led to."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from slotcheck.pymodel.subject import Reply
from slotcheck.pymodel.workload import Action, Workload, WorkloadState

__all__ = ["call_event", "step_event"]

_OF_RULES = {
    "give_back": "{} waits and gives its slot back",
    "retake": "{} has waited and asks for a slot again",
    "help": "{} waits, and its worker helps",
}


def step_event(
    workload: Workload, before: WorkloadState, action: Action, after: WorkloadState, reply: Reply | None
) -> str:
    """One action in words, and what it led to."""
    call = workload.call_of(before, action)
    verb, run = action[0], action[1]
    if verb == "resize":
        said = f"cap := {run}"
    elif verb in ("ask", "ask late"):
        assert call is not None
        entered = call.verb == "enter"
        parent = call.args[3] if entered else call.args[1]
        said = (f"enter {run} of {call.args[1]}" if entered and call.args[1] else f"ask {run}") + (
            f" under {parent}" if parent else " late, without a parent" if verb == "ask late" else ""
        )
    elif verb == "finish early":
        said = f"finish {run} early"
    elif verb == "fail":
        said = f"{run} fails and ends"
    elif verb == "cancel":
        known = workload.calls.runs[before.pool].get(run)
        phase = "waiting" if known is None or known.phase == "waiting" else "in flight"
        said = f"cancel {run} ({'granted, not resumed' if workload.granted_not_resumed(before, run) else phase})"
    elif verb == "raise":
        said = f"{run} raises and ends"
    elif verb in ("set", "take", "drop"):
        said = f"{run} {verb}s {action[2]}"
    else:
        said = _OF_RULES.get(verb, f"{verb} {{}}").format(run)
    if call is None or reply is None:
        return said + _locked(workload, before, action, after)
    return call_event(said, call.verb, run, reply)


_CAME_TO = {
    "answered": "the memo answers it, and it is over",
    "works": "works",
    "asks": "not answered: asks for a slot",
}


def call_event(said: str, verb: str, run: Any, reply: Reply) -> str:
    """A call in words, and what it led to."""
    if reply.raised is not None:
        return f"{said} -> {type(reply.raised).__name__}: {reply.raised}"
    if reply.refused is not None:
        return f"{said} -> refused: {reply.refused}"
    if reply.declined is not None:
        return f"{said} -> declined: {reply.declined}"
    if verb == "new":
        return f"{said} -> is made"
    target = {known.run: known for known in reply.snapshot.runs}
    below = {above: run for stack in getattr(reply.snapshot, "stacks", ()) for run, above in pairwise(stack)}
    told = []
    for got, token in reply.granted:
        if got in below:
            told.append(f"{got} admitted, on top of {below[got]}")
            continue
        lender = target[got].parent if got in target else None
        told.append(f"{got} admitted {f'on loan from {lender}' if token == 'loan' else 'on a pool slot'}")
    for turned in reply.relent:
        lender = target[turned].parent if turned in target else None
        told.append(f"{turned} goes on, on loan from {lender}; its pool slot comes back")
    if reply.came_to is not None:
        told.insert(0, _CAME_TO[reply.came_to])
    if not told and verb in ("ask", "try_ask", "retake", "enter") and run not in reply.handed:
        queues = verb == "enter" and run not in target
        told.append("nothing is granted" if verb == "try_ask" else "queues on the permit" if queues else "waits")
    told += [f"{one} is handed the permit" for one in reply.handed]
    parked = target.get(run) if verb in ("finish", "cancel") else None
    if parked is not None and parked.phase == "parked":
        told.append(f"parked: its slot stays with {'what runs on it' if below else 'its borrower'}")
    return said + (f" -> {'; '.join(told)}" if told else "")


def _locked(workload: Workload, before: WorkloadState, action: Action, after: WorkloadState) -> str:
    if action[0] not in ("take", "drop"):
        return ""
    index = workload.scenario.index[action[1]]
    for (_, old), (inside, new) in zip(before.locks, after.locks, strict=True):
        if index in new and index not in old:
            return " -> queues"
        came = [workload.names[run] for run in old if run in inside]
        if came:
            return f" -> {came[0]} is in"
    return ""
