"""Calls of an asyncio port from where it must not be called: another thread, another loop, or no loop at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from threading import Thread
from typing import Any

from slotcheck.checks.aio_loop import StepLoop
from slotcheck.checks.aio_programs import Port
from slotlending.errors import NoRunningLoop, WrongLoop, WrongThread

__all__ = ["judge_callers"]


def judge_callers(port: Port) -> str | None:
    """What is wrong with the answers to such calls; None if each is refused by name, and changes nothing."""
    own, other = StepLoop(), StepLoop()  # type: ignore[abstract]  # what they lack raises when it is called
    with own.running():
        pool = port.cls(2)
        run = pool.try_ask("a")
    try:
        for where, loop, thread, expected in (
            ("another thread", None, True, WrongThread),
            ("another thread, where a loop runs", other, True, WrongThread),
            ("another loop", other, False, WrongLoop),
            ("where no loop runs", None, False, NoRunningLoop),
        ):
            found: list[str | None] = []
            work = (pool, run, loop, expected, found)
            if thread:
                caller = Thread(target=_call_all, args=work)
                caller.start()
                caller.join()
            else:
                _call_all(*work)
            if found:
                return f"from {where} {found[0]}" if not where.startswith("where") else f"{where}, {found[0]}"
    finally:
        own.close()
        other.close()
    return None


def _call_all(pool: Any, run: Any, loop: StepLoop | None, expected: type[Exception], found: list[str | None]) -> None:
    with nullcontext() if loop is None else loop.running():
        for name, call in _calls(pool, run):
            before = pool.core.snapshot()
            try:
                call()
            except expected:
                told = None
            except BaseException as error:
                told = f"{name} raises {type(error).__name__}: {error}, and no {expected.__name__}"
            else:
                told = f"{name} is not refused"
            if told is None and pool.core.snapshot() != before:
                told = f"{name} is refused, and changes something"
            if told is not None:
                found.append(told)
                return


def _calls(pool: Any, run: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "try_ask", lambda: pool.try_ask("b")
    yield "ask", lambda: _begin(pool.ask("b"))
    yield "slot", lambda: _begin(pool.slot("b").__aenter__())
    yield "group", lambda: _begin(pool.group("b").__aenter__())
    yield "async with pool", lambda: _begin(_block(pool))
    yield "resize", lambda: pool.resize(1)
    yield "finish", run.finish


async def _block(pool: Any) -> None:
    async with pool:
        await asyncio.sleep(0)


def _begin(coroutine: Any) -> None:
    """Take the first step of a coroutine, and no other."""
    try:
        coroutine.send(None)
    except StopIteration:
        pass
    finally:
        coroutine.close()
