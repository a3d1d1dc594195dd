"""The asyncio port: one loop, one thread; others are refused by name."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from aio_shared import TREE, fetch_all, holds, is_idle, run, turns

from slotlending import aio
from slotlending.aio_run import innermost


def in_thread(call: Callable[[], Any]) -> Any:
    """What a call in another thread raises, or returns."""
    result: list[Any] = []

    def work() -> None:
        try:
            result.append(call())
        except Exception as error:
            result.append(error)

    thread = threading.Thread(target=work, name="other thread")
    thread.start()
    thread.join()
    return result[0]


def test_another_thread_is_refused() -> None:
    async def main() -> None:
        pool = aio.Pool(2, name="p")
        async with pool as own:
            group = own.group()
            async with group:
                calls: list[Callable[[], Any]] = [
                    pool.try_ask,
                    own.finish,
                    partial(pool.resize, 5),
                    pool.statistics,
                    pool.explain,
                    partial(pool.held, ()),
                    partial(asyncio.run, pool.ask()),
                    lambda: asyncio.run(pool.ask()),
                    lambda: asyncio.run(pool.slot().__aenter__()),
                    lambda: asyncio.run(group.start(asyncio.sleep, 0)),
                    lambda: group.start_soon(asyncio.sleep, 0),
                    lambda: asyncio.run(own.group().__aenter__()),
                    (await pool.ask()).__enter__,
                ]
                before = pool.core.snapshot()
                for call in calls:
                    error = in_thread(call)
                    assert isinstance(error, aio.WrongThread), (call, error)
                    assert "'p'" in str(error)
                    assert "MainThread" in str(error)
                    assert "other thread" in str(error)
                    assert "call_soon_threadsafe" in str(error)
                assert pool.core.snapshot() == before
                assert in_thread(lambda: repr(pool)) == repr(pool)
                pool.statistics().borrowers[-1][0].finish()
        assert is_idle(pool)

    asyncio.run(main())


def test_another_loop_is_refused() -> None:
    pool = aio.Pool(2, name="p")
    one, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    held = one.run_until_complete(pool.ask())

    async def elsewhere() -> None:
        before = pool.core.snapshot()
        for call in (pool.try_ask, held.finish, partial(pool.resize, 5), held.__enter__):
            with pytest.raises(aio.WrongLoop, match=r"'p'.*make a pool for each loop"):
                call()
        for coro in (pool.ask(), pool.__aenter__(), pool.slot().__aenter__(), pool.group().__aenter__()):
            with pytest.raises(aio.WrongLoop):
                await coro
        assert pool.core.snapshot() == before
        assert pool.statistics().in_flight == 1

    other.run_until_complete(elsewhere())
    one.close()
    with pytest.raises(aio.WrongLoop, match=r"closed with runs still known \(Task-"):
        other.run_until_complete(pool.ask())
    held.finish()  # nobody is left to be woken
    other.run_until_complete(pool.ask())
    other.close()


def test_no_loop_is_refused() -> None:
    pool = aio.Pool(2, name="p")
    asks = (pool.ask(), pool.slot().__aenter__(), pool.__aenter__())
    calls: list[Callable[[], Any]] = [pool.try_ask, *(partial(coro.send, None) for coro in asks)]
    for call in calls:
        with pytest.raises(aio.NoRunningLoop, match="'p'"):
            call()
    pool.resize(3)  # before the first use anybody may

    async def main() -> aio.Run:
        return await pool.ask()

    with asyncio.Runner() as runner:
        held = runner.run(main())
        for call in (pool.try_ask, held.finish, partial(pool.resize, 4)):
            with pytest.raises(aio.NoRunningLoop):
                call()
        assert (pool.statistics().in_flight, pool.held(()), pool.explain().taken) == (1, 1, 1)
    held.finish()
    assert is_idle(pool)


def test_an_idle_pool_goes_with_the_next_loop() -> None:
    pool = aio.Pool(1)
    for _ in range(3):
        done: list[str] = []
        run(fetch_all(pool, TREE, done))
        assert len(done) == 9
        assert pool.statistics().in_flight == 0
    assert in_thread(lambda: asyncio.run(fetch_all(pool, TREE, []))) is None
    asyncio.run(fetch_all(pool, TREE, []))


def test_a_loop_that_is_closed_under_its_tasks() -> None:
    """Their coroutines are closed in the end, and the pool is fit for another loop."""
    pool = aio.Pool(1)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    go = asyncio.Event()
    tasks = [loop.create_task(holds(pool, go)) for _ in range(3)]
    loop.call_soon(lambda: loop.call_soon(loop.stop))
    loop.run_forever()
    assert pool.core.statistics()[1:5] == (1, 0, 2, 1)
    loop.close()
    for task in tasks:
        task.get_coro().close()
    del tasks, task
    gc.collect()
    assert is_idle(pool)
    run(fetch_all(pool, TREE, []))


def test_a_block_that_ends_in_another_thread() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        for make in (pool, pool.slot()):

            async def inside(make: Any = make) -> None:
                async with make:
                    await asyncio.get_running_loop().create_future()

            coro = inside()
            coro.send(None)
            go = asyncio.Event()
            waiter = asyncio.create_task(holds(pool, go, parent=None))
            await turns()
            assert in_thread(coro.close) is None
            assert pool.core.statistics().waiting == 1  # handed over to the loop
            go.set()
            await waiter
            innermost.set(())
        assert is_idle(pool)

    asyncio.run(main())
