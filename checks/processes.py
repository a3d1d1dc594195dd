"""Work on several processes, its results in the order of the work; and what is left of the time for it."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import active_children
from typing import Any, TypeVar

from slotcheck.checks.ending import end_with_parent
from slotcheck.pymodel.explore import Limits

__all__ = ["GRACE", "in_order", "time_left"]

T = TypeVar("T")
R = TypeVar("R")

#: Seconds after the deadline before a worker is taken to hang.
GRACE = 5.0


def in_order(
    work: Callable[[T], R],
    items: Iterable[T],
    *,
    jobs: int,
    deadline: float | None = None,
    initializer: Callable[..., None] | None = None,
    initargs: tuple[Any, ...] = (),
) -> Generator[R, None, None]:
    """The result of ``work`` for each item, in their order. Closing it ends the workers at once.

    Raises:
        TimeoutError: a worker went on for `GRACE` seconds after the deadline (of `time.monotonic`).
        BrokenProcessPool: a worker ended.
    """
    pool = ProcessPoolExecutor(max(jobs, 1), initializer=_begin, initargs=(initializer, initargs))
    try:
        for future in [pool.submit(work, item) for item in items]:
            yield future.result(_seconds_to(deadline))
    finally:
        # Whether all is done, nobody wants the rest, or a subject hangs: nothing is waited for. A worker that was begun
        # when an interrupt came may not be known to the pool, nor hear that it is asked to end.
        for process in {*(pool._processes or {}).values(), *active_children()}:
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)


def _begin(initializer: Callable[..., None] | None, initargs: tuple[Any, ...]) -> None:
    """In a worker: it ends at once when it is told to, and with whoever started it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent(signal.SIGKILL)
    if initializer is not None:
        initializer(*initargs)


def _seconds_to(deadline: float | None) -> float | None:
    """How long to wait at most, None for as long as it takes."""
    if deadline is None or math.isinf(deadline):
        return None
    return max(deadline - time.monotonic(), 0) + GRACE


def time_left(limits: Limits, started: float) -> Limits:
    """The limits of one of several explorations that share their seconds since ``started`` (of `time.monotonic`)."""
    if limits.seconds is None:
        return limits
    return replace(limits, seconds=max(limits.seconds - (time.monotonic() - started), 0))
