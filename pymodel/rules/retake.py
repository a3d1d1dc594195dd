"""Retaking: a parent gives its slot back where it waits for runs, and asks for one again when the wait is over."""

from __future__ import annotations

from typing import Any

from slotcheck.pymodel.conduct import Conduct
from slotcheck.pymodel.rules import order
from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Draft, Outcome, Refusal, Run, RunId, drafted

__all__ = ["Retake"]


class Retake(Rule):
    """Free of the deadlock of holding, and at most cap runs hold a slot; but nothing bounds the runs in flight.

    A run that has given its slot back is in flight without a token; one that asks again is ``retaking`` and stands in
    the queue with those that wait for their first slot.
    """

    name = "retake"
    conduct = Conduct(gives_back=True)

    def give_back(self, state: Any, run: RunId) -> Outcome:
        """The run waits from now on, and holds no slot."""
        draft = drafted(state)
        known = draft.runs.get(run)
        if known is None or known.token != "pool":
            raise Refusal("not_known", run)
        draft.runs[run] = known._replace(token="none")
        draft.taken -= 1
        self._serve(draft)
        return draft.done()

    def retake(self, state: Any, run: RunId) -> Outcome:
        """The wait is over: the run asks again, under its own name."""
        draft = drafted(state)
        known = draft.runs.get(run)
        if known is None or known.phase != "in_flight" or known.token != "none":
            raise Refusal("not_known", run)
        if not self._take(draft, run):
            draft.runs[run] = known._replace(phase="retaking")
            order.join(draft, run)
        return draft.done()

    def _admit(self, draft: Draft, run: RunId) -> bool:
        return self._take(draft, run)

    def _end(self, draft: Draft, run: Run) -> None:
        if run.phase == "retaking":
            order.leave(draft, run.run, pool_slot=False)
        self._orphan(draft, run.run)
        draft.forget(run.run)
        if run.token == "pool":
            draft.taken -= 1
            self._serve(draft)
