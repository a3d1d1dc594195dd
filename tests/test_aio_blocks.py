"""The asyncio port: blocks, and the run that is innermost in them."""

from __future__ import annotations

import asyncio
import contextvars
import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aio_shared import TREE, fetch_all, holds, is_idle, numbers, run, turns, words

from slotlending import NotKnown, aio


@pytest.mark.parametrize("how", ["pool", "slot", "with"])
def test_what_a_block_raises_passes_unchanged(how: str) -> None:
    async def fails(pool: aio.Pool, error: Exception) -> None:
        if how == "with":
            with await pool.ask():
                raise error
        async with pool if how == "pool" else pool.slot():
            raise error

    async def main() -> None:
        pool = aio.Pool(1)
        error = KeyError("mine")
        for _ in range(2):
            with pytest.raises(KeyError) as raised:
                await fails(pool, error)
            assert raised.value is error
            assert is_idle(pool)
            with pytest.raises(aio.NoRun):
                aio.current_run()

    run(main())


def test_finish_is_once() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        single = await pool.ask()
        single.finish()
        with pytest.raises(NotKnown):
            single.finish()
        with pytest.raises(NotKnown, match="cannot be entered"), single:
            pass
        with pytest.raises(NotKnown):
            async with pool as own:
                own.finish()
        with pytest.raises(NotKnown):
            async with pool.slot() as own:
                own.finish()
        with pytest.raises(NotKnown):
            async with pool.group() as group:
                group.run.finish()
        with pytest.raises(aio.NoRun):
            aio.current_run()
        assert is_idle(pool)

    run(main())


def test_blocks_are_entered_once() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        slot, group = pool.slot(), pool.group()
        async with slot as own:
            with pytest.raises(aio.AlreadyEntered):
                await slot.__aenter__()
            with pytest.raises(aio.AlreadyEntered), own:
                raise AssertionError
        with pytest.raises(aio.AlreadyEntered):
            await slot.__aenter__()
        async with group:
            with pytest.raises(aio.AlreadyEntered):
                await group.__aenter__()
        with pytest.raises(aio.AlreadyEntered):
            await group.__aenter__()
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("way", ["pool", "slot"])
def test_a_generator_that_is_dropped_half_way_gives_its_slot_back(way: str) -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        async with pool.slot("outer") as outer:
            async for _ in numbers(pool, way):
                break  # the loop closes it in a task of its own, in a copy of this context
            await turns(3)
            assert pool.statistics().borrowers == ((outer, "pool"),)
            assert aio.current_run() is outer
            async with pool as inner:  # so the parent is found, though the generator's end could not tell this context
                assert inner.parent is outer
            await asyncio.create_task(numbers(pool, way).__anext__())
        await turns(3)
        with pytest.raises(aio.NoRun):
            aio.current_run()
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("way", ["pool", "slot"])
def test_a_generator_that_another_task_closes_while_it_is_in_a_block_itself(way: str) -> None:
    async def main() -> None:
        pool = aio.Pool(3)
        generator = numbers(pool, way)
        await asyncio.create_task(generator.__anext__(), context=contextvars.Context())

        async def closer() -> None:
            async with pool as own:
                await generator.aclose()
                assert pool.statistics().borrowers == ((own, "pool"),)

        await asyncio.create_task(closer())
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("way", ["pool", "slot"])
def test_generators_that_end_out_of_order(way: str) -> None:
    async def main() -> None:
        pool = aio.Pool(5)
        async with pool as outer:
            one, other = numbers(pool, way), numbers(pool, way)
            await one.__anext__()
            first = aio.current_run()
            await other.__anext__()
            second = aio.current_run()
            async with pool as inner:
                assert (first.parent, second.parent, inner.parent) == (outer, first, second)
                await one.aclose()
                assert (first.phase, inner.phase) == ("parked", "in_flight")
            assert aio.current_run() is second
            await other.aclose()
            assert aio.current_run() is outer
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("way", ["pool", "slot", "with"])
def test_a_task_that_nobody_keeps_gives_its_slot_back(way: str) -> None:
    async def main() -> None:
        pool = aio.Pool(2)

        async def forgotten() -> None:
            if way == "with":
                with await pool.ask():
                    await asyncio.get_running_loop().create_future()
            async with pool if way == "pool" else pool.slot():
                await asyncio.get_running_loop().create_future()

        async with pool as own:
            asyncio.create_task(forgotten(), context=contextvars.Context())  # noqa: RUF006
            await turns()
            assert len(pool.statistics().borrowers) == 2
            gc.collect()  # it closes the coroutine here, in this task and its context
            assert pool.statistics().borrowers == ((own, "pool"),)
            assert aio.current_run() is own
        assert is_idle(pool)

    run(main(), faults=1)  # asyncio tells that it was destroyed


@pytest.mark.parametrize("where", ["same task", "other task", "task over"])
def test_a_pool_on_an_exit_stack(where: str) -> None:
    async def main() -> None:
        pool = aio.Pool(3)
        stack = AsyncExitStack()
        go = asyncio.Event()

        async def enter() -> None:
            await stack.enter_async_context(pool)
            await stack.enter_async_context(pool)
            await go.wait()

        task = asyncio.create_task(enter())
        await turns()
        if where == "task over":
            go.set()
            await task
        elif where == "same task":
            await enter_and_close(pool)
        assert pool.core.statistics().in_flight == 2
        async with pool.slot() as own, pool as inner:
            assert inner.parent is own
            await stack.aclose()
            assert words(run for run, _ in pool.statistics().borrowers) == [own.name, inner.name]
        assert is_idle(pool)
        go.set()
        await task

    async def enter_and_close(pool: aio.Pool) -> None:
        go = asyncio.Event()
        async with AsyncExitStack() as stack:
            for _ in range(3):
                await stack.enter_async_context(pool)
            own = aio.current_run()
            other = asyncio.create_task(holds(pool, go, parent=own))
            await turns()
            assert (own.level, own.token) == (3, "loan")
        assert own.phase == "parked"
        go.set()
        await other

    run(main())


def test_a_pool_entered_by_hand() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        async with pool as outer:
            for looked_up in (False, True):
                assert not looked_up or hasattr(pool, "__aexit__")
                own = await pool.__aenter__()
                assert own.parent is outer
                await pool.__aexit__(None, None, None)
                assert (own.phase, outer.phase) == ("ended", "in_flight")
        with pytest.raises(aio.Misuse, match="not been entered"):
            await pool.__aexit__(None, None, None)
        assert is_idle(pool)

    run(main())


def test_a_pool_of_a_subclass() -> None:
    class Counted(aio.Pool):
        ended = 0

        async def __aenter__(self) -> aio.Run:
            return await super().__aenter__()

        async def __aexit__(self, *error: object) -> None:
            self.ended += 1
            await super().__aexit__(*error)

    pool = Counted(1)
    done: list[str] = []
    run(fetch_all(pool, TREE, done))
    assert (len(done), pool.ended) == (9, 9)
    assert is_idle(pool)


def test_a_block_inside_a_function_that_is_a_block() -> None:
    async def main() -> None:
        pool = aio.Pool(1)

        @asynccontextmanager
        async def both() -> AsyncIterator[aio.Run]:
            async with pool, pool.slot() as own:
                yield own

        async with both() as own:
            assert (own.level, own.token) == (2, "loan")
            assert aio.current_run() is own
        assert is_idle(pool)

    run(main())
