"""What a gate found, all pieces together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slotcheck.checks.gate.base import Difference
from slotcheck.checks.gate.piece import PieceResult, Source
from slotcheck.pymodel.result import Verdict

__all__ = ["GateReport", "gate_as_json", "verdict_line"]


@dataclass
class GateReport:
    """All results, and what they say together."""

    lane: str
    subject: str
    results: list[PieceResult] = field(default_factory=list)
    #: What differs from the counts that are pinned: each keeps the gate from being green.
    pinned: list[Difference] = field(default_factory=list)
    #: What differs from the base: told, no more.
    changes: list[Difference] = field(default_factory=list)
    #: The revision that changes were looked for since.
    since: str | None = None
    #: Why the gate ended before its last piece.
    stopped: str | None = None
    #: The project's folder, and the lines of its files that are under review: a bad step is told at one of these.
    folder: Path = Path()
    changed: Mapping[str, Collection[int]] = field(default_factory=dict)

    def of(self, source: Source) -> list[PieceResult]:
        """The results that come from there."""
        return [result for result in self.results if result.source is source]

    @property
    def judged(self) -> list[PieceResult]:
        """The results with a verdict."""
        return [result for result in self.results if result.judged]

    @property
    def verdict(self) -> Verdict:
        """Violated if anything is; undetermined if anything is, was not reached, or nothing was judged."""
        verdicts = [result.verdict for result in self.judged]
        if Verdict.VIOLATED in verdicts or self.pinned:
            return Verdict.VIOLATED
        if self.stopped or not verdicts or Verdict.UNDETERMINED in verdicts or self.of(Source.NOT_REACHED):
            return Verdict.UNDETERMINED
        return Verdict.HOLDS

    @property
    def why_undetermined(self) -> list[str]:
        """All that keeps the verdict from being known, violations aside."""
        why = [self.stopped] if self.stopped else []
        for result in self.results:
            why += [f"{result.piece.name}: {reason}" for reason in result.why]
        if not self.judged:
            why.append("nothing was checked")
        return why


def verdict_line(report: GateReport) -> str:
    """The verdict with all that qualifies it, in one line."""
    told = [f"lane {report.lane}", _number(len(report.judged), "piece")]
    if cached := report.of(Source.CACHE):
        told.append("all from cache" if len(cached) == len(report.judged) else f"{len(cached)} from cache")
    for source, words in (
        (Source.SKIPPED, "skipped"),
        (Source.UNCHANGED, f"unchanged since {report.since} and not run"),
        (Source.NOT_REACHED, "not reached"),
    ):
        if left_out := report.of(source):
            told.append(f"{words}: {', '.join(result.piece.name for result in left_out)}")
    return f"{report.verdict.value} ({'; '.join(told)})"


def gate_as_json(report: GateReport, seconds: float | None) -> dict[str, Any]:
    """One object; ``seconds`` None leaves the timing out."""
    told: dict[str, Any] = {
        "verdict": report.verdict.value,
        "line": verdict_line(report),
        "lane": report.lane,
        "subject": report.subject,
        "covered": {result.piece.name: result.report.get("covered", {}) for result in report.judged},
        "violations": [
            *[{"piece": result.piece.name, **violation} for result in report.judged for violation in result.violations],
            *[
                {"piece": one.piece, "scenario": None, "invariant": "Pinned", "message": one.told, "trace": None}
                for one in report.pinned
            ],
        ],
        "undetermined": report.why_undetermined,
        "changes": [one.told for one in report.changes],
        "parts": [
            {
                "name": result.piece.name,
                "about": result.piece.about,
                "source": result.source.value,
                "verdict": None if result.verdict is None else result.verdict.value,
                "why": result.why,
                "violated": sorted({str(violation.get("invariant")) for violation in result.violations}),
            }
            for result in report.results
        ],
        "versions": versions_of(report.judged),
    }
    if seconds is not None:
        told["timing"] = {
            "seconds": round(seconds, 3),
            "memory": max((result.memory for result in report.of(Source.RUN)), default=0),
            "parts": {result.piece.name: round(result.seconds, 3) for result in report.judged},
        }
    return told


def versions_of(results: Sequence[PieceResult]) -> dict[str, str]:
    """Of all that took part."""
    found: dict[str, str] = {}
    for result in results:
        found |= result.report.get("versions", {})
    return dict(sorted(found.items()))


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
