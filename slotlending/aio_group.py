"""The asyncio port: groups, `asyncio.TaskGroup` whose tasks are runs. See aio.py for how it works."""

from __future__ import annotations

from asyncio import Task, TaskGroup, current_task, iscoroutine
from collections.abc import Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from slotlending.aio_run import Run, Slot, find
from slotlending.errors import AlreadyEntered, GroupNotOpen
from slotlending.jobs import Job
from slotlending.snapshot import IN_FLIGHT

if TYPE_CHECKING:
    from slotlending.aio import Pool

__all__ = ["Group", "judge_function"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Group:
    """A run and its children, who have all ended when the block ends. Made by `Pool.group` or `Run.group`, for one use.

    In all that concerns errors and cancelling it is `asyncio.TaskGroup`: an error of a child cancels the others and the
    body, and is raised at the end of the block, in an ExceptionGroup.
    """

    __slots__ = ("_children", "_pool", "_run", "_slot", "_starting", "_state", "_tasks", "_unbegun")

    def __init__(self, pool: Pool, *, slot: Slot | None = None, run: Run | None = None) -> None:
        self._pool = pool
        self._slot = slot
        self._run = run
        self._state = "new"
        self._tasks = TaskGroup()
        self._starting: dict[Run, None] = {}  # whose callers wait in `start`
        self._children: dict[Run, None] = {}  # whose tasks there are
        # Of children whose tasks have not taken their first step: what is to be closed if they never do.
        self._unbegun: dict[Run, tuple[Coroutine[Any, Any, Any], ...]] = {}

    @property
    def run(self) -> Run:
        """The run whose children these are.

        Raises:
            GroupNotOpen: the group makes a run when it is entered, and has not been.
        """
        if self._run is None:
            raise GroupNotOpen(f"{self!r} has no run yet")
        return self._run

    async def start(
        self, fn: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts, name: str | None = None, job: Job | None = None
    ) -> Task[T]:
        """Wait for a slot, then make a task that runs ``fn(*args)`` with it (R12).

        A caller that starts children in a loop is held back by this: it never has more than one without a slot.

        Args:
            name: of the task and its run; by default that of the function, with a number.
            job: the path of the child's job; by default its parent's.

        Raises:
            GroupNotOpen: the group has not been entered, is ending because of an error or a cancel, or is over.
            TypeError: ``fn`` is no coroutine function, or the job no tuple of names.
            JobNotLeaf: see `slotlending.Pool.ask`.
        """
        pool = self._pool
        body = self._body(fn, args)
        run = Run(pool)
        try:
            name = name or pool._number(_name_of(fn))
            if not pool._asked(run, name, *self._parent(job)):
                self._starting[run] = None
                try:
                    await pool._admitted(run)
                finally:
                    del self._starting[run]
        except BaseException:
            body.close()
            raise
        return self._make(_with_slot(self, run, body), run, body)

    def start_soon(
        self, fn: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts, name: str | None = None, job: Job | None = None
    ) -> Task[T]:
        """Make a task that waits for a slot, then runs ``fn(*args)`` with it. Arguments and errors as for `start`.

        Nothing holds the caller back: where children are many, use `start`.
        """
        self._pool._check_caller()
        body = self._body(fn, args)
        run = Run(self._pool, name or self._pool._number(_name_of(fn)))
        return self._make(_asks_itself(self, run, body, job), run, body)

    def _parent(self, job: Job | None) -> tuple[Run | None, Job | None]:
        """Parent and job of a child that its caller waits for. What decides is who waits (R10): the caller's innermost
        run, not always the group's own.
        """
        around = find(self._pool)
        if around is None or around.phase != IN_FLIGHT:
            around = self.run
        return around._as_parent(job)

    def _body(self, fn: Callable[[*Ts], Coroutine[Any, Any, T]], args: tuple[*Ts]) -> Coroutine[Any, Any, T]:
        """What a child of this group runs, if the group takes one."""
        if self._now() != "open":
            if iscoroutine(fn):
                fn.close()
            raise self._refusal()
        judge_function(fn, "start(fetch, url)")
        body = fn(*args)
        if not iscoroutine(body):
            raise TypeError(f"{fn!r} is no coroutine function: it returned {body!r}")
        return body

    def _make(self, child: Coroutine[Any, Any, T], run: Run, body: Coroutine[Any, Any, Any]) -> Task[T]:
        """Make a child's task. Its coroutine owns the slot and the body from its first step, the group until then."""
        self._children[run] = None
        self._unbegun[run] = (child, body)
        try:
            task = self._tasks.create_task(child, name=run.name)
        except BaseException as error:
            self._never_began(run)
            if self._now() != "open":
                raise self._refusal() from error
            raise
        if run in self._unbegun:
            # A task that is cancelled before its first step never runs its coroutine, nor any `finally` in it.
            task.add_done_callback(partial(self._never_began, run))
        return task

    def _never_began(self, run: Run, _: object = None) -> None:
        if run in self._unbegun:
            for coro in self._unbegun.pop(run):
                coro.close()
            del self._children[run]
            if run.phase == IN_FLIGHT:
                run._leave()

    def _now(self) -> str:
        if self._state == "leaving":
            return "open" if self._children and not self._aborting() else "ending"
        return "ending" if self._state == "open" and self._aborting() else self._state

    def _aborting(self) -> bool:
        # TaskGroup says so only when it is handed a task, and a child should not wait for a slot before.
        return bool(getattr(self._tasks, "_aborting", False))

    def _refusal(self) -> GroupNotOpen:
        return GroupNotOpen(f"{self!r} takes no children")

    async def __aenter__(self) -> Group:
        if self._state != "new":
            raise AlreadyEntered(f"{self!r} has been entered: make one for each block")
        self._state = "entering"
        if self._slot is None:
            self._pool._check_caller()
        else:
            self._run = await self._slot.__aenter__()
        try:
            await self._tasks.__aenter__()
        except BaseException:
            if self._slot is not None:
                self.run._leave()
            raise
        self._state = "open"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ending = self._pool._ending
        ending[self] = None
        self._state = "leaving"
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            del ending[self]
            self._state = "over"
            for run in self._starting:
                # Its caller is outside this group, or it would have been cancelled.
                if run._waiter is not None and not run._waiter.done():
                    run._waiter.set_result(GroupNotOpen(f"{self!r} takes no children: it ended while {run!r} waited"))
            if self._slot is not None:
                self.run._leave()

    def __repr__(self) -> str:
        of = "" if self._run is None else f" of {self._run.name}"
        return f"<Group{of}, {self._now()}, {len(self._children)} children>"


async def _with_slot(group: Group, run: Run, body: Coroutine[Any, Any, T]) -> T:
    """A child that has its slot."""
    del group._unbegun[run]
    try:
        run._enter(by=current_task())
        return await body
    finally:
        del group._children[run]
        run._leave()


async def _asks_itself(group: Group, run: Run, body: Coroutine[Any, Any, T], job: Job | None) -> T:
    """A child that asks for its slot in its own task."""
    del group._unbegun[run]
    try:
        if not group._pool._asked(run, run.name, *group.run._as_parent(job)):
            await group._pool._admitted(run)
    except BaseException:
        del group._children[run]
        body.close()
        raise
    try:
        run._enter()
        return await body
    finally:
        del group._children[run]
        run._leave()


def judge_function(fn: object, example: str) -> None:
    """Refuse what cannot be called, most likely the coroutine that calling it would have made.

    Raises:
        TypeError: it cannot be called. A coroutine is closed, so that nobody is told it was never awaited.
    """
    if not callable(fn):
        if iscoroutine(fn):
            fn.close()
        raise TypeError(f"give a coroutine function and its arguments, as in {example}, not {fn!r}")


def _name_of(fn: Callable[..., object]) -> str:
    while isinstance(fn, partial):
        fn = fn.func
    return getattr(fn, "__name__", type(fn).__name__)
