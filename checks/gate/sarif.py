"""A gate's report as SARIF 2.1.0, which code scanning reads: a result a violation, its trace as a code flow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from slotcheck.checks.gate.report import GateReport
from slotcheck.checks.judge import ALL_INVARIANTS

__all__ = ["gate_as_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_TITLES = {
    "Pinned": "every count is the one that is pinned",
    "Undetermined": "every piece comes to a verdict",
    "Manifest": "every configuration comes out as the manifest says",
    "Graphs": "specification, rule and pool have the same states and steps",
}


def gate_as_sarif(
    report: GateReport, folder: Path, changed: Mapping[str, Collection[int]] | None = None
) -> dict[str, Any]:
    """The report as one SARIF log.

    Args:
        folder: the project's; paths are told relative to it.
        changed: of each file (a path relative to the folder) the lines that the change under review touches: of the
            lines that a bad step ran, one of these is told.
    """
    results = list(_results(report, folder, changed or {}))
    rules = sorted({result["ruleId"] for result in results})
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "slotcheck",
                        "version": _version(),
                        "rules": [
                            {
                                "id": rule,
                                "shortDescription": {"text": ALL_INVARIANTS.get(rule) or _TITLES.get(rule, rule)},
                            }
                            for rule in rules
                        ],
                    }
                },
                "automationDetails": {"id": f"slotcheck/gate/{report.lane}"},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"PROJECT": {"uri": folder.resolve().as_uri() + "/"}},
                "results": [{**result, "ruleIndex": rules.index(result["ruleId"])} for result in results],
                "invocations": [
                    {
                        "executionSuccessful": not report.why_undetermined,
                        "toolExecutionNotifications": [
                            {"level": "error", "message": {"text": why}} for why in report.why_undetermined
                        ],
                    }
                ],
            }
        ],
    }


def _results(report: GateReport, folder: Path, changed: Mapping[str, Collection[int]]) -> Iterator[dict[str, Any]]:
    for result in report.judged:
        for violation in result.violations:
            yield _result(result.piece.name, violation, folder, changed)
    for one in report.pinned:
        yield {
            "ruleId": "Pinned",
            "level": "error",
            "message": {"text": one.told},
            "partialFingerprints": {"slotcheck/v1": _digest("Pinned", one.piece, one.name)},
        }
    for why in report.why_undetermined:  # code scanning shows results only: a gate without a verdict must be one
        yield {
            "ruleId": "Undetermined",
            "level": "error",
            "message": {"text": why},
            "partialFingerprints": {"slotcheck/v1": _digest("Undetermined", why)},
        }


def _result(
    piece: str, violation: Mapping[str, Any], folder: Path, changed: Mapping[str, Collection[int]]
) -> dict[str, Any]:
    rule = str(violation.get("invariant"))
    scenario, message = violation.get("scenario"), violation.get("message")
    told = f"{rule} is violated" + (f" in {scenario}" if scenario else "") + (f": {message}" if message else "")
    trace = violation.get("trace")
    events = [str(event) for event in trace.get("events", ())] if isinstance(trace, Mapping) else []
    found: dict[str, Any] = {
        "ruleId": rule,
        "level": "error",
        "message": {"text": told},
        "partialFingerprints": {"slotcheck/v1": _digest(piece, rule, str(scenario), *events)},
        "properties": {"piece": piece},
    }
    place = _place(trace.get("location") if isinstance(trace, Mapping) else None, folder, changed)
    if place is not None:
        found["locations"] = [place]
    if events:
        steps: list[dict[str, Any]] = [
            {"location": {"message": {"text": event}}, "executionOrder": at} for at, event in enumerate(events, 1)
        ]
        steps[-1]["importance"] = "essential"
        if place is not None:
            steps[-1]["location"] |= {"physicalLocation": place["physicalLocation"]}
        found["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return found


def _place(said: Any, folder: Path, changed: Mapping[str, Collection[int]]) -> dict[str, Any] | None:
    """Where a bad step was made: of the lines that it ran the last one under review, else where its method begins."""
    if not isinstance(said, Mapping):
        return None
    file, line = Path(str(said["file"])), int(said["line"])
    where: dict[str, Any] = {"uri": file.as_uri() if file.is_absolute() else file.as_posix()}
    if file.is_absolute() and file.is_relative_to(folder.resolve()):
        inside = file.relative_to(folder.resolve()).as_posix()
        where = {"uri": inside, "uriBaseId": "PROJECT"}
        under_review = [ran for ran in said.get("lines", ()) if ran in changed.get(inside, ())]
        line = under_review[-1] if under_review else line
    return {
        "physicalLocation": {"artifactLocation": where, "region": {"startLine": line}},
        "logicalLocations": [{"fullyQualifiedName": str(said.get("function", "")), "kind": "function"}],
    }


def _digest(*words: str) -> str:
    """The same for the same fault, wherever its lines move to."""
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:32]


def _version() -> str:
    try:
        return version("slotcheck")
    except PackageNotFoundError:
        return "0"
