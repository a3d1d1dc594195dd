"""Faulty pools: each is `slotlending.Pool` with one mistake in it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from slotlending.errors import BadCap, ParentNotInFlight, RunKnown
from slotlending.order import OLDEST
from slotlending.pool import Pool
from slotlending.snapshot import IN_FLIGHT, LOAN, NONE, PARKED, POOL, WAITING, Answer, RunState, Snapshot

__all__ = ["Mutant"]


class Mutant(Pool):
    """A pool with a mistake in it."""

    mistake: ClassVar[str]
    #: The invariant that must catch it.
    caught_by: ClassVar[str]
    #: Whether it takes a long random history: jobs, `try_ask`, ids asked again, calls refused in between.
    in_histories: ClassVar[bool] = False


class LeaksCancelledGrant(Mutant):
    mistake = "a cancel between grant and resume is taken for one of a waiting run: the slot is lost"
    caught_by = "NoSlotLeak"

    def cancel(self, run: Hashable) -> Answer:
        state = self._runs.get(run)
        if state is not None and state.phase == IN_FLIGHT and run not in self._children and run not in self._queues:
            self._forget(state)
            return Answer()
        return super().cancel(run)


class LosesWakeUp(Mutant):
    mistake = "a pool slot that comes back is put down, and nobody looks at the queue"
    caught_by = "NoLostWakeUp"

    def _give_back(self, state: RunState) -> Answer:
        if state.token == LOAN:
            return super()._give_back(state)
        self._return_slot(state)
        self._forget(state)
        return Answer()


class ForgetsWaitingChild(Mutant):
    mistake = "a loan that comes back stays with the lender while a child waits for it"
    caught_by = "NoLostWakeUp"

    def _loan_returned(self, lender: Hashable) -> Answer:
        return Answer()


class WaitsInOneQueue(Mutant):
    mistake = "a waiting child stands in the pool's queue only: alone with its parent it waits for ever"
    caught_by = "NoDeadlock"

    def _wait(self, run: Hashable, lender: RunState | None, job: Any) -> Answer:
        return super()._wait(run, None, job)


class ReleasesParkedTwice(Mutant):
    mistake = "a slot parked with its loan is given back when its run ends, and again when the loan comes back"
    caught_by = "UnlentWithinCap"

    def _end(self, state: RunState) -> Answer:
        answer = super()._end(state)
        if state.lent and state.token == POOL:
            self._return_slot(state)
            return self._serve()
        return answer


class ReturnsLoanToPool(Mutant):
    mistake = "a loan goes to the pool when it ends, though the lender has the slot"
    caught_by = "NoSlotLeak"

    def _loan_returned(self, lender: Hashable) -> Answer:
        answer = super()._loan_returned(lender)
        if answer == Answer():
            self._taken -= 1
            return self._serve()
        return answer


class CascadeStopsShort(Mutant):
    mistake = "a loan that comes back to a parked lender frees that lender, but not the one above it"
    caught_by = "OneChainPerSlot"

    def _give_back(self, state: RunState) -> Answer:
        lender = self._runs.get(state.parent) if state.token == LOAN else None
        if lender is not None and lender.phase == PARKED and lender.token == LOAN:
            self._forget(state)
            self._forget(lender)
            self._parked -= 1
            return Answer()
        return super()._give_back(state)


class DropsParkedSlot(Mutant):
    mistake = "a run that ends while its slot is lent is forgotten, and its slot with it"
    caught_by = "OneChainPerSlot"

    def _end(self, state: RunState) -> Answer:
        answer = super()._end(state)
        if state.lent:
            self._parked -= 1
            borrower = self._borrowers.pop(state.run)
            self._orphan(borrower)
            self._forget(self._runs[state.run])
            self._children.pop(state.run, None)
        return answer


class LendsTwice(Mutant):
    mistake = "the guard 'already lent' is missing: every child that asks gets the parent's slot"
    caught_by = "LevelWithinCap"

    def _admit(self, run: Hashable, lender: RunState | None, job: Any) -> Answer | None:
        return super()._admit(run, None if lender is None else lender._replace(lent=False), job)


class ReleasesAtFirstChild(Mutant):
    mistake = "a parent gives its slot to its first child for good, and is in flight without one"
    caught_by = "InFlightWithinCapTimesLevels"

    def _lend(self, lender: Hashable, borrower: Hashable) -> None:
        state = self._runs[lender]
        self._runs[lender] = state._replace(token=NONE)
        self._runs[borrower] = self._runs[borrower]._replace(token=POOL)


class AdmitsOneTooFew(Mutant):
    mistake = "the last slot is never handed out, except when it is the only one"
    caught_by = "MaxInFlight"

    def _admit(self, run: Hashable, lender: RunState | None, job: Any) -> Answer | None:
        if self._cap > 1 and self._taken == self._cap - 1 and (lender is None or lender.lent):
            return None
        return super()._admit(run, lender, job)


class HandsOutAboveCap(Mutant):
    mistake = "after the cap was lowered, a slot that comes back is handed on all the same"
    caught_by = "CapRespected"

    def _serve(self, relent: tuple[Hashable, ...] = ()) -> Answer:
        if self._arrivals and self._taken >= self._cap:
            return Answer((self._grant(self._order.pick(), POOL),), relent)
        return super()._serve(relent)


class ResizeForgetsQueue(Mutant):
    mistake = "raising the cap frees slots, but serves nobody who waits"
    caught_by = "NoLostWakeUp"

    def resize(self, cap: int) -> Answer:
        arrivals, self._arrivals = self._arrivals, {}
        try:
            return super().resize(cap)
        finally:
            self._arrivals = arrivals


class ServesNewestFirst(Mutant):
    mistake = "a pool slot goes to the run that came last"
    caught_by = "FewestHeldFirst"

    def _serve(self, relent: tuple[Hashable, ...] = ()) -> Answer:
        granted = []
        while self._arrivals and self._taken < self._cap:
            granted.append(self._grant(next(reversed(self._arrivals)), POOL))
        return Answer(tuple(granted), relent)


class LendsToNewest(Mutant):
    mistake = "a loan that comes back goes to the child that came last, not to the one that has waited longest"
    caught_by = "Lockstep"

    def _loan_returned(self, lender: Hashable) -> Answer:
        queue = self._queues.get(lender)
        if queue:
            queue.move_to_end(next(reversed(queue)), last=False)
        return super()._loan_returned(lender)


class RelendKeepsPoolSlot(Mutant):
    mistake = "a child that goes on on loan forgets to return its pool slot"
    caught_by = "UnlentWithinCap"

    def _loan_returned(self, lender: Hashable) -> Answer:
        taken = self._taken
        answer = super()._loan_returned(lender)
        if answer.relent:
            self._taken = taken
        return answer


class RelendNotDone(Mutant):
    mistake = "relend is asked for and not done: a slot idles under its waiting parent"
    caught_by = "RelendLeavesNoIdle"

    def _loan_returned(self, lender: Hashable) -> Answer:
        relend, self._relend = self._relend, False
        try:
            return super()._loan_returned(lender)
        finally:
            self._relend = relend


class GrantNotTold(Mutant):
    mistake = "a waiter gets its slot, but the answer does not say so: nobody wakes it"
    caught_by = "GrantsTold"

    def finish(self, run: Hashable) -> Answer:
        return Answer((), super().finish(run).relent)


class HeldDrifts(Mutant):
    mistake = "a parked slot is no longer charged to its job"
    caught_by = "HeldMatches"

    def held(self, job: Any) -> int:
        parked = sum(
            state.phase == PARKED and state.token == POOL and state.job[: len(job)] == job
            for state in self._runs.values()
        )
        return int(super().held(job) - parked)


class ChangesOnRefusal(Mutant):
    mistake = "a run asked under a parent that is not in flight is refused, but remembered"
    caught_by = "Refused"

    def ask(self, run: Hashable, parent: Hashable | None = None, job: Any = None) -> Answer:
        try:
            return super().ask(run, parent, job)
        except ParentNotInFlight:
            self._runs[run] = RunState(run, WAITING, NONE, False, 1, None, (run,))
            raise


class AcceptsCapOfZero(Mutant):
    mistake = "a cap of 0 is accepted: everybody waits for ever"
    caught_by = "Refused"

    def __init__(self, cap: int, **options: Any) -> None:
        try:
            super().__init__(cap, **options)
        except BadCap:
            super().__init__(1, **options)
            self._cap = cap


class CrashesOnCancelledWaiter(Mutant):
    mistake = "cancelling a waiting child looks for a slot that it has not got"
    caught_by = "Answers"

    def cancel(self, run: Hashable) -> Answer:
        state = self._runs.get(run)
        if state is not None and state.phase == WAITING and state.parent is not None:
            raise KeyError(run)
        return super().cancel(run)


class KeepsHiddenState(Mutant):
    mistake = "the pool remembers more than its snapshot tells: the second slot that comes back is not handed on"
    caught_by = "Replays"

    _returned = 0

    def _serve(self, relent: tuple[Hashable, ...] = ()) -> Answer:
        self._returned += 1
        return Answer((), relent) if self._returned == 2 else super()._serve(relent)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> KeepsHiddenState:
        pool = super().restore(snapshot)
        assert isinstance(pool, KeepsHiddenState)
        return pool


class TryAskNeverGrants(Mutant):
    mistake = "try_ask judges the run and then never takes a slot"
    caught_by = "Lockstep"
    in_histories = True

    def try_ask(self, run: Hashable, parent: Hashable | None = None, job: Any = None) -> Answer:
        self._judge(run, parent, job)
        return Answer()


class NeverForgets(Mutant):
    mistake = "an id that was asked for once is refused for ever"
    caught_by = "Answers"
    in_histories = True

    _seen: frozenset[Hashable] = frozenset()

    def ask(self, run: Hashable, parent: Hashable | None = None, job: Any = None) -> Answer:
        self._judge(run, parent, job)
        if run in self._seen:
            raise RunKnown(run, "seen before")
        self._seen |= {run}
        return super().ask(run, parent, job)


class RefusalLeavesJob(Mutant):
    mistake = "a refused ask leaves its job in the tree of jobs, where no snapshot tells of it"
    caught_by = "Answers"
    in_histories = True

    def ask(self, run: Hashable, parent: Hashable | None = None, job: Any = None) -> Answer:
        try:
            return super().ask(run, parent, job)
        except ParentNotInFlight:
            self._jobs.enter((run,))
            raise


class DropsJobOfChild(Mutant):
    mistake = "a child's own job is dropped for its parent's"
    caught_by = "Lockstep"
    in_histories = True

    def ask(self, run: Hashable, parent: Hashable | None = None, job: Any = None) -> Answer:
        return super().ask(run, parent, job if parent is None or job == () else None)


class CancelIgnoresLoweredCap(Mutant):
    mistake = "a slot that a cancel gives back is handed on although the cap was lowered"
    caught_by = "Lockstep"
    in_histories = True

    def cancel(self, run: Hashable) -> Answer:
        cap, self._cap = self._cap, max(self._cap, self._taken)
        try:
            return super().cancel(run)
        finally:
            self._cap = cap


class PicksByName(Mutant):
    mistake = "a loan goes to the waiting child whose id is least, which looks right while ids are given in order"
    caught_by = "Lockstep"
    in_histories = True

    def _loan_returned(self, lender: Hashable) -> Answer:
        queue = self._queues.get(lender)
        if queue:
            queue.move_to_end(min(queue, key=repr), last=False)
        return super()._loan_returned(lender)


class OldestIsNewest(Mutant):
    mistake = "under the tie-break 'oldest' the newest waiter is served"
    caught_by = "Lockstep"
    in_histories = True

    def _serve(self, relent: tuple[Hashable, ...] = ()) -> Answer:
        granted = []
        while self._arrivals and self._taken < self._cap:
            run = next(reversed(self._arrivals)) if self._rules[1] == OLDEST else self._order.pick()
            granted.append(self._grant(run, POOL))
        return Answer(tuple(granted), relent)
