"""The asyncio port of the build permit: what people can see of builds, and what is kept of them."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
from collections.abc import Callable
from threading import Thread
from typing import Any
from weakref import WeakSet

import pytest
from aio_shared import eager, run, turns

from slotcheck.checks.aio_loop import StepLoop
from slotlending import aio
from slotlending.aio_permit import Build, Pool
from slotlending.errors import WrongLoop


async def nothing() -> str:
    return "nothing"


async def until(event: asyncio.Event) -> str:
    await event.wait()
    return "built"


# -- long waits (R11) ------------------------------------------------------------------------------------------------


def long_waits(cap: int, key: str | None = None) -> tuple[list[aio.LongWait], list[str]]:
    """What is told of three builds of one component and one of another, the first of which takes 10 s."""
    told: list[aio.LongWait] = []

    async def main() -> None:
        pool = Pool(cap, long_wait=3, on_long_wait=told.append)

        async def builds(component: str, name: str, seconds: float) -> str:
            return await pool.build(component, asyncio.sleep, seconds, name, key=key, name=name)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(builds("docs", "first", 10))
            tasks.create_task(builds("docs", "second", 1))
            tasks.create_task(builds("docs", "third", 1))
            tasks.create_task(builds("site", "other", 1))

    run(main())
    told.sort(key=lambda wait: (wait.seconds, wait.run.name))
    return told, [f"{wait.run.name} {wait.seconds:g} {wait.awaited}" for wait in told]


@pytest.mark.parametrize("key", [None, "v1"])
def test_a_build_that_waits_long_for_its_permit_is_told_once(key: str | None) -> None:
    told, words = long_waits(2, key)
    assert words == ["second 3 the permit of 'docs'", "third 3 the permit of 'docs'"]
    assert str(told[0]).startswith("<Run second> has waited 3 s for the permit of 'docs': 1 of 2 slots taken")
    assert "<Run second> waits for permit 'docs', held by <Run first>" in str(told[0])


def test_a_build_that_waits_long_for_a_slot_is_told() -> None:
    _, words = long_waits(1)
    assert words == ["other 3 a slot", "second 3 the permit of 'docs'", "third 3 the permit of 'docs'"]


def test_builds_that_wait_not_long_or_are_cancelled_are_not_told() -> None:
    told: list[aio.LongWait] = []

    async def main() -> None:
        pool = Pool(2, long_wait=3, on_long_wait=told.append)
        first = asyncio.create_task(pool.build("docs", asyncio.sleep, 2))
        second = asyncio.create_task(pool.build("docs", asyncio.sleep, 20))  # waits for 2 s, works for 20 s
        third = asyncio.create_task(pool.build("docs", asyncio.sleep, 1))
        await asyncio.sleep(2.5)
        third.cancel()
        await asyncio.wait([first, second, third])

    run(main())
    assert told == []


# -- a loop that was closed ------------------------------------------------------------------------------------------


def test_a_build_that_queues_without_a_slot_is_left_behind_as_any_run() -> None:
    """Its pool belongs to the loop in which it queues, even when that is closed and no run has a slot or waits."""
    pool = Pool(2)
    loop = StepLoop()
    gate = asyncio.Event()
    with loop.running():
        first, second = (loop.create_task(pool.build("docs", until, gate, name=name)) for name in ("first", "second"))
        while loop.step():
            pass
        first.cancel()
        while not first.done():
            loop.step()  # after which the second is handed the permit, and has not resumed
    assert (first.cancelled(), pool.statistics().in_flight, pool.permits.statistics().present) == (True, 0, 1)
    loop.close()

    async def elsewhere() -> None:
        with pytest.raises(WrongLoop, match=r"closed with runs still known \(second\)"):
            await pool.build("site", nothing)
        with pytest.raises(WrongLoop):
            pool.forget("docs")

    asyncio.run(elsewhere())
    assert pool.permits.statistics().present == 1
    second.get_coro().close()  # type: ignore[union-attr]
    assert asyncio.run(pool.build("docs", nothing)) == "nothing"


# -- what a build tells of itself ------------------------------------------------------------------------------------


def test_a_build_tells_phase_level_job_and_parent_before_its_body() -> None:
    seen: dict[str, Any] = {}

    def look(pool: Pool, when: str) -> None:
        for build in pool.permits.present():
            if isinstance(build, Build):
                seen[f"{build.name} {when}"] = (build.phase, build.level, build.job, build.parent and build.parent.name)

    async def main() -> list[Build]:
        pool = Pool(1)
        gate = asyncio.Event()
        async with pool.slot("app", job=("app",)):
            tasks = [asyncio.create_task(pool.build("docs", until, gate, name=name)) for name in ("first", "second")]
            tasks.append(asyncio.create_task(pool.build("site", until, gate, name="third", key="k")))
            await turns(2)
            look(pool, "at first")
            tasks[0].cancel()
            await turns(1)
            look(pool, "handed")
            await turns(1)
            look(pool, "asks")
            builds = [build for build in pool.permits.present() if isinstance(build, Build)]
            gate.set()
            await asyncio.wait(tasks)
        return builds

    builds = run(main())
    assert seen == {
        "first at first": ("in_flight", 2, ("app",), "app"),
        "second at first": ("queued", 2, ("app",), "app"),
        "third at first": ("waiting", 2, ("app",), "app"),
        "second handed": ("queued", 2, ("app",), "app"),
        "third handed": ("in_flight", 2, ("app",), "app"),
        "second asks": ("waiting", 2, ("app",), "app"),
        "third asks": ("in_flight", 2, ("app",), "app"),
    }
    assert [(build.phase, build.level, build.job, build.parent) for build in builds] == [
        ("ended", 2, ("app",), None)
    ] * 2


def test_an_answered_build_keeps_its_job_and_level() -> None:
    async def main() -> tuple[Any, ...]:
        pool = Pool(1)
        gate = asyncio.Event()
        async with pool.slot("app", job=("app",)):
            tasks = [asyncio.create_task(pool.build("docs", until, gate, key="v1")) for _ in range(2)]
            await turns(2)
            second = list(pool.permits.present())[-1]
            assert isinstance(second, Build)
            gate.set()
            assert [await task for task in tasks] == ["built"] * 2
        return second.phase, second.level, second.job, second.token

    assert run(main()) == ("ended", 2, ("app",), "none")


# -- circles through other tasks -------------------------------------------------------------------------------------


def circle_of(children: Callable[[Pool, str, list[asyncio.Task[Any]]], Any]) -> tuple[str, int]:
    """What is told of two components that mount each other in tasks of their own, and how many circles."""

    async def main() -> tuple[str, int]:
        pool = Pool(4)
        made: list[asyncio.Task[Any]] = []
        tasks = [
            asyncio.create_task(pool.build(one, children, pool, other, made, name=one.lower()))
            for one, other in ("AB", "BA")
        ]
        await turns(8)
        explanation = pool.explain()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *made, return_exceptions=True)
        return str(explanation), len(explanation.cycles)

    return run(main())  # type: ignore[no-any-return]


def test_a_circle_through_groups_of_the_pool_is_named() -> None:
    async def mounts(pool: Pool, other: str, made: list[asyncio.Task[Any]]) -> None:
        async with aio.current_run(pool).group() as group:
            made.append(group.start_soon(pool.build, other, nothing, name=other.lower() * 2))  # type: ignore[arg-type]

    told, circles = circle_of(mounts)
    assert circles == 1
    assert "deadlock: " in told


def test_a_circle_through_tasks_that_nobody_tells_of_is_named_once_it_is_told() -> None:
    """The docstring of aio_permit promises no more: asyncio tells nobody who waits for a TaskGroup."""

    async def silent(pool: Pool, other: str, made: list[asyncio.Task[Any]]) -> None:
        async with asyncio.TaskGroup() as tasks:
            made.append(tasks.create_task(pool.build(other, nothing)))

    async def telling(pool: Pool, other: str, made: list[asyncio.Task[Any]]) -> None:
        build = aio.current_run(pool)

        def others() -> list[aio.Run]:
            return [one for one in pool.permits.present() if isinstance(one, Build) and one.parent is build]

        with build.waits_for("tasks", f"of {build.name}", others):
            await silent(pool, other, made)

    assert circle_of(silent)[1] == 0
    assert circle_of(telling)[1] == 1


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_a_chain_of_builds_each_begun_by_the_last_keeps_no_pool() -> None:
    async def main() -> int:
        pools: WeakSet[Pool] = WeakSet()
        done = asyncio.Event()
        most = 0

        async def link(number: int) -> None:
            nonlocal most
            pool = Pool(1)
            pools.add(pool)

            async def body() -> None:
                nonlocal most
                assert pool.lineage() == ("S",)
                if number % 50 == 49:
                    gc.collect()
                    most = max(most, len(pools))
                if number == 199:
                    done.set()
                else:
                    asyncio.create_task(link(number + 1))  # noqa: RUF006 the loop has it until it is over

            await pool.build("S", body)

        await asyncio.create_task(link(0))
        await done.wait()
        return most

    assert run(main()) < 6


def test_a_forgotten_component_leaves_nothing_and_is_built_again() -> None:
    async def main() -> None:
        pool = Pool(2)
        built: list[int] = []

        async def body(number: int) -> int:
            built.append(number)
            return number

        empty = pool.permits.snapshot()
        assert [await pool.build("S", body, number, key="v1") for number in range(2)] == [0, 0]
        pool.forget("S")
        pool.forget("never built")
        assert pool.permits.snapshot() == empty
        assert not pool._results
        assert [await pool.build("S", body, number, key="v1") for number in range(2, 4)] == [2, 2]
        assert built == [0, 2]

    run(main())


def test_what_is_forgotten_while_a_body_is_on_is_stored_again_at_its_end() -> None:
    async def main() -> None:
        pool = Pool(2)
        gate = asyncio.Event()
        await pool.build("S", nothing, key="v1")
        second = asyncio.create_task(pool.build("S", until, gate, key="v2"))
        third = asyncio.create_task(pool.build("S", nothing, key="v2"))
        await turns(2)
        pool.forget("S")
        assert (pool.permits.memo("S"), dict(pool._results)) == (None, {})
        gate.set()
        assert (await second, await third) == ("built", "built")

    run(main())


def test_what_cannot_be_called_is_refused_before_anything_is_asked() -> None:
    async def main() -> None:
        pool = Pool(1)
        with pytest.raises(TypeError, match=r"as in build\(component, fetch, url\)"):
            await pool.build("S", nothing())  # type: ignore[arg-type]
        assert pool.permits.statistics().present == 0

    run(main())


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_pools_and_runs_of_a_loop_are_not_copied(again: Callable[[Any], Any]) -> None:
    async def main() -> None:
        for pool in (aio.Pool(1), Pool(1)):
            with await pool.ask() as run:
                for one, of in ((pool, "loop"), (run, "pool")):
                    with pytest.raises(TypeError, match=f"belongs to its {of}: it cannot be copied or pickled"):
                        again(one)

    run(main())


@eager
def test_builds_in_eager_tasks_are_what_they_are_in_others() -> None:
    async def main() -> list[str]:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined,unused-ignore]
        pool = Pool(1)
        built: list[str] = []

        async def style() -> str:
            built.append("style")
            await asyncio.sleep(0)
            return "css"

        async def page(name: str) -> str:
            built.append(name)
            return f"{name} with {await pool.build('style', style, key='v1')}"

        async with asyncio.TaskGroup() as tasks:
            pages = [tasks.create_task(pool.build(name, page, name)) for name in ("home", "about")]
        assert sorted(built) == ["about", "home", "style"]
        assert pool.permits.statistics() == (0, 0, 0, 0)
        return [page.result() for page in pages]

    assert run(main()) == ["home with css", "about with css"]


def test_a_build_that_times_out_lets_the_next_one_build() -> None:
    async def main() -> str:
        pool = Pool(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await pool.build("S", asyncio.sleep, 5, key="v1")
        return await pool.build("S", nothing, key="v1")

    assert run(main()) == "nothing"


def test_a_build_that_another_thread_drops_leaves_no_result() -> None:
    """As the garbage collector may: the loop is asked to end it, and then forgets what its last build returned."""

    async def main() -> None:
        pool = Pool(1)
        await pool.build("S", nothing, key="v1")
        build = pool.build("S", until, asyncio.Event(), key="v2")
        build.send(None)
        thread = Thread(target=build.close)
        thread.start()
        thread.join()  # so that the loop is asked only when that thread is done
        await turns(1)
        assert pool.permits.statistics() == (0, 0, 0, 0)
        assert (pool.permits.memo("S"), dict(pool._results)) == (None, {})

    asyncio.run(main())
