"""The state graphs of several statements of the design, compared edge for edge.

The statements are the specification (its graph comes from TLC), the reference rule and the pool that ships (theirs come
from the explorer, over the same scenarios). Each graph is taken in the specification's variables: a state is a key, and
from each state there is one edge per action, with its argument. Equal means the same first state, the same states and
the same labelled edges; a difference is told as a shortest path to the first edge that one has and another has not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from slotcheck.checks.permit_subject import with_permits
from slotcheck.checks.subject import ClassSubject, RuleSubject
from slotcheck.checks.tlc.instance import (
    Instance,
    Key,
    action_between,
    instance_of,
    key_of_spec,
    key_of_workload,
)
from slotcheck.checks.tlc.values import read_states
from slotcheck.checks.trace import Trace, trace_of
from slotcheck.pymodel.subject import Calls, Subject
from slotcheck.pymodel.workload import Action, Workload

__all__ = ["Graph", "GraphComparison", "GraphFormError", "compare_graphs", "explored", "read_dot", "replayed"]

_NODE = re.compile(r'^(-?\d+) \[label="(.*)"(,style = filled)?\];?$')
_EDGE = re.compile(r'^(-?\d+) -> (-?\d+) \[label="(\w+)"')

_FIELDS = (
    "progress",
    "cap",
    "taken",
    "phase",
    "token",
    "lent",
    "level",
    "parent",
    "waiting",
    "children",
    "held",
    "lines",
    "levels",
    "resizes",
    "permits",
    "more",
)

_OF_RUNS = {"progress", "phase", "token", "lent", "level", "parent", "children"}

Edges: TypeAlias = dict[Key, dict[Action, Key]]


class GraphFormError(ValueError):
    """A dumped graph is not understood."""


class Graph(NamedTuple):
    """The reachable states of one instance in one statement, and the labelled edges from each."""

    first: Key
    edges: Edges

    @property
    def size(self) -> int:
        """The number of edges."""
        return sum(map(len, self.edges.values()))


@dataclass
class GraphComparison:
    """One configuration's graphs in several statements."""

    config: str
    #: By statement.
    states: dict[str, int] = field(default_factory=dict)
    edges: dict[str, int] = field(default_factory=dict)
    instances: int = 0
    #: In which they differ first, a shortest path to it, and who says what.
    instance: Instance | None = None
    path: tuple[Action, ...] = ()
    difference: str | None = None

    @property
    def equal(self) -> bool:
        """Whether all said the same."""
        return self.difference is None and self.instances > 0

    @property
    def scenario(self) -> str | None:
        """The scenario in which they differ first."""
        return None if self.instance is None else self.instance.name


def read_dot(path: Path) -> dict[Instance, Graph]:
    """The graphs in TLC's dump, by instance.

    Raises:
        GraphFormError: something in it is not understood, or an edge's argument cannot be found out.
    """
    texts: dict[str, str] = {}
    edges: list[tuple[str, str, str]] = []
    first: list[str] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            edge = _EDGE.match(line)
            if edge is not None:
                edges.append(edge.groups())  # type: ignore[arg-type]  # three groups, none optional
                continue
            node = _NODE.match(line)
            if node is not None:
                texts[node[1]] = node[2]
                if node[3]:
                    first.append(node[1])
            elif " -> " in line or "[label" in line:
                raise GraphFormError(f"not understood: {line!r}")
    labels = "\n".join(texts.values()).replace("\\n", " ").replace('\\"', '"').replace("\\\\", "\\").split("\n")
    return _graphs(dict(zip(texts, read_states(labels), strict=True)) if texts else {}, edges, first)


def _graphs(
    states: Mapping[str, dict[str, Any]], edges: Sequence[tuple[str, str, str]], first: Sequence[str]
) -> dict[Instance, Graph]:
    keys = {number: key_of_spec(state) for number, state in states.items()}
    known: dict[str, Instance] = {}  # scenarios are few, and told alike wherever they are the same
    instances = {
        number: known.get(told) or known.setdefault(told, instance_of(state["scenario"]))
        for number, state in states.items()
        for told in [str(state["scenario"])]
    }
    graphs: dict[Instance, Graph] = {}
    for number in first:
        if instances[number] in graphs:
            raise GraphFormError(f"{instances[number].name} has two first states")
        graphs[instances[number]] = Graph(keys[number], {})
    for number, key in keys.items():
        graphs[instances[number]].edges[key] = {}
    names = {instance: instance.names for instance in graphs}
    for source, target, name in edges:
        if source not in states or target not in states:
            raise GraphFormError(f"an edge {name} between states that are not in the graph")
        instance = instances[source]
        action = action_between(name, names[instance], states[source], states[target])
        if action is None or instances[target] != instance:
            raise GraphFormError(f"{instance.name}: an edge {name} of which nobody can tell whom it is about")
        outgoing = graphs[instance].edges[keys[source]]
        if outgoing.setdefault(action, keys[target]) != keys[target]:
            raise GraphFormError(f"{instance.name}: {action} leads to two states from one")
    return graphs


