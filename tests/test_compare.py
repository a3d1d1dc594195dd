"""`slotcheck compare`: verdicts in step with what was found, and what a user is told."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from slotcheck.checks import compare as comparing
from slotcheck.checks import compare_command, processes
from slotcheck.checks.cli import main
from slotcheck.checks.compare import COLUMNS, POST, Comparison, compare, files_expected
from slotcheck.checks.compare_report import comparison_as_json, comparison_as_text
from slotcheck.checks.designs import DESIGNS, Design, Look, design
from slotcheck.checks.rows import explore_row, rows_of
from slotcheck.checks.scenario import builtin_scenarios, read_scenario
from slotcheck.checks.terminal import console
from slotcheck.pymodel.explore import Limits, Verdict
from slotcheck.pymodel.rules import RULES, Help, Hold, Lend, Outcome, PerLevel
from slotcheck.pymodel.scenario import Scenario

SMALL = Look(runs=2, widths=(2, 3, 4))


def scenario(text: str, name: str = "here") -> Scenario:
    return read_scenario(text, f"{name}.scenario")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["compare", *args])


def shown(compared: Comparison) -> str:
    to = console()
    with to.capture() as capture:
        to.print(comparison_as_text(compared, None))
    return capture.get()


def of_design(name: str, look: Look = SMALL, limits: Limits | None = None) -> Comparison:
    return Comparison(look, [design(name, look, limits)])


def of_rows(text: str, *rules: str, limits: Limits | None = None) -> Comparison:
    return Comparison(rows=[explore_row(scenario(text), rule, limits) for rule in rules])


# -- designs against the post ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_post() -> Comparison:
    return Comparison(SMALL, [design(name, SMALL) for name in POST])


def test_the_five_designs_are_as_the_post_has_them(of_post: Comparison) -> None:
    assert of_post.differences == []
    assert of_post.undetermined == []
    assert of_post.verdict is Verdict.HOLDS
    for row in of_post.designs:
        assert tuple(row.cells()) == COLUMNS
        assert tuple(row.cells().values()) == POST[row.name]
        assert files_expected(row) in (None, row.second_level.maxima)


def test_the_table_tells_the_cells_of_the_post(of_post: Comparison) -> None:
    lines = [line.split("  ") for line in shown(of_post).splitlines()]
    told = {line[0]: [cell.strip() for cell in line[1:] if cell.strip()] for line in lines[1:7]}
    assert told == {
        "design": ["deadlock-free", "executing", "in flight", "levels known", "one pool", "as the post says"],
        "hold": ["no", "<= cap", "<= cap", "no", "yes", "yes"],
        "release": ["yes", "<= cap", "unbounded", "no", "yes", "yes"],
        "per_level": ["yes", "<= cap x levels", "<= cap x levels", "yes", "no", "yes"],
        "help": ["yes", "<= cap", "unbounded", "no", "yes", "yes"],
        "lend": ["yes", "<= cap", "<= cap x levels", "no", "yes", "yes"],
    }
    text = shown(of_post)
    assert "hold, not 'deadlock-free': a(b), cap 1" in text
    assert "2. ask b under a -> waits" in text
    # Two runs are too few to show it in the smallest way, and that is said.
    assert "release, not 'in flight <= cap x levels': no forest of up to 2 runs shows it" in text


class TakesOne(Hold):
    """The cap is one less than it says, so one file less is read at once."""

    def _take(self, draft: Any, run: str) -> bool:
        return draft.taken < draft.cap - (draft.cap > 1) and super()._take(draft, run)


class LendsTwice(Lend):
    def _admit(self, draft: Any, run: str) -> bool:
        parent = draft.runs[run].parent
        if parent is None:
            return self._take(draft, run)
        self._lend(draft, parent, run)
        return True


class OnePool(PerLevel):
    def declared(self, levels: int) -> OnePool:
        return OnePool(levels)

    @staticmethod
    def _full(draft: Any) -> set[int]:
        return {run.level for run in draft.runs.values()} if draft.taken >= draft.cap else set()


@pytest.mark.parametrize(
    ("name", "faulty", "what"),
    [
        ("hold", Lend(), {"deadlock-free": ("no", "yes"), "in flight": ("<= cap", "<= cap x levels")}),
        ("hold", TakesOne(), {"in flight on level 2": ("1 1 1", "0 0 0")}),
        ("lend", LendsTwice(), {"executing": ("<= cap", "not <= cap"), "in flight": ("<= cap x levels", "unbounded")}),
        ("per_level", OnePool(), {"deadlock-free": ("yes", "no"), "one pool for all levels": ("no", "yes")}),
        ("release", Hold(), {"deadlock-free": ("yes", "no"), "in flight": ("unbounded", "<= cap")}),
    ],
)
def test_a_faulty_design_is_violated(
    monkeypatch: pytest.MonkeyPatch, name: str, faulty: Any, what: dict[str, tuple[str, str]]
) -> None:
    monkeypatch.setitem(RULES, name, faulty)
    compared = of_design(name, Look(runs=3, widths=(2, 3, 4)))
    assert compared.verdict is Verdict.VIOLATED
    found = {one.what.removeprefix(f"{name}: "): (one.expected, one.found) for one in compared.differences}
    assert {key: found.get(key) for key in what} == what
    told = shown(compared)
    assert told.rstrip().endswith("verdict: violated")
    for key, (expected, cell) in what.items():
        assert f"{name}: {key}: expected {expected}, found {cell}" in told
    as_json = comparison_as_json(compared, None)
    assert as_json["verdict"] == "violated"
    assert len(as_json["violations"]) == len(compared.differences)
    if "deadlock-free" in what and what["deadlock-free"][1] == "no":
        (one,) = [one for one in as_json["violations"] if one["invariant"] == f"{name}: deadlock-free"]
        assert one["trace"]["events"][-1].endswith("waits")


class HelpsNobody(Help):
    def help(self, state: Any, run: str) -> Outcome:
        return Outcome(state, (), ())


def test_what_goes_on_for_ever_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "help", HelpsNobody())
    compared = of_rows(f"{CHAIN}expect help: holds", "help")
    compared.rows *= 5
    for number, row in enumerate(compared.rows):
        compared.rows[number] = dataclasses.replace(row, scenario=f"s{number}")
    text = shown(compared)
    assert ["s4", "L!"] in [line.split() for line in text.splitlines()]
    assert "  and then for ever:\n    r waits, and its worker helps\n" in text


def test_series_that_say_nothing_are_undetermined_and_named() -> None:
    compared = of_design("lend", Look(runs=2, widths=(2, 3, 4), cap=3))
    assert compared.verdict is Verdict.UNDETERMINED
    assert "lend: in flight: 5 7 7 over the widths neither stays nor grows beyond cap x levels" in compared.undetermined
    text = shown(compared)
    assert "unknown" in text
    assert text.rstrip().endswith("verdict: undetermined")


def test_a_design_cut_short_is_undetermined_and_what_it_breaks_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = of_design("hold", limits=Limits(states=5))
    assert compared.verdict is Verdict.UNDETERMINED
    assert compared.designs[0].cells()["deadlock-free"] == "no"
    assert "hold: more than 5 states" in compared.undetermined
    monkeypatch.setitem(RULES, "lend", Hold())
    compared = of_design("lend", limits=Limits(states=5))
    assert compared.verdict is Verdict.VIOLATED
    assert [one.what for one in compared.differences] == ["lend: deadlock-free"]


def test_a_cell_that_tells_only_what_is_not_so_contradicts_what_says_it_is() -> None:
    row = design("per_level", SMALL, Limits(states=20))
    assert row.cells()["executing"] == "not <= cap"
    assert Comparison(SMALL, [row]).differences == []
    row.name = "lend"
    assert [one.what for one in Comparison(SMALL, [row]).differences] == [
        "lend: executing",
        "lend: levels known ahead",
        "lend: one pool for all levels",
    ]


# -- rows --------------------------------------------------------------------------------------------------------

CHAIN = "cap: 1\ntree: r(a)\n"


def test_rows_as_expected_hold() -> None:
    compared = of_rows(f"{CHAIN}expect hold: NoDeadlock\nexpect lend: holds", "hold", "lend")
    assert compared.verdict is Verdict.HOLDS
    text = shown(compared)
    assert "here      hold  NoDeadlock  the same" in text
    assert "2 rows as expected" in text


def test_a_row_that_differs_is_violated_with_its_trace() -> None:
    compared = of_rows(f"{CHAIN}expect hold: holds\nexpect lend: holds", "hold", "lend")
    assert compared.verdict is Verdict.VIOLATED
    (difference,) = compared.differences
    assert difference[:4] == ("here under hold", "holds", "NoDeadlock", "here")
    text = shown(compared)
    assert "here under hold: expected holds, found NoDeadlock" in text
    assert "3. ask a under r -> waits" in text
    told = comparison_as_json(compared, None)
    assert [part["verdict"] for part in told["parts"]] == ["violated", "holds"]
    assert told["violations"][0]["scenario"] == "here"
    assert told["violations"][0]["trace"]["events"][-1] == "ask a under r -> waits"


def test_a_row_cut_short_is_undetermined() -> None:
    compared = of_rows("cap: 1\ntree: r(a b c d)\nexpect lend: holds", "lend", limits=Limits(states=4))
    assert compared.verdict is Verdict.UNDETERMINED
    assert compared.undetermined == ["here under lend: more than 4 states"]
    assert "holds so far" in shown(compared)


def test_nothing_compared_is_undetermined() -> None:
    assert Comparison().verdict is Verdict.UNDETERMINED
    assert "compared: nothing" in shown(Comparison())


def test_rows_without_a_line_beside_rows_with_one_are_shown_and_do_not_count() -> None:
    compared = of_rows(f"{CHAIN}expect hold: NoDeadlock", "hold", "lend")
    assert compared.verdict is Verdict.HOLDS
    assert "no 'expect' line" in shown(compared)


def test_many_scenarios_make_a_table_with_a_line_for_each() -> None:
    texts = {
        "one": f"{CHAIN}expect hold: NoDeadlock\nexpect lend: holds",
        "two": f"{CHAIN}expect hold: holds",
        "three": f"{CHAIN}expect per_level: holds",
        "four": "cap: 3\ntree: a b\nbody a: ~b\nbody b: ~a\nexpect hold: cycle b a",
        "a-name-that-is-as-long-as-the-longest-of-them": "cap: 1\ntree: a b\nexpect refuse: refused",
    }
    compared = Comparison()
    for name, text in texts.items():
        compared.rows += [explore_row(scenario(text, name), rule) for rule in ("hold", "per_level", "refuse")]
    compared.rows = [row for row in compared.rows if row.scenario != "three" or row.rule == "per_level"]
    compared.rows += [explore_row(scenario(texts["one"], "one"), "hold")] * 2  # other files of that name
    lines = shown(compared).splitlines()
    assert max(map(len, lines)) <= 110
    assert [line.split() for line in lines[1:9]] == [
        ["scenario", "hold", "per_level", "refuse"],
        ["one", "D", "ok?", "R?"],
        ["two", "D!", "ok?", "R?"],
        ["three", "ok"],
        ["four", "O", "O?", "O?"],
        ["a-name-that-is-as-long-as-the-longest-of-them", "ok?", "ok?", "R"],
        ["one", "D"],
        ["one", "D"],
    ]
    legend = "\n".join(lines[9:])
    for said in (
        "D   deadlock",
        "O   stuck in a circle",
        "!   behind it: not what",
        "?   behind it: its file",
        "(blank)",
    ):
        assert said in legend
    assert "~   behind it" not in legend


def test_every_rule_has_a_column_that_is_not_folded() -> None:
    rows = [row for name in ("w", "x", "y", "z") for row in _rows_of_all(name * 37)]
    lines = shown(Comparison(rows=rows)).splitlines()
    assert max(map(len, lines)) <= 110
    assert lines[1].split() == ["help", "lend"]
    assert lines[2].split() == [
        *("scenario", "hold", "release", "retake", "per_level", "help", "+inline", "refuse", "lend", "+relend")
    ]
    assert lines[3].split() == ["w" * 37, *("D?", "ok?", "ok?", "ok?", "ok?", "ok?", "R?", "ok?", "ok?")]


def _rows_of_all(name: str) -> Iterator[Any]:
    return (explore_row(scenario(CHAIN, name), rule) for rule in DESIGNS)


# -- many at once ------------------------------------------------------------------------------------------------


def both_kinds() -> tuple[list[str], list[tuple[Scenario, str]]]:
    one = scenario(f"{CHAIN}expect hold: NoDeadlock\nexpect lend: holds")
    return ["hold", "refuse"], list(rows_of([one], ["hold", "lend"]))


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_is_compared_is_told_in_order(jobs: int) -> None:
    done: list[int] = []
    compared = compare(*both_kinds(), look=SMALL, jobs=jobs, progress=done.append)
    assert [row.name for row in compared.designs] == ["hold", "refuse"]
    assert [row.rule for row in compared.rows] == ["hold", "lend"]
    assert done == [1, 2, 3, 4]
    assert (compared.verdict, compared.look) == (Verdict.HOLDS, SMALL)
    assert compare([], both_kinds()[1], look=SMALL).look is None


def test_no_time_left_is_undetermined() -> None:
    compared = compare(*both_kinds(), look=SMALL, max_seconds=0)
    assert compared.stopped == "more than 0 seconds"
    assert compared.designs + compared.rows == []  # type: ignore[operator]
    assert compared.verdict is Verdict.UNDETERMINED


def test_time_over_in_the_middle_gives_what_was_compared_so_far() -> None:
    started = time.monotonic()
    compared = compare(["hold", "retake"], [], look=Look(), max_seconds=1)
    assert time.monotonic() - started < 15
    assert [row.name for row in compared.designs][:1] in ([], ["hold"])
    assert compared.verdict is Verdict.UNDETERMINED
    # In whole seconds as they were given, not what was left of them.
    assert {row.stopped for row in compared.designs} <= {None, "more than 1 seconds"}


@pytest.mark.parametrize("limit", [None, 1000.0])
def test_an_interrupt_gives_what_was_compared_so_far(monkeypatch: pytest.MonkeyPatch, limit: float | None) -> None:
    def progress(done: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    compared = compare(*both_kinds(), look=SMALL, jobs=1, max_seconds=limit, progress=progress)
    assert compared.stopped == "interrupted"
    assert (len(compared.designs), len(compared.rows)) == (2, 1)
    assert compared.verdict is Verdict.UNDETERMINED
    assert "undetermined: interrupted" in shown(compared)


def dies_at_a_row(*args: Any) -> Design | None:
    if not isinstance(args[-1], str):
        time.sleep(0.3)
        os._exit(1)
    return design(args[-1], SMALL)


def hangs_at_a_row(*args: Any) -> Design | None:
    if not isinstance(args[-1], str):
        time.sleep(60)
    return design(args[-1], SMALL)


def fails_at_a_row(*args: Any) -> Design | None:
    raise RuntimeError("a bug of ours")


def test_a_worker_that_dies_gives_what_was_compared_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_compare_one", dies_at_a_row)
    compared = compare(*both_kinds(), look=SMALL, jobs=1)
    assert compared.stopped == "a process that explored ended"
    assert [row.name for row in compared.designs] == ["hold", "refuse"]
    assert compared.verdict is Verdict.UNDETERMINED


def test_a_worker_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_compare_one", hangs_at_a_row)
    monkeypatch.setattr(processes, "GRACE", 1.0)
    compared = compare(*both_kinds(), look=SMALL, jobs=1, max_seconds=2)
    assert compared.stopped == "more than 2 seconds"
    assert [row.name for row in compared.designs] == ["hold", "refuse"]


# -- the command -------------------------------------------------------------------------------------------------


def test_the_table_and_all_rows_of_two_rules_hold() -> None:
    names = ("sibling-waits-for-sibling", "call-within-call-one-worker")
    args = (*names, "--designs", "--rule", "lend", "--rule", "hold", "--runs", "3", "--width", "4", "--jobs", "2")
    result = run(*args)
    assert result.exit_code == 0
    for said in (
        "lend    yes            <= cap     <= cap x levels  no            yes       yes",
        "sibling-waits-for-sibling    hold  NoDeadlock  the same",
        "cycle d u",
        "compared: 2 designs",
        "verdict: holds",
    ):
        assert said in result.output


def test_json_is_one_object_and_the_same_in_two_runs() -> None:
    args = ("call-within-call-one-worker", "--designs", "--rule", "hold", "--rule", "lend", "--runs", "2")
    args = (*args, "--width", "4", "--format", "json", "--no-timing")
    first, second = run(*args, "--jobs", "1"), run(*args, "--jobs", "2")
    assert first.output == second.output
    told = json.loads(first.output)
    assert set(told) == {"verdict", "covered", "violations", "undetermined", "designs", "parts", "versions"}
    assert (told["verdict"], told["violations"], told["undetermined"]) == ("holds", [], [])
    hold, lend = told["designs"]
    assert hold["cells"] == hold["post"]
    assert (hold["conditions_broken"], hold["widths"], hold["in_flight"]) == ([], [2, 3, 4], [2, 2, 2])
    assert hold["breaks"]["deadlock-free"]["events"][-1] == "ask b under a -> waits"
    assert lend["breaks"] == {}
    assert [(part["rule"], part["expected"], part["found"], part["verdict"]) for part in told["parts"]] == [
        ("hold", "NoDeadlock", "NoDeadlock", "holds"),
        ("lend", "holds", "holds", "holds"),
    ]
    covered = told["covered"]
    assert covered["look"] == {"runs": 2, "widths": [2, 3, 4], "cap": 2, "levels": 3}
    assert (covered["rows"], covered["rows_as_expected"], covered["designs"]) == (2, 2, 2)
    assert covered["states"] == sum(one["states"] for one in (*told["designs"], *told["parts"]))
    assert json.loads(run("call-within-call-one-worker", "--format", "json").output)["timing"]["seconds"] > 0


def test_an_own_file_without_expect_lines_is_undetermined_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "mine.scenario"
    file.write_text("cap: 1\ntree: r(a b)\nbody a: ~b; w\n")
    result = run(str(file), str(file))
    assert result.exit_code == 3
    lines = [line.split() for line in result.output.splitlines()]
    assert ["mine", "hold", "NoDeadlock", "no", "'expect'", "line"] in lines
    assert ["help+inline", "cycle", "a", "b", "r", "no", "'expect'", "line"] in lines
    assert sum("'expect'" in line for line in lines) == len(DESIGNS) + 1  # named twice, explored once
    assert "undetermined: no 'expect' line to compare with, such as 'expect lend: holds'" in result.output
    assert "compared: 1 scenario, 9 rows, 9 rows without an expectation" in result.output


def test_an_own_file_whose_line_is_wrong_ends_with_1(tmp_path: Path) -> None:
    file = tmp_path / "mine.scenario"
    file.write_text(f"{CHAIN}expect lend: NoDeadlock\n")
    result = run(str(file), "--rule", "lend")
    assert result.exit_code == 1
    assert "mine under lend: expected NoDeadlock, found holds" in result.output
    told = json.loads(run(str(file), "--rule", "lend", "--format", "json").output)
    assert (told["verdict"], told["violations"][0]["trace"]) == ("violated", None)


def test_without_a_name_only_rows_with_a_line_are_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def noted(designs: Any, rows: Any, **named: Any) -> Comparison:
        given.append((tuple(designs), list(rows), named["look"]))
        return Comparison()

    monkeypatch.setattr(compare_command, "compare", noted)
    assert run().exit_code == 3
    assert run("--no-designs", "--rule", "retake", "--levels", "4", "--cap", "3", "--width", "7").exit_code == 3
    (designs, rows, look), (no_designs, of_retake, other) = given
    assert (designs, no_designs) == (DESIGNS, ())
    assert look == Look()
    assert other == Look(4, (2, 3, 4, 5, 6, 7), 3, 4)
    assert len(rows) == sum(len(one.expect) for one in builtin_scenarios().values())
    assert {rule for _, rule in of_retake} == {"retake"}
    assert {one.name for one, _ in rows if not one.permits} - {one.name for one, _ in of_retake} == {
        "binary-tree-two-slots",
        "three-by-three-three-slots",
    }
    assert not any(one.permits for one, _ in of_retake)  # retake carries no permits


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--rule", "lent"), "'lent' is not one of 'hold', 'release'"),
        (("sibling-waits-for-siblin",), "sibling-waits-for-sibling"),
        (("no/such.scenario",), "no scenario named"),
        (("--max-seconds", "nan"), "nan: a number of seconds is 0 or more"),
        (("--max-seconds", "-1"), "--max-seconds"),
        (("--width", "3"), "4<=x<=10"),
        (("--runs", "1"), "2<=x<=6"),
        (("--levels", "2"), "3<=x<=6"),
    ],
)
def test_bad_input_ends_with_2_and_a_reason(args: tuple[str, ...], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_time_over_and_states_over_end_with_3() -> None:
    result = run("call-within-call-one-worker", "--max-seconds", "0")
    assert result.exit_code == 3
    assert "undetermined: more than 0 seconds" in result.output
    result = run("wide-root-one-slot", "--rule", "lend", "--max-states", "5")
    assert result.exit_code == 3
    assert "wide-root-one-slot under lend: more than 5 states" in result.output


def test_an_interrupt_ends_with_3_and_what_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **named: Any) -> Comparison:
        compared = of_rows(f"{CHAIN}expect lend: holds", "lend")
        return dataclasses.replace(compared, stopped="interrupted")

    monkeypatch.setattr(compare_command, "compare", interrupted)
    result = run("call-within-call-one-worker")
    assert result.exit_code == 3
    assert "here      lend  holds  the same" in result.output
    assert "undetermined: interrupted" in result.output
    assert json.loads(run("--format", "json").output)["verdict"] == "undetermined"


def test_a_bug_of_ours_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_compare_one", fails_at_a_row)
    result = run("call-within-call-one-worker")
    assert result.exit_code == 3
    assert "failed itself, so undetermined" in result.output
    assert "verdict:" not in result.output
