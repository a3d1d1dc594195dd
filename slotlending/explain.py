"""R11, say it: who waits, what for, who holds that, and which runs wait for one another in a circle.

A pool knows only waits for slots. What else a run waits for (another run, an event, a permit, a lock) the front end
passes in, and only then can a circle be named, since every circle leads through such a wait.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from slotlending.circles import Waiting, in_order
from slotlending.jobs import Job
from slotlending.other_orders import share_of
from slotlending.snapshot import IN_FLIGHT, LOAN, PARKED, POOL, RunState, Snapshot

_SHOWN = 8  # of the runs that hold slots, in a sentence for people; the fields have them all

__all__ = ["Explanation", "SlotWait", "Wait", "Waits", "explain"]


class Wait(NamedTuple):
    """Something other than a slot that a run waits for."""

    #: "run", "event", "permit", "lock", or whatever the front end calls it.
    kind: str
    #: The run's id, or the name of the thing.
    name: Hashable
    #: The runs any one of which can end this wait. Without one it may end from outside, so it closes no circle.
    holders: tuple[Hashable, ...] = ()

    @classmethod
    def on_run(cls, run: Hashable) -> Wait:
        """A wait for a run to end."""
        return cls("run", run, (run,))

    def __str__(self) -> str:
        held = f", held by {_names(self.holders)}" if self.holders and self.kind != "run" else ""
        return f"{self.kind} {self.name!r}{held}"


#: What each run (by id) waits for besides slots. A run that waits for several things waits for all of them.
Waits: TypeAlias = Mapping[Any, Iterable[Wait]]


class SlotWait(NamedTuple):
    """A run that waits for a slot: its parent's or any pool slot, whichever frees first."""

    run: Hashable
    #: The parent in flight whose slot it may borrow, and the run that this comes back from (a borrower, or where that
    #: has finished the run its slot stayed with); None without one.
    parent: Hashable | None
    lent_to: Hashable | None
    #: The runs that a pool slot frees with: those that took one, or, parked, the run their slot stayed with.
    holders: tuple[Hashable, ...]
    #: False while more slots are taken than the cap allows, after it was lowered.
    within_cap: bool

    def __str__(self) -> str:
        ways = []
        if self.parent is not None:
            ways.append(f"the slot of its parent {self.parent!r}, lent to {self.lent_to!r}")
        lowered = "" if self.within_cap else " (after more have come back: the cap was lowered)"
        ways.append(f"a pool slot, held by {_names(self.holders)}{lowered}")
        return " or ".join(ways)


class Explanation(NamedTuple):
    """What `Pool.explain` tells. ``str()`` of it is for people."""

    cap: int
    taken: int
    #: The runs that wait for a slot, in order of arrival.
    slot_waits: tuple[SlotWait, ...]
    #: The other waits that were passed in; None if none were, and then no circle can be told.
    other_waits: tuple[tuple[Hashable, Wait], ...] | None
    #: Circles of runs each of which waits for the next and the last for the first, with no way out.
    cycles: tuple[tuple[Hashable, ...], ...]

    def __str__(self) -> str:
        lines = [f"{self.taken} of {self.cap} slots taken; waiting for a slot: {len(self.slot_waits)}"]
        lines += [f"  {wait.run!r} waits for {wait}" for wait in self.slot_waits]
        lines += [f"  {run!r} waits for {wait}" for run, wait in self.other_waits or ()]
        for cycle in self.cycles:
            lines.append("deadlock: " + " waits for ".join(repr(run) for run in (*cycle, cycle[0])))
        if self.other_waits is None:
            lines.append("(waits for slots only: pass what each run waits for to see circles)")
        elif not self.cycles:
            lines.append("no circle among these waits")
        return "\n".join(lines)


