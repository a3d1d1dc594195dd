"""A check's report for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from slotcheck.checks.check import DIAGNOSED, PartResult, Report
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.location import location_of
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import Trace
from slotcheck.checks.trace_lines import trace_lines
from slotcheck.checks.witnesses import ALL_WITNESSES
from slotcheck.pymodel.explore import Verdict

__all__ = ["as_json", "as_text", "trace_text"]


def covered(report: Report) -> dict[str, Any]:
    """What was looked at, in counts by name."""
    parts = report.parts
    fired: Counter[str] = Counter()
    for part in parts:
        fired.update(part.fired)
    reached = {name for part in parts for name in part.reached}
    plain = [part for part in parts if part.plain]
    return {
        "parts": len(parts),
        "scenarios": len({part.scenario for part in parts}),
        "trees": len({part.tree for part in parts}),
        "caps": sorted({part.cap for part in parts}),
        "runs": max((part.runs for part in parts), default=0),
        "states": sum(part.states for part in parts),
        "edges": sum(part.edges for part in parts),
        "full_states": sum(part.full_states for part in parts),
        "full_edges": sum(part.full_edges for part in parts),
        "snapshots": sum(part.snapshots for part in parts),
        "calls": sum(part.calls for part in parts),
        "live_calls": sum(part.live_calls for part in parts),
        "histories": None
        if report.histories is None
        else {
            "calls": report.histories.calls,
            "refused": report.histories.refused,
            "orders": report.histories.orders,
            "orders_not_taken": report.histories.orders_not_taken,
        },
        "plain_parts": len(plain),
        "plain_parts_that_reach_max_in_flight": sum(part.most_in_flight == part.most for part in plain),
        "parts_merged_by_symmetry": sum(part.reduced for part in parts),
        "diagnosed": sum(part.verdict == DIAGNOSED for part in parts),
        "parts_left_alone": report.left_alone,
        "parts_left_out": report.left_out,
        "most_slots_queued_on_permits": max((part.most_queued_with_slot for part in parts), default=0),
        "actions": dict(sorted(fired.items())),
        "invariants": _judged(report),
        "witnesses": {
            witness.name: {
                "for": witness.invariant,
                "seen": "reached"
                if witness.name in reached
                else "missing"
                if witness.name in report.missing
                else "not covered",
            }
            for witness in ALL_WITNESSES
        },
    }


def _judged(report: Report) -> dict[str, dict[str, Any]]:
    """For each invariant what it says, what became of it, and on how many states, calls or ends it was judged."""
    violated = {trace.invariant for trace in report.violations} | {name for name, _ in report.faults}
    cut_short = bool(report.stopped or report.left_alone) or any(part.stopped for part in report.parts)
    judged: Counter[str] = Counter()
    for part in report.parts:
        judged.update(part.judged)
    told = {}
    for name, sentence in ALL_INVARIANTS.items():
        verdict = "holds" if not cut_short else "so far"
        verdict = "violated" if name in violated else verdict if judged[name] else "not judged"
        told[name] = {"sentence": sentence, "verdict": verdict, "judged_on": judged[name]}
    return told


def as_json(report: Report, seconds: float | None) -> dict[str, Any]:
    """One object; ``seconds`` None leaves the timing out, and then the same input gives the same bytes."""
    told: dict[str, Any] = {
        "verdict": report.verdict.value,
        "subject": report.subject,
        "covered": covered(report),
        "violations": [
            *[
                {"scenario": None, "invariant": name, "message": message, "trace": None}
                for name, message in report.faults
            ],
            *[
                {
                    "scenario": f"{trace.scenario}, cap {trace.cap}{', relend' if trace.relend else ''}",
                    "invariant": trace.invariant,
                    "message": trace.message,
                    "trace": {**trace.as_dict(), "location": _location(trace)},
                }
                for trace in report.violations
            ],
        ],
        "undetermined": why_undetermined(report),
        "parts": [_part(part) for part in report.parts],
        "versions": versions(),
    }
    if seconds is not None:
        told["timing"] = {"seconds": round(seconds, 3)}
    return told


def _location(trace: Trace) -> dict[str, Any] | None:
    found = location_of(trace)
    return None if found is None else found._asdict()


def _part(part: PartResult) -> dict[str, Any]:
    return {
        "name": part.name,
        "verdict": part.verdict,
        "states": part.states,
        "edges": part.edges,
        "full_states": part.full_states,
        "full_edges": part.full_edges,
        "depth": part.depth,
        "most_in_flight": part.most_in_flight,
        "most_queued_with_slot": part.most_queued_with_slot,
        "violated": sorted({trace.invariant for trace in part.traces}),
        "diagnoses": part.diagnoses,
        "stopped": part.stopped,
    }


def why_undetermined(report: Report) -> list[str]:
    """All that keeps the verdict from being known, apart from violations."""
    why = [report.stopped] if report.stopped else []
    why += [f"{part.name}: {part.stopped}" for part in report.parts if part.stopped]
    why += [f"never seen, though sure to be there: {name}" for name in report.missing]
    if not report.parts:
        why.append("nothing was checked")
    return why


def as_text(report: Report, seconds: float | None) -> RenderableType:
    """For a terminal or a file; ``seconds`` None leaves the timing out."""
    counts = covered(report)
    blocks: list[RenderableType] = [Text(f"slotcheck check: {report.subject}", style="bold"), ""]
    for name, message in report.faults:
        blocks += [Text.assemble((f"{name} is violated", "bold red"), f": {message}"), ""]
    for trace, others in _by_behaviour(report.violations):
        blocks += [trace_text(trace)]
        if others:
            blocks.append(Text(f"  the same behaviour violates {', '.join(others)}", style="bold"))
        blocks.append("")
    blocks += [_counts(counts, seconds), "", _invariants(report, counts), ""]
    diagnosed = [part for part in report.parts if part.diagnoses]
    if diagnosed:
        table = Table("outside what lending promises", "why nothing goes on", box=None, pad_edge=False)
        for part in diagnosed:
            table.add_row(escape(part.name), "; ".join(part.diagnoses))
        blocks += [table, ""]
    if report.not_covered and not report.left_alone:
        blocks += [Text(f"not covered by these trees, caps and acts: {', '.join(report.not_covered)}", style="dim"), ""]
    if report.left_alone:
        told = f"{report.left_alone:,} parts with more runs than the smallest that fails were left alone (--keep-going)"
        blocks += [Text(told, style="dim"), ""]
    if report.left_out:
        told = f"{report.left_out:,} parts in which runs need permits were left out: these do not stand on this rule"
        blocks += [Text(told, style="dim"), ""]
    for why in _first(why_undetermined(report), 10):
        blocks.append(Text(f"undetermined: {why}", style="yellow"))
    blocks.append(_verdict(report))
    return Group(*blocks)


def _by_behaviour(traces: Sequence[Trace]) -> list[tuple[Trace, list[str]]]:
    """Each behaviour once, with the other invariants that it violates."""
    told: dict[Any, tuple[Trace, list[str]]] = {}
    for trace in traces:
        behaviour = trace.scenario, trace.cap, trace.relend, trace.actions
        if behaviour in told and trace.actions:
            told[behaviour][1].append(trace.invariant)
        else:
            told[(*behaviour, trace.invariant) if behaviour in told else behaviour] = trace, []
    return list(told.values())


def _counts(counts: dict[str, Any], seconds: float | None) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    rows = (
        ("trees", counts["trees"], f"of up to {counts['runs']} runs, caps {', '.join(map(str, counts['caps']))}"),
        ("scenarios", counts["scenarios"], f"{counts['parts']:,} parts with their caps, and relend on or off"),
        ("states", counts["states"], f"every one judged; they stand for {counts['full_states']:,} without symmetry"),
        ("edges", counts["edges"], f"every one judged; they stand for {counts['full_edges']:,}"),
        (
            "calls",
            counts["calls"],
            f"different ones in each forest, from {counts['snapshots']:,} states of the subject",
        ),
        ("live calls", counts["live_calls"], "on pools that lived on, compared with those on restored ones"),
    )
    for name, number, told in rows:
        table.add_row(name, f"{number:,}", told)
    if counts["most_slots_queued_on_permits"]:
        table.add_row(
            "slots queued",
            f"{counts['most_slots_queued_on_permits']:,}",
            "at most at once: runs sat on them in permits' queues",
        )
    histories = counts["histories"]
    if histories is not None:
        told = f"in long random histories, {histories['refused']:,} refused; orders: {', '.join(histories['orders'])}"
        if histories["orders_not_taken"]:
            told += f" (not taken: {', '.join(histories['orders_not_taken'])})"
        table.add_row("more calls", f"{histories['calls']:,}", told)
    if seconds is not None:
        table.add_row("seconds", f"{seconds:.1f}", "")
    return table


def _invariants(report: Report, counts: dict[str, Any]) -> Table:
    witnesses: dict[str, list[str]] = {}
    for name, witness in counts["witnesses"].items():
        witnesses.setdefault(witness["for"], []).append(
            name if witness["seen"] == "reached" else f"{name} ({witness['seen']})"
        )
    table = Table(box=None, pad_edge=False)
    table.add_column("invariant")
    table.add_column("")
    table.add_column("judged on", justify="right")
    table.add_column("seen beside it")
    styles = {"holds": "green", "violated": "bold red", "so far": "yellow", "not judged": "dim"}
    for name, invariant in counts["invariants"].items():
        mark = Text(invariant["verdict"], style=styles[invariant["verdict"]])
        table.add_row(name, mark, f"{invariant['judged_on']:,}", "; ".join(witnesses.get(name, [])))
    return table


def _verdict(report: Report) -> Text:
    style = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNDETERMINED: "bold yellow"}
    told = report.verdict.value
    if report.verdict is Verdict.VIOLATED:
        names = {trace.invariant for trace in report.violations} | {name for name, _ in report.faults}
        told += f" ({', '.join(sorted(names))})"
    return Text.assemble("verdict: ", (told, style[report.verdict]))


def trace_text(trace: Trace) -> RenderableType:
    """A counterexample: what fails and why, the numbered events, the state before and after the last one."""
    return Group(*(Text(line, style=style) for line, style in trace_lines(trace)))


def _first(items: Sequence[str], count: int) -> list[str]:
    if len(items) <= count:
        return list(items)
    return [*items[:count], f"and {len(items) - count:,} more"]
