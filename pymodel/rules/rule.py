"""What all rules share: the refusals of R2, R3, R5 and R8, the wait for a pool slot, and what becomes of orphans.

A rule says what a parent does with its slot. Each is a subclass, a page long, that says how a run is admitted and how
it gives its slot back.
"""

from __future__ import annotations

from typing import Any, ClassVar

from slotcheck.pymodel.conduct import Conduct
from slotcheck.pymodel.rules import order
from slotcheck.pymodel.rules.order import judge as judge_order
from slotcheck.pymodel.rules.state import Draft, Job, Outcome, Refusal, Run, RunId, State, drafted

__all__ = ["TIES", "Rule"]

TIES = ("served", "oldest")


class Rule:
    """A rule as pure functions from a state and a call to the next state and the answer."""

    #: As in ``slotcheck check --subject rule:NAME``.
    name: ClassVar[str]
    #: What a run does between its own steps, because of the rule.
    conduct: ClassVar[Conduct] = Conduct()
    #: Codes with which the rule declines a run for good where lending would let it wait.
    declines: ClassVar[frozenset[str]] = frozenset()

    def declared(self, levels: int) -> Rule:
        """The rule for trees of so many levels, where it must know that ahead."""
        return self

    def initial(self, cap: int, *, order: str = "fewest_held", tie: str = "served", relend: bool = False) -> Any:
        """A pool that knows no run (R1)."""
        _judge_cap(cap)
        judge_order(order)
        if tie not in TIES:
            raise ValueError(f"tie is one of {', '.join(TIES)}, not {tie!r}")
        return State(cap, 0, frozenset(), (), frozenset(), frozenset(), order, tie, relend)

    def ask(self, state: Any, run: RunId, parent: RunId | None = None, job: Job | None = None) -> Outcome:
        """R2."""
        draft = drafted(state)
        self._enter(draft, run, parent, job)
        if not self._admit(draft, run):
            order.join(draft, run)
        return draft.done()

    def try_ask(self, state: Any, run: RunId, parent: RunId | None = None, job: Job | None = None) -> Outcome:
        """R2 without step 3."""
        draft = drafted(state)
        self._enter(draft, run, parent, job)
        return draft.done() if self._admit(draft, run) else Outcome(state, (), ())

    def finish(self, state: Any, run: RunId) -> Outcome:
        """R3."""
        draft = drafted(state)
        known = draft.runs.get(run)
        if known is not None and known.phase == "waiting":
            raise Refusal("not_admitted", run)
        if known is None or known.phase == "parked":
            raise Refusal("not_known", run)
        self._end(draft, known)
        return draft.done()

    def cancel(self, state: Any, run: RunId) -> Outcome:
        """R5."""
        draft = drafted(state)
        known = draft.runs.get(run)
        if known is None or known.phase == "parked":
            raise Refusal("not_known", run)
        if known.phase == "waiting":
            order.leave(draft, run, pool_slot=False)
            draft.forget(run)
        else:
            self._end(draft, known)
        return draft.done()

    def resize(self, state: Any, cap: int) -> Outcome:
        """R8."""
        _judge_cap(cap)
        draft = drafted(state)
        draft.cap = cap
        self._serve(draft)
        return draft.done()

    # -- what a rule says ----------------------------------------------------------------------------------------

    def _admit(self, draft: Draft, run: RunId) -> bool:
        """Give a run that has just entered a slot, if the rule has one for it."""
        raise NotImplementedError

    def _end(self, draft: Draft, run: Run) -> None:
        """A run in flight has ended: what becomes of its children and of its slot."""
        raise NotImplementedError

    # -- what the rules share ------------------------------------------------------------------------------------

    def _take(self, draft: Draft, run: RunId) -> bool:
        """A pool slot for a run in no queue, if one is free and its job may take it."""
        if draft.taken >= draft.cap or not order.has_room(draft, run):
            return False
        draft.taken += 1
        draft.admit(run, "pool")
        return True

    def _serve(self, draft: Draft) -> None:
        """Free pool slots go to waiters, one by one, R6 applied anew to each."""
        while draft.waiting and draft.taken < draft.cap:
            run = order.pick(draft)
            if run is None:
                return
            order.leave(draft, run, pool_slot=True)
            self._take(draft, run)

    def _orphan(self, draft: Draft, run: RunId, *, keep: RunId | None = None) -> None:
        """The run has ended: its children lose their parent, all but the one to keep."""
        for child in draft.known_children(run):
            if child.run != keep:
                draft.runs[child.run] = child._replace(parent=None)
        draft.children[run] = [] if keep is None else [keep]

    def _enter(self, draft: Draft, run: RunId, parent: RunId | None, job: Job | None) -> None:
        if run in draft.runs:
            raise Refusal("run_known", run)
        if parent is not None and (parent not in draft.runs or draft.runs[parent].phase != "in_flight"):
            raise Refusal("parent_not_in_flight", parent)
        above = None if parent is None else draft.runs[parent]
        if job is None:
            job = (run,) if above is None else above.job
        for other in draft.runs.values():
            shorter = min(len(job), len(other.job))
            if job != other.job and job[:shorter] == other.job[:shorter]:
                raise Refusal("job_not_leaf", job)
        if not job:
            raise Refusal("job_not_leaf", job)
        level = 1 if above is None else above.level + 1
        draft.runs[run] = Run(run, "waiting", "none", False, level, parent, job)


def _judge_cap(cap: object) -> None:
    if not isinstance(cap, int) or isinstance(cap, bool) or cap < 1:
        raise Refusal("bad_cap", cap)
