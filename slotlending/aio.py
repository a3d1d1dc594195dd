"""The asyncio port: tasks of one event loop wait for their slots.

``async with pool:`` where ``async with semaphore:`` stood, and a tree of tasks that wait for their children no longer
hangs. A walk with at most 8 tasks on each level of a tree of folders, however many folders there are::

    import asyncio, pathlib, sys
    from slotlending import aio

    async def walk(folder: pathlib.Path) -> None:
        async with aio.current_run().group() as group:
            for path in sorted(folder.iterdir()):
                if path.is_dir() and not path.is_symlink():
                    await group.start(walk, path)
        print(folder.name)

    async def main() -> None:
        async with aio.Pool(8):
            await walk(pathlib.Path(sys.argv[1]))

    asyncio.run(main())

Theory of operation
===================

The port decides nothing about slots. Every decision is that of `slotlending.Pool` (``core``), whose run ids here are
`Run` objects. A call is one step of the core; its answer names the runs that were granted a slot, and the port wakes
those in the same step. What it adds is waiting, waking, cancelling, and finding the parent.

**A wait.** A run that is not admitted at once gets one future, and its task awaits that::

    asked --granted at once-------------------------------------> admitted
    asked --waits--> waiting --granted: its future is set-------> admitted --resumes--> goes on
                     waiting --cancelled--> core.cancel: it leaves both queues
                                                                  admitted --cancelled--> core.cancel: its slot goes on

A grant counts from the hand-off, which is the core's step, so what a cancelled wait has to give back is asked of the
core and never read off the future. Whichever of grant and cancel came first, and if both fell into one step,
``core.cancel`` is right: it takes a waiting run out of the queues, or passes the slot of an admitted one on, and its
answer names those to wake. A grant that finds its future cancelled sets nothing: the task sees to the slot when it
resumes. If it never does, because its loop was closed, its coroutine is closed some time, which is a cancel too.

**A slot has one owner at every moment**, who gives it back whatever happens: from the grant on the coroutine that
asked, which does not pause again before the block (``async with``, ``with``) or the child's task takes over; from its
first step on the coroutine of that task. Between its making and its first step a task can be cancelled, and then no
``finally`` in it ever runs. In that gap the group is the owner, and a callback of the task gives the slot back.
`Pool.__aexit__` is looked up anew for every ``async with pool:``, and what is found ends the run of that block and no
other, so a block may end in any task, context and order (generators, tasks that nobody kept).

**Parents.** One context variable holds the innermost run of each pool, inside out. A task copies its context when it is
made, so children find their parent by themselves. An innermost run that has ended
is no parent: its late child asks without one, in its job (R2). A block that ends in another context than it began in
cannot set the variable back where it began; there its run is passed over when a parent is looked for.

**Groups** are `asyncio.TaskGroup` with a run. ``start`` waits for the child's slot in the caller (R12). There the child
asks below the caller's innermost run, which in the body of a group is the group's, since who waits is who must be able
to lend (R10). ``start_soon`` makes the task at once; its child asks below the group's run, which waits for it at the
end in any case.

**One loop, one thread.** A pool belongs to the loop that uses it first, until that is closed and no run is known. Calls
from elsewhere are refused by name. Only the end of a block is never refused: the garbage collector closes coroutines in
any thread, and then the loop is asked to give the slot back.

What this does not do: it limits neither memory nor CPU; it hurries nobody (a wait ends with a grant or a cancel); and
it cannot help runs that wait for anything but their own descendants. `Pool.explain` names those, and `Run.waits_for`
tells it of waits that it cannot see; circles through two pools it does not see.

Costs: one future for a run that has to wait, none for one that has not. Nothing grows with the number of runs but what
`statistics` and `explain` tell.
"""

from __future__ import annotations

import logging
from asyncio import AbstractEventLoop, Future, TimerHandle, current_task, get_running_loop
from collections.abc import Callable, Coroutine, Iterable, Mapping
from threading import current_thread, get_ident
from typing import Any, NamedTuple, NoReturn, cast
from weakref import ref

from slotlending.aio_group import Group
from slotlending.aio_run import INNERMOST, Parent, Run, Slot, find
from slotlending.errors import (
    AlreadyEntered,
    GroupNotOpen,
    Misuse,
    NoRun,
    NoRunningLoop,
    NotKnown,
    ParentNotInFlight,
    WrongLoop,
    WrongThread,
)
from slotlending.explain import Explanation, Wait
from slotlending.jobs import Job
from slotlending.order import FEWEST_HELD, SERVED
from slotlending.pool import Pool as Core
from slotlending.snapshot import IN_FLIGHT, WAITING, Grant, RunState

