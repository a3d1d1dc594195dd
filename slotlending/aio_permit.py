"""The asyncio port of the build permit: a pool whose runs can be builds of components.

`Pool` is `slotlending.aio.Pool` with one method more. ``await pool.build("docs", make_docs, key=digest)`` runs
``make_docs()`` under the permit of "docs", unless the last build of it had the same key: then it returns what that one
returned. Two pages that share a style sheet, built at the same time with two slots; the style sheet is built once::

    import asyncio
    from slotlending.aio_permit import Pool

    pool = Pool(2)

    async def style() -> str:
        await asyncio.sleep(0.01)
        return "css"

    async def page(name: str) -> str:
        css = await pool.build("style", style, key="v1")
        return f"{name} with {css}"

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            pages = [tasks.create_task(pool.build(name, page, name)) for name in ("home", "about")]
        print([page.result() for page in pages])

    asyncio.run(main())

Theory of operation
===================

The port decides nothing about permits, as the one below it decides nothing about slots: each call is one step of
`slotlending.permit.Permits`, whose answer names the runs that were handed a permit, and the port wakes those in the
same step. All calls of the pool go through it. A build is a coroutine of the caller's task, not a task of its own::

    enters --handed the permit at once, or in a step of another run--> resumes --the memo answers it--> returns
                                     ^                                    \\--asks for a slot--v
                                     \\-------------------------------------------------------/
                                                                         \\--works--> its body --> finish or fail

Wherever it is cancelled it is out of every queue in the same step: before its body is on by `Permits.cancel`, after
that by `Permits.fail`, as for any error. Builds that a body starts are those of its children, in its own task or in
others, an `asyncio.TaskGroup` say; they borrow its slot.

`Pool.explain` tells who waits for a slot or a permit, which run awaits a build in its own task, and which group of the
pool (`Run.group`) waits for its children. So components that mount each other are named as the circle that they are, if
the bodies await the builds themselves or start them in such a group. That a task waits for others otherwise
(`asyncio.TaskGroup`, ``gather``, ``await task``) asyncio tells nobody, so circles through that are named only where
`Run.waits_for` tells of it.

Memory: of a component that nobody builds, the key of its last build and what that returned, until `Pool.forget`; of one
without a key nothing.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, current_task
from collections.abc import Callable, Coroutine, Hashable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar, TypeVarTuple, cast
from weakref import ref

from slotlending import aio
from slotlending.aio_group import judge_function
from slotlending.aio_run import ENDED, INNERMOST, Parent, Run
from slotlending.errors import ComponentAbove
from slotlending.explain import Explanation, Waits
from slotlending.jobs import Job
from slotlending.permit import ASKS, WORKS, Lineage, PermitAnswer, Permits, PermitStatistics, Present
from slotlending.pool import Pool as Core
from slotlending.pool import Statistics
from slotlending.snapshot import IN_FLIGHT

__all__ = ["QUEUED", "Build", "ComponentAbove", "Pool", "live_parent"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

#: The phase of a build that has entered and not asked for a slot.
QUEUED = "queued"

#: For each pool the components whose bodies this context is in, or was made in, from the top down. Contexts are copied
#: from task to task, so a chain of tasks, each begun by the one before, would keep all its pools if this did.
_above: ContextVar[tuple[tuple[ref[Pool], Lineage], ...]] = ContextVar("slotlending.aio_permit.above", default=())


def live_parent(waiting: Iterable[Run], mounter: Run | None = None) -> Run | None:
    """The run that a run of a live component asks under (R10): ``pool.build(..., parent=live_parent(...), job=...)``.

    Args:
        waiting: the runs that wait for it, for its readiness say, the nearest first.
        mounter: the run that mounted the live component.

    Returns:
        The first of those that wait that is in flight; if nobody waits, the mounter while that is in flight; else None.
        A run that has ended, or was never admitted, is nobody's parent.
    """
    for run in (*waiting, mounter):
        if run is not None and run.phase == IN_FLIGHT:
            return run
    return None


class Build(Run):
    """A run of a component. Inside its body it is `slotlending.aio.current_run`."""

    __slots__ = ("_component", "_well")

    def __init__(self, pool: Pool, component: Hashable) -> None:
        super().__init__(pool)
        self._component = component
        self._well = False

    @property
    def component(self) -> Hashable:
        """What it is a run of."""
        return self._component

    @property
    def phase(self) -> str:
        """As for any run; and "queued" while it has not asked for a slot, since another one builds its component."""
        phase = super().phase
        return QUEUED if phase == ENDED and self._present() is not None else phase

    @property
    def parent(self) -> Run | None:
        """As for any run; of one that has not asked for a slot, the run that it will ask under."""
        present = self._present()
        return super().parent if present is None else cast("Run | None", present.parent)

    def _present(self) -> Present | None:
        return self._permits().state(self)

    def _permits(self) -> Permits:
        return cast("Pool", self._pool).permits

    def _awaited(self) -> str | None:
        awaited = super()._awaited()
        if awaited is None and self._present() is not None and self._permits().holder(self._component) is not self:
            awaited = f"the permit of {self._component!r}"
        return awaited

    def _note(self) -> None:
        """What can be read of it, now and when it has ended."""
        present = self._present()
        if present is not None:
            self._job = None if present.job == (self,) else present.job
            state = self._pool._states.get(self)
            if state is not None:
                self._level = state.level
            elif present.parent is not None:  # it has not asked yet
                self._level = self._pool._states[cast(Run, present.parent)].level + 1


class _Core:
    """Permits in the place of the core: whoever is handed a permit by a call is woken in that step."""

    def __init__(self, permits: Permits, hand: Callable[[tuple[Hashable, ...]], None]) -> None:
        self._permits, self._hand = permits, hand

    def enter(self, *args: Any) -> PermitAnswer:
        return self._told(self._permits.enter(*args))

    def _told(self, answer: PermitAnswer) -> PermitAnswer:
        if answer.handed:
            self._hand(answer.handed)
        return answer

    def ask(self, run: Run, parent: Run | None, job: Job | None) -> PermitAnswer:
        return self._told(self._permits.ask(run, parent, job))

    def try_ask(self, run: Run, parent: Run | None, job: Job | None) -> PermitAnswer:
        return self._told(self._permits.try_ask(run, parent, job))

    def finish(self, run: Run) -> PermitAnswer:
        failed = isinstance(run, Build) and not run._well
        return self._told(self._permits.fail(run) if failed else self._permits.finish(run))

    def cancel(self, run: Run) -> PermitAnswer:
        return self._told(self._permits.cancel(run))

    def resize(self, cap: int) -> PermitAnswer:
        return self._told(self._permits.resize(cap))

    def resume(self, run: Run) -> PermitAnswer:
        return self._told(self._permits.resume(run))

    def statistics(self) -> Statistics:
        return self._permits.pool.statistics()

    def held(self, job: Job) -> int:
        return self._permits.held(job)

    def explain(self, waits: Waits | None) -> Explanation:
        return self._permits.explain(waits)


class Pool(aio.Pool):
    """`slotlending.aio.Pool`, whose runs can be builds. Arguments as there.

    ``long_wait`` is also told of a build that waits for its permit: once a build, from when it entered.
    """

    __slots__ = ("_core_with_permits", "_handing", "_permits", "_results")

    def _calls(self, core: Core) -> Core:
        self._permits = Permits(core)
        self._core_with_permits = _Core(self._permits, self._hand)
        self._handing: dict[Run, Future[None]] = {}
        self._results: dict[Hashable, Any] = {}  # of the bodies whose keys are the memos
        return cast(Core, self._core_with_permits)

    @property
    def core(self) -> Core:
        """The state machine below the permits, to look at."""
        return self._permits.pool

    @property
    def permits(self) -> Permits:
        """The permits, to look at: their ids are `Run` objects. Changed behind the port's back, they wake nobody."""
        return self._permits

    async def build(
        self,
        component: Hashable,
        fn: Callable[[*Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        key: Hashable | None = None,
        name: str | None = None,
        parent: Parent = INNERMOST,
        job: Job | None = None,
        lineage: Lineage | None = None,
    ) -> T:
        """Run ``fn(*args)`` under the component's permit; or return what its last build did, if that had the same key.

        Args:
            component: what is built, hashable. Its builds work one after another.
            fn, args: a coroutine function, and what it is called with, after the permit and a slot are there.
            key: what tells that nothing has changed; None if nothing can.
            name: of the run; by default that of the component.
            parent, job: as for `slotlending.aio.Pool.slot`.
            lineage: what is above it (see `lineage`), where that is not its parent and what is above that.

        Raises:
            ComponentAbove: it is below a build of the same component, so it would wait for itself.
            RunKnown, ParentNotInFlight, JobNotLeaf, TypeError: see `slotlending.permit.Permits.enter`.
            BaseException: what ``fn`` raised; then nothing is stored, and the next build works.
        """
        if component is None:
            raise TypeError("None is no component: a block that needs no permit is `pool.slot()`")
        judge_function(fn, "build(component, fetch, url)")
        run = Build(self, component)
        self._entered(run, name or str(component), key, parent, job, lineage)
        run._note()
        self._note_asker(run)
        try:
            if not await self._works(run):
                return cast(T, self._results[component])
            return await self._body(run, key, fn, args)
        finally:
            self._asking.pop(run, None)

    def forget(self, component: Hashable) -> None:
        """Forget the memo of a component, and what its last build returned: its next build works.

        See `slotlending.permit.Permits.forget`. Of a component that is not built again, this frees the memory.
        """
        if self._loop is not None:  # before the first use anybody may
            self._check_caller()
        self._permits.forget(component)
        self._forget_result(component)

    def lineage(self) -> Lineage:
        """The components above what the caller mounts. What mounts later, outside of this, has to be given it."""
        return next((above for pool, above in _above.get() if pool() is self), ())

    def permit_statistics(self) -> PermitStatistics:
        """How many runs are present, work under a permit, queue on one, and how many of those sit on a slot."""
        self._check_reader()
        return self._permits.statistics()

    # -- a build's way -------------------------------------------------------------------------------------------

    def _entered(
        self,
        build: Build,
        name: str,
        key: Hashable | None,
        parent: Parent,
        job: Job | None,
        lineage: Lineage | None,
    ) -> None:
        def enter(_: Run, lender: Run | None, job: Job | None) -> PermitAnswer:
            above = self.lineage() if lineage is None else lineage
            if lineage is None and lender is not None:
                # It may be one that waits for this run from elsewhere: what is above that is above this, too.
                given = self._permits.state(lender)
                more = () if given is None else (*given.lineage, given.component)
                above += tuple([one for one in more if one is not None and one not in above])
            return self._core_with_permits.enter(build, build.component, key, lender, job, above)

        self._asked(build, name, parent, job, ask=enter)

    async def _works(self, run: Build) -> bool:
        """Until the run works (True) or was answered (False). If that is cancelled, the run is over."""
        core, timer = self._core_with_permits, None
        try:
            while True:
                if self._permits.holder(run.component) is not run:
                    timer = timer or self._long_wait_timer(run)
                    await self._handed(run)
                answer = core.resume(run)
                run._note()
                if answer.granted:
                    self._wake(answer.granted)
                if answer.came_to != ASKS:
                    return answer.came_to == WORKS
        except BaseException:
            self._cancel(run)
            self._forget_result(run.component)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    async def _handed(self, run: Build) -> None:
        """Wait until the run is handed its permit."""
        self._handing[run] = cast(AbstractEventLoop, self._loop).create_future()
        try:
            await self._handing[run]
        finally:
            del self._handing[run]

    def _hand(self, runs: Iterable[Hashable]) -> None:
        """Wake those who were handed a permit. (One who does not wait makes the call itself, or was cancelled.)"""
        for run in runs:
            waiter = self._handing.get(cast(Run, run))
            if waiter is not None and not waiter.done() and not waiter.get_loop().is_closed():
                waiter.set_result(None)

    async def _body(
        self, run: Build, key: Hashable | None, fn: Callable[[*Ts], Coroutine[Any, Any, T]], args: tuple[*Ts]
    ) -> T:
        run._enter(by=current_task())
        above = self.lineage()
        above += tuple([one for one in self._permits.lineage(run) if one not in above])  # all that it was entered with
        others = [(pool, lineage) for pool, lineage in _above.get() if pool() not in (None, self)]
        token = _above.set((*others, (ref(self), above)))
        try:
            result = await fn(*args)
            run._well = True
        finally:
            with suppress(ValueError):  # the garbage collector ends it in another context
                _above.reset(token)
            run._leave()
        if key is not None and self._permits.memo(run.component) == key:
            self._results[run.component] = result
        return result

    def _left(self) -> Iterable[Run]:
        queued = [run for run in self._permits.present() if run not in self._states]
        return (*self._states, *cast("list[Run]", queued))

    def _finish(self, run: Run) -> None:
        try:
            super()._finish(run)
        finally:
            if isinstance(run, Build):
                self._forget_result(run.component)

    def _forget_result(self, component: Hashable) -> None:
        if self._permits.memo(component) is None:
            self._results.pop(component, None)
