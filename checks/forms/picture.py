"""A trace as a page that steps through it, and its last state as a picture: drawn by ``page.py``, read back here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import unescape
from xml.etree import ElementTree

from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.forms.page import page, shown_event, still
from slotcheck.checks.forms.prose import replay_commands
from slotcheck.checks.forms.story import Story, story_of
from slotcheck.checks.lettering import clean
from slotcheck.checks.trace import Moment, Trace

__all__ = ["HTML", "SVG", "still_of"]

_EVENT = re.compile(r'<span class="number">([0-9]+)</span> <span class="what">(.*?)</span>')
_FILM = re.compile(r'<script type="application/json" id="film">(.*?)</script>')
_RUN = re.compile(r'<g class="run ([a-z-]+)" data-run="(.*?)">')
_KINDS = {"in_flight": "in-flight", "retaking": "waiting", "waiting": "waiting", "parked": "parked"}


def _story(making: Making) -> Story:
    return story_of(making.trace, replay_commands(making))


def _page(making: Making) -> dict[str, str]:
    return {f"{making.stem}.html": page(_story(making))}


def _check_page(making: Making, files: dict[str, str]) -> None:
    """Every step that it shows is read back: the event, and what each run that is drawn is."""
    (written,) = files.values()
    trace = making.trace
    moments = [*trace.moments, *(step.after for step in trace.again)]
    events = ["the start", *(step.event for step in (*trace.steps, *trace.again))]
    told = {int(step): unescape(event) for step, event in _EVENT.findall(written)}
    film = json.loads(_FILM.findall(written)[0])
    showing: dict[int, str] = {}
    known = [run for step in film["steps"] for run in moments[step].view["runs"]]
    for step, changes in zip(film["steps"], film["changes"], strict=True):
        for part, piece in zip(changes[::2], changes[1::2], strict=True):
            showing[part] = film["pieces"][piece]
        if told.get(step) != shown_event(events[step]):
            raise NotWrittenError(f"the event of step {step} cannot be read back")
        drawn = {(unescape(name), kind) for piece in showing.values() for kind, name in _RUN.findall(piece)}
        if not drawn <= _kinds(trace, moments[step], known):
            raise NotWrittenError(f"the runs of step {step} cannot be read back")
    if film["steps"][film["bad"]] != len(trace.steps):
        raise NotWrittenError("the step that is wrong is not marked")


def still_of(step: int | None = None) -> Form:
    """The picture of the state after a step, 0 being the start and None the last one before anything goes round."""

    def make(making: Making) -> dict[str, str]:
        name = making.stem if step is None else f"{making.stem}-{step}"
        return {f"{name}.svg": still(_story(making), step)}

    def check(making: Making, files: dict[str, str]) -> None:
        """It is XML, says what is wrong, and every run in it is what it is then."""
        (written,) = files.values()
        trace = making.trace
        told = " ".join(ElementTree.fromstring(written).itertext())
        if trace.invariant not in told:
            raise NotWrittenError(f"{trace.invariant} cannot be read back")
        moments = [*trace.moments, *(again.after for again in trace.again)]
        at = len(trace.steps) if step is None else step
        if {(unescape(name), kind) for kind, name in _RUN.findall(written)} != _kinds(trace, moments[at]):
            raise NotWrittenError(f"the runs of step {at} cannot be read back")

    return Form("svg", "a picture of the last state, or of the one after any step", make, check)


def _kinds(trace: Trace, moment: Moment, more: Iterable[str] = ()) -> set[tuple[str, str]]:
    """Each run of the scenario or the pool, and more, as a picture names it, and what it is at this moment."""
    known = moment.view["runs"]
    kinds = {name: _KINDS.get(run["phase"], "strange") for name, run in known.items()}
    for name in moment.view.get("present", ()):
        kinds.setdefault(name, "ended" if moment.progress.get(name) == "ended" else "waiting")
    for name in (*(() if trace.play is None else (run.name for run in trace.play.runs)), *more):
        kinds.setdefault(name, "ended" if moment.progress.get(name) == "ended" else "not-asked")
    return {(clean(name), kind) for name, kind in kinds.items()}


HTML = Form("html", "a page that steps through it, with keys, buttons and a slider", _page, _check_page)
SVG = still_of()
