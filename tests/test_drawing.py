"""Pictures of a pool: what they show is what the view says, whatever the view."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slotcheck.checks.drawing import drawing, in_words
from slotcheck.checks.facts import Facts
from slotcheck.checks.layout import forest_of, placed
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import view
from slotcheck.pymodel.rules import RULES, Refusal, Run, State
from slotcheck.pymodel.scenario import RunSpec
from slotlending import Pool

SVG = "{http://www.w3.org/2000/svg}"
WALK = "walk(a(a1 a2) b(b1 b2) c(c1 c2))"
EMPTY = State(1, 0, frozenset(), (), frozenset(), frozenset(), "fifo", "served", False)


def forest(tree: str) -> tuple[RunSpec, ...]:
    return read_scenario(f"cap: 1\ntree: {tree}", "here").runs


def after(tree: str, calls: str, cap: int) -> tuple[State, tuple[RunSpec, ...]]:
    """The view of a pool after calls such as ``ask:a finish:b``, children asked under their parents."""
    runs = forest(tree)
    parent = {run.name: run.parent for run in runs}
    pool = Pool(cap)
    for call in calls.split():
        verb, run = call.split(":")
        if verb == "ask":
            pool.ask(run, parent[run])
        else:
            getattr(pool, verb)(run)
    return view(pool.snapshot()), runs


def of_class(svg: str, name: str) -> list[ElementTree.Element]:
    found = ElementTree.fromstring(svg).iter()
    return [element for element in found if name in element.get("class", "").split()]


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and foot of every run."""
    found = []
    for run in of_class(svg, "run"):
        name, word = run.findall(f"{SVG}text")
        shape = run.find(f"{SVG}*")
        assert shape is not None
        if shape.tag == f"{SVG}rect":
            x, y, width, height = (float(shape.get(key, "")) for key in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
        else:
            middle, top = float(name.get("x", "")), float(name.get("y", "")) - 21
            half = 10 * max(len(name.text or ""), len(word.text or "")) / 2
            found.append((middle - half, top, middle + half, top + 48))
    return found


def overlaps(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def judge(svg: str, state: State, names: Iterable[str]) -> None:
    """What holds for every picture."""
    facts = Facts(state)
    drawn = [run.get("data-run") for run in of_class(svg, "run")]
    assert sorted(drawn, key=str) == sorted(names, key=str)
    in_runs = [disc for run in of_class(svg, "run") for disc in run.findall(f"{SVG}circle")]
    hollow = [disc for disc in in_runs if "hollow" in disc.get("class", "")]
    assert len(in_runs) - len(hollow) == len(facts.unlent)
    assert len(hollow) == len(facts.holders) - len(facts.unlent)
    assert len(of_class(svg, "free")) == max(state.cap - state.taken, 0)
    assert len(of_class(svg, "loan")) == sum(run.token == "loan" for run in state.runs)
    told = [text.text or "" for text in of_class(svg, "count")]
    assert told[0].startswith(f"executing {len(facts.unlent)} of cap {state.cap}")
    assert told[1].startswith(f"in flight {len(facts.in_flight)} of ")
    stand = boxes(svg)
    assert not [(a, b) for i, a in enumerate(stand) for b in stand[:i] if overlaps(a, b)]
    width, height = (float(ElementTree.fromstring(svg).get(side, "")) for side in ("width", "height"))
    assert all(left >= 0 and top >= 0 and right <= width and foot <= height for left, top, right, foot in stand)


def test_a_walk_shows_who_holds_lends_and_waits() -> None:
    state, runs = after(WALK, "ask:walk ask:a ask:b ask:c ask:a1 finish:a1 finish:a", 2)
    svg = drawing(state, runs, ended={"a", "a1"}, title="a walk")
    judge(svg, state, [run.name for run in runs])
    word = {
        run.get("data-run"): (run.get("class", "").removeprefix("run "), run.findall(f"{SVG}text")[1].text)
        for run in of_class(svg, "run")
    }
    assert word == {
        "walk": ("in-flight", "pool slot, lent"),
        "a": ("ended", "ended"),
        "a1": ("ended", "ended"),
        "b": ("in-flight", "pool slot"),
        "c": ("in-flight", "on loan"),
        **dict.fromkeys(("a2", "b1", "b2", "c1", "c2"), ("not-asked", "not asked")),
    }
    assert in_words(state, runs, ended={"a", "a1"}) == (
        "2 of 2 slots taken, 0 free. executing: 2, bound cap 2. in flight: 3, bound 6 = cap 2 x 3 levels. "
        "walk: in flight, with a pool slot, lent to c. a: has ended. a1: has ended. a2: has not asked. "
        "b: in flight, with a pool slot. b1: has not asked. b2: has not asked. "
        "c: in flight, with the slot of walk on loan. c1: has not asked. c2: has not asked. Queue: empty."
    )


def test_parked_and_waiting_runs_have_an_outline_and_a_word_of_their_own() -> None:
    state, runs = after("p(c) o q", "ask:p ask:c finish:p ask:o ask:q", 1)
    svg = drawing(state, runs)
    judge(svg, state, "pcoq")
    told = [(run.get("class"), [text.text for text in run.findall(f"{SVG}text")]) for run in of_class(svg, "run")]
    assert told == [
        ("run parked", ["p", "parked"]),
        ("run in-flight", ["c", "on loan"]),
        ("run waiting", ["o", "waiting, 1st"]),
        ("run waiting", ["q", "waiting, 2nd"]),
    ]
    assert [text.text for text in of_class(svg, "note")] == ["queue: 1. o, 2. q"]


@pytest.mark.parametrize(
    "tree",
    ["r", "r(x1..x39)", " ".join(f"t{i}" for i in range(40)), "r(" * 39 + "r" + ")" * 39, "a(b(c d e) f(g)) h(i(j))"],
)
def test_any_shape_fits_without_overlap(tree: str) -> None:
    if tree.startswith("r(r("):
        runs: tuple[RunSpec, ...] = tuple(RunSpec(f"r{i}", f"r{i - 1}" if i else None) for i in range(40))
    else:
        runs = forest(tree)
    state = view(Pool(3).snapshot())
    judge(drawing(state, runs), state, [run.name for run in runs])


@pytest.mark.parametrize("relend", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_every_picture_of_a_long_history_says_what_its_view_says(seed: int, relend: bool) -> None:
    chance, pool = random.Random(seed), Pool(3, relend=relend)
    for step in range(60):
        known = {run.run: run.phase for run in pool.snapshot().runs}
        in_flight = sorted(run for run, phase in known.items() if phase == "in_flight")
        act = chance.choice(["ask", "ask", "ask", "finish", "cancel", "resize"])
        if act == "ask" and len(known) < 40:
            pool.ask(f"r{step}", chance.choice([None, *in_flight]))
        elif act == "finish" and in_flight:
            pool.finish(chance.choice(in_flight))
        elif act == "cancel" and known:
            run = chance.choice(sorted(known))
            if known[run] != "parked":
                pool.cancel(run)
        elif act == "resize":
            pool.resize(chance.randint(1, 5))
        state = view(pool.snapshot())
        svg = drawing(state)
        judge(svg, state, [run.run for run in state.runs])
        assert drawing(view(Pool.restore(pool.snapshot()).snapshot())) == svg


@pytest.mark.parametrize("rule", sorted(RULES))
def test_states_of_other_rules_are_drawn(rule: str) -> None:
    svg = ""
    made = RULES[rule]
    state = made.initial(2)
    for run, parent in (("a", None), ("b", "a"), ("c", "a"), ("d", None)):
        with contextlib.suppress(Refusal):
            state = made.ask(state, run, parent, None).state
        svg = drawing(state)
    assert len(of_class(svg, "run")) == len(state.runs)


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>", "a&b\"c'd", "]]>", "new\nline\ttab", "\x00\x1b[31m", "\ud800", "\u202ereversed",
        "x" * 10_000, "\u4e2d\u6587" * 30, "", "e\u0301\u0301\u0301", "\U0001f469\u200d\U0001f469",
    ],
)  # fmt: skip
def test_hostile_names_are_only_text(name: str) -> None:
    run = Run(name, "in_flight", "pool", False, 1, None, (name,))
    waits = Run(name + "2", "waiting", "none", False, 2, name, (name,))
    state = EMPTY._replace(taken=1, runs=frozenset([run, waits]), waiting=(name + "2",))
    svg = drawing(state, title=name)
    svg.encode()
    root = ElementTree.fromstring(svg)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "path", "polygon", "rect", "circle", "text"}
    stand = boxes(svg)
    assert len(stand) == 2
    assert len(svg) < 12_000


