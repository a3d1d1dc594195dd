"""The report of the check of a port, and of written vectors, for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.port.check import PortReport
from slotcheck.checks.port.counterexample import exchange_of, script_of
from slotcheck.checks.port.levels import EDGES, REQUESTS
from slotcheck.checks.port.vectors import VERSION, Covered
from slotcheck.checks.report import trace_text, versions
from slotcheck.pymodel.explore import Verdict

__all__ = ["port_as_json", "port_as_text", "vectors_as_json", "vectors_as_text"]

_STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNDETERMINED: "bold yellow"}
_LINES_SHOWN = 40  # of a script in the text; the JSON has all


def port_as_json(report: PortReport, seconds: float | None) -> dict[str, Any]:
    """One object; ``seconds`` None leaves the timing out, and then the same port gives the same bytes."""
    hello = report.hello
    told: dict[str, Any] = {
        "verdict": report.verdict.value,
        "port": None if hello is None else hello.name,
        "covered": {
            **{level: _counts(report, level) for level in _levels(report)},
            "messages": report.messages,
            "features": [] if hello is None else sorted(hello.features),
            "features_not_claimed": report.not_claimed,
            "features_unknown": [] if hello is None else list(hello.unknown),
            "fields_not_shown": list(report.hidden),
        },
        "violations": [] if report.violation is None else [_violation(report)],
        "undetermined": [why for why in (report.stopped, report.nothing_to_look_at) if why],
        "parts": [
            {
                "level": part.level,
                "name": part.name,
                "verdict": "violated" if part.failed else "holds" if part.complete else "undetermined",
                "states": part.states,
                "edges": part.edges,
                "edges_covered": part.covered,
                "full_edges": part.full_edges,
                "messages": part.messages,
            }
            for part in report.parts
        ],
        "versions": versions(),
    }
    if seconds is not None:
        told["timing"] = {"seconds": round(seconds, 3), "messages_per_second": _rate(report)}
    return told


def _levels(report: PortReport) -> list[str]:
    return [*report.settings.levels, REQUESTS]


def _counts(report: PortReport, level: str) -> dict[str, int]:
    parts = [part for part in report.parts if part.level == level]
    counts = {"parts": len(parts), "messages": sum(part.messages for part in parts)}
    if level == EDGES:
        counts["states"] = sum(part.states for part in parts)
        counts["edges"] = sum(part.edges for part in parts)
        counts["edges_covered"] = sum(part.covered for part in parts)
        counts["full_edges"] = sum(part.full_edges for part in parts)
    return counts


def _rate(report: PortReport) -> int | None:
    """Messages per second while a script was played, what it takes to make the script up included."""
    seconds = sum(part.seconds for part in report.parts)
    return round(report.messages / seconds) if seconds else None


def _violation(report: PortReport) -> dict[str, Any]:
    found = report.violation
    assert found is not None
    trace = report.trace
    sent, received = exchange_of(found)
    breach = found.fault.breach
    return {
        "scenario": report.where,
        "invariant": found.fault.invariant,
        "message": found.fault.message,
        "remark": found.remark,
        "kind": None if breach is None else breach.kind,
        "sent": sent,
        "received": received,
        "stderr": "" if breach is None else breach.stderr,
        "requests": len(found.requests),
        "script": script_of(found),
        "trace": None if trace is None else trace.as_dict(),
    }


def port_as_text(report: PortReport, seconds: float | None) -> RenderableType:
    """For a terminal or a file; ``seconds`` None leaves the timing out."""
    name = "" if report.hello is None else f" ({report.hello.name})"
    blocks: list[RenderableType] = [Text(f"slotcheck port: {' '.join(report.command)}{name}", style="bold"), ""]
    if report.violation is not None:
        blocks += [*_told(report), ""]
    blocks += [_table(report), ""]
    told = {
        "features not claimed, so not asked of it": report.not_claimed,
        "features that the protocol does not know": [] if report.hello is None else report.hello.unknown,
        "fields of the state that it does not show": report.hidden,
    }
    for what, names in told.items():
        blocks.append(Text(f"{what}: {', '.join(names) or 'none'}", style="yellow" if names else "dim"))
    if seconds is not None:
        rate = _rate(report)
        blocks.append(Text(f"{seconds:.1f} s" + (f", {rate:,} messages per second" if rate else ""), style="dim"))
    if report.nothing_to_look_at:
        blocks.append(Text(f"undetermined: {report.nothing_to_look_at}", style="yellow"))
    if report.stopped is not None:
        blocks.append(Text(f"undetermined: {report.stopped}", style="yellow"))
    verdict = report.verdict.value
    if report.violation is not None:
        fault = report.violation.fault
        verdict += f" ({fault.invariant}{f': {fault.breach.kind}' if fault.breach else ''})"
    blocks += ["", Text.assemble("verdict: ", (verdict, _STYLES[report.verdict]))]
    return Group(*blocks)


def _table(report: PortReport) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("level", "parts", "states", "edges covered", "of", "standing for", "messages"):
        table.add_column(column, justify="left" if column == "level" else "right")
    for level in _levels(report):
        counts = _counts(report, level)
        graph = [f"{counts[name]:,}" for name in ("states", "edges_covered", "edges", "full_edges") if name in counts]
        table.add_row(level, f"{counts['parts']:,}", *(graph or [""] * 4), f"{counts['messages']:,}")
    return table


def _told(report: PortReport) -> list[RenderableType]:
    """What is wrong: the trace, or the requests; the exchange itself; the script."""
    found = report.violation
    assert found is not None
    trace, fault = report.trace, found.fault
    blocks: list[RenderableType] = []
    if trace is not None:
        blocks.append(trace_text(trace))
        if report.hello is None or "state" not in report.hello.features:
            blocks.append(Text("  (the port shows no state: those here are as they must be)", style="dim"))
    else:
        blocks.append(Text.assemble((f"{fault.invariant} is violated", "bold red")))
        blocks.append(Text(f"  {fault.message}"))
    if report.where:
        blocks.append(Text(f"  found in {report.where}"))
    if found.remark:
        blocks.append(Text(f"  {found.remark}", style="yellow"))
    sent, received = exchange_of(found)
    blocks += [_whole(f"  sent:     {sent or 'nothing'}"), _whole(f"  received: {received or 'nothing'}")]
    if fault.breach is not None and fault.breach.stderr:
        blocks.append(Text(f"  the end of its standard error: {fault.breach.stderr}"))
    script = script_of(found)
    if script:
        blocks.append(Text(f"  as a script to pipe into the port ({len(script):,} lines):"))
        blocks += [_whole(f"    {line}") for line in script[-_LINES_SHOWN:]]
    return blocks


def _whole(line: str) -> Text:
    """A line to be copied, so never wrapped."""
    return Text(line, no_wrap=True, overflow="ignore")


def vectors_as_text(written: Sequence[Covered], folder: str) -> RenderableType:
    """A row for each file."""
    table = Table(box=None, pad_edge=False)
    for column in ("file", "about", "needs", "graphs", "states", "edges", "lines", "kB"):
        table.add_column(column, justify="left" if column in ("file", "about", "needs") else "right")
    for one in written:
        counts = (one.graphs, one.states, one.edges, one.lines, round(one.bytes / 1_000))
        table.add_row(f"{one.name}.jsonl", one.about, " ".join(one.needs), *[f"{count:,}" for count in counts])
    lines, size = sum(one.lines for one in written), sum(one.bytes for one in written)
    told = f"{len(written)} files in {folder}: {lines:,} lines, {size:,} bytes; version {VERSION}"
    return Group(table, "", Text(told))


def vectors_as_json(written: Sequence[Covered]) -> dict[str, Any]:
    """One object. Writing vectors is no check, so it has no verdict."""
    return {
        "vectors": VERSION,
        "covered": {
            name: sum(getattr(one, name) for one in written) for name in ("graphs", "states", "edges", "lines", "bytes")
        },
        "parts": [{**one._asdict(), "needs": list(one.needs)} for one in written],
        "versions": versions(),
    }
