"""The page in a real browser: Chromium from the system's packages, driven by playwright.

Where there is none these tests are skipped, and say so; with SLOTCHECK_BROWSER=required, as in CI, they fail instead.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from stories import HOSTILE, frames, hostile, violation
from traces import going_round

from slotcheck.checks.facts import Facts
from slotcheck.checks.forms.page import page
from slotcheck.checks.forms.story import Story, story_of

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}

DEADLOCK = story_of(violation("rule:hold", "walk(a(a1 a2) b(b1 b2) c(c1 c2))", "NoDeadlock", cap=2))
LENDING = Story("a pool that lends", "", "", list(frames(30, DEADLOCK.forest, 2)), 29, DEADLOCK.forest)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("SLOTCHECK_BROWSER") == "required":
            pytest.fail("no Chromium on the path, and SLOTCHECK_BROWSER=required")
        pytest.skip("no Chromium on the path (apt-get install chromium)")
    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield launched
        launched.close()


class Opened:
    """A story in a page of the browser: what it asked for, and what went wrong in it."""

    def __init__(self, browser: Browser, folder: Path, story: Story, fragment: str = "", **options: Any) -> None:
        self.story = story
        self.file = folder / "trace.html"
        self.file.write_text(page(story), encoding="utf-8")
        self.page: Page = browser.new_page(**{"viewport": WIDE, **options})
        self.asked: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.goto(f"{self.file.as_uri()}{fragment}")

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *failed: object) -> None:
        asked = [url.partition("#")[0] for url in self.asked]
        self.page.close()
        if failed[0] is None:
            assert self.wrong == []
            assert set(asked) == {self.file.as_uri()}

    def is_at(self, place: int) -> None:
        """Everything on the page tells of this frame."""
        story, frame, last = self.story, self.story.frames[place], len(self.story.frames) - 1
        facts = Facts(frame.view)  # type: ignore[arg-type]
        read = self.page.evaluate(READ)
        now, event = read["now"], frame.event.replace(" -> ", " → ", 1)
        assert now[:2] == [f"Step {place} of {last}{' violated here' * (place == story.bad)}", event]
        assert now[2].split(", ")[0] == f"executing {len(facts.unlent)} of cap {frame.view.cap}"
        assert now[3].startswith(f"in flight {len(facts.in_flight)} of ")
        assert now[-1].startswith(f"pool: {max(frame.view.cap - frame.view.taken, 0)} of {frame.view.cap} slots free")
        assert ("held by nobody" in now[-1]) == (frame.view.taken > len(facts.unlent))
        queue = ", ".join(f"{at}. {run}" for at, run in enumerate(frame.view.waiting, 1)) or "nobody waits"
        assert read["queue"] == f"queue: {queue}"
        assert read["drawn"] == {
            ".disc:not(.hollow)": len(facts.unlent),
            ".disc.hollow": len(facts.holders) - len(facts.unlent),
            ".loan": len(facts.holders) - len(facts.heads),
            ".run.waiting": len(frame.view.waiting),
            ".run.parked": len(facts.parked),
            ".run.ended": len(frame.ended - set(facts.runs)),
        }
        assert read["acts"] == ([frame.acting] if frame.acting else [])
        assert read["listed"] == [event]
        assert read["slider"] == [str(place), f"{place} of {last}: {event}"]


# What a person sees and a screen reader reads, as data.
READ = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)].filter((found) => found.checkVisibility());
  const tree = all(".tree")[0];
  const texts = (selector) => all(selector).map((found) => found.innerText.trim());
  const drawn = {};
  for (const what of [".disc:not(.hollow)", ".disc.hollow", ".loan", ".run.waiting", ".run.parked", ".run.ended"])
    drawn[what] = tree.querySelectorAll(what).length;
  const slider = document.querySelector("[aria-label=Step]");
  return {
    now: texts("[role=status] p"),
    queue: texts(".queue p").join(),
    drawn,
    acts: [...tree.querySelectorAll(".run:has(.acts)")].map((run) => run.dataset.run),
    listed: texts("#events [aria-current=step] .what"),
    slider: [slider.value, slider.getAttribute("aria-valuetext")],
  };
}"""


