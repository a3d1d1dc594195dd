"""How a process ends that is asked to, and that nothing outlives whoever started it."""

from __future__ import annotations

import signal
import sys

__all__ = ["end_with_parent", "interruptible"]

_PR_SET_PDEATHSIG = 1  # of Linux: the signal to be sent when the parent has ended


def interruptible() -> None:
    """From now on what asks this process to end interrupts it: SIGTERM as Ctrl-C does, and that even where it was
    ignored, as in the background of a script. What was started is ended first then.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def end_with_parent(number: int) -> None:
    """From now on this process is sent a signal when its parent has ended, however that came about. On Linux only."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number))
