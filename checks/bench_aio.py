"""How fast the asyncio port is beside the limiters that people use now: asyncio's, AnyIO's, Trio's.

Two situations: nobody in the way, and a hand-off at every step (two tasks share one slot, so each return goes to the
other). Everything is measured in turn, round after round, and the best counts. AnyIO runs on asyncio; Trio runs its own
loop, so its figures include that loop's cost as ours include asyncio's.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, TypeAlias

from slotcheck.checks.figure import Figure
from slotlending import aio

__all__ = ["bench_aio"]

#: What is entered and left, over and over: a block that holds a slot.
Block: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


#: Runs two tasks of this kind side by side.
Pair: TypeAlias = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]


class Contender(NamedTuple):
    """A limiter, and how to run tasks that use it."""

    name: str
    #: Makes one of this many slots; called where its loop runs.
    make: Callable[[int], Block]
    trio: bool = False


def bench_aio(*, rounds: int = 3, turns: int = 2_000) -> Iterator[Figure]:
    """The port's figures, each as a ratio to asyncio.Semaphore."""
    contenders, missing = _contenders()
    for contended, situation in ((False, "nobody in the way"), (True, "a hand-off at every step")):
        best = {one.name: float("inf") for one in contenders}
        for _ in range(4 * rounds):
            for one in contenders:
                seconds = _run(one, contended, turns)
                best[one.name] = min(best[one.name], seconds / turns)
        base = best["asyncio.Semaphore"]
        for name, seconds in best.items():
            target = ""
            if name == "aio.Pool ask + finish":
                target = "<= 1.5" if contended else "<= 3"
            if name != "asyncio.Semaphore":
                what = f"{name} / asyncio.Semaphore, {situation}"
                yield Figure(what, seconds / base, "times", target, {"nanoseconds a turn": round(seconds * 1e9)})
        for name in missing:
            yield Figure(f"{name} / asyncio.Semaphore, {situation}", None, "not measured: not installed")


def _contenders() -> tuple[list[Contender], list[str]]:
    """All that can be measured here, and the names of those whose package is not installed."""
    found = [
        Contender("asyncio.Semaphore", lambda slots: _itself(asyncio.Semaphore(slots))),
        Contender("aio.Pool async with", lambda slots: _itself(aio.Pool(slots))),
        Contender("aio.Pool ask + finish", lambda slots: _by_hand(aio.Pool(slots))),
    ]
    missing = []
    for package in ("anyio", "trio"):
        name = f"{package}.CapacityLimiter"
        try:
            limiter = importlib.import_module(package).CapacityLimiter
        except ImportError:
            missing.append(name)
            continue
        found.append(Contender(name, _limiting(limiter), package == "trio"))
    return found, missing


def _limiting(limiter: Callable[[int], Any]) -> Callable[[int], Block]:
    return lambda slots: _itself(limiter(slots))


def _itself(limiter: Any) -> Block:
    return lambda: limiter


def _by_hand(pool: aio.Pool) -> Block:
    class Asked:
        async def __aenter__(self) -> None:
            self.run = await pool.ask()

        async def __aexit__(self, *_: object) -> None:
            self.run.finish()

    return Asked


def _run(one: Contender, contended: bool, turns: int) -> float:
    """The seconds that so many turns take: by one task, or by two that share one slot."""
    if one.trio:
        trio = importlib.import_module("trio")
        seconds: float = trio.run(_timed, one, contended, turns, trio.lowlevel.checkpoint, _trio_pair)
        return seconds
    return asyncio.run(_timed(one, contended, turns, _yield, _asyncio_pair))


async def _yield() -> None:
    await asyncio.sleep(0)


async def _timed(
    one: Contender, contended: bool, turns: int, give_way: Callable[[], Awaitable[None]], pair: Pair
) -> float:
    block = one.make(1 if contended else 2)

    async def alone() -> None:
        for _ in range(turns):
            async with block():
                pass

    async def shared() -> None:
        for _ in range(turns // 2):
            async with block():
                await give_way()

    begun = time.perf_counter()
    await (pair(shared) if contended else alone())
    return time.perf_counter() - begun


async def _asyncio_pair(work: Callable[[], Awaitable[None]]) -> None:
    await asyncio.gather(work(), work())


async def _trio_pair(work: Callable[[], Awaitable[None]]) -> None:
    async with importlib.import_module("trio").open_nursery() as nursery:
        nursery.start_soon(work)
        nursery.start_soon(work)
