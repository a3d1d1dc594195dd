"""The pictures of a trace, one after another, kept small: what changes from each to the next.

A picture is made of parts: the pool, the queue, for each run its box, the edge that leads to it and a sentence. Each
part is a piece of HTML or SVG. Pieces are kept once however often they are shown, and a frame is the parts that differ
from the frame before.
"""

from __future__ import annotations

from collections.abc import Callable

from slotcheck.checks.drawing import around, bar_of, edge_of, queued, run_of, slots_of, wait_circle
from slotcheck.checks.forms.story import Story
from slotcheck.checks.lettering import safe
from slotcheck.checks.picture import Picture, Seen, parents_of
from slotcheck.checks.stage import Stage

__all__ = ["MOST_BOXES", "MOST_FRAMES", "MOST_RUNS", "Film"]

MOST_FRAMES = 5_000
MOST_RUNS = 400  # drawn: more are no picture
MOST_BOXES = 500_000  # frames times runs: what bounds the time it takes and the size
_MOST_QUEUED = 100  # names of the queue in one frame
_MOST_SLOTS = 24  # of a pool, drawn
_MOST_LINES = 50  # about what else there is


class Film:
    """The parts of a story's pictures, and how they change."""

    def __init__(self, story: Story) -> None:
        self._story = story
        shown = _kept(len(story.frames), MOST_FRAMES, story.bad)
        parents = parents_of(story.forest, [story.frames[place].view for place in shown])
        #: How many runs are not drawn.
        self.left_out = max(len(parents) - MOST_RUNS, 0)
        if self.left_out:
            # Those that are known where it goes wrong come first.
            known = {run.run for run in story.frames[story.bad].view.runs}
            kept = set(sorted(parents, key=lambda run: run not in known)[:MOST_RUNS])
            parents = {run: parent for run, parent in parents.items() if run in kept}
        #: The same forest as it stands on a wide screen and on a narrow one.
        self.stages = Stage(parents), Stage(parents, as_list=True)
        most = min(MOST_FRAMES, MOST_BOXES // max(len(parents), 1))
        #: Which frames are shown, by their place in the story.
        self.shown = _kept(len(story.frames), most, story.bad)
        #: The names of the parts, in their order.
        self.parts = ["pool", "queue", "more"]
        runs = range(len(parents))
        for kind in ("edge", "run"):
            self.parts += [f"{kind}-{stage}-{run}" for stage in range(2) for run in runs]
        self.parts += ["circle-0", "circle-1", *[f"word-{run}" for run in runs]]
        #: Every piece, and for each frame the parts that change: a part, its piece, a part, its piece, and so on.
        self.pieces: list[str] = []
        self.changes: list[list[int]] = []
        self._part = {part: number for number, part in enumerate(self.parts)}
        self._piece: dict[str, int] = {}
        self._showing: dict[str, object] = {}
        self._make()

    def frame(self, number: int) -> dict[str, str]:
        """The piece of each part in one of the frames shown."""
        pieces: dict[int, int] = {}
        for changes in self.changes[: number + 1]:
            pieces.update(zip(changes[::2], changes[1::2], strict=True))
        return {part: self.pieces[pieces[place]] for place, part in enumerate(self.parts)}

    def _make(self) -> None:
        runs: list[object] = [None] * len(self.stages[0].names)
        for place in self.shown:
            frame = self._story.frames[place]
            picture = Picture(frame.view, self.stages[0].names, self.stages[0].levels, frame.ended, frame.entered)
            self.changes.append([])
            self._show("pool", (*picture.counts, picture.pool), _pool, picture)
            self._show("queue", picture.waiting, _queue, picture.waiting)
            self._show("more", frame.more, _more, frame.more)
            wrong = place == self._story.bad
            for at, stage in enumerate(self.stages):
                self._show(f"circle-{at}", wrong, wait_circle, stage, self._story.circle if wrong else ())
            for run, seen in enumerate(picture.runs):
                lenders, borrowers = picture.lenders.get(seen.name), picture.borrowers.get(seen.name)
                acts = seen.name == frame.acting
                all_of_it = seen, lenders, borrowers, acts
                if runs[run] == all_of_it:
                    continue
                runs[run] = all_of_it
                for at, stage in enumerate(self.stages):
                    self._show(f"edge-{at}-{run}", lenders, edge_of, stage, picture, seen.name)
                    self._show(f"run-{at}-{run}", (seen, acts), run_of, stage, seen, acts)
                self._show(f"word-{run}", (seen, lenders, borrowers), _word, picture, seen)

    def _show(self, part: str, what: object, draw: Callable[..., str], *of: object) -> None:
        """Draw a part, if what it shows is not what it showed before."""
        if part not in self._showing or self._showing[part] != what:
            self._showing[part] = what
            piece = draw(*of)
            number = self._piece.setdefault(piece, len(self.pieces))
            if number == len(self.pieces):
                self.pieces.append(piece)
            self.changes[-1] += (self._part[part], number)

    def box(self, stage: int) -> tuple[int, int, int, int]:
        """Left, top, width and height of the picture of the forest."""
        left, top, right, foot = around(self.stages[stage], self._story.circle)
        return left - 8, top - 8, right - left + 16, foot - top + 16


def _kept(frames: int, most: int, bad: int) -> list[int]:
    """All frames, or if there are too many the first ones and those up to where it goes wrong and beyond."""
    if frames <= most:
        return list(range(frames))
    first = most // 4
    end = min(frames, max(bad + 1 + most // 4, most))
    return [*range(first), *range(end - (most - first), end)]


def _pool(picture: Picture) -> str:
    lines = [
        f'<p class="count{" over" if count.beyond else ""}">'
        f'<svg class="slots" width="102" height="10" viewBox="-1 -1 102 10" aria-hidden="true">{bar_of(count, 0)}</svg>'
        f" <span>{safe(count)}</span></p>"
        for count in picture.counts
    ]
    discs = ""
    if 0 < picture.cap <= _MOST_SLOTS:
        size = 22 * picture.cap
        discs = (
            f'<svg class="slots" width="{size}" height="22" viewBox="-11 -11 {size} 22" aria-hidden="true">'
            f"{''.join(slots_of(picture, 0, 0))}</svg>"
        )
    return "".join(lines) + f'<p class="count"><span>{safe(picture.pool)}</span> {discs}</p>'


def _queue(waiting: tuple[str, ...]) -> str:
    told = " ".join(queued(waiting[:_MOST_QUEUED]))
    more = f", and {len(waiting) - _MOST_QUEUED:,} more" if len(waiting) > _MOST_QUEUED else ""
    return f"<p>queue: {safe(told, 10_000)}{more}</p>"


def _more(lines: tuple[str, ...]) -> str:
    return "".join(f"<p>{safe(line, 1_000)}</p>" for line in lines[:_MOST_LINES])


def _word(picture: Picture, seen: Seen) -> str:
    return safe(picture.told(seen), 1_000)
