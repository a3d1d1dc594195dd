"""What a grant costs under each order, and what a big simulation costs."""

from __future__ import annotations

import gc
import multiprocessing
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from slotcheck.checks.figure import Figure
from slotcheck.checks.order_workloads import flat
from slotcheck.pymodel.simulate import simulate
from slotlending.pool import Pool

__all__ = ["JOBS", "bench_orders", "grant_cost", "simulated"]

JOBS = (10, 1_000, 100_000)
_ORDERS = (
    ("fewest_held", "served"),
    ("fewest_held", "oldest"),
    ("fifo", "served"),
    ("round_robin", "served"),
    ("strict_priority:job7,job3", "served"),
    ("fixed_share:1", "served"),
)
_GRANTS = 20_000


def bench_orders(*, rounds: int, runs: int) -> Iterator[Figure]:
    """The cost of a grant by order and by how many jobs wait; then a simulation of so many tasks in 100 jobs."""
    for order, tie in _ORDERS:
        few = 0.0
        for jobs in JOBS:
            cost = min(grant_cost(order, tie, jobs, _GRANTS) for _ in range(rounds))
            few = few or cost
            told = order.partition(":")[0] + (f" {tie}" if order == "fewest_held" else "")
            what = f"a run ends, the next gets its slot, one more asks: {told}, {jobs:,} jobs wait"
            yield Figure(what, cost, "us", "", {"times_that_of_10_jobs": round(cost / few)})
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:  # whose memory is its own
        seconds, cpu_seconds, peak_mib, end_ms = other.submit(simulated, runs).result()
    counts = {"tasks": runs, "ms_of_virtual_time": end_ms, "s_of_CPU": round(cpu_seconds)}
    yield Figure("simulation of tasks in 100 jobs on 1,000 slots", seconds, "s", "", counts)
    yield Figure("its peak memory", peak_mib, "MiB", "", counts)


def grant_cost(order: str, tie: str, jobs: int, grants: int) -> float:
    """Microseconds from the end of a run to the end of the next ask, with so many jobs waiting all the while."""
    pool = Pool(1, order=order, tie=tie)
    names = [(f"job{number}",) for number in range(jobs)]
    pool.ask("first", None, ("busy",))
    for number, job in enumerate(names):
        pool.ask(number, None, job)
    run: Any
    ((run, _),) = pool.finish("first").granted
    job_of = dict(enumerate(names))
    gc.collect()
    gc.disable()
    try:
        begun = time.perf_counter()
        for new in range(jobs, jobs + grants):
            job = job_of[new] = job_of.pop(run)
            pool.ask(new, None, job)
            ((run, _),) = pool.finish(run).granted
        return 1e6 * (time.perf_counter() - begun) / grants
    finally:
        gc.enable()


def simulated(runs: int) -> tuple[float, float, float, int]:
    """Simulate so many tasks in 100 jobs that arrive one ms apart.

    Returns:
        Seconds, seconds of CPU, the process's peak memory in MiB, ms of virtual time.
    """
    begun, begun_cpu = time.perf_counter(), time.process_time()
    jobs = [(f"job{number}_", number, runs // 100, 10 + number % 7) for number in range(100)]
    found = simulate(flat(*jobs), Pool(1_000))
    assert not found.stuck
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - begun_cpu
    return seconds, cpu_seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, found.end_ms
