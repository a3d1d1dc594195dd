"""R11, say it: who waits, what for, who holds that, and which runs wait for one another in a circle.

A pool knows only waits for slots. What else a run waits for (another run, an event, a permit, a lock) the front end
passes in, and only then can a circle be named, since every circle leads through such a wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from slotlending.snapshot import IN_FLIGHT, NONE, PARKED, POOL, RunState, Snapshot

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


#: What each run waits for besides slots. A run that waits for several things waits for all of them.
Waits: TypeAlias = Mapping[Hashable, Iterable[Wait]]


class SlotWait(NamedTuple):
    """A run that waits for a slot: its parent's or any pool slot, whichever frees first."""

    run: Hashable
    #: The parent in flight whose slot it may borrow, and the child that has that slot now; None without one.
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
    states = {state.run: state for state in snapshot.runs}
    borrowers = {
        state.parent: state.run
        for state in snapshot.runs
        if state.token not in (NONE, POOL) and state.parent is not None
    }
    slot_waits = tuple(_slot_wait(states[run], states, borrowers, snapshot) for run in snapshot.waiting)
    others = None if waits is None else tuple((run, wait) for run, them in waits.items() for wait in them)
    cycles = () if others is None else _cycles(slot_waits, others)
    return Explanation(snapshot.cap, snapshot.taken, slot_waits, others, cycles)


def _slot_wait(
    state: RunState,
    states: Mapping[Hashable, RunState],
    borrowers: Mapping[Hashable, Hashable],
    snapshot: Snapshot,
) -> SlotWait:
    parent = state.parent if state.parent is not None and states[state.parent].phase == IN_FLIGHT else None
    holders = []
    for other in states.values():
        if other.token == POOL:
            holder = other
            while holder.phase == PARKED:
                holder = states[borrowers[holder.run]]
            holders.append(holder.run)
    holders.sort(key=repr)
    lent_to = None if parent is None else borrowers.get(parent)
    return SlotWait(state.run, parent, lent_to, tuple(holders), snapshot.taken <= snapshot.cap)


def _cycles(
    slot_waits: Iterable[SlotWait], others: Iterable[tuple[Hashable, Wait]]
) -> tuple[tuple[Hashable, ...], ...]:
    """One shortest circle for every group of runs that hold each other up for good.

    Every wait is a set of runs any one of which can end it. A run is stuck if one of its waits has only stuck runs in
    it (the greatest such set of runs). So a circle is never named where a way out exists.
    """
    needs: dict[Hashable, list[frozenset[Hashable]]] = {}
    for wait in slot_waits:
        ways = set(wait.holders)
        if wait.lent_to is not None:
            ways.add(wait.lent_to)
        needs.setdefault(wait.run, []).append(frozenset(ways))
    for run, other in others:
        needs.setdefault(run, []).append(frozenset(other.holders))
    stuck = set(needs)
    while True:
        free = {run for run in stuck if all(not way or way - stuck for way in needs[run])}
        if not free:
            break
        stuck -= free
    # A stuck run waits for the runs of those of its waits that are blocked for good.
    edges = {
        run: sorted({to for way in needs[run] if way and not way - stuck for to in way}, key=repr) for run in stuck
    }
    cycles: list[tuple[Hashable, ...]] = []
    told: set[Hashable] = set()
    for start in sorted(stuck, key=repr):
        if start not in told:
            cycle = _shortest_cycle(start, edges)
            if cycle and not told.intersection(cycle):
                cycles.append(cycle)
                told.update(_reachable(cycle[0], edges))
    return tuple(cycles)


def _shortest_cycle(start: Hashable, edges: Mapping[Hashable, list[Hashable]]) -> tuple[Hashable, ...]:
    """A shortest circle through a run reachable from ``start``; every stuck run reaches one."""
    best: tuple[Hashable, ...] = ()
    for origin in sorted(_reachable(start, edges), key=repr):
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


def _names(runs: Iterable[Hashable]) -> str:
    return ", ".join(repr(run) for run in runs) or "nobody"
