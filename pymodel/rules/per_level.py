"""One pool per level: a run takes a slot of its own level, and a parent holds that while its children take theirs."""

from __future__ import annotations

from collections import Counter

from slotcheck.pymodel.conduct import Conduct
from slotcheck.pymodel.rules import order
from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Draft, Refusal, Run, RunId

__all__ = ["PerLevel"]


class PerLevel(Rule):
    """Deadlock-free; both counts <= cap x levels; but the levels must be declared, and there is a pool for each.

    ``cap`` is that of every level. ``taken`` counts the slots of all pools; those of one are its level's runs.

    Args:
        levels: how many levels there are: a deeper run is refused with ``too_deep``.
    """

    name = "per_level"
    conduct = Conduct(by_level=True)

    def __init__(self, levels: int = 1) -> None:
        self.levels = levels

    def declared(self, levels: int) -> PerLevel:
        return PerLevel(levels)

    def _enter(self, draft: Draft, run: RunId, parent: RunId | None, job: tuple[str, ...] | None) -> None:
        super()._enter(draft, run, parent, job)
        if draft.runs[run].level > self.levels:
            raise Refusal("too_deep", run)

    @staticmethod
    def _full(draft: Draft) -> set[int]:
        """The levels whose slots are all taken."""
        taken = Counter(run.level for run in draft.runs.values() if run.token == "pool")
        return {level for level, count in taken.items() if count >= draft.cap}

    def _admit(self, draft: Draft, run: RunId) -> bool:
        if draft.runs[run].level in self._full(draft) or not order.has_room(draft, run):
            return False
        draft.taken += 1
        draft.admit(run, "pool")
        return True

    def _serve(self, draft: Draft) -> None:
        while True:
            full = self._full(draft)
            among = [run for run in draft.waiting if draft.runs[run].level not in full]
            run = order.pick(draft, among)
            if run is None:
                return
            order.leave(draft, run, pool_slot=True)
            self._admit(draft, run)

    def _end(self, draft: Draft, run: Run) -> None:
        self._orphan(draft, run.run)
        draft.forget(run.run)
        draft.taken -= 1
        self._serve(draft)
