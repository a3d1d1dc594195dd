"""Holding: a plain semaphore around each run. A parent keeps its slot to its end and lends it to nobody."""

from __future__ import annotations

from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Draft, Run, RunId

__all__ = ["Hold"]


class Hold(Rule):
    """Both counts stay <= cap until as many parents as there are slots wait for children: then it is stuck."""

    name = "hold"

    def _admit(self, draft: Draft, run: RunId) -> bool:
        return self._take(draft, run)

    def _end(self, draft: Draft, run: Run) -> None:
        self._orphan(draft, run.run)
        draft.forget(run.run)
        draft.taken -= 1
        self._serve(draft)
