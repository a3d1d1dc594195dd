"""Symmetry of a forest: two states that differ only in which of two interchangeable siblings did what are one.

A state gives every node a local code, a number for whatever can be seen of it, places in queues included. The key of a
node is its code and the keys of its children, those of interchangeable children sorted; so the key of the whole is the
same for all states that an automorphism of the forest carries into one another, and for no others. No group is
enumerated: it costs one pass over the nodes, bottom up.

The number of states behind one key is found on the way (orbit-stabiliser: siblings with m1, m2, ... equal keys can be
arranged in k! / (m1! m2! ...) ways). Its sum over all keys is the number of states of the unreduced search, which is
a check of the reduction that costs nothing.

Sound where actions commute with automorphisms and the properties do not tell interchangeable nodes apart. The caller
says which nodes are interchangeable: those with the same ``kind`` and the same kinds below them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import factorial

__all__ = ["ForestSymmetry"]


class ForestSymmetry:
    """The automorphisms of a forest, for states given as one small hashable code a node.

    Args:
        parents: for each node the place of its parent, or None. A parent stands before its children.
        kinds: for each node what it may be exchanged for: only nodes of equal kind are interchangeable.
    """

    def __init__(self, parents: Sequence[int | None], kinds: Sequence[Hashable]) -> None:
        children: dict[int | None, list[int]] = {}
        for node, parent in enumerate(parents):
            if parent is not None and parent >= node:
                raise ValueError(f"node {node} stands before its parent {parent}")
            children.setdefault(parent, []).append(node)
        shapes: dict[int, int] = {}  # for each node the number of its shape: its kind and the shapes below
        numbers: dict[Hashable, int] = {}
        below_of: dict[int | None, tuple[tuple[int, ...], ...]] = {}
        for at in [*reversed(range(len(parents))), None]:
            groups: dict[int, list[int]] = {}
            for child in children.get(at, ()):
                groups.setdefault(shapes[child], []).append(child)
            # In the order of their shapes, so that nodes of one shape list what is below them in one order.
            below_of[at] = tuple(tuple(group) for _, group in sorted(groups.items()))
            if at is not None:
                below = tuple(sorted((shape, len(group)) for shape, group in groups.items()))
                shapes[at] = numbers.setdefault((kinds[at], below), len(numbers))
        # Bottom up: every node with children, and which of these may be exchanged for one another.
        self._inner = [(node, below_of[node]) for node in reversed(range(len(parents))) if below_of[node]]
        self._roots = below_of[None]
        self._from_the_top = [self._roots, *[groups for _, groups in reversed(self._inner)]]
        self._parents = tuple(parents)
        self._codes: dict[tuple[int, tuple[tuple[int, ...], ...]], int] = {}
        self._weights: dict[int, int] = {}

    def key_and_weight(self, local: Sequence[int]) -> tuple[Hashable, int]:
        """The key of the state with these local codes (numbers from 0), and how many states share it."""
        key, _ = self._key(local)
        return key, self._arrangements(key)

    def stand_ins(self, local: Sequence[int]) -> list[bool]:
        """For each node whether it stands for itself: False if an exchange that changes nothing puts another one in
        its place that does. What such a node can do, the other one can do to the same effect.
        """
        _, at = self._key(local)
        stands = [True] * len(at)
        for groups in self._from_the_top:
            for group in groups:
                seen: set[int] = set()
                for child in group:
                    parent = self._parents[child]
                    stands[child] = at[child] not in seen and (parent is None or stands[parent])
                    seen.add(at[child])
        return stands

    @property
    def size(self) -> int:
        """The number of automorphisms of the forest."""
        size = 1
        for groups in self._from_the_top:
            for group in groups:
                size *= factorial(len(group))
        return size

    def _key(self, local: Sequence[int]) -> tuple[tuple[tuple[int, ...], ...], list[int]]:
        """The key of the whole, and the code of each node: its local code, or below 0 one for it and all below it."""
        at = list(local)
        codes = self._codes
        for node, groups in self._inner:
            if len(groups) == 1:
                group = groups[0]
                below: tuple[tuple[int, ...], ...] = (
                    (at[group[0]],) if len(group) == 1 else tuple(sorted([at[child] for child in group])),
                )
            else:
                below = tuple([tuple(sorted([at[child] for child in group])) for group in groups])
            name = at[node], below
            found = codes.get(name)
            if found is None:
                found = codes[name] = -1 - len(codes)
                self._weights[found] = self._arrangements(below)
            at[node] = found
        return tuple([tuple(sorted([at[root] for root in group])) for group in self._roots]), at

    def _arrangements(self, groups: tuple[tuple[int, ...], ...]) -> int:
        """In how many ways the nodes with these (sorted) codes can be arranged, and each inside itself."""
        weights = self._weights
        ways = 1
        for group in groups:
            if len(group) == 1:
                ways *= weights.get(group[0], 1)
                continue
            ways *= factorial(len(group))
            equal = 0
            for at, code in enumerate(group):
                equal = equal + 1 if at and code == group[at - 1] else 1
                ways = ways // equal * weights.get(code, 1)
        return ways
