"""What the tests of the asyncio port share: a loop without chance, and short words for what they do all the time."""

from __future__ import annotations

import asyncio
import selectors
import sys
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

import pytest

from slotlending import aio

eager = pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")


class Hangs(Exception):
    """Nothing is ready, no timer is set, and the program has not ended."""


class _NoRealTime(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise Hangs
        self.now += timeout
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """Time passes only where the loop would sleep; where it would sleep for ever, it says so."""

    def __init__(self) -> None:
        self.clock = _NoRealTime()
        self.faults: list[dict[str, Any]] = []
        super().__init__(self.clock)
        self.set_exception_handler(lambda _, fault: self.faults.append(fault))

    def time(self) -> float:
        return self.clock.now


def run(main: Coroutine[Any, Any, Any], faults: int = 0) -> Any:
    """Run a program to its end. Exactly so many faults may reach the loop's exception handler."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, Loop)
        result = runner.run(main)
        assert len(loop.faults) == faults, loop.faults
    return result


def is_idle(pool: aio.Pool) -> bool:
    """Whether nothing is left of any run, in the core or in the port."""
    port = (pool._asking, pool._by_hand, pool._ending, pool._told)
    state = pool.core.snapshot()
    return not (state.runs or state.waiting or state.children or state.lines or state.taken or any(port))


async def turns(count: int = 1) -> None:
    """Let all that is ready go on, this many times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def holds(pool: aio.Pool, until: asyncio.Event, **how: Any) -> None:
    """A task that holds a slot until told."""
    async with pool.slot(**how):
        await until.wait()


async def start_in(group: aio.Group, way: str, *what: Any) -> asyncio.Task[Any]:
    """A child, started in either way."""
    return await group.start(*what) if way == "start" else group.start_soon(*what)


def words(runs: Any) -> list[str]:
    return [one.name for one in runs]


TREE: dict[str, Any] = {"a": {"b": {"c": {}, "d": {}}, "e": {}}, "f": {"g": {"h": {}}}, "i": {}}


async def fetch_all(limit: Any, tree: dict[str, Any], done: list[str]) -> None:
    """What hangs with a semaphore: a task keeps its place while it waits for tasks that need one."""

    async def fetch(name: str, below: dict[str, Any]) -> None:
        async with limit:
            await asyncio.sleep(0)
            await asyncio.gather(*(fetch(child, more) for child, more in below.items()))
            done.append(name)

    await asyncio.gather(*(fetch(name, below) for name, below in tree.items()))


async def numbers(pool: aio.Pool, way: str) -> AsyncGenerator[int, None]:
    if way == "pool":
        async with pool:
            for number in range(3):
                yield number
    else:
        async with pool.slot():
            for number in range(3):
                yield number


class Broken(Exception):
    pass
