"""A scenario of the specification as one of the explorer's, and states of both in one form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
_POOL = ("cap", "taken", "phase", "token", "lent", "level", "parent", "waiting", "children")
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

    @property
    def names(self) -> list[str]:
        """The names of the runs: a, b, c, ..."""
        return [chr(ord("a") + at) if at < 26 else f"r{at}" for at in range(len(self.parent))]

    @property
    def scenario(self) -> Scenario:
        """The same for the explorer."""
        names = self.names
        runs = tuple(
            RunSpec(name, names[above - 1] if above else None) for name, above in zip(names, self.parent, strict=True)
        )
        acts = [Act("cancel")] * self.cancel + [Act("finish")] * self.early
        if self.resizes:
            acts += [Act("resize", cap=cap) for cap in CAPS]
        tree = tree_text(runs)
        told = [
            name
            for name, on in (
                ("cancel", self.cancel),
                ("early", self.early),
                ("late", self.late),
                (f"{self.resizes} resizes", self.resizes),
            )
            if on
        ]
        return Scenario(
            " ".join([tree, *(told or ["plain"])]),
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
        return f"{self.scenario.name}, cap {self.cap}{', relend' if self.relend else ''}"


def instance_of(scenario: Mapping[str, Any]) -> Instance:
    """The instance that a state's ``scenario`` says."""
    fields = {name: scenario[name] for name in Instance._fields if name != "parent"}
    return Instance(tuple(scenario["parent"]), **fields)


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
    both = zip(before["progress"], after["progress"], strict=True)
    moved = [at for at, (one, two) in enumerate(both) if one != two]
    return (verb, names[moved[0]]) if len(moved) == 1 else None


def key_of_spec(state: Mapping[str, Any]) -> Key:
    """A state of the specification, without its scenario."""
    pool = state["pool"]
    return (
        tuple(state["progress"]),
        *(_plain(pool[name]) for name in _POOL),
        state["levels"],
        state["resizes"],
        _NOTHING_MORE,
    )


def key_of_workload(workload: Workload, state: WorkloadState) -> Key:
    """A state of the explorer in the same form; its last item is what the specification has no word for."""
    snapshot = workload.snapshot(state)
    index = workload.scenario.index
    known: dict[str, Run] = {run.run: run for run in snapshot.runs}
    children = dict(snapshot.children)
    phase, token, lent, level, parent, admitted = [], [], [], [], [], []
    for name in workload.names:
        run = known.get(name)
        phase.append("unknown" if run is None else run.phase)
        token.append("none" if run is None else run.token)
        lent.append(False if run is None else run.lent)
        level.append(0 if run is None else run.level)
        parent.append(0 if run is None or run.parent is None else index[run.parent] + 1)
        admitted.append(tuple([index[child] + 1 for child in children.get(name, ())]))
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
        state.levels,
        state.resizes,
        tuple(_more(workload, state, snapshot, known)),
    )


def _more(
    workload: Workload, state: WorkloadState, snapshot: Any, known: Mapping[str, Run]
) -> Iterator[tuple[str, Any]]:
    """What a state holds that the specification leaves out because it follows from the rest, where it does not."""
    for at, name in enumerate(workload.names):
        if name in known and known[name].job != workload.bodies.jobs[at]:
            yield "job", (name, known[name].job)
    strangers = known.keys() - workload.scenario.index.keys()
    if strangers:
        yield "runs", tuple(sorted(strangers))
    if (snapshot.order, snapshot.relend) != ("fifo", workload.relend):
        yield "order", (snapshot.order, snapshot.relend)
    if snapshot.lines:
        yield "lines", snapshot.lines
    if state.broken:
        yield "broken", True


def view_of(instance: Instance, state: Mapping[str, Any]) -> State:
    """The pool of a specification's state as the common view."""
    names, pool = instance.names, state["pool"]
    root: list[str] = []
    runs = []
    for at, name in enumerate(names):
        above = instance.parent[at]
        root.append(root[above - 1] if above else name)
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
                    (root[at],),
                )
            )
    children = [
        (name, tuple(names[child - 1] for child in pool["children"][at]))
        for at, name in enumerate(names)
        if pool["children"][at]
    ]
    waiting = tuple(names[run - 1] for run in pool["waiting"])
    return State(
        pool["cap"],
        pool["taken"],
        frozenset(runs),
        waiting,
        frozenset(children),
        frozenset(),
        "fifo",
        "served",
        instance.relend,
    )


def _plain(value: Any) -> Any:
    return tuple([_plain(item) for item in value]) if isinstance(value, list) else value
