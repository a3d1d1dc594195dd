"""Circles of waits: runs that hold one another up for good.

A wait is over as soon as any one of some runs has ended, and a run can end once all its waits are over. A run is
*stuck* if one of its waits has only stuck runs in it (the greatest such set of runs). Among the stuck runs every group
that holds itself up is told by one shortest circle. So none is named where a way out may exist; where runs that can go
on would have to end first for a circle to be the only thing left, it is told when they have.

Thousands of runs wait for the same few, so what a wait is for is told by *sets* of runs, each stored once. All of it is
a graph of runs, waits and sets, every edge of which is walked a fixed number of times. Only the search for a shortest
circle can take longer, the number of stuck runs times that, where the circles are long and cross one another.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

__all__ = ["Waiting", "in_order"]

_Node: TypeAlias = int  # of the graph: first the runs, in order, then the waits and the sets


class Waiting:
    """Who waits for whom: to be told, and then asked once for the circles."""

    def __init__(self) -> None:
        self._sets: list[Sequence[Hashable]] = []
        self._set_of_one: dict[Hashable, int] = {}
        self._waits: dict[Hashable, list[tuple[int, ...]]] = {}

    def add_set(self, runs: Sequence[Hashable]) -> int:
        """The number of a set of runs, to be named in any number of waits."""
        if len(runs) == 1:
            number = self._set_of_one.setdefault(runs[0], len(self._sets))
            if number < len(self._sets):
                return number
        self._sets.append(runs)
        return len(self._sets) - 1

    def add_wait(self, run: Hashable, *sets: int) -> None:
        """The run waits, beside its other waits, until any one run of these sets has ended.

        Without a run in them the wait ends from outside.
        """
        self._waits.setdefault(run, []).append(tuple(number for number in sets if self._sets[number]))

    def circles(self) -> tuple[tuple[Hashable, ...], ...]:
        """One shortest circle for every group of runs that hold one another up for good."""
        runs = in_order(dict.fromkeys([*self._waits, *(run for them in self._sets for run in them)]))
        graph = _Graph(len(runs), self._edges({run: node for node, run in enumerate(runs)}))
        groups = sorted(sorted(group) for group in graph.groups(graph.stuck()))
        return tuple(tuple(runs[node] for node in graph.shortest_circle(group)) for group in groups)

    def _edges(self, node_of: dict[Hashable, _Node]) -> list[list[_Node]]:
        """For every node what it waits for: a run for its waits, a wait for any of its sets, a set for any of its runs.

        A wait for one set only needs no node of its own.
        """
        edges: list[list[_Node]] = [[] for _ in node_of]
        first_set = len(edges)
        edges += [[node_of[run] for run in them] for them in self._sets]
        for run, waits in self._waits.items():
            for sets in waits:
                nodes = [first_set + number for number in sets]
                if len(nodes) > 1:
                    edges.append(nodes)
                    nodes = [len(edges) - 1]
                edges[node_of[run]] += nodes
        return edges


class _Graph:
    """The nodes below ``runs`` are runs, which need all that they wait for; the others need any one of it."""

    def __init__(self, runs: int, edges: list[list[_Node]]) -> None:
        self._runs = runs
        self._edges = edges

    def stuck(self) -> set[_Node]:
        """The nodes whose waits never end."""
        edges, runs = self._edges, self._runs
        waiters = self._backwards(range(len(edges)))
        left = [len(to) if node < runs else 1 for node, to in enumerate(edges)]  # of what it waits for, to end
        free = [node for node in range(runs) if not left[node]]
        stuck = set(range(len(edges)))
        while free:
            node = free.pop()
            stuck.discard(node)
            for waiter in waiters[node]:
                left[waiter] -= 1
                if not left[waiter]:
                    free.append(waiter)
        return stuck

    def groups(self, nodes: set[_Node]) -> Iterator[list[_Node]]:
        """The strongly connected parts of more than one node (Tarjan 1972, without recursion)."""
        edges = self._edges
        index: dict[_Node, int] = {}
        low: dict[_Node, int] = {}
        stack: list[_Node] = []
        on_stack: set[_Node] = set()
        for root in sorted(nodes):
            if root in index:
                continue
            path: list[tuple[_Node, Iterator[_Node]]] = []
            enter: _Node | None = root
            while enter is not None or path:
                if enter is not None:
                    index[enter] = low[enter] = len(index)
                    stack.append(enter)
                    on_stack.add(enter)
                    path.append((enter, iter(edges[enter])))
                    enter = None
                node, rest = path[-1]
                for to in rest:
                    if to not in nodes:
                        continue
                    if to not in index:
                        enter = to
                        break
                    if to in on_stack:
                        low[node] = min(low[node], index[to])
                if enter is not None:
                    continue
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    group: list[_Node] = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                    on_stack.difference_update(group)
                    if len(group) > 1:
                        yield group

    def shortest_circle(self, group: Sequence[_Node]) -> list[_Node]:
        """The runs of a shortest circle through a strongly connected group, from its least run on.

        One circle through each run in turn. Then that run has been seen to, so it is left out, and with it whatever is
        in no circle without it: often that is all.
        """
        edges = self._edges
        inside = set(group)
        before = self._backwards(group)
        outward = {node: [to for to in edges[node] if to in inside] for node in group}
        ins = {node: len(before[node]) for node in group}
        outs = {node: len(to) for node, to in outward.items()}
        best: list[_Node] = []
        for origin in group:
            if origin >= self._runs or len(best) == 1:
                break
            if origin not in inside:
                continue
            best = self._circle_through(origin, inside, len(best)) or best
            gone = [origin]
            while gone:
                node = gone.pop()
                if node not in inside:
                    continue
                inside.discard(node)
                for to in outward[node]:
                    ins[to] -= 1
                    if not ins[to]:
                        gone.append(to)
                for waiter in before[node]:
                    outs[waiter] -= 1
                    if not outs[waiter]:
                        gone.append(waiter)
        return best

    def _circle_through(self, origin: _Node, inside: set[_Node], shorter_than: int) -> list[_Node]:
        """The runs of a shortest circle from this run; none if none is shorter than that (0: whatever its length)."""
        edges, runs = self._edges, self._runs
        back: dict[_Node, _Node] = {}  # each run's last one before it
        seen: set[_Node] = set()  # waits and sets: whoever is in them has been reached
        level, length = [origin], 1
        while level and (not shorter_than or length < shorter_than):
            reached = []
            for run in level:
                nodes = list(reversed(edges[run]))
                while nodes:
                    node = nodes.pop()
                    if node not in inside:
                        continue
                    if node >= runs:
                        if node not in seen:
                            seen.add(node)
                            nodes += reversed(edges[node])
                    elif node not in back:
                        back[node] = run
                        reached.append(node)
                        if node == origin:
                            circle = [back[origin]]
                            while circle[-1] != origin:
                                circle.append(back[circle[-1]])
                            return circle[::-1]
            level, length = reached, length + 1
        return []

    def _backwards(self, nodes: Iterable[_Node]) -> dict[_Node, list[_Node]]:
        """For each of these nodes those of them that wait for it."""
        waiters: dict[_Node, list[_Node]] = {node: [] for node in nodes}
        for node in waiters:
            for to in self._edges[node]:
                if to in waiters:
                    waiters[to].append(node)
        return waiters


def in_order(runs: Iterable[Hashable]) -> list[Hashable]:
    """In the order of the ids where they have one, else in that of their written form: the same every time."""
    runs = list(runs)
    try:
        return sorted(runs)  # type: ignore[type-var]
    except TypeError:
        return sorted(runs, key=repr)
