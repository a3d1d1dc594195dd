"""A gate's report as JUnit XML, which CI systems read: a suite a piece, a case a part. Undetermined is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from slotcheck.checks.gate.piece import PieceResult, Source
from slotcheck.checks.gate.report import GateReport
from slotcheck.pymodel.result import Verdict

__all__ = ["gate_as_junit"]

_GOOD = {"holds", "diagnosed", "proved", "found", "equal", "caught"}  # the words of good parts, in all commands


def gate_as_junit(report: GateReport, seconds: float | None) -> str:
    """The XML as text."""
    whole = JUnitXml("slotcheck gate")
    for result in report.results:
        suite = TestSuite(f"slotcheck {result.piece.name}")
        for case in _cases(result, report):
            suite.add_testcase(case)
        if seconds is not None and result.judged:
            suite.time = round(result.seconds, 3)
        suite.update_statistics()
        whole.add_testsuite(suite)
    whole.update_statistics()
    text: bytes = whole.tostring()
    return text.decode()


def _cases(result: PieceResult, report: GateReport) -> Iterator[TestCase]:
    name = result.piece.name
    if not result.judged:
        case = _case(name, "left out")
        reached = result.source is not Source.NOT_REACHED
        case.result = [Skipped(result.source.value) if reached else Error("not reached", "undetermined")]
        yield case
        return
    for part in _parts(result.report.get("parts")):
        case = _case(name, str(part.get("name")))
        verdict = str(part.get("verdict"))
        if verdict not in _GOOD:
            why = part.get("stopped") or part.get("why") or part.get("violated") or part.get("told") or verdict
            kind = Error if verdict == Verdict.UNDETERMINED.value else Failure
            case.result = [kind(_clean(f"{verdict}: {_words(why)}"), verdict)]
        yield case
    # The piece as a whole: a part may be good while the whole is not, so that no verdict hides among the cases.
    case = _case(name, "verdict")
    pinned = [one.told for one in report.pinned if one.piece == name]
    if result.verdict is Verdict.VIOLATED or pinned:
        told = [f"{one.get('invariant')}: {one.get('message', '')}" for one in result.violations] + pinned
        failure = Failure(_clean("; ".join(told)), Verdict.VIOLATED.value)
        failure.text = _clean("\n\n".join(_trace(one) for one in result.violations))
        case.result = [failure]
    elif result.verdict is Verdict.UNDETERMINED:
        case.result = [Error(_clean("; ".join(result.why)), Verdict.UNDETERMINED.value)]
    yield case


def _case(piece: str, name: str) -> TestCase:
    return TestCase(_clean(name), classname=_clean(f"slotcheck.{piece.replace(':', '.')}"))


def _parts(said: Any) -> Sequence[Mapping[str, Any]]:
    return [part for part in said if isinstance(part, Mapping)] if isinstance(said, list) else []


def _trace(violation: Mapping[str, Any]) -> str:
    trace = violation.get("trace")
    events = trace.get("events", ()) if isinstance(trace, Mapping) else trace if isinstance(trace, list) else ()
    lines = [f"{number}. {event}" for number, event in enumerate(events, 1)]
    return "\n".join([f"{violation.get('invariant')} in {violation.get('scenario')}", *lines])


def _words(said: Any) -> str:
    return "; ".join(map(str, said)) if isinstance(said, list) else str(said)


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(
        sign
        for sign in text
        if sign in "\t\n\r" or (sign >= " " and not "\ud800" <= sign <= "\udfff" and sign not in "\ufffe\uffff")
    )