@pytest.mark.parametrize("story", [DEADLOCK, LENDING], ids=["deadlock", "lending"])
def test_it_steps_through_a_trace_with_keys_and_tells_each_state(
    browser: Browser, tmp_path: Path, story: Story
) -> None:
    last = len(story.frames) - 1
    with Opened(browser, tmp_path, story) as opened:
        opened.is_at(story.bad)
        opened.page.keyboard.press("Home")
        for place in range(last):
            opened.is_at(place)
            opened.page.keyboard.press("ArrowRight")
        opened.is_at(last)
        opened.page.keyboard.press("ArrowRight")
        opened.is_at(last)
        for place in reversed(range(last)):
            opened.page.keyboard.press("ArrowLeft")
            opened.is_at(place)
        opened.page.keyboard.press("ArrowLeft")
        opened.is_at(0)
        opened.page.keyboard.press("End")
        opened.is_at(last)


def test_it_steps_with_buttons_the_slider_the_list_and_a_fragment(browser: Browser, tmp_path: Path) -> None:
    last = len(DEADLOCK.frames) - 1
    with Opened(browser, tmp_path, DEADLOCK, "#3") as opened:
        opened.is_at(3)
        button = {name: opened.page.get_by_role("button", name=name) for name in ("First", "Back", "Next", "Last")}
        button["Next"].click()
        opened.is_at(4)
        assert opened.page.url.endswith("#4")
        button["Back"].click()
        opened.is_at(3)
        button["First"].click()
        opened.is_at(0)
        assert (button["Back"].is_disabled(), button["First"].is_disabled()) == (True, True)
        button["Last"].click()
        opened.is_at(last)
        assert (button["Next"].is_disabled(), button["Last"].is_disabled()) == (True, True)
        opened.page.locator("#events a").nth(2).click()
        opened.is_at(2)
        slider = opened.page.get_by_role("slider", name="Step")
        slider.focus()
        opened.page.keyboard.press("ArrowRight")
        opened.is_at(3)
        slider.fill("5")
        opened.is_at(5)
        opened.page.goto(f"{opened.file.as_uri()}#1")
        opened.is_at(1)
        for nonsense in ("#99", "#x", "#-1", "#1.5"):
            opened.page.goto(f"{opened.file.as_uri()}{nonsense}")
            opened.is_at(DEADLOCK.bad)


