"""Faulty asyncio ports: each is `slotlending.aio.Pool` with one mistake in it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Any, ClassVar

from slotlending import aio
from slotlending.aio import Group, Pool, Run, Statistics
from slotlending.aio_run import INNERMOST, Slot, find
from slotlending.errors import Refused
from slotlending.snapshot import IN_FLIGHT, WAITING, Grant

__all__ = ["PORTS", "FaultyPort"]


class FaultyPort(Pool):
    """A port with a mistake in it."""

    mistake: ClassVar[str]
    #: The invariant that must catch it.
    caught_by: ClassVar[str]
    #: What its groups are.
    groups: ClassVar[type[Group]] = Group

    def group(self, name: str | None = None, **options: Any) -> Group:
        """As for any port, but of the class of this one."""
        return self.groups(self, slot=super().group(name, **options)._slot)

    def _group_of(self, run: Run) -> Group:
        return self.groups(self, run=run)


class DropsCancelledGrant(FaultyPort):
    mistake = "a grant that arrives together with a cancellation is dropped: nobody gives the slot back"
    caught_by = "NoSlotLost"

    def _cancel(self, run: Run) -> None:
        if run.phase == WAITING:
            super()._cancel(run)


class WakesWrongWaiter(FaultyPort):
    mistake = "the slot goes to one waiter, and another one is woken"
    caught_by = "WorksWithSlot"

    def _wake(self, granted: tuple[Grant, ...]) -> None:
        others = self.statistics().waiters
        super()._wake(((others[-1], "pool"),) if others else granted)


class KeepsSlotOnError(FaultyPort):
    mistake = "the slot is given back where a block ends well, and forgotten where an exception ends it"
    caught_by = "NoSlotLost"

    async def __aexit__(self, kind: object = None, *_: object) -> None:
        if kind is None:
            await self._end_by_hand()


class _Unprimed(Group):
    def _make(self, child: Any, run: Run, body: Any) -> asyncio.Task[Any]:
        self._children[run] = None
        self._unbegun[run] = (child, body)
        return self._tasks.create_task(child, name=run.name)


class LosesUnstartedTask(FaultyPort):
    mistake = "a child's slot is given back by its coroutine, which never begins if the task is cancelled at once"
    caught_by = "NoSlotLost"
    groups = _Unprimed


class _Late(Group):
    def _never_began(self, run: Run, _: object = None) -> None:
        self._late = [*getattr(self, "_late", ()), run]

    async def __aexit__(self, *error: Any) -> None:
        try:
            await super().__aexit__(*error)
        finally:
            for run in getattr(self, "_late", ()):
                super()._never_began(run)


class KeepsSlotTillGroupEnds(FaultyPort):
    mistake = "the slot of a child that was cancelled before its first step comes back only when the group ends"
    caught_by = "NoSlotLost"
    groups = _Late


class LeavesDeadWaiter(FaultyPort):
    mistake = "a run whose wait is cancelled stays in the queues, and gets a slot some time"
    caught_by = "NoSlotLost"

    def _cancel(self, run: Run) -> None:
        if run.phase != WAITING:
            super()._cancel(run)


class GivesBackTwice(FaultyPort):
    mistake = "a loan is given back twice: the refusal of the second time is swallowed"
    caught_by = "CallsAllowed"

    def _finish(self, run: Run) -> None:
        loan = run.token == "loan"
        super()._finish(run)
        if loan:
            with suppress(Refused):
                super()._finish(run)


class _Leaving(Group):
    async def __aexit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._slot is not None:
            self.run._leave()


class GroupDoesNotWait(FaultyPort):
    mistake = "a group is left without waiting for its tasks"
    caught_by = "GroupWaits"
    groups = _Leaving


class _Silent(Group):
    async def __aexit__(self, *error: Any) -> None:
        with suppress(ExceptionGroup):
            await super().__aexit__(*error)


class SwallowsChildError(FaultyPort):
    mistake = "what the children of a group raised is not raised at its end"
    caught_by = "ErrorsDelivered"
    groups = _Silent


class _Hasty(Group):
    async def start(self, *args: Any, **options: Any) -> asyncio.Task[Any]:  # type: ignore[override]
        return self.start_soon(*args, **options)


class SpawnsBeforeAdmission(FaultyPort):
    mistake = "start makes the task at once: a loop that starts children is not held back"
    caught_by = "AdmissionBeforeSpawn"
    groups = _Hasty


class _Forgetful(Group):
    def start_soon(  # type: ignore[override]
        self, fn: Any, *args: Any, name: str | None = None, **_: Any
    ) -> asyncio.Task[Any]:
        async def child() -> None:
            async with self._pool.slot(name):
                await fn(*args)

        return asyncio.create_task(child(), name=name)


class ForgetsTask(FaultyPort):
    mistake = "start_soon makes a task that no group knows: what it raises nobody sees"
    caught_by = "NothingHidden"
    groups = _Forgetful


class WaitsOnWhenCancelled(FaultyPort):
    mistake = "a wait that is cancelled is begun again, and the cancellation is gone"
    caught_by = "CancelDelivered"

    async def _admitted(self, run: Run) -> None:
        waiter = run._waiter = asyncio.get_running_loop().create_future()
        while not waiter.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(waiter)


class CancelsNeighbours(FaultyPort):
    mistake = "a run whose wait is cancelled takes with it all that wait beside it"
    caught_by = "OthersGoOn"

    def _cancel(self, run: Run) -> None:
        super()._cancel(run)
        for other in self.statistics().waiters:
            if other._waiter is not None:
                other._waiter.cancel()


class ResizeWakesNobody(FaultyPort):
    mistake = "raising the cap grants slots to runs that nobody wakes"
    caught_by = "NoTaskLeft"

    def resize(self, cap: int) -> None:
        self.core.resize(cap)


class ResizesBehindTheCore(FaultyPort):
    mistake = "the cap is changed without the core's knowing: nobody who waits is served"
    caught_by = "NoLostWakeUp"

    def resize(self, cap: int) -> None:
        self.core._cap = cap


class LeavesTimer(FaultyPort):
    mistake = "the timer that tells of a long wait is not cancelled when the wait ends"
    caught_by = "NoTaskLeft"

    async def _admitted(self, run: Run) -> None:
        asyncio.get_running_loop().call_later(60, repr, run)
        await super()._admitted(run)


class NeverWaits(FaultyPort):
    mistake = "a run goes on as soon as it has asked"
    caught_by = "ExecutingWithinCap"

    async def _admitted(self, run: Run) -> None:
        await asyncio.sleep(0)

    def _finish(self, run: Run) -> None:
        self._cancel(run)


class ChildrenAskForNothing(FaultyPort):
    mistake = "a run below another one is let through: its parent has a slot"
    caught_by = "BodiesWithinBound"

    def _asked(self, run: Run, name: str | None, parent: Any, job: Any, **options: Any) -> bool:
        try:
            aio.current_run(self)
        except aio.NoRun:
            return super()._asked(run, name, parent, job, **options)
        return True

    def _finish(self, run: Run) -> None:
        if run.phase == IN_FLIGHT:
            super()._finish(run)


class IgnoresJob(FaultyPort):
    mistake = "the job that a run is given is dropped: it belongs to that of its parent, or to one of its own"
    caught_by = "AsksAsDemanded"

    def _asked(self, run: Run, name: str | None, parent: Any, job: Any, **options: Any) -> bool:
        return super()._asked(run, name, parent, None, **options)


class LateChildLosesJob(FaultyPort):
    mistake = "a child that asks when its parent has ended is in a job of its own, and not in its parent's"
    caught_by = "AsksAsDemanded"

    def _asked(self, run: Run, name: str | None, parent: Any, job: Any, **options: Any) -> bool:
        around = find(self)
        if parent is INNERMOST and around is not None and around.phase != IN_FLIGHT:
            parent = None
        return super()._asked(run, name, parent, job, **options)


class ParentOptionIgnored(FaultyPort):
    mistake = "the parent that a run is given is ignored: it asks below the innermost run"
    caught_by = "AsksAsDemanded"

    def slot(self, name: str | None = None, *, parent: object = None, job: Any = None) -> Slot:
        """As for any port, but for the parent."""
        return super().slot(name, job=job)

    def try_ask(self, name: str | None = None, *, parent: object = None, job: Any = None) -> Run | None:
        """As for any port, but for the parent."""
        return super().try_ask(name, job=job)


class LowersWhenIdle(FaultyPort):
    mistake = "the cap is lowered only where no more slots than that are out, and else left as it was"
    caught_by = "CapAndOrderAsGiven"

    def resize(self, cap: int) -> None:
        if self.core.statistics().taken <= cap:
            super().resize(cap)


class IgnoresLowering(FaultyPort):
    mistake = "the cap can be raised, and is never lowered"
    caught_by = "CapAndOrderAsGiven"

    def resize(self, cap: int) -> None:
        super().resize(max(cap, self.core.statistics().cap))


class IgnoresOrder(FaultyPort):
    mistake = "whatever order and tie the pool is made with, it has the default ones"
    caught_by = "CapAndOrderAsGiven"

    def __init__(self, cap: int, *, order: str = "", tie: str = "", **options: Any) -> None:
        super().__init__(cap, **options)


class ForgetsOnBaseException(FaultyPort):
    mistake = "the slot is given back where a block ends well, by an Exception or a cancel, but by nothing else"
    caught_by = "NoSlotLost"

    async def __aexit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        if kind is None or issubclass(kind, Exception | asyncio.CancelledError):
            await self._end_by_hand()


class StatisticsLies(FaultyPort):
    mistake = "statistics names nobody, and held counts the slots of all jobs for each"
    caught_by = "CountsTold"

    def statistics(self) -> Statistics:
        """As for any port, but of nobody."""
        return super().statistics()._replace(borrowers=(), waiters=())

    def held(self, job: Any) -> int:
        """As for any port, but of all jobs."""
        return super().held(())


class NoThreadCheck(FaultyPort):
    mistake = "once a pool belongs to a loop, calls from anywhere are let through"
    caught_by = "OthersRefused"

    def _check_caller(self, *, leaving: bool = False) -> None:
        if self._loop is None:
            super()._check_caller(leaving=leaving)


#: All of them, by name.
PORTS: dict[str, type[FaultyPort]] = {port.__name__: port for port in FaultyPort.__subclasses__()}
