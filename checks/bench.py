"""How fast it is, as figures and ratios of one run beside their targets. Nothing here is a test.

Everything that is compared is measured in turn in this process, and the best of several rounds counts, since a shared
machine only ever makes things slower.
"""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from slotcheck.checks.aio_trees import many_tasks_figure
from slotcheck.checks.bench_aio import bench_aio
from slotcheck.checks.bench_orders import bench_orders
from slotcheck.checks.check import reference_of
from slotcheck.checks.figure import Figure
from slotcheck.checks.judge import Judge
from slotcheck.checks.ledger import Ledger
from slotcheck.checks.subject import AnySubject, resolve_subject
from slotcheck.pymodel.explore import Limits, Result, explore
from slotcheck.pymodel.scenario import RunSpec, Scenario
from slotcheck.pymodel.subject import Calls
from slotcheck.pymodel.workload import Workload
from slotlending.pool import Pool

__all__ = ["Exploration", "Figure", "SIZES", "Size", "bench"]


class Size(NamedTuple):
    """A full tree under a cap."""

    name: str
    levels: int
    fan_out: int
    cap: int
    #: Whether it can be explored without symmetry in reasonable time.
    in_full: bool


SIZES = (
    Size("7 runs, cap 2", 3, 2, 2, True),
    Size("15 runs, cap 2", 4, 2, 2, True),
    Size("13 runs, cap 2", 3, 3, 2, True),
    Size("21 runs, cap 2", 3, 4, 2, False),
)


class Exploration(NamedTuple):
    """One exploration of a full tree."""

    subject: str
    size: str
    symmetry: bool
    #: Whether all invariants were judged, and the pool kept in lockstep with the reference.
    judged: bool
    states: int
    full_states: int
    edges: int
    seconds: float


def tree(levels: int, fan_out: int) -> Scenario:
    """A full tree, the runs named by their path."""
    runs: list[RunSpec] = []

    def grow(name: str, parent: str | None, left: int) -> None:
        runs.append(RunSpec(name, parent))
        if left > 1:
            for child in range(fan_out):
                grow(f"{name}.{child}", name, left - 1)

    grow("r", None, levels)
    return Scenario(f"{levels} levels of {fan_out}", tuple(runs))


def bench(*, rounds: int = 3, runs: int = 1_000_000) -> Iterator[Figure | Exploration]:
    """All figures, one by one. ``runs`` is how many go through a pool for the figure of its memory."""
    yield _ask_and_finish(rounds)
    yield _memory(runs)
    yield from bench_aio(rounds=rounds)
    yield many_tasks_figure(runs)
    yield from bench_orders(rounds=rounds, runs=runs)
    yield from _raw_calls(rounds)
    yield _engine(rounds)
    yield from _explorations(rounds)


# -- the runtime package -----------------------------------------------------------------------------------------


def _ask_and_finish(rounds: int, turns: int = 2_000) -> Figure:
    """A run that gets a slot at once, against an uncontended asyncio.Semaphore."""

    async def measure() -> float:
        semaphore, pool = asyncio.Semaphore(2), Pool(2)
        best = [float("inf")] * 2
        for _ in range(20 * rounds):
            begun = time.perf_counter()
            for _ in range(turns):
                await semaphore.acquire()
                semaphore.release()
            between = time.perf_counter()
            for run in range(turns):
                pool.ask(run)
                pool.finish(run)
            best = [min(best[0], between - begun), min(best[1], time.perf_counter() - between)]
        return best[1] / best[0]

    ratio = asyncio.run(measure())
    return Figure("Pool ask + finish / asyncio.Semaphore acquire + release", ratio, "times", "<= 3")


def _memory(runs: int) -> Figure:
    """What a pool has grown by when many runs have gone through it, in trees, in jobs, some cancelled."""
    pool = Pool(4, relend=True)

    def family(number: int) -> int:
        root = ("root", number)
        pool.ask(root, None, ("app", number % 7, number))
        children = [(number, child) for child in range(8)]
        for child in children:
            pool.ask(child, root)
        pool.cancel(children[-1])
        for child in children[:-1]:
            pool.finish(child)
        pool.finish(root)
        return 9

    for number in range(100):
        family(number)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    done = number = 0
    while done < runs:
        done += family(number)
        number += 1
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pool.snapshot().taken == 0
    counts = {"runs": done}
    return Figure("memory that a pool has grown by after so many runs", (after - before) / 1024, "KiB", "<= 64", counts)


