"""A graph as one script: every edge once its state is there, every call that changes nothing in every state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from slotcheck.checks.port.graph import Family, Graph, renamed_request, renamed_state
from slotcheck.checks.port.messages import Answer, Request, answer_of, reset_request, state_answer
from slotcheck.checks.port.oracle import Exchange
from slotcheck.checks.port.tour import tour

__all__ = ["Walk", "Walked"]


class Walked(NamedTuple):
    """One exchange of a walk."""

    exchange: Exchange
    #: The number of the edge that is taken for the first time; None if none is.
    edge: int | None


class Walk:
    """The script of a graph.

    Args:
        every_state: whether to ask for the state after every new edge, or only once in every state.
        still: whether to make the calls that change nothing.
    """

    def __init__(self, graph: Graph, *, every_state: bool = True, still: bool = True) -> None:
        self.graph = graph
        self._every_state = every_state
        self._still = still
        self._shows = "state" in graph.family.acts
        self._views: dict[tuple[int, tuple[str, ...]], Answer] = {}

    def __iter__(self) -> Iterator[Walked]:
        graph, number = self.graph, 0
        yield Walked(Exchange(opening(graph.family), answer_of()), None)
        between = [[edge for edge in edges if edge.target != at] for at, edges in enumerate(graph.edges)]
        numbers: dict[tuple[int, int], int] = {}
        names = dict(zip(graph.names, graph.names, strict=True))
        visited: set[int] = set()
        for node, which in [*tour([[edge.target for edge in edges] for edges in between]), (0, -1)]:
            if node not in visited:
                visited.add(node)
                for walked in self._stay(node, names, number):
                    number += walked.edge is not None
                    yield walked
            if which < 0:
                return
            edge = between[node][which]
            new = (node, which) not in numbers
            if new:
                numbers[node, which] = number
                number += 1
            yield Walked(_exchange(edge.request, edge.answer, names), number - 1 if new else None)
            names = {name: names[called] for name, called in zip(graph.names, edge.renaming, strict=True)}
            if new and self._every_state and self._shows and edge.target in visited:
                yield self._view(edge.target, names)

    def _stay(self, node: int, names: Mapping[str, str], number: int) -> Iterator[Walked]:
        """What is done once in a state and leaves it as it is."""
        graph = self.graph
        if self._shows and self._every_state:
            yield self._view(node, names)
        loops = [(edge.request, edge.answer) for edge in graph.edges[node] if edge.target == node]
        for request, answer in [*loops, *(graph.still[node] if self._still else ())]:
            yield Walked(_exchange(request, answer, names), number)
            number += 1
        if self._shows:
            yield self._view(node, names)

    def _view(self, node: int, names: Mapping[str, str]) -> Walked:
        key = node, tuple(names.values())
        answer = self._views.get(key)
        if answer is None:
            answer = self._views[key] = state_answer(renamed_state(self.graph.states[node], names))
        return Walked(Exchange({"op": "state"}, answer), None)


def opening(family: Family) -> Request:
    """The `reset` that a walk begins with."""
    return reset_request(family.caps[0], family.order, family.relend)


def _exchange(request: Request, answer: Answer, names: Mapping[str, str]) -> Exchange:
    return Exchange(renamed_request(request, names), _renamed_answer(answer, names))


def _renamed_answer(answer: Answer, names: Mapping[str, str]) -> Answer:
    if "error" in answer or not (answer["granted"] or answer["relent"]):
        return answer
    return {
        "granted": [{"run": names[grant["run"]], "token": grant["token"]} for grant in answer["granted"]],
        "relent": [names[run] for run in answer["relent"]],
    }
