"""A scenario as data: trees of runs, what their bodies do, and what may happen to them.

Read from text by ``checks/scenario.py``; made by the hundred by ``checks/generated.py``; given life by
``workload.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["Act", "Op", "RunSpec", "Scenario"]


@dataclass(frozen=True, slots=True)
class Op:
    """One step of a body. ``name`` is a child, a run, an event or a lock, as the verb needs; None for the rest.

    ========== ========= =====================================================================================
    notation   verb      meaning
    ========== ========= =====================================================================================
    ``+c``     spawn     ask for a slot for the child c
    ``+*``     spawn all the same for every child (late ones aside), in any order
    ``&c``     wait      wait until the child c has ended
    ``&*``     wait all  the same for every child asked so far
    ``~x``     await     wait until run x, which is not a child, has ended
    ``?e``     need      wait until event e is set
    ``!e``     set       set event e
    ``L.take`` take      take a place at lock or gate L, or queue for one in order of arrival
    ``L.drop`` drop      give that place to whoever has queued longest
    ``w``      work      one piece of work; the last one of a body ends with the run
    ``raise``  raise     end at once, in failure; the children live on without a parent
    ========== ========= =====================================================================================

    A run that ends in any way drops its locks and leaves their queues.
    """

    verb: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run of a scenario. ``body`` None is the default: ask for all children in any order, wait for all, finish."""

    name: str
    parent: str | None = None
    body: tuple[Op, ...] | None = None
    #: Asks after its parent's end, without a parent, naming that parent's job.
    late: bool = False
    #: The path of its job where it is not its parent's, or not ``(name,)`` without a parent.
    job: tuple[str, ...] | None = None
    #: Read by a simulation only: when a run without a parent asks, and how long each of its pieces of work takes.
    at_ms: int = 0
    work_ms: int = 10


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens to runs or to the pool from outside, or, in a script, any step pinned in its place.

    In the environment (may happen at every step): ``cancel``, ``finish`` (early: before its body is through),
    ``resize`` (to ``cap``). ``run`` None means any run. In a script also ``ask`` and ``resume``.
    """

    verb: str
    run: str | None = None
    cap: int | None = None
    #: In a script: only while the run is in this phase: "waiting", "granted" (and not resumed) or "resumed".
    when: str | None = None


@dataclass(frozen=True)
class Scenario:
    """Trees, bodies, environment, and what is expected."""

    name: str
    runs: tuple[RunSpec, ...]
    #: The caps to try it under, each apart.
    caps: tuple[int, ...] = (1,)
    #: R13 off, on, or both, each apart.
    relend: tuple[bool, ...] = (False,)
    #: Gates: how many runs each lets in. A lock is a gate of 1; one that is not named here is a lock.
    gates: Mapping[str, int] = field(default_factory=dict)
    #: Whether asking for a child makes its parent wait until the child is admitted.
    blocking_spawn: bool = False
    environment: tuple[Act, ...] = ()
    #: At most this many resizes in one behaviour.
    resizes: int = 2
    #: Whether children not yet asked for when their parent ends may still ask, late.
    late_children: bool = False
    script: tuple[Act, ...] = ()
    #: Exactly what each rule is expected to do, by rule; each outcome a tuple: ``("holds",)`` alone, or some of
    #: ``("diagnosed",)`` (see `diagnoses`), ``("refused",)``, the name of an invariant that it violates, and reasons of
    #: its own why nothing goes on, in the form of `diagnoses`.
    expect: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    #: The waits that lending cannot meet here: ``("cycle", a, b, ...)``, a circle of runs each of which waits for the
    #: next, or ``("never", event)``, an event that nobody sets.
    diagnoses: tuple[tuple[str, ...], ...] = ()
    title: str = ""
    #: Where it comes from.
    source: str = ""
    #: What it is written as, for a report: the tree in the notation.
    tree: str = ""

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each run, by name."""
        return {run.name: place for place, run in enumerate(self.runs)}

    @cached_property
    def levels(self) -> int:
        """The number of levels of the highest tree."""
        level: dict[str | None, int] = {None: 0}
        for run in self.runs:  # parents stand before their children
            level[run.name] = level[run.parent] + 1
        return max(level.values())

    @cached_property
    def jobs(self) -> dict[str, tuple[str, ...]]:
        """For each run its job: the one it names, else its parent's, else ``(name,)``."""
        jobs: dict[str, tuple[str, ...]] = {}
        for run in self.runs:
            jobs[run.name] = run.job or ((run.name,) if run.parent is None else jobs[run.parent])
        return jobs

    @property
    def plain(self) -> bool:
        """Whether nothing happens from outside and every body and every job is the default."""
        return not (
            self.environment
            or self.script
            or self.blocking_spawn
            or self.late_children
            or any(run.body is not None or run.late or run.job is not None for run in self.runs)
        )
