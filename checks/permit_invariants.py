"""The invariants of SEMANTICS 4 about permits, one sentence each, over the view of permits and what one call did to it.

Beside those of invariants.py, which hold with permits as without. MemoTrue is judged step by step: the memo changes
only to none, or to the key of a body that has just ended well, so by induction it is what its sentence says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slotcheck.checks.conformance import BAD_CAPS, STRANGER, difference, told
from slotcheck.checks.facts import Facts
from slotcheck.checks.invariants import Happening, Invariant
from slotcheck.pymodel.rules import BuildPermit, Permit, PermitState, Present, Refusal
from slotcheck.pymodel.scenario import RunSpec
from slotcheck.pymodel.subject import Call

__all__ = [
    "OF_PERMIT_CALLS",
    "OF_PERMIT_VIEWS",
    "OF_RUNS",
    "PermitFacts",
    "RunsNow",
    "calls_without_effect",
    "permit_difference",
    "permit_lockstep",
]


class PermitFacts(Facts):
    """One view with permits, read."""

    def __init__(self, whole: PermitState) -> None:
        super().__init__(whole.pool)
        self.whole = whole
        self.present: Mapping[str, Present] = {run.run: run for run in whole.present}
        self.permits: Mapping[str, Permit] = {permit.component: permit for permit in whole.permits}

    def memo(self, component: str) -> str | None:
        permit = self.permits.get(component)
        return None if permit is None else permit.memo

    def holder(self, component: str | None) -> str | None:
        permit = self.permits.get(component) if component is not None else None
        return None if permit is None else permit.holder

    @property
    def queued_with_slot(self) -> list[str]:
        """The runs that queue on a permit and have a slot."""
        queued = [run for permit in self.permits.values() for run in permit.queue]
        return sorted(run for run in queued if run in self.runs and self.runs[run].phase == "in_flight")


# -- on every view -----------------------------------------------------------------------------------------------


def _permit_order(facts: PermitFacts) -> str | None:
    for permit in facts.permits.values():
        if permit.holder in facts.state.waiting:
            return f"{permit.holder} waits for a slot while it holds the permit of {permit.component}"
    return None


def _permit_exclusive(facts: PermitFacts) -> str | None:
    if len(facts.permits) != len(facts.whole.permits):
        return "a component has two permits"
    for component, permit in facts.permits.items():
        working = {run.run for run in facts.present.values() if run.component == component and run.working}
        if len(working | {permit.holder} - {None}) > 1:
            return f"{', '.join(sorted(working))} work, and {permit.holder} holds the permit of {component}"
    return None


def _no_permit_lost(facts: PermitFacts) -> str | None:
    for permit in facts.permits.values():
        if permit.queue and permit.holder is None:
            return f"{', '.join(permit.queue)} queue on the permit of {permit.component}, which nobody holds"
    return None


def _holder_present(facts: PermitFacts) -> str | None:
    for component, permit in facts.permits.items():
        for run in (*(() if permit.holder is None else (permit.holder,)), *permit.queue):
            known = facts.present.get(run)
            if known is None or known.component != component:
                return f"{run} holds or queues on the permit of {component}, and is no present run of it"
    return None


#: Judged once per view.
OF_PERMIT_VIEWS = (
    Invariant("PermitOrder", "no run waits for a slot while holding a permit", _permit_order, True),
    Invariant("PermitExclusive", "a component's permit has one holder", _permit_exclusive, True),
    Invariant("NoPermitLost", "no run queues on a free permit", _no_permit_lost, True),
    Invariant("HolderPresent", "a permit's holder and everyone in its queue is present", _holder_present, True),
)


# -- on every state of a workload --------------------------------------------------------------------------------


class RunsNow(NamedTuple):
    """What the runs of a scenario do at one moment, beside the view of it."""

    facts: PermitFacts
    #: The runs whose body is on, and the names of those that are over.
    on: Sequence[RunSpec]
    over: Sequence[str]


def _works_under_permit(now: RunsNow) -> str | None:
    for spec in now.on:
        if spec.component is not None:
            run = now.facts.runs.get(spec.name)
            if now.facts.holder(spec.component) != spec.name or run is None or run.phase != "in_flight":
                return f"the body of {spec.name} is on, without the permit of {spec.component} and a slot"
    return None


def _ended_holds_no_slot(now: RunsNow) -> str | None:
    for name in now.over:
        run = now.facts.runs.get(name)
        if name in now.facts.present or (run is not None and run.phase != "parked"):
            return f"{name} is over, and still {'present' if run is None else run.phase.replace('_', ' ')}"
    return None


#: Judged on every state, with what the runs do: ``check(RunsNow)``.
OF_RUNS = (
    Invariant("WorksUnderPermit", "a body of a component works only with its permit and a slot", _works_under_permit),
    Invariant("EndedHoldsNoSlot", "a run that is over holds no slot, parked ones aside", _ended_holds_no_slot),
)


# -- on every call -----------------------------------------------------------------------------------------------


def _memo_true(happening: Happening) -> str | None:
    before, call, after = _read(happening)
    for component in sorted({*before.permits, *after.permits}):
        was, now = before.memo(component), after.memo(component)
        allowed = {None, was}
        run = before.present.get(call.args[0]) if call.verb == "finish" else None
        if run is not None and run.component == component and not _children(before, run.run):
            allowed = {None, run.key}
        if now not in allowed:
            return f"the memo of {component} is {now}, after {was}: no body that ended well has just made it so"
    return None


def _no_double_work(happening: Happening) -> str | None:
    before, call, after = _read(happening)
    run = after.present.get(call.args[0])
    if call.verb == "resume" and run is not None and run.working and run.component is not None:
        memo = before.memo(run.component)
        if memo is not None and memo == run.key:
            return f"the body of {run.run} starts, although the memo of {run.component} answers it ({memo})"
    return None


def _permit_first_come(happening: Happening) -> str | None:
    before, _, after = _read(happening)
    for component, permit in after.permits.items():
        was = before.permits.get(component)
        queue = () if was is None else was.queue
        stayed = [run for run in queue if run in after.present]
        if permit.holder is not None and permit.holder != before.holder(component):
            if stayed and permit.holder != stayed[0]:
                return f"{permit.holder} got the permit of {component}, but {stayed[0]} queued first"
            stayed = stayed[1:]
        if list(permit.queue[: len(stayed)]) != stayed:
            return f"{', '.join(stayed)} queued on the permit of {component} in this order; now {permit.queue!r}"
    return None


def _enter_takes_no_slot(happening: Happening) -> str | None:
    before, call, after = _read(happening)
    if call.verb != "enter" or call.reply.declined is not None or call.reply.refused is not None:
        return None
    run, component = call.args[:2]
    beside = sorted(other.run for other in before.present.values() if other.component == component)
    if component is not None and beside and after.state != before.state:
        return f"{run} enters beside {', '.join(beside)}, and the pool hears of it"
    return None


def _children(facts: PermitFacts, run: str) -> list[str]:
    return [child.run for child in facts.present.values() if child.parent == run]


#: Judged once per call.
OF_PERMIT_CALLS = (
    Invariant(
        "MemoTrue", "the stored memo is the key of the component's last body that ended well, or none", _memo_true
    ),
    Invariant("NoDoubleWork", "no body starts while the stored memo answers it", _no_double_work),
    Invariant("PermitFirstCome", "the permit goes to the run that queued first", _permit_first_come),
    Invariant(
        "EnterTakesNoSlot",
        "a run that enters beside a present one takes no slot",
        _enter_takes_no_slot,
    ),
)


def _read(happening: Happening) -> tuple[PermitFacts, Call, PermitFacts]:
    before, call, after = happening
    assert isinstance(before, PermitFacts)
    assert isinstance(after, PermitFacts)
    return before, call, after


# -- lockstep and refusals ---------------------------------------------------------------------------------------


def permit_lockstep(reference: BuildPermit, before: PermitFacts, call: Call, after: PermitFacts) -> str | None:
    """What the subject did otherwise than the reference; None if nothing."""
    reply = call.reply
    try:
        expected = getattr(reference, call.verb)(before.whole, *call.args)
    except Refusal as refusal:
        if refusal.code not in (reply.refused, reply.declined):
            return f"the rules refuse {told(call)} with {refusal.code}; the subject answered {reply[1:]!r}"
        return permit_difference(before.whole, after.whole)
    if reply.declined is not None:
        return f"the rules allow {told(call)}; the subject refused it with {reply.declined}"
    if reply.refused is not None or reply.raised is not None:
        return None  # told by Answers
    for what in ("granted", "relent", "handed", "came_to"):
        should, does = getattr(expected, what), getattr(reply, what)
        if should != does:
            return f"{told(call)} should answer {what} {should!r}, but answered {does!r}"
    return permit_difference(expected.state, after.whole)


def permit_difference(expected: PermitState, found: PermitState) -> str | None:
    """The first thing in which two views with permits differ, in words; None if they are equal."""
    for name in ("present", "permits"):
        should, does = getattr(expected, name), getattr(found, name)
        if should != does:
            only = sorted(map(repr, should - does)), sorted(map(repr, does - should))
            return f"{name} should have {', '.join(only[0]) or 'nothing more'}, but has {', '.join(only[1]) or 'not'}"
    return difference(expected.pool, found.pool)


def calls_without_effect(facts: PermitFacts, names: Sequence[str]) -> list[tuple[tuple[Any, ...], str | None]]:
    """Calls that must change nothing in this state: with the code they are refused with, or None if they are answered
    and grant nothing (a ``try_ask`` that would have to wait).
    """
    calls: list[tuple[tuple[Any, ...], str | None]] = []
    component = next((run.component for run in facts.present.values() if run.component is not None), "~")
    for name in (*names, STRANGER):
        known, slot = facts.present.get(name), facts.runs.get(name)
        if known is None:
            calls += [((verb, name), "not_known") for verb in ("resume", "finish", "fail", "cancel")]
            if slot is not None:  # parked
                calls.append((("enter", name, component), "run_known"))
            if name != STRANGER:
                calls.append((("enter", STRANGER, component, None, name), "parent_not_in_flight"))
            continue
        calls += [(("enter", name, component), "run_known"), (("ask", name), "run_known")]
        handed = known.component is not None and facts.holder(known.component) == name
        if not handed or known.working:
            calls.append((("resume", name), "not_handed_over"))
        if slot is not None and slot.phase == "waiting":
            calls += [(("finish", name), "not_admitted"), (("fail", name), "not_admitted")]
        elif known.component is not None and not known.working:
            calls += [(("finish", name), "not_working"), (("fail", name), "not_working")]
        if slot is None or slot.phase != "in_flight":
            calls.append((("enter", STRANGER, component, None, name), "parent_not_in_flight"))
            continue
        calls.append((("enter", STRANGER, component, None, name, ()), "job_not_leaf"))
        if known.component is not None:
            calls.append((("enter", STRANGER, known.component, None, name), "component_above"))
    for job in sorted({run.job for run in facts.present.values()}):
        calls.append((("enter", STRANGER, component, None, None, (*job, "below")), "job_not_leaf"))
        calls.append((("ask", STRANGER, None, (*job, "below")), "job_not_leaf"))
    calls.append((("enter", STRANGER, component, None, None, None, (component,)), "component_above"))
    if facts.state.taken >= facts.state.cap:
        calls.append((("try_ask", STRANGER), None))
    calls += [(("resize", cap), "bad_cap") for cap in BAD_CAPS[:1]]
    return calls
