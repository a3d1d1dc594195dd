"""What a simulation leaves behind: counts over time, peaks, and when each run asked, was admitted and ended."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from slotcheck.pymodel.scenario import Scenario

__all__ = ["Peak", "Simulated", "Steps"]

Job = tuple[str, ...]


class Steps:
    """A count over time: constant from one change to the next, 0 before the first."""

    __slots__ = ("times_ms", "values")

    def __init__(self) -> None:
        self.times_ms = array("q")
        self.values = array("q")

    def set(self, time_ms: int, value: int) -> None:
        """The count from this time on. Times never go back; the last word at one time counts."""
        if self.times_ms and self.times_ms[-1] == time_ms:
            self.times_ms.pop()
            self.values.pop()
        if value != (self.values[-1] if self.values else 0):
            self.times_ms.append(time_ms)
            self.values.append(value)

    def at(self, time_ms: int) -> int:
        """The count at this time."""
        place = bisect_right(self.times_ms, time_ms)
        return self.values[place - 1] if place else 0

    def area(self, until_ms: int) -> int:
        """The count times its duration, in slot x ms, from 0 to this time."""
        ends = [*self.times_ms[1:], until_ms]
        return sum(
            value * (min(end, until_ms) - start)
            for start, end, value in zip(self.times_ms, ends, self.values, strict=True)
            if start < until_ms
        )


class Peak:
    """A count on every level of the forest, with its peaks: of all levels together, and of each."""

    __slots__ = ("_levels", "_now", "by_level", "now", "peak")

    def __init__(self) -> None:
        self.now = self.peak = 0
        self._now: dict[int, int] = defaultdict(int)
        self.by_level: dict[int, int] = defaultdict(int)

    def add(self, level: int, count: int) -> None:
        """So many more (or fewer) on this level."""
        self.now += count
        if self.now > self.peak:
            self.peak = self.now
        on_level = self._now[level] = self._now[level] + count
        if on_level > self.by_level[level]:
            self.by_level[level] = on_level


@dataclass
class Simulated:
    """One simulation. Times are in ms, -1 where a run never came to that; runs go by their place in the scenario."""

    scenario: Scenario
    end_ms: int = 0
    asked_ms: array[int] = field(default_factory=lambda: array("q"))
    admitted_ms: array[int] = field(default_factory=lambda: array("q"))
    ended_ms: array[int] = field(default_factory=lambda: array("q"))
    #: Runs that have asked and not ended when nothing goes on any more.
    stuck: tuple[str, ...] = ()
    #: Runs that the rule declined for good.
    declined: tuple[str, ...] = ()
    #: For each leaf job the pool slots charged to it, over time (at the end of each instant).
    held: Mapping[Job, Steps] = field(default_factory=dict)
    #: Runs that have asked and not ended; those admitted of them; those at a piece of work.
    alive: Peak = field(default_factory=Peak)
    in_flight: Peak = field(default_factory=Peak)
    working: Peak = field(default_factory=Peak)
    #: Runs in flight and runs at work over time, at the end of each instant.
    in_flight_steps: Steps = field(default_factory=Steps)
    working_steps: Steps = field(default_factory=Steps)

    def took_ms(self, job: Job) -> int | None:
        """From the job's first ask to its last end, jobs below it included; None if some run of it never ended."""
        places = self._places(job)
        if any(self.ended_ms[at] < 0 for at in places):
            return None
        return max(self.ended_ms[at] for at in places) - min(self.asked_ms[at] for at in places)

    def ends_ms(self, job: Job) -> int:
        """When the last run of the job ended; -1 if none did."""
        return max(self.ended_ms[at] for at in self._places(job))

    def done_by(self, job: Job, time_ms: int) -> int:
        """How many runs of the job had ended by then."""
        return sum(0 <= self.ended_ms[at] <= time_ms for at in self._places(job))

    def share(self, job: Job, until_ms: int) -> float:
        """Which part of all slot time so far was charged to the job; 0 if none was used."""
        everything = sum(steps.area(until_ms) for steps in self.held.values())
        own = sum(steps.area(until_ms) for path, steps in self.held.items() if path[: len(job)] == job)
        return own / everything if everything else 0.0

    def _places(self, job: Job) -> list[int]:
        jobs = self.scenario.jobs
        return [at for at, run in enumerate(self.scenario.runs) if jobs[run.name][: len(job)] == job]
