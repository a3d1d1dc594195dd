"""The graphs that ports are driven through: all states, all edges, the right answers, one shortest walk."""

from __future__ import annotations

from collections import Counter

import pytest

from slotcheck.checks.conformance import calls_without_effect
from slotcheck.checks.facts import Facts
from slotcheck.checks.port.graph import Family, build, with_shared_jobs
from slotcheck.checks.port.levels import families
from slotcheck.checks.port.messages import FEATURES, ORDER_FEATURES, Hello, needs_of, request_of
from slotcheck.checks.port.oracle import LEND, demanded
from slotcheck.checks.port.tour import tour
from slotcheck.checks.port.walk import Walk
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.rules import State

EVERYTHING = Hello("all", frozenset(FEATURES), ())
PLAIN = Hello("plain", frozenset({"fifo", "state"}), ())


def some(hello: Hello, runs: int, *, kinds: int = 10**6) -> list[Family]:
    return list(families(hello, runs, (1, 2)))[:kinds]


def unreduced(family: Family) -> tuple[int, int]:
    """States and edges, refused calls too, found without any exchange of siblings and without `Graph`."""
    parents = {spec.name: spec.parent for spec in family.specs}
    roots = {name: name for name, parent in parents.items() if parent is None}
    for name, parent in parents.items():
        roots[name] = roots.get(name) or roots[parent or ""]
    order, tie = family.order
    start: State = LEND.initial(family.caps[0], order=order, tie=tie, relend=family.relend)
    seen, todo, edges = {start}, [start], 0
    while todo:
        state = todo.pop()
        known = {run.run: run.phase for run in state.runs}
        calls: list[tuple[object, ...]] = []
        for name, parent in parents.items():
            phase = known.get(name)
            if phase is None:
                job = family.jobs.get(name) if parent is None else None
                if parent is not None and known.get(parent) != "in_flight":
                    if not family.late:
                        continue
                    parent, job = None, family.jobs.get(roots[name], (roots[name],))
                calls += [(verb, name, parent, job) for verb in ("ask", "try_ask")]
            calls += [("finish", name)] * (phase == "in_flight")
            calls += [("cancel", name)] * (phase in ("in_flight", "waiting"))
        calls += [("resize", cap) for cap in family.caps] * ("resize" in family.acts)
        calls = [call for call in calls if call[0] in family.acts or call[0] in ("ask", "finish")]
        for verb, *args in calls:
            after = getattr(LEND, str(verb))(state, *args).state
            if after not in seen:
                seen.add(after)
                todo.append(after)
        still = [call for call, _ in calls_without_effect(Facts(state), list(parents))]
        edges += len(calls) + sum(needs_of(request_of(call)) <= family.acts for call in still)
    return len(seen), edges


def name_of(family: Family) -> str:
    return family.name


SHARED = [
    family
    for order in ORDER_FEATURES.values()
    for family in with_shared_jobs(order, False, (1, 2), frozenset(FEATURES) - {"try_ask"})
]
FAMILIES = pytest.mark.parametrize("family", [*some(EVERYTHING, 3), *some(PLAIN, 3), *SHARED], ids=name_of)


@FAMILIES
def test_the_states_and_edges_stand_for_all_there_are(family: Family) -> None:
    graph = build(LEND, family)
    assert (graph.full_states, graph.full_edges) == unreduced(family)


@FAMILIES
def test_a_walk_takes_every_edge_and_its_answers_are_those_of_the_rule(family: Family) -> None:
    graph = build(LEND, family)
    walk = list(Walk(graph))
    assert [walked.exchange for walked in walk] == list(demanded(walked.exchange.request for walked in walk))
    assert sorted(walked.edge for walked in walk if walked.edge is not None) == list(range(graph.count))


def test_a_walk_begins_with_its_only_reset_and_asks_for_every_state() -> None:
    family = next(family for family in some(EVERYTHING, 3) if tree_text(family.specs) == "a(b c)")
    graph = build(LEND, family)
    ops = Counter(walked.exchange.request["op"] for walked in Walk(graph))
    assert ops["reset"] == 1
    once = Counter(walked.exchange.request["op"] for walked in Walk(graph, every_state=False, still=False))
    assert once["state"] == len(graph.states)
    assert ops["state"] > 2 * once["state"]


def test_a_graph_that_takes_too_long_can_be_ended() -> None:
    class EndError(Exception):
        pass

    def tick() -> None:
        raise EndError

    with pytest.raises(EndError):
        build(LEND, some(EVERYTHING, 1)[0], tick)


def test_siblings_are_exchanged_only_where_a_state_stays_the_same() -> None:
    family = next(family for family in some(EVERYTHING, 3) if tree_text(family.specs) == "a(b c)")
    graph = build(LEND, family)
    assert len(graph.states) < graph.full_states
    waiting = [state.waiting for state in graph.states]
    assert ("b", "c") not in waiting or ("c", "b") not in waiting


def length(targets: list[list[int]]) -> int:
    walk = tour(targets)
    at = 0
    for node, edge in walk:
        assert node == at
        at = targets[node][edge]
    assert at == 0
    taken = Counter(walk)
    assert set(taken) == {(node, edge) for node, edges in enumerate(targets) for edge in range(len(edges))}
    return len(walk)


def test_a_tour_is_as_short_as_can_be() -> None:
    assert length([[1], [2], [0]]) == 3
    assert length([[1, 1], [0]]) == 4  # two edges there, one back, which is taken twice
    assert length([[1, 2], [0], [0]]) == 4
    # Down from each of five to 0 at once, up one by one: each way up is taken for all above it.
    assert length([[1], [2, 0], [3, 0], [4, 0], [0]]) == 4 + 3 + 2 + 5
    assert tour([[]]) == []


def test_a_graph_with_no_way_back_has_no_tour() -> None:
    with pytest.raises(ValueError, match="no way"):
        tour([[1], [2], [1]])


def test_what_a_port_lacks_is_in_no_walk() -> None:
    for family in families(PLAIN, 3, (1, 2)):
        for walked in Walk(build(LEND, family)):
            request = walked.exchange.request
            assert needs_of(request) <= PLAIN.features
    assert {family.caps for family in families(PLAIN, 2, (1, 2))} == {(1,), (2,)}
    assert {family.caps for family in families(EVERYTHING, 2, (1, 2))} == {(1, 2)}
