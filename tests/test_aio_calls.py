"""The asyncio port: single calls, jobs, resize."""

from __future__ import annotations

import asyncio

import pytest
from aio_shared import holds, is_idle, run, turns

from slotlending import BadCap, aio


def test_try_ask_never_waits() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        first = pool.try_ask("first")
        assert first is not None
        before = pool.core.snapshot()
        assert pool.try_ask(job=("app",)) is None
        assert pool.core.snapshot() == before
        with first:
            child = pool.try_ask("child", job=("app",))
            assert child is not None
            assert (child.parent, child.level, child.token, child.job) == (first, 2, "loan", ("app",))
            assert pool.try_ask() is None
            child.finish()
        assert is_idle(pool)

    run(main())


def test_calls_in_a_callback() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        done = asyncio.Event()

        def callback() -> None:
            single = pool.try_ask()
            assert single is not None
            with single:
                assert aio.current_run() is single
                child = pool.try_ask()
                assert child is not None
                assert (single.name, child.parent) == ("callback", single)
                child.finish()
            done.set()

        asyncio.get_running_loop().call_soon(callback)
        await done.wait()
        assert is_idle(pool)

    run(main())


def test_resize_wakes_those_it_admits() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        go = asyncio.Event()
        tasks = [asyncio.create_task(holds(pool, go)) for _ in range(5)]
        await turns()
        assert pool.core.statistics()[1:5] == (1, 0, 4, 1)
        with pytest.raises(BadCap):
            pool.resize(0)
        pool.resize(3)
        assert pool.core.statistics()[1:5] == (3, 0, 2, 3)
        pool.resize(1)
        assert pool.core.statistics()[1:5] == (3, 0, 2, 3)
        go.set()
        await asyncio.gather(*tasks)
        assert is_idle(pool)

    run(main())


def test_relend_needs_no_wake() -> None:
    async def main() -> None:
        pool = aio.Pool(2, relend=True)
        stop = {name: asyncio.Event() for name in "ab"}
        async with pool.group("outer") as group:
            for name in "ab":
                await group.start(stop[name].wait, name=name)
            other = asyncio.create_task(holds(pool, stop["b"], name="other", parent=None))
            await turns()
            tokens = {one.name: token for one, token in pool.statistics().borrowers}
            assert tokens == {"outer": "pool", "a": "loan", "b": "pool"}
            stop["a"].set()
            await turns(2)
            tokens = {one.name: token for one, token in pool.statistics().borrowers}
            assert tokens == {"outer": "pool", "b": "loan", "other": "pool"}
            stop["b"].set()
            await other
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("order", ["fewest_held", "fifo"])
def test_jobs_share_fairly(order: str) -> None:
    async def main() -> None:
        pool = aio.Pool(2, order=order)
        ends: list[str] = []

        async def one(job: str) -> None:
            async with pool.slot(job=(job,)):
                await asyncio.sleep(1)
                ends.append(job)

        busy = [asyncio.create_task(one("busy")) for _ in range(20)]
        await turns()
        small = [asyncio.create_task(one("small")) for _ in range(3)]
        await asyncio.sleep(0.5)
        assert (pool.held(("busy",)), pool.held(()), pool.held(("small",))) == (2, 2, 0)
        await asyncio.gather(*busy, *small)
        last = len(ends) - 1 - ends[::-1].index("small")
        assert last == (22 if order == "fifo" else 6)
        assert is_idle(pool)

    run(main())


def test_several_pools_nest() -> None:
    async def main() -> None:
        files, sockets = aio.Pool(1, name="files"), aio.Pool(1, name="sockets")
        async with files.slot("file") as file, sockets.slot("socket") as socket:
            assert (aio.current_run(), aio.current_run(files), aio.current_run(sockets)) == (socket, file, socket)

            async def child() -> None:
                async with files.slot("below file") as below, sockets.slot("below socket") as also:
                    assert (below.parent, also.parent) == (file, socket)
                    assert (aio.current_run(files), aio.current_run(sockets)) == (below, also)
                    async with files.slot("deeper") as deeper:
                        assert deeper.parent is below
                    assert aio.current_run() is also

            await asyncio.gather(child(), child())
            assert (aio.current_run(), aio.current_run(files)) == (socket, file)
        assert is_idle(files)
        assert is_idle(sockets)
        with pytest.raises(aio.NoRun, match=r"of <aio.Pool 'files'"):
            aio.current_run(files)

    run(main())
