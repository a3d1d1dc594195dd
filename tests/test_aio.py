"""The asyncio port: a tree of tasks under one pool, and a walk in five lines."""

from __future__ import annotations

import asyncio
import contextvars
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aio_shared import TREE, Hangs, fetch_all, is_idle, numbers, run, turns

from slotlending import NotKnown, ParentNotInFlight, aio


def test_nested_gather_hangs_with_a_semaphore() -> None:
    with pytest.raises(Hangs):
        run(fetch_all(asyncio.Semaphore(2), TREE, []))


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_nested_gather_ends_with_a_pool(cap: int) -> None:
    done: list[str] = []
    pool = aio.Pool(cap)
    run(fetch_all(pool, TREE, done))
    assert sorted(done) == list("abcdefghi")
    assert is_idle(pool)


@pytest.mark.parametrize("how", ["gather", "task_group", "create_task"])
def test_tasks_made_in_a_block_find_their_parent(how: str) -> None:
    async def main() -> None:
        pool = aio.Pool(1)

        async def child() -> tuple[Any, int, str, Any]:
            async with pool as own:
                return own.parent, own.level, own.token, own.job

        async with pool as outer:
            assert (outer.parent, outer.level, outer.token, outer.job) == (None, 1, "pool", (outer,))
            if how == "gather":
                (seen,) = await asyncio.gather(child())
            elif how == "task_group":
                async with asyncio.TaskGroup() as tasks:
                    task = tasks.create_task(child())
                seen = task.result()
            else:
                seen = await asyncio.create_task(child())
            assert seen == (outer, 2, "loan", (outer,))
        assert is_idle(pool)

    run(main())


def test_a_parent_can_be_named_or_done_without() -> None:
    async def main() -> None:
        pool = aio.Pool(3)
        async with pool.slot("outer") as outer, pool.slot("inner") as inner:
            assert (inner.parent, inner.token) == (outer, "loan")
            async with pool.slot("alone", parent=None) as alone:
                assert (alone.parent, alone.level, alone.token) == (None, 1, "pool")
                assert aio.current_run() is alone
            async with pool.slot("named", parent=outer) as named:
                assert (named.parent, named.level, named.token) == (outer, 2, "pool")
            assert aio.current_run() is inner
        with pytest.raises(ParentNotInFlight, match="not in flight"):
            await pool.ask(parent=outer)
        async with aio.Pool(1, name="other") as foreign:
            with pytest.raises(ParentNotInFlight, match=r"other.*not of"):
                pool.try_ask(parent=foreign)
        assert is_idle(pool)

    run(main())


def test_a_late_child_asks_without_a_parent_in_the_job_of_the_run_that_ended() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        go = asyncio.Event()
        seen = []

        async def late() -> None:
            await go.wait()
            assert aio.current_run().phase == "ended"
            async with pool.slot() as own:
                seen.append((own.parent, own.level, own.job))
            async with pool.slot(job=("b",)) as own:
                seen.append((own.parent, own.level, own.job))

        async with pool.slot(job=("a",)):
            task = asyncio.create_task(late())
        async with pool as outer:
            other = asyncio.create_task(late())
        go.set()
        await asyncio.gather(task, other)
        assert seen == [(None, 1, ("a",)), (None, 1, ("b",)), (None, 1, (outer,)), (None, 1, ("b",))]
        assert is_idle(pool)

    run(main())


def test_a_child_of_a_run_that_was_finished_early_is_a_late_one() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        seen: list[Any] = []

        async def body(own: aio.Run) -> None:
            with own:
                own.finish()
                seen.append(aio.current_run())
                late = await pool.ask()
                seen.append((late.parent, late.job))
                late.finish()
                async for _ in numbers(pool, "slot"):
                    break
                await turns(3)
                seen.append(aio.current_run())

        async with pool.slot(job=("a", "outer")) as outer:
            own = await pool.ask(job=("a", "inner"))
            with pytest.raises(NotKnown):
                await body(own)
            assert seen == [own, (None, ("a", "inner")), own]
            assert aio.current_run() is outer
        assert is_idle(pool)

    run(main())


