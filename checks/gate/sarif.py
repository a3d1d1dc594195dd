"""A gate's report as SARIF 2.1.0, which code scanning reads: a result a violation, its trace as a code flow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from slotcheck.checks.gate.findings import Place, events_of, place_of
from slotcheck.checks.gate.report import GateReport
from slotcheck.checks.judge import ALL_INVARIANTS

__all__ = ["gate_as_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_TITLES = {
    "Pinned": "every count is the one that is pinned",
    "Undetermined": "every piece comes to a verdict",
    "Manifest": "every configuration comes out as the manifest says",
    "Equivalent": "what is listed as a change that nobody could see survives every check",
    "Killed": "every small change to the code is seen by a check",
    "Caught": "every faulty subject is caught where it is known to be, for the reason that is known",
    "Graphs": "specification, rule and pool have the same states and steps",
}


def gate_as_sarif(report: GateReport) -> dict[str, Any]:
    """The report as one SARIF log, its paths relative to the project's folder."""
    results = list(_results(report))
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
                "originalUriBaseIds": {"PROJECT": {"uri": report.folder.resolve().as_uri() + "/"}},
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


def _results(report: GateReport) -> Iterator[dict[str, Any]]:
    for result in report.judged:
        for violation in result.violations:
            yield _result(result.piece.name, violation, place_of(violation, report.folder, report.changed))
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


def _result(piece: str, violation: Mapping[str, Any], place: Place | None) -> dict[str, Any]:
    rule = str(violation.get("invariant"))
    scenario, message = violation.get("scenario"), violation.get("message")
    told = f"{rule} is violated" + (f" in {scenario}" if scenario else "") + (f": {message}" if message else "")
    events = events_of(violation)
    found: dict[str, Any] = {
        "ruleId": rule,
        "level": "error",
        "message": {"text": told},
        "partialFingerprints": {"slotcheck/v1": _digest(piece, rule, str(scenario), *events)},
        "properties": {"piece": piece},
    }
    location = None if place is None else _location(place)
    if location is not None:
        found["locations"] = [location]
    if events:
        steps: list[dict[str, Any]] = [
            {"location": {"message": {"text": event}}, "executionOrder": at} for at, event in enumerate(events, 1)
        ]
        steps[-1]["importance"] = "essential"
        if location is not None:
            steps[-1]["location"] |= {"physicalLocation": location["physicalLocation"]}
        found["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return found


def _location(place: Place) -> dict[str, Any]:
    where = {"uri": place.file.as_uri() if place.file.is_absolute() else place.file.as_posix()}
    if place.inside:
        where["uriBaseId"] = "PROJECT"
    return {
        "physicalLocation": {"artifactLocation": where, "region": {"startLine": place.line}},
        "logicalLocations": [{"fullyQualifiedName": place.function, "kind": "function"}],
    }


def _digest(*words: str) -> str:
    """The same for the same fault, wherever its lines move to."""
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:32]


def _version() -> str:
    try:
        return version("slotcheck")
    except PackageNotFoundError:
        return "0"