FAULTY = [
    EMPTY._replace(cap=-3, taken=7),
    EMPTY._replace(cap=10**30, taken=10**29),
    EMPTY._replace(cap=None, taken="two"),  # type: ignore[arg-type]
    EMPTY._replace(waiting=("nobody", "nobody", "knows")),
    EMPTY._replace(runs=frozenset([Run("a", "in_flight", "pool", True, 1, None, ("a",))])),  # lent to nobody
    EMPTY._replace(runs=frozenset([Run("a", "in_flight", "loan", False, 2, None, ("a",))])),  # lent by nobody
    EMPTY._replace(runs=frozenset([Run("a", "in_flight", "loan", False, 2, "gone", ("a",))])),
    EMPTY._replace(runs=frozenset([Run("a", "asleep <b>", "voucher", True, 10**40, "a", ())])),  # its own parent
    EMPTY._replace(runs=frozenset(Run(a, "in_flight", "loan", True, 1, b, ()) for a, b in ("ab", "bc", "ca"))),
    EMPTY._replace(
        runs=frozenset(
            [
                Run("a", "in_flight", "pool", True, 1, None, ()),
                Run("a", "waiting", "none", False, 1, None, ()),
                Run("b", "in_flight", "loan", False, 2, "a", ()),
                Run("c", "parked", "loan", False, 2, "a", ()),
                Run(7, None, 3, "no", "high", 8, None),  # type: ignore[arg-type]
            ]
        )
    ),
]


