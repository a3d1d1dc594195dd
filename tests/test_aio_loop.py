"""The loop that a test drives: the same steps every time, one at a time, and nothing hidden."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from slotcheck.checks.aio_loop import StepLoop

Log = list[str]


def drive(main: Coroutine[Any, Any, Any], **options: Any) -> tuple[StepLoop, asyncio.Task[Any]]:
    """Run to the end."""
    loop = StepLoop(**options)
    with loop.running():
        task = loop.create_task(main)
        while loop.step():
            pass
    return loop, task


# -- steps -------------------------------------------------------------------------------------------------------


def test_a_step_is_one_callback() -> None:
    seen: Log = []

    async def body(name: str) -> None:
        seen.append(name)
        await asyncio.sleep(0)
        seen.append(name.upper())

    loop = StepLoop()
    with loop.running():
        for name in "ab":
            loop.create_task(body(name))
        told = []
        while loop.step():
            told.append("".join(seen))
    assert told == ["a", "ab", "abA", "abAB"]
    assert (loop.steps, loop.idle(), loop.alive()) == (4, True, [])


def test_a_test_can_cancel_a_task_between_any_two_callbacks() -> None:
    async def body() -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return "ended"

    ends = []
    for moment in range(5):
        loop = StepLoop()
        with loop.running():
            task = loop.create_task(body())
            while not loop.idle():
                if loop.steps == moment:
                    task.cancel()
                loop.step()
        ends.append("cancelled" if task.cancelled() else task.result())
    assert ends == ["cancelled"] * 4 + ["ended"]


def test_time_passes_when_nothing_is_ready_and_then_at_once() -> None:
    seen: Log = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(2, seen.append, "two")
        loop.call_later(1, seen.append, "one")
        loop.call_later(1, seen.append, "one more")
        loop.call_later(1.5, seen.append, "cancelled").cancel()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.sleep(3600)
        seen.append(f"{loop.time():g}")

    loop, task = drive(main())
    assert task.result() is None
    assert seen == ["one", "one more", "two", "10"]
    assert loop.time() == 10  # the timer of an hour was cancelled with its sleep


def test_a_callback_runs_in_its_context() -> None:
    name = contextvars.ContextVar("name", default="outside")
    seen: Log = []

    async def body(own: str) -> None:
        name.set(own)
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(lambda: seen.append(name.get()))
        await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(body("a"), body("b"))
        seen.append(name.get())

    drive(main())
    assert seen == ["a", "b", "outside"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks start eagerly from 3.12 on")
def test_eager_tasks_start_inside_create_task_and_are_known_in_the_order_of_their_making() -> None:
    seen: Log = []

    async def child() -> None:
        seen.append("child")

    async def main() -> None:
        await asyncio.create_task(child(), name="child")
        seen.append("main")

    loop, task = drive(main(), eager=True)
    assert task.done()
    assert seen == ["child", "main"]
    assert loop.made[0].task is task
    assert len(loop.made) == 2


# -- it does what asyncio does -----------------------------------------------------------------------------------


async def _queue(log: Log) -> None:
    queue: asyncio.Queue[int] = asyncio.Queue(1)

    async def put() -> None:
        for number in range(4):
            await queue.put(number)
            log.append(f"put {number}")

    async def get() -> None:
        for _ in range(4):
            log.append(f"got {await queue.get()}")

    await asyncio.gather(put(), get())


async def _semaphore(log: Log) -> None:
    semaphore = asyncio.Semaphore(2)

    async def body(name: str) -> None:
        async with semaphore:
            log.append(f"{name} in")
            await asyncio.sleep(0)
            log.append(f"{name} out")

    async with asyncio.TaskGroup() as group:
        for name in "abcd":
            group.create_task(body(name))


async def _errors(log: Log) -> None:
    async def fail(name: str) -> None:
        await asyncio.sleep(0)
        raise ValueError(name)

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            log.append("wait is cancelled")

    try:
        async with asyncio.TaskGroup() as group:
            for body in (wait(), fail("a"), fail("b")):
                group.create_task(body)
    except* ValueError as errors:
        log += sorted(str(error) for error in errors.exceptions)


async def _timeouts(log: Log) -> None:
    condition = asyncio.Condition()

    async def waiter() -> None:
        async with condition:
            await condition.wait()
            log.append("woken")

    task = asyncio.create_task(waiter())
    try:
        await asyncio.wait_for(asyncio.shield(task), 0.01)
    except TimeoutError:
        log.append("too late")
    async with condition:
        condition.notify()
    await task
    done, _ = await asyncio.wait([asyncio.create_task(asyncio.sleep(0, "x"))])
    log.append(done.pop().result())


@pytest.mark.parametrize("program", [_queue, _semaphore, _errors, _timeouts])
def test_programs_do_the_same_as_on_the_loop_of_asyncio(program: Callable[[Log], Awaitable[None]]) -> None:
    here: Log = []
    there: Log = []
    loop, task = drive(program(here))  # type: ignore[arg-type]
    assert task.result() is None
    assert loop.faults == []
    asyncio.run(program(there))  # type: ignore[arg-type]
    assert here == there
    assert here


def test_the_same_program_takes_the_same_steps() -> None:
    async def main() -> Log:
        log: Log = []
        for program in (_queue, _semaphore, _errors, _timeouts):
            await program(log)
        return log

    one, two = drive(main()), drive(main())
    assert one[0].steps == two[0].steps
    assert [made.step for made in one[0].made] == [made.step for made in two[0].made]


# -- nothing is hidden -------------------------------------------------------------------------------------------


def test_it_knows_every_task_and_who_made_it() -> None:
    async def child() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.create_task(child(), name="child")

    loop, task = drive(main())
    (own, made) = loop.made
    assert (own.task, own.maker, own.step) == (task, None, 0)
    assert (made.task.get_name(), made.maker, made.step) == ("child", task, 1)


def test_what_goes_wrong_in_a_callback_is_kept() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)

    loop, _ = drive(main())
    (fault,) = loop.faults
    assert isinstance(fault["exception"], ZeroDivisionError)


def test_an_interrupt_goes_through() -> None:
    loop = StepLoop()
    with loop.running():
        loop.call_soon(_interrupt)
        with pytest.raises(KeyboardInterrupt):
            loop.step()
    assert loop.faults == []


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_exceptions_that_nobody_saw_and_tasks_that_were_dropped_are_told() -> None:
    async def fail() -> None:
        raise ValueError("unseen")

    async def main() -> None:
        asyncio.create_task(fail())  # noqa: RUF006  # dropped on purpose
        await asyncio.sleep(0)

    loop, _ = drive(main())
    loop.made.clear()
    gc.collect()
    (fault,) = loop.faults
    assert "never retrieved" in fault["message"]


def test_a_generator_that_is_dropped_before_its_end_is_told() -> None:
    async def numbers() -> Any:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)

    async def main() -> None:
        made = numbers()
        await anext(made)
        del made

    loop, _ = drive(main())
    (fault,) = loop.faults
    assert "asynchronous generator" in fault["message"]
    assert sys.get_asyncgen_hooks().finalizer is None


# -- what it does not do -----------------------------------------------------------------------------------------


def test_threads_and_input_are_refused() -> None:
    async def in_thread() -> None:
        await asyncio.to_thread(int)

    async def connect() -> None:
        await asyncio.open_connection("localhost", 1)

    for body in (in_thread(), connect()):
        _, task = drive(body)
        assert isinstance(task.exception(), NotImplementedError)
    loop = StepLoop()
    for call in (loop.call_soon_threadsafe, loop.add_signal_handler, loop.run_forever, loop.run_until_complete):
        with pytest.raises(NotImplementedError):
            call(1, 2) if call == loop.add_signal_handler else call() if call == loop.run_forever else call(print)


def test_one_loop_runs_at_a_time() -> None:
    loop = StepLoop()
    with loop.running():
        assert loop.is_running()
        with pytest.raises(RuntimeError, match="another loop"), StepLoop().running():
            pass
    assert not loop.is_running()
    assert asyncio._get_running_loop() is None


def test_a_closed_loop_takes_nothing_more() -> None:
    loop = StepLoop()
    loop.call_soon(print)
    loop.close()
    assert (loop.is_closed(), loop.idle()) == (True, True)
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)
