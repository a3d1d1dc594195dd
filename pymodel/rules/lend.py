"""Lending: a parent keeps its slot and lends it to one child at a time (R2-R5, R13)."""

from __future__ import annotations

from slotcheck.pymodel.rules import order
from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Draft, Run, RunId

__all__ = ["Lend"]


class Lend(Rule):
    """Deadlock-free; unlent holders <= cap; in flight <= cap x levels; levels need not be known."""

    name = "lend"

    def _admit(self, draft: Draft, run: RunId) -> bool:
        parent = draft.runs[run].parent
        if parent is not None and not draft.runs[parent].lent:
            self._lend(draft, parent, run)
            return True
        return self._take(draft, run)

    def _lend(self, draft: Draft, lender: RunId, borrower: RunId) -> None:
        draft.runs[lender] = draft.runs[lender]._replace(lent=True)
        draft.admit(borrower, "loan")

    def _end(self, draft: Draft, run: Run) -> None:
        if run.lent:
            (borrower,) = (child.run for child in draft.known_children(run.run) if child.token == "loan")
            self._orphan(draft, run.run, keep=borrower)
            draft.runs[run.run] = draft.runs[run.run]._replace(phase="parked")
        else:
            self._orphan(draft, run.run)
            self._give_back(draft, run.run)

    def _give_back(self, draft: Draft, run: RunId) -> None:
        gone = draft.forget(run)
        if gone.token == "pool":
            draft.taken -= 1
            self._serve(draft)
            return
        assert gone.parent is not None
        lender = draft.runs[gone.parent] = draft.runs[gone.parent]._replace(lent=False)
        if lender.phase == "parked":
            self._give_back(draft, lender.run)
            return
        waiting = [child for child in draft.waiting if draft.runs[child].parent == lender.run]
        if waiting:
            order.leave(draft, waiting[0], pool_slot=False)
            self._lend(draft, lender.run, waiting[0])
        elif draft.relend and draft.children[lender.run]:
            first = draft.children[lender.run][0]
            draft.runs[first] = draft.runs[first]._replace(token="loan")
            draft.runs[lender.run] = lender._replace(lent=True)
            draft.relent.append(first)
            draft.taken -= 1
            self._serve(draft)
