"""One pool per level: a run takes a slot of its own level, and a parent holds that while its children take theirs."""

from __future__ import annotations

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

    def _has_room(self, draft: Draft, run: RunId) -> bool:
        level = draft.runs[run].level
        return sum(other.token == "pool" and other.level == level for other in draft.runs.values()) < draft.cap

    def _admit(self, draft: Draft, run: RunId) -> bool:
        if not self._has_room(draft, run):
            return False
        draft.taken += 1
        draft.admit(run, "pool")
        return True

    def _serve(self, draft: Draft) -> None:
        while among := [run for run in draft.waiting if self._has_room(draft, run)]:
            run = order.pick(draft, among)
            order.leave(draft, run, pool_slot=True)
            self._admit(draft, run)

    def _end(self, draft: Draft, run: Run) -> None:
        self._orphan(draft, run.run)
        draft.forget(run.run)
        draft.taken -= 1
        self._serve(draft)
