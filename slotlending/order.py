"""R6: which waiter gets a freed pool slot.

An order answers one question, ``pick``, and is told of everything that its answer may depend on: who starts to wait
(``join``), who stops (``leave``, with or without a pool slot), and which job a pool slot is charged to or uncharged
from. It knows no loans, parents or caps.

`Fifo` serves the run that has waited longest. `FewestHeldFirst`, the default, goes from the root of the job tree down,
at each node to the child that has the least ``(held, place)`` among those with a run waiting at or below them, and
inside a leaf job to the run that has waited longest. The tie-break gives the place:

``served``
    the children with a waiting run stand in a line: join at the end when the first run starts to wait, go to the end
    when a run at or below gets a pool slot while others there still wait, leave when none waits. The default.
``oldest``
    the arrival of the longest-waiting run at or below. With as many busy jobs as slots it falls back to first come,
    first served: a job whose only slot came back holds nothing again and has the older backlog.

The other orders of R6, for comparison, are in other_orders.py.

Costs, for a job tree of depth d with j waiting jobs: O(1) for `Fifo`; O(d log j) a call for `FewestHeldFirst`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

from slotlending.heap import LeastFirst
from slotlending.jobs import Job, JobNode, JobTree

__all__ = [
    "FEWEST_HELD",
    "FIFO",
    "OLDEST",
    "SERVED",
    "TIES",
    "FewestHeldFirst",
    "Fifo",
    "LeastKeyFirst",
    "Line",
    "Order",
]

# A node's path, and the names of its children that have a waiting run, in line order.
Line: TypeAlias = tuple[Job, tuple[Hashable, ...]]

FIFO, FEWEST_HELD = "fifo", "fewest_held"
SERVED, OLDEST = "served", "oldest"
TIES = (SERVED, OLDEST)


class Order(Protocol):
    """Which waiter gets a freed pool slot."""

    __slots__ = ()

    #: Whether a job may have to do without a pool slot that is free; only then is `admits` asked.
    limits: ClassVar[bool] = False

    def admits(self, node: JobNode) -> bool:
        """Whether the job may take one pool slot more; asked only where `limits` is set."""
        return True

    def join(self, run: Hashable, node: JobNode, arrival: int) -> None:
        """The run of this job starts to wait. Arrivals grow from call to call."""

    def leave(self, run: Hashable, node: JobNode, *, granted: bool) -> None:
        """The run waits no longer; ``granted`` if it got a pool slot (a loan or a cancel moves nobody)."""

    def pick(self) -> Hashable | None:
        """The waiter whom the next pool slot goes to; None if none of them may take one. Somebody waits."""

    def charge(self, node: JobNode, slots: int) -> None:
        """The job takes this many pool slots more (-1: one fewer)."""

    def lines(self) -> Iterable[Line]:
        """The line of every node that has one; an order that needs none is told by the arrivals alone."""

    def restore(self, waiting: Sequence[tuple[Hashable, JobNode]], lines: Iterable[Line]) -> None:
        """These runs wait, arrived as 1, 2, ..., and stand in these lines. Nobody has joined before."""


class Fifo(Order):
    """First come, first served, whatever the job."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: OrderedDict[Hashable, None] = OrderedDict()

    def join(self, run: Hashable, node: JobNode, arrival: int) -> None:
        self._queue[run] = None

    def leave(self, run: Hashable, node: JobNode, *, granted: bool) -> None:
        del self._queue[run]

    def pick(self) -> Hashable:
        return next(iter(self._queue))

    def charge(self, node: JobNode, slots: int) -> None:
        node.charge(slots)

    def lines(self) -> Iterable[Line]:
        return ()

    def restore(self, waiting: Sequence[tuple[Hashable, JobNode]], lines: Iterable[Line]) -> None:
        self._queue = OrderedDict.fromkeys(run for run, _ in waiting)


