"""What a reviewer reads of the violations: each bad step once, with all that it breaks and the line that made it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from slotcheck.checks.gate.piece import PieceResult

__all__ = ["Finding", "Place", "events_of", "findings", "place_of"]


class Place(NamedTuple):
    """A line of a subject.

    Attributes:
        file: relative to the project's folder where it is in there, else absolute or as Python has it.
        inside: whether it is in there.
    """

    file: Path
    line: int
    function: str
    inside: bool

    @property
    def told(self) -> str:
        """As one reads it."""
        return f"{self.file.as_posix()}:{self.line}" + (f", in {self.function}" if self.function else "")


@dataclass
class Finding:
    """Violations of one piece that one trace shows.

    Attributes:
        broken: the invariants, each with what it says.
        events: the trace, an event a step; the lines of a counterexample that is none; empty if there is none.
    """

    piece: str
    scenario: str | None
    broken: list[tuple[str, str]]
    events: Sequence[str]
    place: Place | None

    @property
    def title(self) -> str:
        """Which invariants are violated, and in what."""
        names = [name for name, _ in self.broken]
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        told = f"{listed} {'is' if len(names) == 1 else 'are'} violated"
        named = self.scenario is None or all(self.scenario in message for _, message in self.broken)
        return told if named else f"{told} in {self.scenario}"

    @property
    def messages(self) -> list[str]:
        """What the invariants say, each once."""
        return list(dict.fromkeys(message for _, message in self.broken if message))


def findings(results: Sequence[PieceResult], folder: Path, changed: Mapping[str, Collection[int]]) -> Iterator[Finding]:
    """All violations of the pieces, those of one trace together.

    Args:
        folder: the project's.
        changed: the lines of each of its files that are under review.
    """
    for result in results:
        found: dict[tuple[Any, ...], Finding] = {}
        for number, violation in enumerate(result.violations):
            scenario, events = violation.get("scenario"), events_of(violation)
            broken = (str(violation.get("invariant")), str(violation.get("message") or ""))
            same = (scenario, *events) if events else (number,)
            if same in found:
                found[same].broken.append(broken)
            else:
                place = place_of(violation, folder, changed)
                found[same] = Finding(result.piece.name, scenario, [broken], events, place)
        yield from found.values()


def events_of(violation: Mapping[str, Any]) -> list[str]:
    """The events of its trace; the lines of it where it has none (a proof's counterexample)."""
    trace = violation.get("trace")
    if isinstance(trace, Mapping):
        return [str(event) for event in trace.get("events", ())]
    return [str(line) for line in trace] if isinstance(trace, list) else []


def place_of(violation: Mapping[str, Any], folder: Path, changed: Mapping[str, Collection[int]]) -> Place | None:
    """Where its last step was made: the last of its lines that is under review, else where its method begins."""
    trace = violation.get("trace")
    said = trace.get("location") if isinstance(trace, Mapping) else None
    if not isinstance(said, Mapping):
        return None
    file, line, function = Path(str(said["file"])), int(said["line"]), str(said.get("function", ""))
    if not (file.is_absolute() and file.is_relative_to(folder.resolve())):
        return Place(file, line, function, inside=False)
    file = file.relative_to(folder.resolve())
    under_review = [ran for ran in said.get("lines", ()) if ran in changed.get(file.as_posix(), ())]
    return Place(file, under_review[-1] if under_review else line, function, inside=True)
