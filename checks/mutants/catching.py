"""Setting the checks on faulty implementations: each must be caught by what it is named for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from slotcheck.checks.aio_check import AioTrace, Ways, check_program
from slotcheck.checks.aio_programs import programs_of
from slotcheck.checks.aio_suite import resolve_port
from slotcheck.checks.check import Part, check_part, parts_of
from slotcheck.checks.conformance import refuses_bad_caps
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.generated_permits import permit_scenarios
from slotcheck.checks.histories import play_histories
from slotcheck.checks.mutants.orders import MUTANTS
from slotcheck.checks.mutants.permits import PERMITS, FaultyPermits
from slotcheck.checks.mutants.pools import Mutant
from slotcheck.checks.mutants.ports import PORTS, FaultyPort
from slotcheck.checks.permit_subject import PermitSubject
from slotcheck.checks.subject import AnySubject, ClassSubject
from slotcheck.checks.trace import Trace, size_of, trace_of_bad_cap
from slotcheck.pymodel.rules import RULES
from slotcheck.pymodel.scenario import Scenario
from slotlending.pool import Pool

__all__ = ["FAULTY", "MUTANT_RUNS", "Caught", "catch"]

#: All that is faulty, pools, permits and ports, by name.
FAULTY: dict[str, type[Mutant] | type[FaultyPermits] | type[FaultyPort]] = {**MUTANTS, **PERMITS, **PORTS}

#: On the forests of up to so many runs every one of them shows, and every faulty port on programs of so many.
MUTANT_RUNS = 4
_PORT_RUNS = 3
_PERMIT_RUNS = 3


class Caught(NamedTuple):
    """What became of faulty permits, or a faulty pool or port."""

    name: str
    #: "pool", "permits" or "port".
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
    for name in names:
        if name in MUTANTS:
            yield _catch(MUTANTS[name], _smallest_first(generated_scenarios, runs))
        elif name in PERMITS:
            yield _catch_permits(PERMITS[name], _smallest_first(permit_scenarios, min(runs, _PERMIT_RUNS)))
        else:
            yield _catch_port(PORTS[name], min(runs, _PORT_RUNS))


@functools.cache
def _smallest_first(generate: Callable[[int], Iterable[Scenario]], runs: int) -> list[Part]:
    return sorted(parts_of(generate(runs)), key=_size)


def _size(part: Part) -> tuple[int, int]:
    return len(part.scenario.runs), part.cap


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
    return _caught(Caught(name, "pool", mutant.mistake, mutant.caught_by, False, None, "not caught"), subject, parts)


def _catch_permits(faulty: type[FaultyPermits], parts: list[Part]) -> Caught:
    name = f"slotcheck.checks.mutants:{faulty.__name__}"
    subject = PermitSubject(ClassSubject("pool", Pool), faulty, name)
    parts = [part for part in parts if part.scenario.name.endswith(f" {faulty.environment}")]
    missed = Caught(faulty.__name__, "permits", faulty.mistake, faulty.caught_by, False, None, "not caught")
    return _caught(missed, subject, parts)


def _caught(missed: Caught, subject: AnySubject, parts: list[Part]) -> Caught:
    """What is caught on the smallest parts that show it; ``missed`` if nothing is."""
    best: Trace | None = None
    size: tuple[int, int] | None = None
    for part in parts:
        if size is not None and size != _size(part):
            break
        result = check_part(part, subject)
        if result.stopped is not None:
            raise KeyboardInterrupt  # nothing else ends it early
        for trace in result.traces:
            if trace.invariant == missed.caught_by and (best is None or size_of(trace) < size_of(best)):
                best, size = trace, _size(part)
    return missed if best is None else missed._replace(caught=True, trace=best, message=best.message)


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
