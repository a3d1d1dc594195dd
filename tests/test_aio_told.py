"""The asyncio port: what it tells: statistics, explanations, long waits."""

from __future__ import annotations

import asyncio
import logging
import pickle
from contextlib import suppress
from typing import Any

import pytest
from aio_shared import Broken, Loop, holds, is_idle, run, start_in, turns, words

from slotlending import BadCap, Wait, aio, errors


def test_what_pools_and_runs_tell() -> None:
    async def main() -> None:
        pool = aio.Pool(1, name="files")
        go = asyncio.Event()
        async with pool.slot("outer") as outer:
            inner = await pool.ask("inner")
            task = asyncio.create_task(holds(pool, go), name="third")
            await turns()
            told = pool.statistics()
            (waiting,) = told.waiters
            assert told[:6] == pool.core.statistics()
            assert told.borrowers == ((outer, "pool"), (inner, "loan"))
            assert repr(pool) == "<aio.Pool 'files' 1 of 1 taken, 2 in flight, 1 waiting, 0 parked>"
            assert (pool.name, aio.Pool(1).name, outer.pool) == ("files", None, pool)
            assert repr(waiting) == "<Run third>"
            assert (waiting.phase, waiting.token, waiting.parent, waiting.level) == ("waiting", "none", outer, 2)
            assert (outer.phase, outer.token, outer.parent, outer.level) == ("in_flight", "pool", None, 1)
            group = pool.group()
            assert repr(group) == "<Group, new, 0 children>"
            async with outer.group() as group:
                group.start_soon(asyncio.sleep, 0)
                assert repr(group) == "<Group of outer, open, 1 children>"
                go.set()
                inner.finish()
            assert repr(group) == "<Group of outer, over, 0 children>"
            await task
        assert (outer.phase, outer.token, outer.level, outer.job) == ("ended", "none", 1, (outer,))
        assert (inner.phase, inner.token, inner.parent, inner.level, inner.job) == ("ended", "none", None, 2, (outer,))

    run(main())


def test_explain_names_a_circle_through_a_lock() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        lock, owners = asyncio.Lock(), list[aio.Run]()

        async def child() -> None:
            with aio.current_run().waits_for("lock", "index", lambda: owners):
                await lock.acquire()

        async def body() -> None:
            async with pool.group("outer") as group:
                await lock.acquire()
                owners.append(group.run)
                await group.start(child, name="inner")

        task = asyncio.create_task(body())
        await turns(3)
        told = pool.explain()
        assert [words(circle) for circle in told.cycles] == [["inner", "outer"]]
        assert "<Run inner> waits for lock 'index', held by <Run outer>" in str(told)
        assert "<Run outer> waits for run <Run inner>" in str(told)
        assert "deadlock: <Run inner> waits for <Run outer> waits for <Run inner>" in str(told)
        owners.clear()
        assert not pool.explain().cycles
        lock.release()
        await task
        assert pool.explain().other_waits is None
        assert is_idle(pool)

    run(main())


def test_explain_names_a_circle_through_an_admission() -> None:
    """A parent that starts one child at a time, and a child that waits for what its parent does after the second."""

    async def main() -> None:
        pool = aio.Pool(1)
        go = asyncio.Event()

        async def child(outer: aio.Run) -> None:
            with aio.current_run().waits_for("event", "go", [outer]):
                await go.wait()

        async def body() -> None:
            async with pool.group("outer") as group:
                await group.start(child, group.run, name="a")
                await group.start(child, group.run, name="b")
                go.set()

        task = asyncio.create_task(body())
        await turns(3)
        assert [words(circle) for circle in pool.explain().cycles] == [["b", "outer"]]
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert is_idle(pool)

    run(main())


def test_explain_takes_waits_that_the_user_knows() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        async with pool.slot("outer") as outer, pool.slot("inner") as inner:
            assert pool.explain().other_waits is None
            assert pool.explain({}).other_waits == ()
            with outer.waits_for("event", "e"), outer.waits_for("event", "f", [inner]), outer.waits_for("event", "f"):
                told = pool.explain({inner: [Wait.on_run(outer)], outer: [Wait("permit", "p")]})
            assert told.other_waits == (
                (outer, Wait("event", "e")),
                (outer, Wait("event", "f", (inner,))),
                (outer, Wait("event", "f")),
                (outer, Wait("permit", "p")),
                (inner, Wait.on_run(outer)),
            )
            assert [words(circle) for circle in told.cycles] == [["inner", "outer"]]
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("way", ["block", "start", "start_soon"])
def test_a_nested_ask_in_the_same_task_is_a_wait_of_the_run_around_it(way: str) -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        go = asyncio.Event()

        async def outer() -> None:
            own = aio.current_run()
            task = asyncio.create_task(holds(pool, go, name="child"))
            await turns()
            async with pool.slot("inner") as inner:
                assert inner.parent is own
            await task

        async def body() -> None:
            if way == "block":
                async with pool.slot("outer"):
                    await outer()
            else:
                async with pool.group("top") as group:
                    await start_in(group, way, outer)

        task = asyncio.create_task(body())
        await turns(5)
        (waiting,) = pool.statistics().waiters
        waits = dict(pool.explain().other_waits or ())
        assert waits.pop(waiting.parent) == Wait.on_run(waiting)
        assert words(waits) == ([] if way == "block" else ["top"])
        go.set()
        await task
        assert is_idle(pool)

    run(main())


