"""Where the runs of a forest stand in a drawing: a tidy tree, each leaf with a column of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["Spot", "forest_of", "placed"]


class Spot(NamedTuple):
    """The place of a run: how far along its level, in columns, and which level, from 0."""

    along: float
    level: int


def forest_of(parents: Mapping[str, str | None]) -> tuple[list[str], dict[str, list[str]]]:
    """The roots, and the children of every run, both in the order of the mapping.

    A parent that is not in the mapping is none. Of runs that stand above one another in a circle, which no pool can
    have but a faulty one may tell of, the first is a root.
    """
    children: dict[str, list[str]] = {run: [] for run in parents}
    roots: list[str] = []
    settled: set[str] = set()  # known to hang below a root
    for run in parents:
        way: list[str] = []
        at: str | None = run
        while at is not None and at in parents and at not in settled and at not in way:
            way.append(at)
            at = parents[at]
        cut = at if at is not None and at in way else None
        for found in way:
            parent = parents[found]
            if parent is None or parent not in parents or found == cut:
                roots.append(found)
            else:
                children[parent].append(found)
        settled.update(way)
    order = {run: place for place, run in enumerate(parents)}
    roots.sort(key=order.__getitem__)
    for below in children.values():
        below.sort(key=order.__getitem__)
    return roots, children


def placed(
    roots: Sequence[str], children: Mapping[str, Sequence[str]], *, centred: bool = True, apart: float = 0.0
) -> dict[str, Spot]:
    """A place for each run: leaves side by side, parents above the middle of their children or above the first.

    Two runs on one level are at least 1 apart, the trees of two roots ``apart`` more.
    """
    spots: dict[str, Spot] = {}
    column = 0.0
    for root in roots:
        # A stack and not recursion: a tree may be deeper than Python's stack.
        stack = [(root, 0, False)]
        while stack:
            run, level, children_stand = stack.pop()
            below = children[run]
            if not below:
                spots[run] = Spot(column, level)
                column += 1
            elif children_stand:
                first, last = spots[below[0]].along, spots[below[-1]].along
                spots[run] = Spot((first + last) / 2 if centred else first, level)
            else:
                stack.append((run, level, True))
                stack += [(child, level + 1, False) for child in reversed(below)]
        column += apart
    return spots
