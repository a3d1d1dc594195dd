"""A scenario as data: trees of runs, what their bodies do, and what may happen to them.

Read from text by ``checks/scenario.py``; made by the hundred by ``checks/generated.py``; given life by
``workload.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

__all__ = ["LENDERS", "Act", "Op", "RunSpec", "Scenario"]

#: Whose slot a live run may borrow (R10): that of the nearest run in flight that waits for it, else of its mounter;
#: and simpler readings, to compare: its mounter's, that of the run its live component was given, nobody's.
LENDERS = ("waiter", "mounter", "given", "nobody")


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
    #: The component that it is a run of, and the key by which a memo can answer it; None for neither.
    component: str | None = None
    key: str | None = None
    #: For a run of a live component, one of `LENDERS`. It asks by itself, in a job of its own, once its mounter's body
    #: is on or over; its parent here is the run that its live component was given.
    live: str | None = None
    #: The run that mounted a live run, if that is not its parent here; stands before it.
    mounter: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens to runs or to the pool from outside, or, in a script, any step pinned in its place.

    In the environment (may happen at every step): ``cancel``, ``finish`` (early: before its body is through),
    ``fail`` (its body ends in failure), ``resize`` (to ``cap``). ``run`` None means any run. In a script also ``ask``
    and ``resume``.
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
        """The number of levels of the highest tree, or a number that they cannot exceed."""
        if not self.lent_from_above:
            return len(self.runs)
        level: dict[str | None, int] = {None: 0}
        for run in self.mounted:  # parents stand before their children
            level[run.name] = level[run.parent] + 1
        return max(level.values())

    @cached_property
    def jobs(self) -> dict[str, tuple[str, ...]]:
        """For each run its job: the one it names, else its own if it is live, else its parent's, else ``(name,)``."""
        jobs: dict[str, tuple[str, ...]] = {}
        for run in self.runs:
            own = run.parent is None or run.live is not None
            jobs[run.name] = run.job or ((run.name,) if own else jobs[run.parent or ""])
        return jobs

    @cached_property
    def mounted(self) -> tuple[RunSpec, ...]:
        """The runs below those that mounted them."""
        return tuple(run if run.mounter is None else replace(run, parent=run.mounter) for run in self.runs)

    @cached_property
    def lent_from_above(self) -> bool:
        """Whether whoever may lend to a live run is above it in `mounted`: not one that waits for it from elsewhere."""
        parents = {run.name: run.parent for run in self.mounted}
        for run in self.runs:
            if run.live == "waiter":
                above, at = [], parents[run.name]
                while at is not None:
                    above.append(at)
                    at = parents[at]
                waiting = (Op("wait", run.name), Op("await", run.name))
                if any(op in waiting for other in self.runs if other.name not in above for op in other.body or ()):
                    return False
        return True

    @cached_property
    def lineage(self) -> Mapping[str, tuple[str, ...]]:
        """For each run the components of those that mounted it, directly or through others, from the top down."""
        below: dict[str | None, tuple[str, ...]] = {None: ()}
        lineage: dict[str, tuple[str, ...]] = {}
        for run in self.mounted:
            lineage[run.name] = above = below[run.parent]
            below[run.name] = above if run.component is None else (*above, run.component)
        return lineage

    @property
    def permits(self) -> bool:
        """Whether some run needs a permit."""
        return any(run.component is not None for run in self.runs)

    @property
    def plain(self) -> bool:
        """Whether nothing happens from outside and every body and every job is the default."""
        return not (
            self.environment
            or self.script
            or self.blocking_spawn
            or self.late_children
            or self.permits
            or any(run.body is not None or run.late or run.live or run.job is not None for run in self.runs)
        )