def test_a_long_wait_is_told_once() -> None:
    async def main() -> None:
        told: list[aio.LongWait] = []
        pool = aio.Pool(1, long_wait=5, on_long_wait=told.append)
        go = asyncio.Event()
        async with pool.slot("holder", parent=None):
            tasks = [asyncio.create_task(holds(pool, go, name=name, parent=None)) for name in ("long", "cancelled")]
            await asyncio.sleep(4)
            tasks[1].cancel()
            await asyncio.sleep(0.5)
            assert not told
            await asyncio.sleep(100)
        go.set()
        await tasks[0]
        async with pool.slot("quick"):
            await asyncio.sleep(100)
        (one,) = told
        assert (one.run.name, one.seconds) == ("long", 5.0)
        assert words(wait.run for wait in one.explanation.slot_waits) == ["long"]
        assert str(one).startswith("<Run long> has waited 5 s for a slot: 1 of 1 slots taken")
        assert "<Run long> waits for a pool slot, held by <Run holder>" in str(one)

    run(main())


def test_a_wait_that_ends_as_it_becomes_long_is_not_told() -> None:
    async def main() -> None:
        told: list[aio.LongWait] = []
        pool = aio.Pool(1, long_wait=5, on_long_wait=told.append)
        holder = await pool.ask(parent=None)
        asyncio.get_running_loop().call_later(5, holder.finish)  # set before the timer of the wait
        (await pool.ask(parent=None)).finish()
        assert asyncio.get_running_loop().time() == 5
        assert not told

    run(main())


def test_a_long_wait_is_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        pool = aio.Pool(1, long_wait=0.5)
        async with pool.slot("holder", parent=None):
            task = asyncio.create_task(holds(pool, asyncio.Event(), name="waits", parent=None))
            await asyncio.sleep(1)
            task.cancel()

    with caplog.at_level(logging.WARNING, "slotlending"):
        run(main())
    ((name, level, text),) = caplog.record_tuples
    assert (name, level) == ("slotlending", logging.WARNING)
    assert "<Run waits> has waited 0.5 s" in text


def test_a_report_that_fails_harms_no_waiter() -> None:
    async def main() -> None:
        def report(long_wait: aio.LongWait) -> None:
            raise Broken

        pool = aio.Pool(1, long_wait=1, on_long_wait=report)
        async with pool.slot(parent=None):
            task = asyncio.create_task(pool.ask(parent=None))
            await asyncio.sleep(2)
        (await task).finish()
        loop = asyncio.get_running_loop()
        assert [type(fault["exception"]) for fault in loop.faults] == [Broken]  # type: ignore[attr-defined]
        assert is_idle(pool)

    run(main(), faults=1)


def test_no_timer_is_left() -> None:
    async def main() -> None:
        pool = aio.Pool(1, long_wait=1000)
        async with pool.slot(parent=None):
            granted = asyncio.create_task(pool.ask(parent=None))
            cancelled = asyncio.create_task(pool.ask(parent=None))
            await turns()
            cancelled.cancel()
            await turns()
        (await granted).finish()

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main())
        loop = runner.get_loop()
        assert loop.time() < 1000
        assert not [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"cap": 0}, BadCap),
        ({"cap": 1, "order": "none"}, ValueError),
        ({"cap": 1, "long_wait": 0}, ValueError),
        ({"cap": 1, "long_wait": -1}, ValueError),
        ({"cap": 1, "long_wait": float("nan")}, ValueError),
        ({"cap": 1, "long_wait": float("inf")}, ValueError),
        ({"cap": 1, "long_wait": True}, ValueError),
        ({"cap": 1, "on_long_wait": print}, ValueError),
    ],
)
def test_what_a_pool_is_not_made_of(how: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        aio.Pool(**how)


def test_misuses_have_names() -> None:
    names = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.Misuse)}
    assert names <= set(aio.__all__)
    error = aio.WrongThread("text")
    assert isinstance(error, RuntimeError)
    assert repr(pickle.loads(pickle.dumps(error))) == repr(error)
