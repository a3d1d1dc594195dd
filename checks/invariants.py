"""The invariants of SEMANTICS 4, one sentence each. The witnesses that keep them from being empty: witnesses.py.

Each predicate looks at the common view of a pool and at what one call did to it, never at the code. A predicate
returns None where the invariant holds, else a sentence that says what is wrong, with the runs and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from slotcheck.checks.facts import BrokenChainError, Facts
from slotcheck.checks.wording import wait
from slotcheck.pymodel.rules import Run, order
from slotcheck.pymodel.rules.state import Draft
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.subject import Call

__all__ = ["CALLS", "Happening", "Invariant", "STATES", "Situation"]


class Situation(NamedTuple):
    """One state of a workload."""

    facts: Facts
    scenario: Scenario
    #: The cap of the scenario's start.
    cap: int
    #: The greatest level asked so far.
    levels: int
    #: How often the cap was changed so far.
    resizes: int
    #: The runs on the cap longest vertex-disjoint downward paths of the scenario.
    most: int


class Happening(NamedTuple):
    """One call, and the views before and after it."""

    before: Facts
    call: Call
    after: Facts


Judge: TypeAlias = Callable[..., str | None]


class Invariant(NamedTuple):
    """A named claim, in words and as a predicate."""

    name: str
    sentence: str
    check: Judge
    #: Whether it speaks of the view alone, so that it need be judged once per view.
    of_view: bool = False


# -- on every state ----------------------------------------------------------------------------------------------


def _unlent_within_cap(facts: Facts) -> str | None:
    if len(facts.unlent) != facts.state.taken:
        return f"taken is {facts.state.taken}, but the runs that hold a slot unlent are {_names(facts.unlent)}"
    return None


def _in_flight_within_cap_times_levels(situation: Situation) -> str | None:
    facts, levels, resizes = situation.facts, situation.levels, situation.resizes
    taken, cap = facts.state.taken, facts.state.cap
    if len(facts.in_flight) > taken * levels:
        return (
            f"{len(facts.in_flight)} runs are in flight ({_names(facts.in_flight)}), more than {taken} slots taken x "
            f"{levels} levels"
        )
    if taken > cap and not resizes:
        return f"{taken} slots are taken of {cap}, and the cap was never lowered"
    return None


def _level_within_cap(facts: Facts) -> str | None:
    for level, count in facts.per_level.items():
        if count > facts.state.taken:
            return f"{count} runs are in flight on level {level}, but only {facts.state.taken} slots are taken"
    return None


def _max_in_flight(situation: Situation) -> str | None:
    facts = situation.facts
    if not situation.resizes and len(facts.in_flight) > situation.most:
        return (
            f"{len(facts.in_flight)} runs are in flight ({_names(facts.in_flight)}), but the {situation.cap} longest "
            f"disjoint downward paths have {situation.most}"
        )
    return None


def _one_chain_per_slot(facts: Facts) -> str | None:
    try:
        chains = facts.chains
    except BrokenChainError as error:
        return str(error)
    on_chain = [run.run for chain in chains for run in chain]
    if len(chains) != facts.state.taken or sorted(on_chain) != sorted(run.run for run in facts.holders):
        told = "; ".join(" > ".join(run.run for run in chain) for chain in chains) or "none"
        return f"{facts.state.taken} slots are taken and {_names(facts.holders)} have one, but the chains are: {told}"
    return None


def _no_slot_leak(facts: Facts) -> str | None:
    if len(facts.heads) != facts.state.taken:
        return f"taken is {facts.state.taken}, but the runs with a pool slot are {_names(facts.heads)}"
    return None


def _no_lost_wake_up(facts: Facts) -> str | None:
    state = facts.state
    if state.waiting and state.taken < state.cap and _can_be_served(Draft(state)):
        return f"{wait(state.waiting)}, but only {state.taken} of {state.cap} slots are taken"
    for name in state.waiting:
        run = facts.runs.get(name)
        parent = None if run is None or run.parent is None else facts.runs.get(run.parent)
        if parent is not None and parent.phase == "in_flight" and parent.token != "none" and not parent.lent:
            return f"{name} waits, but its parent {parent.run} holds its slot unlent"
    return None


def _relend_leaves_no_idle(facts: Facts) -> str | None:
    if not facts.state.relend:
        return None
    for run in facts.holders:
        parent = None if run.parent is None else facts.runs.get(run.parent)
        if parent is not None and parent.token != "none" and not parent.lent:
            return f"{parent.run} holds its slot unlent while its child {run.run} has another slot"
    return None


STATES = (
    Invariant("UnlentWithinCap", "runs holding an unlent slot = taken", _unlent_within_cap, True),
    Invariant(
        "InFlightWithinCapTimesLevels",
        "in flight <= taken x levels, and taken <= cap unless the cap was lowered",
        _in_flight_within_cap_times_levels,
    ),
    Invariant("LevelWithinCap", "on each level, in flight <= taken", _level_within_cap, True),
    Invariant(
        "MaxInFlight",
        "without resize, in flight <= the runs on the cap longest disjoint downward paths; every plain scenario "
        "reaches it",
        _max_in_flight,
    ),
    Invariant(
        "OneChainPerSlot",
        "every taken slot has exactly one chain, down the parent relation, with one unlent holder, its last",
        _one_chain_per_slot,
        True,
    ),
    Invariant("NoSlotLeak", "taken = runs that have a pool slot; none when no run is known", _no_slot_leak, True),
    Invariant(
        "NoLostWakeUp",
        "no run waits while a pool slot is free (that its job may take) or its own open parent's slot is unlent",
        _no_lost_wake_up,
        True,
    ),
    Invariant(
        "RelendLeavesNoIdle",
        "with relend, no unlent holder has a child that holds a slot",
        _relend_leaves_no_idle,
        True,
    ),
)


# -- on every call -----------------------------------------------------------------------------------------------


def _cap_respected(happening: Happening) -> str | None:
    state = happening.after.state
    handed_out = [run for run, token in happening.call.reply.granted if token == "pool"]
    if handed_out and state.taken > state.cap:
        return f"{', '.join(handed_out)} got a pool slot, and now {state.taken} of {state.cap} are taken"
    return None


def _held_matches(happening: Happening) -> str | None:
    for job, held in happening.call.reply.held:
        truth = happening.after.held(job)
        if held != truth:
            return f"job {'/'.join(job)} holds {truth} pool slots, but the pool says {held}"
    return None


def _fewest_held_first(happening: Happening) -> str | None:
    before, call, after = happening
    granted = [run for run, token in call.reply.granted if token == "pool"]
    if not granted or any(run not in after.runs for run in granted):
        return None  # a grant to a run that is not known is GrantsTold's to tell
    waited = [run for run in granted if run in before.state.waiting]
    # The state in which the first of them was picked: nobody of them has a slot, all that left otherwise have left.
    draft = Draft(after.state)
    draft.waiting = [run for run in before.state.waiting if run in waited or run in after.state.waiting]
    for run in waited:
        draft.runs[run] = draft.runs[run]._replace(phase="waiting", token="none")
    draft.lines = {}
    for node, line in before.state.lines:
        paths = [draft.runs[run].job for run in draft.waiting]
        kept = [name for name in line if any(path[: len(node) + 1] == (*node, name) for path in paths)]
        if kept:
            draft.lines[node] = kept
    for run in granted:
        if run not in waited:
            draft.runs[run] = draft.runs[run]._replace(token="none")
            if _can_be_served(draft):
                return f"{run} has just asked and got a pool slot, past {', '.join(draft.waiting)}"
            if not order.has_room(draft, run):
                return f"{run} has just asked and got a pool slot, but its job has its share ({_shares(draft, run)})"
            draft.runs[run] = draft.runs[run]._replace(token="pool")
            continue
        due = order.pick(draft)
        if run != due:
            turn = "nobody's turn" if due is None else f"{due}'s turn"
            return f"{run} got the pool slot, but it was {turn} ({_shares(draft)})"
        order.leave(draft, run, pool_slot=True)
        draft.runs[run] = draft.runs[run]._replace(phase="in_flight", token="pool")
    return None


def _can_be_served(draft: Draft) -> bool:
    """Whether a slot that is free may go to somebody who waits; a view may be too broken for the order to be asked."""
    if not order.limits(draft.order):
        return bool(draft.waiting)
    return order.pick(draft) is not None


def _shares(draft: Draft, *more: str) -> str:
    jobs = dict.fromkeys(draft.runs[run].job for run in (*draft.waiting, *more))
    return ", ".join(f"job {'/'.join(job)} holds {draft.held(job)}" for job in jobs)


def _grants_told(happening: Happening) -> str | None:
    before, call, after = happening
    had = {run.run: run.token for run in before.state.runs}
    has = {run.run: run.token for run in after.state.runs}
    got = {(run, token) for run, token in has.items() if token != "none" and had.get(run, "none") == "none"}
    if sorted(call.reply.granted) != sorted(got):
        return f"the call told {_grants(call.reply.granted)}, but {_grants(got)} got a slot"
    turned = {run for run, token in has.items() if token == "loan" and had.get(run) == "pool"}
    if sorted(call.reply.relent) != sorted(turned):
        return f"the call told {sorted(call.reply.relent)} as relent, but it was {sorted(turned)}"
    return None


def _no_crash(happening: Happening) -> str | None:
    reply = happening.call.reply
    if reply.raised is not None:
        return f"{happening.call.verb} raised {type(reply.raised).__name__}: {reply.raised}"
    if reply.refused is not None:
        return f"{happening.call.verb} was refused with {reply.refused}, though the rules allow it here"
    return None


CALLS = (
    Invariant("CapRespected", "no step hands out a pool slot that makes taken > cap", _cap_respected),
    Invariant("HeldMatches", "every job's held is what it is by definition", _held_matches),
    Invariant("FewestHeldFirst", "every pool slot granted went to the waiter that the order names", _fewest_held_first),
    Invariant("GrantsTold", "granted and relent are exactly the difference that the call made", _grants_told),
    Invariant("Answers", "a call that the rules allow is answered: not refused, no other exception", _no_crash),
)


def _names(runs: Iterable[Run]) -> str:
    return ", ".join(sorted(run.run for run in runs)) or "none"


def _grants(granted: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{run} ({token})" for run, token in sorted(granted)) or "nobody"
