"""A priority queue whose items can be re-keyed and dropped: what an order needs to find the least waiter fast.

Entries never move inside the heap. A new key is a new entry; the old one goes stale and is thrown away when it reaches
the top, or all at once when stale entries outnumber the live ones. So ``set`` and ``discard`` cost O(log n) amortised,
and the memory is O(live items) however long the queue lives. The heap is built when the least is first asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

__all__ = ["LeastFirst"]

T = TypeVar("T", bound=Hashable)

_SLACK = 16  # stale entries tolerated whatever the size, so that small queues are not rebuilt at every step


class LeastFirst(Generic[T]):
    """Items by key, least first. Keys of different items must differ."""

    __slots__ = ("_heap", "_keys", "_serial")

    def __init__(self, items: Iterable[tuple[T, Any]] = ()) -> None:
        self._keys: dict[T, Any] = dict(items)
        # Entries are (key, serial, item): the serial is unique, so a comparison never reaches the item.
        self._heap: list[tuple[Any, int, T]] | None = None
        self._serial = 0

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[T]:
        return iter(self._keys)

    def set(self, item: T, key: Any) -> None:
        """Put the item in, or give it another key."""
        self._keys[item] = key
        if self._heap is None:
            return
        self._serial += 1
        heappush(self._heap, (key, self._serial, item))
        self._tidy()

    def discard(self, item: T) -> None:
        """Take the item out if it is in."""
        self._keys.pop(item, None)
        self._tidy()

    def _tidy(self) -> None:
        """Throw the heap away once most of it is stale."""
        if self._heap is not None and len(self._heap) > 2 * len(self._keys) + _SLACK:
            self._heap = None

    def least(self) -> T:
        """The item of the least key. The queue must not be empty."""
        keys, heap = self._keys, self._heap
        if heap is None:
            heap = self._heap = [(key, serial, item) for serial, (item, key) in enumerate(keys.items())]
            self._serial = len(heap)
            heapify(heap)
        while True:
            key, _, item = heap[0]
            if keys.get(item) == key:
                return item
            heappop(heap)
