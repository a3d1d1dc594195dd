"""The whole check of a port: level by level, until something is wrong, and then the smallest script that shows it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from slotcheck.checks.port.client import AnyPort, Port
from slotcheck.checks.port.counterexample import trace_of_port
from slotcheck.checks.port.drive import PROTOCOL, Fault, OverTimeError, Session
from slotcheck.checks.port.levels import LEVELS, REQUESTS, VECTORS, Part, parts_of
from slotcheck.checks.port.messages import FEATURES, Hello
from slotcheck.checks.port.oracle import Exchange
from slotcheck.checks.port.process import PortFaultError, StartError
from slotcheck.checks.port.smallest import Smallest, smallest
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.explore import Verdict

__all__ = ["PartResult", "PortReport", "PortSettings", "check_port", "starter"]


@dataclass(frozen=True)
class PortSettings:
    """How a port is checked.

    Attributes:
        levels: some of `LEVELS`, in their order.
        runs: trees of up to so many runs, for the edges.
        caps: to make pools with, and to resize to.
        histories: random histories of 250 calls, for each order and with relend off and on.
        seed: of the first of them.
        timeout: seconds that the port may take for an answer, and to end.
        max_seconds: for the whole check; None for as long as it takes.
    """

    levels: tuple[str, ...] = LEVELS
    runs: int = 4
    caps: tuple[int, ...] = (1, 2, 3)
    histories: int = 20
    seed: int = 0
    timeout: float = 10.0
    max_seconds: float | None = None


@dataclass
class PartResult:
    """What became of one script."""

    level: str
    name: str
    states: int = 0
    #: Edges in all, refused calls included; those that the port took as it should; those that all stand for.
    edges: int = 0
    covered: int = 0
    full_edges: int = 0
    messages: int = 0
    seconds: float = 0.0
    failed: bool = False
    #: Whether it was played to its end, all as demanded.
    complete: bool = False


@dataclass
class PortReport:
    """What was looked at, and what was found."""

    command: tuple[str, ...]
    settings: PortSettings
    hello: Hello | None = None
    parts: list[PartResult] = field(default_factory=list)
    #: Fields of `state` that the port does not show.
    hidden: tuple[str, ...] = ()
    violation: Smallest | None = None
    #: The same as a trace, where it is one.
    trace: Trace | None = None
    #: The part in which it was found; "" if that is none.
    where: str = ""
    #: Why the check ended early, without a violation.
    stopped: str | None = None

    @property
    def messages(self) -> int:
        """Requests answered as they must be."""
        return sum(part.messages for part in self.parts)

    @property
    def not_claimed(self) -> list[str]:
        """The features that the port does not have."""
        return [] if self.hello is None else [name for name in FEATURES if name not in self.hello.features]

    @property
    def nothing_to_look_at(self) -> str:
        """Why nothing was looked at, where that is so and nothing else ended the check."""
        if self.violation is not None or self.stopped or {part.level for part in self.parts} - {REQUESTS}:
            return ""
        return "nothing was checked: there are no vectors for the features of this port"

    @property
    def verdict(self) -> Verdict:
        """Holds only if everything asked for was looked at, and something was."""
        if self.violation is not None:
            return Verdict.VIOLATED
        complete = all(part.complete and part.covered == part.edges for part in self.parts)
        looked_at = {part.level for part in self.parts} & set(self.settings.levels)
        missing = set(self.settings.levels) - looked_at - {VECTORS}  # there may be none for the features of a port
        return Verdict.HOLDS if complete and looked_at and not missing and not self.stopped else Verdict.UNDETERMINED


def starter(command: Sequence[str], timeout: float) -> Callable[[bool], AnyPort]:
    """What starts a port as a process; told whether it is to be sent one request at a time."""
    return lambda one_by_one: Port(command, timeout, one_by_one=one_by_one)


def check_port(
    command: Sequence[str],
    settings: PortSettings,
    *,
    start: Callable[[bool], AnyPort] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> PortReport:
    """Start a port and drive it through the levels.

    Args:
        command: the program and its arguments.
        start: how to start it otherwise; told whether it is to be sent one request at a time.
        progress: told how many parts are begun.

    Raises:
        StartError: it cannot be started.
    """
    report = PortReport(tuple(command), settings)
    deadline = None if settings.max_seconds is None else time.monotonic() + settings.max_seconds
    starts = start or starter(command, settings.timeout)
    session = Session(starts, deadline)
    try:
        try:
            report.hello = session.port().hello
        except PortFaultError as breach:
            report.violation = Smallest((), Fault(PROTOCOL, str(breach), (), breach=breach))
            return report
        for level in (*settings.levels, REQUESTS):
            if level == REQUESTS and (fault := session.end()) is not None:  # and it is sent to a new process
                report.violation = Smallest((), fault)
                return report
            for part in parts_of(
                level, report.hello, runs=settings.runs, caps=settings.caps, seed=settings.seed,
                histories=settings.histories,
            ):  # fmt: skip
                progress(len(report.parts))
                fault = _play(session, part, report)
                if fault is not None:
                    session.deadline = None  # what is found is told
                    report.where = f"{part.level}: {part.name}"
                    report.violation = smallest(session, fault, shows="state" in report.hello.features)
                    report.trace = trace_of_port(starts, report.violation)
                    return report
        fault = session.end()
        if fault is not None:
            report.violation = Smallest((), fault)
    except OverTimeError:
        report.stopped = f"the {settings.max_seconds:g} s for the whole check are over"
    except StartError:
        if report.hello is None:
            raise
        report.stopped = "the port cannot be started again"
    finally:
        report.hidden = tuple(sorted(session.hidden))
        session.stop()
    return report


def _play(session: Session, part: Part, report: PortReport) -> Fault | None:
    result = PartResult(part.level, part.name)
    report.parts.append(result)
    walked, result.states, result.edges, result.full_edges = part.script(session.look_at_the_clock)
    edges: deque[bool] = deque()  # of the exchanges on their way, whether each takes an edge for the first time

    def exchanges() -> Iterator[Exchange]:
        for one in walked:
            edges.append(one.edge is not None)
            yield one.exchange

    def done() -> None:
        result.covered += edges.popleft()

    before, started = session.messages, time.monotonic()
    try:
        fault = session.play(exchanges(), done)
    finally:
        result.messages = session.messages - before
        result.seconds = time.monotonic() - started
    result.failed = fault is not None
    result.complete = fault is None
    return fault
