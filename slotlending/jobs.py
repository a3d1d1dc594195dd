"""The tree of jobs that have known runs: who shares with whom, and what each holds.

A job is a non-empty path of names, such as ``("app", "live", "update 7")``. Runs belong to leaf jobs. A node exists
exactly as long as a known run lies at or below it, so a pool that serves millions of jobs one after the other stays
small. Nodes point up only: the tree is kept by path, which spares the garbage collector.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from slotlending.errors import JobNotLeaf

__all__ = ["Job", "JobNode", "JobTree"]

Job: TypeAlias = tuple[Hashable, ...]


class JobNode:
    """One job, or an inner node of the tree of jobs (the root, the empty path, included)."""

    __slots__ = ("below", "held", "path", "place", "runs", "up", "waiting")

    def __init__(self, path: Job, up: JobNode | None) -> None:
        self.path = path
        self.up = up
        self.runs = 0  # known runs of this very job; 0 at inner nodes
        self.below = 0  # child nodes; 0 at leaf jobs
        self.held = 0  # pool slots charged to runs at or below, parked ones included; not kept at the root
        self.waiting = 0  # waiting runs at or below; kept by the order that needs it
        self.place = 0  # what breaks a tie between this node and its siblings; kept by the order that needs it

    def charge(self, slots: int) -> None:
        """This many pool slots more, here and above (the root aside)."""
        node, up = self, self.up
        while up is not None:
            node.held += slots
            node, up = up, up.up


class JobTree:
    """All jobs with known runs, by path."""

    __slots__ = ("nodes", "root")

    def __init__(self) -> None:
        self.root = JobNode((), None)
        self.nodes: dict[Job, JobNode] = {}

    def judge(self, path: Job) -> None:
        """Raise `JobNotLeaf` if a run of this job would lie above or below a job that has a known run."""
        node = self.nodes.get(path)
        if node is not None:
            if node.below:
                raise JobNotLeaf(path, f"job {path!r} lies above jobs that have runs")
            return
        if not path:
            raise JobNotLeaf(path, "a job is a non-empty path of names, not ()")
        for length in range(len(path) - 1, 0, -1):
            node = self.nodes.get(path[:length])
            if node is not None:
                if node.runs:
                    raise JobNotLeaf(path, f"job {path!r} lies below {node.path!r}, which has a run")
                return

    def enter(self, path: Job) -> JobNode:
        """One more known run of this (judged) job."""
        node = self.nodes.get(path)
        if node is None:
            node = self._grow(path)
        node.runs += 1
        return node

    def leave(self, node: JobNode) -> None:
        """One known run of this job fewer. A node without runs below is forgotten."""
        node.runs -= 1
        while not node.runs and not node.below and node.up is not None:
            del self.nodes[node.path]
            node = node.up
            node.below -= 1

    def _grow(self, path: Job) -> JobNode:
        up = self.root if len(path) == 1 else self.nodes.get(path[:-1]) or self._grow(path[:-1])
        up.below += 1
        node = self.nodes[path] = JobNode(path, up)
        return node
