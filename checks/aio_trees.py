"""The trees of the first seed post on an asyncio port and a real loop; and a million tasks through one pool.

What the port's core counts and what the bodies count must agree with each other, with the figures of the post, and with
the exact maximum of runs in flight.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from slotcheck.checks.aio_programs import Port
from slotcheck.checks.facts import most_in_flight
from slotcheck.checks.figure import Figure
from slotcheck.pymodel.scenario import RunSpec
from slotlending import aio

__all__ = ["TREES", "Growth", "Tree", "TreeResult", "grow_tree", "many_tasks", "many_tasks_figure"]


class Tree(NamedTuple):
    """A full tree under a cap, and the peaks that the post gives for it."""

    cap: int
    #: Edges from the root to a leaf; the tree has one level more.
    depth: int
    fan_out: int
    executing: int
    in_flight: int
    leaves: int

    @property
    def name(self) -> str:
        return f"cap {self.cap}, depth {self.depth}, fan-out {self.fan_out}"

    @property
    def bound(self) -> int:
        """Cap x levels."""
        return self.cap * (self.depth + 1)

    @property
    def runs(self) -> list[RunSpec]:
        """The tree's runs, named by number: children stand after their parents."""
        runs = [RunSpec("0")]
        level = ["0"]
        for _ in range(self.depth):
            below = []
            for parent in level:
                for _ in range(self.fan_out):
                    runs.append(RunSpec(str(len(runs)), parent))
                    below.append(runs[-1].name)
            level = below
        return runs


#: Those of the post.
TREES = (
    Tree(2, 3, 2, 2, 7, 2),
    Tree(1, 20, 1, 1, 21, 1),
    Tree(1, 10, 2, 1, 11, 1),
    Tree(2, 10, 2, 2, 21, 2),
    Tree(1, 1, 1000, 1, 2, 1),
    Tree(32, 1, 3000, 32, 33, 32),
    Tree(4, 3, 10, 4, 13, 4),
)


class TreeResult(NamedTuple):
    """The peaks seen on one tree."""

    tree: Tree
    tasks: int
    #: By the core: slots out, which are the runs with an unlent slot, so those executing; and runs in flight.
    executing: int
    in_flight: int
    #: By the bodies: those between their beginning and their end; leaves at once, all of them at work.
    bodies: int
    leaves: int
    #: The exact maximum of runs in flight.
    most: int
    #: Tasks at once, where each run makes its children's tasks at will, and where it starts them in a group.
    at_once: int
    at_once_by_start: int
    #: Whether in the end every slot had come back, and every run was forgotten.
    returned: bool

    @property
    def faults(self) -> list[str]:
        """What is not as it must be."""
        tree = self.tree
        must = (
            ("executing", self.executing, tree.executing),
            ("in flight", self.in_flight, tree.in_flight),
            ("bodies in flight", self.bodies, tree.in_flight),
            ("leaves at once", self.leaves, tree.leaves),
            ("the exact maximum in flight", self.most, tree.in_flight),
        )
        faults = [f"{tree.name}: {what} {seen}, but it must be {due}" for what, seen, due in must if seen != due]
        return faults if self.returned else [*faults, f"{tree.name}: a slot did not come back"]


class _Bodies:
    """The bodies of one tree, which count themselves, and the core's counts at every moment that can be a peak."""

    def __init__(self, port: Port, tree: Tree) -> None:
        self.pool = port.cls(tree.cap)
        self.current_run = port.current_run
        self.tree = tree
        self.tasks = self.alive = self.inside = self.at_work = 0
        self.at_once = self.bodies = self.leaves = self.executing = self.in_flight = 0

    async def by_gather(self, depth: int) -> None:
        """A run whose children's tasks are all made at once."""
        with self.task():
            async with self.pool:
                with self.body():
                    if depth == 0:
                        await self.leaf()
                    else:
                        await asyncio.gather(*[self.by_gather(depth - 1) for _ in range(self.tree.fan_out)])
            self.look()  # whoever was handed this run's slot counts from now on

    async def by_start(self, depth: int) -> None:
        """A run that has its slot, and makes a child's task once the child has one."""
        with self.task(), self.body():
            if depth == 0:
                await self.leaf()
            else:
                async with self.current_run(self.pool).group() as group:
                    for _ in range(self.tree.fan_out):
                        await group.start(self.by_start, depth - 1)

    async def root_by_start(self) -> None:
        """The root of `by_start`."""
        async with self.pool.slot():
            await self.by_start(self.tree.depth)

    async def leaf(self) -> None:
        self.at_work += 1
        self.leaves = max(self.leaves, self.at_work)
        await asyncio.sleep(0)
        self.at_work -= 1

    @contextmanager
    def task(self) -> Iterator[None]:
        self.tasks += 1
        self.alive += 1
        self.at_once = max(self.at_once, self.alive)
        yield
        self.alive -= 1

    @contextmanager
    def body(self) -> Iterator[None]:
        self.inside += 1
        self.bodies = max(self.bodies, self.inside)
        self.look()
        yield
        self.look()
        self.inside -= 1

    def look(self) -> None:
        counts = self.pool.core.statistics()
        self.executing = max(self.executing, counts.taken)
        self.in_flight = max(self.in_flight, counts.in_flight)

    def returned(self) -> bool:
        counts = self.pool.core.statistics()
        return not (counts.taken or counts.waiting or counts.in_flight or counts.parked)


