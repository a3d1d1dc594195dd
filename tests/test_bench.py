"""The figures of the bench: what they are about, not what they are."""

from __future__ import annotations

import pytest

from slotcheck.checks import bench_aio, bench_orders
from slotcheck.checks.bench import SIZES, Exploration, bench, tree
from slotcheck.checks.figure import Figure
from slotcheck.checks.tables import bench_as_json


@pytest.mark.parametrize("size", SIZES, ids=lambda size: size.name)
def test_a_size_is_named_for_its_tree(size: object) -> None:
    scenario = tree(size.levels, size.fan_out)  # type: ignore[attr-defined]
    assert f"{len(scenario.runs)} runs, cap {size.cap}" == size.name  # type: ignore[attr-defined]
    assert scenario.plain


@pytest.mark.parametrize(
    ("value", "target", "met"),
    [
        (3.0, "<= 3", True),
        (3.1, "<= 3", False),
        (5.0, ">= 5", True),
        (4.9, ">= 5", False),
        (1.0, "", None),
        (1.0, "== 1", True),
        (2.0, "== 1", False),
    ],
)
def test_a_target_is_met_or_missed(value: float, target: str, met: bool | None) -> None:
    assert Figure("it", value, "s", target).met is met


def test_the_first_figures_are_measured() -> None:
    figures = bench(rounds=1, runs=2_000)
    first, memory = next(figures), next(figures)
    assert isinstance(first, Figure)
    assert isinstance(memory, Figure)
    assert first.value is not None
    assert first.value > 0
    assert memory.counts["runs"] >= 2_000
    told = bench_as_json([first, memory, Exploration("pool", "7 runs", True, False, 10, 20, 30, 0.5)])["timing"]
    assert [figure["unit"] for figure in told["figures"]] == ["times", "KiB"]
    assert [one["edges_per_second"] for one in told["explorations"]] == [60]


def test_the_port_is_measured_beside_the_limiters_in_use() -> None:
    figures = list(bench_aio.bench_aio(rounds=1, turns=20))
    names = [figure.what.partition(" / ")[0] for figure in figures]
    assert names == 2 * [
        "aio.Pool async with",
        "aio.Pool ask + finish",
        "anyio.CapacityLimiter",
        "trio.CapacityLimiter",
    ]
    assert all(figure.value is not None and figure.value > 0 for figure in figures)


def test_a_limiter_that_is_not_installed_is_said_not_to_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(bench_aio.importlib, "import_module", absent)
    figures = list(bench_aio.bench_aio(rounds=1, turns=20))
    absent_ones = [figure for figure in figures if figure.unit == "not measured: not installed"]
    assert [figure.what.partition(".")[0] for figure in absent_ones] == 2 * ["anyio", "trio"]
    assert all(figure.met is None for figure in absent_ones)


def test_a_grant_and_a_simulation_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_orders, "JOBS", (3, 30))
    monkeypatch.setattr(bench_orders, "_GRANTS", 20)
    figures = list(bench_orders.bench_orders(rounds=1, runs=2_000))
    assert [figure.unit for figure in figures] == ["us"] * 2 * 6 + ["s", "MiB"]
    assert all(figure.value is not None and figure.value > 0 for figure in figures)
    # 100 jobs of 20 tasks that take 10 to 16 ms, on 1,000 slots: the last of the jobs of 16 ms asks at 97.
    assert figures[-1].counts["ms_of_virtual_time"] == 113
