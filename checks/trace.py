"""A counterexample: what happened, as numbered domain events, and the state before and after the last of them.

Events say what a person would say (``ask c under a -> waits``, ``finish b -> c admitted on loan from a``), never how
the search scheduled it, so a trace survives a change of the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from slotcheck.checks.subject import view
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.subject import Reply
from slotcheck.pymodel.workload import Action, Workload, WorkloadState

__all__ = ["Trace", "call_event", "plain_view", "trace_of"]


@dataclass(frozen=True)
class Trace:
    """One behaviour of one subject, up to where an invariant fails."""

    subject: str
    scenario: str
    tree: str
    cap: int
    relend: bool
    invariant: str
    message: str
    #: The actions, to replay, and each in words with what it led to.
    actions: tuple[Action, ...]
    events: tuple[str, ...]
    #: What goes on for ever afterwards, for a behaviour that never ends.
    circle: tuple[str, ...]
    #: The views before and after the last event, as plain data; equal if there is none.
    before: dict[str, Any]
    after: dict[str, Any]

    def __len__(self) -> int:
        return len(self.actions)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def trace_of(
    workload: Workload,
    actions: Sequence[Action],
    invariant: str,
    message: str,
    circle: Sequence[Action] = (),
) -> Trace:
    """Replay the actions from the start and tell them."""
    state = before = workload.initial()[0]
    events = []
    for action in actions:
        before = state
        state = workload.next(state, action)
        events.append(_event(workload, before, action, state))
    here = state
    round_trip = []
    for action in circle:
        after = workload.next(here, action)
        round_trip.append(_event(workload, here, action, after))
        here = after
    scenario = workload.scenario
    return Trace(
        workload.calls.subject.name,
        scenario.name,
        scenario.tree,
        workload.cap,
        workload.relend,
        invariant,
        message,
        tuple(actions),
        tuple(events),
        tuple(round_trip),
        plain_view(workload.snapshot(before), scenario.index),
        plain_view(workload.snapshot(state), scenario.index),
    )


_OF_RULES = {
    "give_back": "{} waits and gives its slot back",
    "retake": "{} has waited and asks for a slot again",
    "help": "{} waits, and its worker helps",
}


def _event(workload: Workload, before: WorkloadState, action: Action, after: WorkloadState) -> str:
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
    if call is None:
        return said + _locked(workload, before, action, after)
    return call_event(said, call.verb, run, call.reply)


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


def plain_view(snapshot: Any, index: Mapping[str, int]) -> dict[str, Any]:
    """A view as plain data, in the form of the port protocol, runs in the order of the index."""
    state: State = view(snapshot)

    def place(run: Run) -> tuple[int, str]:
        return index.get(run.run, len(index)), run.run

    stacks = getattr(snapshot, "stacks", None)
    more: dict[str, Any] = {} if stacks is None else {"stacks": [list(stack) for stack in stacks]}
    if hasattr(snapshot, "permits"):
        more["permits"] = {
            permit.component: {"holder": permit.holder, "queue": list(permit.queue), "memo": permit.memo}
            for permit in sorted(snapshot.permits, key=lambda permit: str(permit.component))
        }
    return {
        "cap": state.cap,
        "taken": state.taken,
        "runs": {
            run.run: {
                "phase": run.phase,
                "token": run.token,
                "lent": run.lent,
                "level": run.level,
                "parent": run.parent,
                "job": list(run.job),
            }
            for run in sorted(state.runs, key=place)
        },
        "waiting": list(state.waiting),
        "children": {parent: list(children) for parent, children in sorted(state.children)},
        "lines": {"/".join(node): list(line) for node, line in sorted(state.lines)},
        **more,
    }