@pytest.mark.parametrize("state", FAULTY)
def test_a_faulty_view_is_drawn_as_it_is(state: State) -> None:
    for runs in ((), forest("a(b) c")):
        svg = drawing(state, runs)
        ElementTree.fromstring(svg)
        assert len(of_class(svg, "run")) == len({run.run for run in state.runs} | {run.name for run in runs})
        assert in_words(state, runs)


def test_runs_stay_where_they_are_from_one_view_to_the_next() -> None:
    stand = set()
    for calls in ("", "ask:walk", "ask:walk ask:a ask:b ask:c ask:a1 ask:a2 ask:b1 ask:b2"):
        svg = drawing(*after(WALK, calls, 2))
        names = [(run.get("data-run"), *run.findall(f"{SVG}text")[0].attrib.items()) for run in of_class(svg, "run")]
        places = [(name, dict(more)["y"]) for name, *more in names]  # beside a disc the name moves a little
        stand.add((tuple(places), ElementTree.fromstring(svg).get("height")))
    assert len(stand) == 1


def test_counts_beyond_their_bound_are_told_in_words() -> None:
    runs = frozenset(Run(name, "in_flight", "pool", False, 1, None, (name,)) for name in "abc")
    svg = drawing(EMPTY._replace(taken=3, runs=runs))
    assert [text.text for text in of_class(svg, "over")] == [
        "executing 3 of cap 1, beyond it",
        "in flight 3 of 1 = cap 1 x 1 level, beyond it",
    ]


def test_a_bound_that_is_broken_though_the_cap_is_not_is_told() -> None:
    state = RULES["release"].initial(2)
    for run, parent in (("r", None), ("a", "r"), ("b", "r"), ("c", "r"), ("a1", "a")):
        state = RULES["release"].ask(state, run, parent, None).state
    assert (state.cap, state.taken) == (2, 2)
    svg = drawing(state)
    assert [text.text for text in of_class(svg, "over")] == ["on level 2 in flight 3 of taken 2, beyond it"]
    for run in ("b", "c", "a1"):
        state = RULES["release"].finish(state, run).state
    assert [text.text for text in of_class(drawing(state), "over")] == [
        "in flight 2 of 0 = taken 0 x 2 levels, beyond it",
        "on level 1 in flight 1 of taken 0, beyond it",
        "on level 2 in flight 1 of taken 0, beyond it",
    ]


def test_text_is_at_least_12_pixels_and_nothing_is_loaded() -> None:
    state, runs = after(WALK, "ask:walk ask:a", 2)
    svg = drawing(state, runs)
    assert min(int(size) for size in re.findall(r"font-size:(\d+)px", svg)) >= 12
    assert "prefers-color-scheme:dark" in svg
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"url\(|href|@import|<script|<image", svg)


def test_runs_in_a_circle_are_cut_at_the_first() -> None:
    roots, children = forest_of({"x": "b", "a": "b", "b": "a", "y": None})
    assert roots == ["b", "y"]
    assert children == {"x": [], "a": [], "b": ["x", "a"], "y": []}
    assert set(placed(roots, children)) == {"x", "a", "b", "y"}


def test_a_deep_tree_needs_no_deep_stack() -> None:
    parents: dict[str, str | None] = {str(i): str(i - 1) if i else None for i in range(5_000)}
    roots, children = forest_of(parents)
    assert placed(roots, children)["4999"].level == 4_999


def test_the_source_of_the_drawing_reads_no_file_and_no_clock() -> None:
    text = Path(drawing.__code__.co_filename).read_text()
    assert not re.search(r"\bopen\(|import (os|time|random)|from (pathlib|datetime)", text)
