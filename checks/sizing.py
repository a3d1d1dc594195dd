"""How much state the runs in flight can hold at once: what a cap is sized by.

Each slot's chain goes down the tree, one run per level, so what is in flight lies on ``cap`` disjoint downward paths,
and the peak is at most the sum over the heaviest such paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from slotcheck.checks.check import Part, ledger_for
from slotcheck.checks.paths import HeaviestPath, heaviest_paths, levels_of
from slotcheck.checks.subject import resolve_subject
from slotcheck.pymodel.explore import Limits, Search, explore
from slotcheck.pymodel.scenario import RunSpec, Scenario
from slotcheck.pymodel.workload import Workload, WorkloadState

__all__ = ["Heavy", "Seen", "parse_size", "peak_seen", "size_text"]

_UNITS: dict[str, int] = {"": 1, "B": 1, **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)}}
_UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)}


class Heavy(NamedTuple):
    """A bound on the state in flight, a rough one and the one that is reached."""

    #: cap x (the largest state of a run on each level, summed over the levels).
    by_levels: int
    paths: list[HeaviestPath]

    @property
    def by_paths(self) -> int:
        """The sum over the heaviest disjoint downward paths."""
        return sum(path.size for path in self.paths)

    @classmethod
    def of(cls, runs: Sequence[RunSpec], sizes: Mapping[str, int], cap: int) -> Heavy:
        """The bounds for a forest at one cap."""
        largest: dict[int, int] = {}
        for run, level in levels_of(runs).items():
            largest[level] = max(largest.get(level, 0), sizes[run])
        return cls(cap * sum(largest.values()), heaviest_paths(runs, sizes, cap))


class Seen(NamedTuple):
    """The greatest state in flight that exploring the pool comes to."""

    size: int
    #: The runs that are in flight there.
    runs: tuple[str, ...]
    states: int
    #: Why the exploration was cut short, so that there may be more.
    stopped: str | None


class _Enough(Exception):
    """As much was seen as can be."""


def peak_seen(
    scenario: Scenario,
    sizes: Mapping[str, int],
    cap: int,
    limits: Limits | None = None,
    *,
    bound: Heavy | None = None,
) -> Seen:
    """Explore the pool that ships under a scenario, for the state in flight.

    Given the bound the look begins along its paths, and ends where it is reached: in a plain tree that is at once, in
    one of thousands of runs too.
    """
    subject = resolve_subject("pool")
    ledger = ledger_for(Part(scenario, cap, False), subject, only=())
    # Which runs are alike is told by their places: where sizes tell runs of one level apart, nothing is merged.
    levels = levels_of(scenario.runs)
    alike = len({(level, sizes[run]) for run, level in levels.items()}) == scenario.levels
    workload = Workload(scenario, ledger.calls, cap=cap, symmetry=alike, resume_at_grant=not scenario.script)
    best: tuple[int, tuple[str, ...]] = (0, ())
    states = 0

    def weigh(state: WorkloadState) -> None:
        nonlocal best, states
        states += 1
        runs = [run.run for run in ledger.facts(state.pool).in_flight]
        weight = sum(sizes[run] for run in runs)
        if weight > best[0]:
            best = weight, tuple(sorted(runs, key=scenario.index.__getitem__))
        if bound is not None and weight >= bound.by_paths:
            raise _Enough

    search = Search.BREADTH if bound is None else Search.DEPTH
    try:
        if bound is not None:
            for state in _along(Workload(scenario, ledger.calls, cap=cap, symmetry=False, resume_at_grant=True), bound):
                weigh(state)
        stopped = explore(workload, search=search, limits=limits, on_state=weigh).stopped
    except _Enough:
        stopped = None
    return Seen(*best, states, stopped)


def _along(workload: Workload, bound: Heavy) -> Iterator[WorkloadState]:
    """The states where the runs of the heaviest paths ask one after the other, as far as they can."""
    state = workload.initial()[0]
    yield state
    for run in (run for path in bound.paths for run in path.runs):
        if ("ask", run) not in workload.actions(state):
            return
        state = workload.next(state, ("ask", run))
        yield state


def parse_size(text: str) -> int:
    """A size in bytes, parts of one counted in full: ``100000``, ``100 KB``, ``1.5MiB``.

    Raises:
        ValueError: it is no size; says what is.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    units = {unit.lower(): factor for unit, factor in _UNITS.items()}
    if match is None or match[2].lower() not in units:
        raise ValueError(f"{text!r} is no size: write a number of bytes, or one with a unit such as 100KB or 1.5MiB")
    size = Fraction(match[1]) * units[match[2].lower()]
    return -(-size.numerator // size.denominator)


def size_text(size: int) -> str:
    """A size in bytes for people: at most two decimals in the greatest decimal unit that fits."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{size} B"
