"""One view of a pool as a picture: a self-contained SVG, and the same in words.

The forest; a slot as a disc on the run that holds it, hollow once lent; loans as arrows from lender to borrower; runs
that wait, are parked, have ended or have not asked told apart by their outline and a word; the pool with its free slots
and its queue; counts against their bounds. It needs no colour, follows the reader's light or dark scheme, loads
nothing, and gives the same bytes for the same view. Faulty views are drawn as they are: no view makes it fail.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from itertools import pairwise

from slotcheck.checks.facts import Facts
from slotcheck.checks.layout import Spot, forest_of, placed
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.scenario import RunSpec

__all__ = ["drawing", "in_words"]

_HEIGHT = 48  # of a run's box
_ROW = 92  # from one level to the next, where levels are rows
_LINE = 62  # from one run to the next, where levels are columns
_GAP = 16  # between boxes side by side
_EDGE = 44  # between levels side by side
_MARGIN = 16
_WIDEST = 720  # beyond this the tree is turned on its side, if that is narrower
_NAME, _WORD = 9.6, 7.0  # the width of a character of 14 and of 12 pixels, rather too much
_LONGEST = 22  # characters of a name in its box
_LONGEST_WORD = "pool slot, lent"

_STYLE = """
.slots{--ink:#1b1f24;--soft:#57606a;--line:#6e7781;--slot:#a04100;--loan:#3f4fc9;color-scheme:light dark}
@media (prefers-color-scheme:dark){.slots{--ink:#e6edf3;--soft:#a5afba;--line:#8b949e;--slot:#ffa657;--loan:#a5b4ff}}
.slots text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--ink)}
.slots .name{font-size:14px;font-weight:600}
.slots .word,.slots .note{font-size:12px;fill:var(--soft)}
.slots .count{font-size:14px}
.slots .over{font-weight:700;fill:var(--ink)}
.slots .box{fill:none;stroke:var(--line);stroke-width:1.5}
.slots .in-flight .box{stroke:var(--ink);stroke-width:2}
.slots .waiting .box{stroke-dasharray:7 4}
.slots .not-asked .box{stroke-dasharray:1 5;stroke-linecap:round}
.slots .not-asked .name,.slots .ended .name{fill:var(--soft);font-weight:400}
.slots .strange .box{stroke-width:3;stroke-dasharray:12 3 2 3}
.slots .edge{fill:none;stroke:var(--line);stroke-width:1.25}
.slots .loan{fill:none;stroke:var(--loan);stroke-width:3.5}
.slots .tip{fill:var(--loan)}
.slots .disc{fill:var(--slot);stroke:var(--slot);stroke-width:3}
.slots .hollow{fill:none}
.slots .out{fill:none;stroke:var(--line);stroke-width:1.5;stroke-dasharray:2 3}
.slots .bar{fill:none;stroke:var(--line)}
.slots .full{fill:var(--slot)}
""".strip()


@dataclass(frozen=True, slots=True)
class _Seen:
    """One run of the picture."""

    name: str
    #: As the pool knows it; None if it does not.
    run: Run | None
    #: Why it does not, where it does not: "ended" or "not asked".
    unknown: str
    #: Its place in the pool's queue, from 1; 0 if it is not there.
    place: int

    @property
    def kind(self) -> str:
        """The class of its outline."""
        phase = self.unknown if self.run is None else str(self.run.phase)
        return {
            "in_flight": "in-flight", "retaking": "waiting", "waiting": "waiting", "parked": "parked",
            "ended": "ended", "not asked": "not-asked",
        }.get(phase, "strange")  # fmt: skip

    @property
    def has_slot(self) -> bool:
        return self.run is not None and self.run.token != "none"

    @property
    def word(self) -> str:
        """What stands below its name."""
        run = self.run
        if run is None:
            return self.unknown
        if run.phase == "waiting":
            return f"waiting, {_nth(self.place)}" if self.place else "waiting"
        if run.phase == "retaking":
            return "waiting again"
        if run.phase != "in_flight":
            return _short(run.phase, 14)
        slot = {"pool": "pool slot", "loan": "on loan", "none": "no slot"}.get(run.token, _short(run.token, 8))
        return f"{slot}, lent" if run.lent else slot

    def told(self, borrowers: Sequence[str], lender: str | None) -> str:
        """A sentence about it."""
        run, name = self.run, _clean(self.name)
        if run is None:
            return f"{name}: {'has ended' if self.unknown == 'ended' else 'has not asked'}."
        if run.phase == "waiting":
            return f"{name}: waiting" + (f", {_nth(self.place)} in the queue." if self.place else ".")
        phase = {"in_flight": "in flight", "retaking": "waiting for a slot again"}.get(run.phase, _clean(run.phase))
        if run.token == "none":
            return f"{name}: {phase}, without a slot."
        slot = {"pool": "a pool slot", "loan": f"the slot of {lender or 'nobody'} on loan"}
        held = f"{name}: {phase}, with {slot.get(run.token, _clean(run.token))}"
        return held + (f", lent to {' and '.join(map(_clean, borrowers)) or 'nobody'}." if run.lent else ".")


class _Picture:
    """What is to be drawn, read off a view."""

    def __init__(self, view: State, forest: Sequence[RunSpec], ended: Collection[str]) -> None:
        self.view = view
        self.facts = Facts(view)
        self.cap, self.taken = _whole(view.cap), _whole(view.taken)
        self.free = max(self.cap - self.taken, 0)
        queue = {run: place for place, run in reversed(list(enumerate(view.waiting, start=1)))}
        parents: dict[str, str | None] = {spec.name: spec.parent for spec in forest}
        known = {run.run: run for run in sorted(view.runs, key=repr)}  # the last one, if a faulty view has two
        for name, run in known.items():
            parents.setdefault(name, run.parent)
        self.runs = [
            _Seen(name, known.get(name), "ended" if name in ended else "not asked", queue.get(name, 0))
            for name in parents
        ]
        self.roots, self.children = forest_of(parents)
        self.levels = max(
            [spot.level + 1 for spot in placed(self.roots, self.children).values()]
            + [_whole(run.level) for run in known.values()],
            default=1,
        )
        #: Who has whose slot, borrower by lender: as the loans say, or where slots are workers, the stacks.
        stacks = getattr(view, "stacks", None)
        if stacks is None:
            self.loans = [(run.parent, run.run) for run in known.values() if run.token == "loan"]
        else:
            self.loans = [loan for stack in stacks for loan in pairwise(stack)]

    def counts(self) -> list[tuple[str, int, int, str]]:
        """Each count: of what, how many, the bound, and the bound in words."""
        cap = self.cap
        levels = f"{self.levels} level{'s' * (self.levels != 1)}"
        return [
            ("executing", len(self.facts.unlent), cap, f"cap {cap}"),
            ("in flight", len(self.facts.in_flight), cap * self.levels, f"{cap * self.levels} = cap {cap} x {levels}"),
        ]


def drawing(
    view: State, forest: Sequence[RunSpec] = (), *, ended: Collection[str] = (), title: str = "A pool of slots"
) -> str:
    """One view of a pool as SVG.

    Args:
        view: what `slotcheck.checks.subject.view` gives for any snapshot (one of the stacks of workers may be passed
            as it is).
        forest: the runs of the scenario. It fixes where runs stand, whatever becomes of them; runs that it does not
            name stand where the pool has them.
        ended: those runs of the forest that have ended. The others that the pool does not know have not asked.
        title: what the picture shows, for screen readers and as a tooltip.
    """
    picture = _Picture(view, forest, ended)
    boxes, edges, (width, height) = _tree(picture)
    lines, pool_height = _pool(picture, max(width, 420))
    width, height = max(width, 420) + 2 * _MARGIN, height + pool_height + 2 * _MARGIN
    told = in_words(view, forest, ended=ended)
    key = sha256(f"{title}\n{told}".encode(errors="replace")).hexdigest()[:8]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="slots" role="img" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" aria-labelledby="t{key} d{key}">',
            f'<title id="t{key}">{_text(title)}</title>',
            f'<desc id="d{key}">{_text(told, 100_000)}</desc>',
            f"<style>\n{_STYLE}\n</style>",
            f'<g transform="translate({_MARGIN} {_MARGIN})">',
            *lines,
            f'<g transform="translate(0 {pool_height})">',
            *edges,
            *boxes,
            "</g>",
            "</g>",
            "</svg>\n",
        ]
    )


def in_words(view: State, forest: Sequence[RunSpec] = (), *, ended: Collection[str] = ()) -> str:
    """What `drawing` shows, as sentences."""
    picture = _Picture(view, forest, ended)
    borrowers: dict[str, list[str]] = {}
    lenders: dict[str, str] = {}
    for lender, borrower in picture.loans:
        if lender is not None:
            borrowers.setdefault(lender, []).append(borrower)
            lenders[borrower] = _clean(lender)
    told = [f"{picture.taken} of {picture.cap} slots taken, {picture.free} free."]
    told += [f"{what}: {count}, bound {bound}." for what, count, _, bound in picture.counts()]
    told += [seen.told(borrowers.get(seen.name, ()), lenders.get(seen.name)) for seen in picture.runs]
    told.append(f"Queue: {', '.join(map(_clean, view.waiting)) or 'empty'}.")
    return " ".join(told)


# -- the forest --------------------------------------------------------------------------------------------------


def _tree(picture: _Picture) -> tuple[list[str], list[str], tuple[int, int]]:
    """The boxes, the edges, and the size of both."""
    # Nothing here depends on what runs do, so from one view of a forest to the next every run stays where it is.
    widest = max((_width(_short(seen.name)) * _NAME for seen in picture.runs), default=0)
    box = round(max(widest, _width(_LONGEST_WORD) * _WORD)) + 40
    spots = placed(picture.roots, picture.children, apart=0.15)
    columns = max((spot.along for spot in spots.values()), default=-1.0) + 1
    levels = max((spot.level for spot in spots.values()), default=-1) + 1
    down = columns * (box + _GAP)
    across = levels * (box + _EDGE)
    upright = down <= max(_WIDEST, across)
    if not upright:
        spots = placed(picture.roots, picture.children, centred=False, apart=0.15)

    def corner(spot: Spot) -> tuple[int, int]:
        if upright:
            return round(spot.along * (box + _GAP)), spot.level * _ROW
        return spot.level * (box + _EDGE), round(spot.along * _LINE)

    corners = {run: corner(spot) for run, spot in spots.items()}
    boxes = [_box(seen, *corners[seen.name], box) for seen in picture.runs]
    lent = [(lender, borrower) for lender, borrower in picture.loans if borrower in corners]
    plain = [(run, child) for run, below in picture.children.items() for child in below if (run, child) not in lent]
    edges = [f'<path class="edge" d="{_way(corners[run], corners[child], box, upright)}"/>' for run, child in plain]
    for lender, borrower in lent:
        x, y = corners[borrower]
        start = None if lender is None else corners.get(lender)
        way = _way(start, (x, y), box, upright, short=6)  # the tip goes on from there
        tip = f"{x + box // 2 - 6},{y - 12} {x + box // 2 + 6},{y - 12} {x + box // 2},{y - 1}"
        if not upright:
            middle = y + _HEIGHT // 2
            tip = f"{x - 12},{middle - 6} {x - 12},{middle + 6} {x - 1},{middle}"
        edges.append(f'<path class="loan" d="{way}"/><polygon class="tip" points="{tip}"/>')
    if upright:
        size = round(columns * (box + _GAP)) - _GAP, levels * _ROW - (_ROW - _HEIGHT)
    else:
        size = across - _EDGE, round(columns * _LINE) - (_LINE - _HEIGHT)
    return boxes, edges, (max(size[0], 0), max(size[1], 0))


def _way(start: tuple[int, int] | None, end: tuple[int, int], box: int, upright: bool, short: int = 0) -> str:
    """From the foot of one box to the head of another, or from its right to its left; from nowhere it is a stub."""
    half = _HEIGHT // 2
    x, y = (end[0] + box // 2, end[1] - short) if upright else (end[0] - short, end[1] + half)
    if start is None:
        return f"M{x} {y - 20}V{y}" if upright else f"M{x - 24} {y}H{x}"
    if upright:
        from_x, from_y = start[0] + box // 2, start[1] + _HEIGHT
        turn = from_y + (_ROW - _HEIGHT) // 2 - 4
        return f"M{from_x} {from_y}V{turn}H{x}V{y}" if from_x != x else f"M{x} {from_y}V{y}"
    from_x, from_y = start[0] + box, start[1] + half
    turn = from_x + _EDGE // 2 - 4
    return f"M{from_x} {from_y}H{turn}V{y}H{x}" if from_y != y else f"M{from_x} {y}H{x}"


def _box(seen: _Seen, x: int, y: int, width: int) -> str:
    """One run: its outline, its slot if it has one, its name and a word."""
    right, foot = x + width, y + _HEIGHT
    kind = seen.kind
    if kind == "parked":  # corners cut off
        outline = (
            f'<path class="box" d="M{x + 12} {y}H{right - 12}L{right} {y + 12}V{foot - 12}L{right - 12} {foot}H{x + 12}'
            f'L{x} {foot - 12}V{y + 12}Z"/>'
        )
    elif kind == "ended":  # what is left is a line
        outline = f'<path class="box" d="M{x + 8} {foot}H{right - 8}"/>'
    else:
        outline = f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{_HEIGHT}" rx="10"/>'
    disc = ""
    middle = x + width / 2
    if seen.has_slot:
        lent = " hollow" if seen.run is not None and seen.run.lent else ""
        disc = f'<circle class="disc{lent}" cx="{x + 17}" cy="{y + _HEIGHT // 2}" r="7"/>'
        middle += 12
    return (
        f'<g class="run {kind}" data-run="{_text(seen.name)}">{outline}{disc}'
        f'<text class="name" x="{middle:g}" y="{y + 21}" text-anchor="middle">{_text(_short(seen.name))}</text>'
        f'<text class="word" x="{middle:g}" y="{y + 38}" text-anchor="middle">{_text(seen.word)}</text></g>'
    )


# -- the pool ----------------------------------------------------------------------------------------------------


def _pool(picture: _Picture, width: int) -> tuple[list[str], int]:
    """The counts, the pool's slots and its queue, above the forest; and how high that is."""
    lines: list[str] = []
    y = 14
    for what, count, bound, words in picture.counts():
        over = count > bound
        told = f"{what} {count} of {words}" + (", beyond it" if over else "")
        filled = 100 * min(max(count, 0), max(bound, 1)) // max(bound, 1)
        lines.append(
            f'<rect class="bar" x="0" y="{y - 9}" width="100" height="8" rx="2"/>'
            f'<rect class="full" x="0" y="{y - 9}" width="{filled}" height="8" rx="2"/>'
            f'<text class="count{" over" if over else ""}" x="112" y="{y}">{_text(told)}</text>'
        )
        y += 22
    told = f"pool: {picture.free} of {picture.cap} slots free"
    lines.append(f'<text class="count" x="0" y="{y}">{told}</text>')
    x = round(len(told) * _WORD) + 18
    for place in range(picture.cap if picture.cap <= (width - x) // 22 else 0):  # too many are only told
        slot = "disc free" if place < picture.free else "out"
        lines.append(f'<circle class="{slot}" cx="{x + 22 * place}" cy="{y - 5}" r="7"/>')
    y += 22
    queue = _wrapped(["queue:", *_queued(picture.view.waiting)], width)
    longest = _wrapped(["queue:", *_queued([seen.name for seen in picture.runs])], width)
    for place, line in enumerate(queue):
        lines.append(f'<text class="note" x="0" y="{y + 18 * place}">{_text(line, 2_000)}</text>')
    y += 18 * max(len(queue), len(longest))
    return lines, y + 10


def _queued(waiting: Sequence[str]) -> Iterable[str]:
    if not waiting:
        return ["nobody waits"]
    last = len(waiting)
    return [f"{place}. {_short(run)}{',' * (place < last)}" for place, run in enumerate(waiting, start=1)]


def _wrapped(words: Iterable[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        if lines[-1] and (_width(lines[-1]) + 1 + _width(word)) * _WORD > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def _whole(number: object) -> int:
    """A count, whatever a faulty view gives as one."""
    return number if isinstance(number, int) else 0


# -- text --------------------------------------------------------------------------------------------------------


def _nth(place: int) -> str:
    ending = "th" if 10 <= place % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def _clean(text: object, most: int = 200) -> str:
    """One line of text: nothing in it that XML forbids, or that could turn or break what stands beside it."""
    kept = str(text)[: most + 1]
    kept = "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(char)[0] == "C" else char for char in kept)
    kept = "".join(" " if unicodedata.category(char)[0] == "Z" else char for char in kept)
    return kept if len(kept) <= most else kept[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _short(text: object, most: int = _LONGEST) -> str:
    """The same, short enough for a box."""
    kept = _clean(text, most)
    while _width(kept) > most:
        kept = kept.removesuffix("\N{HORIZONTAL ELLIPSIS}")[:-1] + "\N{HORIZONTAL ELLIPSIS}"
    return kept


def _width(text: str) -> float:
    """How many characters of ordinary width it is as wide as."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1.65 if char in "WMmw@%" else 1.0 for char in text)


def _text(text: object, most: int = 200) -> str:
    return escape(_clean(text, most), quote=True)
