"""The heaviest disjoint downward paths: against every choice of such paths, on random small forests with weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotcheck.checks.paths import HeaviestPath, heaviest_paths, levels_of
from slotcheck.pymodel.scenario import RunSpec

fixed = settings(derandomize=True, deadline=None, database=None, max_examples=200)

Forest = tuple[RunSpec, ...]


@st.composite
def weighed(draw: st.DrawFn, most: int = 7) -> tuple[Forest, dict[str, int]]:
    """A forest, parents before their children, and a weight for each run; few different ones, so that many tie."""
    count = draw(st.integers(1, most))
    above = [draw(st.none() | st.integers(0, at - 1)) if at else None for at in range(count)]
    runs = tuple(RunSpec(f"n{at}", None if parent is None else f"n{parent}") for at, parent in enumerate(above))
    return runs, {run.name: draw(st.sampled_from([0, 1, 1, 2, 5])) for run in runs}


def downward(runs: Forest) -> Iterator[tuple[str, ...]]:
    """Every downward path."""
    parent = {run.name: run.parent for run in runs}
    for run in runs:
        path: tuple[str, ...] = ()
        at: str | None = run.name
        while at is not None:
            path = (at, *path)
            yield path
            at = parent[at]


def best_of_all(runs: Forest, sizes: Mapping[str, int], cap: int) -> int:
    """The most that any choice of at most so many disjoint downward paths holds, all of them tried."""
    paths = [(frozenset(path), sum(sizes[run] for run in path)) for path in downward(runs)]

    def best(at: int, used: frozenset[str], left: int) -> int:
        if left == 0 or at == len(paths):
            return 0
        path, size = paths[at]
        without = best(at + 1, used, left)
        return without if path & used else max(without, size + best(at + 1, used | path, left - 1))

    return best(0, frozenset(), cap)


@fixed
@given(weighed(), st.integers(1, 4))
def test_no_choice_of_disjoint_downward_paths_holds_more(forest: tuple[Forest, dict[str, int]], cap: int) -> None:
    runs, sizes = forest
    assert sum(path.size for path in heaviest_paths(runs, sizes, cap)) == best_of_all(runs, sizes, cap)


@fixed
@given(weighed(most=12), st.integers(1, 5))
def test_they_are_disjoint_downward_paths_the_heaviest_first(forest: tuple[Forest, dict[str, int]], cap: int) -> None:
    runs, sizes = forest
    paths = heaviest_paths(runs, sizes, cap)
    known = set(downward(runs))
    assert all(path.runs in known for path in paths)
    assert all(path.size == sum(sizes[run] for run in path.runs) for path in paths)
    covered = [run for path in paths for run in path.runs]
    assert len(covered) == len(set(covered))
    assert [path.size for path in paths] == sorted((path.size for path in paths), reverse=True)
    assert len(paths) == min(cap, sum(run.name not in {other.parent for other in runs} for run in runs))


def test_of_equal_paths_the_first_is_told() -> None:
    runs = (RunSpec("r"), *(RunSpec(f"x{at}", "r") for at in range(1, 6)))
    assert heaviest_paths(runs, dict.fromkeys([run.name for run in runs], 1), 3) == [
        HeaviestPath(("r", "x1"), 2),
        HeaviestPath(("x2",), 1),
        HeaviestPath(("x3",), 1),
    ]
    # Above before below, and so from the root, even where the root holds nothing.
    nothing = dict.fromkeys([run.name for run in runs], 0) | {"x2": 7, "x4": 7}
    assert heaviest_paths(runs, nothing, 1) == [HeaviestPath(("r", "x2"), 7)]


@pytest.mark.parametrize("length", [1, 5_000])
def test_a_deep_chain_is_one_path(length: int) -> None:
    runs = tuple(RunSpec(f"n{at}", f"n{at - 1}" if at else None) for at in range(length))
    (path,) = heaviest_paths(runs, {run.name: 2 for run in runs}, 3)
    assert path == HeaviestPath(tuple(run.name for run in runs), 2 * length)


def test_levels_count_from_the_roots() -> None:
    runs = (RunSpec("r"), RunSpec("a", "r"), RunSpec("x", "a"), RunSpec("s"), RunSpec("b", "r"))
    assert levels_of(runs) == {"r": 1, "a": 2, "x": 3, "s": 1, "b": 2}
