"""Circles that a fair behaviour can go round for ever, on graphs made by hand and against a brute-force decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotcheck.pymodel.liveness import Edges, circle_states, fair_circle

fixed = settings(derandomize=True, deadline=None, database=None, max_examples=150)

ACTIONS = "xyze"  # x, y and z are body steps, e is an act of the environment
Edge = tuple[int, int, int]


def graph(text: str, *, goal: Iterable[int] = ()) -> Edges:
    """``graph("0x1 1y0")``: from 0 by x to 1, and from there by y back."""
    edges = [(int(edge[0]), int(edge[2]), ACTIONS.index(edge[1])) for edge in text.split()]
    return edges_of(edges, goal)


def edges_of(edges: Sequence[Edge], goal: Iterable[int], states: int = 0) -> Edges:
    states = max([states, *[1 + max(source, target) for source, target, _ in edges]])
    goal = set(goal)
    return Edges(
        [edge[0] for edge in edges],
        [edge[1] for edge in edges],
        [edge[2] for edge in edges],
        [True, True, True, False],
        [state in goal for state in range(states)],
    )


def circle_of(edges: Edges) -> list[tuple[int, int]] | None:
    return fair_circle(edges, circle_states(edges))


def check_circle(edges: Edges, circle: list[tuple[int, int]]) -> None:
    """It is a closed walk along edges outside the goal, and fair: what is enabled all along it is taken."""
    target = {(source, action): to for source, to, action in zip(edges.source, edges.target, edges.action, strict=True)}
    assert circle
    for at, step in enumerate(circle):
        assert target[step] == circle[(at + 1) % len(circle)][0]
        assert not edges.goal[step[0]]
    enabled = [{action for source, action in target if source == state} for state, _ in circle]
    always = {action for action in set.intersection(*enabled) if edges.is_body_step[action]}
    assert always <= {action for _, action in circle}


# -- by hand ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "goal", "states"),
    [
        ("0x1 1x2 0y2", (), set()),
        ("0x1 1y0", (), {0, 1}),
        ("0x0", (), {0}),
        ("0x1 1y0", (1,), set()),
        ("0x0", (0,), set()),
        ("0x1 1x2 2x1 2y3", (), {0, 1, 2}),
        ("0x1 1x1 0y2 2x3", (), {0, 1}),
        ("0x1 1x2 2x1", (2,), set()),
        ("0x1 1x2 2x0 1y3 3y1", (2,), {0, 1, 3}),
    ],
    ids=[
        "no circle",
        "a circle",
        "a loop",
        "a circle through the goal",
        "a loop at the goal",
        "before, on and after a circle",
        "a way into a circle and a way to an end",
        "the goal cuts the circle",
        "one circle of two avoids the goal",
    ],
)
def test_circle_states_are_those_from_which_one_can_go_on_for_ever_outside_the_goal(
    text: str, goal: tuple[int, ...], states: set[int]
) -> None:
    assert circle_states(graph(text, goal=goal)) == states


def test_an_empty_graph_has_no_circle() -> None:
    assert circle_states(edges_of([], [])) == set()
    assert circle_of(edges_of([], [], states=3)) is None


@pytest.mark.parametrize("text", ["0x1 1y0", "0x0", "0x0 0y0", "0e0", "0x1 1x0", "0x1 1y2 2z0 0e1"])
def test_a_circle_that_leaves_nothing_out_is_fair(text: str) -> None:
    edges = graph(text)
    circle = circle_of(edges)
    assert circle is not None
    check_circle(edges, circle)


def test_a_circle_is_unfair_if_a_body_step_is_enabled_all_along_and_never_taken() -> None:
    assert circle_of(graph("0x1 1y0 0z2 1z2")) is None


def test_a_circle_is_fair_if_the_body_step_not_taken_is_enabled_only_at_some_states() -> None:
    assert circle_of(graph("0x1 1y0 0z2")) == [(0, 0), (1, 1)]


def test_an_act_of_the_environment_enabled_all_along_need_not_be_taken() -> None:
    assert circle_of(graph("0x1 1y0 0e2 1e2")) == [(0, 0), (1, 1)]


def test_a_circle_of_acts_of_the_environment_alone_is_unfair_beside_a_body_step() -> None:
    assert circle_of(graph("0e0 0x1")) is None
    assert circle_of(graph("0e1 1e0 0x2 1x2")) is None


def test_a_circle_of_acts_of_the_environment_alone_is_fair_where_no_body_step_stays_enabled() -> None:
    assert circle_of(graph("0e1 1e0 0x2 1y2")) == [(0, 3), (1, 3)]


def test_a_body_step_that_leads_to_the_goal_counts_as_enabled() -> None:
    assert circle_of(graph("0x1 1y0 0z2 1z2", goal=(2,))) is None


def test_a_body_step_taken_elsewhere_but_not_on_the_circle_does_not_make_it_fair() -> None:
    assert circle_of(graph("0z1 1x2 2y1 1z3 2z3")) is None


def test_a_step_always_enabled_is_taken_although_the_shortest_tour_would_not() -> None:
    edges = graph("0x1 1y0 0z0 1z1")
    circle = circle_of(edges)
    assert circle is not None
    assert ACTIONS.index("z") in {action for _, action in circle}
    check_circle(edges, circle)


def test_of_two_components_the_fair_one_is_told() -> None:
    edges = graph("0x1 1y0 0z2 1z2 2x3 3y2")
    circle = circle_of(edges)
    assert circle is not None
    assert {state for state, _ in circle} == {2, 3}
    check_circle(edges, circle)


def test_two_unfair_components_have_no_fair_circle() -> None:
    assert circle_of(graph("0x1 1y0 0z2 1z2 2x3 3y2 2z4 3z4")) is None


# -- by brute force --------------------------------------------------------------------------------------------------


def is_strongly_connected(edges: Sequence[Edge]) -> bool:
    states = {state for source, target, _ in edges for state in (source, target)}
    for start in states:
        seen, left = {start}, [start]
        while left:
            here = left.pop()
            new = {target for source, target, _ in edges if source == here} - seen
            seen |= new
            left += new
        if seen != states:
            return False
    return True


def has_fair_circle(edges: Sequence[Edge], goal: set[int]) -> bool:
    """What a behaviour takes infinitely often is a strongly connected set of edges: try them all."""
    outside = [edge for edge in edges if edge[0] not in goal and edge[1] not in goal]
    for size in range(1, len(outside) + 1):
        for chosen in combinations(outside, size):
            if not is_strongly_connected(chosen):
                continue
            visited, taken = {source for source, _, _ in chosen}, {action for _, _, action in chosen}
            if all(
                action in taken or any((state, action) not in {(a, c) for a, _, c in edges} for state in visited)
                for action in range(3)
            ):
                return True
    return False


states = st.integers(0, 4)
# At most one edge for each state and action; two body steps and an act of the environment.
edge_lists = st.lists(
    st.tuples(states, states, st.sampled_from([0, 1, 3])), max_size=8, unique_by=lambda edge: (edge[0], edge[2])
)


@fixed
@given(edge_lists, st.sets(states, max_size=2))
def test_circle_states_are_those_with_a_walk_longer_than_there_are_states(edges: list[Edge], goal: set[int]) -> None:
    can = set(range(5)) - goal
    for _ in range(5):
        can = {source for source, target, _ in edges if source not in goal and target in can}
    assert circle_states(edges_of(edges, goal, states=5)) == can


@fixed
@given(edge_lists, st.sets(states, max_size=2))
def test_a_fair_circle_is_told_exactly_where_brute_force_finds_one(edges: list[Edge], goal: set[int]) -> None:
    judged = edges_of(edges, goal, states=5)
    circle = circle_of(judged)
    assert (circle is not None) == has_fair_circle(edges, goal)
    if circle is not None:
        check_circle(judged, circle)
