"""The asyncio port: nothing is kept of what has ended."""

from __future__ import annotations

import asyncio
import gc

import pytest
from aio_shared import is_idle, numbers, run, turns

from slotlending import aio


def alive() -> int:
    gc.collect()
    return sum(isinstance(thing, aio.Run) for thing in gc.get_objects())


def test_nothing_is_kept_of_runs_that_have_ended() -> None:
    async def main() -> None:
        pool = aio.Pool(4)
        before = alive()
        seen = []

        async def child(number: int) -> None:
            await asyncio.sleep(0)
            async with pool:
                await asyncio.sleep(0)
            if number in (1000, 4000):
                seen.append(alive())

        async with pool.group() as group:
            for number in range(5000):
                await group.start(child, number)
        assert max(seen) - min(seen) < 10
        del group
        assert alive() == before
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("pools", [1, 2, 0])
def test_a_chain_of_tasks_each_begun_by_the_last_keeps_nothing(pools: int) -> None:
    """Contexts are copied from task to task. With 0 each link has a pool of its own."""

    async def main() -> None:
        known = [aio.Pool(4) for _ in range(pools)]
        busy = [await pool.ask(parent=None) for pool in known]
        done = asyncio.Event()
        most = 0

        async def link(number: int) -> None:
            nonlocal most
            pool = known[number % pools] if pools else aio.Pool(1)
            async with pool:
                if number % 100 == 50:
                    most = max(most, alive())
                if number == 400:
                    done.set()
                else:
                    asyncio.create_task(link(number + 1))  # noqa: RUF006 the loop has it until it is over

        await asyncio.create_task(link(0))
        await done.wait()
        assert most < 14
        for other in busy:
            other.finish()

    run(main())


def test_generators_left_half_way_do_not_pile_up() -> None:
    async def main() -> None:
        pool = aio.Pool(3)
        async with pool as own:
            for _ in range(100):
                async for _ in numbers(pool, "pool"):
                    break
                await turns(3)
            assert aio.current_run() is own
            assert alive() < 10
        assert is_idle(pool)

    run(main())


def test_a_run_is_freed_without_the_garbage_collector() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        before = alive()
        gc.disable()
        try:
            async with pool:
                pass
            async with pool.slot(job=("app",)), pool.slot():
                pass
            (await pool.ask()).finish()
            assert sum(isinstance(thing, aio.Run) for thing in gc.get_objects()) == before
        finally:
            gc.enable()

    run(main())
