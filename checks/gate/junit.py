"""A gate's report as JUnit XML, which CI systems read: a suite a piece, a case a part. Undetermined is an error.

Attributes are those of the schema that Jenkins and Surefire agree on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from slotcheck.checks.gate.piece import PieceResult, Source
from slotcheck.checks.gate.report import GateReport
from slotcheck.pymodel.result import Verdict

__all__ = ["gate_as_junit"]

#: The words of good parts, in all commands.
_GOOD = {"holds", "diagnosed", "proved", "found", "equal", "caught", "killed", "hangs", "equivalent"}
_TAGS = ("failure", "error", "skipped")


def gate_as_junit(report: GateReport, seconds: float | None) -> str:
    """The XML as text."""
    whole = ElementTree.Element("testsuites", name="slotcheck gate")
    totals = dict.fromkeys(("tests", "failures", "errors"), 0)
    for result in report.results:
        suite = ElementTree.SubElement(whole, "testsuite", name=_clean(f"slotcheck {result.piece.name}"))
        suite.extend(_cases(result, report))
        failures, errors, skipped = (len(suite.findall(f"testcase/{tag}")) for tag in _TAGS)
        counts = {"tests": len(suite), "failures": failures, "errors": errors}
        for name, count in counts.items():
            totals[name] += count
            suite.set(name, str(count))
        suite.set("skipped", str(skipped))
        if seconds is not None and result.judged:
            suite.set("time", f"{result.seconds:.3f}")
    for name, count in totals.items():
        whole.set(name, str(count))
    ElementTree.indent(whole, " ")
    text: str = ElementTree.tostring(whole, encoding="unicode", xml_declaration=False)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _cases(result: PieceResult, report: GateReport) -> Iterator[ElementTree.Element]:
    name = result.piece.name
    if result.source is Source.NOT_REACHED:
        yield _case(name, "verdict", "error", Verdict.UNDETERMINED.value, "not reached")
        return
    if not result.judged:
        yield _case(name, "left out", "skipped", None, result.source.value)
        return
    for part in _parts(result.report.get("parts")):
        verdict = str(part.get("verdict"))
        if verdict in _GOOD:
            yield _case(name, str(part.get("name")))
            continue
        why = part.get("stopped") or part.get("why") or part.get("violated") or part.get("told") or verdict
        tag = "error" if verdict == Verdict.UNDETERMINED.value else "failure"
        yield _case(name, str(part.get("name")), tag, verdict, f"{verdict}: {_words(why)}")
    # The piece as a whole: a part may be good while the whole is not, so that no verdict hides among the cases.
    pinned = [one.told for one in report.pinned if one.piece == name]
    if result.verdict is Verdict.VIOLATED or pinned:
        told = [f"{one.get('invariant')}: {one.get('message', '')}" for one in result.violations] + pinned
        traces = "\n\n".join(_trace(one) for one in result.violations)
        yield _case(name, "verdict", "failure", Verdict.VIOLATED.value, "; ".join(told), traces)
    elif result.verdict is Verdict.UNDETERMINED:
        yield _case(name, "verdict", "error", Verdict.UNDETERMINED.value, "; ".join(result.why))
    else:
        yield _case(name, "verdict")


def _case(
    piece: str, name: str, tag: str | None = None, kind: str | None = None, message: str = "", text: str | None = None
) -> ElementTree.Element:
    group = _clean(f"slotcheck.{piece.replace(':', '.')}")
    case = ElementTree.Element("testcase", name=_clean(name), classname=group)
    if tag is not None:
        inside = ElementTree.SubElement(case, tag, message=_clean(message))
        if kind is not None:
            inside.set("type", kind)
        inside.text = None if text is None else _clean(text)
    return case


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
    return "".join(sign for sign in text if sign in "\t\n\r" or (sign >= " " and not _not_in_xml(sign)))


def _not_in_xml(sign: str) -> bool:
    return "\ud800" <= sign <= "\udfff" or sign in "\ufffe\uffff"
