"""How a program on an asyncio port must end: which errors arrive where, who is cancelled, and who goes on untouched.

What is demanded follows from the construct alone, never from the port: an `asyncio.TaskGroup` (and so a group of the
pool) cancels the rest and raises all errors in an ExceptionGroup, `asyncio.gather` hands on the first error as it is
and leaves the rest alone, a run apart keeps its error to itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from slotcheck.checks.aio_programs import Stage
from slotcheck.checks.aio_watch import BaseBoom, Boom

__all__ = ["judge_outcome"]

OK, CANCELLED, FAILED = "ok", "cancelled", "failed"


def judge_outcome(stage: Stage, cancelled: Sequence[asyncio.Task[Any]]) -> None:
    """Tell the stage's watch of everything that did not end as it must, once all tasks have ended.

    Args:
        stage: what has run.
        cancelled: the tasks that were cancelled from outside while they lived.
    """
    judge = _Outcome(stage, cancelled)
    judge.hidden()
    judge.errors()
    judge.cancels()
    judge.others()


class _Outcome:
    def __init__(self, stage: Stage, cancelled: Sequence[asyncio.Task[Any]]) -> None:
        self.stage = stage
        self.watch = stage.watch
        self.form = stage.form
        self.waiters = stage.program.waiters
        self.tasks = {**stage.tasks, "main": stage.main}
        self.names: dict[asyncio.Task[Any], str] = {}
        for name, task in self.tasks.items():
            self.names.setdefault(task, name)  # the first of those that share one
        self.cancelled = [self.names.get(task, task.get_name()) for task in cancelled]

    def end(self, name: str) -> str:
        """How the task of a run ended."""
        task = self.tasks[name]
        return CANCELLED if task.cancelled() else OK if task.exception() is None else FAILED

    def above(self, name: str) -> Iterator[str]:
        """The runs that wait for this one, directly or through others, nearest first."""
        waiter = self.waiters.get(name)
        while waiter is not None and waiter != name:
            yield waiter
            name, waiter = waiter, self.waiters[waiter]

    def hidden(self) -> None:
        """Whether anything went wrong where nobody looks. Before anything here does."""
        for fault in self.watch.loop.faults:
            error = fault.get("exception")
            told = f": {type(error).__name__}: {error}" if error is not None else ""
            self.watch.fault("NothingHidden", f"the loop's exception handler was told: {fault['message']}{told}")
        for made in self.watch.loop.made:
            # The flag with which asyncio itself decides whether to complain of an exception that was never retrieved.
            if made.task is not self.stage.main and made.task._log_traceback:
                error = made.task.exception()
                told = f"{type(error).__name__}: {error}"
                self.watch.fault(
                    "NothingHidden", f"nobody looked at what the task {made.task.get_name()} raised: {told}"
                )

    def errors(self) -> None:
        """What bodies raised is where it belongs, and nothing else is anywhere."""
        for made in self.watch.loop.made:
            if not made.task.cancelled() and (error := made.task.exception()) is not None:
                name = self.names.get(made.task, made.task.get_name())
                self._only_what_was_raised(name, error)
        for name in self.watch.raised:
            if self.end(name) == OK:
                self.watch.fault("ErrorsDelivered", f"{name} raised, but its task ended as if it had not")
        for name in self.stage.tasks:
            if self.waiters[name] != name:
                self._handed_on(name, self.waiters[name] or "main")

    def _only_what_was_raised(self, name: str, error: BaseException) -> None:
        for one in _plain_errors(error):
            by = one.args[0] if isinstance(one, Boom | BaseBoom) else None
            if by is None:
                self.watch.fault(
                    "ErrorsDelivered", f"{name} ended with {type(one).__name__}: {one}, which no body raised"
                )
            elif name not in ("main", by, *self.above(by)):
                self.watch.fault("ErrorsDelivered", f"{name} ended with what {by} raised, which is not below it")
        plain = self.stage.program.base or isinstance(error, ExceptionGroup)
        if isinstance(error, BaseExceptionGroup) and (not self.form.grouped or not plain):
            self.watch.fault("ErrorsDelivered", f"{name} ended with a {type(error).__name__}: {error}")

    def _handed_on(self, child: str, parent: str) -> None:
        ended, above = self.end(child), self.end(parent)
        if not self.form.grouped:
            if ended != OK and above == OK:
                told = f"{child} {'was cancelled' if ended == CANCELLED else 'failed'}"
                self.watch.fault("ErrorsDelivered", f"{told}, but {parent}, which waits for it, ended well")
        elif ended == FAILED:
            below = set(_plain_errors(_error(self.tasks[child])))
            got = set(_plain_errors(_error(self.tasks[parent]))) if above == FAILED else set()
            if below - got:
                told = {OK: "well", CANCELLED: "cancelled", FAILED: "with other errors"}[above]
                self.watch.fault(
                    "ErrorsDelivered", f"{child} failed, but {parent}, whose group it was in, ended {told}"
                )

    def cancels(self) -> None:
        """Who was cancelled has ended so, unless an error came to it as well."""
        for name in self.cancelled:
            ended = self.end(name) if name in self.tasks else OK
            if ended == OK:
                self.watch.fault(
                    "CancelDelivered", f"the task of {name} was cancelled, and ended as if it had not been"
                )

    def others(self) -> None:
        """Who is out of reach of every error and cancel has run to its end, once."""
        touched = self._touched()
        for run in self.stage.program.runs:
            name = run.name
            seen = self.watch.runs.get(name)
            entered = 0 if seen is None else seen.entered
            if entered > 1:
                self.watch.fault("OthersGoOn", f"the body of {name} ran {entered} times")
            if name in touched or (name not in self.tasks and self._not_asked_for(name, touched)):
                continue
            if name not in self.tasks:
                self.watch.fault("OthersGoOn", f"{name} was never started")
            elif not entered or self.end(name) != OK:
                self.watch.fault("OthersGoOn", f"{name} {self._told(name, entered)}, though nothing touched it")
        if "main" not in touched and self.end("main") != OK:
            self.watch.fault("OthersGoOn", f"the root task {self._told('main', 1)}, though nothing touched it")

    def _not_asked_for(self, name: str, touched: set[str]) -> bool:
        """Whether a run above it was touched before it could start this one."""
        parent = self.stage.program.parents[name]
        while parent is not None and parent not in touched:
            parent = self.stage.program.parents[parent]
        return parent is not None

    def _told(self, name: str, entered: int) -> str:
        if not entered:
            return "never ran"
        return {CANCELLED: "was cancelled", FAILED: "failed", OK: "ended well"}[self.end(name)]

    def _touched(self) -> set[str]:
        """Whom the cancels and errors reach, by the rules of the construct."""
        names = [*self.waiters, "main"]
        if self.watch.raised and self.form.grouped:
            return set(names)  # the error goes up to the root task, and that cancels the rest
        touched: set[str] = set()
        for name in self.cancelled:  # a cancel is handed on to those that are waited for
            touched |= set(names) if name == "main" else {one for one in names if name in (one, *self.above(one))}
        if not self.form.grouped:  # what gather waits for, it takes for its own
            for name in (*self.cancelled, *self.watch.raised):
                touched |= {name, *self.above(name), "main"}
        return touched


def _error(task: asyncio.Task[Any]) -> BaseException:
    error = task.exception()
    assert error is not None
    return error


def _plain_errors(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _plain_errors(one)
    else:
        yield error
