"""Small programs that use an asyncio port: every small forest, in every form in which the port can be used.

A program is a forest of runs, a cap, a form, and at most one thing that is out of the ordinary: a body that raises, or
a cap that a body changes. The bodies count themselves with a `Watch`, and judge nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from slotcheck.checks.aio_loop import StepLoop
from slotcheck.checks.aio_watch import Watch
from slotcheck.checks.facts import most_in_flight
from slotcheck.checks.generated import forests
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.scenario import RunSpec
from slotlending.order import FEWEST_HELD, FIFO, OLDEST, SERVED

__all__ = ["FORMS", "LONG_WAIT", "Form", "Port", "Program", "Stage", "programs_of"]


class Port(NamedTuple):
    """What is checked: a class with the calls of `slotlending.aio.Pool`, and what finds the innermost run of one."""

    name: str
    cls: Any
    current_run: Callable[[Any], Any]


class Form(NamedTuple):
    """A way of using the port."""

    name: str
    told: str
    #: Whose task or group waits for a run: that of its parent, that of its root, or none but the root task, in the end.
    waiter: str = "parent"
    #: Whether that is a group, which gathers errors and cancels the rest; else `asyncio.gather`.
    grouped: bool = True
    #: Whether a child's task is made only once the child is admitted.
    spawn_waits: bool = False
    #: Whether the pool tells of long waits. No time passes, so its timers must all be gone in the end.
    tells_long_waits: bool = False
    #: Order and tie that the pool is made with, where not the default ones.
    order: str = FEWEST_HELD
    tie: str = SERVED
    #: Who is given a job: "roots", the children after the first ("others"), or nobody.
    jobs: str = "nobody"
    #: Whether a first child below another child asks with parent=None.
    parts: bool = False


#: Seconds.
LONG_WAIT = 60.0

_BASE_RUNS = 2  # programs of up to so many runs show what becomes of an error that is no Exception

FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("gather", "async with pool, children under asyncio.gather", grouped=False),
        Form("tasks", "async with pool, children in an asyncio.TaskGroup"),
        Form("inline", "async with pool, children one after the other in the same task"),
        Form(
            "start",
            "groups of the pool, children by start: admitted before there is a task; some are given jobs",
            spawn_waits=True,
            jobs="others",
        ),
        Form("soon", "groups of the pool, children by start_soon; some are given jobs", jobs="others"),
        Form(
            "shared",
            "one group of the pool for each root, which is given a job: runs start their children there",
            "root",
            spawn_waits=True,
            jobs="roots",
        ),
        Form(
            "hand",
            "ask and finish by hand, parents and jobs named; first come, first served; the pool tells of long waits",
            tells_long_waits=True,
            order=FIFO,
            jobs="roots",
        ),
        Form(
            "try",
            "try_ask in a loop and a with block, children in an asyncio.TaskGroup, some named their parents and jobs",
            tie=OLDEST,
            jobs="roots",
        ),
        Form(
            "apart",
            "async with pool.slot, parents that end before their children; jobs given, and some ask with parent=None",
            "nobody",
            grouped=False,
            jobs="roots",
            parts=True,
        ),
    )
}


@dataclass(frozen=True)
class Program:
    """One program. The more runs and the higher the cap, the larger."""

    runs: tuple[RunSpec, ...]
    cap: int
    relend: bool
    form: str
    #: The run whose body raises.
    raises: str | None = None
    #: Whether what it raises is no Exception.
    base: bool = False
    #: A cap that the first run to work sets at once, and takes back at its end.
    resize: int | None = None
    #: Whether tasks start eagerly.
    eager: bool = False

    @property
    def tree(self) -> str:
        """The forest in the notation."""
        return tree_text(self.runs)

    @property
    def name(self) -> str:
        """The forest, the form, and what is out of the ordinary."""
        raises = f", {self.raises} raises{' a BaseException' if self.base else ''}"
        more = raises if self.raises else f", cap := {self.resize}" if self.resize else ""
        return f"{self.tree} {self.form}{more}{', eager tasks' if self.eager else ''}"

    @property
    def told(self) -> str:
        """The same with the cap."""
        return f"{self.name}, cap {self.cap}{', relend' if self.relend else ''}"

    @cached_property
    def children(self) -> dict[str | None, list[str]]:
        """The children of each run, and the roots under None."""
        children: dict[str | None, list[str]] = {None: []}
        for run in self.runs:
            children[run.name] = []
            children[run.parent].append(run.name)
        return children

    @cached_property
    def parents(self) -> dict[str, str | None]:
        """The parent of each run."""
        return {run.name: run.parent for run in self.runs}

    @cached_property
    def waiters(self) -> dict[str, str | None]:
        """Who waits for each run: another run, the root task (None for it), or nobody (the run itself)."""
        waiter = FORMS[self.form].waiter
        waiters = dict(self.parents)
        for run, parent in self.parents.items():
            if parent is not None and waiter == "nobody":
                waiters[run] = run
            elif parent is not None and waiter == "root":
                waiters[run] = parent if self.parents[parent] is None else waiters[parent]
        return waiters

    @cached_property
    def lenders(self) -> dict[str, str | None]:
        """Under which run each asks, as long as that is in flight."""
        lenders = dict(self.parents)
        if FORMS[self.form].parts:
            for run, parent in self.parents.items():
                if parent is not None and self.parents[parent] is not None and run == self.children[parent][0]:
                    lenders[run] = None
        return lenders

    @cached_property
    def given_jobs(self) -> dict[str, tuple[str, ...]]:
        """The jobs that runs are given when they ask."""
        who = FORMS[self.form].jobs
        return {
            run: ("jobs", run)
            for run, parent in self.parents.items()
            if (who == "roots" and parent is None)
            or (who == "others" and parent is not None and run != self.children[parent][0])
        }

    @cached_property
    def jobs(self) -> dict[str, tuple[str, ...]]:
        """The job that each run is to belong to: the one it is given, else its parent's, else one of its own (R2)."""
        jobs: dict[str, tuple[str, ...]] = {}
        for run, parent in self.parents.items():
            inherited = (run,) if parent is None or self.lenders[run] is None else jobs[parent]
            jobs[run] = self.given_jobs.get(run, inherited)
        return jobs

    @cached_property
    def levels(self) -> int:
        """The levels of the forest."""
        levels: dict[str | None, int] = {None: 0}
        for run in self.runs:
            levels[run.name] = levels[run.parent] + 1
        return max(levels.values())

    @cached_property
    def most(self) -> int:
        """The most runs that can be in flight at once while nothing is resized."""
        return most_in_flight(self.runs, self.cap)


