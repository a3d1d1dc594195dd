"""The asyncio port: groups of children, their errors, and admission before spawn."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from aio_shared import Broken, eager, is_idle, run, start_in, turns, words

from slotlending import JobNotLeaf, aio
from slotlending.aio_run import innermost


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