__all__ = [
    "AlreadyEntered",
    "Group",
    "GroupNotOpen",
    "LongWait",
    "Misuse",
    "NoRun",
    "NoRunningLoop",
    "Pool",
    "Run",
    "Slot",
    "Statistics",
    "WrongLoop",
    "WrongThread",
    "current_run",
]

_log = logging.getLogger("slotlending")

#: A wait that a user told of: what kind, which one, and the runs that can end it.
_Told = tuple[str, object, Iterable[Run] | Callable[[], Iterable[Run]]]


def current_run(pool: Pool | None = None) -> Run:
    """The innermost run that the caller is in, of this pool if one is given. It may have ended before the caller did.

    Raises:
        NoRun: the caller is in no run (of this pool).
    """
    run = find(pool)
    if run is None:
        raise NoRun("the caller is in no run" + ("" if pool is None else f" of {pool!r}"))
    return run


class LongWait(NamedTuple):
    """A run has waited for longer than the pool's ``long_wait``, and still does."""

    run: Run
    #: How long it has waited by now, in seconds of the loop's clock.
    seconds: float
    #: Who waits for what at this moment, and who holds that.
    explanation: Explanation
    #: What for, in words: "a slot"; or for a build (`slotlending.aio_permit`) "the permit of" its component.
    awaited: str = "a slot"

    def __str__(self) -> str:
        return f"{self.run!r} has waited {self.seconds:.3g} s for {self.awaited}: {self.explanation}"


class Statistics(NamedTuple):
    """The core's counts at one moment (see `slotlending.Statistics`), and the runs behind them."""

    cap: int
    taken: int
    free: int
    waiting: int
    in_flight: int
    parked: int
    #: The runs in flight in the order in which they asked, each with its token, "pool" or "loan".
    borrowers: tuple[tuple[Run, str], ...]
    #: The runs that wait for a slot, in order of arrival.
    waiters: tuple[Run, ...]


class _BlockEnd:
    """``Pool.__aexit__``: what it is looked up as ends the one block that it was looked up for.

    ``async with pool:`` looks both its methods up before it calls the first, so this is where its run is made. A plain
    method would have to find out at the end which of the pool's runs it ends. It cannot always: the end of a generator
    or of a dropped task can come in any task and context.
    """

    def __get__(self, pool: Pool | None, owner: type[Pool]) -> Callable[..., Coroutine[Any, Any, None]]:
        if pool is None:
            return Pool._end_by_hand
        run = pool._next = _BlockRun(pool)
        return run.end_block


class _BlockRun(Run):
    """The run of an ``async with pool:``."""

    __slots__ = ()

    async def end_block(self, *_: object) -> None:
        pool = self._pool
        if self._reset is None:
            # Looked up for its own sake: `pool.__aexit__(...)`, after `pool.__aenter__()`.
            if pool._next is self:
                pool._next = None
            await pool._end_by_hand()
        else:
            self._leave()