def explain(snapshot: Snapshot, waits: Waits | None) -> Explanation:
    """See `Pool.explain`. ``waits`` may name runs that the pool does not know (they asked for no slot).

    Takes time in proportion to the runs and the waits; more where circles are long and many (circles.py).
    """
    view = _View(snapshot)
    slot_waits = tuple(view.slot_wait(run) for run in snapshot.waiting)
    others = None if waits is None else tuple((run, wait) for run, them in waits.items() for wait in them)
    cycles = () if others is None else _cycles(slot_waits, others, view.relends())
    return Explanation(snapshot.cap, snapshot.taken, slot_waits, others, cycles)


class _View:
    """A snapshot, read for who waits for whom."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.states = {state.run: state for state in snapshot.runs}
        self.borrowers = {state.parent: state.run for state in snapshot.runs if state.token == LOAN}
        self.share = share_of(snapshot.order)
        self._tips: dict[Hashable, Hashable] = {}
        heads = [state for state in snapshot.runs if state.token == POOL] if snapshot.waiting else []
        self._holders = self._tips_of(heads)
        self._full: dict[Job, tuple[Hashable, ...]] = {}  # the holders of each job that has its whole share
        if self.share is not None:
            of_job: dict[Job, list[RunState]] = {}
            for head in heads:
                of_job.setdefault(head.job, []).append(head)
            self._full = {job: self._tips_of(them) for job, them in of_job.items() if len(them) >= self.share}

    def _tips_of(self, heads: Iterable[RunState]) -> tuple[Hashable, ...]:
        return tuple(in_order(self.tip(head.run) for head in heads))

    def tip(self, run: Hashable) -> Hashable:
        """The run itself, or where it has finished the run in flight that its slot stayed with."""
        passed = []
        while self.states[run].phase == PARKED:
            if run in self._tips:
                run = self._tips[run]
            else:
                passed.append(run)
                run = self.borrowers[run]
        self._tips.update(dict.fromkeys(passed, run))
        return run

    def slot_wait(self, run: Hashable) -> SlotWait:
        """What a waiting run waits for."""
        parent, job = self.states[run].parent, self.states[run].job
        if parent is not None and self.states[parent].phase != IN_FLIGHT:
            parent = None
        lent_to = self.tip(self.borrowers[parent]) if parent in self.borrowers else None
        holders = self._full.get(job, self._holders)  # of a job with its share no other job's slot is of any use to it
        return SlotWait(run, parent, lent_to, holders, self.snapshot.taken <= self.snapshot.cap)

    def relends(self) -> Sequence[Hashable]:
        """The runs whose end makes a lender relend (R13), so that a pool slot comes back."""
        if not self.snapshot.relend:
            return ()
        return in_order(
            self.tip(self.borrowers[parent])
            for parent, children in self.snapshot.children
            if self.states[parent].phase == IN_FLIGHT
            and parent in self.borrowers
            and any(self.states[child].token == POOL for child in children)
        )


def _cycles(
    slot_waits: Iterable[SlotWait], others: Iterable[tuple[Hashable, Wait]], relends: Sequence[Hashable]
) -> tuple[tuple[Hashable, ...], ...]:
    """The circles of all these waits (circles.py)."""
    waiting = Waiting()
    relending = waiting.add_set(relends)
    sets: dict[int, int] = {}  # by identity: those who wait for the same slots share one tuple of holders
    for wait in slot_waits:
        holders = sets.get(id(wait.holders))
        if holders is None:
            holders = sets[id(wait.holders)] = waiting.add_set(wait.holders)
        if wait.lent_to is None:
            waiting.add_wait(wait.run, holders, relending)
        else:
            waiting.add_wait(wait.run, holders, relending, waiting.add_set((wait.lent_to,)))
    for run, other in others:
        waiting.add_wait(run, waiting.add_set(other.holders))
    return waiting.circles()


def _names(runs: Sequence[Hashable]) -> str:
    shown = ", ".join(repr(run) for run in runs[:_SHOWN]) or "nobody"
    return shown if len(runs) <= _SHOWN else f"{shown} and {len(runs) - _SHOWN} more"
