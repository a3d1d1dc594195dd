"""What a search can say: verdicts, limits, violations, and the judge that collects them on the way."""

from __future__ import annotations

import enum
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from slotcheck.pymodel.system import Kind, Path, Property

__all__ = ["Judge", "Limits", "Result", "Verdict", "Violation"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


class Verdict(enum.Enum):
    """What a search can say."""

    HOLDS = "holds"
    VIOLATED = "violated"
    #: A limit was hit, nothing was looked at, or a witness was never reached.
    UNDETERMINED = "undetermined"


@dataclass(frozen=True)
class Limits:
    """Bounds on a search, None for none: states, wall-clock seconds, and bytes of this process's peak memory."""

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None

    def exceeded(self, states: int, started: float) -> str | None:
        """Which of them is, for a search that began at this ``time.monotonic()``; None if none is."""
        if self.states is not None and states > self.states:
            return f"more than {self.states:,} states"
        if self.seconds is not None and time.monotonic() - started > self.seconds:
            return f"more than {self.seconds:g} seconds"
        if self.memory is not None:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            if peak > self.memory:
                return f"more than {self.memory / 2**20:,.0f} MiB"
        return None


@dataclass(frozen=True)
class Violation(Generic[S, A]):
    """A property that does not hold, a path to where, and a sentence that says why.

    For a step the last action of the path is the bad one. For an ``eventually`` property ``circle`` is what goes on for
    ever from the end of the path.
    """

    property: str
    message: str
    path: Path[S, A]
    circle: tuple[A, ...] = ()


@dataclass
class Result(Generic[S, A]):
    """What a search found and what it covered."""

    #: States told apart by their key, and edges taken from them; and how many of each they stand for.
    states: int = 0
    edges: int = 0
    full_states: int = 0
    full_edges: int = 0
    #: States in which no body step is enabled.
    ends: int = 0
    #: The greatest number of actions that it took to reach a state (of a breadth-first search: the diameter).
    depth: int = 0
    #: One violation for each property that has any: the first found, so the shortest when breadth first.
    violations: list[Violation[S, A]] = field(default_factory=list)
    #: For each witness the path to it; those in `missing` were never reached.
    reached: dict[str, Path[S, A]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    #: How often each action was taken, by the first item of the action if it is a tuple.
    fired: Counter[Any] = field(default_factory=Counter)
    #: Whether the graph has a circle outside the goal of an `eventually` property. Under a symmetry whose keys merge
    #: states, the fairness of a circle cannot be told: search again without it.
    cyclic: bool = False
    #: Why the search ended before everything was seen.
    stopped: str | None = None

    @property
    def verdict(self) -> Verdict:
        """Violated if anything is; undetermined if cut short, empty, or short of a witness; else holds."""
        if self.violations:
            return Verdict.VIOLATED
        if self.stopped or self.missing or not self.states:
            return Verdict.UNDETERMINED
        return Verdict.HOLDS


class Judge(Generic[S, A]):
    """The properties by kind, and what has been found of them. Every claim is reported once."""

    def __init__(self, properties: Iterable[Property], result: Result[S, A], path_to: Callable[[int], Path[S, A]]):
        by_kind: dict[tuple[Kind, bool], list[Property]] = {}
        for prop in properties:
            by_kind.setdefault((prop.kind, prop.on_steps), []).append(prop)
        self._states, self._steps, self._ends = (
            [prop.check for prop in by_kind.get(kind, [])]
            for kind in ((Kind.STATE, False), (Kind.STEP, True), (Kind.END, False))
        )
        self._witnesses = by_kind.get((Kind.SOMETIMES, False), [])
        self._step_witnesses = by_kind.get((Kind.SOMETIMES, True), [])
        goals = by_kind.get((Kind.EVENTUALLY, False), [])
        if len(goals) > 1:
            raise ValueError(f"one eventually property at a time, not {', '.join(goal.name for goal in goals)}")
        self.goal = goals[0] if goals else None
        self._result = result
        self._path_to = path_to
        #: Whether there is anything to judge on states, and on steps.
        self.of_states = bool(self._states or self._witnesses)
        self.of_steps = bool(self._steps or self._step_witnesses)
        self._told: set[str] = set()

    @property
    def missing(self) -> list[str]:
        """The witnesses not seen so far."""
        wanted = [name for witness in (*self._witnesses, *self._step_witnesses) for name in witness.names]
        return [name for name in wanted if name not in self._result.reached]

    def state(self, state: S, at: int) -> None:
        for check in self._states:
            found = check(state)
            if found:
                self._tell(found, self._path_to(at))
        for witness in self._witnesses:
            seen = witness.check(state)
            if seen:
                self._saw(seen, lambda: self._path_to(at))

    def step(self, state: S, action: A, after: S, at: int) -> None:
        for check in self._steps:
            found = check(state, action, after)
            if found:
                self._tell(found, _longer(self._path_to(at), action))
        for witness in self._step_witnesses:
            seen = witness.check(state, action, after)
            if seen:
                self._saw(seen, lambda: _longer(self._path_to(at), action))

    def end(self, state: S, at: int) -> None:
        for check in self._ends:
            found = check(state)
            if found:
                self._tell(found, self._path_to(at))

    def _tell(self, found: Mapping[str, str], path: Path[S, A]) -> None:
        for name, message in found.items():
            if name not in self._told:
                self._told.add(name)
                self._result.violations.append(Violation(name, message, path))

    def _saw(self, names: Collection[str], path: Callable[[], Path[S, A]]) -> None:
        for name in names:
            if name not in self._result.reached:
                self._result.reached[name] = path()


def _longer(path: Path[S, A], action: A) -> Path[S, A]:
    return Path(path.start, (*path.actions, action))
