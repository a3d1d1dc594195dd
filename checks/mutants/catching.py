"""Setting the checks on faulty implementations: each must be caught by what it is named for.

`catch` looks for the smallest that shows the mistake. `catch_named` looks only where it was found before, which is kept
in ``named.json`` beside this file, and wants the same message again: in seconds, what a gate asks on every change.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
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

__all__ = ["FAULTY", "MUTANT_RUNS", "Caught", "Place", "catch", "catch_named", "place_of", "places"]

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


class Place(NamedTuple):
    """Where the invariant that a faulty implementation is named for catches it, and what is then said."""

    #: The scenario, history or program; None where making one is enough.
    scenario: str | None
    cap: int
    relend: bool
    message: str


def place_of(one: Caught) -> Place:
    """Where it was caught."""
    if one.trace is None or one.trace.scenario == "any pool":
        return Place(None, 0, False, one.message)
    return Place(one.trace.scenario, one.trace.cap, one.trace.relend, one.message)


@functools.cache
def places() -> Mapping[str, Place]:
    """Of each the place where it is caught, by name."""
    said = json.loads(files("slotcheck.checks.mutants").joinpath("named.json").read_text(encoding="utf-8"))
    return {name: Place(**place) for name, place in said.items()}


def catch_named(name: str) -> Caught:
    """Check it where it was caught before, and nowhere else: the same invariant must fail there with the same message.

    An implementation that fails for another reason, as by raising an error, is not caught.
    """
    place = places().get(name)
    if place is None:
        missed = FAULTY[name]
        return Caught(name, _kind(name), missed.mistake, missed.caught_by, False, None, "no place is known to look at")
    if name in MUTANTS:
        caught = _catch(MUTANTS[name], _parts_at(place, generated_scenarios, MUTANT_RUNS), place)
    elif name in PERMITS:
        caught = _catch_permits(PERMITS[name], _parts_at(place, permit_scenarios, _PERMIT_RUNS))
    else:
        caught = _catch_port(PORTS[name], _PORT_RUNS, place)
    if caught.caught and caught.message != place.message:
        told = f"{caught.caught_by} failed, but for another reason: {caught.message}"
        return caught._replace(caught=False, trace=None, message=told)
    return caught


def _parts_at(place: Place, generate: Callable[[int], Iterable[Scenario]], runs: int) -> list[Part]:
    return [
        part
        for part in _smallest_first(generate, runs)
        if (part.scenario.name, part.cap, part.relend) == (place.scenario, place.cap, place.relend)
    ]


def _kind(name: str) -> str:
    return "pool" if name in MUTANTS else "permits" if name in PERMITS else "port"


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


def _catch(mutant: type[Mutant], parts: list[Part], place: Place | None = None) -> Caught:
    name = mutant.__name__
    subject = ClassSubject(f"slotcheck.checks.mutants:{name}", mutant)
    missed = Caught(name, "pool", mutant.mistake, mutant.caught_by, False, None, "not caught")
    if mutant.caught_by == "Refused" and (fault := refuses_bad_caps(subject)) is not None:
        return missed._replace(caught=True, trace=trace_of_bad_cap(subject), message=fault)
    if mutant.in_histories:
        where = None if place is None or place.scenario is None else (place.scenario, place.relend)
        for trace in play_histories(subject, RULES["lend"], until=mutant.caught_by, where=where).traces:
            if trace.invariant == mutant.caught_by:
                return missed._replace(caught=True, trace=trace, message=trace.message)
        return missed
    return _caught(missed, subject, parts)


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


def _catch_port(port: type[FaultyPort], runs: int, place: Place | None = None) -> Caught:
    """On programs of up to so many runs; with ``place`` only on the one there."""
    told = port.__name__, "port", port.mistake, port.caught_by
    checked = resolve_port(f"slotcheck.checks.mutants:{port.__name__}")
    for count in range(1, runs + 1):
        programs = [
            program
            for program in programs_of(count)
            if place is None or (program.name, program.cap, program.relend) == place[:3]
        ]
        for ways in (Ways(cancels=False, resizes=False), Ways()):
            for program in programs:
                for trace in check_program(program, checked, ways).traces:
                    if trace.invariant == port.caught_by:
                        return Caught(*told, True, trace, trace.message)
    return Caught(*told, False, None, "not caught")
