"""The posts' figures, equal; the relend table; and the commands that print them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slotcheck.checks import compare_orders as module
from slotcheck.checks.cli import main
from slotcheck.checks.compare_orders import Comparison, Row
from slotcheck.checks.compare_orders_report import orders_as_json, verdict_of
from slotcheck.checks.order_workloads import files_and_chunks, flat, tree_walk
from slotcheck.checks.playing import play
from slotcheck.checks.relend_gain import CAPS, Gain, comb_gains, combs, no_gains, random_forest, random_gains
from slotcheck.checks.relend_report import RelendGains, relend_as_json
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.simulate import simulate
from slotlending import Pool

FAST = ("_first_run", "_second_run", "_figure", "_oldest_falls_back")


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


@pytest.mark.parametrize("table", FAST)
def test_the_figures_of_the_posts_come_out_equal(table: str) -> None:
    compared: Comparison = getattr(module, table)()
    assert compared.exact
    assert compared.different == []
    assert any(any(row.told) for row in compared.rows)


def test_the_trees_of_the_engine_come_near_what_it_measured() -> None:
    rows = {row.name: row.ours for row in module._live_components().rows}
    assert rows == {
        "FIFO": ("280", "287"),
        "fewest held first, oldest": ("72", "79"),
        "fewest held first, served": ("47", "54"),
    }


def test_the_designs_on_fewer_files() -> None:
    """As compare.py has them on 2,000 files: `slotcheck compare --orders` looks at all of those."""
    found = {
        rule: play(files_and_chunks(60), f"rule:{rule}", 4, order="fifo").found
        for rule in ("hold", "release", "per_level", "lend")
    }
    peaks = {rule: (bool(one.stuck), one.in_flight.by_level[2], one.working.by_level[3]) for rule, one in found.items()}
    assert peaks == {"hold": (True, 3, 0), "release": (False, 60, 4), "per_level": (False, 4, 4), "lend": (False, 4, 4)}


def test_a_walk_that_holds_its_slot_is_stuck_after_as_many_fetches_as_there_are_slots() -> None:
    found = play(tree_walk(5, 3), "rule:hold", 20, order="fifo").found
    assert (len(found.stuck), found.alive.peak) == (101, 101)
    assert sum(at >= 0 for at in found.admitted_ms) == 20


def test_a_figure_that_is_not_equal_is_violated_unless_it_was_measured() -> None:
    rows = (Row("FIFO", ("545", "8"), ("545", "9")), Row("other", ("1", "2"), ("", "")))
    wrong = Comparison("t", "post", ("a", "b"), rows)
    assert wrong.different == [(rows[0], "b", "8", "9")]
    assert verdict_of([wrong]) is Verdict.VIOLATED
    told = orders_as_json([wrong])
    assert told["covered"] == {"tables": 1, "figures": 2, "equal": 1}
    assert [one["message"] for one in told["violations"]] == ["FIFO, b: 8, where post says 9"]
    assert verdict_of([wrong._replace(exact=False)]) is Verdict.HOLDS


def test_a_faulty_order_changes_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    original = play
    monkeypatch.setattr(module, "play", lambda scenario, _, *args, **options: original(
        scenario, "slotcheck.checks.mutants:ServesNewestFirst", *args, **options
    ))  # fmt: skip
    assert module._figure().different


def test_compare_orders_prints_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotcheck.checks.compare_command.compare_orders", lambda: iter([module._figure()]))
    text = run("compare", "--orders")
    assert (text.exit_code, "4 of 4 figures of the posts equal" in text.output) == (0, True)
    told = json.loads(run("compare", "--orders", "--format", "json").output)
    assert (told["verdict"], told["parts"][0]["rows"][0]["ours"]) == ("holds", ["60", "50"])


# -- relend ----------------------------------------------------------------------------------------------------------


def test_relend_fills_the_slots_that_idle_under_the_spine_of_a_comb() -> None:
    comb = combs(8, 6)
    off, on = (simulate(comb, Pool(4, relend=relend)).end_ms for relend in (False, True))
    assert (off, on) == (150, 120)
    assert on == len([run for run in comb.runs if not any(run.name == other.parent for other in comb.runs)]) * 10 // 4


def test_it_gains_nothing_where_nothing_idles() -> None:
    gains = no_gains()
    assert len(gains) == 6
    assert [gain.what for gain in gains if gain.off_ms != gain.on_ms] == []


def test_a_gain_where_nothing_idles_is_violated() -> None:
    gains = RelendGains([], [], no_gains())
    assert gains.verdict is Verdict.HOLDS
    odd = gains._replace(none=[*gains.none, Gain("a chain", 4, 8, 10, 9)])
    assert odd.verdict is Verdict.VIOLATED
    assert [one["message"] for one in relend_as_json(odd)["violations"]] == ["cap 4: 10 ms off, 9 ms on"]


def test_random_forests_are_the_same_every_time_and_no_deeper_than_told() -> None:
    assert random_forest(7, 3) == random_forest(7, 3) != random_forest(8, 3)
    assert max(random_forest(seed, 4).levels for seed in range(5)) == 4
    (found,) = random_gains((4,), (4,), 6)
    assert (found.trees, found.sooner + found.same + found.later) == (6, 6)
    assert found.worst_percent <= found.mean_percent <= found.best_percent


def test_compare_relend_prints_and_draws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("slotcheck.checks.relend_report.random_gains", lambda: random_gains((2,), (3,), 2))
    drawn = tmp_path / "gain.svg"
    text = run("compare", "--relend", "--plot", str(drawn))
    assert (text.exit_code, "where it gains nothing" in text.output) == (0, True)
    assert "What relend gains in makespan" in drawn.read_text()
    told = json.loads(run("compare", "--relend", "--format", "json").output)
    assert {part["kind"] for part in told["parts"]} == {"comb", "random", "none"}


# -- simulate --------------------------------------------------------------------------------------------------------


def test_simulate_prints_who_took_how_long_and_draws_it_the_same_every_time(tmp_path: Path) -> None:
    plots = [tmp_path / name for name in ("a.svg", "b.svg", "c.png")]
    args = [arg for plot in plots for arg in ("--plot", str(plot))]
    text = run("simulate", "four-slots", "--order", "fifo", "--order", "fewest_held", *args)
    assert text.exit_code == 0
    assert "pool fewest_held" in text.output
    assert plots[0].read_bytes() == plots[1].read_bytes()
    assert ">slots held<" in plots[0].read_text()
    assert plots[2].read_bytes().startswith(b"\x89PNG")
    told = json.loads(run("simulate", "four-slots", "--order", "fifo", "--format", "json").output)
    jobs = {job["job"]: (job["ends_ms"], job["took_ms"], job["most_held"]) for job in told["parts"][0]["jobs"]}
    assert jobs == {"big": (50, 50, 4), "small": (60, 55, 4)}
    assert told["parts"][0]["held"]["small"] == [[50, 4], [60, 0]]


def test_a_plot_of_many_jobs_draws_the_greatest_and_the_rest_as_one(tmp_path: Path) -> None:
    from slotcheck.checks.plots import plot_held, save

    many = flat(*((f"j{number}_", number, 2, 10 + number) for number in range(12)))
    save(plot_held([play(many, "pool", 3)], "many"), str(tmp_path / "many.svg"))
    drawn = (tmp_path / "many.svg").read_text()
    assert "other jobs (6)" in drawn


def test_stuck_runs_are_violated() -> None:
    stuck = run("simulate", "binary-tree-two-slots", "--subject", "rule:hold")
    assert stuck.exit_code == 1
    assert "stuck: r, a, a1, a2, b" in stuck.output
    told = json.loads(run("simulate", "binary-tree-two-slots", "--subject", "rule:hold", "--format", "json").output)
    assert (told["verdict"], told["violations"][0]["invariant"]) == ("violated", "NoDeadlock")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("simulate", "nothing"), "no scenario named 'nothing'"),
        (("simulate", "four-slots", "--plot", "x.pdf"), "x.pdf: a plot is a file that ends in .png or .svg"),
        (("simulate", "four-slots", "--plot", "/nowhere/x.png"), "/nowhere/x.png: No such file or directory"),
        (("simulate", "four-slots", "--order", "fixed_share:0"), "fixed_share takes a number of slots >= 1"),
        (("simulate", "strict-priority-starves"), "has a script"),
        (("compare", "--orders", "wide-root-one-slot"), "--orders and --relend each stand alone"),
        (("compare", "--orders", "--relend"), "--orders and --relend each stand alone"),
        (("compare", "--plot", "x.png"), "--plot draws what --relend finds"),
        (("compare", "--relend", "--plot", "x.gif"), "x.gif: a plot is a file that ends in"),
    ],
)
def test_bad_input_ends_with_2_and_one_line(args: tuple[str, ...], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.output
    assert result.output.count("\n") == 1


# -- the document ----------------------------------------------------------------------------------------------------

DOCUMENT = Path(__file__).parent.parent / "docs" / "fairness.md"


@pytest.mark.parametrize("table", [*FAST, "_live_components"])
def test_the_document_has_the_rows_that_come_out(table: str) -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    for row in getattr(module, table)().rows:
        assert "| " + " | ".join([row.name, *row.ours]) + " |" in lines


def test_the_document_has_the_gains_on_combs() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    gains = comb_gains()
    for cap in CAPS:
        cells = [f"{gain.off_ms} → {gain.on_ms} ms" for gain in gains if gain.cap == cap]
        assert "| " + " | ".join([str(cap), *cells]) + " |" in lines
