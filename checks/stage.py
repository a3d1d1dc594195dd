"""Where the boxes of a forest stand in a picture, in pixels, and the ways between them.

Nothing here depends on what runs do, so from one view of a forest to the next every run stays where it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slotcheck.checks.layout import forest_of, placed
from slotcheck.checks.lettering import CHARACTER, short, width

__all__ = ["HEIGHT", "LONGEST", "Arrow", "Stage"]

HEIGHT = 48  # of a run's box
LONGEST = 22  # characters of a name in its box

_ROW = 92  # from one level to the next, where levels are rows
_LINE = 62  # from one run to the next, where levels are columns
_GAP = 16  # between boxes side by side
_EDGE = 44  # between levels side by side
_STEP = 28  # from one level to the next in a list
_WIDEST = 720  # beyond this the tree is turned on its side, if that is narrower
_NAME = 9.6  # the width of a character of 14 pixels, rather too much
_LONGEST_WORD = "pool slot, lent"

Point = tuple[float, float]


class Arrow(NamedTuple):
    """A bent arrow from one box to another: from, by way of, to; its tip; and where its number stands."""

    start: Point
    bend: Point
    end: Point
    tip: tuple[Point, Point, Point]
    middle: Point


class Stage:
    """The boxes of a forest.

    Levels are rows; or columns, if that is narrower. As a list every run has a line of its own, moved in by its level,
    which fits a phone.
    """

    def __init__(self, parents: Mapping[str, str | None], *, as_list: bool = False) -> None:
        self.names = list(parents)
        roots, self.children = forest_of(parents)
        #: The parent of each run that it stands below.
        self.above = {child: run for run, below in self.children.items() for child in below}
        widest = max((width(short(name, LONGEST)) * _NAME for name in self.names), default=0)
        self.box = round(max(widest, width(_LONGEST_WORD) * CHARACTER)) + 40
        spots = placed(roots, self.children, apart=0.15)
        columns = max((spot.along for spot in spots.values()), default=-1.0) + 1
        #: How many levels the highest tree has, at least 1.
        self.levels = max((spot.level + 1 for spot in spots.values()), default=1)
        down, across = columns * (self.box + _GAP), self.levels * (self.box + _EDGE)
        self.as_list = as_list
        self.upright = not as_list and down <= max(_WIDEST, across)
        #: The upper left corner of each box.
        self.corners: dict[str, tuple[int, int]]
        if as_list:
            lines = _in_lines(roots, self.children)
            self.corners = {run: (spots[run].level * _STEP, _LINE * at) for at, run in enumerate(lines)}
        elif self.upright:
            self.corners = {
                run: (round(along * (self.box + _GAP)), level * _ROW) for run, (along, level) in spots.items()
            }
        else:
            spots = placed(roots, self.children, centred=False, apart=0.15)
            self.corners = {
                run: (level * (self.box + _EDGE), round(along * _LINE)) for run, (along, level) in spots.items()
            }
        self.width = max((x + self.box for x, _ in self.corners.values()), default=0)
        self.height = max((y + HEIGHT for _, y in self.corners.values()), default=0)

    def way(self, start: str | None, end: str, short: int = 0) -> str:
        """A path from the foot of one box to the head of another, or where levels are not rows, to its left side; from
        nowhere it is a stub. It ends ``short`` of the box."""
        half = HEIGHT // 2
        x, y = self.corners[end]
        x, y = (x + self.box // 2, y - short) if self.upright else (x - short, y + half)
        came = None if start is None else self.corners.get(start)
        if came is None:
            return f"M{x} {y - 20}V{y}" if self.upright else f"M{x - 24} {y}H{x}"
        if self.upright:
            from_x, from_y = came[0] + self.box // 2, came[1] + HEIGHT
            turn = from_y + (_ROW - HEIGHT) // 2 - 4
            return f"M{from_x} {from_y}V{turn}H{x}V{y}" if from_x != x else f"M{x} {from_y}V{y}"
        if self.as_list:
            return f"M{came[0] + _STEP // 2} {came[1] + HEIGHT}V{y}H{x}"
        from_x, from_y = came[0] + self.box, came[1] + half
        turn = from_x + _EDGE // 2 - 4
        return f"M{from_x} {from_y}H{turn}V{y}H{x}" if from_y != y else f"M{from_x} {y}H{x}"

    def tip(self, end: str) -> str:
        """The points of the tip of a way's arrow."""
        x, y = self.corners[end]
        if self.upright:
            middle = x + self.box // 2
            return f"{middle - 6},{y - 12} {middle + 6},{y - 12} {middle},{y - 1}"
        middle = y + HEIGHT // 2
        return f"{x - 12},{middle - 6} {x - 12},{middle + 6} {x - 1},{middle}"

    def arrow(self, start: str, end: str) -> Arrow:
        """An arrow that bends to one side, so that one there and one back lie apart and off the ways of the tree."""
        from_x, from_y = self._middle(start)
        to_x, to_y = self._middle(end)
        along_x, along_y = to_x - from_x, to_y - from_y
        far = math.hypot(along_x, along_y) or 1.0
        if self.as_list:  # beside the boxes, those that lead up further out
            begin, finish = (from_x + self.box / 2 + 3, from_y + 5), (to_x + self.box / 2 + 5, to_y - 5)
            bend = max(begin[0], finish[0]) + (40 if to_y > from_y else 96) + far / 12, (from_y + to_y) / 2
        else:
            aside = 46 + 0.16 * far
            bend = (from_x + to_x) / 2 + along_y / far * aside, (from_y + to_y) / 2 - along_x / far * aside
            begin, finish = self._rim(start, bend, 3), self._rim(end, bend, 5)
        head_x, head_y = finish[0] - bend[0], finish[1] - bend[1]
        size = math.hypot(head_x, head_y) or 1.0
        head_x, head_y = head_x / size * 11, head_y / size * 11
        foot_x, foot_y = finish[0] - head_x, finish[1] - head_y
        tip = (
            finish,
            (foot_x - head_y / 2, foot_y + head_x / 2),
            (foot_x + head_y / 2, foot_y - head_x / 2),
        )
        middle = (begin[0] + 2 * bend[0] + finish[0]) / 4, (begin[1] + 2 * bend[1] + finish[1]) / 4
        return Arrow(begin, bend, finish, tip, middle)

    def _middle(self, run: str) -> Point:
        x, y = self.corners[run]
        return x + self.box / 2, y + HEIGHT / 2

    def _rim(self, run: str, towards: Point, off: int) -> Point:
        """Where the way from the middle of a box to a point leaves the box."""
        x, y = self._middle(run)
        over, down = towards[0] - x, towards[1] - y
        scale = min(
            (self.box / 2 + off) / abs(over) if over else math.inf, (HEIGHT / 2 + off) / abs(down) if down else math.inf
        )
        scale = min(scale, 1.0)
        return x + over * scale, y + down * scale


def _in_lines(roots: Sequence[str], children: Mapping[str, Sequence[str]]) -> list[str]:
    """All runs, each before what is below it."""
    lines: list[str] = []
    stack = list(reversed(roots))
    while stack:
        lines.append(stack.pop())
        stack += reversed(children[lines[-1]])
    return lines
