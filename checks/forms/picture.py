"""A trace as a page that steps through it, and its last state as a picture. Drawn by ``page.py``."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.forms.page import page, still
from slotcheck.checks.forms.prose import replay_commands
from slotcheck.checks.forms.story import Story, story_of
from slotcheck.checks.lettering import clean
from slotcheck.checks.wait_circle import wait_circle

__all__ = ["HTML", "SVG"]


def _story(making: Making) -> Story:
    circle = wait_circle(making.trace)
    runs, waits = ((), ()) if circle is None else (circle.runs, (*circle.waits, *circle.freed))
    return story_of(making.trace, replay=replay_commands(making), circle=runs, waits=waits)


def _page(making: Making) -> dict[str, str]:
    return {f"{making.stem}.html": page(_story(making))}


def _still(making: Making) -> dict[str, str]:
    return {f"{making.stem}.svg": still(_story(making)) + "\n"}


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found.append(data.strip().replace("\N{RIGHTWARDS ARROW}", "->"))  # as the page writes it


def _check_page(making: Making, files: dict[str, str]) -> None:
    """The events are read back, in their order."""
    (written,) = files.values()
    reader = _Text()
    reader.feed(written)
    told = iter(reader.found)
    for step in making.trace.steps if len(making.trace.steps) < 100 else making.trace.steps[-1:]:
        event = clean(step.event, 2_000).strip()
        if not any(event in text for text in told):
            raise NotWrittenError(f"the event {event[:60]!r} cannot be read back")


def _check_still(making: Making, files: dict[str, str]) -> None:
    """It is XML, and says what is wrong."""
    (written,) = files.values()
    told = " ".join(ElementTree.fromstring(written).itertext())
    if making.trace.invariant not in told:
        raise NotWrittenError(f"{making.trace.invariant} cannot be read back")


HTML = Form("html", "a page that steps through it, with keys, buttons and a slider", _page, _check_page)
SVG = Form("svg", "a picture of the last state", _still, _check_still)
