"""A counterexample of TLC in the project's own form, with the arguments of its actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slotcheck.checks.tlc.instance import Instance, action_between, instance_of, verb_of, view_of
from slotcheck.checks.tlc.outcome import Outcome
from slotcheck.checks.tlc.values import read_states
from slotcheck.checks.trace import Moment, Step, Trace, call_event, plain_view
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.subject import Reply
from slotcheck.pymodel.workload import Action

__all__ = ["trace_of_outcome"]

_CALLS = {"ask": "ask", "ask late": "ask", "finish": "finish", "finish early": "finish", "cancel": "cancel"}


def trace_of_outcome(module: str, outcome: Outcome) -> Trace | None:
    """The counterexample of a violated run; None for a module whose states hold no scenario.

    Raises:
        ValueFormError: a state is not understood.
    """
    states = read_states(outcome.states)
    if not states or "scenario" not in states[0]:
        return None
    instance = instance_of(states[0]["scenario"])
    scenario = instance.scenario
    steps = tuple(_steps(instance, outcome.steps[1:], states))
    again: tuple[Step, ...] = ()
    if outcome.back_to is not None:
        stays = Step(("stay",), "nothing goes on", None, _moment(instance, states[-1]))
        again = steps[outcome.back_to :] or (stays,)
    return Trace(
        subject=f"spec:{module.removeprefix('MC')}",
        scenario=scenario.name,
        tree=scenario.tree,
        cap=instance.cap,
        relend=instance.relend,
        invariant=outcome.told,
        message=f"TLC: {outcome.told} is violated" + (" by a behaviour that never gets there" if again else ""),
        start=_moment(instance, states[0]),
        steps=steps,
        order="fifo",
        again=again,
        play=scenario,
    )


def _moment(instance: Instance, state: Mapping[str, Any]) -> Moment:
    view = plain_view(_view(instance, state), instance.scenario.index)
    return Moment(view, dict(zip(instance.names, state["progress"], strict=True)))


def _steps(instance: Instance, steps: Sequence[str], states: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    for name, before, after in zip(steps, states, states[1:], strict=False):
        action = action_between(name, instance.names, before, after) or (verb_of(name),)
        yield Step(action, _event(instance, action, before, after), None, _moment(instance, after))


def _event(instance: Instance, action: Action, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """An action in words, and what it led to, read off the difference that it made."""
    verb, *arguments = action
    led_to = _view(instance, after)
    had, has = ({run.run: run for run in view.runs} for view in (_view(instance, before), led_to))
    run = arguments[0] if arguments else ""
    if verb == "resize":
        said = f"cap := {run}"
    elif verb == "ask" and run in has and has[run].parent:
        said = f"ask {run} under {has[run].parent}"
    elif verb == "ask late":
        said = f"ask {run} late, without a parent"
    elif verb == "finish early":
        said = f"finish {run} early"
    elif verb == "cancel":
        said = f"cancel {run} ({_phase(instance, before, had, run)})"
    else:
        said = " ".join(map(str, action))
    if verb not in (*_CALLS, "resize"):
        return said
    granted = tuple(
        (name, now.token) for name, now in sorted(has.items()) if now.token != "none" and not _held(had.get(name))
    )
    relent = tuple(
        name for name, now in sorted(has.items()) if now.token == "loan" and name in had and had[name].token == "pool"
    )
    return call_event(said, _CALLS.get(verb, "resize"), run, Reply(led_to, granted, relent))


def _phase(instance: Instance, state: Mapping[str, Any], known: Mapping[str, Run], run: str) -> str:
    if run not in known or known[run].phase == "waiting":
        return "waiting"
    asked = state["progress"][instance.names.index(run)] == "asked"
    return "granted, not resumed" if asked else "in flight"


def _held(run: Run | None) -> bool:
    return run is not None and run.token != "none"


def _view(instance: Instance, state: Mapping[str, Any]) -> State:
    return view_of(instance, state if "pool" in state else {"pool": _pool_of_workers(instance, state)})


def _pool_of_workers(instance: Instance, state: Mapping[str, Any]) -> dict[str, Any]:
    """`Helping` has workers and no pool: the run on top of a stack is the one at work, with a slot."""
    stacks = [stack for stack in state["stack"] if stack]
    runs = range(1, len(instance.parent) + 1)
    level: list[int] = []
    for above in instance.parent:
        level.append(1 + (level[above - 1] if above else 0))
    on_stacks = {run for stack in stacks for run in stack}
    tops = {stack[-1] for stack in stacks}
    return {
        "cap": instance.cap,
        "taken": len(tops),
        "phase": [
            "in_flight" if run in on_stacks else "waiting" if run in state["queue"] else "unknown" for run in runs
        ],
        "token": ["pool" if run in tops else "none" for run in runs],
        "lent": [False for _ in runs],
        "level": level,
        "parent": list(instance.parent),
        "waiting": state["queue"],
        "children": [[] for _ in runs],
    }
