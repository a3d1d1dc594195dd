"""Liveness: does every behaviour that is fair to body steps come to its goal?

In a finite graph a behaviour that never does either ends (a state without body steps: an `end` property judges those)
or goes round for ever. So what is looked for is a circle outside the goal that a fair behaviour can go round: fair
(weakly) means that a body step that stays enabled is taken some time. Acts of the environment may be taken or not.

Most graphs of terminating workloads have no circle at all, which one pass finds out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx

__all__ = ["Edges", "circle_states", "fair_circle"]


@dataclass
class Edges:
    """A graph of states numbered from 0, edge by edge: from where, to where, and the number of the action."""

    source: Sequence[int]
    target: Sequence[int]
    action: Sequence[int]
    #: For each action whether it is a body step.
    is_body_step: Sequence[bool]
    #: For each state whether the goal is reached there.
    goal: Sequence[bool] = field(default_factory=list)


def circle_states(edges: Edges) -> set[int]:
    """The states outside the goal from which one can go on for ever outside the goal; empty if there is no circle."""
    ways = [0] * len(edges.goal)  # edges that stay outside the goal, not yet known to lead to an end
    into: list[list[int]] = [[] for _ in edges.goal]
    for source, target in zip(edges.source, edges.target, strict=True):
        if not edges.goal[source] and not edges.goal[target]:
            ways[source] += 1
            into[target].append(source)
    ending = [state for state, count in enumerate(ways) if not count]
    for state in ending:  # grows while it is gone through
        for before in into[state]:
            ways[before] -= 1
            if not ways[before]:
                ending.append(before)
    return set(range(len(edges.goal))).difference(ending)


def fair_circle(edges: Edges, within: set[int]) -> list[tuple[int, int]] | None:
    """A circle that a fair behaviour can go round for ever, as (state, action) pairs; None if there is none.

    Args:
        edges: the whole graph.
        within: the states outside the goal that may lie on a circle, as `circle_states` tells.
    """
    enabled: dict[int, set[int]] = {state: set() for state in within}
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from(within)
    for source, target, action in zip(edges.source, edges.target, edges.action, strict=True):
        if source in within:
            if edges.is_body_step[action]:
                enabled[source].add(action)
            if target in within:
                graph.add_edge(source, target, action=action)
    for component in sorted(nx.strongly_connected_components(graph), key=min):
        inside = [
            (source, target, data["action"])
            for source, target, data in graph.edges(component, data=True)
            if target in component
        ]
        if not inside:
            continue
        always = set.intersection(*(enabled[state] for state in component))
        # With weak fairness the whole component decides: a step enabled all over it and never taken inside it rules
        # out every smaller circle in it as well.
        if always <= {action for _, _, action in inside}:
            return _tour(graph, sorted(component), inside, always)
    return None


def _tour(
    graph: nx.MultiDiGraph[int],
    component: Sequence[int],
    inside: Sequence[tuple[int, int, int]],
    always: Iterable[int],
) -> list[tuple[int, int]]:
    """A closed walk through every state of the component that takes each of the always enabled actions."""
    must = {edge[2]: edge for edge in reversed(inside) if edge[2] in set(always)}
    part = graph.subgraph(component)
    tour: list[tuple[int, int]] = []
    here = component[0]

    def go_to(there: int) -> None:
        nonlocal here
        way = nx.shortest_path(part, here, there)
        for a, b in pairwise(way):
            tour.append((a, min(data["action"] for data in part[a][b].values())))
        here = there

    for state in component:
        go_to(state)
    for action, (source, target, _) in sorted(must.items()):
        go_to(source)
        tour.append((source, action))
        here = target
    go_to(component[0])
    if not tour:  # one state with a loop
        tour.append((inside[0][0], inside[0][2]))
    return tour
