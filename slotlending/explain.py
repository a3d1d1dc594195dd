"""R11, say it: who waits, what for, who holds that, and which runs wait for one another in a circle.

A pool knows only waits for slots. What else a run waits for (another run, an event, a permit, a lock) the front end
passes in, and only then can a circle be named, since every circle leads through such a wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from slotlending.other_orders import share_of
from slotlending.snapshot import IN_FLIGHT, LOAN, PARKED, POOL, Snapshot

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
            lines.append("no circle of waits")
        return "\n".join(lines)


def explain(snapshot: Snapshot, waits: Waits | None) -> Explanation:
    """See `Pool.explain`. ``waits`` may name runs that the pool does not know (they asked for no slot)."""
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
        self.heads = [state.run for state in snapshot.runs if state.token == POOL]
        self.holders = tuple(_in_order(self.tip(run) for run in self.heads)) if snapshot.waiting else ()
        self.share = share_of(snapshot.order)

    def tip(self, run: Hashable) -> Hashable:
        """The run itself, or where it has finished the run in flight that its slot stayed with."""
        while self.states[run].phase == PARKED:
            run = self.borrowers[run]
        return run

    def slot_wait(self, run: Hashable) -> SlotWait:
        """What a waiting run waits for."""
        parent = self.states[run].parent
        if parent is not None and self.states[parent].phase != IN_FLIGHT:
            parent = None
        lent_to = self.tip(self.borrowers[parent]) if parent in self.borrowers else None
        holders = self.holders
        if self.share is not None:
            job = self.states[run].job
            of_job = [head for head in self.heads if self.states[head].job == job]
            if len(of_job) >= self.share:  # no other job's slot is of any use to it
                holders = tuple(_in_order(self.tip(head) for head in of_job))
        return SlotWait(run, parent, lent_to, holders, self.snapshot.taken <= self.snapshot.cap)

    def relends(self) -> frozenset[Hashable]:
        """The runs whose end makes a lender relend (R13), so that a pool slot comes back."""
        if not self.snapshot.relend:
            return frozenset()
        return frozenset(
            self.tip(self.borrowers[parent])
            for parent, children in self.snapshot.children
            if self.states[parent].phase == IN_FLIGHT
            and parent in self.borrowers
            and any(self.states[child].token == POOL for child in children)
        )


def _cycles(
    slot_waits: Iterable[SlotWait], others: Iterable[tuple[Hashable, Wait]], relends: frozenset[Hashable]
) -> tuple[tuple[Hashable, ...], ...]:
    """One shortest circle for every group of runs that hold each other up for good.

    Every wait is a set of runs any one of which can end it. A run is stuck if one of its waits has only stuck runs in
    it (the greatest such set of runs). So a circle is never named where a way out may exist; where runs that can go on
    would have to end first for a circle to be the only thing left, it is told when they have.
    """
    needs: dict[Hashable, list[frozenset[Hashable]]] = {}
    for wait in slot_waits:
        ways = relends.union(wait.holders)
        needs.setdefault(wait.run, []).append(ways if wait.lent_to is None else ways | {wait.lent_to})
    for run, other in others:
        needs.setdefault(run, []).append(frozenset(other.holders))
    stuck = set(needs)
    while True:
        free = {run for run in stuck if all(not way or way - stuck for way in needs[run])}
        if not free:
            break
        stuck -= free
    # A stuck run waits for the runs of those of its waits that are blocked for good.
    edges = {run: _in_order({to for way in needs[run] if way and not way - stuck for to in way}) for run in stuck}
    cycles: list[tuple[Hashable, ...]] = []
    told: set[Hashable] = set()
    for start in _in_order(stuck):
        if start not in told:
            group = {run for run in _reachable(start, edges) if start in _reachable(run, edges)}
            told |= group
            cycle = _shortest_cycle({run: [to for to in edges[run] if to in group] for run in group})
            if cycle:
                cycles.append(cycle)
    return tuple(cycles)


def _shortest_cycle(edges: Mapping[Hashable, list[Hashable]]) -> tuple[Hashable, ...]:
    """A shortest circle in a group of runs; empty for a run alone that does not wait for itself."""
    best: tuple[Hashable, ...] = ()
    for origin in _in_order(edges):
        back: dict[Hashable, Hashable] = {}
        queue = deque([origin])
        while queue and origin not in back:
            run = queue.popleft()
            for to in edges[run]:
                if to not in back:
                    back[to] = run
                    queue.append(to)
        if origin in back:
            cycle = [back[origin]]
            while cycle[-1] != origin:
                cycle.append(back[cycle[-1]])
            cycle.reverse()
            if not best or len(cycle) < len(best):
                best = tuple(cycle)
    return best


def _reachable(start: Hashable, edges: Mapping[Hashable, list[Hashable]]) -> set[Hashable]:
    seen = {start}
    stack = [start]
    while stack:
        for to in edges[stack.pop()]:
            if to not in seen:
                seen.add(to)
                stack.append(to)
    return seen


def _in_order(runs: Iterable[Hashable]) -> list[Hashable]:
    """In the order of the ids where they have one, else in that of their written form: the same every time."""
    runs = list(runs)
    try:
        return sorted(runs)  # type: ignore[type-var]
    except TypeError:
        return sorted(runs, key=repr)


def _names(runs: Sequence[Hashable]) -> str:
    shown = ", ".join(repr(run) for run in runs[:_SHOWN]) or "nobody"
    return shown if len(runs) <= _SHOWN else f"{shown} and {len(runs) - _SHOWN} more"
