"""What was covered beside what is pinned and beside a base: a count that changed is named, never passed over.

*Pins* ship with the suite: counts that any subject which lends right must come to, so another count means that
something was not looked at. A *base* is the JSON report of another gate, of the main branch as a rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from slotcheck.checks.gate.piece import PieceResult, Source, facts_of
from slotcheck.pymodel.result import Verdict

__all__ = ["BaseError", "Difference", "against_base", "against_pins", "pins_of", "read_base"]


class BaseError(ValueError):
    """The base is no report of a gate."""


@dataclass(frozen=True)
class Difference:
    """One count that is not what it was."""

    piece: str
    name: str
    before: int | None
    now: int | None

    @property
    def told(self) -> str:
        """In words."""
        name = self.name.replace("_", " ").replace(".", ": ")
        if self.before is None:
            return f"{self.piece}: {name}: new, {self.now:,}"
        if self.now is None:
            return f"{self.piece}: {name}: gone, was {self.before:,}"
        return f"{self.piece}: {name}: {self.now:,}, was {self.before:,}"


#: Which counts are pinned, by piece. They depend on the suite, not on how a subject works inside. (What a port is asked
#: depends on the features that it claims.)
PINNED = {
    "check": ("parts", "scenarios", "trees", "states", "edges", "full_states", "full_edges", "histories.calls"),
    "mutants": ("mutants", "caught"),
    "asyncio": ("programs",),
    "tlc": ("configs", "distinct", "generated", "graphs_equal", "states_compared", "edges_compared"),
    "prove": ("obligations", "proved_by_all", "code.states", "code.edges", "permits.states", "permits.edges"),
}


@cache
def _pins() -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    pins: Mapping[str, Mapping[str, Mapping[str, int]]] = json.loads(
        files("slotcheck.checks.gate").joinpath("pins.json").read_text()
    )
    return pins


def pins_of(lane: str) -> Mapping[str, Mapping[str, int]]:
    """The counts that are pinned for a lane, by piece."""
    return _pins().get(lane, {})


def against_pins(lane: str, results: Iterable[PieceResult]) -> list[Difference]:
    """Each pinned count of a piece that holds, where it came out otherwise."""
    pins = pins_of(lane)
    return [
        Difference(result.piece.name, name, pinned, result.facts.get(name))
        for result in results
        if result.verdict is Verdict.HOLDS
        for name, pinned in pins.get(result.piece.name, {}).items()
        if result.facts.get(name) != pinned
    ]


def against_base(base: Mapping[str, Any], results: Sequence[PieceResult], *, timed: bool = True) -> list[Difference]:
    """Each count that differs from the base's, for the pieces that both have; and what those that ran took."""
    found = []
    took = base.get("timing", {}).get("parts", {}) if timed else {}
    for result in results:
        covered = base["covered"].get(result.piece.name)
        if not result.judged or covered is None:
            continue
        before, now = _told(dict(facts_of(covered))), _told(result.facts)
        names = [*before, *[name for name in now if name not in before]]
        found += [
            Difference(result.piece.name, name, before.get(name), now.get(name))
            for name in names
            if before.get(name) != now.get(name)
        ]
        if result.source is Source.RUN and isinstance(seconds := took.get(result.piece.name), (int, float)):
            found.append(Difference(result.piece.name, "seconds", round(seconds), round(result.seconds)))
    return found


def _told(facts: Mapping[str, int]) -> dict[str, int]:
    """Without what follows from the other counts: on how many states or steps each invariant was judged."""
    return {name: count for name, count in facts.items() if not name.startswith("invariants.")}


def read_base(file: Path) -> Mapping[str, Any]:
    """A report that ``slotcheck gate --format json`` printed.

    Raises:
        BaseError: it is none.
    """
    try:
        said = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise BaseError(f"{file}: {error}") from error
    if not isinstance(said, dict) or not isinstance(said.get("covered"), dict) or "lane" not in said:
        raise BaseError(f"{file} is no report of `slotcheck gate --format json`")
    return said
