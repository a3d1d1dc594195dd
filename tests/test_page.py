"""A trace as a page: every frame is what its view says, whatever the names, however long."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from stories import HOSTILE, frames, hostile, violation
from traces import going_round

from slotcheck.checks.facts import Facts
from slotcheck.checks.forms import film
from slotcheck.checks.forms.film import MOST_RUNS, Film
from slotcheck.checks.forms.page import page, still
from slotcheck.checks.forms.story import Frame, Story, story_of
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import view
from slotcheck.checks.trace import state_of
from slotcheck.pymodel.rules import Run, StackState
from slotcheck.pymodel.scenario import RunSpec
from slotlending import Pool

WALK = read_scenario("cap: 1\ntree: walk(a(a1 a2) b(b1 b2) c(c1 c2))", "here").runs
DEADLOCK = story_of(violation("rule:hold", "walk(a(a1) b)", "NoDeadlock", cap=2), ["slotcheck replay it"])


class Page(HTMLParser):
    """The elements of a page with their attributes, its scripts, and the text of everything else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in = tag
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "script":
            self.scripts[-1] += data
        elif self._in != "style":
            self.text += data


def tags(read: Page) -> dict[str, set[str]]:
    """The kinds of elements of a page, and their attributes."""
    found: dict[str, set[str]] = {}
    for tag, attributes in read.elements:
        found.setdefault(tag, set()).update(attributes)
    return found


PLAIN = Page(page(hostile("plain")))


def test_a_trace_is_told_frame_by_frame() -> None:
    trace = violation("rule:hold", "walk(a(a1) b)", "NoDeadlock", cap=2)
    assert [frame.event for frame in DEADLOCK.frames] == ["the start", *trace.events]
    assert [frame.acting for frame in DEADLOCK.frames] == [None, *(action[1] for action in trace.actions)]
    for frame, moment in zip(DEADLOCK.frames, trace.moments, strict=True):
        assert frame.view == state_of(trace, moment.view)
        assert frame.ended == set(moment.ended)
    assert DEADLOCK.bad == len(trace.steps)
    assert DEADLOCK.sentence == ALL_INVARIANTS["NoDeadlock"]
    text = Page(page(DEADLOCK)).text
    for told in (
        "NoDeadlock is violated by rule:hold in here, cap 2", ALL_INVARIANTS["NoDeadlock"],
        *(event.replace(" -> ", " → ") for event in trace.events), "rule:hold", "walk(a(a1) b)", "slotcheck replay it",
    ):  # fmt: skip
        assert told in text


def test_what_goes_on_for_ever_comes_after_the_frame_it_returns_to() -> None:
    story = story_of(going_round())
    assert [frame.event for frame in story.frames[story.bad + 1 :]] == ["a waits, and its worker helps"]
    assert story.frames[-1].view == story.frames[story.bad].view
    found = Page(page(story))
    assert "and then for ever:" in found.text
    assert f"which is as it was after step {story.bad}" in found.text
    assert json.loads(found.scripts[0])["back"] == story.bad
    assert json.loads(Page(page(DEADLOCK)).scripts[0])["back"] is None


def test_every_frame_of_a_film_is_what_it_would_be_alone() -> None:
    shown = list(frames(40, WALK, 2))
    whole = Film(Story("x", "", "", shown, 20, WALK, circle=("walk", "a")))
    for place, frame in enumerate(shown):
        alone = Film(Story("x", "", "", [frame], 0, WALK, circle=("walk", "a") if place == 20 else ()))
        assert whole.frame(place) == alone.frame(0)
        assert bool(whole.frame(place)["circle-0"]) == (place == 20)


def test_runs_that_no_forest_names_are_drawn_from_the_start() -> None:
    shown = list(frames(40, WALK, 2))
    parts = Film(Story("x", "", "", shown, 20)).stages[0]
    assert (set(parts.names), parts.levels) == ({run.name for run in WALK}, 3)


