"""Stories that tests of the pictures tell: of real traces, and of frames made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.forms.story import Frame, Story
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import resolve_subject, view
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.rules import RULES, Help, Outcome
from slotcheck.pymodel.scenario import RunSpec
from slotlending import Pool

HOSTILE = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "<!--", "a&b\"c'd", "]]>", "new\nline\ttab",
    "\x00\x1b[31m", "\ud800", "\u202ereversed", "x" * 10_000, "\u4e2d\u6587" * 30, "", "e\u0301\u0301", "{{ 7 * 7 }}",
    "javascript:alert(1)", "\u2028", "-->", "${alert(1)}", "\\u003c/script>",
]  # fmt: skip


def violation(subject: str, tree: str, invariant: str, *, cap: int = 1) -> Trace:
    """The trace to this invariant; the tree may be followed by more lines of a scenario."""
    for part in parts_of([read_scenario(f"cap: {cap}\ntree: {tree}", "here")]):
        for trace in check_part(part, resolve_subject(subject)).traces:
            if trace.invariant == invariant:
                return trace
    raise AssertionError(f"{subject} does not violate {invariant} in {tree}")


class HelpsNobody(Help):
    """A worker that waits goes on looking for work, and takes none."""

    def help(self, state: Any, run: str) -> Outcome:
        return Outcome(state, (), ())


def livelock(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """A trace that goes round for ever."""
    monkeypatch.setitem(RULES, "help", HelpsNobody())
    return violation("rule:help", "r(a)", "AllFinish")


def frames(count: int, forest: Sequence[RunSpec], cap: int) -> Iterator[Frame]:
    """What a real pool does with these runs, round and round: all ask, the leaves end first, and again."""
    pool, ended = Pool(cap), set[str]()
    asks = [(run.name, run.parent) for run in forest]
    while True:
        for run, parent in asks:
            if run not in {known.run for known in pool.snapshot().runs}:
                known = {known.run: known.phase for known in pool.snapshot().runs}
                pool.ask(run, parent if known.get(parent or "") == "in_flight" else None)
                ended.discard(run)
                yield Frame(f"ask {run}", view(pool.snapshot()), run, frozenset(ended))
                count -= 1
            if count <= 0:
                return
        for run, _ in reversed(asks):
            known = {known.run: known.phase for known in pool.snapshot().runs}
            if known.get(run) == "in_flight":
                pool.finish(run)
                ended.add(run)
                yield Frame(f"finish {run}", view(pool.snapshot()), run, frozenset(ended))
                count -= 1
            if count <= 0:
                return


def hostile(name: str) -> Story:
    """A story in which everything that can be a name or a text is this one."""
    other = name + "2"
    forest = (RunSpec(name), RunSpec(other, name))
    pool = Pool(1)
    start = Frame(name, view(pool.snapshot()))
    pool.ask(name)
    one = Frame(f"ask {name} -> {name} admitted", view(pool.snapshot()), name, more=(name, f"{name} in"))
    pool.ask(other, name)
    two = Frame(f"ask {other}", view(pool.snapshot()), other, frozenset([name]), more=(name,))
    return Story(
        name, name, name, (start, one, two), 2, forest, ((name, name), ("subject", name)), (name,), (name, other),
        (f"{name} waits for {other}", f"{other} waits for {name}"),
    )  # fmt: skip
