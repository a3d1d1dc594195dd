"""The whole check of an asyncio port: which class, which programs, on how many processes, and their verdict."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from slotcheck.checks.aio_check import AioTrace, ProgramResult, Ways, check_programs
from slotcheck.checks.aio_programs import FORMS, LONG_WAIT, Port, Program, programs_of
from slotcheck.checks.aio_trees import TREES, Growth, Tree, TreeResult, grow_tree
from slotcheck.checks.aio_watch import LATE_CHILD, PORT_INVARIANTS, PORT_WITNESSES, TWO_WOKEN
from slotcheck.checks.check import INTERRUPTED
from slotcheck.checks.invariants import STATES
from slotcheck.checks.processes import in_order
from slotcheck.checks.subject import SubjectError, import_class
from slotcheck.pymodel.explore import Verdict
from slotlending import aio

__all__ = ["AioReport", "AioSettings", "check_port", "covered", "resolve_port"]

_BATCH = 12  # programs that a process takes at a time

#: What the programs call of a pool.
_METHODS = ("__aenter__", "__aexit__", "slot", "group", "ask", "try_ask", "resize", "statistics", "held")


class AioSettings(NamedTuple):
    """How to check a port. All plain data, since it goes to other processes."""

    subject: str = "aio"
    #: Programs of up to so many runs; of up to so many with a body that raises, or a cap that changes; and of up to so
    #: many with every pair of cancels.
    runs: int = 4
    odd_runs: int = 3
    pairs_runs: int = 2
    forms: tuple[str, ...] = tuple(FORMS)
    eager: bool = False

    def programs(self) -> Iterator[Program]:
        """All of them, the fewest runs first."""
        for runs in range(1, self.runs + 1):
            for program in programs_of(runs, self.forms, eager=self.eager):
                if runs <= self.odd_runs or not (program.raises or program.resize):
                    yield program

    def ways(self, runs: int) -> Ways:
        """What is done to programs of so many runs."""
        return Ways(pairs=runs <= self.pairs_runs, resizes=runs <= self.odd_runs)


@dataclass
class AioReport:
    """What a check of a port found."""

    subject: str
    settings: AioSettings
    results: list[ProgramResult] = field(default_factory=list)
    #: The trees of the post, if they were run; and what many tasks left behind, if that was measured.
    trees: list[TreeResult] = field(default_factory=list)
    growth: Growth | None = None
    stopped: str | None = None
    #: Programs with more runs than the smallest that fails, which were left alone.
    left_alone: int = 0
    #: What had to be seen and was not.
    missing: list[str] = field(default_factory=list)

    @property
    def violations(self) -> list[AioTrace]:
        """For each invariant the smallest trace: fewest runs, then smallest cap, fewest acts, fewest events."""
        best: dict[str, tuple[tuple[int, int, int, int], AioTrace]] = {}
        for result in self.results:
            for trace in result.traces:
                size = len(result.program.runs), trace.cap, len(trace.acts), len(trace)
                if trace.invariant not in best or size < best[trace.invariant][0]:
                    best[trace.invariant] = size, trace
        return [trace for _, trace in sorted(best.values(), key=lambda item: item[0])]

    @property
    def faults(self) -> list[str]:
        """What is wrong outside any program."""
        faults = [fault for tree in self.trees for fault in tree.faults]
        return faults + (self.growth.faults if self.growth is not None else [])

    @property
    def verdict(self) -> Verdict:
        """Violated if anything is; undetermined if anything was cut short, never seen or never run; else holds."""
        if self.faults or any(result.traces for result in self.results):
            return Verdict.VIOLATED
        if self.stopped or self.missing or not self.results:
            return Verdict.UNDETERMINED
        return Verdict.HOLDS


def resolve_port(spec: str) -> Port:
    """The port that a word on the command line means: ``aio``, or ``package.module:Class``.

    Raises:
        SubjectError: there is none, or it cannot be checked; the message says why.
    """
    if spec == "aio":
        return Port("aio", aio.Pool, aio.current_run)
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise SubjectError(f"{spec!r} names no port: use aio or package.module:Class")
    module, cls = import_class(module_name, name)
    missing = [method for method in _METHODS if not hasattr(cls, method)]
    if missing:
        raise SubjectError(f"{spec} lacks {', '.join(missing)}: a port has the calls of slotlending.aio.Pool")
    try:
        cls(1).core.snapshot()
        cls(1, relend=True, long_wait=LONG_WAIT, on_long_wait=lambda _: None)
        cls(1, order="fifo")
        cls(1, tie="oldest")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        options = "order=, tie=, relend=, long_wait=, on_long_wait="
        told = f"a port is made as Class(cap, {options}), and its core is a slotlending.Pool"
        raise SubjectError(f"{spec} raised {type(error).__name__}: {error} ({told})") from error
    return Port(spec, cls, getattr(module, "current_run", aio.current_run))


def check_port(
    settings: AioSettings,
    *,
    jobs: int = 1,
    trees: bool = True,
    max_seconds: float | None = None,
    keep_going: bool = False,
    progress: Callable[[int], None] | None = None,
) -> AioReport:
    """Check a port. ``progress`` is told how many programs are done.

    Once a program is violated, those with more runs can only show it in a longer way: they are left alone, unless
    ``keep_going``. Ctrl-C and ``max_seconds`` end it early; what was done by then is reported as undetermined.

    Raises:
        SubjectError: the subject cannot be checked.
    """
    port = resolve_port(settings.subject)
    report = AioReport(port.name, settings)
    programs = list(settings.programs())
    deadline = None if max_seconds is None else time.monotonic() + max_seconds
    results = _each(programs, settings, port, jobs, deadline)
    violated_at: int | None = None
    try:
        for result in results:
            if violated_at is not None and len(result.program.runs) > violated_at:
                report.left_alone = len(programs) - len(report.results)
                break
            report.results.append(result)
            if result.traces and violated_at is None and not keep_going:
                violated_at = len(result.program.runs)
            if progress is not None:
                progress(len(report.results))
        if trees and report.verdict is not Verdict.VIOLATED:
            with closing(_grown(settings, jobs, deadline)) as grown:
                report.trees = list(grown)
    except KeyboardInterrupt:
        report.stopped = INTERRUPTED
    except TimeoutError:
        report.stopped = f"more than {max_seconds:g} seconds: a callback does not return"
    except BrokenProcessPool:
        report.stopped = "a process that ran programs ended; the subject may have ended it"
    finally:
        results.close()
    if report.stopped is None and not report.left_alone and len(report.results) < len(programs):
        report.stopped = f"more than {max_seconds:g} seconds"
    if set(settings.forms) == set(FORMS):
        seen = {name for result in report.results for name in result.witnessed}
        report.missing = [name for name in PORT_WITNESSES if _is_sure(name, settings) and name not in seen]
    return report


def _is_sure(witness: str, settings: AioSettings) -> bool:
    """Whether programs in all forms are sure to show it."""
    runs = min(settings.runs, settings.odd_runs) if witness == TWO_WOKEN else settings.runs
    return PORT_WITNESSES[witness] <= runs and not (settings.eager and witness == LATE_CHILD)


def covered(report: AioReport) -> dict[str, Any]:
    """What was looked at, in counts by name."""
    results = report.results
    seen = {name for result in results for name in result.witnessed}
    return {
        "programs": len(results),
        "runs": max((len(result.program.runs) for result in results), default=0),
        "trees": len({result.program.tree for result in results}),
        "forms": list(report.settings.forms),
        "executions": sum(1 + result.cancels + result.pairs + result.resizes for result in results),
        "callbacks": sum(result.callbacks for result in results),
        "cancellations": sum(result.cancels for result in results),
        "pairs": sum(result.pairs for result in results),
        "resizes": sum(result.resizes for result in results),
        "states": sum(result.states for result in results),
        "programs_left_alone": report.left_alone,
        "invariants": {**PORT_INVARIANTS, **{invariant.name: invariant.sentence for invariant in STATES}},
        "witnesses": {name: "reached" if name in seen else "missing" for name in PORT_WITNESSES},
    }


def _each(
    programs: Sequence[Program], settings: AioSettings, port: Port, jobs: int, deadline: float | None
) -> Generator[ProgramResult, None, None]:
    """The results in order."""
    batches = [programs[at : at + _BATCH] for at in range(0, len(programs), _BATCH)]
    # A class that is not ours is kept out of this process: it may end the one that it is in.
    ours = port.cls.__module__.partition(".")[0] in ("slotlending", "slotcheck")
    if ours and jobs <= 1:
        for batch in batches:
            if deadline is not None and time.monotonic() > deadline:
                return
            yield from _check(batch, port, settings)
        return
    work = [(batch, deadline) for batch in batches]
    for results in in_order(
        _check_in_worker, work, jobs=jobs, deadline=deadline, initializer=_set_up, initargs=(settings, os.getcwd())
    ):
        yield from results
        if not results:
            return


def _grown(settings: AioSettings, jobs: int, deadline: float | None) -> Generator[TreeResult, None, None]:
    """The trees of the post, on processes of their own: a port that loses a wake-up lets them hang."""
    with_port = (settings, os.getcwd())
    return in_order(_grow_in_worker, TREES, jobs=jobs, deadline=deadline, initializer=_set_up, initargs=with_port)


def _grow_in_worker(tree: Tree) -> TreeResult:
    assert _worker is not None
    return grow_tree(tree, _worker[0])


def _check(batch: Sequence[Program], port: Port, settings: AioSettings) -> list[ProgramResult]:
    return check_programs([(program, settings.ways(len(program.runs))) for program in batch], port)


_worker: tuple[Port, AioSettings] | None = None  # of a process that runs programs


def _set_up(settings: AioSettings, folder: str) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and ends us
    sys.stdout = sys.stderr  # what a subject prints must not get into the report
    os.chdir(folder)
    _worker = resolve_port(settings.subject), settings


def _check_in_worker(work: tuple[Sequence[Program], float | None]) -> list[ProgramResult]:
    assert _worker is not None
    batch, deadline = work
    if deadline is not None and time.monotonic() > deadline:
        return []
    return _check(batch, *_worker)
