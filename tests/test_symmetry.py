"""The symmetry of a forest against brute force: all permutations of its nodes, tried one by one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import permutations, product
from math import comb, factorial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotcheck.pymodel.symmetry import ForestSymmetry

fixed = settings(derandomize=True, deadline=None, database=None, max_examples=60)

Parents = Sequence[int | None]


def automorphisms(parents: Parents, kinds: Sequence[Hashable]) -> list[tuple[int, ...]]:
    """All permutations of the nodes that keep the kind and the parent of each."""
    return [
        way
        for way in permutations(range(len(parents)))
        if all(
            kinds[way[node]] == kinds[node] and parents[way[node]] == (None if parent is None else way[parent])
            for node, parent in enumerate(parents)
        )
    ]


def moved(local: Sequence[int], way: Sequence[int]) -> tuple[int, ...]:
    """The same codes, each carried to where its node goes."""
    out = [0] * len(local)
    for node, code in enumerate(local):
        out[way[node]] = code
    return tuple(out)


def check_against_brute_force(parents: Parents, kinds: Sequence[Hashable], codes: int = 2) -> None:
    ways = automorphisms(parents, kinds)
    symmetry = ForestSymmetry(parents, kinds)
    assert symmetry.size == len(ways)
    orbits: dict[Hashable, set[tuple[int, ...]]] = {}  # by key
    weights: dict[Hashable, int] = {}
    for local in product(range(codes), repeat=len(parents)):
        orbit = {moved(local, way) for way in ways}
        key, weight = symmetry.key_and_weight(local)
        assert weight == len(orbit)
        assert orbits.setdefault(key, orbit) == orbit  # equal keys: one orbit
        weights[key] = weight
        check_stand_ins(symmetry, local, ways)
    assert len(orbits) == len({frozenset(orbit) for orbit in orbits.values()})  # one orbit: equal keys
    assert sum(weights.values()) == codes ** len(parents)


def check_stand_ins(symmetry: ForestSymmetry, local: tuple[int, ...], ways: Sequence[tuple[int, ...]]) -> None:
    """Of the nodes that exchanges which change nothing carry into one another exactly one stands for itself."""
    stands = symmetry.stand_ins(local)
    stabiliser = [way for way in ways if moved(local, way) == local]
    for node in range(len(local)):
        assert sum(stands[other] for other in {way[node] for way in stabiliser}) == 1


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_every_forest_of_a_few_nodes_agrees_with_all_permutations(nodes: int) -> None:
    for parents in product(*[[None, *range(node)] for node in range(nodes)]):
        check_against_brute_force(parents, [""] * nodes)


@st.composite
def forests_with_kinds(draw: st.DrawFn) -> tuple[list[int | None], list[str]]:
    nodes = draw(st.integers(1, 6))
    parents = [draw(st.sampled_from([None, *range(node)])) for node in range(nodes)]
    return parents, draw(st.lists(st.sampled_from("xxy"), min_size=nodes, max_size=nodes))


@fixed
@given(forests_with_kinds())
def test_a_forest_with_kinds_agrees_with_all_permutations(forest: tuple[list[int | None], list[str]]) -> None:
    check_against_brute_force(*forest)


@pytest.mark.parametrize(
    ("parents", "kinds"),
    [
        ([None, 0, 0, 0], "rxxx"),
        ([None, 0, 0, 1, 1, 2], "rxxyyy"),
        ([None, None, 0, 0, 1, 1], "xxyyyy"),
        ([None, None, 0, 1, 0, 1], "xxyyzz"),
    ],
    ids=["a star", "an uneven tree", "two trees", "two trees of two kinds"],
)
def test_three_codes_tell_as_much_as_two(parents: list[int | None], kinds: str) -> None:
    check_against_brute_force(parents, kinds, codes=3)


# -- subtrees that list their children in different orders -----------------------------------------------------------


def test_two_subtrees_whose_children_of_two_kinds_stand_in_different_order() -> None:
    check_against_brute_force([None, None, 0, 0, 1, 1], "rrxyyx")


def test_two_subtrees_whose_children_of_two_shapes_stand_in_different_order() -> None:
    symmetry = ForestSymmetry([None, 0, 1, 0, None, 4, 4, 6], [""] * 8)
    assert symmetry.size == 2
    one, other = (0, 1, 2, 3, 0, 4, 5, 6), (0, 5, 6, 4, 0, 3, 1, 2)  # exchanged, tree for tree
    assert symmetry.key_and_weight(one) == symmetry.key_and_weight(other)
    assert symmetry.key_and_weight(one)[1] == 2
    assert symmetry.key_and_weight((0, 1, 2, 3, 0, 3, 1, 2))[1] == 1
    assert symmetry.stand_ins((0, 1, 2, 3, 0, 3, 1, 2)) == [True] * 4 + [False] * 4


# -- by hand ---------------------------------------------------------------------------------------------------------


def test_nodes_of_different_kinds_are_not_interchangeable() -> None:
    symmetry = ForestSymmetry([None, 0, 0, 0], ["", "x", "y", "x"])
    assert symmetry.size == 2
    key = symmetry.key_and_weight
    assert key([0, 1, 0, 2]) == key([0, 2, 0, 1])
    assert key([0, 1, 0, 2])[0] != key([0, 0, 1, 2])[0]


def test_nodes_with_different_kinds_below_them_are_not_interchangeable() -> None:
    symmetry = ForestSymmetry([None, None, 0, 1], ["", "", "x", "y"])
    assert symmetry.size == 1
    assert symmetry.key_and_weight([1, 0, 0, 0])[0] != symmetry.key_and_weight([0, 1, 0, 0])[0]


def test_only_the_first_of_equal_siblings_stands_for_itself_and_nothing_below_the_others() -> None:
    symmetry = ForestSymmetry([None, 0, 0, 1, 1, 2, 2], [""] * 7)
    assert symmetry.stand_ins([0] * 7) == [True, True, False, True, False, False, False]
    assert symmetry.stand_ins([0, 0, 0, 1, 0, 0, 0]) == [True, True, True, True, True, True, False]


def test_roots_are_interchangeable_like_siblings() -> None:
    symmetry = ForestSymmetry([None, None, None], [""] * 3)
    assert (symmetry.size, symmetry.key_and_weight([5, 7, 5])[1]) == (6, 3)
    assert symmetry.stand_ins([5, 7, 5]) == [True, True, False]


def test_a_long_chain_has_no_symmetry() -> None:
    symmetry = ForestSymmetry([None, *range(49)], [""] * 50)
    assert symmetry.size == 1
    states = [[int(at == marked) for at in range(50)] for marked in range(50)]
    keys = [symmetry.key_and_weight(state) for state in states]
    assert {weight for _, weight in keys} == {1}
    assert len({key for key, _ in keys}) == 50
    assert symmetry.stand_ins(states[0]) == [True] * 50


def test_a_wide_star_has_all_permutations_of_its_leaves() -> None:
    symmetry = ForestSymmetry([None] + [0] * 30, [""] * 31)
    assert symmetry.size == factorial(30)
    key, weight = symmetry.key_and_weight([0] + [1] * 10 + [2] * 20)
    assert weight == comb(30, 10)
    assert symmetry.key_and_weight([0] + [2] * 20 + [1] * 10) == (key, weight)
    assert symmetry.key_and_weight([0, *range(30)])[1] == factorial(30)
    assert symmetry.stand_ins([0] + [1, 2] * 15) == [True, True, True] + [False] * 28


def test_the_weights_of_a_wide_star_add_up_to_all_states() -> None:
    symmetry = ForestSymmetry([None] + [0] * 30, [""] * 31)
    states = [[0] + [1] * ones + [0] * (30 - ones) for ones in range(31)]
    assert sum(symmetry.key_and_weight(state)[1] for state in states) == 2**30


def test_a_child_that_stands_before_its_parent_is_refused() -> None:
    with pytest.raises(ValueError, match="node 0 stands before its parent 1"):
        ForestSymmetry([1, None], ["", ""])
    with pytest.raises(ValueError, match="node 0 stands before its parent 0"):
        ForestSymmetry([0], [""])
