"""`slotcheck compare`: the designs side by side, and every scenario under every rule, expected against found."""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from slotcheck.checks.check import INTERRUPTED
from slotcheck.checks.designs import UNDETERMINED, WITHIN, Design, Look, design
from slotcheck.checks.processes import in_order
from slotcheck.checks.rows import Row, explore_row
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.explore import Limits, Verdict
from slotcheck.pymodel.scenario import Scenario

__all__ = ["COLUMNS", "POST", "Comparison", "Difference", "compare"]

#: The columns that the post compares the designs in.
COLUMNS = ("deadlock-free", "executing", "in flight", "levels known ahead", "one pool for all levels")

#: The table of the first seed post: for each design its cells in the words of `Design.cells`.
POST: dict[str, tuple[str, ...]] = {
    "hold": ("no", "<= cap", "<= cap", "no", "yes"),
    "release": ("yes", "<= cap", "unbounded", "no", "yes"),
    "per_level": ("yes", "<= cap x levels", "<= cap x levels", "yes", "no"),
    # There "for joins on pool tasks", "threads = parallelism, plus spare threads", "not bounded by the pool": all the
    # waits of a plain tree are such joins, and spare threads are an answer to other waits.
    "help": ("yes", "<= cap", "unbounded", "no", "yes"),
    "lend": ("yes", "<= cap", "<= cap x levels", "no", "yes"),
}

#: ``compare.py`` of that post: for each design it runs the most files (level 2) at once under a cap of 4, of 2,000.
POST_FILES = {"hold": 3, "release": 2_000, "per_level": 4, "lend": 4}
POST_CAP, POST_ALL = 4, 2_000


class Difference(NamedTuple):
    """Something found that is not what was expected."""

    what: str
    expected: str
    found: str
    #: Of a row; None of a design.
    scenario: str | None = None
    #: The shortest ways to what was found.
    traces: Sequence[Trace] = ()


@dataclass
class Comparison:
    """What was compared, and how it came out."""

    look: Look | None = None
    designs: list[Design] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    stopped: str | None = None

    @property
    def differences(self) -> list[Difference]:
        """All that is not as expected."""
        found = [
            Difference(f"{row.name}: {column}", wanted, cell, traces=_ways(row, column))
            for row in self.designs
            if row.name in POST
            for column, wanted, cell in zip(COLUMNS, POST[row.name], row.cells().values(), strict=True)
            if _contradicts(cell, wanted)
        ]
        for row in self.designs:
            wanted_files = files_expected(row)
            if wanted_files is not None and wanted_files != row.second_level.maxima and row.stopped is None:
                what = f"{row.name}: in flight on level 2"
                found.append(Difference(what, _counts(wanted_files), _counts(row.second_level.maxima)))
        found += [
            Difference(
                f"{row.scenario} under {row.rule}", row.told_expected, row.told_found, row.scenario, row.unexpected
            )
            for row in self.rows
            if row.agrees is False
        ]
        return found

    @property
    def undetermined(self) -> list[str]:
        """What could not be told."""
        told = [] if self.stopped is None else [self.stopped]
        told += [f"{row.name}: {row.stopped}" for row in self.designs if row.stopped is not None]
        told += [
            f"{row.name}: {what}: {_counts(series.maxima)} over the widths neither stays nor grows beyond cap x levels"
            for row in self.designs
            for what, series in (("executing", row.executing), ("in flight", row.in_flight))
            if row.stopped is None and what in row.undetermined()
        ]
        told += [
            f"{row.scenario} under {row.rule}: {row.stopped}"
            for row in self.rows
            if row.stopped is not None and row.agrees is not False
        ]
        if not self.designs and all(row.expected is None for row in self.rows):
            told.append("no 'expect' line to compare with, such as 'expect lend: holds'")
        return told

    @property
    def verdict(self) -> Verdict:
        """Violated if anything is not as expected; undetermined if anything could not be told; else holds."""
        if self.differences:
            return Verdict.VIOLATED
        return Verdict.UNDETERMINED if self.undetermined else Verdict.HOLDS


def _contradicts(cell: str, wanted: str) -> bool:
    """Whether a cell cannot be as the post has it."""
    if cell.startswith("not "):
        return wanted in WITHIN[: WITHIN.index(cell.removeprefix("not ")) + 1]
    return cell not in (wanted, UNDETERMINED)


def _ways(row: Design, column: str) -> list[Trace]:
    """The shortest way to what a cell says, if it says that something is broken."""
    broken = {
        "executing": "executing <= cap",
        "in flight": "in flight <= cap x levels",
        "levels known ahead": "levels not known ahead",
    }.get(column, column)
    return [row.breaks[broken]] if broken in row.breaks else []


def files_expected(row: Design) -> tuple[int, ...] | None:
    """What the post's count of files comes to at the widths and the cap of our look."""
    if row.name not in POST_FILES:
        return None
    peak, cap = POST_FILES[row.name], row.look.cap
    if peak == POST_ALL:
        return row.look.widths
    return tuple(min(width, cap + peak - POST_CAP) for width in row.look.widths)


def _counts(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


#: A design by name, or a scenario under a rule.
_Item: TypeAlias = "str | tuple[Scenario, str]"


def compare(
    designs: Sequence[str],
    rows: Sequence[tuple[Scenario, str]],
    *,
    look: Look | None = None,
    limits: Limits | None = None,
    jobs: int = 1,
    max_seconds: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Look at the designs, and explore each scenario under its rule. ``limits`` are those of each exploration.

    ``progress`` is told how many are done, after each. Ctrl-C and ``max_seconds`` end it early; what was compared by
    then is told, and the whole is undetermined.
    """
    look = look or Look()
    compared = Comparison(look if designs else None)
    items: list[_Item] = [*designs, *rows]
    deadline = None if max_seconds is None else time.monotonic() + max_seconds
    too_long = "" if max_seconds is None else f"more than {max_seconds:g} seconds"
    work = functools.partial(_compare_one, look, limits or Limits(), deadline, too_long)
    results = in_order(work, items, jobs=jobs, deadline=deadline, initializer=_set_up, initargs=(os.getcwd(),))
    done = 0
    with closing(results):
        try:
            for result in results:
                if result is None:
                    break
                if isinstance(result, Design):
                    compared.designs.append(result)
                else:
                    compared.rows.append(result)
                done += 1
                if progress is not None:
                    progress(done)
        except KeyboardInterrupt:
            compared.stopped = INTERRUPTED
        except TimeoutError:
            pass
        except BrokenProcessPool:
            compared.stopped = "a process that explored ended"
    if done < len(items) and compared.stopped is None:
        compared.stopped = too_long
    return compared


def _compare_one(look: Look, limits: Limits, deadline: float | None, too_long: str, item: _Item) -> Design | Row | None:
    if deadline is not None:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        limits = replace(limits, seconds=left if limits.seconds is None else min(limits.seconds, left))
    result = design(item, look, limits) if isinstance(item, str) else explore_row(*item, limits)
    if result.stopped is not None and deadline is not None and time.monotonic() > deadline:
        result.stopped = too_long  # not the part of it that was left for this one
    return result


def _set_up(folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and ends us
    os.chdir(folder)
