"""The asyncio port: parents, wakes, cancels at every point, groups, loops and threads, and what it tells."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import pickle
import random
import re
import selectors
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from slotlending import BadCap, JobNotLeaf, NotAdmitted, NotKnown, ParentNotInFlight, Wait, aio, errors
from slotlending.aio_run import innermost

eager = pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")


# -- a loop without chance -----------------------------------------------------------------------------------------


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


# -- the main thing: a tree of tasks -------------------------------------------------------------------------------


async def fetch_all(limit: Any, tree: dict[str, Any], done: list[str]) -> None:
    """What hangs with a semaphore: a task keeps its place while it waits for tasks that need one."""

    async def fetch(name: str, below: dict[str, Any]) -> None:
        async with limit:
            await asyncio.sleep(0)
            await asyncio.gather(*(fetch(child, more) for child, more in below.items()))
            done.append(name)

    await asyncio.gather(*(fetch(name, below) for name, below in tree.items()))


TREE: dict[str, Any] = {"a": {"b": {"c": {}, "d": {}}, "e": {}}, "f": {"g": {"h": {}}}, "i": {}}


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


# -- waits, wakes and cancels --------------------------------------------------------------------------------------


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


# -- blocks --------------------------------------------------------------------------------------------------------


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


async def numbers(pool: aio.Pool, way: str) -> AsyncGenerator[int, None]:
    if way == "pool":
        async with pool:
            for number in range(3):
                yield number
    else:
        async with pool.slot():
            for number in range(3):
                yield number


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


# -- groups --------------------------------------------------------------------------------------------------------


def test_start_waits_for_the_slot_and_only_then_makes_the_task() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        made: list[str] = []
        go = asyncio.Event()

        async def child(name: str) -> str:
            made.append(name)
            await go.wait()
            return name.upper()

        async def body() -> list[asyncio.Task[str]]:
            async with pool.group("outer") as group:
                return [await group.start(child, name, name=name) for name in "abc"]

        task = asyncio.create_task(body())
        await turns(5)
        assert made == ["a"]
        assert words(pool.statistics().waiters) == ["b"]  # one for each caller that starts
        assert len(asyncio.all_tasks()) == 3
        go.set()
        children = await task
        assert [one.result() for one in children] == ["A", "B", "C"]
        assert [one.get_name() for one in children] == ["a", "b", "c"]
        assert is_idle(pool)

    run(main())


def test_a_child_owns_its_run() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        seen = []

        async def child() -> None:
            own = aio.current_run(pool)
            seen.append((own.name, own.parent, own.level, own.token, own.job, asyncio.current_task().get_name()))  # type: ignore[union-attr]

        async with pool.group("outer", job=("app",)) as group:
            outer = group.run
            assert aio.current_run() is outer
            await group.start(child)
            await group.start(child, name="named")
            group.start_soon(partial(child))
            group.start_soon(child, name="soon")
            assert aio.current_run() is outer
        assert [(one[0], one[5]) for one in seen] == [(name, name) for name in ("child-1", "named", "child-2", "soon")]
        assert {one[1:3] for one in seen} == {(outer, 2)}
        assert {one[4] for one in seen} == {("app",)}
        assert [one[3] for one in seen] == ["loan", "pool", "loan", "loan"]
        assert is_idle(pool)

    run(main())


def test_children_can_have_jobs_of_their_own() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        jobs = []

        async def child() -> None:
            jobs.append(aio.current_run().job)

        async with pool.group(job=("app", "top")) as group:
            await group.start(child, job=("app", "a"))
            group.start_soon(child, job=("app", "b"))
            with pytest.raises(JobNotLeaf):
                await group.start(child, job=("app",))
        assert jobs == [("app", "a"), ("app", "b")]
        with pytest.raises(ExceptionGroup) as raised:
            async with pool.group(job=("app", "top")) as group:
                group.start_soon(child, job=("app",))
        assert raised.group_contains(JobNotLeaf) if hasattr(raised, "group_contains") else True
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("way", ["start", "start_soon"])
@pytest.mark.parametrize("taken", [False, True])
def test_a_child_cancelled_before_its_first_step_gives_its_slot_back(way: str, taken: bool) -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        begun = []

        async def child(name: str) -> None:
            begun.append(name)
            await asyncio.sleep(0)

        async with pool.group() as group:
            if taken:
                await group.start(child, "first")
            for name in ("cancelled", "second"):
                task = await start_in(group, way, child, name)
                if name == "cancelled":
                    task.cancel()
        assert begun == (["first", "second"] if taken else ["second"])
        assert group.run.phase == "ended"
        assert is_idle(pool)

    run(main())


def test_a_cancelled_child_has_given_its_slot_back_before_anybody_is_told() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        async with pool.group() as group:
            task = await group.start(asyncio.sleep, 0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert pool.statistics().borrowers == ((group.run, "pool"),)

    run(main())


@pytest.mark.parametrize("when", ["waiting", "granted"])
def test_the_caller_of_start_is_cancelled(when: str) -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        begun: list[int] = []
        blocker: list[aio.Run] = []

        async def child() -> None:
            begun.append(1)

        async def body() -> None:
            async with pool.group():
                blocker.append(await pool.ask("blocker"))
                async with aio.current_run().group() as group:
                    await group.start(child)

        task = asyncio.create_task(body())
        await turns()
        (waiting,) = pool.statistics().waiters
        if when == "granted":
            blocker[0].finish()
            assert waiting.phase == "in_flight"
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert not begun
        if when == "waiting":
            blocker[0].finish()
        assert is_idle(pool)

    run(main())


class Broken(Exception):
    pass


@pytest.mark.parametrize("way", ["start", "start_soon"])
def test_what_is_no_coroutine_function_is_refused_by_name(way: str) -> None:
    async def main() -> None:
        pool = aio.Pool(1)

        async def child() -> None:
            pass

        def plain() -> int:
            return 1

        def broken() -> Any:
            raise Broken

        async def start(*what: Any) -> None:
            async with pool.group() as group:
                with pytest.raises(TypeError, match=r"plain.*returned 1"):
                    await start_in(group, way, plain)
                with pytest.raises(TypeError, match="as in start"):
                    await start_in(group, way, child())
                with pytest.raises(Broken):
                    await start_in(group, way, broken)
                with pytest.raises(TypeError):
                    await start_in(group, way, child, 1)
                with pytest.raises(TypeError, match="job is a tuple"):
                    await group.start(child, job="app")  # type: ignore[arg-type]
                assert pool.statistics().borrowers == ((group.run, "pool"),)

        await start()
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("way", ["start", "start_soon"])
def test_a_task_that_cannot_be_made(way: str) -> None:
    async def main() -> None:
        pool = aio.Pool(1)

        async def child() -> None:
            raise AssertionError

        def factory(loop: Any, coro: Any, **more: Any) -> Any:
            raise Broken

        async with pool.group() as group:
            asyncio.get_running_loop().set_task_factory(factory)
            with pytest.raises(Broken):
                await start_in(group, way, child)
            asyncio.get_running_loop().set_task_factory(None)
            assert pool.statistics().borrowers == ((group.run, "pool"),)
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("way", ["start", "start_soon"])
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_task_factory_that_wraps_coroutines(way: str, cancelled: bool) -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        begun = []

        async def child() -> str:
            begun.append(aio.current_run().name)
            return "mine"

        def factory(loop: Any, coro: Any, **more: Any) -> Any:
            async def traced() -> Any:
                return await coro

            return asyncio.Task(traced(), loop=loop, **more)

        asyncio.get_running_loop().set_task_factory(factory)
        async with pool.group() as group:
            task = await start_in(group, way, child)
            if cancelled:
                task.cancel()
        assert begun == ([] if cancelled else ["child-1"])
        assert cancelled or task.result() == "mine"
        assert is_idle(pool)

    run(main())


@eager
@pytest.mark.parametrize("way", ["start", "start_soon"])
def test_eager_tasks(way: str) -> None:
    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined,unused-ignore]
        pool = aio.Pool(1)
        events: list[Any] = []

        async def quick(name: str) -> str:
            events.append((name, aio.current_run().parent))
            return name

        async def slow(name: str) -> None:
            await quick(name)
            await asyncio.sleep(0)

        async def broken() -> None:
            raise Broken

        async with pool.group() as group:
            for fn in (quick, slow, quick):
                task = await start_in(group, way, fn, "a")
                assert aio.current_run() is group.run
            assert task.done() == (way == "start")
        assert events == [("a", group.run)] * 3
        assert is_idle(pool)

        async def body() -> None:
            async with pool.group() as group:
                await start_in(group, way, broken)
                await asyncio.sleep(1)

        with pytest.raises(ExceptionGroup) as raised:
            await body()
        assert [type(error) for error in raised.value.exceptions] == [Broken]
        assert is_idle(pool)

    run(main())


async def outcome(make: Callable[[], Any], program: str) -> Any:
    """What happens in a group of tasks, whoever makes the group."""
    events: list[str] = []

    def tell(event: str) -> None:
        events.append(event)

    async def child(name: str, error: BaseException | None = None) -> str:
        try:
            tell(f"{name} begins")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if error is not None:
                raise error
            await asyncio.sleep(3)
            return name
        except asyncio.CancelledError:
            tell(f"{name} is cancelled")
            await asyncio.sleep(0)
            raise
        finally:
            tell(f"{name} ends")

    async def stubborn() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3)
        await asyncio.sleep(1)
        tell("stubborn ends")

    async def in_group() -> None:
        async with make() as group:
            spawn = (
                group.create_task
                if isinstance(group, asyncio.TaskGroup)
                else lambda coro: group.start_soon(lambda: coro)
            )
            spawn(child("a"))
            if program == "error of a child":
                spawn(child("b", KeyError("b")))
            elif program == "errors of two children":
                spawn(child("b", KeyError("b")))
                spawn(child("c", ValueError("c")))
            elif program == "error of the body":
                await turns(4)
                raise KeyError("body")
            elif program == "error of both":
                spawn(child("b", KeyError("b")))
                try:
                    await asyncio.sleep(5)
                finally:
                    raise ValueError("body")
            elif program == "cancelled in the body":
                await asyncio.sleep(5)
            elif program == "a child that goes on":
                spawn(stubborn())
                await turns(3)
                raise KeyError("body")
            elif program == "a child cancels itself":
                spawn(child("b", asyncio.CancelledError()))
            elif program == "exit":
                spawn(child("b", SystemExit(3)))
                await asyncio.sleep(5)
            elif program == "error while cancelled":
                spawn(child("b", KeyError("b")))
                await turns(2)
                asyncio.current_task().cancel()  # type: ignore[union-attr]
            elif program == "nested":
                async with make() as inner:
                    more = (
                        inner.create_task
                        if isinstance(inner, asyncio.TaskGroup)
                        else lambda coro: inner.start_soon(lambda: coro)
                    )
                    more(child("c", KeyError("c")))
                    await asyncio.sleep(5)
            tell("body ends")

    def shape(error: BaseException | None) -> Any:
        if isinstance(error, BaseExceptionGroup):
            return [shape(one) for one in error.exceptions]
        return repr(error)

    task = asyncio.create_task(in_group())
    for _ in range(3):
        await asyncio.sleep(0.5)
        if "cancelled" in program and not task.done():
            task.cancel()
    await asyncio.wait([task])
    cancelled = task.cancelled()
    return events, "cancelled" if cancelled else shape(task.exception()), task.cancelling()


@pytest.mark.parametrize(
    "program",
    [
        "all ends well", "error of a child", "errors of two children", "error of the body", "error of both",
        "cancelled in the body", "cancelled at the end", "a child that goes on", "a child cancels itself",
        "error while cancelled", "nested",
    ],
)  # fmt: skip
def test_a_group_does_what_a_task_group_does(program: str) -> None:
    pool = aio.Pool(9)
    theirs = run(outcome(asyncio.TaskGroup, program))
    ours = run(outcome(pool.group, program))
    assert ours == theirs
    assert any("ends" in event for event in ours[0])
    assert is_idle(pool)


def test_an_exit_in_a_child_comes_through() -> None:
    async def main(make: Callable[[], Any]) -> None:
        await outcome(make, "exit")

    for make in (asyncio.TaskGroup, aio.Pool(9).group):
        with pytest.raises(SystemExit):
            run(main(make))


def test_children_end_before_the_run_of_their_group() -> None:
    async def main() -> None:
        pool = aio.Pool(3)
        ends = []

        async def child(group: aio.Group) -> None:
            try:
                await asyncio.sleep(1)
            finally:
                await asyncio.sleep(1)
                ends.append(group.run.phase)

        async def body() -> None:
            async with pool.group() as group:
                await group.start(child, group)
                group.start_soon(child, group)
                await turns(2)
                raise Broken

        with pytest.raises(ExceptionGroup):
            await body()
        assert ends == ["in_flight", "in_flight"]
        assert is_idle(pool)

    run(main())


def test_a_group_that_is_not_open_takes_no_children() -> None:
    async def main() -> None:
        pool = aio.Pool(4)
        ends = []

        async def child() -> None:
            raise AssertionError

        async def late(group: aio.Group) -> None:
            try:
                await asyncio.sleep(5)
            finally:
                with pytest.raises(aio.GroupNotOpen, match="ending"):
                    await group.start(child)
                with pytest.raises(aio.GroupNotOpen, match="ending"):
                    group.start_soon(child)
                ends.append("late")

        group = pool.group()
        with pytest.raises(aio.GroupNotOpen, match="no run yet"):
            _ = group.run
        with pytest.raises(aio.GroupNotOpen, match="new"):
            await group.start(child)

        async def body() -> None:
            async with group:
                await group.start(late, group)
                await turns()
                raise Broken

        with pytest.raises(ExceptionGroup):
            await body()
        assert ends == ["late"]
        with pytest.raises(aio.GroupNotOpen, match="over"):
            await group.start(child)
        with pytest.raises(aio.GroupNotOpen, match="over"):
            group.start_soon(child)
        with pytest.raises(aio.GroupNotOpen):
            await group.start(child())  # type: ignore[arg-type]
        assert issubclass(aio.GroupNotOpen, RuntimeError)
        assert is_idle(pool)

    run(main())


def test_children_can_start_more_while_the_group_waits_for_them() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        begun = []

        async def child(group: aio.Group, depth: int) -> None:
            begun.append(depth)
            await asyncio.sleep(0)
            if depth:
                await group.start(child, group, depth - 1)
                group.start_soon(child, group, 0)

        async with pool.group() as group:
            await group.start(child, group, 3)
        assert Counter(begun) == {3: 1, 2: 1, 1: 1, 0: 4}
        assert is_idle(pool)

    run(main())


@pytest.mark.parametrize("granted", [False, True])
def test_an_outsider_who_starts_a_child_in_a_group_that_ends(granted: bool) -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        begun = []

        async def child() -> None:
            begun.append(1)

        group = pool.group()

        async def outsider() -> None:
            await group.start(child)

        holder: aio.Run | None = None
        async with group:
            holder = await pool.ask()
            task = asyncio.create_task(outsider(), context=contextvars.Context())
            await turns()
            assert words(pool.statistics().waiters) == ["child-1"]
            if granted:
                holder.finish()
        if granted:
            # It has its slot, and the group is over before it resumes.
            assert pool.core.statistics().in_flight == 1
        with pytest.raises(aio.GroupNotOpen):
            await task
        assert not begun
        if not granted:
            holder.finish()
        assert is_idle(pool)

    run(main())


def test_an_outsider_who_is_refused_and_granted_in_one_step() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        async with pool.slot("own") as own:
            lent = await pool.ask("lent")
            group = pool.group("group", parent=None)
            async with group:
                task = asyncio.create_task(outsider(group, own))
                await turns()
                (waiting,) = pool.statistics().waiters
                assert waiting.parent is own
            assert (waiting.phase, waiting.token) == ("in_flight", "pool")  # the slot of the group
            with pytest.raises(aio.GroupNotOpen):
                await task
            assert words(run for run, _ in pool.statistics().borrowers) == ["own", "lent"]
            lent.finish()
        assert is_idle(pool)

    async def outsider(group: aio.Group, own: aio.Run) -> None:
        innermost.set((own,))
        await group.start(asyncio.sleep, 0)

    run(main())


def test_an_outsider_between_the_last_child_and_the_end() -> None:
    async def main() -> None:
        pool = aio.Pool(2)
        group = pool.group()
        go = asyncio.Event()

        async def child() -> None:
            await go.wait()

        async def body() -> None:
            async with group:
                await group.start(child)

        task = asyncio.create_task(body())
        await turns(2)
        go.set()
        while aio.Group.__repr__(group).count("1 children"):
            await asyncio.sleep(0)
        assert not task.done()
        with pytest.raises(aio.GroupNotOpen):
            await group.start(child)
        with pytest.raises(aio.GroupNotOpen):
            group.start_soon(child)
        await task
        assert is_idle(pool)

    run(main())


def test_a_group_that_cannot_be_entered_gives_its_slot_back() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        raised = asyncio.get_running_loop().create_future()

        def callback() -> None:  # where there is no task that a group could cancel
            try:
                pool.group().__aenter__().send(None)
            except RuntimeError as error:
                raised.set_result(error)

        asyncio.get_running_loop().call_soon(callback)
        assert "task" in str(await raised)
        assert is_idle(pool)

    run(main())


def test_a_group_of_a_run_that_is_there_asks_for_no_slot() -> None:
    async def main() -> None:
        pool = aio.Pool(1)
        async with pool as own:
            async with own.group() as group:
                assert group.run is own
                task = await group.start(asyncio.sleep, 0, "slept")
                assert pool.core.statistics().in_flight == 2
            assert task.result() == "slept"
            assert own.phase == "in_flight"
            async with own.group() as group:
                await group.start(asyncio.sleep, 0)
        async with own.group() as group:  # of a run that has ended: late children
            await group.start(asyncio.sleep, 0)
            (late,) = (one for one, _ in pool.statistics().borrowers)
            assert (late.parent, late.job) == (None, (own,))
        assert is_idle(pool)

    run(main())


def test_a_block_inside_the_body_can_start_children_of_the_group() -> None:
    """Who waits for the child's slot is the inner block, so its slot is what the child can borrow."""

    async def main() -> None:
        pool = aio.Pool(1)
        async with pool.group() as group, pool.slot() as inner:
            await group.start(asyncio.sleep, 0)
            assert pool.statistics().borrowers[-1][0].parent is inner
        assert is_idle(pool)

    run(main())


# -- one loop, one thread ------------------------------------------------------------------------------------------


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


# -- single calls --------------------------------------------------------------------------------------------------


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


# -- what can be seen ----------------------------------------------------------------------------------------------


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


# -- memory --------------------------------------------------------------------------------------------------------


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