def test_locks_and_events_are_told() -> None:
    text = "p(a b)\nbody p: L.take; +a; ?e; +b; &*; L.drop\nbody a: !e; L.take; w; L.drop"
    story = story_of(violation("slotcheck.checks.mutants:LendsTwice", text, "LevelWithinCap"))
    told = {line for frame in story.frames for line in frame.more}
    assert {"in L: nobody", "in L: p", "events set: e"} <= told
    film = Film(story)
    for place, frame in enumerate(story.frames):
        assert film.frame(place)["more"] == "".join(f"<p>{line}</p>" for line in frame.more)


def test_the_film_shows_what_the_views_say() -> None:
    shown = list(frames(60, WALK, 2))
    whole = Film(Story("x", "", "", shown, 0, WALK))
    for place, frame in enumerate(shown):
        facts, pieces = Facts(frame.view), whole.frame(place)  # type: ignore[arg-type]
        runs = [pieces[part] for part in whole.parts if part.startswith("run-0-")]
        assert sum("disc" in run and "hollow" not in run for run in runs) == len(facts.unlent)
        assert sum("hollow" in run for run in runs) == len(facts.holders) - len(facts.unlent)
        assert sum("waiting" in run for run in runs) == len(frame.view.waiting)
        assert sum("acts" in run for run in runs) == 1
        assert f"executing {len(facts.unlent)} of cap 2" in pieces["pool"]
        assert f"in flight {len(facts.in_flight)} of 6" in pieces["pool"]
        edges = [pieces[part] for part in whole.parts if part.startswith("edge-0-")]
        assert sum("loan" in edge for edge in edges) == len(facts.holders) - len(facts.heads)


def test_a_worker_that_turns_to_another_run_is_shown() -> None:
    runs = frozenset(
        Run(name, "in_flight", "loan" if name == "c" else "pool", name != "c", 1, None, ()) for name in "abc"
    )
    first = StackState(2, 2, runs, (), frozenset(), frozenset(), "fifo", "served", False, (("a", "c"), ("b",)))
    whole = Film(Story("x", "", "", [Frame("", first), Frame("", first._replace(stacks=(("a",), ("b", "c"))))], 0))
    assert [whole.frame(place)["word-2"] for place in (0, 1)] == [
        f"c: in flight, with the slot of {name} on loan." for name in "ab"
    ]
    assert whole.frame(0)["edge-0-2"] != whole.frame(1)["edge-0-2"]


class Endless(Sequence[Frame]):
    """So many frames, of which none is made before it is looked at."""

    def __init__(self, count: int, few: list[Frame]) -> None:
        self.count, self.few, self.looked = count, few, 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> Frame:  # type: ignore[override]
        self.looked += 1
        return self.few[place % len(self.few)]


def test_of_a_million_steps_only_some_are_shown_and_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(film, "MOST_FRAMES", 400)
    endless = Endless(1_000_001, list(frames(12, WALK, 2)))
    story = Story("x", "", "", endless, 1_000_000, WALK)
    found = Page(page(story))
    steps = json.loads(found.scripts[0])["steps"]
    assert (len(steps), steps[0], steps[-1]) == (400, 0, 1_000_000)
    assert "999,601 of 1,000,000 steps are left out" in found.text
    assert "steps 100 to 999700 are left out" in found.text
    assert endless.looked < 2_000
    middle = json.loads(Page(page(replace(story, bad=500_000))).scripts[0])
    assert (len(middle["steps"]), middle["steps"][middle["bad"]], middle["back"]) == (400, 500_000, None)