def explored(instance: Instance, subject: Subject) -> Graph:
    """The graph of an instance under a subject, every interleaving, no symmetry."""
    workload = _workload(instance, subject)
    (start,) = workload.initial()
    keys = {start: key_of_workload(instance, workload, start)}
    edges: Edges = {}
    todo = [start]
    for state in todo:
        outgoing = edges[keys[state]] = {}
        for action in workload.actions(state):
            after = workload.next(state, action)
            if after not in keys:
                keys[after] = key_of_workload(instance, workload, after)
                todo.append(after)
            outgoing[action] = keys[after]
    return Graph(keys[start], edges)


def replayed(comparison: GraphComparison, subject: Subject) -> Trace | None:
    """The path to the first difference, up to which they all agree, told under one of the subjects; None if there is
    no difference.
    """
    instance, difference = comparison.instance, comparison.difference
    if instance is None or difference is None:
        return None
    told = trace_of(_workload(instance, subject), comparison.path, "Graphs", difference)
    return replace(told, subject=_and(list(comparison.states)))


def _workload(instance: Instance, subject: Subject) -> Workload:
    if isinstance(subject, RuleSubject | ClassSubject):
        subject = subject.made_with(**instance.options)
    if isinstance(subject, RuleSubject):
        subject = subject.declared(instance.scenario.levels)
    if instance.permits and isinstance(subject, RuleSubject | ClassSubject):
        subject = with_permits(subject)
    return Workload(instance.scenario, Calls(subject), cap=instance.cap, relend=instance.relend, symmetry=False)


def compare_graphs(config: str, graphs: Mapping[str, Mapping[Instance, Graph]]) -> GraphComparison:
    """Compare the graphs of several statements, instance by instance, the smallest first."""
    found = GraphComparison(config)
    instances = sorted({instance for each in graphs.values() for instance in each}, key=lambda each: len(each.parent))
    found.instances = len(instances)
    for statement, each in graphs.items():
        found.states[statement] = sum(len(graph.edges) for graph in each.values())
        found.edges[statement] = sum(graph.size for graph in each.values())
    for instance in instances:
        lacking = [statement for statement, each in graphs.items() if instance not in each]
        if lacking:
            found.instance, found.difference = instance, f"not in {_and(lacking)}"
            return found
        here = {statement: each[instance] for statement, each in graphs.items()}
        difference = _first_difference(here, instance.names)
        if difference is not None:
            found.instance = instance
            found.path, found.difference = difference
            return found
    return found


def _first_difference(graphs: Mapping[str, Graph], names: list[str]) -> tuple[tuple[Action, ...], str] | None:
    """The first edge in which they differ, breadth first: a shortest path to it, and who says what."""
    firsts = {statement: graph.first for statement, graph in graphs.items()}
    if len(set(firsts.values())) > 1:
        return (), f"the first states differ: {_who_says(firsts, names)}"
    (start,) = set(firsts.values())
    came: dict[Key, tuple[Key, Action] | None] = {start: None}
    todo = [start]
    one = next(iter(graphs.values()))
    for key in todo:
        rows = {statement: graph.edges.get(key) for statement, graph in graphs.items()}
        row = one.edges.get(key)
        if row is None or any(other != row for other in rows.values()):
            return (*_path(came, key),), _at_odds(rows, names)
        for action, after in row.items():
            if after not in came:
                came[after] = key, action
                todo.append(after)
    beyond = [statement for statement, graph in graphs.items() if len(graph.edges) != len(came)]
    return ((), f"{_and(beyond)}: states that no path leads to") if beyond else None


def _at_odds(rows: Mapping[str, dict[Action, Key] | None], names: list[str]) -> str:
    actions = sorted({action for row in rows.values() for action in row or ()}, key=repr)
    for action in actions:
        leads = {statement: (row or {}).get(action) for statement, row in rows.items()}
        if len(set(leads.values())) > 1:
            return f"then {' '.join(map(str, action))}: {_who_says(leads, names)}"
    return f"the state reached is not in {_and([statement for statement, row in rows.items() if row is None])}"


def _who_says(says: Mapping[str, Key | None], names: list[str]) -> str:
    """Who says what, those that agree together; of states only the fields in which they differ."""
    groups: dict[Key | None, list[str]] = {}
    for statement, said in says.items():
        groups.setdefault(said, []).append(statement)
    states = [said for said in groups if said is not None]
    facts = {state: dict(_facts(state, names)) for state in states}
    differing = [what for what in facts[states[0]] if len({told[what] for told in facts.values()}) > 1]
    told = []
    for said, who in groups.items():
        if said is None:
            what = "no such step"
        else:
            what = ", ".join(f"{fact} = {facts[said][fact]}" for fact in differing) or "it may happen"
        told.append(f"{_and(who)}: {what}")
    return "; ".join(told)


def _facts(state: Key, names: list[str]) -> Iterator[tuple[str, str]]:
    """What a state says, fact by fact, with the runs by their names."""
    for name, value in zip(_FIELDS, state, strict=False):
        if name in _OF_RUNS:
            for run, its in zip(names, value, strict=True):
                yield f"{name} of {run}", _told(name, its, names)
        else:
            yield name, _told(name, value, names)


def _told(name: str, value: Any, names: list[str]) -> str:
    if name == "parent":
        return names[value - 1] if value else "none"
    if name in ("waiting", "children"):
        return ", then ".join(names[run - 1] for run in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _path(came: Mapping[Key, tuple[Key, Action] | None], key: Key) -> Iterator[Action]:
    steps = []
    here = came[key]
    while here is not None:
        steps.append(here[1])
        here = came[here[0]]
    return reversed(steps)
