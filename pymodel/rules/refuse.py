"""Refusing: at the cap, or below a depth, the answer is no, and the caller goes on without that run."""

from __future__ import annotations

from typing import Any

from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Draft, Job, Outcome, Refusal, Run, RunId, drafted

__all__ = ["Refuse"]


class Refuse(Rule):
    """Deadlock-free, and both counts <= cap; but work is left undone, and the caller has to handle that.

    Args:
        depth: the greatest level at which a run is taken on.
    """

    name = "refuse"
    declines = frozenset({"full", "too_deep"})

    def __init__(self, depth: int = 3) -> None:
        self.depth = depth

    def ask(self, state: Any, run: RunId, parent: RunId | None = None, job: Job | None = None) -> Outcome:
        """R2, but nobody waits."""
        draft = drafted(state)
        self._enter(draft, run, parent, job)
        too_deep = draft.runs[run].level > self.depth
        if not self._admit(draft, run):
            draft.forget(run)
            raise Refusal("too_deep", run) if too_deep else Refusal("full", run)
        return draft.done()

    def _admit(self, draft: Draft, run: RunId) -> bool:
        return draft.runs[run].level <= self.depth and self._take(draft, run)

    def _end(self, draft: Draft, run: Run) -> None:
        self._orphan(draft, run.run)
        draft.forget(run.run)
        draft.taken -= 1
