"""The asyncio port: one run, its blocks, and how a run finds the one around it. See aio.py for how it works."""

from __future__ import annotations

from asyncio import Future, Task, current_task
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from enum import Enum
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias, cast
from weakref import ref

from slotlending.errors import AlreadyEntered, NotKnown
from slotlending.jobs import Job
from slotlending.snapshot import IN_FLIGHT, NONE, WAITING

if TYPE_CHECKING:
    from slotlending.aio import Group, Pool

__all__ = ["ENDED", "INNERMOST", "Parent", "Run", "Slot", "find", "innermost"]


class _Default(Enum):
    INNERMOST = "the innermost run"


#: The phase of a run that the pool has forgotten.
ENDED: Final = "ended"

INNERMOST: Final = _Default.INNERMOST
#: Whose slot a run may borrow: that of a run in flight, nobody's, or by default that of the innermost run of the pool.
Parent: TypeAlias = "Run | Literal[_Default.INNERMOST] | None"

#: The innermost run of this context, then those of other pools around it, inside out, one of each. They are not kept on
#: the runs: a chain of tasks, each begun by the one before, would keep all its runs.
innermost: ContextVar[tuple[Run, ...]] = ContextVar("slotlending.aio.innermost", default=())


def find(pool: Pool | None) -> Run | None:
    """The innermost run of this context, of this pool if one is given."""
    runs = innermost.get()
    if runs and runs[0]._task is None:
        runs = _passing_over()
    for run in runs:
        if pool is None or run._pool is pool:
            return run
    return None


def _passing_over() -> tuple[Run, ...]:
    """The innermost runs, without those whose block is over but could not set the variable back here."""
    runs = first = innermost.get()
    while runs and runs[0]._left_elsewhere():
        outer = cast("Token[tuple[Run, ...]]", runs[0]._reset).old_value
        runs = () if outer is Token.MISSING else outer
    if runs is not first:
        innermost.set(runs)  # or they would pile up in a task that goes on
    return runs


