"""How far a gate is: a bar with an estimate of what is left on a terminal, a line a piece elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from slotcheck.checks.gate.piece import Piece, PieceResult, Source
from slotcheck.checks.gate.run import Watch

__all__ = ["Estimate", "told", "watching"]

_OVERDUE = 0.2  # of what a piece has taken: what is left of one that takes longer than expected


class Estimate:
    """What is left, from what each piece took last time. Threads may tell it at once.

    Args:
        expected: the seconds of each piece, by name.
        jobs: how many run at a time.
        clock: what tells seconds.
    """

    def __init__(self, expected: Mapping[str, float], jobs: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._expected = dict(expected)
        self._jobs = max(jobs, 1)
        self._clock = clock
        self._lock = Lock()
        self._since: dict[str, float] = {}
        self._ended: set[str] = set()

    @property
    def running(self) -> list[str]:
        """The pieces that run now, in the order in which they began."""
        with self._lock:
            return list(self._since)

    @property
    def ended_count(self) -> int:
        """How many pieces have ended."""
        with self._lock:
            return len(self._ended)

    def begun(self, piece: Piece) -> None:
        """It runs."""
        with self._lock:
            self._since[piece.name] = self._clock()

    def ended(self, result: PieceResult) -> None:
        """It does not run any more, or never did."""
        with self._lock:
            self._since.pop(result.piece.name, None)
            self._ended.add(result.piece.name)

    def left(self) -> float:
        """Seconds until all is done: all that is left on all processors, but no less than the longest of them."""
        now = self._clock()
        with self._lock:
            each = [self._left_of(name, now) for name in self._expected if name not in self._ended]
        return max(sum(each) / self._jobs, max(each, default=0.0))

    def share_done(self) -> float:
        """How much of the work is done, from 0 to 1."""
        now = self._clock()
        with self._lock:
            whole = sum(self._expected.values())
            left = sum(self._left_of(name, now) for name in self._expected if name not in self._ended)
        return 1.0 if not whole else min(max(1 - left / whole, 0.0), 1.0)

    def _left_of(self, name: str, now: float) -> float:
        if name not in self._since:
            return self._expected[name]
        took = now - self._since[name]
        return max(self._expected[name] - took, _OVERDUE * took)


@contextmanager
def watching(console: Console, estimate: Estimate, *, timed: bool) -> Iterator[Watch]:
    """Whom a runner tells: a bar on a terminal; elsewhere a line for each piece that has run."""
    if not console.is_terminal:
        yield _Lines(console, estimate, timed=timed)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), _Left(estimate))
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar, estimate)


class _Bar:
    def __init__(self, bar: Progress, estimate: Estimate) -> None:
        self._bar, self._estimate = bar, estimate
        self._task = bar.add_task("gate", total=1.0)

    def begun(self, piece: Piece) -> None:
        self._estimate.begun(piece)
        self._show()

    def ended(self, result: PieceResult) -> None:
        self._estimate.ended(result)
        self._show()

    def _show(self) -> None:
        self._bar.update(
            self._task,
            description=", ".join(self._estimate.running) or "gate",
            completed=self._estimate.share_done(),
        )


class _Left(ProgressColumn):
    """Told anew whenever the bar is drawn."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__()
        self._estimate = estimate

    def render(self, task: Task) -> Text:
        task.completed = self._estimate.share_done()
        return Text(f"about {told(self._estimate.left())} left")


class _Lines:
    def __init__(self, console: Console, estimate: Estimate, *, timed: bool) -> None:
        self._console, self._estimate, self._timed = console, estimate, timed

    def begun(self, piece: Piece) -> None:
        self._estimate.begun(piece)

    def ended(self, result: PieceResult) -> None:
        self._estimate.ended(result)
        if result.source is Source.RUN and result.verdict is not None:
            took = f", {result.seconds:.1f} s; about {told(self._estimate.left())} left" if self._timed else ""
            self._console.print(Text(f"{result.piece.name}: {result.verdict.value}{took}"))


def told(seconds: float) -> str:
    """Seconds as one reads them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
