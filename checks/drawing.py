"""One view of a pool as a picture: a self-contained SVG, and the same in words.

The forest; a slot as a disc on the run that holds it, hollow once lent; loans as arrows from lender to borrower; runs
that wait, are parked, have ended or have not asked told apart by their outline and a word; the pool with its free slots
and its queue; counts against their bounds. It needs no colour, follows the reader's light or dark scheme, loads
nothing, and gives the same bytes for the same view. Faulty views are drawn as they are: no view makes it fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256

from slotcheck.checks.lettering import CHARACTER, clean, safe, short, wrapped
from slotcheck.checks.picture import Count, Picture, Seen, in_words, parents_of
from slotcheck.checks.stage import HEIGHT, LONGEST, Point, Stage
from slotcheck.pymodel.rules import StackState, State
from slotcheck.pymodel.scenario import RunSpec

__all__ = [
    "DISC",
    "STYLE",
    "around",
    "bar_of",
    "drawing",
    "edge_of",
    "in_words",
    "queued",
    "run_of",
    "slots_of",
    "wait_circle",
]

_MARGIN = 16
DISC = 22  # from one slot of the pool to the next

#: Of every picture; the colours first, light and dark.
STYLE = """
.slots{--ink:#1b1f24;--soft:#57606a;--line:#6e7781;--slot:#a04100;--loan:#3f4fc9;--wait:#b3261e;--paper:#ffffff}
.slots{color-scheme:light dark}
@media (prefers-color-scheme:dark){
.slots{--ink:#e6edf3;--soft:#a5afba;--line:#8b949e;--slot:#ffa657;--loan:#a5b4ff;--wait:#ff9d94;--paper:#0d1117}
}
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
.slots .acts{fill:none;stroke:var(--ink);stroke-width:1}
.slots .edge{fill:none;stroke:var(--line);stroke-width:1.25}
.slots .loan{fill:none;stroke:var(--loan);stroke-width:3.5}
.slots .tip{fill:var(--loan)}
.slots .disc{fill:var(--slot);stroke:var(--slot);stroke-width:3}
.slots .hollow{fill:none}
.slots .out{fill:none;stroke:var(--line);stroke-width:1.5;stroke-dasharray:2 3}
.slots .lost{stroke:var(--ink);stroke-width:2}
.slots .bar{fill:none;stroke:var(--line)}
.slots .full{fill:var(--slot)}
.slots .wait{fill:none;stroke:var(--wait);stroke-width:2.5;stroke-dasharray:2 4}
.slots .wait-tip{fill:var(--wait)}
.slots .badge{fill:var(--paper);stroke:var(--wait);stroke-width:1.5}
.slots .number{font-size:12px;font-weight:700}
""".strip()


def drawing(
    view: State | StackState,
    forest: Sequence[RunSpec] = (),
    *,
    ended: Collection[str] = (),
    entered: Collection[str] = (),
    title: str = "A pool of slots",
    acting: str | None = None,
    circle: Sequence[str] = (),
    caption: Sequence[str] = (),
) -> str:
    """One view of a pool as SVG.

    Args:
        view: what `slotcheck.checks.subject.view` gives for any snapshot (one of the stacks of workers may be passed
            as it is).
        forest: the runs of the scenario. It fixes where runs stand, whatever becomes of them; runs that it does not
            name stand where the pool has them.
        ended: those runs of the forest that have ended. The others that the pool does not know have not asked.
        entered: where runs need permits, those that have entered and are not over, whether the pool knows them or not.
        title: what the picture shows, for screen readers and as a tooltip.
        acting: the run whose step led here, drawn with a second outline.
        circle: runs each of which waits for the next, and the last for the first, drawn as numbered arrows.
        caption: lines above the picture.
    """
    stage = Stage(parents_of(forest, [view]))
    picture = Picture(view, stage.names, stage.levels, ended, entered)
    left, top, right, foot = around(stage, circle)
    width = max(right - left, 420)
    lines, pool_height = _above(picture, caption, width)
    full_width, full_height = width + 2 * _MARGIN, foot - top + pool_height + 2 * _MARGIN
    told = in_words(view, forest, ended=ended, entered=entered)
    key = sha256(f"{title}\n{told}".encode(errors="replace")).hexdigest()[:8]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="slots" role="img" width="{full_width}"'
            f' height="{full_height}" viewBox="0 0 {full_width} {full_height}" aria-labelledby="t{key} d{key}">',
            f'<title id="t{key}">{safe(title)}</title>',
            f'<desc id="d{key}">{safe(told, 100_000)}</desc>',
            f"<style>\n{STYLE}\n</style>",
            f'<g transform="translate({_MARGIN} {_MARGIN})">',
            *lines,
            f'<g transform="translate({-left} {pool_height - top})">',
            *[edge_of(stage, picture, run) for run in stage.names],
            *[run_of(stage, seen, seen.name == acting) for seen in picture.runs],
            wait_circle(stage, circle),
            "</g>",
            "</g>",
            "</svg>\n",
        ]
    )


# -- the forest --------------------------------------------------------------------------------------------------


def edge_of(stage: Stage, picture: Picture, run: str) -> str:
    """What leads to a run from above: a loan as an arrow, and else a line from its parent."""
    lenders = picture.lenders.get(run, ())
    above = stage.above.get(run)
    drawn = "" if above is None or above in lenders else f'<path class="edge" d="{stage.way(above, run)}"/>'
    for lender in lenders:
        # The tip goes on from where the way ends.
        drawn += f'<path class="loan" d="{stage.way(lender, run, short=6)}"/>'
        drawn += f'<polygon class="tip" points="{stage.tip(run)}"/>'
    return drawn


def run_of(stage: Stage, seen: Seen, acts: bool) -> str:
    """One run: its outline, its slot if it has one, its name and a word."""
    x, y = stage.corners[seen.name]
    width = stage.box
    right, foot = x + width, y + HEIGHT
    kind = seen.kind
    if kind == "parked":  # corners cut off
        outline = (
            f'<path class="box" d="M{x + 12} {y}H{right - 12}L{right} {y + 12}V{foot - 12}L{right - 12} {foot}H{x + 12}'
            f'L{x} {foot - 12}V{y + 12}Z"/>'
        )
    elif kind == "ended":  # what is left is a line
        outline = f'<path class="box" d="M{x + 8} {foot}H{right - 8}"/>'
    else:
        outline = f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="10"/>'
    if acts:
        outline += f'<rect class="acts" x="{x - 5}" y="{y - 5}" width="{width + 10}" height="{HEIGHT + 10}" rx="14"/>'
    disc = ""
    middle = x + width / 2
    if seen.has_slot:
        lent = " hollow" if seen.run is not None and seen.run.lent else ""
        disc = f'<circle class="disc{lent}" cx="{x + 17}" cy="{y + HEIGHT // 2}" r="7"/>'
        middle += 12
    return (
        f'<g class="run {kind}" data-run="{safe(seen.name)}">{outline}{disc}'
        f'<text class="name" x="{middle:g}" y="{y + 21}" text-anchor="middle">{safe(short(seen.name, LONGEST))}</text>'
        f'<text class="word" x="{middle:g}" y="{y + 38}" text-anchor="middle">{safe(seen.word)}</text></g>'
    )


def wait_circle(stage: Stage, circle: Sequence[str]) -> str:
    """Numbered arrows around a circle of waits, from each run to the one it waits for."""
    drawn = []
    for number, (run, awaited) in enumerate(_arrows(stage, circle), start=1):
        arrow = stage.arrow(run, awaited)
        (from_x, from_y), (by_x, by_y), (to_x, to_y) = arrow.start, arrow.bend, arrow.end
        tip = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow.tip)
        x, y = arrow.middle
        drawn.append(
            f'<path class="wait" d="M{from_x:.1f} {from_y:.1f}Q{by_x:.1f} {by_y:.1f} {to_x:.1f} {to_y:.1f}"/>'
            f'<polygon class="wait-tip" points="{tip}"/><circle class="badge" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            f'<text class="number" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{number}</text>'
        )
    return "".join(drawn)


def around(stage: Stage, circle: Sequence[str] = ()) -> tuple[int, int, int, int]:
    """Left, top, right and foot of a forest and of the circle of waits in it."""
    points: list[Point] = [(0, 0), (stage.width, stage.height)]
    for run, awaited in _arrows(stage, circle):
        x, y = stage.arrow(run, awaited).middle
        points += [(x - 12, y - 12), (x + 12, y + 12)]
    across, down = zip(*points, strict=True)
    return round(min(across)), round(min(down)), round(max(across)), round(max(down))


def _arrows(stage: Stage, circle: Sequence[str]) -> list[tuple[str, str]]:
    """Who waits for whom; a run that waits for itself, as a faulty view may tell, has no arrow."""
    turned = [*circle[1:], *circle[:1]]
    return [
        (run, awaited)
        for run, awaited in zip(circle, turned, strict=True)
        if run in stage.corners and awaited in stage.corners and run != awaited
    ]


# -- the pool ----------------------------------------------------------------------------------------------------


def _above(picture: Picture, caption: Sequence[str], width: int) -> tuple[list[str], int]:
    """The caption, the counts, the pool's slots and its queue, above the forest; and how high that is."""
    lines: list[str] = []
    y = 14
    for told in caption:
        for line in wrapped(clean(told, 1_000).split(" "), width):
            lines.append(f'<text class="count" x="0" y="{y}">{safe(line, 1_000)}</text>')
            y += 20
        y += 4
    for count in picture.counts:
        lines.append(bar_of(count, y - 9))
        lines.append(f'<text class="count{" over" if count.beyond else ""}" x="112" y="{y}">{safe(count)}</text>')
        y += 22
    told = picture.pool
    lines.append(f'<text class="count" x="0" y="{y}">{told}</text>')
    x = round(len(told) * CHARACTER) + 18
    if picture.cap <= (width - x) // DISC:  # too many are only told
        lines += slots_of(picture, x, y - 5)
    y += 22
    queue = wrapped(["queue:", *queued(picture.waiting)], width)
    longest = wrapped(["queue:", *queued([seen.name for seen in picture.runs])], width)
    for place, line in enumerate(queue):
        lines.append(f'<text class="note" x="0" y="{y + 18 * place}">{safe(line, 2_000)}</text>')
    y += 18 * max(len(queue), len(longest))
    return lines, y + 10


def bar_of(count: Count, y: int) -> str:
    """How much of a bound is reached, as a bar of 100 by 8 pixels."""
    return (
        f'<rect class="bar" x="0" y="{y}" width="100" height="8" rx="2"/>'
        f'<rect class="full" x="0" y="{y}" width="{count.percent}" height="8" rx="2"/>'
    )


def slots_of(picture: Picture, x: int, y: int) -> list[str]:
    """The pool's slots side by side: those free, a dashed place for each that is out, crossed if it is lost."""
    drawn = []
    for place in range(picture.cap):
        at = x + DISC * place
        slot = "disc free" if place < picture.free else "out"
        drawn.append(f'<circle class="{slot}" cx="{at}" cy="{y}" r="7"/>')
        if place >= max(picture.cap - picture.lost, picture.free):
            drawn.append(f'<path class="lost" d="M{at - 7} {y - 7}l14 14m0 -14l-14 14"/>')
    return drawn


def queued(waiting: Sequence[str]) -> Iterable[str]:
    """The queue in words, one a run."""
    if not waiting:
        return ["nobody waits"]
    last = len(waiting)
    return [f"{place}. {short(run, LONGEST)}{',' * (place < last)}" for place, run in enumerate(waiting, start=1)]
