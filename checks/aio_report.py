"""The report of the check of an asyncio port, for people (text) and for programs (JSON)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from slotcheck.checks.aio_check import AioTrace
from slotcheck.checks.aio_programs import FORMS
from slotcheck.checks.aio_suite import AioReport, covered
from slotcheck.checks.aio_trees import TreeResult
from slotcheck.checks.aio_watch import PORT_INVARIANTS, PORT_WITNESSES
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.terminal import versions
from slotcheck.pymodel.explore import Verdict

__all__ = ["aio_as_json", "aio_as_text", "aio_trace_text", "why_undetermined"]

_STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNDETERMINED: "bold yellow"}


def why_undetermined(report: AioReport) -> list[str]:
    """All that keeps the verdict from being known, apart from violations."""
    why = [report.stopped] if report.stopped else []
    why += [f"never seen, though sure to be there: {name}" for name in report.missing]
    if not report.results:
        why.append("nothing was checked")
    return why


def aio_as_json(report: AioReport, seconds: float | None) -> dict[str, Any]:
    """One object; ``seconds`` None leaves the timing out, and then the same input gives the same bytes."""
    told: dict[str, Any] = {
        "verdict": report.verdict.value,
        "subject": report.subject,
        "covered": covered(report),
        "violations": [
            *[{"scenario": None, "invariant": "Peaks", "message": fault, "trace": None} for fault in report.faults],
            *[
                {
                    "scenario": _where(trace),
                    "invariant": trace.invariant,
                    "message": trace.message,
                    "trace": trace.as_dict(),
                }
                for trace in report.violations
            ],
        ],
        "undetermined": why_undetermined(report),
        "parts": [
            {
                "name": result.program.told,
                "form": result.program.form,
                "verdict": (Verdict.VIOLATED if result.traces else Verdict.HOLDS).value,
                "steps": result.steps,
                "callbacks": result.callbacks,
                "cancellations": result.cancels,
                "pairs": result.pairs,
                "resizes": result.resizes,
                "most_in_flight": result.most_in_flight,
                "violated": sorted({trace.invariant for trace in result.traces}),
            }
            for result in report.results
        ],
        "trees": [_tree(tree) for tree in report.trees],
        "versions": versions(),
    }
    if report.growth is not None:
        told["growth"] = report.growth._asdict()
    if seconds is not None:
        told["timing"] = {"seconds": round(seconds, 3)}
    return told


def _tree(result: TreeResult) -> dict[str, Any]:
    tree = result.tree
    return {
        "name": tree.name,
        "tasks": result.tasks,
        "executing": result.executing,
        "in_flight": result.in_flight,
        "bodies_in_flight": result.bodies,
        "leaves": result.leaves,
        "tasks_at_once": result.at_once,
        "tasks_at_once_by_start": result.at_once_by_start,
        "post": {"executing": tree.executing, "in_flight": tree.in_flight, "leaves": tree.leaves},
        "exact_maximum_in_flight": result.most,
        "bound": tree.bound,
        "verdict": (Verdict.VIOLATED if result.faults else Verdict.HOLDS).value,
    }


def aio_as_text(report: AioReport, seconds: float | None) -> RenderableType:
    """For a terminal or a file; ``seconds`` None leaves the timing out."""
    blocks: list[RenderableType] = [Text(f"slotcheck asyncio: {report.subject}", style="bold"), ""]
    for fault in report.faults:
        blocks += [Text(f"Peaks is violated: {fault}", style="bold red"), ""]
    for trace in report.violations:
        blocks += [aio_trace_text(trace), ""]
    blocks += [_counts(report, seconds), "", _forms(report), "", _invariants(report), ""]
    if report.trees:
        blocks += [_trees(report.trees), ""]
    if report.growth is not None:
        growth = report.growth
        kib = "" if growth.kib is None else f", the process {growth.kib:,} KiB"
        told = (
            f"{growth.tasks:,} tasks through one pool, {growth.at_once:,} at once: {growth.blocks:,} blocks of memory"
        )
        blocks += [Text(f"{told} more than before{kib}"), ""]
    if report.left_alone:
        told = f"{report.left_alone:,} programs with more runs than the smallest that fails were left alone"
        blocks += [Text(f"{told} (--keep-going)", style="dim"), ""]
    blocks += [Text(f"undetermined: {why}", style="yellow") for why in why_undetermined(report)]
    blocks.append(_verdict(report))
    return Group(*blocks)


def aio_trace_text(trace: AioTrace) -> Group:
    """A counterexample: the program, what was done to it, the numbered events, and what is wrong."""
    blocks: list[RenderableType] = [
        Text.assemble((f"{trace.invariant} is violated", "bold red"), f" by {trace.subject} in {_where(trace)}"),
        Text(f"  {_sentence(trace.invariant)}", style="dim"),
        Text(f"  {trace.message}"),
        Text(f"  {trace.form}: {FORMS[trace.form].told}", style="dim"),
    ]
    width = len(str(len(trace.events)))
    blocks += [Text(f"  {number:>{width}}. {event}") for number, event in enumerate(trace.events, 1)]
    return Group(*blocks)


def _where(trace: AioTrace) -> str:
    done = f"; {', then '.join(trace.acts)}" if trace.acts else ""
    return f"{trace.scenario}, cap {trace.cap}{', relend' if trace.relend else ''}{done}"


def _sentence(invariant: str) -> str:
    return PORT_INVARIANTS.get(invariant) or ALL_INVARIANTS[invariant]


def _counts(report: AioReport, seconds: float | None) -> Table:
    counts, settings = covered(report), report.settings
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    rows = (
        ("programs", f"all forests of up to {settings.runs} runs in {len(settings.forms)} forms, every cap"),
        ("executions", "each program alone, and with each of these:"),
        ("cancellations", "every task before every callback"),
        ("pairs", f"of those, for up to {settings.pairs_runs} runs"),
        ("resizes", "before every callback"),
        ("callbacks", "judged after each: the bodies, and the core where it changed"),
        ("states", "of the core"),
    )
    for name, told in rows:
        table.add_row(name, f"{counts[name]:,}", told)
    if seconds is not None:
        table.add_row("seconds", f"{seconds:.1f}", "")
    return table


def _forms(report: AioReport) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("form")
    table.add_column("programs", justify="right")
    table.add_column("callbacks", justify="right")
    table.add_column("")
    programs: Counter[str] = Counter()
    callbacks: Counter[str] = Counter()
    for result in report.results:
        programs[result.program.form] += 1
        callbacks[result.program.form] += result.callbacks
    for name in report.settings.forms:
        table.add_row(name, f"{programs[name]:,}", f"{callbacks[name]:,}", FORMS[name].told)
    return table


def _invariants(report: AioReport) -> Table:
    violated = {trace.invariant for trace in report.violations}
    complete = not (report.stopped or report.left_alone)
    table = Table("invariant", "", "", box=None, pad_edge=False)
    for name, told in covered(report)["invariants"].items():
        if name in violated:
            mark = Text("violated", style="bold red")
        else:
            mark = Text("holds", style="green") if complete else Text("so far", style="yellow")
        table.add_row(name, mark, escape(told))
    seen = {name for result in report.results for name in result.witnessed}
    for name in PORT_WITNESSES:
        mark = Text("seen", style="green") if name in seen else Text("not seen", style="dim")
        table.add_row("", mark, escape(name))
    return table


def _trees(results: list[TreeResult]) -> Table:
    table = Table(
        title="peaks on a real loop, beside those of the post", title_justify="left", box=None, pad_edge=False
    )
    heads = ("cap, depth, fan-out", "tasks", "executing", "in flight", "leaves at once", "most in flight", "bound")
    for head in (*heads, "tasks at once", "by start"):
        table.add_column(head, justify="left" if head == heads[0] else "right")
    for one in results:
        tree = one.tree
        table.add_row(
            f"{tree.cap}, {tree.depth}, {tree.fan_out}",
            f"{one.tasks:,}",
            _beside(one.executing, tree.executing),
            _beside(one.in_flight, tree.in_flight),
            _beside(one.leaves, tree.leaves),
            str(one.most),
            str(tree.bound),
            f"{one.at_once:,}",
            f"{one.at_once_by_start:,}",
        )
    return table


def _beside(seen: int, post: int) -> Text:
    return Text(f"{seen} = {post}" if seen == post else f"{seen}, not {post}", style="" if seen == post else "bold red")


def _verdict(report: AioReport) -> Text:
    told = report.verdict.value
    if report.verdict is Verdict.VIOLATED:
        names = {trace.invariant for trace in report.violations} | ({"Peaks"} if report.faults else set())
        told += f" ({', '.join(sorted(names))})"
    return Text.assemble("verdict: ", (told, _STYLES[report.verdict]))
