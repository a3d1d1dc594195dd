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
        """An arrow between boxes from side to side, beside the ways of the tree; one there and one back lie apart."""
        begin, bend, finish = self._bent(start, end)
        head_x, head_y = finish[0] - bend[0], finish[1] - bend[1]
        size = math.hypot(head_x, head_y) or 1.0
        head_x, head_y = head_x / size * 11, head_y / size * 11
        foot_x, foot_y = finish[0] - head_x, finish[1] - head_y
        tip = (
            finish,
            (foot_x - head_y / 2, foot_y + head_x / 2),
            (foot_x + head_y / 2, foot_y - head_x / 2),
        )
        across, down = finish[0] - begin[0], finish[1] - begin[1]
        far = math.hypot(across, down) or 1.0
        beside = 10 * self._outwards if far < 60 else 0  # a number would hide so short an arrow
        middle = (
            (begin[0] + 2 * bend[0] + finish[0]) / 4 + down / far * beside,
            (begin[1] + 2 * bend[1] + finish[1]) / 4 - across / far * beside,
        )
        return Arrow(begin, bend, finish, tip, middle)

    @property
    def _outwards(self) -> int:
        """To which side an arrow bends that leads down a level, so that one that leads up bends to the other."""
        return -1 if self.upright else 1

    def _bent(self, start: str, end: str) -> tuple[Point, Point, Point]:
        (x, y), (to_x, to_y) = self.corners[start], self.corners[end]
        half, box = HEIGHT / 2, self.box
        begin: Point
        finish: Point
        if self.as_list:  # on the right, those that lead up further out
            far = abs(to_y - y) / 12
            out = max(x, to_x) + box + (45 if to_y > y else 101) + far
            return (x + box + 3, y + half + 5), (out, (y + to_y) / 2 + half), (to_x + box + 5, to_y + half - 5)
        if self.upright:
            if y == to_y:  # above the row, or below it on the way back
                side, out = (y - 3, -50) if to_x > x else (y + HEIGHT + 3, 50)
                out += (abs(to_x - x) / 12) * (1 if out > 0 else -1)
                return (x + box / 2, side), ((x + to_x + box) / 2, side + out), (to_x + box / 2, side)
            if to_y > y:
                begin, finish = (x + box * 0.3, y + HEIGHT + 3), (to_x + box * 0.3, to_y - 5)
            else:
                begin, finish = (x + box * 0.7, y - 3), (to_x + box * 0.7, to_y + HEIGHT + 5)
        else:
            if x == to_x:  # left of the column, or right of it on the way back
                side, out = (x - 3, -50) if to_y > y else (x + box + 3, 50)
                return (side, y + half), (side + out, (y + to_y) / 2 + half), (side, to_y + half)
            if to_x > x:
                begin, finish = (x + box + 3, y + HEIGHT * 0.2), (to_x - 5, to_y + HEIGHT * 0.2)
            else:
                begin, finish = (x - 3, y + HEIGHT * 0.8), (to_x + box + 5, to_y + HEIGHT * 0.8)
        # Past what lies between, if anything does.
        across, down = finish[0] - begin[0], finish[1] - begin[1]
        aside = self._outwards * (8 if abs(down if self.upright else across) < 2 * HEIGHT else 70)
        far = math.hypot(across, down) or 1.0
        bend = (begin[0] + finish[0]) / 2 + down / far * aside, (begin[1] + finish[1]) / 2 - across / far * aside
        return begin, bend, finish


def _in_lines(roots: Sequence[str], children: Mapping[str, Sequence[str]]) -> list[str]:
    """All runs, each before what is below it."""
    lines: list[str] = []
    stack = list(reversed(roots))
    while stack:
        lines.append(stack.pop())
        stack += reversed(children[lines[-1]])
    return lines
