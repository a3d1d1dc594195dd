"""What is read off a view, and the bound on runs in flight."""

from __future__ import annotations

from itertools import combinations

import pytest

from slotcheck.checks.facts import BrokenChainError, Facts, most_in_flight
from slotcheck.checks.generated import forests
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.scenario import RunSpec


def view(*runs: Run, cap: int = 2, taken: int | None = None, waiting: tuple[str, ...] = ()) -> State:
    heads = sum(run.token == "pool" for run in runs)
    taken = heads if taken is None else taken
    return State(cap, taken, frozenset(runs), waiting, frozenset(), frozenset(), "fifo", "served", False)


def run(name: str, token: str = "pool", **fields: object) -> Run:
    made = Run(name, "waiting" if token == "none" else "in_flight", token, False, 1, None, (name,))
    return made._replace(**fields)


def brute_most(runs: tuple[RunSpec, ...], cap: int) -> int:
    """Try all sets of at most so many vertex-disjoint downward paths."""
    parent = {spec.name: spec.parent for spec in runs}
    paths = []
    for spec in runs:
        path, at = [spec.name], spec.parent
        paths.append(frozenset(path))
        while at is not None:
            path.append(at)
            paths.append(frozenset(path))
            at = parent[at]
    best = 0
    for count in range(1, cap + 1):
        for chosen in combinations(paths, count):
            covered = frozenset().union(*chosen)
            if len(covered) == sum(map(len, chosen)):
                best = max(best, len(covered))
    return best


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_most_in_flight_is_the_longest_disjoint_paths(size: int, cap: int) -> None:
    for runs in forests(size):
        assert most_in_flight(runs, cap) == brute_most(runs, cap), runs


def test_a_chain_leads_from_the_pool_slot_down_to_its_unlent_holder() -> None:
    facts = Facts(
        view(
            run("r", lent=True),
            run("a", "loan", parent="r", level=2, lent=True),
            run("b", "loan", parent="a", level=3),
            run("s"),
        )
    )
    assert sorted([[link.run for link in chain] for chain in facts.chains]) == [["r", "a", "b"], ["s"]]
    assert sorted(link.run for link in facts.unlent) == ["b", "s"]
    assert facts.per_level == {1: 2, 2: 1, 3: 1}


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ((run("r", lent=True),), "the slot of r is lent to nobody"),
        (
            (run("r", lent=True), run("a", "loan", parent="r", level=2), run("b", "loan", parent="r", level=2)),
            "the slot of r is lent to a and b",
        ),
        ((run("r", lent=True), run("a", "loan", parent="r")), "a borrows from r, which is not above it"),
    ],
)
def test_a_broken_chain_is_named(runs: tuple[Run, ...], said: str) -> None:
    with pytest.raises(BrokenChainError, match=said):
        _ = Facts(view(*runs)).chains


def test_held_counts_pool_slots_at_or_below_a_job() -> None:
    facts = Facts(view(run("r", job=("a", "x")), run("s", job=("a", "y")), run("t", "loan", job=("a", "x"))))
    assert [facts.held(job) for job in ((), ("a",), ("a", "x"), ("b",))] == [2, 2, 1, 0]
