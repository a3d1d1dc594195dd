"""A scenario of the specification as one of the explorer's, and states of both in one form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from slotcheck.checks.generated import CAPS
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.bodies import ASKED, ENDED, IDLE, RESUMED
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.scenario import Act, RunSpec, Scenario
from slotcheck.pymodel.workload import Action, Workload, WorkloadState

__all__ = [
    "Instance",
    "Key",
    "action_between",
    "instance_of",
    "key_of_spec",
    "key_of_workload",
    "name_of",
    "verb_of",
    "view_of",
]

#: A state in the variables of the specification, as plain values that can be compared.
Key: TypeAlias = tuple[Any, ...]

_PROGRESS = {IDLE: "idle", ASKED: "asked", ENDED: "ended", RESUMED: "resumed"}
_POOL = ("cap", "taken", "phase", "token", "lent", "level", "parent", "waiting", "children", "held", "lines")
_PERMITS = ("holder", "queue", "memo", "under")
_ROOT = 1
_NOTHING_MORE: Key = ()


class Instance(NamedTuple):
    """One scenario of a specification: what ``ScenarioOK`` in ``Bodies.tla`` describes."""

    #: Of each run, numbered from 1, its parent; 0 for none.
    parent: tuple[int, ...]
    cap: int
    relend: bool
    cancel: bool
    early: bool
    late: bool
    resizes: int
    #: R6: "fifo" or "fewest_held", and its tie-break.
    order: str = "fifo"
    tie: str = "served"
    #: Of each node of the tree of jobs, numbered from 1, the one above it, 0 for the root's; of each run its job.
    #: Empty: each run without a parent has a job of its own, and so have all runs below it.
    jobs: tuple[int, ...] = ()
    job: tuple[int, ...] = ()
    #: R9, of each run: its component, 0 for none, and the key that a memo answers it by; and whether bodies may fail.
    component: tuple[int, ...] = ()
    key: tuple[int, ...] = ()
    fail: bool = False

    @property
    def names(self) -> list[str]:
        """The names of the runs: a, b, c, ..."""
        return [chr(ord("a") + at) if at < 26 else f"r{at}" for at in range(len(self.parent))]

    @property
    def scenario(self) -> Scenario:
        """The same for the explorer."""
        names = self.names
        runs = tuple(
            RunSpec(
                name,
                names[above - 1] if above else None,
                job=self.paths[node] if self.names_jobs else None,
                component=self.components[at],
                key=self.keys[at],
            )
            for at, (name, above, node) in enumerate(zip(names, self.parent, self.job_of_runs, strict=True))
        )
        acts = [Act("cancel")] * self.cancel + [Act("finish")] * self.early + [Act("fail")] * self.fail
        if self.resizes:
            acts += [Act("resize", cap=cap) for cap in CAPS]
        tree = tree_text(runs)
        told = [
            name
            for name, on in (
                ("cancel", self.cancel),
                ("early", self.early),
                ("late", self.late),
                ("fail", self.fail),
                (f"{self.resizes} resizes", self.resizes),
            )
            if on
        ]
        more = ""
        if self.names_jobs:
            jobs = [f"{name}: {'/'.join(self.paths[node])}" for name, node in zip(names, self.job, strict=True)]
            more = f", jobs {', '.join(jobs)}"
        if self.permits:
            built = [f"{run.name}: {run.component}{f' {run.key}' if run.key else ''}" for run in runs if run.component]
            more += f", components {', '.join(built)}"
        return Scenario(
            " ".join([tree, *(told or ["plain"])]) + more,
            runs,
            caps=(self.cap,),
            relend=(self.relend,),
            environment=tuple(acts),
            late_children=self.late,
            resizes=self.resizes,
            tree=tree,
        )

    @property
    def name(self) -> str:
        """As a part of `slotcheck check` is named."""
        order = "" if self.order == "fifo" else f", {self.order}, {self.tie}"
        return f"{self.scenario.name}, cap {self.cap}{', relend' if self.relend else ''}{order}"

    @property
    def options(self) -> dict[str, str]:
        """What a pool of this order is made with."""
        return {"order": self.order} if self.order == "fifo" else {"order": self.order, "tie": self.tie}

    @property
    def permits(self) -> bool:
        """Whether some run needs a permit."""
        return any(self.component)

    @property
    def components(self) -> list[str | None]:
        """Of each run the name of its component: A, B, ..."""
        return [chr(ord("A") + number - 1) if number else None for number in self.component or [0] * len(self.parent)]

    @property
    def keys(self) -> list[str | None]:
        """Of each run its key: v1, v2, ..."""
        return [f"v{number}" if number else None for number in self.key or [0] * len(self.parent)]

    @property
    def job_of_runs(self) -> tuple[int, ...]:
        """Of each run the node of its job."""
        return self.job or _own_jobs(self.parent)

    @property
    def names_jobs(self) -> bool:
        """Whether runs have other jobs than they would have anyway."""
        return self.job_of_runs != _own_jobs(self.parent)

    @property
    def paths(self) -> dict[int, tuple[str, ...]]:
        """Of each node of the tree of jobs its path."""
        if not self.names_jobs:
            roots = [name for name, above in zip(self.names, self.parent, strict=True) if not above]
            return {_ROOT: (), **{node: (name,) for node, name in enumerate(roots, _ROOT + 1)}}
        paths: dict[int, tuple[str, ...]] = {_ROOT: ()}
        for node, above in enumerate(self.jobs[1:], _ROOT + 1):  # who is above stands before
            paths[node] = (*paths[above], f"j{node}")
        return paths


@cache
def _own_jobs(parents: tuple[int, ...]) -> tuple[int, ...]:
    jobs: list[int] = []
    roots = _ROOT
    for above in parents:
        roots += not above
        jobs.append(jobs[above - 1] if above else roots)
    return tuple(jobs)


def instance_of(scenario: Mapping[str, Any]) -> Instance:
    """The instance that a state's ``scenario`` says; what it does not speak of is the default."""
    fields = {name: _plain(scenario[name]) for name in Instance._fields if name in scenario}
    return Instance(**fields)