def programs_of(runs: int, forms: tuple[str, ...] = tuple(FORMS), *, eager: bool = False) -> Iterator[Program]:
    """All programs with exactly so many runs: those of the lowest cap first, and of each cap the plain ones."""
    for cap in range(1, runs + 1):
        plain = [
            Program(trees, cap, relend, form, eager=eager)
            for trees in forests(runs)
            for relend in ((False, True) if cap > 1 and _can_relend(trees) else (False,))
            for form in forms
        ]
        yield from plain
        for program in plain:
            for run in program.runs:
                yield replace(program, raises=run.name)
                if runs <= _BASE_RUNS:
                    yield replace(program, raises=run.name, base=True)
            yield replace(program, resize=1 if cap > 1 else 2)


def _can_relend(trees: tuple[RunSpec, ...]) -> bool:
    """Whether some run can have a child on loan and one on a pool slot: elsewhere relend changes nothing."""
    parents = [run.parent for run in trees if run.parent is not None]
    return len(parents) > len(set(parents))


class Stage:
    """One run of one program, on a loop that somebody drives.

    Args:
        program: what runs.
        port: what it runs on.
        loop: which is the running loop now.
        reads: whether what the pool tells of itself is judged too.
        tell: whether the watch keeps events in words.
    """

    def __init__(
        self, program: Program, port: Port, loop: StepLoop, *, reads: bool = False, tell: bool = False
    ) -> None:
        self.program = program
        self.port = port
        self.form = FORMS[program.form]
        options: dict[str, Any] = {"relend": True} if program.relend else {}
        if self.form.order != FEWEST_HELD:
            options["order"] = self.form.order
        if self.form.tie != SERVED:
            options["tie"] = self.form.tie
        if self.form.tells_long_waits:
            options |= {"long_wait": LONG_WAIT, "on_long_wait": lambda _: None}
        self.pool = port.cls(program.cap, **options)
        self.children = program.children
        self.watch = Watch(
            loop,
            self.pool,
            cap=program.cap,
            levels=program.levels,
            most=program.most,
            parents=program.parents,
            lenders=program.lenders,
            jobs=program.jobs,
            spawn_waits=self.form.spawn_waits,
            reads=reads,
            tell=tell,
        )
        self.watch.made_with(program.cap, self.form.order, self.form.tie, program.relend)
        #: The task of each run, once it is known.
        self.tasks: dict[str, asyncio.Task[Any]] = {}
        self.main = loop.create_task(self._main(), name="main")

    # -- bodies, in each form ------------------------------------------------------------------------------------

    async def _main(self) -> None:
        body: Callable[[str], Awaitable[None]] = getattr(self, f"_{self.form.name}")
        if self.form.name in ("start", "soon", "shared"):
            body = self._root
        if self.form.grouped:
            async with asyncio.TaskGroup() as group:
                for name in self.children[None]:
                    self._spawn(name, body(name), group)
            return
        await asyncio.gather(*[self._spawn(name, body(name)) for name in self.children[None]])
        if self.form.waiter == "nobody":
            while alive := [task for task in self.tasks.values() if not task.done()]:
                await asyncio.gather(*alive, return_exceptions=True)

    async def _gather(self, name: str) -> None:
        self.watch.asks_next(name)
        async with self.pool:
            with self._body(name):
                await self._work(name)
                if self.children[name]:
                    with self._waiting(name):
                        tasks = [self._spawn(child, self._gather(child)) for child in self.children[name]]
                        self._maybe_raise(name)
                        await asyncio.gather(*tasks)

    async def _tasks(self, name: str) -> None:
        self.watch.asks_next(name)
        async with self.pool:
            with self._body(name):
                await self._work(name)
                await self._in_task_group(name, self._tasks)

    async def _inline(self, name: str) -> None:
        self.watch.asks_next(name)
        async with self.pool:
            with self._body(name):
                await self._work(name)
                for child in self.children[name]:
                    self.tasks[child] = self.tasks[name]
                    with self._waiting(name):
                        await self._inline(child)
                if self.children[name]:
                    self._maybe_raise(name)

    async def _apart(self, name: str) -> None:
        async with self.pool.slot(name, **self._asks(name)):
            with self._body(name):
                await self._work(name)
                self.watch.pause(name)
                for place, child in enumerate(self.children[name]):
                    if place == 1:  # the first child asks while its parent is there, the others when it has ended
                        await asyncio.sleep(0)
                    self._spawn(child, self._apart(child))
                if len(self.children[name]) == 1:
                    await asyncio.sleep(0)
                self._maybe_raise(name)

    async def _hand(self, name: str, parent: Any = None) -> None:
        run = await self.pool.ask(name, parent=parent, **self._asks(name))
        try:
            with self._body(name):
                await self._work(name)
                await self._in_task_group(name, lambda child: self._hand(child, run))
        finally:
            run.finish()

    async def _try(self, name: str, **parent: Any) -> None:
        while (run := self.pool.try_ask(name, **parent, **self._asks(name))) is None:
            await asyncio.sleep(0)
        with run, self._body(name):
            await self._work(name)
            if self.children[name]:
                with self._waiting(name):
                    async with asyncio.TaskGroup() as group:
                        for place, child in enumerate(self.children[name]):
                            if place == 0:  # in a context without a run: only what it names can be its parent
                                self._spawn(child, self._try(child, parent=run), group, context=Context())
                            else:
                                self._spawn(child, self._try(child), group)
                        self._maybe_raise(name)

    async def _in_task_group(self, name: str, body: Callable[[str], Awaitable[None]]) -> None:
        if self.children[name]:
            with self._waiting(name):
                async with asyncio.TaskGroup() as group:
                    for child in self.children[name]:
                        self._spawn(child, body(child), group)
                    self._maybe_raise(name)

    async def _root(self, name: str) -> None:
        """A root in the forms with groups: slot and group in one."""
        tasks: list[asyncio.Task[Any]] = []
        try:
            async with self.pool.group(name, **self._asks(name)) as group:
                with self._body(name):
                    await self._work(name)
                    self.watch.pause(name)
                    await self._fill(name, group, tasks)
        finally:
            self._judge_left(name, tasks)

    async def _start(self, name: str) -> None:
        with self._body(name):
            await self._work(name)
            if not self.children[name]:
                return
            with self._waiting(name):
                tasks: list[asyncio.Task[Any]] = []
                try:
                    async with self.port.current_run(self.pool).group() as group:
                        await self._fill(name, group, tasks)
                finally:
                    self._judge_left(name, tasks)

    _soon = _start  # they differ in how `_fill` starts children

    async def _shared(self, name: str, group: Any, tasks: list[asyncio.Task[Any]]) -> None:
        with self._body(name):
            await self._work(name)
            self.watch.pause(name)
            await self._fill(name, group, tasks)

    async def _fill(self, name: str, group: Any, tasks: list[asyncio.Task[Any]]) -> None:
        for child in self.children[name]:
            if self.form.waiter == "root":
                task = await group.start(self._shared, child, group, tasks, name=child, **self._asks(child))
            elif self.form.spawn_waits:
                task = await group.start(self._start, child, name=child, **self._asks(child))
            else:
                task = group.start_soon(self._soon, child, name=child, **self._asks(child))
            tasks.append(task)
            self.tasks[child] = task
            self.watch.owner(child, task)
        if self.children[name]:
            self._maybe_raise(name)

    # -- what bodies do ------------------------------------------------------------------------------------------

    def _asks(self, name: str) -> dict[str, Any]:
        """What the run is given when it asks, beside its name."""
        options: dict[str, Any] = {}
        if name in self.program.given_jobs:
            options["job"] = self.program.given_jobs[name]
        if self.program.lenders[name] != self.program.parents[name]:
            options["parent"] = None
        return options

    def _spawn(self, name: str, body: Any, group: asyncio.TaskGroup | None = None, **options: Any) -> asyncio.Task[Any]:
        make = asyncio.create_task if group is None else group.create_task
        task = make(body, name=name, **options)
        self.tasks[name] = task
        if self.form.waiter == "nobody":
            task.add_done_callback(_look_at)
        return task

    @contextmanager
    def _body(self, name: str) -> Iterator[None]:
        self.watch.enter(name)
        try:
            yield
        finally:
            self.watch.leave(name)

    @contextmanager
    def _waiting(self, name: str) -> Iterator[None]:
        self.watch.pause(name)
        yield
        self.watch.resume(name)

    async def _work(self, name: str) -> None:
        """A piece of work, in which others can go on. A leaf that raises does so here, a parent among its children."""
        first = name == self.program.runs[0].name
        if first and self.program.resize is not None:
            self._resize(self.program.resize)
        await asyncio.sleep(0)
        if first and self.program.resize is not None:
            self._resize(self.program.cap)
        if not self.children[name]:
            await asyncio.sleep(0)  # long enough for others to queue, and for one of those to be cancelled
            self._maybe_raise(name)

    def _resize(self, cap: int) -> None:
        self.pool.resize(cap)
        self.watch.resized(cap)

    def _maybe_raise(self, name: str) -> None:
        if name == self.program.raises:
            raise self.watch.raises(name, base=self.program.base)

    def _judge_left(self, name: str, tasks: list[asyncio.Task[Any]]) -> None:
        alive = [task.get_name() for task in tasks if not task.done()]
        if alive:
            told = ", ".join(alive)
            self.watch.fault("GroupWaits", f"{name} has left its group, and the tasks of its children go on: {told}")


def _look_at(task: asyncio.Task[Any]) -> None:
    """Nobody waits for a run apart: its error is its own."""
    if not task.cancelled():
        task.exception()
