"""The witnesses of permits: for each invariant about permits something that puts it to the test."""

from __future__ import annotations

from collections.abc import Callable

from slotcheck.checks.invariants import Happening
from slotcheck.checks.permit_invariants import PermitFacts
from slotcheck.checks.witness import CALLS, Witness

__all__ = ["PERMIT_WITNESSES"]


def _seen(check: Callable[[PermitFacts, PermitFacts, Happening], bool]) -> Callable[[Happening], bool]:
    """Read the views before and after a call."""

    def read(happening: Happening) -> bool:
        before, _, after = happening
        assert isinstance(before, PermitFacts)
        assert isinstance(after, PermitFacts)
        return check(before, after, happening)

    return read


def _queues(facts: PermitFacts) -> set[str]:
    return {run for permit in facts.permits.values() for run in permit.queue}


def _handed_on(before: PermitFacts, after: PermitFacts, happening: Happening) -> bool:
    return any(run in _queues(before) for run in happening.call.reply.handed)


def _beside_a_free_slot(before: PermitFacts, after: PermitFacts, happening: Happening) -> bool:
    run = happening.call.args[0]
    return (
        happening.call.verb == "enter"
        and run in after.present
        and run not in after.runs
        and (after.state.taken < after.state.cap)
    )


def _cancelled_in_queue(before: PermitFacts, after: PermitFacts, happening: Happening) -> bool:
    return happening.call.verb == "cancel" and happening.call.args[0] in _queues(before)


def _cancelled_when_handed(before: PermitFacts, after: PermitFacts, happening: Happening) -> bool:
    run = before.present.get(happening.call.args[0])
    if happening.call.verb != "cancel" or run is None or run.working:
        return False
    return before.holder(run.component) == run.run


def _memo_cleared(before: PermitFacts, after: PermitFacts, happening: Happening) -> bool:
    return any(before.memo(component) and not after.memo(component) for component in before.permits)


PERMIT_WITNESSES = tuple(
    Witness(name, invariant, possible, _seen(check), CALLS, of_permits=True)
    for name, invariant, possible, check in (
        (
            "a permit dropped to ask for a slot",
            "PermitOrder",
            lambda m: m.builds > 1 and not m.keyed,
            lambda before, after, happening: happening.call.reply.came_to == "asks",
        ),
        (
            "a run behind a holder",
            "PermitExclusive",
            lambda m: m.builds > 1,
            lambda before, after, happening: any(permit.holder and permit.queue for permit in after.permits.values()),
        ),
        ("a permit handed on", "NoPermitLost", lambda m: m.builds > 1, _handed_on),
        ("a queued run cancelled", "HolderPresent", lambda m: m.builds > 1 and m.cancel, _cancelled_in_queue),
        (
            "a body under its permit",
            "WorksUnderPermit",
            lambda m: m.builds > 0,
            lambda before, after, happening: happening.call.reply.came_to == "works",
        ),
        ("a memo cleared", "MemoTrue", lambda m: m.builds > 1 and m.keyed and m.cancel, _memo_cleared),
        (
            "a run answered by the memo",
            "NoDoubleWork",
            lambda m: m.builds > 1 and m.keyed,
            lambda before, after, happening: happening.call.reply.came_to == "answered",
        ),
        (
            "a permit cancelled before its run resumes",
            "EndedHoldsNoSlot",
            lambda m: m.builds > 0 and m.cancel,
            _cancelled_when_handed,
        ),
        (
            "two runs in one permit's queue",
            "PermitFirstCome",
            lambda m: m.builds > 2,
            lambda before, after, happening: any(len(permit.queue) > 1 for permit in after.permits.values()),
        ),
        (
            "a run enters beside another while a slot is free",
            "EnterTakesNoSlot",
            lambda m: m.builds > 1 and m.cap > 1,
            _beside_a_free_slot,
        ),
        (
            "a run queued with a slot",
            "NoDeadlockWithPermits",
            lambda m: m.builds > 2 and not m.keyed,
            lambda before, after, happening: bool(after.queued_with_slot),
        ),
    )
)
