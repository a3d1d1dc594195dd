"""What the runs in flight can hold at once: the bound, the peak that is reached, and `slotcheck size`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from slotcheck.checks import size_command as command
from slotcheck.checks.cli import main
from slotcheck.checks.generated import forests
from slotcheck.checks.paths import levels_of
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.sizing import Heavy, Seen, parse_size, peak_seen, size_text
from slotcheck.pymodel.explore import Limits
from slotcheck.pymodel.scenario import RunSpec, Scenario

fixed = settings(derandomize=True, deadline=None, database=None, max_examples=60)

FORESTS = [runs for size in (1, 2, 3, 4) for runs in forests(size)]


def of(runs: tuple[RunSpec, ...]) -> Scenario:
    return Scenario("here", runs)


def both(scenario: Scenario, sizes: Mapping[str, int], cap: int) -> tuple[int, int]:
    """The bound and the peak, all of it explored."""
    seen = peak_seen(scenario, sizes, cap)
    assert seen.stopped is None
    assert seen.size == sum(sizes[run] for run in seen.runs)
    return Heavy.of(scenario.runs, sizes, cap).by_paths, seen.size


@fixed
@given(st.sampled_from(FORESTS), st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(1, 3))
def test_the_bound_is_the_peak_of_plain_trees_whose_levels_hold_alike(
    runs: tuple[RunSpec, ...], by_level: list[int], cap: int
) -> None:
    sizes = {run: by_level[level - 1] for run, level in levels_of(runs).items()}
    bound, peak = both(of(runs), sizes, cap)
    assert peak == bound <= Heavy.of(runs, sizes, cap).by_levels


@fixed
@given(st.sampled_from(FORESTS), st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(1, 3))
def test_the_bound_is_the_peak_of_plain_trees_whatever_each_run_holds(
    runs: tuple[RunSpec, ...], each: list[int], cap: int
) -> None:
    sizes = {run.name: size for run, size in zip(runs, each, strict=False)}
    bound, peak = both(of(runs), sizes, cap)
    assert peak == bound <= Heavy.of(runs, sizes, cap).by_levels


def test_bodies_and_scripts_can_only_keep_the_peak_below_the_bound() -> None:
    one_by_one = read_scenario("cap: 2\ntree: r(a b)\nbody r: +a; &a; +b; &*", "here")
    assert both(one_by_one, {"r": 1, "a": 10, "b": 10}, 2) == (21, 11)
    unresumed = read_scenario("cap: 1\ntree: a b\nscript: ask a; cancel a when granted; ask b", "here")
    assert both(unresumed, {"a": 1, "b": 5}, 1) == (5, 5)
    script = read_scenario("cap: 2\ntree: a b\nscript: ask a; finish a; ask b", "here")
    assert both(script, {"a": 10, "b": 7}, 2) == (17, 10)


def test_siblings_are_merged_only_where_they_hold_alike() -> None:
    star = read_scenario("cap: 1\ntree: r(x1..x5)", "here")
    alike = {"r": 3} | {f"x{at}": 2 for at in range(1, 6)}
    # A merged look would take one of them for all, and here miss the one that holds the most.
    for heavy in alike.keys() - {"r"}:
        assert both(star, alike | {heavy: 9}, 1) == (12, 12)
        assert peak_seen(star, alike | {heavy: 9}, 1).runs == ("r", heavy)
    merged, apart = (peak_seen(star, sizes, 1) for sizes in (alike, alike | {"x5": 9}))
    assert merged.states * 10 < apart.states
    assert both(star, alike, 1) == (5, 5)


def test_runs_that_wait_or_ended_hold_nothing() -> None:
    assert both(read_scenario("cap: 1\ntree: a b c", "here"), {"a": 1, "b": 2, "c": 4}, 1) == (4, 4)


def test_a_look_cut_short_says_so() -> None:
    wide = read_scenario("cap: 2\ntree: r(x1..x6)", "here")
    sizes = {run.name: 1 for run in wide.runs}
    seen = peak_seen(wide, sizes, 5, Limits(states=3))
    assert seen.stopped == "more than 3 states"
    assert seen.size < both(wide, sizes, 5)[1] == 6


def test_a_look_ends_where_the_bound_is_reached() -> None:
    huge = read_scenario("cap: 4\ntree: walk(f1..f300)", "here")
    sizes = {run.name: 1 for run in huge.runs}
    # Runs that are not alike are not merged: exploring them all would take longer than a lifetime.
    for heavy in ("f1", "f150", "f300"):
        bound = Heavy.of(huge.runs, sizes | {heavy: 3}, 4)
        seen = peak_seen(huge, sizes | {heavy: 3}, 4, Limits(states=500), bound=bound)
        assert (seen.size, len(seen.runs), seen.stopped) == (7, 5, None)
        assert seen.states == 6  # with nobody, then one more at each


@fixed
@given(st.sampled_from(FORESTS), st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(1, 3))
def test_a_look_along_the_paths_comes_to_the_same(runs: tuple[RunSpec, ...], each: list[int], cap: int) -> None:
    sizes = {run.name: size for run, size in zip(runs, each, strict=False)}
    bound = Heavy.of(runs, sizes, cap)
    seen = peak_seen(of(runs), sizes, cap, bound=bound)
    assert seen.size == bound.by_paths
    # A plain tree comes to it by asking alone.
    assert seen.states <= len(runs) + 1


def test_where_bodies_keep_a_path_from_asking_the_rest_is_explored() -> None:
    one_by_one = read_scenario("cap: 2\ntree: r(a b)\nbody r: +a; &a; +b; &*", "here")
    sizes = {"r": 1, "a": 10, "b": 12}
    seen = peak_seen(one_by_one, sizes, 2, bound=Heavy.of(one_by_one.runs, sizes, 2))
    assert (seen.size, seen.runs, seen.stopped) == (13, ("r", "b"), None)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("100000", 100_000),
        ("12B", 12),
        ("100KB", 100_000),
        ("100 kb", 100_000),
        (" 1.5 MiB ", 1_572_864),
        ("2GB", 2 * 10**9),
        ("0.5TiB", 2**39),
        ("0.1KB", 100),  # exactly, as no float is
        ("1.1 KiB", 1_127),  # 1,126.4: a bound is rounded up
        ("0.2", 1),
        ("123456789012345678901", 123_456_789_012_345_678_901),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "KB", "-1", "1e3", "1,000", "1.KB", ".5KB", "10 XB", "1 K B", "ten", "nan", "1KBs"]
)
def test_what_is_no_size_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="is no size: write a number of bytes, or one with a unit such as 100KB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 KB"),
        (1_500, "1.5 KB"),
        (100_000, "100 KB"),
        (1_234_567, "1.23 MB"),
        (200_000_000, "200 MB"),
        (5 * 10**12, "5 TB"),
        (7 * 10**15, "7000 TB"),
    ],
)
def test_sizes_are_told(size: int, text: str) -> None:
    assert size_text(size) == text


# -- the command -------------------------------------------------------------------------------------------------


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["size", *args])


def told(*args: str) -> dict[str, Any]:
    return json.loads(run(*args, "--format", "json").output)  # type: ignore[no-any-return]


def test_a_scenario_is_sized_at_its_caps() -> None:
    result = run("walk-files-chunks", "--level", "2=100KB", "--level", "3=1KB")
    assert result.exit_code == 0
    lines = [line.split() for line in result.output.splitlines()]
    assert lines[0] == ["walk-files-chunks:", "10", "runs", "on", "3", "levels"]
    (row,) = [line for line in lines if line[0] == "2"]
    assert row[1:7] == ["202", "KB", "202", "KB", "202", "KB"]
    assert "  101 KB: walk > a > a1" in result.output


def test_a_tree_is_sized_without_a_file_and_runs_are_counted_without_sizes() -> None:
    one = told("--tree", "r(a(x) b(y) c)", "--cap", "1", "--cap", "2", "--cap", "2", "--cap", "9")
    assert (one["verdict"], one["unit"], one["covered"]) == (
        "holds",
        "runs",
        {"scenario": "tree", "runs": 6, "levels": 3},
    )
    assert [(part["cap"], part["by_levels"], part["by_paths"]) for part in one["parts"]] == [
        (1, 3, 3),
        (2, 6, 5),
        (9, 27, 6),
    ]
    assert [part["reached"]["size"] for part in one["parts"]] == [3, 5, 6]
    assert one["parts"][1]["paths"] == [{"runs": ["r", "a", "x"], "size": 3}, {"runs": ["b", "y"], "size": 2}]


def test_a_runs_own_size_goes_before_its_levels_and_that_before_the_general_one() -> None:
    args = ("--tree", "r(a b)", "--cap", "2", "--run", "b=7", "--level", "2=5", "--each", "3")
    (part,) = told(*args)["parts"]
    assert [path["size"] for path in part["paths"]] == [10, 5]
    assert told(*args)["unit"] == "bytes"


def test_the_look_can_be_left_out_or_cut_short(tmp_path: Path) -> None:
    args = ("--tree", "r(a(x1..x3) b(y1..y3))", "--cap", "2", "--each", "1KB")
    assert told(*args, "--no-explore")["parts"][0]["reached"] is None
    file = tmp_path / "one-by-one.scenario"
    file.write_text("cap: 2\ntree: r(a b)\nbody r: +a; &a; +b; &*\n")
    whole = run(str(file), "--each", "1KB")
    assert whole.exit_code == 0
    assert ["2", "4", "KB", "3", "KB", "2", "KB", "r", "a"] in [line.split() for line in whole.output.splitlines()]
    cut = run(str(file), "--each", "1KB", "--max-states", "2")
    assert "2 KB or more" in cut.output
    assert "cap 2: explored only in part (more than 2 states), so more may be reached" in cut.output


def test_many_paths_and_long_ones_are_told_in_part() -> None:
    output = run("--tree", "r(x1..x12)", "--cap", "11", "--no-explore").output
    assert output.count(" runs: x") == 7
    assert output.rstrip().endswith("  and 3 more")
    chain = "".join(f"n{at}(" for at in range(1, 12)) + "n12" + ")" * 11
    output = run("--tree", chain, "--cap", "1").output
    assert "12 runs: n1 > n2 > n3 > n4 > n5 > n6 > n7 > n8 and 4 more" in output


def test_more_in_flight_than_the_bound_is_violated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "peak_seen", lambda *_, **__: Seen(99, ("r", "a"), 5, None))
    result = run("--tree", "r(a)", "--cap", "1")
    assert result.exit_code == 1
    assert "cap 1: more is in flight than the bound allows" in result.output
    assert told("--tree", "r(a)", "--cap", "1")["verdict"] == "violated"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "give one of them: a scenario, or --tree TREE with --cap CAP"),
        (("walk-files-chunks", "--tree", "r"), "give one of them"),
        (("--tree", "r"), "--tree needs --cap CAP"),
        (("walk-files-chunk",), "nearest: walk-files-chunks"),
        (("--tree", "r(a", "--cap", "1"), "this bracket is never closed"),
        (("--tree", "r", "--cap", "0"), "--cap"),
        (("walk-files-chunks", "--each", "big"), "--each: 'big' is no size"),
        (("walk-files-chunks", "--level", "4=1KB"), "--level 4=1KB: the levels are 1 to 3, as in --level 2=100KB"),
        (("walk-files-chunks", "--level", "0=1KB"), "the levels are 1 to 3"),
        (("walk-files-chunks", "--level", "1KB"), "the levels are 1 to 3"),
        (("walk-files-chunks", "--level", "2"), "--level: '' is no size"),
        (("walk-files-chunks", "--run", "z=1KB"), "--run z=1KB: the scenario has no run 'z'"),
        (("walk-files-chunks", "--run", "a=1QB"), "--run: '1QB' is no size"),
    ],
)
def test_bad_input_ends_with_2_and_a_reason(args: tuple[str, ...], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_a_file_of_ones_own_is_sized(tmp_path: Path) -> None:
    file = tmp_path / "mine.scenario"
    file.write_text("cap: 1 2\ntree: r(a b)\n")
    one = told(str(file), "--each", "10")
    assert one["covered"]["scenario"] == "mine"
    assert [part["reached"]["size"] for part in one["parts"]] == [20, 30]
