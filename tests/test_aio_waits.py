"""The asyncio port: waits, wakes, and cancels at every point."""

from __future__ import annotations

import asyncio
import contextvars
import random
from contextlib import suppress
from typing import Any

import pytest
from aio_shared import holds, is_idle, run, turns, words

from slotlending import NotAdmitted, aio


def test_waiters_are_woken_in_the_order_of_the_core() -> None:
    async def main() -> None:
        pool = aio.Pool(1, order="fifo")
        order = []

        async def one(name: str) -> None:
            async with pool.slot(name):
                order.append(name)

        async with pool.slot("first", parent=None):
            tasks = [
                asyncio.create_task(one(name), context=contextvars.Context()) for name in ("b", "a", "d", "c")
            ]  # each in a context of its own: they are no children
            await turns()
            assert words(pool.statistics().waiters) == ["b", "a", "d", "c"]
        await asyncio.gather(*tasks)
        assert order == ["b", "a", "d", "c"]

    run(main())


def test_a_cancelled_waiter_leaves_the_queues() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        go = asyncio.Event()
        async with pool.slot("lender"):
            first, second, third = (asyncio.create_task(holds(pool, go, name=name)) for name in "abc")
            await turns()
            assert words(pool.statistics().waiters) == ["b", "c"]
            assert pool.explain().other_waits is None  # the run around them does not wait for them
            second.cancel()
            await turns()
            assert second.cancelled()
            assert words(pool.statistics().waiters) == ["c"]
            go.set()
            await asyncio.gather(first, third)
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("first", ["grant", "cancel"])
@pytest.mark.parametrize("token", ["loan", "pool"])
def test_a_grant_and_a_cancel_in_one_step(first: str, token: str) -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        outer = await pool.ask("outer")
        parent = outer if token == "loan" else None
        holder = outer if token == "pool" else await pool.ask("holder", parent=outer)
        go = asyncio.Event()
        waiter, other = (asyncio.create_task(holds(pool, go, name=name, parent=parent)) for name in "ab")
        await turns()
        if first == "grant":
            holder.finish()
            waiter.cancel()
        else:
            waiter.cancel()
            holder.finish()
        # The grant counts from the hand-off: the core has it, whatever the future says.
        assert [(one.name, token) for one, token in pool.statistics().borrowers][-1] == ("a", token)
        await turns()
        assert waiter.cancelled()
        assert [(one.name, token) for one, token in pool.statistics().borrowers][-1] == ("b", token)
        go.set()
        await other
        if token == "loan":
            outer.finish()
        assert is_idle(pool)

    run(main())


def test_several_cancels_and_a_grant_in_one_step() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        go = asyncio.Event()
        holders = [await pool.ask(parent=None) for _ in range(2)]
        tasks = [asyncio.create_task(holds(pool, go, name=str(number))) for number in range(10)]
        await turns()
        tasks[0].cancel()
        tasks[3].cancel()
        for holder in holders:
            holder.finish()  # to 0 and 1
        tasks[1].cancel()
        tasks[2].cancel()
        tasks[9].cancel()
        await turns(6)
        assert words(run for run, _ in pool.statistics().borrowers) == ["4", "5"]
        go.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [number for number, end in enumerate(ends) if end is not None] == [0, 1, 2, 3, 9]
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("granted", [False, True])
def test_the_future_of_a_wait_is_cancelled_by_somebody_else(granted: bool) -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        go = asyncio.Event()
        holder = await pool.ask(parent=None)
        waiter, other = (asyncio.create_task(holds(pool, go, name=name)) for name in "ab")
        await turns()
        (future,) = (one._waiter for one in pool.statistics().waiters if one.name == "a")
        assert future is not None
        future.cancel()
        if granted:
            holder.finish()
        await turns(2)
        assert waiter.cancelled()
        if not granted:
            holder.finish()
        go.set()
        await other
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("granted", [False, True])
def test_a_coroutine_is_closed_while_it_waits(granted: bool) -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        holder = await pool.ask(parent=None)
        coro = pool.ask("gone")
        coro.send(None)
        go = asyncio.Event()
        other = asyncio.create_task(holds(pool, go, name="other"))
        await turns()
        if granted:
            holder.finish()
            assert words(run for run, _ in pool.statistics().borrowers) == ["gone"]
        coro.close()
        if not granted:
            holder.finish()
        assert words(run for run, _ in pool.statistics().borrowers) == ["other"]
        go.set()
        await other
        assert is_idle(pool)

    run(main())


def test_a_run_that_somebody_finishes_before_it_resumes_and_is_cancelled() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        holder = await pool.ask(parent=None)
        waiter = asyncio.create_task(pool.ask("a"))
        await turns()
        (waiting,) = pool.statistics().waiters
        with pytest.raises(NotAdmitted):
            waiting.finish()
        holder.finish()
        waiting.finish()
        waiter.cancel()
        await turns()
        assert waiter.cancelled()
        assert is_idle(pool)

    run(main())


def test_a_timeout_around_a_wait() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        async with pool.slot(parent=None) as holder:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(5), pool.slot(parent=None):
                    raise AssertionError
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(pool.ask(parent=None), 5)
            assert pool.statistics().borrowers == ((holder, "pool"),)
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("seed", range(60))
def test_cancels_anywhere_lose_nothing(seed: int) -> None:
    """Random trees of every way to ask, tasks cancelled at random; after every turn the pool is as it should be."""
    chance = random.Random(seed)
    pool = aio.Pool(chance.choice([1, 2, 3]), relend=chance.random() < 0.5)
    made: list[asyncio.Task[Any]] = []  # in order, so that chance does the same each time

    def make(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> asyncio.Task[Any]:
        made.append(asyncio.Task(coro, loop=loop, **more))
        return made[-1]

    async def node(depth: int) -> None:
        with suppress(aio.GroupNotOpen):
            await body(depth)

    async def body(depth: int) -> None:
        children = chance.randint(0, 3) if depth else 0
        way = chance.choice(["pool", "slot", "ask", "group", "soon"])
        await turns(chance.randint(0, 2))
        if way == "pool":
            async with pool:
                await asyncio.gather(*(asyncio.create_task(node(depth - 1)) for _ in range(children)))
        elif way == "slot":
            async with pool.slot(), asyncio.TaskGroup() as tasks:
                for _ in range(children):
                    tasks.create_task(node(depth - 1))
        elif way == "ask":
            with await pool.ask():
                await turns(chance.randint(0, 2))
        else:
            async with pool.group() as group:
                for _ in range(children):
                    if way == "group":
                        await group.start(node, depth - 1)
                    else:
                        group.start_soon(node, depth - 1)
                if chance.random() < 0.1:
                    raise ValueError

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(make)
        roots = [asyncio.create_task(node(3)) for _ in range(4)]
        for _ in range(400):
            await asyncio.sleep(0)
            counts = pool.core.statistics()
            assert not (counts.waiting and counts.free)
            assert counts.in_flight + counts.parked >= counts.taken <= counts.cap
            states = {state.run: state for state in pool.core.snapshot().runs}
            assert all(states[one.parent].lent for one in pool.statistics().waiters if one.parent is not None)
            tasks = [task for task in made if not task.done()]
            if tasks and chance.random() < 0.15:
                for task in chance.sample(tasks, min(len(tasks), chance.choice([1, 1, 1, 3]))):
                    task.cancel()
        await asyncio.gather(*roots, return_exceptions=True)
        assert all(task.done() for task in made)

    run(main())
    assert is_idle(pool)
