"""Races as a picture: one rule above another on one time axis, as a self-contained SVG.

Each file has a row: dotted while it waits, a box while it is in flight; in it what it does and what its chunks do, each
as a block. Stripes are a slot that is held by a run which does nothing. It needs no colour and follows the reader's
light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from slotcheck.checks.drawing import STYLE
from slotcheck.checks.lettering import safe, short
from slotcheck.checks.race import WALK, Life, Race, Span

__all__ = ["race_drawing"]

_MARGIN = 16
_LEFT = 62  # of the names
_TICK = 42
_LANE = 18  # of one block
_PAD = 3  # between a row's box and its blocks
_BETWEEN = 5  # rows
_AFTER = 1  # ticks that are drawn beyond the last event

_MORE_STYLE = """
.slots .title{font-size:14px;font-weight:600}
.slots .tick,.slots .dots{stroke:var(--line);stroke-width:1}
.slots .tick{stroke-opacity:.35}
.slots .dots{stroke-width:2;stroke-dasharray:2 4}
.slots .life{fill:none;stroke:var(--ink);stroke-width:1.5}
.slots .reads{fill:var(--slot)}
.slots .chunk{fill:var(--paper);stroke:var(--slot);stroke-width:2}
.slots .stripes{stroke:var(--slot);stroke-width:2}
.slots .inverse{fill:var(--paper);font-size:12px;font-weight:600}
.slots .block{font-size:12px}
.slots .most{font-weight:700}
""".strip()


class _Sheet:
    """What has been drawn so far, from the top down, and where time is."""

    def __init__(self, until: int) -> None:
        self.until = until
        self.lines: list[str] = []
        self.y = 0

    def x(self, tick: int | None) -> int:
        """Where a tick is; for ever is the right edge."""
        return _LEFT + _TICK * (self.until if tick is None else min(tick, self.until))

    def text(self, kind: str, x: float, y: float, told: object, anchor: str = "start") -> None:
        self.lines.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{safe(told)}</text>')


def race_drawing(races: Sequence[Race]) -> str:
    """The races as SVG, all on one time axis."""
    sheet = _Sheet(max((race.last for race in races), default=0) + _AFTER)
    for race in races:
        _panel(sheet, race)
    _axis(sheet)
    _key(sheet)
    width, height = sheet.x(None) + 2 * _MARGIN, sheet.y + 2 * _MARGIN
    title = "The same walk over files under several rules, on one time axis"
    told = " ".join(f"{race.rule}: {race}, cap {race.cap}." for race in races)
    key = sha256(told.encode()).hexdigest()[:8]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="slots" role="img" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" aria-labelledby="t{key} d{key}">',
            f'<title id="t{key}">{safe(title)}</title>',
            f'<desc id="d{key}">{safe(told, 2_000)}</desc>',
            f"<style>\n{STYLE}\n{_MORE_STYLE}\n</style>",
            f'<g transform="translate({_MARGIN} {_MARGIN})">',
            *sheet.lines,
            "</g>",
            "</svg>\n",
        ]
    )


def _panel(sheet: _Sheet, race: Race) -> None:
    """One rule: what it comes to, a row for the walk and for each file, and how many files are in flight."""
    sheet.text("title", 0, sheet.y + 14, f"{race.rule}: {race}")
    sheet.y += 26
    top = sheet.y
    ground = len(sheet.lines)
    by_parent: dict[str | None, list[Life]] = {}
    for life in race.lives:
        by_parent.setdefault(life.parent, []).append(life)
    for life in (*by_parent[None], *by_parent.get(WALK, ())):
        _row(sheet, life, by_parent.get(life.run, []) if life.run != WALK else [])
    sheet.text("word", 0, sheet.y + 13, "in flight")
    for tick in range(sheet.until):
        count = race.in_flight.at(tick)
        kind = "block most" if count == race.peak else "block"
        sheet.text(kind, sheet.x(tick) + _TICK / 2, sheet.y + 13, count, "middle")
    sheet.y += 18
    ticks = "".join(f"M{sheet.x(tick)} {top}V{sheet.y}" for tick in range(sheet.until + 1))
    sheet.lines.insert(ground, f'<path class="tick" d="{ticks}"/>')
    sheet.y += 22


def _row(sheet: _Sheet, life: Life, chunks: Sequence[Life]) -> None:
    """One run: it waits, is in flight, works, and so do its chunks below one another where they do at once."""
    blocks = [] if life.works is None else [(life.works, "reads", "read")]
    blocks += [(chunk.works, "chunk", f"chunk {chunk.run.rpartition('.')[2]}") for chunk in chunks if chunk.works]
    lanes: list[int | None] = []  # when each is free again
    placed = []
    for span, kind, told in blocks:
        lane = next((at for at, free in enumerate(lanes) if free is not None and free <= span.start), len(lanes))
        lanes[lane : lane + 1] = [span.end]
        placed.append((lane, span, kind, told))
    height = max(len(lanes), 1) * _LANE + 2 * _PAD
    top, middle = sheet.y, sheet.y + height / 2
    sheet.text("name", 0, middle + 5, short(life.run if life.run == WALK else f"file {life.run}", 8))
    waits_until = life.admitted
    if waits_until is None or waits_until > life.asked:
        sheet.lines.append(f'<path class="dots" d="M{sheet.x(life.asked) + 2} {middle:g}H{sheet.x(waits_until) - 2}"/>')
    if life.admitted is not None:
        left = sheet.x(life.admitted) + 1
        right = sheet.x(life.ended) - 1
        open_ended = life.ended is None  # the box has no right side: it goes on
        box = f"M{right} {top}H{left}V{top + height}H{right}" + ("" if open_ended else "Z")
        sheet.lines.append(f'<path class="life" d="{box}"/>')
    sheet.lines += _stripes(sheet, life.idle, top + _PAD, height - 2 * _PAD)
    for lane, span, kind, told in placed:
        left, right = sheet.x(span.start) + 1 + _PAD, sheet.x(span.end) - 1 - _PAD
        y = top + _PAD + lane * _LANE
        sheet.lines.append(
            f'<rect class="{kind}" x="{left}" y="{y + 1}" width="{right - left}" height="{_LANE - 2}" rx="3"/>'
        )
        sheet.text("inverse" if kind == "reads" else "block", (left + right) / 2, y + 13, told, "middle")
    sheet.y += height + _BETWEEN


def _stripes(sheet: _Sheet, spans: Iterable[Span], top: int, height: int) -> Iterable[str]:
    for span in spans:
        left, right = sheet.x(span.start) + 5, sheet.x(span.end) - 3
        lines = "".join(f"M{x} {top}v{height}" for x in range(left, right, 6))
        yield f'<path class="stripes" d="{lines}"/>'


def _axis(sheet: _Sheet) -> None:
    sheet.y -= 6
    for tick in range(sheet.until):
        sheet.text("word", sheet.x(tick), sheet.y + 8, tick, "middle")
    sheet.text("word", 0, sheet.y + 8, "t")
    sheet.y += 26


def _key(sheet: _Sheet) -> None:
    """What the signs mean."""
    signs = (
        ('<path class="dots" d="M0 7h26"/>', "waits for a slot"),
        ('<path class="life" d="M0 0h26v14H0z"/>', "in flight"),
        ('<rect class="reads" x="0" y="0" width="26" height="14" rx="3"/>', "reads, with a slot"),
        ('<rect class="chunk" x="1" y="0" width="24" height="14" rx="3"/>', "a chunk at work, with a slot"),
        (f'<path class="stripes" d="{"".join(f"M{x} 0v14" for x in range(2, 26, 6))}"/>', "holds a slot, does nothing"),
    )
    x = 0
    for sign, told in signs:
        wide = 34 + 7 * len(told) + 14
        if x and x + wide > sheet.x(None) + _MARGIN:
            x = 0
            sheet.y += 22
        sheet.lines.append(f'<g transform="translate({x} {sheet.y})">{sign}</g>')
        sheet.text("word", x + 34, sheet.y + 12, told)
        x += wide
    sheet.y += 16