def name_of(verb: str) -> str:
    """The name of an action in the specification: "finish early" is FinishEarly."""
    return "".join(word.capitalize() for word in verb.split())


@cache
def verb_of(name: str) -> str:
    """The verb of an action of the specification: FinishEarly is "finish early"."""
    return re.sub(r"(?<=\w)([A-Z])", r" \1", name).lower()


def action_between(name: str, names: list[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> Action | None:
    """The action with its argument, which TLC leaves out, from the states before and after it; None if no single run
    moved and the cap stayed.
    """
    verb = verb_of(name)
    if verb == "resize":
        cap = after["pool"]["cap"]
        return (verb, cap) if cap != before["pool"]["cap"] else None
    moved = _differ(before["progress"], after["progress"])
    if not moved and verb == "resume":  # without a slot: it drops its permit and asks the pool, which learns of it
        moved = _differ(before["pool"]["phase"], after["pool"]["phase"])
    return (verb, names[moved[0]]) if len(moved) == 1 else None


def _differ(before: Sequence[Any], after: Sequence[Any]) -> list[int]:
    return [at for at, (one, two) in enumerate(zip(before, after, strict=True)) if one != two]


def key_of_spec(state: Mapping[str, Any]) -> Key:
    """A state of the specification, without its scenario."""
    pool, permits = state["pool"], state.get("permits")
    return (
        tuple(state["progress"]),
        *(_plain(pool[name]) for name in _POOL),
        state["levels"],
        state["resizes"],
        () if permits is None else tuple(_plain(permits[name]) for name in _PERMITS),
        _NOTHING_MORE,
    )


def key_of_workload(instance: Instance, workload: Workload, state: WorkloadState) -> Key:
    """A state of the explorer in the same form; its last item is what the specification has no word for."""
    snapshot = workload.snapshot(state)
    index = workload.scenario.index
    known: dict[str, Run] = {run.run: run for run in snapshot.runs}
    children = dict(snapshot.children)
    lines = dict(snapshot.lines)
    phase, token, lent, level, parent, admitted = [], [], [], [], [], []
    held, standing = [], []
    for name in workload.names:
        run = known.get(name)
        phase.append("unknown" if run is None else run.phase)
        token.append("none" if run is None else run.token)
        lent.append(False if run is None else run.lent)
        level.append(0 if run is None else run.level)
        parent.append(0 if run is None or run.parent is None else index[run.parent] + 1)
        admitted.append(tuple([index[child] + 1 for child in children.get(name, ())]))
    node_at = {path: node for node, path in instance.paths.items()}
    for path in node_at:
        held.append(sum(run.token == "pool" and run.job[: len(path)] == path for run in snapshot.runs) if path else 0)
        standing.append(tuple([node_at[*path, name] for name in lines.pop(path, ())]))
    return (
        tuple([_PROGRESS[at] for at in state.progress]),
        snapshot.cap,
        snapshot.taken,
        tuple(phase),
        tuple(token),
        tuple(lent),
        tuple(level),
        tuple(parent),
        tuple([index[run] + 1 for run in snapshot.waiting]),
        tuple(admitted),
        tuple(held),
        tuple(standing),
        state.levels,
        state.resizes,
        _permits_of(instance, snapshot) if instance.permits else (),
        (*_more(instance, workload, state, snapshot, known), *lines.items()),
    )


def _permits_of(instance: Instance, snapshot: Any) -> Key:
    """The permits of a snapshot as the specification has them: by component holder, queue and memo; by run whom it asks
    under.
    """
    number: dict[str | None, int] = {name: at for at, name in enumerate(instance.names, 1)}
    number[None] = 0
    version: dict[str | None, int] = dict(zip(instance.keys, instance.key, strict=True))
    version[None] = 0
    permits = {permit.component: permit for permit in snapshot.permits}
    present = {run.run: run for run in snapshot.present}
    holder, queue, memo = [], [], []
    for at in range(max(instance.component)):
        permit = permits.get(chr(ord("A") + at))
        holder.append(0 if permit is None else number[permit.holder])
        queue.append(() if permit is None else tuple([number[run] for run in permit.queue]))
        memo.append(0 if permit is None else version[permit.memo])
    under = tuple([number[present[name].parent] if name in present else 0 for name in instance.names])
    return tuple(holder), tuple(queue), tuple(memo), under


def _more(
    instance: Instance, workload: Workload, state: WorkloadState, snapshot: Any, known: Mapping[str, Run]
) -> Iterator[tuple[str, Any]]:
    """What a state holds that the specification leaves out because it follows from the rest, where it does not."""
    for name, node in zip(workload.names, instance.job_of_runs, strict=True):
        if name in known and known[name].job != instance.paths[node]:
            yield "job", (name, known[name].job)
    strangers = known.keys() - workload.scenario.index.keys()
    if strangers:
        yield "runs", tuple(sorted(strangers))
    fixed = snapshot.order, snapshot.tie, snapshot.relend
    if fixed != (instance.order, instance.tie, workload.relend):
        yield "order", fixed
    if instance.permits:
        yield from _more_of_permits(instance, workload, state, snapshot)
    if state.broken:
        yield "broken", True


def _more_of_permits(
    instance: Instance, workload: Workload, state: WorkloadState, snapshot: Any
) -> Iterator[tuple[str, Any]]:
    present = {run.run: run for run in snapshot.present}
    for at, (spec, progress) in enumerate(zip(workload.scenario.runs, state.progress, strict=True)):
        run = present.pop(spec.name, None)
        if (run is not None) != (progress not in (IDLE, ENDED)):
            yield "present", spec.name
        if run is not None:
            working = spec.component is not None and progress >= RESUMED
            lineage, job = workload.scenario.lineage[spec.name], instance.paths[instance.job_of_runs[at]]
            should = spec.component, spec.key, lineage, job, working
            if (run.component, run.key, run.lineage, run.job, run.working) != should:
                yield "present", run
    yield from (("present", name) for name in sorted(present))


def view_of(instance: Instance, state: Mapping[str, Any]) -> State:
    """The pool of a specification's state as the common view."""
    names, pool = instance.names, state["pool"]
    runs = []
    for at, name in enumerate(names):
        if pool["phase"][at] != "unknown":
            parent = pool["parent"][at]
            runs.append(
                Run(
                    name,
                    pool["phase"][at],
                    pool["token"][at],
                    pool["lent"][at],
                    pool["level"][at],
                    names[parent - 1] if parent else None,
                    instance.paths[instance.job_of_runs[at]],
                )
            )
    children = [
        (name, tuple(names[child - 1] for child in pool["children"][at]))
        for at, name in enumerate(names)
        if pool["children"][at]
    ]
    waiting = tuple(names[run - 1] for run in pool["waiting"])
    lines = [
        (instance.paths[node], tuple(instance.paths[child][-1] for child in line))
        for node, line in enumerate(pool.get("lines", ()), _ROOT)
        if line
    ]
    return State(
        pool["cap"],
        pool["taken"],
        frozenset(runs),
        waiting,
        frozenset(children),
        frozenset(lines),
        instance.order,
        instance.tie,
        instance.relend,
    )


def _plain(value: Any) -> Any:
    return tuple([_plain(item) for item in value]) if isinstance(value, list) else value
