"""What `slotcheck tlc` found, for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.report import trace_text
from slotcheck.checks.terminal import versions
from slotcheck.checks.tlc.graph import GraphComparison
from slotcheck.checks.tlc.outcome import FAILED
from slotcheck.checks.tlc.suite import ConfigResult, TlcReport
from slotcheck.pymodel.explore import Verdict

__all__ = ["tlc_as_json", "tlc_as_text"]

_STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNDETERMINED: "bold yellow"}


def tlc_as_json(report: TlcReport, seconds: float | None) -> dict[str, Any]:
    """One object; ``seconds`` None leaves the timing out, and then the same input gives the same bytes."""
    parts = report.parts
    told: dict[str, Any] = {
        "verdict": report.verdict.value,
        "covered": _covered(report),
        "violations": [
            {
                "scenario": _scenario(part),
                "config": part.expected.name,
                "invariant": _violated(part),
                "message": "; ".join(part.why),
                "trace": part.trace and part.trace.as_dict(),
            }
            for part in parts
            if part.verdict is Verdict.VIOLATED
        ],
        "undetermined": _undetermined(report),
        "parts": [_part(part) for part in parts],
        "versions": {**versions(), **_tool(report)},
    }
    if seconds is not None:
        running = sum(part.seconds for part in parts)
        told["timing"] = {
            "seconds": round(seconds, 3),
            "running": round(running, 3),
            "starting": round(sum(part.seconds_to_start for part in parts), 3),
            "parts": {part.expected.name: round(part.seconds, 3) for part in parts},
        }
    return told


def _scenario(part: ConfigResult) -> str | None:
    """In which it is violated; of graphs that differ, with its cap and relend."""
    if part.graph is not None and part.graph.scenario is not None:
        return part.graph.scenario
    return None if part.trace is None else part.trace.scenario


def _violated(part: ConfigResult) -> str:
    """What to name as violated: a property, the equality of the graphs, or what the manifest says."""
    if part.graph is not None and not part.graph.equal:
        return "Graphs"
    return part.outcome.told or "Manifest"


def _covered(report: TlcReport) -> dict[str, Any]:
    ran = [part for part in report.parts if part.outcome.result != FAILED]
    graphs = [part.graph for part in report.parts if part.graph is not None]
    return {
        "configs": len(ran),
        "configurations_that_hold": sum(part.expected.property is None for part in ran),
        "configurations_that_must_fail": sum(part.expected.property is not None for part in ran),
        "distinct": sum(part.outcome.distinct for part in ran),
        "generated": sum(part.outcome.generated for part in ran),
        "graphs": len(graphs),
        "graphs_equal": sum(graph.equal for graph in graphs),
        "scenarios_compared": sum(graph.instances for graph in graphs),
        "states_compared": sum(max(graph.states.values()) for graph in graphs),
        "edges_compared": sum(max(graph.edges.values()) for graph in graphs),
    }


def _part(part: ConfigResult) -> dict[str, Any]:
    outcome, expected = part.outcome, part.expected
    return {
        "name": expected.name,
        "verdict": part.verdict.value,
        "module": expected.module,
        "expected": expected.property or "holds",
        "found": outcome.result if outcome.result != "violated" else outcome.told,
        "distinct": outcome.distinct,
        "generated": outcome.generated,
        "depth": outcome.depth,
        "graph": None if part.graph is None else _graph(part.graph),
        "trace": part.trace and part.trace.as_dict(),
        "why": part.why,
    }


def _graph(graph: GraphComparison) -> dict[str, Any]:
    return {
        "equal": graph.equal,
        "scenarios": graph.instances,
        "states": graph.states,
        "edges": graph.edges,
        "scenario": graph.scenario,
        "path": [list(action) for action in graph.path],
        "difference": graph.difference,
    }


def _tool(report: TlcReport) -> dict[str, str]:
    said = {part.outcome.version for part in report.parts if part.outcome.version}
    found = {"tlc": ", ".join(sorted(said)) or "not run"}
    if report.tool is not None:
        found["tlc_from"] = report.tool.source
        if report.tool.sha256:
            found["tlc_sha256"] = report.tool.sha256
    return found


def _undetermined(report: TlcReport) -> list[str]:
    why = [report.stopped] if report.stopped else []
    for part in report.parts:
        if part.verdict is Verdict.UNDETERMINED:
            why.append(f"{part.expected.name}: {'; '.join(part.why)}")
    if not report.parts and not report.stopped:
        why.append("nothing was run")
    return why


def tlc_as_text(report: TlcReport, seconds: float | None) -> RenderableType:
    """A table of the configurations, what differs, and the verdict last."""
    return Group(*_text(report, seconds))


def _text(report: TlcReport, seconds: float | None) -> Iterator[RenderableType]:
    if report.parts:
        table = Table(box=None, pad_edge=False)
        for title in ("configuration", "found", "states", "steps", "depth", "verdict"):
            table.add_column(title, no_wrap=title == "configuration")
        for part in report.parts:
            outcome = part.outcome
            found = {"violated": f"{outcome.told} violated", "failed": "?"}.get(outcome.result, outcome.result)
            must = part.expected.property is not None
            table.add_row(
                part.expected.name,
                found,
                f"{outcome.distinct:,}",
                f"{outcome.generated:,}",
                f"{outcome.depth}",
                part.verdict.value if part.verdict is not Verdict.HOLDS else "fails as it must" if must else "holds",
            )
        yield table
    for part in report.parts:
        if part.graph is not None and part.graph.equal:
            states, edges = part.graph.states, part.graph.edges
            counts = ", ".join(f"{name} {states[name]:,} and {edges[name]:,}" for name in states)
            yield Text(
                f"{part.expected.name}: graphs equal in {part.graph.instances} scenarios, states and edges: {counts}"
            )
    for part in report.parts:
        if part.verdict is not Verdict.HOLDS:
            yield Text(f"\n{part.expected.name} {part.verdict.value}: {'; '.join(part.why)}")
            if part.trace is not None and part.verdict is Verdict.VIOLATED:
                yield trace_text(part.trace)
    if report.stopped:
        yield Text(report.stopped)
    covered = _covered(report)
    took = ""
    if seconds is not None and report.parts:
        running = sum(part.seconds for part in report.parts)
        starting = sum(part.seconds_to_start for part in report.parts)
        took = f" in {seconds:.1f} s ({starting / running if running else 0:.0%} of TLC's time until its first state)"
    told = [_counted(covered["configs"], "configuration"), _counted(covered["distinct"], "state")]
    if covered["graphs"]:
        told.append(f"{covered['graphs_equal']} of {_counted(covered['graphs'], 'graph')} equal")
    yield Text(f"\nchecked: {', '.join(told) if covered['configs'] else 'nothing'}{took}")
    yield Text(f"verdict: {report.verdict.value}", style=_STYLES[report.verdict])


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"
