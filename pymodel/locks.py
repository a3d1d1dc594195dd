"""Locks and counting gates of a simulation: who is in, and who queues in order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

__all__ = ["LockQueues"]


class LockQueues:
    """All locks by name, each a gate of 1 unless told otherwise. A run may be in a gate more than once."""

    def __init__(self, gates: Mapping[str, int]) -> None:
        self._gates = gates
        self._inside: dict[str, list[int]] = {}
        self._queues: dict[str, deque[int]] = {}

    def take(self, lock: str, run: int) -> bool:
        """Whether the run is in now; otherwise it queues, and comes in by somebody's `drop` or `leave`."""
        inside = self._inside.setdefault(lock, [])
        queue = self._queues.setdefault(lock, deque())
        if run in queue:
            return False
        if len(inside) < self._gates.get(lock, 1):
            inside.append(run)
            return True
        queue.append(run)
        return False

    def drop(self, lock: str, run: int) -> Iterator[int]:
        """The run gives one place up; those who come in for it."""
        inside, queue = self._inside[lock], self._queues[lock]
        inside.remove(run)
        while queue and len(inside) < self._gates.get(lock, 1):
            first = queue.popleft()
            inside.append(first)
            yield first

    def leave(self, run: int) -> Iterator[int]:
        """The run has ended: it leaves every queue and gives all its places up; those who come in for them."""
        for lock in self._inside:
            if run in self._queues[lock]:
                self._queues[lock].remove(run)
            while run in self._inside[lock]:
                yield from self.drop(lock, run)
