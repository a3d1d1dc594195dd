"""What a witness is, and what a scenario gives to see one with."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from slotcheck.checks.facts import most_in_flight
from slotcheck.pymodel.scenario import Scenario

__all__ = ["CALLS", "STATES", "STEPS", "Means", "Witness"]

STATES, CALLS, STEPS = "states", "calls", "steps"


class Means:
    """What a scenario at one cap gives to work with. With bodies or a script of its own it promises nothing."""

    def __init__(self, scenario: Scenario, cap: int, relend: bool) -> None:
        self.scenario = scenario
        self.cap = cap
        self.relend = relend
        own = any(run.body is not None or run.late or run.live for run in scenario.runs)
        self.free = not (scenario.script or scenario.blocking_spawn or own)
        self.cancel, self.finish, self.resize = (
            any(act.verb == verb and (verb == "resize" or act.run is None) for act in scenario.environment)
            for verb in ("cancel", "finish", "resize")
        )

    @property
    def raised_by(self) -> int:
        """By how much one resize can raise the cap, after at most one that lowers it."""
        caps = [act.cap for act in self.scenario.environment if act.verb == "resize" and act.cap is not None]
        if not caps:
            return 0
        lowest = min(self.cap, *caps) if self.scenario.resizes > 1 else self.cap
        return max(caps) - lowest  # the cap it began with can be gone back to only by an act

    def allow(self, witness: Witness) -> bool:
        """Whether the witness must be seen if everything that these means allow is explored."""
        return self.free and witness.of_permits == self.scenario.permits and witness.possible(self)

    @cached_property
    def builds(self) -> int:
        """The most runs of one component that nothing is above."""
        components = [run.component for run in self.scenario.runs if run.parent is None and run.component is not None]
        return max(map(components.count, components), default=0)

    @property
    def keyed(self) -> bool:
        """Whether the runs of every component have one key."""
        return all(
            run.key is not None and run.key == other.key
            for run in self.scenario.runs
            for other in self.scenario.runs
            if run.component == other.component is not None
        )

    @cached_property
    def levels(self) -> dict[str, int]:
        """The level of each run."""
        levels: dict[str, int] = {}
        for run in self.scenario.runs:
            levels[run.name] = 1 if run.parent is None else levels[run.parent] + 1
        return levels

    @cached_property
    def depth(self) -> int:
        """The number of levels."""
        return max(self.levels.values())

    @cached_property
    def leaves(self) -> dict[str, int]:
        """For each tree, by its root, its leaves: so many runs can hold a slot unlent at once."""
        parents = {run.parent for run in self.scenario.runs}
        root: dict[str, str] = {}
        leaves: dict[str, int] = {}
        for run in self.scenario.runs:
            root[run.name] = run.name if run.parent is None else root[run.parent]
            leaves[root[run.name]] = leaves.get(root[run.name], 0) + (run.name not in parents)
        return leaves

    @cached_property
    def siblings(self) -> int:
        """The most children that a run has."""
        parents = [run.parent for run in self.scenario.runs if run.parent is not None]
        return max(map(parents.count, parents), default=0)

    @property
    def widest(self) -> int:
        """The most runs on one level below the first."""
        below = [level for level in self.levels.values() if level > 1]
        return max(map(below.count, below), default=0)

    @property
    def most(self) -> int:
        """As MaxInFlight counts."""
        return most_in_flight(self.scenario.runs, self.cap)


class Witness(NamedTuple):
    """Something that must be seen, and the invariant that it keeps from being empty."""

    name: str
    invariant: str
    #: Whether these means are sure to show it, so that it must be seen where everything is explored.
    possible: Callable[[Means], bool]
    #: Whether a state or a call is a witness.
    check: Callable[..., bool]
    #: What is looked at: a situation, a happening, or (told by the judge itself) who has resumed when a step is taken.
    of: str = STATES
    #: Whether it is about permits. Where runs need permits only these are demanded: who waits for a permit may not be
    #: where a witness of the pool needs it.
    of_permits: bool = False