# -- restore, operate, snapshot ----------------------------------------------------------------------------------


def _raw_calls(rounds: int) -> Iterator[Figure]:
    """The real pool alone, on every call that an exploration made of it."""
    for size in SIZES:
        workload = _workload(size, Calls(resolve_subject("pool")), symmetry=not size.in_full)
        explore(workload, limits=Limits(states=20_000))
        made = [
            (workload.calls.snapshots[call.source], call.verb, call.args)
            for call in workload.calls
            if call.reply.refused is None
        ]

        def redo(made: list[tuple[Any, str, tuple[Any, ...]]] = made) -> None:
            for snapshot, verb, args in made:
                pool = Pool.restore(snapshot)
                getattr(pool, verb)(*args)
                pool.snapshot()

        rate = len(made) / _best(redo, rounds)
        what = f"restore + operation + snapshot, {size.name}"
        yield Figure(what, rate, "calls/s", ">= 100000", {"calls": len(made)})


# -- the engine --------------------------------------------------------------------------------------------------


def _engine(rounds: int) -> Figure:
    """The explorer without properties against a bare breadth-first search over the same step function."""
    size = SIZES[1]
    fastest = {"bare": float("inf"), "engine": float("inf")}
    for _ in range(rounds + 1):
        for name, search in (("bare", _bare_search), ("engine", explore)):
            workload = _workload(size, Calls(resolve_subject("rule:lend")), symmetry=False)
            begun = time.perf_counter()
            search(workload)
            fastest[name] = min(fastest[name], time.perf_counter() - begun)
    return Figure("explorer / bare breadth-first search", fastest["engine"] / fastest["bare"], "times", "<= 1.2")


def _bare_search(workload: Workload) -> int:
    gc.disable()
    try:
        seen: set[Hashable] = set(workload.initial())
        frontier = deque(workload.initial())
        while frontier:
            state = frontier.popleft()
            for action in workload.actions(state):
                after = workload.next(state, action)
                if after not in seen:
                    seen.add(after)
                    frontier.append(after)
        return len(seen)
    finally:
        gc.enable()


def _explorations(rounds: int) -> Iterator[Figure | Exploration]:
    """The real pool and the reference rule, with and without symmetry, bare and judged."""
    for size in SIZES:
        made = []
        for symmetry in (True, False) if size.in_full else (True,):
            for name in ("pool", "rule:lend"):
                for judged in (False, True):
                    seconds, result = _explored(
                        size, resolve_subject(name), symmetry, judged, rounds if symmetry else 1
                    )
                    counts = result.states, result.full_states, result.edges
                    made.append(Exploration(name, size.name, symmetry, judged, *counts, seconds))
                    yield made[-1]
        by_sum = {one.full_states for one in made if one.symmetry}
        if size.in_full:
            counted = {one.states for one in made if not one.symmetry}
            ratio = 1.0 if by_sum == counted and len(counted) == 1 else max(by_sum) / max(counted)
            what = f"states by orbit-stabiliser sum / states counted, {size.name}"
            yield Figure(what, ratio, "times", "== 1", {"states": max(counted)})
        else:
            seconds = made[0].seconds
            yield Figure(f"the real pool with symmetry, {size.name}", seconds, "s", "<= 1", {"states": max(by_sum)})


def _explored(
    size: Size, subject: AnySubject, symmetry: bool, judged: bool, rounds: int
) -> tuple[float, Result[Any, Any]]:
    best = float("inf")
    for _ in range(rounds):
        scenario = tree(size.levels, size.fan_out)
        ledger = Ledger(subject, reference_of(subject), [run.name for run in scenario.runs])
        workload = _workload(size, ledger.calls, symmetry=symmetry)
        properties = Judge(workload, ledger).properties() if judged else []
        begun = time.perf_counter()
        result = explore(workload, properties)
        best = min(best, time.perf_counter() - begun)
    assert result.full_states == result.states or symmetry
    return best, result


def _workload(size: Size, calls: Calls, *, symmetry: bool) -> Workload:
    scenario = tree(size.levels, size.fan_out)
    return Workload(scenario, calls, cap=size.cap, symmetry=symmetry, resume_at_grant=True)


def _best(run: Callable[[], None], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        try:
            begun = time.perf_counter()
            run()
            best = min(best, time.perf_counter() - begun)
        finally:
            gc.enable()
    return best