def test_a_child_of_a_parked_run_is_a_late_one() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        outer = await pool.ask("outer")
        with outer:
            inner = await pool.ask("inner")
            context = contextvars.copy_context()
        assert (outer.phase, outer.token, inner.token) == ("parked", "pool", "loan")
        assert context.run(pool.try_ask) is None  # the slot of a parked run is nobody's to borrow
        inner.finish()
        assert (outer.phase, outer.token) == ("ended", "none")
        assert is_idle(pool)

    run(main())


def test_three_thousand_children_under_a_cap_of_32() -> None:
    async def main() -> None:
        pool = aio.Pool(32)
        at_work, most = 0, Counter[str]()

        async def child() -> None:
            nonlocal at_work
            at_work += 1
            counts = pool.core.statistics()
            most["at work"] = max(most["at work"], at_work)
            most["taken"] = max(most["taken"], counts.taken)
            most["in flight"] = max(most["in flight"], counts.in_flight)
            await asyncio.sleep(0)
            at_work -= 1

        async with pool.group() as group:
            tasks = []
            for _ in range(3000):
                tasks.append(await group.start(child))
                most["tasks"] = max(most["tasks"], sum(not task.done() for task in tasks[-40:]))
        assert all(task.done() for task in tasks)
        assert most == {"at work": 32, "taken": 32, "in flight": 33, "tasks": 32}  # the parent lends its slot
        assert is_idle(pool)

    run(main())


def test_the_same_with_a_task_for_each_child_at_once() -> None:
    async def main() -> None:
        pool = aio.Pool(32)
        at_work = most = 0

        async def child() -> None:
            nonlocal at_work, most
            at_work += 1
            most = max(most, at_work)
            await asyncio.sleep(0)
            at_work -= 1

        async with pool.group() as group:
            for _ in range(3000):
                group.start_soon(child)
            await turns()
            assert pool.core.statistics()[1:] == (32, 0, 3000 - 32, 33, 0)
        assert most == 32
        assert is_idle(pool)

    run(main())


def the_program() -> str:
    """The walk in the head of the module."""
    found = re.search(r"::\n\n((?:    .*\n|\n)+)", aio.__doc__ or "")
    assert found
    return textwrap.dedent(found[1])


def test_the_walk_in_the_head_of_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"{a}{b}{c}" for a in "abc" for b in "abcd" for c in "xy"]
    for name in names:
        (tmp_path.joinpath("top", *name)).mkdir(parents=True)
        (tmp_path.joinpath("top", *name) / "file").touch()
    (tmp_path / "top" / "loop").symlink_to(tmp_path / "top")
    monkeypatch.setattr(sys, "argv", ["walk", str(tmp_path / "top")])
    exec(compile(the_program(), "walk", "exec"), {"__name__": "__main__"})
    seen = capsys.readouterr().out.split()
    assert Counter(seen) == Counter(["top", *"abc", *("abcd" * 3), *("xy" * 12)])
    assert seen[-1] == "top"


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_a_walk_has_no_more_tasks_than_the_cap_on_each_level(cap: int) -> None:
    async def main() -> None:
        pool = aio.Pool(cap)
        levels: Counter[int] = Counter()
        most: Counter[int] = Counter()
        leaves = 0

        async def walk(depth: int) -> None:
            nonlocal leaves
            own = aio.current_run()
            levels[own.level] += 1
            most[own.level] = max(most[own.level], levels[own.level])
            assert pool.core.statistics().in_flight <= cap * 5
            await asyncio.sleep(0)
            async with own.group() as group:
                for _ in range(4 if depth else 0):
                    await group.start(walk, depth - 1)
            leaves += not depth
            levels[own.level] -= 1

        async with pool:
            await walk(4)
        assert leaves == 4**4
        assert most == {level: min(cap, 4 ** (level - 1)) for level in range(1, 6)}
        assert is_idle(pool)

    run(main())
