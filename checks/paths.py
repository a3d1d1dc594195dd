"""The downward paths of a forest that bound what is in flight under lending: one for each slot's chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slotcheck.pymodel.scenario import RunSpec

__all__ = ["HeaviestPath", "heaviest_paths", "levels_of"]


class HeaviestPath(NamedTuple):
    """A downward path, from its highest run, and what its runs hold together."""

    runs: tuple[str, ...]
    size: int


def heaviest_paths(runs: Sequence[RunSpec], sizes: Mapping[str, int], cap: int) -> list[HeaviestPath]:
    """The ``cap`` vertex-disjoint downward paths of a forest that hold the most together, the heaviest first.

    Found by cutting every run's heaviest path below off from its siblings': such a decomposition is optimal, since
    exchanging a path for one that starts at the same run and goes on through a lighter child never gains anything.

    Args:
        runs: the forest, parents before their children.
        sizes: what each run holds while it is in flight, none below 0.
        cap: how many paths, at least 1.
    """
    below: dict[str | None, list[tuple[int, list[str]]]] = {}
    done: list[tuple[int, list[str]]] = []
    for run in reversed(runs):
        # The last of them comes first; `max` finds the first of equal ones.
        paths = below.pop(run.name, [])[::-1]
        weight, path = max(paths, key=lambda path: path[0], default=(0, []))
        done += [other for other in paths if other[1] is not path]
        path.append(run.name)
        below.setdefault(run.parent, []).append((weight + sizes[run.name], path))
    done += below.get(None, [])
    # Of equal ones the one that begins first, so that it stands above the others.
    place = {run.name: at for at, run in enumerate(runs)}
    heaviest = sorted(done, key=lambda path: (-path[0], place[path[1][-1]]))[:cap]
    return [HeaviestPath(tuple(reversed(path)), weight) for weight, path in heaviest]


def levels_of(runs: Sequence[RunSpec]) -> dict[str, int]:
    """The level of each run: 1 for a root."""
    levels: dict[str, int] = {}
    for run in runs:
        levels[run.name] = 1 if run.parent is None else levels[run.parent] + 1
    return levels