class LeastKeyFirst(Order):
    """From the root of the job tree down, at each node the child of least key; with either way to give a place.

    Kept true between calls: a node stands in its parent's line iff a run waits at or below it, under its key; under
    `oldest` it stands in its parent's ages too, under ``place``. Only nodes with a waiting run below have a line, and
    only leaf jobs with one have a queue: their runs, with their arrivals, by arrival.
    """

    __slots__ = ("_ages", "_lines", "_oldest", "_places", "_queues", "_tree")

    def __init__(self, tree: JobTree, tie: str = SERVED) -> None:
        self._tree = tree
        self._oldest = tie == OLDEST
        self._places = 0  # the last place given in any line; places are only compared inside one line
        self._queues: dict[JobNode, OrderedDict[Hashable, int]] = {}
        self._lines: dict[JobNode, LeastFirst[JobNode]] = {}
        self._ages: dict[JobNode, LeastFirst[JobNode]] = {}

    def _key(self, node: JobNode) -> Any:
        """What the least of decides; different for siblings, as their places are."""
        raise NotImplementedError

    def join(self, run: Hashable, node: JobNode, arrival: int) -> None:
        queue = self._queues.get(node)
        if queue is None:
            queue = self._queues[node] = OrderedDict()
        queue[run] = arrival
        up = node.up
        while up is not None:
            node.waiting += 1
            if node.waiting == 1:
                self._places += 1
                node.place = arrival if self._oldest else self._places
                self._stand(up, node)
            node, up = up, up.up

    def leave(self, run: Hashable, node: JobNode, *, granted: bool) -> None:
        leaf = node
        queue = self._queues[leaf]
        del queue[run]
        if not queue:
            del self._queues[node]
        up = node.up
        while up is not None:
            node.waiting -= 1
            if not node.waiting:
                self._step_out(up, node)
            elif self._oldest:
                oldest = queue[next(iter(queue))] if node is leaf else self._ages[node].least().place
                if oldest != node.place:
                    node.place = oldest
                    self._stand(up, node)
            elif granted:
                self._places += 1
                node.place = self._places
                self._stand(up, node)
            node, up = up, up.up

    def pick(self) -> Hashable:
        lines = self._lines
        node = self._tree.root
        line = lines.get(node)
        while line is not None:
            node = line.least()
            line = lines.get(node)
        return next(iter(self._queues[node]))

    def charge(self, node: JobNode, slots: int) -> None:
        up = node.up
        while up is not None:
            node.held += slots
            if node.waiting:
                self._lines[up].set(node, self._key(node))
            node, up = up, up.up

    def lines(self) -> Iterable[Line]:
        if self._oldest:
            return ()
        return [
            (up.path, tuple([node.path[-1] for node in sorted(line, key=_place)])) for up, line in self._lines.items()
        ]

    def restore(self, waiting: Sequence[tuple[Hashable, JobNode]], lines: Iterable[Line]) -> None:
        if self._oldest:
            for arrival, (run, node) in enumerate(waiting, 1):
                self.join(run, node, arrival)
            return
        queues = self._queues
        for arrival, (run, node) in enumerate(waiting, 1):
            queue = queues.get(node)
            if queue is None:
                queue = queues[node] = OrderedDict()
            queue[run] = arrival
        for node, queue in queues.items():
            count, up = len(queue), node.up
            while up is not None:
                node.waiting += count
                node, up = up, up.up
        for path, names in lines:
            up = self._tree.nodes[path] if path else self._tree.root
            line = []
            for name in names:
                self._places += 1
                node = self._tree.nodes[(*path, name)]
                node.place = self._places
                line.append((node, self._key(node)))
            self._lines[up] = LeastFirst(line)

    def _stand(self, up: JobNode, node: JobNode) -> None:
        """The node stands in its parent's line, at its place."""
        line = self._lines.get(up)
        if line is None:
            line = self._lines[up] = LeastFirst()
        line.set(node, self._key(node))
        if self._oldest:
            ages = self._ages.get(up)
            if ages is None:
                ages = self._ages[up] = LeastFirst()
            ages.set(node, node.place)

    def _step_out(self, up: JobNode, node: JobNode) -> None:
        """The node leaves its parent's line."""
        for lines in (self._lines, self._ages) if self._oldest else (self._lines,):
            line = lines[up]
            line.discard(node)
            if not line:
                del lines[up]


class FewestHeldFirst(LeastKeyFirst):
    """Fewest held first over the tree of jobs, with either tie-break."""

    __slots__ = ()

    def _key(self, node: JobNode) -> Any:
        return node.held, node.place


def _place(node: JobNode) -> int:
    return node.place
