"""The asyncio port of the build permit, cancelled at every point."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from slotcheck.checks.aio_check import Ways, check_program
from slotcheck.checks.aio_loop import StepLoop
from slotcheck.checks.aio_programs import programs_of
from slotcheck.checks.aio_suite import resolve_port
from slotcheck.checks.invariants import STATES
from slotcheck.checks.permit_invariants import OF_PERMIT_VIEWS, PermitFacts
from slotcheck.checks.permit_subject import permit_view
from slotcheck.pymodel.rules import PermitState
from slotlending import aio
from slotlending.aio_permit import Build, Pool, live_parent
from slotlending.errors import ComponentAbove, NotKnown


class Shop:
    """A pool, and bodies that note how they went."""

    def __init__(self, cap: int, port: type[Pool] = Pool) -> None:
        self.pool = port(cap)
        self.begun: list[str] = []
        self.on: list[str] = []
        self.most_on = 0

    async def part(self, name: str, *below: Callable[[], Awaitable[Any]], pause: int = 1) -> str:
        self.begun.append(name)
        self.on.append(name)
        self.most_on = max(self.most_on, len(self.on))
        try:
            async with asyncio.TaskGroup() as tasks:
                for child in below:
                    tasks.create_task(child())  # type: ignore[arg-type]
            for _ in range(pause):
                await asyncio.sleep(0)
            return f"made {name}"
        finally:
            self.on.remove(name)

    def build(self, component: str, *below: Callable[[], Awaitable[Any]], key: str | None = None) -> Any:
        return lambda: self.pool.build(component, self.part, component, *below, key=key)

    def plain(self, name: str, *below: Callable[[], Awaitable[Any]]) -> Any:
        async def body() -> str:
            async with self.pool.slot(name):
                return await self.part(name, *below)

        return body

    def fails(self, component: str, key: str | None = None) -> Any:
        async def body() -> str:
            await asyncio.sleep(0)
            raise LookupError(component)

        return lambda: self.pool.build(component, body, key=key)


#: What the tasks of each program run, all at once.
PROGRAMS: dict[str, Callable[[Shop], list[Any]]] = {
    "the same": lambda shop: [shop.build("S", key="v1")] * 3,
    "changed": lambda shop: [shop.build("S", key="v1"), shop.build("S", key="v2"), shop.build("S")],
    "shared": lambda shop: [shop.build(page, shop.build("S", key="v1")) for page in ("home", "about")],
    "beside a slot": lambda shop: [
        shop.plain("a", shop.build("S")), shop.build("S"), shop.plain("b"), shop.build("S", key="v1")
    ],
    "failing": lambda shop: [shop.fails("S", "v1"), shop.build("S", key="v1"), shop.build("S", key="v1")],
}  # fmt: skip


def judge(pool: Pool) -> None:
    facts = PermitFacts(_named(permit_view(pool.permits.snapshot())))
    for invariant in (*[one for one in STATES if one.of_view], *OF_PERMIT_VIEWS):
        assert invariant.check(facts) is None, invariant.name


def _named(whole: Any) -> Any:
    """The same with names for the runs, which the judges sort."""
    names: dict[Any, str] = {}

    def name(run: Any) -> Any:
        return run if run is None else names.setdefault(run, f"r{len(names)}")

    def renamed(run: Any) -> Any:
        return run._replace(run=name(run.run), parent=name(run.parent), job=tuple(map(name, run.job)))

    pool = whole.pool._replace(
        runs=frozenset(map(renamed, whole.pool.runs)), waiting=tuple(map(name, whole.pool.waiting))
    )
    permits = frozenset(
        permit._replace(holder=name(permit.holder), queue=tuple(map(name, permit.queue))) for permit in whole.permits
    )
    return PermitState(pool, frozenset(map(renamed, whole.present)), permits)


def play(
    program: str, cap: int, cancel: tuple[int, int] | None = None, port: type[Pool] = Pool
) -> tuple[Shop, list[asyncio.Task[Any]], int]:
    """Run a program to its end; cancel one task before one step. Returns how many steps there were."""
    loop = StepLoop()
    shop = Shop(cap, port)
    with loop.running():
        tasks = [loop.create_task(make()) for make in PROGRAMS[program](shop)]
        while True:
            if cancel is not None and loop.steps == cancel[1]:
                tasks[cancel[0]].cancel()
            if not loop.step():
                break
            judge(shop.pool)
    assert all(task.done() for task in tasks), "somebody waits for ever"
    assert not shop.on
    assert shop.pool.permits.statistics() == (0, 0, 0, 0)
    assert shop.pool.statistics().taken == 0
    assert not shop.pool._handing
    assert not shop.pool._asking
    assert set(shop.pool._results) == {
        component for component in ("S", "home", "about") if shop.pool.permits.memo(component)
    }
    return shop, tasks, loop.steps


@pytest.mark.parametrize("cap", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_task_cancelled_at_every_point_holds_nobody_up(program: str, cap: int) -> None:
    cancel_everywhere(program, cap)


def cancel_everywhere(program: str, cap: int, port: type[Pool] = Pool) -> None:
    _, whole, steps = play(program, cap, port=port)
    outcomes = [str(task.exception()) if task.exception() else task.result() for task in whole]
    for step in range(steps):
        for which in range(len(whole)):
            shop, tasks, _ = play(program, cap, (which, step), port)
            for at, task in enumerate(tasks):
                if task.cancelled():
                    assert at == which
                    continue
                told = str(task.exception()) if task.exception() else task.result()
                assert told == outcomes[at]
            assert shop.most_on <= cap * 2


class WakesNobody(Pool):
    """A permit that is handed on wakes nobody."""

    def _hand(self, runs: Any) -> None:
        pass


class StaysInQueue(Pool):
    """A build that is cancelled while it waits stays where it is."""

    def _cancel(self, run: Any) -> None:
        pass


class StoresErrors(Pool):
    """A body that raises is taken for one that ended well."""

    async def _body(self, run: Any, key: Any, fn: Any, args: Any) -> Any:
        run._well = True
        return await super()._body(run, key, fn, args)


class KeepsResults(Pool):
    """What a body returned is kept when the memo is cleared."""

    def _forget_result(self, component: Any) -> None:
        pass


@pytest.mark.parametrize("port", [WakesNobody, StaysInQueue, StoresErrors, KeepsResults])
def test_a_faulty_port_is_caught(port: type[Pool]) -> None:
    def every_program() -> None:
        for program in PROGRAMS:
            cancel_everywhere(program, 1, port)

    with pytest.raises((AssertionError, KeyError)):
        every_program()


def test_to_runs_that_build_nothing_it_is_the_pool_without_permits() -> None:
    port = resolve_port("slotlending.aio_permit:Pool")
    for program in programs_of(2):
        result = check_program(program, port, Ways(resizes=False))
        assert not result.traces, result.traces


def test_one_builds_and_the_memo_answers_the_others() -> None:
    shop, tasks, _ = play("the same", 2)
    assert shop.begun == ["S"]
    assert [task.result() for task in tasks] == ["made S"] * 3


def test_a_changed_key_and_none_at_all_build_again_one_after_another() -> None:
    shop, _, _ = play("changed", 2)
    assert shop.begun == ["S", "S", "S"]
    assert shop.most_on == 1


def test_a_shared_component_is_built_once_on_one_slot() -> None:
    shop, _, _ = play("shared", 1)
    assert sorted(shop.begun) == ["S", "about", "home"]


def test_a_build_that_fails_answers_nobody() -> None:
    shop, tasks, _ = play("failing", 1)
    assert isinstance(tasks[0].exception(), LookupError)
    assert shop.begun == ["S"]
    assert [task.result() for task in tasks[1:]] == ["made S"] * 2


def run(main: Callable[[Pool], Awaitable[Any]], cap: int = 1) -> Any:
    loop = StepLoop()
    with loop.running():
        task = loop.create_task(main(Pool(cap)))  # type: ignore[arg-type]
        while loop.step():
            pass
    assert not loop.faults
    return task.result() if task.done() else None


async def nothing() -> str:
    return "nothing"


def test_a_component_below_itself_is_refused_wherever_it_is_mounted() -> None:
    async def main(pool: Pool) -> list[str]:
        refused = []
        late: list[asyncio.Task[str]] = []

        async def again() -> str:
            await asyncio.sleep(0)
            async with pool.slot("between"):
                return await pool.build("S", nothing)

        async def body() -> str:
            try:
                await pool.build("T", again)
            except ComponentAbove as error:
                refused.append(error.message)
            late.append(asyncio.create_task(again()))  # ends after this build, and is still mounted by it
            return "done"

        assert await pool.build("S", body) == "done"
        try:
            await late[0]
        except ComponentAbove as error:
            refused.append(error.message)
        assert await pool.build("S", nothing) == "nothing"
        return refused

    inside, after = run(main)
    assert inside.endswith("would be below itself: 'S' > 'T'")
    assert after.endswith("would be below itself: 'S'")


def test_what_is_above_a_build_is_above_all_that_its_body_mounts() -> None:
    # Not only the component of the run, but all that it was entered with: else it waits for its own lineage.
    async def nothing() -> None:
        pass

    async def given() -> None:
        pool = Pool(3)
        seen: list[Any] = []

        async def body() -> None:
            seen.append(pool.lineage())
            await pool.build("S", nothing)

        with pytest.raises(ComponentAbove):
            await pool.build("T", body, lineage=("S",))
        assert seen == [("S", "T")]

    async def live(cap: int) -> None:
        pool = Pool(cap)
        got: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        over = asyncio.Event()

        async def waits() -> None:
            got.set_result(aio.current_run(pool))
            await over.wait()

        async def mounts() -> None:
            await pool.build("S", nothing)

        async def cycle() -> None:
            try:
                with pytest.raises(ComponentAbove):
                    await pool.build("live", mounts, parent=live_parent([await got]), job=("live",))
            finally:
                over.set()

        await asyncio.wait_for(asyncio.gather(cycle(), pool.build("S", waits, job=("s",))), 5)

    async def elsewhere() -> None:
        pool = Pool(4)
        got: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        over = asyncio.Event()

        async def waits() -> None:
            got.set_result(aio.current_run(pool))
            await over.wait()

        async def helps() -> None:
            run = await got
            try:
                async with pool.slot(parent=run):
                    with pytest.raises(ComponentAbove):
                        await pool.build("S", nothing)
            finally:
                over.set()

        await asyncio.wait_for(asyncio.gather(helps(), pool.build("S", waits)), 5)

    asyncio.run(given())
    for cap in (1, 4):
        asyncio.run(live(cap))
    asyncio.run(elsewhere())


def test_a_body_that_finishes_its_run_itself_leaves_no_result_behind() -> None:
    async def main() -> None:
        pool = Pool(1)

        async def body() -> str:
            aio.current_run(pool).finish()
            return "result"

        async def well() -> str:
            return "result"

        await pool.build("S", well, key="v1")
        with pytest.raises(NotKnown):
            await pool.build("S", body, key="v2")
        assert bool(pool._results) == (pool.permits.memo("S") is not None)

    asyncio.run(main())


def test_components_that_mount_each_other_are_named_as_the_circle_that_they_are() -> None:
    async def main(pool: Pool) -> str:
        async def mounts(other: str) -> str:
            await asyncio.sleep(0)
            return await pool.build(other, nothing)

        tasks = [
            asyncio.create_task(pool.build("A", mounts, "B", name="a")),
            asyncio.create_task(pool.build("B", mounts, "A", name="b")),
        ]
        for _ in range(6):
            await asyncio.sleep(0)
        told = str(pool.explain())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return told

    told = run(main, cap=2)
    assert "permit 'B', held by <Run b>" in told
    assert "deadlock: " in told


def test_queued_builds_are_counted_and_those_that_sit_on_a_slot() -> None:
    async def main(pool: Pool) -> tuple[int, ...]:
        gate = asyncio.Event()
        tasks = [asyncio.create_task(pool.build("S", lambda: gate.wait())) for _ in range(3)]
        for _ in range(4):
            await asyncio.sleep(0)
        counts = pool.permit_statistics()
        gate.set()
        await asyncio.gather(*tasks)
        return counts

    assert run(main, cap=3) == (3, 1, 2, 0)


def test_a_build_is_the_innermost_run_of_its_body() -> None:
    async def main(pool: Pool) -> tuple[Any, ...]:
        async def body() -> tuple[Any, ...]:
            build = aio.current_run(pool)
            assert isinstance(build, Build)
            return build.name, build.component, build.level, build.token, build.job, pool.lineage()

        async def outer() -> tuple[Any, ...]:
            return await pool.build("T", body, name="inner")

        return await pool.build("S", outer, job=("app", "update"))  # type: ignore[no-any-return]

    assert run(main) == ("inner", "T", 2, "loan", ("app", "update"), ("S", "T"))


def test_bad_arguments_leave_nothing_behind() -> None:
    async def main(pool: Pool) -> list[str]:
        told = []
        for component, more in ((None, {}), ([], {}), ("S", {"key": []}), ("S", {"job": "x"}), ("S", {"lineage": "T"})):
            with pytest.raises(TypeError) as caught:
                await pool.build(component, nothing, **more)  # type: ignore[arg-type]
            told.append(str(caught.value))
        with pytest.raises(TypeError):
            await pool.build("S", nothing, "one argument too many")  # type: ignore[call-arg]
        assert pool.permits.statistics() == (0, 0, 0, 0)
        return told

    assert "needs no permit is `pool.slot()`" in run(main)[0]


def test_a_live_run_asks_under_who_waits_for_it() -> None:
    async def main(pool: Pool) -> list[Any]:
        over = await pool.ask("over")
        over.finish()
        async with pool.slot("mounter") as mounter, pool.slot("waiter") as waiter:
            seen = [
                live_parent([over, waiter], mounter),
                live_parent([over], mounter),
                live_parent([], None),
                live_parent([over], over),
            ]
            cycle = pool.build("cycle", nothing, parent=live_parent([waiter]), job=("live", "cycle"))
            assert await cycle == "nothing"  # on the one slot that there is, lent twice
        return [run and run.name for run in seen]

    assert run(main) == ["waiter", "mounter", None, None]
