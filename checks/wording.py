"""Sentences about one run or several."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["have_not_ended", "wait"]


def have_not_ended(runs: Sequence[str]) -> str:
    """``a has not ended``, ``a, b have not ended``."""
    return f"{', '.join(runs)} {'has' if len(runs) == 1 else 'have'} not ended"


def wait(runs: Sequence[str]) -> str:
    """``a waits``, ``a, b wait``."""
    return f"{', '.join(runs)} {'waits' if len(runs) == 1 else 'wait'}"
