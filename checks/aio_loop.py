"""An asyncio loop that a test drives: one ready callback a step, virtual time, nothing left to chance.

A real loop runs all that is ready in one turn, waits for real time, and hides what goes wrong in a log. This one does
neither: `StepLoop.step` runs one callback, so a test can look, or cancel a task, between any two of them; time passes
only when nothing is ready and a timer is set; every task is kept, and all that is handed to the exception handler. So
the same program always takes the same steps, and can be run again with one thing changed.

It does tasks, futures and timers, which is all that code for one thread and no input or output needs. For everything
else it raises NotImplementedError, as `asyncio.AbstractEventLoop` does.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any, NamedTuple, TypeVar

__all__ = ["StepLoop", "TaskMade"]

T = TypeVar("T")


class TaskMade(NamedTuple):
    """A task that the loop has made."""

    task: asyncio.Task[Any]
    #: The task that made it; None for what the test itself made.
    maker: asyncio.Task[Any] | None
    #: How many callbacks had begun by then.
    step: int


class _Ready(asyncio.Handle):
    """A callback that is ready."""

    def __init__(self, call: Callable[..., object], args: tuple[Any, ...], loop: StepLoop, context: Context) -> None:
        super().__init__(call, args, loop, context)
        self.call, self.args, self.context = call, args, context


class _Timer(asyncio.TimerHandle):
    """A callback for later."""

    def __init__(
        self, when: float, call: Callable[..., object], args: tuple[Any, ...], loop: StepLoop, context: Context
    ) -> None:
        super().__init__(when, call, args, loop, context)
        self.call, self.args, self.context = call, args, context


class StepLoop(asyncio.AbstractEventLoop):
    """A loop that goes on only when told to. See the head of this file.

        >>> async def add(one, other):
        ...     await asyncio.sleep(3600)
        ...     return one + other
        >>> loop = StepLoop()
        >>> with loop.running():
        ...     task = loop.create_task(add(1, 2))
        ...     while loop.step():
        ...         pass
        >>> task.result(), loop.steps, loop.time()
        (3, 3, 3600.0)

    Args:
        eager: whether tasks start at once, inside `create_task`, as under `asyncio.eager_task_factory` (Python 3.12).
    """

    def __init__(self, *, eager: bool = False) -> None:
        #: Every task made, in order.
        self.made: list[TaskMade] = []
        #: Every future made by `create_future`, in order.
        self.futures: list[asyncio.Future[Any]] = []
        #: What was handed to the exception handler: nothing may be.
        self.faults: list[dict[str, Any]] = []
        #: How many callbacks have begun.
        self.steps = 0
        self._eager = eager
        self._now = 0.0
        self._ready: deque[_Ready | _Timer] = deque()
        self._timers: list[tuple[float, int, _Timer]] = []
        self._timers_made = 0
        self._closed = False

    # -- driving it ----------------------------------------------------------------------------------------------

    @contextmanager
    def running(self) -> Iterator[StepLoop]:
        """Within this, it is the running loop of this thread.

        Raises:
            RuntimeError: another loop is running here.
        """
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("another loop is running in this thread")
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._dropped)
        asyncio._set_running_loop(self)
        try:
            yield self
        finally:
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def step(self) -> bool:
        """Run the next callback; if none is ready, let time pass to the next timer. False: nothing is left to do."""
        handle = self._next()
        if handle is None:
            return False
        self._ready.popleft()
        self.steps += 1
        try:
            handle.context.run(handle.call, *handle.args)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # one that wants to end the process too: what is tested ends nothing here
            told = {"message": f"exception in callback {handle.call!r}", "exception": error, "handle": handle}
            self.call_exception_handler(told)
        return True

    def idle(self) -> bool:
        """Whether nothing is ready and no timer is set."""
        return self._next() is None

    def ready(self) -> int:
        """How many callbacks are ready, those cancelled since then included."""
        return len(self._ready)

    def alive(self) -> list[TaskMade]:
        """The tasks that have not ended."""
        return [made for made in self.made if not made.task.done()]

    def _next(self) -> _Ready | _Timer | None:
        """The next callback to run, at the head of those that are ready."""
        ready, timers = self._ready, self._timers
        while True:
            while ready:
                if not ready[0].cancelled():
                    return ready[0]
                ready.popleft()
            while timers and timers[0][2].cancelled():
                heapq.heappop(timers)
            if not timers:
                return None
            self._now = max(self._now, timers[0][0])
            while timers and timers[0][0] <= self._now:
                ready.append(heapq.heappop(timers)[2])

    def _dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        self.call_exception_handler(
            {"message": "an asynchronous generator was dropped before its end", "asyncgen": generator}
        )

    # -- what code on it may call --------------------------------------------------------------------------------

    # The signatures are those of AbstractEventLoop, which type checkers know with more precision than can be said here.

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Have a callback called after all that is ready."""
        self._judge_open()
        handle = _Ready(callback, args, self, copy_context() if context is None else context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Have a callback called when so much time has passed."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Have a callback called at a time."""
        self._judge_open()
        handle = _Timer(when, callback, args, self, copy_context() if context is None else context)
        self._timers_made += 1  # those for the same time are called in the order in which they were set
        heapq.heappush(self._timers, (when, self._timers_made, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Part of what `asyncio.TimerHandle` expects of a loop. Nothing is to be done: `_next` passes over it."""

    def time(self) -> float:
        """The virtual time, in seconds from 0."""
        return self._now

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        future: asyncio.Future[Any] = asyncio.Future(loop=self)
        self.futures.append(future)
        return future

    def create_task(self, coro: Coroutine[Any, Any, T] | Generator[Any, None, T], **options: Any) -> asyncio.Task[T]:
        """A task of this loop, with the options of `asyncio.Task`: name, context, eager_start."""
        self._judge_open()
        maker = asyncio.current_task(self)
        place = len(self.made)
        if self._eager:
            options.setdefault("eager_start", True)
        body: Any = coro  # from Python 3.12 on no generator is one, and the types say so
        task: asyncio.Task[T] = asyncio.Task(body, loop=self, **options)
        # An eager task has run by now, and may have made others: it stands before them all the same.
        self.made.insert(place, TaskMade(task, maker, self.steps))
        return task

    def get_task_factory(self) -> None:
        """None: tasks are made here."""
        return

    def get_debug(self) -> bool:
        """False: what debug mode would look for, the test looks for."""
        return False

    def is_running(self) -> bool:
        """Whether it is the running loop of this thread."""
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Drop what is left to do, and take nothing more."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Remember what went wrong."""
        self.faults.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """The same."""
        self.faults.append(context)

    def call_soon_threadsafe(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        """Refused: a second thread would leave the order of the steps to chance."""
        raise NotImplementedError("a StepLoop has no threads: call_soon_threadsafe is not supported")

    def run_in_executor(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        """Refused, for the same reason."""
        raise NotImplementedError("a StepLoop has no threads: run_in_executor is not supported")

    def _judge_open(self) -> None:
        if self._closed:
            raise RuntimeError("the loop is closed")
