"""Helping: slots are workers, and a worker whose run waits for another run takes queued work on top of it.

The stack of a worker is what makes it different: a run goes on only while nothing runs on top of it. The simple form
runs a child inline, on its parent's worker, when no worker is free.
"""

from __future__ import annotations

from typing import Any

from slotcheck.pymodel.conduct import Conduct
from slotcheck.pymodel.rules import order
from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Draft, Outcome, Refusal, Run, RunId, StackState, State, drafted

__all__ = ["Help", "HelpInline"]


class Help(Rule):
    """Deadlock-free for waits that the pool knows of, and at most cap runs at work; runs in flight are not bounded."""

    name = "help"
    conduct = Conduct(helps=True, stacked=True)

    def initial(self, cap: int, *, order: str = "fewest_held", tie: str = "served", relend: bool = False) -> StackState:
        """No worker is at work."""
        state: State = super().initial(cap, order=order, tie=tie, relend=relend)
        return StackState(*state, ())

    def help(self, state: Any, run: RunId) -> Outcome:
        """The run waits for another: its worker takes the queued run that the order picks on top of it."""
        draft = drafted(state)
        known = draft.runs.get(run)
        if known is None or known.phase != "in_flight" or known.lent or not draft.waiting:
            raise Refusal("not_known", run)
        picked = order.pick(draft) or draft.waiting[0]  # on top of a worker it takes no slot of its job's share
        order.leave(draft, picked, pool_slot=False)
        self._push(draft, run, picked)
        return draft.done()

    def _admit(self, draft: Draft, run: RunId) -> bool:
        return self._take(draft, run)

    def _take(self, draft: Draft, run: RunId) -> bool:
        if not super()._take(draft, run):
            return False
        assert draft.stacks is not None
        draft.stacks.append([run])
        return True

    def _push(self, draft: Draft, below: RunId, run: RunId) -> None:
        draft.runs[below] = draft.runs[below]._replace(lent=True)
        draft.admit(run, "loan")
        self._stack_of(draft, below).append(run)

    def _end(self, draft: Draft, run: Run) -> None:
        stack = self._stack_of(draft, run.run)
        if run.lent:  # the worker comes back to it, and finds it over
            borrower = stack[stack.index(run.run) + 1]
            self._orphan(draft, run.run, keep=borrower if draft.runs[borrower].parent == run.run else None)
            draft.runs[run.run] = draft.runs[run.run]._replace(phase="parked")
            return
        self._orphan(draft, run.run)
        draft.forget(stack.pop())
        while stack and draft.runs[stack[-1]].phase == "parked":
            draft.forget(stack.pop())
        if stack:
            draft.runs[stack[-1]] = draft.runs[stack[-1]]._replace(lent=False)
            return
        assert draft.stacks is not None
        draft.stacks.remove(stack)
        draft.taken -= 1
        self._serve(draft)

    @staticmethod
    def _stack_of(draft: Draft, run: RunId) -> list[RunId]:
        assert draft.stacks is not None
        return next(stack for stack in draft.stacks if run in stack)


class HelpInline(Help):
    """As Go's ``errgroup.TryGo`` with a fallback: when all workers are busy, the parent runs its child itself.

    A child runs to its end before its parent goes on, and the parent picks up nothing else while it waits. So a stack
    goes straight down the tree, and runs in flight stay <= cap x levels.
    """

    name = "help+inline"
    conduct = Conduct(stacked=True)

    def _admit(self, draft: Draft, run: RunId) -> bool:
        if self._take(draft, run):
            return True
        parent = draft.runs[run].parent
        if parent is None or draft.runs[parent].lent:
            return False
        self._push(draft, parent, run)
        return True
