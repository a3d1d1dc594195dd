"""A trace as one HTML page that steps through it: nothing is loaded, and every name in it is only text.

With keys, buttons, a slider, the list of events or a fragment (``#7``). Without JavaScript it shows the events and the
picture where it goes wrong. A content security policy lets only the style and the script run that are in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from slotcheck.checks.drawing import STYLE, drawing
from slotcheck.checks.forms.film import Film
from slotcheck.checks.forms.story import Story
from slotcheck.checks.lettering import clean

__all__ = ["page", "shown_event", "still"]

_TITLE = 120  # characters of the title
_LINE = 2_000  # characters of any line of text


def page(story: Story) -> str:
    """The page of a story."""
    film = Film(story)
    style, script = f"{STYLE}\n{_asset('page.css')}", _asset("page.js")
    frames = [story.frames[place] for place in film.shown]
    bad = film.shown.index(story.bad)
    last = len(story.frames) - 1
    goes_round = last > story.bad and film.shown[-1] == last
    data = {
        "steps": film.shown,
        "bad": bad,
        "back": bad if goes_round else None,
        "pieces": film.pieces,
        "changes": film.changes,
    }
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            story=story,
            film=film,
            number={part: number for number, part in enumerate(film.parts)},
            steps=list(zip(film.shown, frames, strict=True)),
            last=last,
            goes_round=goes_round,
            left_out=len(story.frames) - len(film.shown),
            shown={part: Markup(piece) for part, piece in film.frame(bad).items()},  # made safe where it is drawn
            runs=range(len(film.stages[0].names)),
            style=Markup(style),
            script=Markup(script),
            data=Markup(_as_script(data)),
            policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; "
            "form-action 'none'",
        )
    )


def still(story: Story, place: int | None = None) -> str:
    """One frame of a story as SVG, by default the one that shows what is wrong."""
    place = story.bad if place is None else place
    frame = story.frames[place]
    at = f"step {place} of {len(story.frames) - 1}: {frame.event}"
    caption = [story.heading, at, *frame.more]
    circle: tuple[str, ...] = ()
    if place == story.bad:
        circle = story.circle
        caption += [story.message, *[f"{number}. {wait}" for number, wait in enumerate(story.waits, start=1)]]
    return drawing(
        frame.view,
        story.forest,
        ended=frame.ended,
        entered=frame.entered,
        title=f"{story.heading}, {at}",
        acting=frame.acting,
        circle=circle,
        caption=[line for line in caption if line],
    )


def shown_event(event: str) -> str:
    """An event as the page shows it: its arrow is one character, which no line breaks."""
    return clean(event, _LINE).replace(" -> ", " \N{RIGHTWARDS ARROW} ", 1)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["line"] = lambda text: clean(text, _LINE)
    made.filters["event"] = shown_event
    made.filters["title"] = lambda text: clean(text, _TITLE)
    return made


def _asset(name: str) -> str:
    return (resources.files("slotcheck.checks.forms") / "templates" / name).read_text("utf-8")


def _as_script(data: object) -> str:
    """JSON that may stand in a script element: nothing in it ends one or begins a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