def test_of_very_many_runs_those_are_drawn_that_are_known_where_it_goes_wrong() -> None:
    forest = tuple(RunSpec(f"r{at}", f"r{at - 1}" if at % 3 else None) for at in range(3 * MOST_RUNS))
    pool = Pool(3)
    pool.ask("r1000")
    pool.ask("r1001", "r1000")
    found = Film(Story("x", "", "", [Frame("the end", view(pool.snapshot()))], 0, forest))
    assert len(found.stages[0].names) == MOST_RUNS
    assert {"r0", "r1000", "r1001"} <= set(found.stages[0].names)
    assert found.left_out == 2 * MOST_RUNS
    text = Page(page(Story("x", "", "", [Frame("the end", view(pool.snapshot()))], 0, forest))).text
    assert f"{2 * MOST_RUNS} of the runs are not drawn" in text


def test_many_frames_of_many_runs_are_fewer_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(film, "MOST_BOXES", 200)
    assert len(Film(Story("x", "", "", list(frames(40, WALK, 2)), 30, WALK)).shown) == 20


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_only_text(name: str) -> None:
    story = hostile(name)
    text = page(story)
    text.encode()
    read, usual = Page(text), tags(PLAIN)
    assert set(tags(read)) <= set(usual)
    for tag, attributes in tags(read).items():
        assert attributes <= usual[tag], tag
    assert len(read.scripts) == 2
    json.loads(read.scripts[0])
    assert not set("<>&") & set(read.scripts[0])
    assert read.scripts[1] == PLAIN.scripts[1]
    assert not {char for char in text if unicodedata.category(char)[0] == "C" and char != "\n"}
    assert len(text) < 100_000
    ElementTree.fromstring(still(story))


def test_names_stand_in_the_page_as_they_are() -> None:
    text = Page(page(hostile("a<b>&\"c'"))).text
    assert text.count("a<b>&\"c'") > 10


def test_the_policy_lets_only_the_style_and_the_script_of_the_page_run() -> None:
    text = page(DEADLOCK)
    (policy,) = [attributes["content"] for tag, attributes in Page(text).elements if "http-equiv" in attributes]
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    script = Page(text).scripts[1]
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" for part in (style, script)
    ]
    assert policy == (
        f"default-src 'none'; style-src {hashes[0]}; script-src {hashes[1]}; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"https?:|url\(|@import|\ssrc=|\sstyle=|\son\w+=", text)


def test_the_same_story_gives_the_same_bytes() -> None:
    again = story_of(violation("rule:hold", "walk(a(a1) b)", "NoDeadlock", cap=2), ["slotcheck replay it"])
    assert page(again) == page(DEADLOCK)
    assert still(again) == still(DEADLOCK)


def test_one_frame_as_svg_says_what_happened_and_draws_the_waits() -> None:
    story = DEADLOCK
    waits = "a waits for a1 to end", "a1 waits for a slot, and a holds one"
    assert (story.circle, story.waits) == (("a", "a1"), waits)
    wrong, start = still(story), still(story, 0)
    told = [element.text or "" for element in ElementTree.fromstring(wrong).iter("{http://www.w3.org/2000/svg}text")]
    last = len(story.frames) - 1
    assert told[:4] == [
        story.heading, f"step {last} of {last}: {story.frames[-1].event}", f"1. {waits[0]}", f"2. {waits[1]}",
    ]  # fmt: skip
    assert wrong.count('class="wait"') == 2
    assert "step 0 of" in start
    assert 'class="wait"' not in start
    # Told once: the message of the trace says the same.
    text = Page(page(story)).text
    assert [text.count(wait) for wait in waits] == [1, 1]
    assert "a holds a pool slot, unlent" in text


def test_a_slot_that_nobody_holds_is_told_and_crossed() -> None:
    leaks = "slotcheck.checks.mutants:LeaksCancelledGrant"
    story = story_of(violation(leaks, "a\nenvironment: cancel a", "NoSlotLeak"))
    assert "1 held by nobody" in still(story)
    assert 'class="lost"' in still(story)
    assert 'class="lost"' not in still(story, 0)


def test_a_story_shows_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="frame 3 of 3"):
        Story("x", "", "", list(frames(3, WALK, 2)), 3)
