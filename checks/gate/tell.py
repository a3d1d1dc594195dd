"""A gate's report as a table in the terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from slotcheck.checks.gate.findings import Finding, findings
from slotcheck.checks.gate.piece import PieceResult, Source
from slotcheck.checks.gate.report import GateReport, verdict_line
from slotcheck.pymodel.result import Verdict

__all__ = ["MARKDOWN_LIMIT", "gate_as_markdown", "gate_as_text", "headline"]

#: Bytes that a step summary of a GitHub workflow may have, with some to spare.
MARKDOWN_LIMIT = 1_000_000

_STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNDETERMINED: "bold yellow"}
_MOST_FINDINGS = 20  # told in full; the others are in the artefacts
_MOST_EVENTS = 60

#: The counts that say most about a piece, by the name that they have in its report, and what to call them.
_TOLD = {
    "states": "states",
    "edges": "edges",
    "parts": "parts",
    "caught": "mutants caught",
    "killed": "mutations killed",
    "configs": "configurations",
    "graphs_equal": "graphs equal",
    "edges_compared": "edges compared",
    "obligations": "obligations",
    "code.edges": "edges compared",
    "executions": "executions",
    "messages": "answers compared",
}


def headline(result: PieceResult) -> str:
    """What a piece covered, in the few counts that say most."""
    facts = result.facts
    return ", ".join(f"{facts[name]:,} {words}" for name, words in _TOLD.items() if name in facts)


def gate_as_text(report: GateReport, seconds: float | None) -> RenderableType:
    """For a terminal or a file."""
    table = Table(box=None, pad_edge=False)
    for name in ("piece", "verdict", "covered", "s", "from"):
        table.add_column(name, justify="right" if name == "s" else "left", overflow="fold")
    for result in report.results:
        told = Text(result.source.value, style="dim")
        if result.verdict is not None:
            told = Text(result.verdict.value, style=_STYLES[result.verdict])
        took = f"{result.seconds:.1f}" if result.judged and seconds is not None else ""
        source = "cache" if result.source is Source.CACHE else ""
        table.add_row(_text(result.piece.name), told, headline(result), took, source)
    blocks: list[RenderableType] = [_text(f"slotcheck gate: {report.subject}", style="bold"), "", table, ""]
    for finding in findings(report.judged, report.folder, report.changed):
        blocks += [_finding(finding), ""]
    for one in report.pinned:
        blocks.append(_text(f"not what is pinned: {one.told}", style="bold red"))
    for one in report.changes:
        blocks.append(_text(f"changed since the base: {one.told}"))
    for why in report.why_undetermined:
        blocks.append(_text(f"undetermined: {why}", style="yellow"))
    if seconds is not None:
        memory = max((result.memory for result in report.of(Source.RUN)), default=0)
        most = f", at most {memory / 2**20:,.0f} MiB in one process" if memory else ""
        blocks.append(Text(f"{seconds:.1f} s{most}", style="dim"))
    blocks.append(Text.assemble("verdict: ", (_visible(verdict_line(report)), _STYLES[report.verdict])))
    return Group(*blocks)


def _finding(finding: Finding) -> RenderableType:
    lines = [_text(message) for message in finding.messages]
    lines += [_text(event, style="dim") for event in _numbered(finding.events)]
    if finding.place is not None:
        lines.append(_text(f"at {finding.place.told}"))
    title = _text(f"{finding.piece}: {finding.title}", style="bold red")
    return Group(title, *(Padding(line, (0, 0, 0, 2), expand=False) for line in lines))


def _numbered(events: Sequence[str]) -> list[str]:
    width = len(str(len(events)))
    return [f"{number:>{width}}. {event}" for number, event in enumerate(events, 1)]


# -- Markdown ----------------------------------------------------------------------------------------------------


def gate_as_markdown(report: GateReport, seconds: float | None, *, limit: int = MARKDOWN_LIMIT) -> str:
    """For the summary of a workflow's step, of at most so many bytes: what does not fit is counted."""
    told = ""
    for block in _markdown(report, seconds):
        if len((told + block).encode()) > limit - 200:
            return told + "\n*The rest does not fit here; it is in the report's other forms.*\n"
        told += block
    return told


def _markdown(report: GateReport, seconds: float | None) -> Iterator[str]:
    sign = {Verdict.HOLDS: "✅", Verdict.VIOLATED: "❌", Verdict.UNDETERMINED: "⚠️"}
    yield f"## {sign[report.verdict]} slotcheck gate: {_plain(verdict_line(report))}\n\n"
    yield f"Subject: {_code(report.subject)}\n\n"
    yield "| piece | verdict | covered | seconds |\n|---|---|---|---:|\n"
    for result in report.results:
        verdict = f"{sign[result.verdict]} {result.verdict.value}" if result.verdict else f"- {result.source.value}"
        source = " (cache)" if result.source is Source.CACHE else ""
        took = f"{result.seconds:.1f}" if result.judged and seconds is not None else ""
        yield f"| {_plain(result.piece.name)} | {verdict}{source} | {_plain(headline(result))} | {took} |\n"
    yield "\n"
    found = list(findings(report.judged, report.folder, report.changed))
    for finding in found[:_MOST_FINDINGS]:
        yield f"### {_plain(finding.title)} ({_plain(finding.piece)})\n\n"
        yield "".join(f"- {_plain(message)}\n" for message in finding.messages or ["no more is known"]) + "\n"
        if finding.events:
            shown = _numbered(finding.events)
            more = len(shown) - _MOST_EVENTS
            yield _fenced([*shown[:_MOST_EVENTS], *([f"... and {more:,} more"] * (more > 0))])
        if finding.place is not None:
            yield f"At {_code(finding.place.told)}.\n\n"
    if len(found) > _MOST_FINDINGS:
        yield f"And {len(found) - _MOST_FINDINGS:,} more.\n\n"
    for title, lines in (
        ("Not what is pinned", [one.told for one in report.pinned]),
        ("Changed since the base", [one.told for one in report.changes]),
        ("Undetermined", report.why_undetermined),
    ):
        if lines:
            yield f"### {title}\n\n"
            yield from (f"- {_plain(line)}\n" for line in lines)
            yield "\n"


def _text(told: str, style: str = "") -> Text:
    return Text(_visible(told), style=style)


def _visible(text: str) -> str:
    """Without what a terminal obeys or no file can hold: control characters and halves of characters."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _fenced(lines: Iterable[str]) -> str:
    """Lines as they are, in a fence that none of them can end."""
    text = "\n".join(_visible(line.replace("\n", " ")) for line in lines)
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}\n\n"


def _code(text: str) -> str:
    return f"<code>{_plain(text)}</code>"


def _plain(text: str) -> str:
    """Text that Markdown, HTML and tables leave as it is."""
    one_line = _visible(" ".join(text.split()))
    for sign, safe in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("|", "&#124;"),
        ("*", "&#42;"),
        ("`", "&#96;"),
        ("[", "&#91;"),
        ("_", "&#95;"),
    ):
        one_line = one_line.replace(sign, safe)
    return one_line