def test_the_keyboard_alone_reaches_everything(browser: Browser, tmp_path: Path) -> None:
    with Opened(browser, tmp_path, DEADLOCK) as opened:
        reached = []
        for _ in range(30):
            opened.page.keyboard.press("Tab")
            reached.append(opened.page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        assert {"first", "previous", "slider", "A", "SUMMARY"} <= set(reached)
        opened.page.locator("#events a").nth(1).focus()
        opened.page.keyboard.press("Enter")
        opened.is_at(1)


def test_the_waits_of_a_deadlock_are_drawn_where_it_goes_wrong(browser: Browser, tmp_path: Path) -> None:
    with Opened(browser, tmp_path, DEADLOCK) as opened:
        waits = opened.page.locator(".tree:visible .wait")
        assert waits.count() == 2
        assert opened.page.locator(".waits li").all_inner_texts() == [
            "a waits for a1 to end",
            "a1 waits for a slot, and a holds one",
        ]
        opened.page.keyboard.press("ArrowLeft")
        assert waits.count() == 0


def test_what_goes_on_for_ever_goes_round(browser: Browser, tmp_path: Path) -> None:
    story = story_of(going_round())
    last = len(story.frames) - 1
    with Opened(browser, tmp_path, story, f"#{last}") as opened:
        opened.is_at(last)
        opened.page.keyboard.press("ArrowLeft")
        opened.is_at(story.bad)
        for _ in range(3):
            for place in range(story.bad + 1, last + 1):
                opened.page.keyboard.press("ArrowRight")
                opened.is_at(place)


@pytest.mark.parametrize(
    ("size", "scheme"),
    [(WIDE, "light"), (NARROW, "dark"), ({"width": 320, "height": 480}, "light")],
    ids=["wide", "narrow", "smallest"],
)
def test_it_fits_and_can_be_read_in_light_and_dark(
    browser: Browser, tmp_path: Path, size: dict[str, int], scheme: str
) -> None:
    with Opened(browser, tmp_path, DEADLOCK, viewport=size, color_scheme=scheme) as opened:
        across, wide = opened.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert across <= wide
        assert opened.page.locator(".tree.narrow").is_visible() == (size is not WIDE)
        assert opened.page.locator(".tree.wide").is_visible() == (size is WIDE)
        opened.page.keyboard.press("ArrowLeft")
        opened.is_at(DEADLOCK.bad - 1)
        next_button = opened.page.get_by_role("button", name="Next").bounding_box()
        assert next_button is not None
        assert next_button["height"] >= 40
        for selector in ("body", ".sentence", ".queue", ".mark", "#events .number", "dt"):
            assert contrast(opened.page, selector) >= 4.5, selector


def contrast(page: Page, selector: str) -> float:
    """The contrast of the text with the ground of the page, as WCAG defines it."""
    told = page.evaluate(
        "(selector) => [getComputedStyle(document.querySelector(selector)).color,"
        " getComputedStyle(document.body).backgroundColor]",
        selector,
    )

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted(map(luminance, told))
    return (lighter + 0.05) / (darker + 0.05)


def test_without_scripts_it_shows_the_events_and_the_state_where_it_goes_wrong(
    browser: Browser, tmp_path: Path
) -> None:
    with Opened(browser, tmp_path, DEADLOCK, java_script_enabled=False) as opened:
        assert not opened.page.locator("#steps").is_visible()
        last = len(DEADLOCK.frames) - 1
        assert f"Step {last} of {last}" in opened.page.get_by_role("status").inner_text()
        assert opened.page.locator(".tree.wide .run").count() == len(DEADLOCK.forest)
        assert len(opened.page.locator("#events .what").all_inner_texts()) == last + 1


def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    story = hostile(*HOSTILE)
    last = len(story.frames) - 1
    with Opened(browser, tmp_path, story) as opened:
        opened.page.keyboard.press("Home")
        for place in range(last + 1):
            assert opened.page.locator("#at").inner_text() == f"Step {place} of {last}"
            opened.page.keyboard.press("ArrowRight")
        assert opened.page.locator("script").count() == 2
        assert opened.page.locator("img, iframe, object, embed, base, form").count() == 0


def test_the_policy_stops_a_script_that_gets_in(browser: Browser, tmp_path: Path) -> None:
    with Opened(browser, tmp_path, DEADLOCK) as opened:
        opened.page.evaluate("document.querySelector('.queue').innerHTML = '<img src=x onerror=\"window.got = 1\">'")
        opened.page.wait_for_function("document.querySelector('.queue img').complete")
        assert opened.page.evaluate("window.got") is None
        assert any("Content Security Policy" in wrong for wrong in opened.wrong)
        opened.wrong.clear()
        opened.asked = opened.asked[:1]


def test_it_prints_the_events_and_the_picture_without_the_controls(browser: Browser, tmp_path: Path) -> None:
    with Opened(browser, tmp_path, DEADLOCK, viewport=NARROW) as opened:
        opened.page.emulate_media(media="print", color_scheme="dark")
        assert not opened.page.locator("#steps").is_visible()
        assert opened.page.locator(".tree.wide").is_visible()
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        height, inside = opened.page.evaluate(
            "(e => [e.clientHeight, e.scrollHeight])(document.getElementById('events'))"
        )
        assert height == inside
