"""Faulty permits: each is `slotlending.permit.Permits` with one mistake in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from slotlending.errors import NotHandedOver
from slotlending.permit import ANSWERED, ASKS, WORKS, Lineage, PermitAnswer, Permits, Present, _Component

__all__ = ["PERMITS", "FaultyPermits"]


class FaultyPermits(Permits):
    """Permits with a mistake in them."""

    __slots__ = ()

    mistake: ClassVar[str]
    #: The invariant that must catch it.
    caught_by: ClassVar[str]
    #: What may happen from outside for it to show.
    environment: ClassVar[str] = "plain"


class WaitsUnderPermit(FaultyPermits):
    mistake = "a holder without a slot asks for one and keeps the permit while it waits"
    caught_by = "PermitOrder"

    def resume(self, run: Hashable) -> PermitAnswer:
        state = self._present.get(run)
        of = None if state is None else self._components.get(state.component)
        if of is None or state is None or of.holder != run or self._pool.state(run) is not None:
            return super().resume(run)
        if state.key is not None and of.memo == state.key:
            return super().resume(run)
        self._slotless.leave(self._slotless.nodes[state.job])
        return self._told(self._pool.ask(run, state.parent, state.job), (), ASKS)

    def _queue(self, state: Present) -> tuple[Hashable, ...]:
        return (state.run,) if self._components[state.component].holder == state.run else super()._queue(state)


class PermitThenSlot(WaitsUnderPermit):
    mistake = "the wrong order: a run takes the permit first, and asks for a slot under it"
    caught_by = "NoDeadlockWithPermits"

    def enter(self, run: Any, component: Any, *more: Any) -> PermitAnswer:
        of = self._components.get(component) or _Component()
        if component is not None:
            self._components[component] = of
        with _present(of, of.present + 1):
            return super().enter(run, component, *more)


class SkipsMemoCheck(FaultyPermits):
    mistake = "a run that is handed the permit works without a look at the memo"
    caught_by = "NoDoubleWork"

    def resume(self, run: Hashable) -> PermitAnswer:
        state = self._present.get(run)
        if state is None or state.working:
            return super().resume(run)
        self._present[run] = state._replace(key=None)
        try:
            return super().resume(run)
        finally:
            self._present[run] = self._present[run]._replace(key=state.key)


class TakesSlotBeside(FaultyPermits):
    mistake = "a run that enters beside another one asks for a slot, and sits on it in the permit's queue"
    caught_by = "EnterTakesNoSlot"

    def enter(self, run: Any, component: Any, *more: Any) -> PermitAnswer:
        with _present(self._components.get(component) or _Component(), 0):
            return super().enter(run, component, *more)


class HandsToNewest(FaultyPermits):
    mistake = "a permit goes to the run that came last"
    caught_by = "PermitFirstCome"

    def _drop(self, of: _Component) -> tuple[Hashable, ...]:
        if of.queue:
            of.queue.move_to_end(next(reversed(of.queue)), last=False)
        return super()._drop(of)


class LosesPermit(FaultyPermits):
    mistake = "a permit that is dropped is put down, and nobody looks at the queue"
    caught_by = "NoPermitLost"

    def _drop(self, of: _Component) -> tuple[Hashable, ...]:
        of.holder = None
        return ()


class HandsOutTwice(FaultyPermits):
    mistake = "a run that queues is handed the permit, though another one holds it"
    caught_by = "PermitExclusive"

    def _queue(self, state: Present) -> tuple[Hashable, ...]:
        self._components[state.component].holder = state.run
        return (state.run,)


class CancelStaysInQueue(FaultyPermits):
    mistake = "a run that is cancelled in a permit's queue stays there, and is handed the permit some time"
    caught_by = "HolderPresent"
    environment = "cancel"

    def cancel(self, run: Hashable) -> PermitAnswer:
        state = self._present.get(run)
        of = None if state is None else self._components.get(state.component)
        queue = None if of is None else of.queue.copy()
        answer = super().cancel(run)
        if of is not None and queue and run in queue:
            of.queue = queue
        return answer


class CancelKeepsPermit(FaultyPermits):
    mistake = "a cancel between hand-over and resume is taken for one of a queued run: the permit stays with it"
    caught_by = "HolderPresent"
    environment = "cancel"

    def cancel(self, run: Hashable) -> PermitAnswer:
        state = self._present.get(run)
        of = None if state is None else self._components.get(state.component)
        if state is None or of is None or of.holder != run or state.working:
            return super().cancel(run)
        of.holder = None
        try:
            return super().cancel(run)
        finally:
            of.holder = run
            self._components[state.component] = of


class WorksWithoutSlot(FaultyPermits):
    mistake = "a run that was handed the permit works at once, slot or not"
    caught_by = "WorksUnderPermit"

    def _has_slot(self, run: Hashable) -> bool:
        return True


class StoresOnFailure(FaultyPermits):
    mistake = "a body that has failed leaves its key as the memo"
    caught_by = "MemoTrue"
    environment = "fail"

    def fail(self, run: Hashable) -> PermitAnswer:
        return self.finish(run)


class StoresBeforeChildren(FaultyPermits):
    mistake = "a body that ends before its children leaves its key as the memo"
    caught_by = "MemoTrue"
    environment = "early"

    def finish(self, run: Hashable) -> PermitAnswer:
        return self._end(run, well=True)


class KeepsOlderMemo(FaultyPermits):
    mistake = "a body that fails leaves the memo of the one before it, whose work it has half undone"
    caught_by = "Lockstep"
    environment = "fail"

    def fail(self, run: Hashable) -> PermitAnswer:
        state = self._present.get(run)
        memo = None if state is None else self.memo(state.component)
        answer = super().fail(run)
        if state is not None and memo is not None:
            self._components.setdefault(state.component, _Component()).memo = memo
        return answer


class AnsweredKeepsSlot(FaultyPermits):
    mistake = "a run that the memo answers ends, and its slot is never given back"
    caught_by = "EndedHoldsNoSlot"

    def resume(self, run: Hashable) -> PermitAnswer:
        state = self._present.get(run)
        of = None if state is None else self._components.get(state.component)
        if state is None or of is None or of.holder != run or not of.memo or of.memo != state.key:
            return super().resume(run)
        handed = self._drop(of)
        self._over(state)
        return PermitAnswer((), (), handed, ANSWERED)


class AsksWithoutParent(FaultyPermits):
    mistake = "a run that asks for its slot after a look at the memo no longer knows its parent"
    caught_by = "NoDeadlockWithPermits"

    def resume(self, run: Hashable) -> PermitAnswer:
        state = self._present.get(run)
        if state is not None and not self._has_slot(run):
            self._present[run] = state._replace(parent=None)
        return super().resume(run)


class ForgetsEndedMounters(FaultyPermits):
    mistake = "a component below itself is refused only while a run of it above is present"
    caught_by = "Lockstep"
    environment = "early"

    def _judge(self, run: Any, component: Any, key: Any, parent: Any, job: Any, lineage: Lineage | None) -> Present:
        told = super()._judge(run, None, key, parent, job, lineage).lineage
        seen = tuple(one for one in told if any(other.component == one for other in self._present.values()))
        return super()._judge(run, component, key, parent, job, seen)._replace(lineage=told)


class MountsItself(FaultyPermits):
    mistake = "a component below itself is let in: it queues on the permit of a run that waits for it"
    caught_by = "NoDeadlockWithPermits"

    def _judge(self, run: Any, component: Any, key: Any, parent: Any, job: Any, lineage: Lineage | None) -> Present:
        return super()._judge(run, None, key, parent, job, lineage)._replace(component=component)


class ResumesTwice(FaultyPermits):
    mistake = "a run whose body is on is told to begin once more"
    caught_by = "Refused"

    def resume(self, run: Hashable) -> PermitAnswer:
        try:
            return super().resume(run)
        except NotHandedOver:
            state = self._present[run]
            if state.working:
                return PermitAnswer(came_to=WORKS)
            raise


@contextmanager
def _present(of: _Component, runs: int) -> Iterator[None]:
    """Meanwhile it looks as if so many runs of the component were present."""
    more, of.present = of.present - runs, runs
    try:
        yield
    finally:
        of.present += more


def _all(faulty: type[FaultyPermits]) -> Iterator[type[FaultyPermits]]:
    for one in faulty.__subclasses__():
        yield one
        yield from _all(one)


#: All of them, by name.
PERMITS: dict[str, type[FaultyPermits]] = {faulty.__name__: faulty for faulty in _all(FaultyPermits)}
