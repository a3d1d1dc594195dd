"""Setting the checks on faulty implementations: each must be caught by what it is named for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from slotcheck.checks.aio_check import AioTrace, Ways, check_program
from slotcheck.checks.aio_programs import programs_of
from slotcheck.checks.aio_suite import resolve_port
from slotcheck.checks.check import Part, check_part, parts_of
from slotcheck.checks.conformance import refuses_bad_caps
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.histories import play_histories
from slotcheck.checks.mutants.pools import MUTANTS, Mutant
from slotcheck.checks.mutants.ports import PORTS, FaultyPort
from slotcheck.checks.subject import ClassSubject
from slotcheck.checks.trace import Trace, trace_of_bad_cap
from slotcheck.pymodel.rules import RULES

__all__ = ["FAULTY", "MUTANT_RUNS", "Caught", "catch"]

#: All that is faulty, pools and ports, by name.
FAULTY: dict[str, type[Mutant] | type[FaultyPort]] = {**MUTANTS, **PORTS}

#: On the forests of up to so many runs every one of them shows, and every faulty port on programs of so many.
MUTANT_RUNS = 4
_PORT_RUNS = 3


class Caught(NamedTuple):
    """What became of a faulty pool or port."""

    name: str
    #: "pool" or "port".
    kind: str
    mistake: str
    caught_by: str
    #: Whether the named invariant caught it.
    caught: bool
    #: The smallest counterexample to that invariant; None where none was found, or it needs no scenario.
    trace: Trace | AioTrace | None
    message: str


def catch(names: Iterable[str], runs: int) -> Iterator[Caught]:
    """Check each on what is generated of up to so many runs, the smallest first, until its invariant fails."""
    parts = sorted(parts_of(generated_scenarios(runs)), key=lambda part: (len(part.scenario.runs), part.cap))
    for name in names:
        yield _catch(MUTANTS[name], parts) if name in MUTANTS else _catch_port(PORTS[name], min(runs, _PORT_RUNS))


def _catch(mutant: type[Mutant], parts: list[Part]) -> Caught:
    name = mutant.__name__
    subject = ClassSubject(f"slotcheck.checks.mutants:{name}", mutant)
    if mutant.caught_by == "Refused" and (fault := refuses_bad_caps(subject)) is not None:
        trace = trace_of_bad_cap(subject)
        return Caught(name, "pool", mutant.mistake, mutant.caught_by, True, trace, fault)
    if mutant.in_histories:
        for trace in play_histories(subject, RULES["lend"]).traces:
            if trace.invariant == mutant.caught_by:
                return Caught(name, "pool", mutant.mistake, mutant.caught_by, True, trace, trace.message)
        return Caught(name, "pool", mutant.mistake, mutant.caught_by, False, None, "not caught")
    best: Trace | None = None
    size: tuple[int, int] | None = None
    for part in parts:
        if size is not None and size != (len(part.scenario.runs), part.cap):
            break
        result = check_part(part, subject)
        if result.stopped is not None:
            raise KeyboardInterrupt  # nothing else ends it early
        for trace in result.traces:
            if trace.invariant == mutant.caught_by and (best is None or len(trace) < len(best)):
                best, size = trace, (len(part.scenario.runs), part.cap)
    if best is None:
        return Caught(name, "pool", mutant.mistake, mutant.caught_by, False, None, "not caught")
    return Caught(name, "pool", mutant.mistake, mutant.caught_by, True, best, best.message)


def _catch_port(port: type[FaultyPort], runs: int) -> Caught:
    told = port.__name__, "port", port.mistake, port.caught_by
    checked = resolve_port(f"slotcheck.checks.mutants:{port.__name__}")
    for count in range(1, runs + 1):
        programs = list(programs_of(count))
        for ways in (Ways(cancels=False, resizes=False), Ways()):
            for program in programs:
                for trace in check_program(program, checked, ways).traces:
                    if trace.invariant == port.caught_by:
                        return Caught(*told, True, trace, trace.message)
    return Caught(*told, False, None, "not caught")
