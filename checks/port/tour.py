"""A shortest closed walk that takes every edge of a strongly connected graph: the directed Chinese postman.

Once some edges are doubled, so that as many leave each node as enter it, a circuit takes each exactly once (Hierholzer
1873). Which to double, so that they are the fewest in all, is a flow of least cost from the nodes that more edges enter
to those that more edges leave (Edmonds and Johnson 1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import networkx as nx

__all__ = ["Step", "tour"]

#: A node, and which of its edges.
Step: TypeAlias = tuple[int, int]


def tour(targets: Sequence[Sequence[int]]) -> list[Step]:
    """A shortest closed walk from node 0 over all edges.

    Args:
        targets: for each node where its edges lead; not to itself.

    Raises:
        ValueError: the graph is not strongly connected.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    for node, edges in enumerate(targets):
        graph.add_node(node, demand=0)
        graph.add_edges_from([(node, target) for target in edges], weight=1)
    if not nx.is_strongly_connected(graph):
        raise ValueError("there is no way from every node to every other")
    for node, edges in enumerate(targets):
        graph.nodes[node]["demand"] += len(edges)  # what must come in on doubled edges, less what must go out
        for target in edges:
            graph.nodes[target]["demand"] -= 1
    _, flow = nx.network_simplex(graph)
    left = []  # for each node the edges to take, as often as they are to be taken
    for node, edges in enumerate(targets):
        doubled = [edge for edge, target in enumerate(edges) for _ in range(flow[node].pop(target, 0))]
        left.append([*doubled, *reversed(range(len(edges)))])
    return _circuit(targets, left)


def _circuit(targets: Sequence[Sequence[int]], left: Sequence[list[int]]) -> list[Step]:
    """A circuit from node 0 that takes all edges that are left, in a graph where there is one. Uses them up."""
    stack: list[tuple[int, Step | None]] = [(0, None)]
    walk: list[Step] = []
    while stack:
        node, step = stack[-1]
        if left[node]:
            edge = left[node].pop()
            stack.append((targets[node][edge], (node, edge)))
        else:
            stack.pop()
            if step is not None:
                walk.append(step)
    return walk[::-1]
