"""The graphs of FairAdmission and BuildPermit: equal to those of the rules and of the code, and a fault in any of them
is caught.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tlc_models import SMALL_JOBS, SMALL_PERMITS, expected, small

from slotcheck.checks import mutants
from slotcheck.checks.permit_subject import PermitSubject
from slotcheck.checks.subject import ClassSubject
from slotcheck.checks.tlc.graph import Graph, compare_graphs, explored, read_dot
from slotcheck.checks.tlc.instance import Instance
from slotcheck.checks.tlc.run import run_config
from slotcheck.checks.tlc.suite import SPECIFICATION, check_specs, subjects_for
from slotcheck.checks.tlc.tool import find_tool
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.subject import Subject
from slotlending import Pool

# One fault each in the specification: the module, what stands there, and what stands there instead.
WRONG_ORDERS = {
    "a job that is served keeps its place": ("Order", 'ELSE IF token = "pool" THEN', 'ELSE IF token = "never" THEN'),
    "the most held first": ("Order", "Rank(p.held, k) < Rank(p.held, m)\n", "Rank(p.held, m) < Rank(p.held, k)\n"),
}
WRONG_PERMITS = {
    "a slot is taken beside another run": ("BuildPermit", "IF Beside(r) THEN", "IF FALSE THEN"),
    "a cancelled holder leaves the memo": (
        "BuildPermit",
        "!.memo[c] = memo]",
        "!.memo[c] = IF memo = None THEN @ ELSE memo]",
    ),
    "a loan that comes back queues on no permit": (
        "BuildPermit",
        "permits' = Granted(dropped, pool, p)",
        "permits' = dropped",
    ),
}


def _graphs(folder: Path, model: str) -> dict[Instance, Graph]:
    run = run_config(
        find_tool(), small(folder / "specs", model=model), "MCSmall", "MCSmall", seconds=120, graph_to=folder
    )
    assert run.graph is not None
    return read_dot(run.graph)


@pytest.fixture(scope="module")
def of_jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[Instance, Graph]:
    return _graphs(tmp_path_factory.mktemp("jobs"), SMALL_JOBS)


@pytest.fixture(scope="module")
def of_permits(tmp_path_factory: pytest.TempPathFactory) -> dict[Instance, Graph]:
    return _graphs(tmp_path_factory.mktemp("permits"), SMALL_PERMITS)


def _equal(graphs: dict[Instance, Graph], subject: Subject) -> bool:
    return compare_graphs(
        "MCSmall", {SPECIFICATION: graphs, "subject": {each: explored(each, subject) for each in graphs}}
    ).equal


def test_the_graphs_are_of_every_order_and_of_job_trees_of_two_levels(of_jobs: dict[Instance, Graph]) -> None:
    assert {(each.order, each.tie) for each in of_jobs} == {
        ("fifo", "served"),
        ("fewest_held", "served"),
        ("fewest_held", "oldest"),
        ("round_robin", "served"),
    }
    two_levels = [each for each in of_jobs if max(map(len, each.paths.values())) == 2]
    assert two_levels
    assert any(
        each.scenario.jobs[run.name] != each.scenario.jobs[run.parent]
        for each in two_levels
        for run in each.scenario.runs
        if run.parent is not None
    )


def test_an_instance_is_named_with_its_order_and_jobs(of_jobs: dict[Instance, Graph]) -> None:
    names = {each.name for each in of_jobs}
    assert "a b c d plain, jobs a: j2, b: j2, c: j2, d: j3, cap 1, fewest_held, oldest" in names
    assert len(names) == len(of_jobs)


def test_an_instance_is_named_with_its_components(of_permits: dict[Instance, Graph]) -> None:
    names = {each.name for each in of_permits}
    assert "a b c plain, components a: A v1, b: A v1, c: A v1, cap 2" in names
    assert len(names) == len(of_permits)


def test_the_rule_and_the_pool_have_the_graphs_of_the_specification(
    of_jobs: dict[Instance, Graph], of_permits: dict[Instance, Graph]
) -> None:
    for graphs in (of_jobs, of_permits):
        for subject in subjects_for("lend").values():
            assert _equal(graphs, subject)


class AlwaysByAge(Pool):
    """A pool that breaks ties by age, whatever it is told."""

    def __init__(self, cap: int, **options: object) -> None:
        super().__init__(cap, **{**options, "tie": "oldest"})  # type: ignore[arg-type]


@pytest.mark.parametrize("pool", [AlwaysByAge, mutants.ServesNewestFirst, mutants.OldestIsNewest, mutants.KeepsItsTurn])
def test_a_pool_with_another_order_is_caught(of_jobs: dict[Instance, Graph], pool: type) -> None:
    assert not _equal(of_jobs, ClassSubject("pool", pool))


@pytest.mark.parametrize(
    "permits",
    [
        mutants.WaitsUnderPermit,
        mutants.SkipsMemoCheck,
        mutants.TakesSlotBeside,
        mutants.HandsToNewest,
        mutants.LosesPermit,
        mutants.CancelStaysInQueue,
        mutants.WorksWithoutSlot,
        mutants.StoresOnFailure,
        mutants.KeepsOlderMemo,
        mutants.AsksWithoutParent,
        mutants.MountsItself,
    ],
)
def test_faulty_permits_are_caught(of_permits: dict[Instance, Graph], permits: type) -> None:
    assert not _equal(of_permits, PermitSubject(ClassSubject("pool", Pool), permits))


@pytest.mark.parametrize("name", [*WRONG_ORDERS, *WRONG_PERMITS])
def test_a_fault_in_the_specification_is_caught(name: str, tmp_path: Path) -> None:
    model = SMALL_JOBS if name in WRONG_ORDERS else SMALL_PERMITS
    module, right, wrong = {**WRONG_ORDERS, **WRONG_PERMITS}[name]
    specs = small(tmp_path / "specs", of=module, replace=(right, wrong), model=model)
    must = expected("MCSmall", distinct=1, generated=1, depth=1, graph="lend")
    report = check_specs(find_tool(), specs, [must], seconds=120, jobs=1)
    assert report.verdict is Verdict.VIOLATED
    (part,) = report.parts
    assert part.graph is not None
    assert part.graph.difference is not None
    assert "rule:lend and pool: " in part.graph.difference
    assert part.trace is not None
    assert len(part.trace.events) == len(part.graph.path)
