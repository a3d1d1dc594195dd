"""The asyncio port: an interrupt in a body, which leaves the loop at once, leaves no slot and no permit behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aio_shared import is_idle

from slotlending import aio
from slotlending.aio_permit import Pool


async def waits(pool: Pool) -> None:
    async with pool.slot():
        pass


async def in_block(pool: Pool, body: Any) -> None:
    async with pool:
        await body()


async def by_hand(pool: Pool, body: Any) -> None:
    with await pool.ask():
        await body()


async def in_child(pool: Pool, body: Any) -> None:
    async with pool.group() as group:
        await group.start(body)
        group.start_soon(waits, pool)


async def in_build(pool: Pool, body: Any) -> None:
    others = [asyncio.create_task(pool.build("S", waits, pool, key="v")) for _ in range(2)]
    await pool.build("S", body, key="v")
    await asyncio.wait(others)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("form", [in_block, by_hand, in_child, in_build])
def test_an_interrupt_leaves_nothing_behind(
    form: Callable[[Pool, Any], Awaitable[None]], error: type[BaseException]
) -> None:
    pool = Pool(1)

    async def body() -> None:
        await asyncio.sleep(0)
        raise error

    async def main() -> None:
        beside = [asyncio.create_task(waits(pool)) for _ in range(2)]
        await asyncio.gather(form(pool, body), *beside)

    with pytest.raises(error):
        asyncio.run(main())
    assert is_idle(pool)
    assert pool.permits.statistics() == (0, 0, 0, 0)
    assert pool.permits.memo("S") is None
    asyncio.run(waits(pool))  # another loop may use it


def test_after_an_interrupt_a_loop_that_is_kept_goes_on_where_it_was() -> None:
    """Without `asyncio.run`, which cancels what is left, the tasks that wait are still there, and so are their runs."""
    pool = aio.Pool(1)
    loop = asyncio.new_event_loop()

    async def holds() -> None:
        async with pool:
            await asyncio.sleep(0)
            raise KeyboardInterrupt

    async def one() -> None:
        async with pool:
            pass

    tasks = [loop.create_task(holds()), loop.create_task(one(), name="one")]
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(asyncio.wait(tasks))
    assert [run.name for run, _ in pool.statistics().borrowers] == [
        "one"
    ]  # granted in the step that gave the slot back
    loop.run_until_complete(tasks[1])
    assert is_idle(pool)
    with pytest.raises(KeyboardInterrupt):
        tasks[0].result()
    loop.close()