class Pool:
    """The shared slots of the tasks of one event loop. See the head of this file for how it works.

    ``async with pool:`` holds a slot for the block, or borrows that of the innermost run of this pool. For tasks that
    wait for no other tasks it is what ``async with semaphore:`` is; and it goes on where that hangs, when a task in
    its block waits for tasks that use the pool themselves.

    Args:
        cap, order, tie, relend: as for `slotlending.Pool`.
        name: for messages.
        long_wait: the seconds of waiting for a slot after which ``on_long_wait`` is called, once a wait.
        on_long_wait: by default it logs a warning, to the logger "slotlending".

    Raises:
        BadCap, ValueError: as for `slotlending.Pool`; or a ``long_wait`` that is no positive number, or an
            ``on_long_wait`` without one.

    The pool belongs to the loop that uses it first, until that is closed and no run is known. A call from elsewhere
    raises `WrongThread`, `WrongLoop` or `NoRunningLoop`, with nothing changed. `statistics`, `explain` and `held` may
    also be read where no loop runs.
    """

    __slots__ = (
        "__weakref__",
        "_asking",
        "_by_hand",
        "_core",
        "_ending",
        "_long_wait",
        "_loop",
        "_name",
        "_next",
        "_numbers",
        "_on_long_wait",
        "_states",
        "_thread",
        "_thread_name",
        "_told",
    )

    def __init__(
        self,
        cap: int,
        *,
        order: str = FEWEST_HELD,
        tie: str = SERVED,
        relend: bool = False,
        name: str | None = None,
        long_wait: float | None = None,
        on_long_wait: Callable[[LongWait], None] | None = None,
    ) -> None:
        core = Core(cap, order=order, tie=tie, relend=relend)
        if long_wait is None:
            if on_long_wait is not None:
                raise ValueError("on_long_wait needs a long_wait, the seconds after which it is called")
        elif isinstance(long_wait, bool) or not 0 < long_wait < float("inf"):
            raise ValueError(f"long_wait is a positive number of seconds, not {long_wait!r}")
        self._states = cast("Mapping[Run, RunState]", core._runs)  # of the known runs, only read here
        self._core = self._calls(core)
        self._name = name
        self._long_wait = long_wait
        self._on_long_wait = on_long_wait or _warn
        self._loop: AbstractEventLoop | None = None
        self._thread = 0
        self._thread_name = ""
        self._numbers = 0  # of children, which are named by them
        self._next: _BlockRun | None = None  # made for the ``async with pool:`` that begins
        self._by_hand: dict[Run, None] = {}  # in blocks whose end has to find them
        # Waits that the core cannot see: for the admission of a run, of groups for their children, and told ones.
        self._asking: dict[Run, Run] = {}
        self._ending: dict[Group, None] = {}
        self._told: dict[Run, list[_Told]] = {}

    def _calls(self, core: Core) -> Core:
        """What is called for every step: the core, or what a port puts in its place."""
        return core

    @property
    def core(self) -> Core:
        """The state machine, to look at: its ids are `Run` objects. Changed behind the port's back, it wakes nobody."""
        return self._core

    @property
    def name(self) -> str | None:
        """As given when made."""
        return self._name

    # -- blocks --------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Run:
        run, self._next = self._next or Run(self), None
        if not self._asked(run, None, INNERMOST, None):
            await self._admitted(run)
        run._enter()
        if type(run) is not _BlockRun:  # an AsyncExitStack, say, looks up its methods in another way
            self._by_hand[run] = None
        return run

    __aexit__ = _BlockEnd()

    async def _end_by_hand(self, *_: object) -> None:
        """The end of a block that was entered by hand, and could be any: rather one of this task, or of one that is
        over, or one that this context was copied in; rather the latest.
        """
        task, around = current_task(), find(self)
        runs = list(self._by_hand)
        own = [run for run in runs if run._is_of(task)]
        left = [run for run in runs if run._task is None or (of := run._task()) is None or of.done()]
        copied = [run for run in runs if run is around]
        if not runs and isinstance(around, _BlockRun):
            copied = [around]  # somebody had looked `__aexit__` up without entering a block
        if not (runs := own or left or copied or runs):
            raise Misuse(f"the block of {self!r} that ends here has not been entered")
        self._by_hand.pop(runs[-1], None)
        runs[-1]._leave()

    def slot(self, name: str | None = None, *, parent: Parent = INNERMOST, job: Job | None = None) -> Slot:
        """A slot for a block: ``async with pool.slot("name") as run:``.

        Args:
            name: of the run; by default that of the task.
            parent: the run whose slot it may borrow, None for nobody; by default the innermost run of this pool. (If
                that has ended, the run asks without a parent, in its job.)
            job: the path of the job it belongs to; by default its parent's, or one of its own.

        Raises, when entered:
            ParentNotInFlight, JobNotLeaf, TypeError: see `slotlending.Pool.ask`.
        """
        return Slot(self, name, parent, job)

    def group(self, name: str | None = None, *, parent: Parent = INNERMOST, job: Job | None = None) -> Group:
        """A slot and a group of children: ``async with pool.group("name") as group:``. Arguments as for `slot`.

        A child that a group has started has its slot already; for children of its own it uses `Run.group`.
        """
        return Group(self, slot=Slot(self, name, parent, job))

    # -- single calls --------------------------------------------------------------------------------------------

    async def ask(self, name: str | None = None, *, parent: Parent = INNERMOST, job: Job | None = None) -> Run:
        """Wait for a slot. The caller gives it back: ``with run:``, or `Run.finish`. Arguments as for `slot`.

        For a limit in time use ``async with asyncio.timeout(...)``. Until Python 3.12 `asyncio.wait_for` can lose what
        it waits for, here a run with a slot.
        """
        run = Run(self)
        if not self._asked(run, name, parent, job):
            await self._admitted(run)
        return run

    def try_ask(self, name: str | None = None, *, parent: Parent = INNERMOST, job: Job | None = None) -> Run | None:
        """`ask`, but None, and nothing changed, where the run would have to wait."""
        run = Run(self)
        return run if self._asked(run, name, parent, job, wait=False) else None

    def resize(self, cap: int) -> None:
        """Change the cap (R8). Raising it wakes those it admits, lowering it revokes nothing.

        Raises:
            BadCap: ``cap`` is not an integer >= 1.
        """
        if self._loop is not None:  # before the first use anybody may
            self._check_caller()
        granted = self._core.resize(cap).granted
        if granted:
            self._wake(granted)

    # -- what can be seen ----------------------------------------------------------------------------------------

    def statistics(self) -> Statistics:
        """The counts, and the runs that have a slot or wait for one. (``pool.core.statistics()`` only counts.)"""
        self._check_reader()
        states = self._states.items()
        borrowers = tuple((run, state.token) for run, state in states if state.phase == IN_FLIGHT)
        waiters = tuple(run for run, state in states if state.phase == WAITING)
        return Statistics(*self._core.statistics(), borrowers, waiters)

    def held(self, job: Job) -> int:
        """Pool slots charged to runs whose job lies at or below this path, parked runs included; ``()`` is all."""
        self._check_reader()
        return self._core.held(job)

    def explain(self, waits: Mapping[Run, Iterable[Wait]] | None = None) -> Explanation:
        """Who waits for what, and who holds that (R11).

        What it knows: waits for slots, those of a run for the admission of another in its task, those of groups for
        their children at their end, and what `Run.waits_for` tells. Circles of these it names.

        Args:
            waits: what else runs wait for.
        """
        self._check_reader()
        known: dict[Run, list[Wait]] = {}
        for run, asker in self._asking.items():
            known.setdefault(asker, []).append(Wait.on_run(run))
        for group in self._ending:
            known.setdefault(group.run, []).extend(Wait.on_run(child) for child in group._children)
        for run, told in self._told.items():
            for kind, name, holders in told:
                known.setdefault(run, []).append(Wait(kind, name, tuple(holders() if callable(holders) else holders)))
        for run, more in (waits or {}).items():
            known.setdefault(run, []).extend(more)
        return self._core.explain(known if known or waits is not None else None)

    def __repr__(self) -> str:
        counts = self._core.statistics()
        name = "" if self._name is None else f" {self._name!r}"
        return (
            f"<aio.Pool{name} {counts.taken} of {counts.cap} taken, {counts.in_flight} in flight, "
            f"{counts.waiting} waiting, {counts.parked} parked>"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belongs to its loop: it cannot be copied or pickled")

    # -- where calls come from -----------------------------------------------------------------------------------

    def _check_caller(self, *, leaving: bool = False) -> None:
        """Refuse a caller outside the loop that this pool belongs to: the first that comes.

        Who is leaving may do so after the loop was closed, when there is nobody left to disturb or wake.
        """
        loop, bound = _running_loop(), self._loop
        if bound is not None:
            closed = bound.is_closed()
            if loop is bound or (closed and leaving):
                return
            if not closed and get_ident() != self._thread:
                raise WrongThread(
                    f"{self!r} belongs to {self._thread_name}, and {current_thread().name} calls it: go through "
                    "loop.call_soon_threadsafe or asyncio.run_coroutine_threadsafe, or make a pool for each loop"
                )
        if loop is None:
            raise NoRunningLoop(f"{self!r} is called where no event loop runs: call it in a coroutine or a callback")
        if bound is not None and (not closed or any(self._left())):
            left = f", which was closed with runs still known ({_some(self._left())})" if closed else ""
            raise WrongLoop(f"{self!r} belongs to {bound!r}{left}; {loop!r} runs here: make a pool for each loop")
        self._loop, self._thread, self._thread_name = loop, get_ident(), current_thread().name

    def _left(self) -> Iterable[Run]:
        """The runs that are not over, whom a loop that is closed leaves behind."""
        return self._states

    def _check_reader(self) -> None:
        """Refuse a reader beside the loop's thread, which would see half a step."""
        if self._loop is not None and get_ident() != self._thread and self._loop.is_running():
            self._check_caller()

    # -- asking --------------------------------------------------------------------------------------------------

    def _asked(
        self,
        run: Run,
        name: str | None,
        parent: Parent,
        job: Job | None,
        *,
        wait: bool = True,
        ask: Callable[[Run, Run | None, Job | None], Any] | None = None,
    ) -> bool:
        """Ask the core, or as ``ask`` does. Whether the run is admitted; else `_admitted` must come next."""
        try:
            task = current_task()
        except RuntimeError:
            task = None
        if task is None or task.get_loop() is not self._loop:
            self._check_caller()
        if name is None:
            name = "callback" if task is None else task.get_name()
        run._name = name
        run._task = None if task is None else ref(task)
        lender: Run | None
        if parent is INNERMOST:
            lender = find(self)
            if lender is not None:
                lender, job = lender._as_parent(job)
        else:
            lender = parent
            if lender is not None and lender._pool is not self:
                raise ParentNotInFlight(lender, f"parent {lender!r} is a run of {lender._pool!r}, not of {self!r}")
        granted = (ask or (self._core.ask if wait else self._core.try_ask))(run, lender, job).granted
        if job is not None:
            run._job = job
        if lender is not None and (granted or wait) and ask is None:
            state = self._states[run]
            run._level, run._job = state.level, state.job
        return len(granted) == 1

    async def _admitted(self, run: Run) -> None:
        """Wait until a run that has asked is admitted. If the wait is cancelled, the run has never been."""
        timer = None
        try:
            waiter: Future[BaseException | None] = cast(AbstractEventLoop, self._loop).create_future()
            run._waiter = waiter
            self._note_asker(run)
            timer = self._long_wait_timer(run)
            gone = await waiter
            if gone is not None:
                raise gone
        except BaseException:
            self._cancel(run)
            raise
        finally:
            run._waiter = None
            if self._asking:
                self._asking.pop(run, None)
            if timer is not None:
                timer.cancel()

    def _note_asker(self, run: Run) -> None:
        """If a run's own task waits for the admission of another one, that is told of, until `_asking` forgets it."""
        around = find(self)
        if around is not None and around._is_of(current_task()):
            self._asking[run] = around

    def _long_wait_timer(self, run: Run) -> TimerHandle | None:
        """What tells the user of this wait once it is long, to be cancelled at its end; None if nothing shall."""
        if self._long_wait is None:
            return None
        loop = cast(AbstractEventLoop, self._loop)
        return loop.call_later(self._long_wait, self._tell_long_wait, run, loop.time())

    def _tell_long_wait(self, run: Run, since: float) -> None:
        awaited = run._awaited()
        if awaited is not None:  # or it was granted a moment ago
            seconds = cast(AbstractEventLoop, self._loop).time() - since
            # What this raises goes to the loop's exception handler, as from any callback.
            self._on_long_wait(LongWait(run, seconds, self.explain(), awaited))

    def _wake(self, granted: tuple[Grant, ...]) -> None:
        """Wake those who were granted a slot. (Those who were relent go on as they are.)"""
        if cast(AbstractEventLoop, self._loop).is_closed():
            return  # nobody resumes there; the coroutines are closed some time, which cancels their runs
        for run, _ in granted:
            waiter = cast(Run, run)._waiter
            # One that is done was cancelled. Its task finds the slot when it resumes.
            if waiter is not None and not waiter.done():
                waiter.set_result(None)

    # -- slots that come back ------------------------------------------------------------------------------------

    def _cancel(self, run: Run) -> None:
        """Its wait is over without it, granted or not (R5)."""
        try:
            granted = self._core.cancel(run).granted
        except NotKnown:
            return  # granted, and finished by somebody else before it resumed (R3)
        if granted:
            self._wake(granted)

    def _finish(self, run: Run) -> None:
        granted = self._core.finish(run).granted
        if granted:
            self._wake(granted)

    def _finish_elsewhere(self, run: Run) -> None:
        """The garbage collector closes coroutines, and so ends blocks, in any thread."""
        loop = cast(AbstractEventLoop, self._loop)
        if loop.is_running() and _running_loop() is not loop:
            loop.call_soon_threadsafe(self._finish, run)
        else:
            self._finish(run)

    # -- small things --------------------------------------------------------------------------------------------

    def _group_of(self, run: Run) -> Group:
        return Group(self, run=run)

    def _number(self, name: str) -> str:
        """The name of one more child that runs a function of this name."""
        self._numbers += 1
        return f"{name}-{self._numbers}"


def _warn(long_wait: LongWait) -> None:
    _log.warning("%s", long_wait)


def _running_loop() -> AbstractEventLoop | None:
    try:
        return get_running_loop()
    except RuntimeError:
        return None


def _some(runs: Iterable[Run]) -> str:
    names = [run.name for run in runs]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
