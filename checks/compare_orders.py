"""The orders and the rules on the posts' workloads, on a virtual clock, beside the figures that the posts print.

A figure that a post prints from a virtual clock, or that is a count, must come out equal. Where a post measured a real
engine, what it measured stands beside ours and is not judged; the notes say what makes the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from slotcheck.checks.order_workloads import (
    busy_jobs,
    chain_of_work,
    files_and_chunks,
    flat,
    live_components,
    tree_walk,
)
from slotcheck.checks.playing import play, workloads
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.timeline import Simulated

__all__ = ["Comparison", "Row", "compare_orders"]

BIG, SMALL = ("big",), ("small",)

#: The six rules of the second post, as orders of the pool.
SIX = {
    "FIFO": "fifo",
    "strict priority, small first": "strict_priority:small,big",
    "strict priority, big first": "strict_priority:big,small",
    "fixed share, 4 + 4": "fixed_share:4",
    "round-robin": "round_robin",
    "fewest held first": "fewest_held",
}
_FIRST_RUN = {
    "FIFO": ("545", "400", "500", "500"),
    "strict priority, small first": ("55", "8", "550", "500"),
    "strict priority, big first": ("545", "400", "500", "500"),
    "fixed share, 4 + 4": ("100", "40", "1000", "1000"),
    "round-robin": ("105", "48", "550", "500"),
    "fewest held first": ("105", "48", "550", "500"),
}
_SECOND_RUN = {
    "FIFO": ("2500", "0%"),
    "strict priority, small first": ("540", "50%"),
    "strict priority, big first": ("2500", "0%"),
    "fixed share, 4 + 4": ("1000", "50%"),
    "round-robin": ("2500", "19%"),
    "fewest held first": ("1040", "48%"),
}
_FILES = 2_000
_FAN_OUT, _DEPTH = 5, 5
_NODES = sum(_FAN_OUT**level for level in range(_DEPTH + 1))


class Row(NamedTuple):
    """One row of a table: what came out, and what the source says, column by column ("" where it says nothing)."""

    name: str
    ours: tuple[str, ...]
    told: tuple[str, ...]


class Comparison(NamedTuple):
    """One table."""

    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    #: Whether what the source says must come out equal; otherwise it was measured on other things.
    exact: bool = True
    note: str = ""

    @property
    def different(self) -> list[tuple[Row, str, str, str]]:
        """The figures that must come out equal and did not: the row, the column, ours, theirs."""
        return [
            (row, column, ours, told)
            for row in self.rows
            for column, ours, told in zip(self.columns, row.ours, row.told, strict=True)
            if self.exact and told and ours != told
        ]


def compare_orders() -> Iterator[Comparison]:
    """Every table, one by one. The tie-break is 'served' where a table does not name it."""
    yield _first_run()
    yield _second_run()
    yield _figure()
    yield _live_components()
    yield _oldest_falls_back()
    yield _designs()
    yield _walks()


def _pool(scenario: Scenario, order: str, cap: int = 8, tie: str = "served") -> Simulated:
    return play(scenario, "pool", cap, order=order, tie=tie).found


def _first_run() -> Comparison:
    both, alone = workloads()["small-behind-big"], flat(("big", 0, 400, 10))
    rows = []
    for name, order in SIX.items():
        found, big = _pool(both, order), _pool(alone, order)
        done = found.done_by(BIG, found.ends_ms(SMALL))
        ours = (found.took_ms(SMALL), done, found.took_ms(BIG), big.took_ms(BIG))
        rows.append(Row(name, tuple(map(str, ours)), _FIRST_RUN[name]))
    columns = ("small job took, ms", "big done by then", "big took, ms", "big alone, ms")
    title = "a big job of 400 tasks, and after 5 ms a small one of 40; 8 slots, 10 ms a task"
    return Comparison(title, "second post, first run", columns, tuple(rows))


def _second_run() -> Comparison:
    both = workloads()["long-beside-short"]
    rows = []
    for name, order in SIX.items():
        found = _pool(both, order)
        rows.append(Row(name, (str(found.took_ms(SMALL)), f"{found.share(SMALL, 1_000):.0%}"), _SECOND_RUN[name]))
    columns = ("small job took, ms", "small's share of slot time in the first second")
    title = "two busy jobs of 400 tasks; big tasks take 40 ms, small ones 10 ms; 8 slots"
    return Comparison(title, "second post, second run", columns, tuple(rows))


def _figure() -> Comparison:
    told = {"FIFO": ("60", "50"), "fewest held first": ("30", "60")}
    rows = []
    for name, expected in told.items():
        found = _pool(workloads()["four-slots"], SIX[name], 4)
        rows.append(Row(name, (str(found.ends_ms(SMALL)), str(found.ends_ms(BIG))), expected))
    columns = ("small job ends, ms", "big job ends, ms")
    return Comparison("4 slots, 20 + 4 tasks", "second post, figure", columns, tuple(rows))


def _live_components() -> Comparison:
    told = {"fifo": "283, 292 (1.0.26: 276, 274)", "oldest": "80, 81, 82", "served": ""}
    rows = []
    for name, order, tie in (
        ("FIFO", "fifo", "served"),
        ("fewest held first, oldest", "fewest_held", "oldest"),
        ("fewest held first, served", "fewest_held", "served"),
    ):
        ours = []
        for starts in (5, 15):
            found = _pool(live_components(starts), order, tie=tie)
            small, big = _children(found, "small"), _children(found, "big")
            end = max(found.ended_ms[at] for at in small)
            ours.append(str(sum(found.ended_ms[at] <= end for at in big)))
        rows.append(Row(name, (*ours,), (told["fifo" if order == "fifo" else tie], "")))
    note = (
        "Under FIFO the small job's tasks go one by one on the slot that its own run lends them, 40 x 10 ms, while 7 "
        "slots serve the big one: 7 x 40 = 280, and 7 more if it starts a round later, as in the engine, where the "
        "pool has to fill first. Fewest held first counts pool slots: the update's, which the big run borrows, is "
        "charged to neither, "
        "so with 'oldest', which gives a draw to the big job, 5 big tasks run beside 3 small ones, and with 'served' 4."
    )
    columns = ("big tasks done when the small job ends (starts at 5 ms)", "(at 15 ms)")
    title = "trees with lending: two live components, 400 + 40 tasks of 10 ms, 8 slots"
    return Comparison(title, "second post and the engine, measured", columns, tuple(rows), False, note)


def _children(found: Simulated, parent: str) -> list[int]:
    return [at for at, run in enumerate(found.scenario.runs) if run.parent == parent]


def _oldest_falls_back() -> Comparison:
    told = {8: ("505", "505", "95")}
    rows = []
    for count in (1, 2, 4, 6, 7, 8, 9, 12):
        scenario = busy_jobs(count)
        ways = (("fifo", "served"), ("fewest_held", "oldest"), ("fewest_held", "served"))
        ours = tuple(str(_pool(scenario, order, tie=tie).took_ms(("late",))) for order, tie in ways)
        rows.append(Row(f"{count} busy jobs", ours, told.get(count, ("", "", ""))))
    note = "With as many busy jobs as slots, 'oldest' is FIFO: a job whose only slot came back has the older backlog."
    columns = ("FIFO, ms", "oldest, ms", "served, ms")
    title = "8 slots, busy jobs of 50 runs of 10 ms, and a job of 8 runs after 5 ms: how long that takes"
    return Comparison(title, "R6", columns, tuple(rows), True, note)


def _designs() -> Comparison:
    told = {
        "hold": ("yes", "3", "0"),
        "release": ("no", "2000", "4"),
        "per_level": ("no", "4", "4"),
        "lend": ("no", "4", "4"),
    }
    scenario = files_and_chunks(_FILES)
    rows = []
    for rule, expected in told.items():
        subject = "pool" if rule == "lend" else f"rule:{rule}"
        found = play(scenario, subject, 4, order="fifo").found
        ours = ("yes" if found.stuck else "no", str(found.in_flight.by_level[2]), str(found.working.by_level[3]))
        rows.append(Row(rule, ours, expected))
    columns = ("stuck", "peak files in flight", "peak chunks running")
    return Comparison(f"{_FILES:,} files of 2 chunks, 4 slots", "first post, compare.py", columns, tuple(rows))


def _walks() -> Comparison:
    walk, queue = tree_walk(_FAN_OUT, _DEPTH), tree_walk(_FAN_OUT, _DEPTH, late=True)
    main = 1  # the task that starts the walk
    # (name, scenario, subject, slots, tasks beside those of the nodes, as told)
    ways = (
        ("one by one", chain_of_work(_NODES), "rule:hold", 1, main, ("1", "2", "", "")),
        ("unbounded", walk, "rule:release", _NODES, main, ("3125", "", "", "")),
        ("slot held across the recursion", walk, "rule:hold", 20, main, ("", "102", "20", "20")),
        ("slot around the fetch only", walk, "rule:release", 20, main, ("20", "3907", "", "")),
        ("queue and 20 workers", queue, "pool", 20, main + 1, ("20", "22", "", "")),
        ("lending", walk, "pool", 20, main, ("", "", "", "")),
    )
    rows = []
    for name, scenario, subject, cap, beside, told in ways:
        found = play(scenario, subject, cap, order="fifo").found
        # An entry of a queue is no task; one that a worker has taken is that worker's.
        nodes = found.in_flight.peak if scenario is queue else found.alive.peak
        held = max(max(steps.values, default=0) for steps in found.held.values())
        fetched = str(sum(admitted >= 0 for admitted in found.admitted_ms)) if found.stuck else ""
        rows.append(Row(name, (str(found.working.peak), str(nodes + beside), str(held), fetched), told))
    note = (
        "A task is a run that has asked and not ended, and the main one; with a queue the 20 workers and the task that "
        "waits for them. Two counts of the post mean something else. It has 3,132 tasks for the unbounded walk, fewer "
        "than the 3,906 nodes that must all be there while the 3,125 leaves are fetched. And 20 peak fetches where the "
        "slot is held: that is the slots, for the root has fetched and holds one of them. With lending, children that "
        "wait count as tasks here: with admission before spawn (R12) only those in flight would be."
    )
    columns = ("peak fetches", "peak tasks", "most slots held", "stuck after fetches")
    return Comparison(f"walking {_NODES:,} nodes, 20 slots", "third post", columns, tuple(rows), True, note)