def grow_tree(tree: Tree, port: Port) -> TreeResult:
    """Run a tree on a pool of the port, on a real loop, in two forms."""
    bodies, started = _Bodies(port, tree), _Bodies(port, tree)
    asyncio.run(bodies.by_gather(tree.depth))
    asyncio.run(started.root_by_start())
    return TreeResult(
        tree,
        bodies.tasks,
        max(bodies.executing, started.executing),
        max(bodies.in_flight, started.in_flight),
        bodies.bodies,
        bodies.leaves,
        most_in_flight(tree.runs, tree.cap),
        bodies.at_once,
        started.at_once,
        bodies.returned() and started.returned(),
    )


class Growth(NamedTuple):
    """What many tasks have left behind."""

    tasks: int
    #: How many were alive at once.
    at_once: int
    #: Blocks of memory that Python holds beyond those it held before: of up to 512 bytes each, counted exactly.
    blocks: int
    #: Memory that the process has in the machine beyond what it had before, in KiB; None where that cannot be read.
    kib: int | None

    @property
    def faults(self) -> list[str]:
        """What is not as it must be."""
        grown = self.blocks > _MOST_BLOCKS or (self.kib or 0) > _MOST_KIB
        return [f"{self.tasks:,} tasks left {self.blocks:,} blocks and {self.kib} KiB behind"] if grown else []


_MOST_BLOCKS, _MOST_KIB = 1_000, 8_192  # what is no growth yet: caches, and memory that the machine rounds up


def many_tasks(port: Port, tasks: int, *, at_once: int = 1_000, tell: Callable[[int], None] | None = None) -> Growth:
    """Put so many tasks through one pool, a bounded number alive at once, and measure what they leave behind.

    In families of ten: a run, eight children below it that use the pool, and one more that is cancelled in its wait.

    Args:
        port: whose pool.
        tasks: how many in all.
        at_once: how many live at once.
        tell: is told how many are done, from time to time.
    """
    return asyncio.run(_many_tasks(port, tasks, at_once, tell))


def many_tasks_figure(tasks: int = 1_000_000) -> Figure:
    """The same on the port that ships, for ``slotcheck bench``."""
    growth = many_tasks(Port("aio", aio.Pool, aio.current_run), tasks)
    counts = {"tasks": growth.tasks, "at once": growth.at_once}
    if growth.kib is not None:
        counts["KiB more in the process"] = growth.kib
    return Figure("memory that tasks through one aio.Pool leave behind", growth.blocks, "blocks", "<= 1000", counts)


_FAMILY = 10


async def _many_tasks(port: Port, tasks: int, at_once: int, tell: Callable[[int], None] | None) -> Growth:
    pool = port.cls(4)

    async def child() -> None:
        await asyncio.sleep(0)

    async def slotted() -> None:
        async with pool:
            await child()

    async def family() -> None:
        async with pool, asyncio.TaskGroup() as group:
            for _ in range(_FAMILY - 2):
                group.create_task(slotted())
            last = group.create_task(slotted())
            await asyncio.sleep(0)
            last.cancel()

    async def chunk() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(at_once // _FAMILY, 1)):
                group.create_task(family())

    size = max(at_once // _FAMILY, 1) * _FAMILY
    for _ in range(10):  # until the free lists of Python and of the loop are full
        await chunk()
    gc.collect()
    blocks, kib = sys.getallocatedblocks(), _resident_kib()
    done = 0
    while done < tasks:
        await chunk()
        done += size
        if tell is not None:
            tell(done)
    gc.collect()
    more, now = sys.getallocatedblocks() - blocks, _resident_kib()
    return Growth(done, size, more, None if kib is None or now is None else now - kib)


def _resident_kib() -> int | None:
    """The memory that this process has, without the cost of tracing every allocation."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // 1024
    except (OSError, ValueError, AttributeError):
        return None
