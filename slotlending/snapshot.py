"""What a pool's state is, as plain immutable values: the one view that every statement of the design gives.

A snapshot holds orders (who asked first, who was admitted first, who stands where in a line) and never counters or
times, so two pools with the same past that matters have equal snapshots. It is hashable if the run ids are.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from slotlending.jobs import Job
from slotlending.order import Line

__all__ = ["IN_FLIGHT", "LOAN", "NONE", "PARKED", "POOL", "WAITING", "Answer", "Grant", "RunState", "Snapshot"]

WAITING, IN_FLIGHT, PARKED = "waiting", "in_flight", "parked"  # phases of a known run
NONE, POOL, LOAN = "none", "pool", "loan"  # tokens: what a run has its slot as


class RunState(NamedTuple):
    """One known run."""

    run: Hashable
    #: "waiting", "in_flight" or "parked" (finished while its slot was lent).
    phase: str
    #: "none" while it waits, else "pool" (a slot of the pool) or "loan" (its parent's slot).
    token: str
    #: Whether its slot is out on loan to a child.
    lent: bool
    #: 1 for a run asked without a parent, its parent's level + 1 otherwise; fixed at ask.
    level: int
    #: The run whose slot it may borrow, or whose slot it borrows; None without one, or once that has finished.
    parent: Hashable | None
    #: The path of its job.
    job: Job


class Snapshot(NamedTuple):
    """The whole state of a pool."""

    cap: int
    #: Pool slots out. A slot is free while ``taken < cap``.
    taken: int
    #: The known runs.
    runs: frozenset[RunState]
    #: The waiting runs in order of arrival; a parent's waiting children are these in this order.
    waiting: tuple[Hashable, ...]
    #: For every run that is the parent of runs with a slot: it, and these in order of admission.
    children: frozenset[tuple[Hashable, tuple[Hashable, ...]]]
    #: Order "fewest_held" with tie "served", and "round_robin": for every node of the job tree with a waiting run below
    #: it, its line.
    lines: frozenset[Line]
    order: str
    tie: str
    relend: bool


#: A run that got a slot, and what it has it as: "pool" or "loan".
Grant: TypeAlias = tuple[Hashable, str]


class Answer(NamedTuple):
    """What one call did: together exactly the difference it made to who has which slot."""

    #: The runs that got a slot, in order of hand-off.
    granted: tuple[Grant, ...] = ()
    #: The runs whose pool slot went back to the pool while they go on, on loan from their parent (R13).
    relent: tuple[Hashable, ...] = ()
