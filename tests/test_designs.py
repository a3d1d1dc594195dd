"""The designs compared: what is found of each, by whom it is found again, and that faulty ones are told apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from plain_trees import CAPS, Place, Plain, all_forests

from slotcheck.checks import designs as looking
from slotcheck.checks.designs import (
    BREAKS,
    CONDITIONS,
    DESIGNS,
    GROWS,
    Bound,
    Design,
    Look,
    Series,
    comb,
    design,
    subject_of,
)
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.trace import Trace, plain_view
from slotcheck.pymodel.explore import Limits
from slotcheck.pymodel.rules import RULES, Help, Hold, Lend, Outcome, PerLevel
from slotcheck.pymodel.rules.state import Draft, RunId
from slotcheck.pymodel.scenario import RunSpec
from slotcheck.pymodel.subject import Calls
from slotcheck.pymodel.workload import Workload

LOOK = Look(runs=4, widths=(2, 3, 4))
SMALL = Look(runs=3, widths=(2, 3, 4))

#: The five rows of the post, in its order: deadlock-free, executing, in flight, levels known ahead, one pool.
POST = {
    "hold": ["no", "<= cap", "<= cap", "no", "yes"],
    "release": ["yes", "<= cap", "unbounded", "no", "yes"],
    "per_level": ["yes", "<= cap x levels", "<= cap x levels", "yes", "no"],
    "help": ["yes", "<= cap", "unbounded", "no", "yes"],
    "lend": ["yes", "<= cap", "<= cap x levels", "no", "yes"],
}
OTHERS = {
    "retake": ["yes", "<= cap", "unbounded", "no", "yes"],
    "help+inline": ["yes", "<= cap", "<= cap x levels", "no", "yes"],
    "refuse": ["yes", "<= cap", "<= cap", "no", "yes"],
    "lend+relend": ["yes", "<= cap", "<= cap x levels", "no", "yes"],
}


@pytest.fixture(scope="module")
def designs() -> dict[str, Design]:
    return {name: design(name, LOOK) for name in DESIGNS}


def cells(one: Design) -> list[str]:
    return list(one.cells().values())


# -- what is found -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DESIGNS)
def test_the_cells_are_those_of_the_post(designs: dict[str, Design], name: str) -> None:
    assert cells(designs[name]) == {**POST, **OTHERS}[name]
    assert designs[name].stopped is None


@pytest.mark.parametrize("name", DESIGNS)
def test_each_thing_broken_has_a_smallest_trace(designs: dict[str, Design], name: str) -> None:
    smallest: dict[str, tuple[int, int, int]] = {}
    explored = 0
    for parents in all_forests(LOOK.runs):
        for cap in CAPS:
            explored += 1
            steps, _ = Plain(name, parents, cap).explore()
            for what, fewest in steps.items():
                size = len(parents), cap, fewest
                smallest[what] = min(smallest.get(what, size), size)
    # Deeper than declared is shown on a chain of its own; and the look leaves out forests of four roots.
    of_forests = {what: size for what, size in designs[name].sizes.items() if what != "levels not known ahead"}
    assert of_forests == smallest
    assert explored == designs[name].forests + len(CAPS)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("hold", "deadlock-free"),
        ("release", "in flight <= cap x levels"),
        ("retake", "in flight <= cap x levels"),
        ("per_level", "executing <= cap"),
        ("per_level", "levels not known ahead"),
        ("help", "in flight <= cap x levels"),
        ("refuse", "every run admitted"),
    ],
)
def test_a_trace_replays_to_what_it_claims(designs: dict[str, Design], name: str, what: str) -> None:
    trace = designs[name].breaks[what]
    assert trace.invariant == what
    scenario = read_scenario(f"cap: {trace.cap}\ntree: {trace.tree}", "here")
    levels = LOOK.levels - 1 if what == "levels not known ahead" else scenario.levels
    # By the rule's own calls, each of which must be a move of a plain tree.
    plain = Plain(name, {run.name: run.parent for run in scenario.runs}, trace.cap)
    plain.rule = plain.rule.declared(levels)
    place: Place = plain.start
    code: str | None = None
    for action in trace.actions:
        assert action in plain.moves(place)
        place, code = plain.after(place, action)
    assert what in plain.broken(place, code)
    assert plain_view(place.state, scenario.index) == trace.after
    # By a workload, where every step must be enabled.
    workload = Workload(scenario, Calls(subject_of(name).declared(levels)), cap=trace.cap, resume_at_grant=True)
    state = workload.initial()[0]
    for action in trace.actions:
        assert action in workload.bodies.steps(state, workload.calls.runs[state.pool])
        state = workload.next(state, action)
    assert plain_view(workload.snapshot(state), scenario.index) == trace.after
    assert _claims(trace, what)


def _claims(trace: Trace, what: str) -> bool:
    """Whether the view after the last step says so, read by eye, as a reader of the trace would."""
    runs = trace.after["runs"].values()
    executing = sum(run["token"] != "none" and not run["lent"] for run in runs)
    in_flight = sum(run["phase"] in ("in_flight", "retaking") for run in runs)
    return {
        "executing <= cap": executing > trace.cap and trace.message.startswith(f"{executing} runs"),
        "in flight <= cap x levels": in_flight > 2 * trace.cap and trace.message.startswith(f"{in_flight} runs"),
        "deadlock-free": len(trace.after["waiting"]) == 1 and "nothing goes on" in trace.message,
        "levels not known ahead": trace.events[-1].endswith("refused: too_deep"),
        "every run admitted": trace.events[-1].endswith("declined: full"),
    }[what]


@pytest.mark.parametrize("name", DESIGNS)
def test_the_series_are_the_maxima(designs: dict[str, Design], name: str) -> None:
    one = designs[name]
    for at, width in enumerate(LOOK.widths[:2]):
        parents = {run.name: run.parent for run in comb(LOOK.levels, width).runs}
        _, (executing, in_flight) = Plain(name, parents, LOOK.cap).explore()
        assert (one.executing.maxima[at], one.in_flight.maxima[at]) == (executing, in_flight)


def test_which_conditions_for_deadlock_each_design_breaks(designs: dict[str, Design]) -> None:
    assert {name: one.broken_conditions for name, one in designs.items()} == {
        "hold": [],
        "release": ["hold and wait", "circular wait"],
        "retake": ["hold and wait", "circular wait"],
        "per_level": ["circular wait"],
        "help": ["hold and wait", "no preemption", "circular wait"],
        "help+inline": ["hold and wait", "no preemption", "circular wait"],
        "refuse": ["hold and wait", "circular wait"],
        "lend": ["hold and wait", "no preemption", "circular wait"],
        "lend+relend": ["hold and wait", "no preemption", "circular wait"],
    }
    # What deadlocks has broken none; what does not has broken one at least.
    for one in designs.values():
        assert ("deadlock-free" in one.breaks) == (not one.broken_conditions)
        assert set(one.broken_conditions) <= set(CONDITIONS)
        assert set(one.breaks) <= set(BREAKS)


def test_relend_is_on_for_the_design_that_has_it(designs: dict[str, Design]) -> None:
    # It changes which states there are, and none of the cells.
    assert designs["lend"].states != designs["lend+relend"].states
    assert cells(designs["lend"]) == cells(designs["lend+relend"])


def test_pools_and_files_are_counted(designs: dict[str, Design]) -> None:
    assert {name: one.pools for name, one in designs.items() if one.pools > 1} == {"per_level": LOOK.levels}
    assert designs["hold"].second_level.maxima == (1, 1, 1)
    assert designs["release"].second_level.maxima == LOOK.widths
    assert designs["lend"].second_level.maxima == designs["per_level"].second_level.maxima == (2, 2, 2)


def test_a_design_is_told_the_same_twice(designs: dict[str, Design]) -> None:
    assert design("hold", LOOK) == designs["hold"]


def test_a_comb_has_chains_below_one_root() -> None:
    assert comb(3, 2).tree == "r(a1(b1) a2(b2))"
    assert comb(4, 1).runs == (RunSpec("r"), RunSpec("a1", "r"), RunSpec("b1", "a1"), RunSpec("c1", "b1"))
    assert (comb(2, 3).tree, comb(2, 3).levels) == ("r(a1..a3)", 2)


# -- series ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("maxima", "bound"),
    [
        ((5, 5, 5), Bound(5)),
        ((3, 4, 5, 5, 5), Bound(5)),
        ((5, 6, 7), GROWS),
        ((9, 5, 6, 7), GROWS),
        ((5, 6, 6), None),
        ((5, 5, 6), None),
        ((6, 5, 6), None),
        ((7, 6, 5), None),
        ((5, 5), None),
        ((), None),
    ],
)
def test_a_series_stays_or_grows_or_says_nothing(maxima: tuple[int, ...], bound: Bound | None) -> None:
    assert Series(tuple(range(len(maxima))), maxima).bound == bound


def test_a_bound_is_told_by_the_cap_and_the_levels() -> None:
    assert [Bound(most).told(2, 3) for most in (1, 2, 3, 6, 7, None)] == [
        "<= cap",
        "<= cap",
        "<= cap x levels",
        "<= cap x levels",
        "<= 7",
        "unbounded",
    ]


def test_what_neither_stays_nor_grows_is_undetermined() -> None:
    # With three slots the second width is the first that fills them.
    lend = design("lend", Look(runs=2, widths=(2, 3, 4), cap=3))
    assert lend.in_flight.maxima == (5, 7, 7)
    assert lend.cells()["in flight"] == "undetermined"
    assert lend.executing.maxima == (2, 3, 3)
    assert lend.undetermined() == {"executing": "undetermined", "in flight": "undetermined"}


def test_growing_within_cap_times_levels_is_no_proof() -> None:
    lend = design("lend", Look(runs=2, widths=(2, 3, 4), cap=5))
    assert lend.in_flight.maxima == (5, 7, 9)
    assert lend.in_flight.bound is GROWS
    assert lend.cells()["in flight"] == "undetermined"


# -- faulty designs ----------------------------------------------------------------------------------------------


class NeverFull(Hold):
    """A child gets a slot of the pool, whether or not there is one."""

    def _admit(self, draft: Draft, run: RunId) -> bool:
        if draft.runs[run].parent is None:
            return self._take(draft, run)
        draft.taken += 1
        draft.admit(run, "pool")
        return True


class LendsTwice(Lend):
    """The slot is lent to every child."""

    def _admit(self, draft: Draft, run: RunId) -> bool:
        parent = draft.runs[run].parent
        if parent is None:
            return self._take(draft, run)
        self._lend(draft, parent, run)
        return True


class LendsTwiceBesideAnother(LendsTwice):
    """The same, but only where another root is about, which no tree of growing width shows."""

    def _admit(self, draft: Draft, run: RunId) -> bool:
        roots = [known for known in draft.runs.values() if known.level == 1]
        return super()._admit(draft, run) if len(roots) > 1 else Lend._admit(self, draft, run)


class OnePool(PerLevel):
    """All levels share one pool."""

    def declared(self, levels: int) -> OnePool:
        return OnePool(levels)

    @staticmethod
    def _full(draft: Draft) -> set[int]:
        return {run.level for run in draft.runs.values()} if draft.taken >= draft.cap else set()


class KnowsLevels(Lend):
    """Lending that refuses a third level."""

    def _enter(self, draft: Draft, run: RunId, *args: Any) -> None:
        PerLevel._enter(PerLevel(2), draft, run, *args)


@pytest.mark.parametrize(
    ("name", "faulty", "found"),
    [
        ("hold", NeverFull, ["yes", "unbounded", "unbounded", "no", "no"]),
        ("lend", LendsTwice, ["yes", "not <= cap", "unbounded", "no", "yes"]),
        ("lend", LendsTwiceBesideAnother, ["yes", "not <= cap", "not <= cap x levels", "no", "yes"]),
        ("per_level", OnePool, ["no", "<= cap", "<= cap", "yes", "yes"]),
        ("lend", KnowsLevels, ["yes", "<= cap", "<= cap x levels", "yes", "yes"]),
        ("lend", Hold, ["no", "<= cap", "<= cap", "no", "yes"]),
        ("release", Lend, ["yes", "<= cap", "<= cap x levels", "no", "yes"]),
    ],
)
def test_a_faulty_design_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, name: str, faulty: type[Any], found: list[str]
) -> None:
    monkeypatch.setitem(RULES, name, faulty())
    look = Look(runs=4, widths=(2, 3, 4)) if faulty is LendsTwiceBesideAnother else SMALL
    one = design(name, look)
    assert cells(one) == found
    assert cells(one) != POST[name]


class HelpsNobody(Help):
    """A worker that waits goes on looking for work, and takes none."""

    def help(self, state: Any, run: RunId) -> Outcome:
        return Outcome(state, (), ())


def test_going_round_for_ever_is_not_deadlock_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "help", HelpsNobody())
    one = design("help", SMALL)
    assert one.cells()["deadlock-free"] == "no"
    trace = one.breaks["deadlock-free"]
    assert (trace.tree, trace.cap, trace.events[-1]) == ("a(b)", 1, "ask b under a -> waits")
    assert trace.circle == ("a waits, and its worker helps",)


def test_a_slot_that_serves_two_runs_is_no_mutual_exclusion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "lend", LendsTwice())
    one = design("lend", SMALL)
    assert "mutual exclusion" in one.broken_conditions
    assert one.breaks["executing <= cap"].tree == "a(b c)"
    assert one.breaks["executing <= cap"].cap == 1


# -- a look cut short --------------------------------------------------------------------------------------------


def test_a_look_cut_short_tells_only_what_was_found() -> None:
    one = design("hold", SMALL, Limits(states=4))
    assert one.stopped == "more than 4 states"
    assert cells(one) == ["no", "undetermined", "undetermined", "undetermined", "undetermined"]
    assert len(one.breaks["deadlock-free"]) == 2
    one = design("per_level", SMALL, Limits(states=60))
    assert one.stopped is not None
    assert cells(one) == ["undetermined", "not <= cap", "undetermined", "yes", "no"]


def test_a_look_at_forests_cut_short_is_enough_to_know_less() -> None:
    chains = Look(runs=4, widths=(1, 1, 1))
    assert design("lend", chains).cells()["deadlock-free"] == "yes"
    cut = design("lend", chains, Limits(states=12))
    assert (cut.stopped, cut.cells()["deadlock-free"]) == ("more than 12 states", "undetermined")


def test_the_seconds_are_those_of_the_whole_look(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    real = looking.explore

    def noted(*args: Any, **named: Any) -> Any:
        given.append(named["limits"].seconds)
        return real(*args, **named)

    monkeypatch.setattr(looking, "explore", noted)
    assert design("hold", Look(runs=2, widths=(1, 1, 1)), Limits(seconds=100)).stopped is None
    assert 100 >= given[0] > 0
    assert sorted(set(given), reverse=True) == given
    one = design("retake", LOOK, Limits(seconds=0.05))
    assert one.stopped is not None
    assert one.states < 30_000
    assert "undetermined" in cells(one)


def test_the_table_of_the_readme_is_what_is_found() -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    table = re.search(r"^\| design \|.*?\n\n", text, re.DOTALL | re.MULTILINE)
    assert table is not None
    _, _, *lines = table[0].strip().splitlines()
    told = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    assert [name for name, *_ in told] == list(DESIGNS)
    look = Look(runs=3, widths=(2, 3, 4))
    for name, *cells, breaks in told:
        found = design(name, look)
        assert cells == list(found.cells().values()), name
        assert breaks == ", ".join(found.broken_conditions), name
