"""Generated scenarios: all unordered forests up to so many runs, and what may happen to them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.scenario import Act, RunSpec, Scenario

__all__ = ["CAPS", "ENVIRONMENTS", "ROOTS", "Environment", "forests", "generated_scenarios"]

#: A tree without names: its subtrees, in canonical order.
Shape: TypeAlias = tuple["Shape", ...]

CAPS = (1, 2, 3)
ROOTS = 3


class Environment(NamedTuple):
    """What may happen from outside, at every step."""

    name: str
    acts: tuple[Act, ...] = ()
    late_children: bool = False


_CANCEL = (Act("cancel"),)
_EARLY = (Act("finish"),)
ENVIRONMENTS = (
    Environment("plain"),
    Environment("cancel", _CANCEL),
    Environment("early", _EARLY, late_children=True),
    Environment("cancel+early", _CANCEL + _EARLY, late_children=True),
    Environment("resize", tuple(Act("resize", cap=cap) for cap in CAPS)),
)


@cache
def _trees(runs: int) -> tuple[Shape, ...]:
    """All unordered rooted trees of this many runs: 1, 1, 2, 4, 9, 20, 48, ... (OEIS A000081)."""
    return tuple(_forests(runs - 1, runs - 1, runs - 1))


def _forests(runs: int, largest: int, roots: int) -> Iterator[Shape]:
    """All multisets of at most so many trees with this many runs in all, none with more than ``largest``."""
    if runs == 0:
        yield ()
        return
    if roots == 0:
        return
    for size in range(min(runs, largest), 0, -1):
        trees = _trees(size)
        for count in range(min(runs // size, roots), 0, -1):
            for rest in _forests(runs - size * count, size - 1, roots - count):
                for chosen in _multisets(trees, count):
                    yield (*chosen, *rest)


def _multisets(trees: tuple[Shape, ...], count: int) -> Iterator[Shape]:
    if count == 0:
        yield ()
        return
    for at, tree in enumerate(trees):
        for rest in _multisets(trees[at:], count - 1):
            yield (tree, *rest)


def forests(runs: int, *, roots: int = ROOTS) -> list[tuple[RunSpec, ...]]:
    """All unordered forests with exactly this many runs and at most so many roots, the runs named a, b, c, ..."""
    return [_named(shape) for shape in _forests(runs, runs, roots)]


def _named(shape: Shape) -> tuple[RunSpec, ...]:
    specs: list[RunSpec] = []

    def name(tree: Shape, parent: str | None) -> None:
        at = len(specs)
        own = chr(ord("a") + at) if at < 26 else f"r{at}"
        specs.append(RunSpec(own, parent))
        for below in tree:
            name(below, own)

    for tree in shape:
        name(tree, None)
    return tuple(specs)


def generated_scenarios(runs: int) -> Iterator[Scenario]:
    """All forests up to this many runs under every environment, the smallest first."""
    for size in range(1, runs + 1):
        for trees in forests(size):
            told = tree_text(trees)
            for environment in ENVIRONMENTS:
                yield Scenario(
                    f"{told} {environment.name}",
                    trees,
                    caps=CAPS,
                    relend=(False, True),
                    environment=environment.acts,
                    late_children=environment.late_children,
                    tree=told,
                )
