"""The witnesses: what must be seen, or an invariant was never put to the test.

Each "never" has a state or a step beside it that comes as close as the rules allow. A check demands those that the
trees, caps and acts it was given make possible, and lists the rest as not covered.
"""

from __future__ import annotations

from slotcheck.checks.invariants import Happening, Situation
from slotcheck.checks.permit_witnesses import PERMIT_WITNESSES
from slotcheck.checks.witness import CALLS, STATES, STEPS, Means, Witness

__all__ = ["ALL_WITNESSES", "GRANT_CANCELLED", "Means", "OF_CALLS", "OF_STATES", "WITNESSES", "Witness"]

GRANT_CANCELLED = "a grant cancelled before it resumes"


def _full(situation: Situation) -> bool:
    return len(situation.facts.unlent) == situation.facts.state.cap > 1


def _bound_reached(situation: Situation) -> bool:
    facts, levels = situation.facts, situation.levels
    return levels > 1 and facts.state.cap > 1 and len(facts.in_flight) == facts.state.cap * levels


def _level_full(situation: Situation) -> bool:
    facts = situation.facts
    return any(count == facts.state.taken > 1 for level, count in facts.per_level.items() if level > 1)


def _most_reached(situation: Situation) -> bool:
    return not situation.resizes and len(situation.facts.in_flight) == situation.most


def _chain_of_three(situation: Situation) -> bool:
    return any(run.lent and run.token == "loan" for run in situation.facts.holders)


def _waits_twice(situation: Situation) -> bool:
    facts = situation.facts
    return any(run in facts.runs and facts.runs[run].parent is not None for run in facts.state.waiting)


def _waits_below_a_lender(situation: Situation) -> bool:
    facts = situation.facts
    return bool(facts.state.waiting) and any(run.lent for run in facts.in_flight)


def _cascade_of_two(happening: Happening) -> bool:
    return sum(run.run not in happening.after.runs for run in happening.before.parked) >= 2


def _last_slot(happening: Happening) -> bool:
    state = happening.after.state
    return state.taken == state.cap and any(token == "pool" for _, token in happening.call.reply.granted)


def _holds_two(happening: Happening) -> bool:
    return any(held > 1 for _, held in happening.call.reply.held)


def _unequal_shares(happening: Happening) -> bool:
    before, call, after = happening
    picked = [run for run, token in call.reply.granted if token == "pool" and run in before.state.waiting]
    if not picked:
        return False
    # Who held what when the first of them was picked.
    jobs = {before.runs[run].job for run in (*picked, *after.state.waiting) if run in before.runs}
    held = {job: after.held(job) - sum(before.runs[run].job == job for run in picked) for job in jobs}
    return len(set(held.values())) > 1


def _tight(means: Means) -> bool:
    """Whether siblings must wait for one another."""
    return means.siblings > 1 and sum(means.leaves.values()) > means.cap


WITNESSES = (
    Witness("executing = cap", "UnlentWithinCap", lambda m: sum(m.leaves.values()) >= m.cap > 1, _full),
    Witness(
        "in flight = cap x levels",
        "InFlightWithinCapTimesLevels",
        lambda m: m.depth > 1 and m.cap > 1 and m.most == m.cap * m.depth,
        _bound_reached,
    ),
    Witness("a level full", "LevelWithinCap", lambda m: m.cap > 1 and m.widest > 1, _level_full),
    Witness("the most in flight", "MaxInFlight", lambda m: not m.cancel and not m.finish, _most_reached),
    Witness("a chain of three", "OneChainPerSlot", lambda m: m.depth > 2, _chain_of_three),
    Witness(
        "a parked slot",
        "NoSlotLeak",
        lambda m: (m.cancel or m.finish) and m.depth > 1,
        lambda situation: bool(situation.facts.parked),
    ),
    Witness(
        "a cascade of two",
        "OneChainPerSlot",
        lambda m: (m.cancel or m.finish) and m.depth > 2,
        _cascade_of_two,
        of=CALLS,
    ),
    Witness("a wait in two queues", "NoLostWakeUp", _tight, _waits_twice),
    Witness("a wait below a lender", "NoDeadlock", _tight, _waits_below_a_lender),
    Witness(
        "the last slot handed out",
        "CapRespected",
        lambda m: sum(m.leaves.values()) >= m.cap,
        _last_slot,
        of=CALLS,
    ),
    Witness(
        "a job that holds two",
        "HeldMatches",
        lambda m: m.cap > 1 and max(m.leaves.values()) > 1,
        _holds_two,
        of=CALLS,
    ),
    Witness(
        "jobs with unequal shares",
        "FewestHeldFirst",
        lambda m: (
            len(m.leaves) > 1
            and max(m.leaves.values()) > 1
            and (m.raised_by > 0 or (m.cap > 1 and (len(m.leaves) > 2 or max(m.leaves.values()) > m.cap)))
        ),
        _unequal_shares,
        of=CALLS,
    ),
    Witness(
        "two grants in one step",
        "GrantsTold",
        lambda m: m.raised_by > 1 and sum(m.leaves.values()) > 2,
        lambda happening: len(happening.call.reply.granted) > 1,
        of=CALLS,
    ),
    Witness(
        "a relend",
        "RelendLeavesNoIdle",
        lambda m: m.relend and m.cap > 1 and m.siblings > 1,
        lambda happening: bool(happening.call.reply.relent),
        of=CALLS,
    ),
    Witness(GRANT_CANCELLED, "NoSlotLeak", lambda m: m.cancel, lambda: False, of=STEPS),
    Witness(
        "every run finished",
        "AllFinish",
        lambda m: True,
        lambda situation: not situation.facts.runs and situation.levels > 0,
    ),
)

OF_STATES = tuple(witness for witness in WITNESSES if witness.of == STATES)
OF_CALLS = tuple(witness for witness in WITNESSES if witness.of == CALLS)
ALL_WITNESSES = (*WITNESSES, *PERMIT_WITNESSES)
