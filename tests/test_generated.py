"""The generated scenarios: all forests, each once."""

from __future__ import annotations

import networkx as nx
import pytest

from slotcheck.checks.generated import ENVIRONMENTS, forests, generated_scenarios
from slotcheck.checks.scenario import read_scenario
from slotcheck.pymodel.scenario import RunSpec


def graph(runs: tuple[RunSpec, ...]) -> nx.DiGraph[str]:
    made: nx.DiGraph[str] = nx.DiGraph()
    for run in runs:
        made.add_edge(run.parent or "", run.name)
    return made


@pytest.mark.parametrize(("size", "trees"), [(1, 1), (2, 1), (3, 2), (4, 4), (5, 9), (6, 20), (7, 48)])
def test_there_are_as_many_trees_as_is_known(size: int, trees: int) -> None:
    assert len(forests(size, roots=1)) == trees


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 2), (3, 4), (4, 9), (5, 20), (6, 48)])
def test_forests_are_trees_without_their_root(size: int, count: int) -> None:
    assert len(forests(size, roots=size)) == count


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_no_forest_comes_twice_and_none_has_more_than_three_roots(size: int) -> None:
    made = forests(size)
    for at, one in enumerate(made):
        assert len(one) == size
        assert 1 <= sum(run.parent is None for run in one) <= 3
        for other in made[at + 1 :]:
            assert not nx.is_isomorphic(graph(one), graph(other))


def test_every_forest_comes_under_every_environment_the_smallest_first() -> None:
    made = list(generated_scenarios(3))
    assert len(made) == (1 + 2 + 4) * len(ENVIRONMENTS)
    assert [len(scenario.runs) for scenario in made] == sorted(len(scenario.runs) for scenario in made)
    assert len({scenario.name for scenario in made}) == len(made)
    assert [scenario.plain for scenario in made] == [env.name == "plain" for _ in range(7) for env in ENVIRONMENTS]


def test_the_tree_is_told_in_the_notation() -> None:
    for scenario in generated_scenarios(5):
        assert read_scenario(f"cap: 1\ntree: {scenario.tree}", "x").runs == scenario.runs