class Run:
    """One run of one pool: the id by which the core knows it, and what its user holds. Made by its pool.

    ``with run:`` makes a run that was asked with `Pool.ask` the innermost one, and finishes it at the end.
    """

    __slots__ = ("_job", "_level", "_name", "_pool", "_reset", "_task", "_waiter")

    _reset: Token[tuple[Run, ...]] | None  # sets the innermost run back at the end of the block
    # The task that asked, or whose body it is, until its block is over. Weak, or a task that nobody keeps never ended.
    _task: ref[Task[Any]] | None
    _waiter: Future[BaseException | None] | None  # while it waits: None is a grant, else what the wait shall raise

    def __init__(self, pool: Pool, name: str = "") -> None:
        self._pool = pool
        self._name = name
        self._level = 1
        self._job: Job | None = None  # None stands for (self,), which would be a cycle for the garbage collector
        self._reset = self._task = self._waiter = None

    @property
    def pool(self) -> Pool:
        """The pool that it belongs to."""
        return self._pool

    @property
    def name(self) -> str:
        """What people call it: as given when asked, else after the task that asked or the function that was started."""
        return self._name

    @property
    def level(self) -> int:
        """1 for a run asked without a parent, the parent's level + 1 otherwise."""
        return self._level

    @property
    def job(self) -> Job:
        """The path of the job it belongs to."""
        return (self,) if self._job is None else self._job

    @property
    def parent(self) -> Run | None:
        """The run whose slot it may borrow or borrows; None without one, or when one of the two has ended."""
        state = self._pool._states.get(self)
        return None if state is None else cast("Run | None", state.parent)

    @property
    def phase(self) -> str:
        """ "waiting", "in_flight", "parked" (finished while its slot was lent), or "ended" when the pool forgot it."""
        state = self._pool._states.get(self)
        return ENDED if state is None else state.phase

    @property
    def token(self) -> str:
        """What it has its slot as: "pool", "loan" (its parent's), or "none". With relend, "pool" can become "loan"."""
        state = self._pool._states.get(self)
        return NONE if state is None else state.token

    def finish(self) -> None:
        """The run has ended, and its slot goes on (R3). Not for a run that a block finishes at its end.

        Raises:
            NotAdmitted, NotKnown: it waits, or has ended.
            WrongThread, WrongLoop, NoRunningLoop: see `Pool`.
        """
        self._pool._check_caller(leaving=True)
        self._pool._finish(self)

    def group(self) -> Group:
        """A group of children of this run: ``async with run.group() as group:``. It asks for no slot of its own."""
        return self._pool._group_of(self)

    @contextmanager
    def waits_for(
        self, kind: str, name: object, holders: Iterable[Run] | Callable[[], Iterable[Run]] = ()
    ) -> Iterator[None]:
        """Tell `Pool.explain` that within this block the run waits for something other than a slot.

        Args:
            kind: "event", "lock", or whatever you call it.
            name: which one.
            holders: the runs any one of which can end the wait. A function is asked again whenever somebody wants to
                know. Without a holder the wait may end from outside, so it closes no circle.
        """
        all_told = self._pool._told
        wait = (kind, name, holders)
        all_told.setdefault(self, []).append(wait)
        try:
            yield
        finally:
            all_told[self].remove(wait)
            if not all_told[self]:
                del all_told[self]

    def __enter__(self) -> Run:
        if self._reset is not None:
            raise AlreadyEntered(f"{self!r} has been entered")
        self._pool._check_caller()
        if self.phase != IN_FLIGHT:
            raise NotKnown(self, f"{self!r} is not in flight, so it cannot be entered: {self.phase}")
        self._enter(by=current_task())
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def __repr__(self) -> str:
        return f"<Run {self._name}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belongs to its pool: it cannot be copied or pickled")

    # -- for the port --------------------------------------------------------------------------------------------

    def _as_parent(self, job: Job | None) -> tuple[Run | None, Job | None]:
        """Parent and job with which a child asks: a late one without a parent, in this run's job (R2)."""
        if self.phase == IN_FLIGHT:
            return self, job
        return None, self.job if job is None else job

    def _awaited(self) -> str | None:
        """What it waits for before it can begin, in words; None if for nothing."""
        return "a slot" if self.phase == WAITING else None

    def _enter(self, by: Task[Any] | None = None) -> None:
        """It is the innermost run from now on, in the task that asked or in the one given."""
        if by is not None:
            self._task = ref(by)
        runs: tuple[Run, ...] = (self,)
        if innermost.get():
            # Ended runs of idle pools tell nothing. Without them a chain of tasks, each with a pool, keeps no pool.
            runs += tuple(run for run in _passing_over() if run._pool is not self._pool and run._pool._states)
        self._reset = innermost.set(runs)

    def _leave(self) -> None:
        """Its block is over: it is the innermost run no longer, and its slot goes on."""
        pool, reset, runs = self._pool, self._reset, innermost.get()
        self._task = None
        if reset is not None and runs and runs[0] is self:
            try:
                innermost.reset(reset)
                self._reset = None
            except ValueError:
                pass  # entered in another context, where find() will pass over this run
        if get_ident() == pool._thread:
            pool._finish(self)
        else:
            pool._finish_elsewhere(self)

    def _is_of(self, task: Task[Any] | None) -> bool:
        return self._task is not None and self._task() is task

    def _left_elsewhere(self) -> bool:
        """Its block is over, and ended in another context than it began in, or inside a block that began later."""
        return self._reset is not None and self._task is None and self.phase != IN_FLIGHT


class Slot:
    """The block of a run: ``async with pool.slot() as run:``. Made by `Pool.slot`, for one use."""

    __slots__ = ("_asks", "_run")

    def __init__(self, pool: Pool, name: str | None, parent: Parent, job: Job | None) -> None:
        self._asks: tuple[str | None, Parent, Job | None] | None = (name, parent, job)
        self._run = Run(pool)

    async def __aenter__(self) -> Run:
        if self._asks is None:
            raise AlreadyEntered("this slot has been entered: make one for each block")
        asks, self._asks = self._asks, None
        run = self._run
        if not run.pool._asked(run, *asks):
            await run.pool._admitted(run)
        run._enter()
        return run

    async def __aexit__(self, *_: object) -> None:
        self._run._leave()
