"""The orders of R6 that lending is compared with, and the one place where an order is made from its name.

An order is named by a word, with its parameter after a colon where it has one, so that a name is all that a snapshot
has to hold:

``fewest_held``, ``fifo``
    see order.py.
``round_robin``
    jobs take turns, whatever they hold: as fewest held first with tie `served`, from the root of the job tree down, but
    only the place in the line counts.
``strict_priority:NAME,NAME,...``
    from the root of the job tree down, at each node the child whose name stands first in the list; names that do not
    stand there come last, and among those the child with the run that has waited longest. A busy job starves all
    those after it. A name in the list is a string without a comma; a job's name of another kind is not in it.
``fixed_share:N``
    a (leaf) job never holds more than N pool slots, as if it had a semaphore of N to itself; of the jobs that may take
    one more, the run that has waited longest. Slots idle while only jobs with a full share have runs waiting, so R7
    says here: no run waits while a pool slot is free *that its job may take*.

Costs as those of fewest held first; O(log j) a call for ``fixed_share``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar

from slotlending.heap import LeastFirst
from slotlending.jobs import JobNode, JobTree
from slotlending.order import (
    FEWEST_HELD,
    FIFO,
    OLDEST,
    SERVED,
    FewestHeldFirst,
    Fifo,
    LeastKeyFirst,
    Line,
    Order,
)

__all__ = [
    "FIXED_SHARE",
    "ORDERS",
    "ROUND_ROBIN",
    "STRICT_PRIORITY",
    "FixedShare",
    "RoundRobin",
    "StrictPriority",
    "order_of",
    "share_of",
]

ROUND_ROBIN, STRICT_PRIORITY, FIXED_SHARE = "round_robin", "strict_priority", "fixed_share"
ORDERS = (FEWEST_HELD, FIFO, ROUND_ROBIN, f"{STRICT_PRIORITY}:NAME,...", f"{FIXED_SHARE}:N")


class RoundRobin(LeastKeyFirst):
    """The jobs of a node take turns."""

    __slots__ = ()

    def __init__(self, tree: JobTree) -> None:
        super().__init__(tree, SERVED)

    def _key(self, node: JobNode) -> Any:
        return node.place


class StrictPriority(LeastKeyFirst):
    """At each node the child whose name stands first; of those not named, the one that has waited longest."""

    __slots__ = ("_rank",)

    def __init__(self, tree: JobTree, names: Iterable[str]) -> None:
        super().__init__(tree, OLDEST)
        self._rank: dict[Hashable, int] = {name: rank for rank, name in enumerate(names)}

    def _key(self, node: JobNode) -> Any:
        return self._rank.get(node.path[-1], len(self._rank)), node.place


class FixedShare(Order):
    """First come, first served among the jobs that hold less than their share.

    Kept true between calls: a leaf job with waiting runs has a queue, its runs with their arrivals by arrival, and
    stands in the line, under the first of these arrivals, iff it holds less than its share.
    """

    __slots__ = ("_line", "_queues", "_share")

    limits: ClassVar[bool] = True

    def __init__(self, share: int) -> None:
        self._share = share
        self._queues: dict[JobNode, OrderedDict[Hashable, int]] = {}
        self._line: LeastFirst[JobNode] = LeastFirst()

    def admits(self, node: JobNode) -> bool:
        return node.held < self._share

    def join(self, run: Hashable, node: JobNode, arrival: int) -> None:
        queue = self._queues.get(node)
        if queue is None:
            queue = self._queues[node] = OrderedDict()
        queue[run] = arrival
        if len(queue) == 1:
            self._stand(node)

    def leave(self, run: Hashable, node: JobNode, *, granted: bool) -> None:
        queue = self._queues[node]
        del queue[run]
        if not queue:
            del self._queues[node]
        self._stand(node)

    def pick(self) -> Hashable | None:
        return next(iter(self._queues[self._line.least()])) if self._line else None

    def charge(self, node: JobNode, slots: int) -> None:
        node.charge(slots)
        self._stand(node)

    def lines(self) -> Iterable[Line]:
        return ()

    def restore(self, waiting: Sequence[tuple[Hashable, JobNode]], lines: Iterable[Line]) -> None:
        for arrival, (run, node) in enumerate(waiting, 1):
            self.join(run, node, arrival)

    def _stand(self, node: JobNode) -> None:
        """The job stands in the line, at its oldest waiter's place, iff it has one and may take a slot."""
        queue = self._queues.get(node)
        if queue and node.held < self._share:
            self._line.set(node, queue[next(iter(queue))])
        else:
            self._line.discard(node)


def order_of(name: str, tie: str, tree: JobTree) -> Order:
    """The order of this name over this tree of jobs.

    Raises:
        ValueError: there is no such order, or its parameter is missing or wrong; the message says which.
    """
    if name == FEWEST_HELD:
        return FewestHeldFirst(tree, tie)
    if name == FIFO:
        return Fifo()
    if name == ROUND_ROBIN:
        return RoundRobin(tree)
    kind, _, parameter = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind == STRICT_PRIORITY:
        names = parameter.split(",")
        if not all(names) or len(set(names)) < len(names):
            raise ValueError(
                f"{STRICT_PRIORITY} takes different names of jobs, as in {STRICT_PRIORITY}:a,b; not {name!r}"
            )
        return StrictPriority(tree, names)
    if kind == FIXED_SHARE:
        share = share_of(name)
        if share is None:
            raise ValueError(f"{kind} takes a number of slots >= 1, as in {kind}:4; not {name!r}")
        return FixedShare(share)
    raise ValueError(f"order is one of {', '.join(ORDERS)}, not {name!r}")


def share_of(name: str) -> int | None:
    """How many pool slots a job may hold under the order of this name; None if as many as there are."""
    kind, _, parameter = name.partition(":")
    if kind != FIXED_SHARE or not parameter.isascii() or not parameter.isdecimal() or len(parameter) > 9:
        return None
    return int(parameter) or None
