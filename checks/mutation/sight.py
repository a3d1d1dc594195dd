"""What may see that a module decides otherwise than it should: the checks of the suite, on what is small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.conformance import refuses_bad_caps
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.generated_permits import permit_scenarios
from slotcheck.checks.histories import play_histories
from slotcheck.checks.permit_subject import with_permits
from slotcheck.checks.scenario import builtin_scenarios
from slotcheck.checks.subject import ClassSubject, resolve_subject
from slotcheck.pymodel.rules import RULES
from slotcheck.pymodel.scenario import Scenario

__all__ = ["Check", "checks_of"]

_MOST_RUNS = 4  # of a scenario that is played

_ORDERS = (
    ("fifo", None),
    ("fewest_held", "oldest"),
    ("round_robin", None),
    ("strict_priority:j1,j2", None),
    ("fixed_share:1", None),
)


class Check(NamedTuple):
    """What may see a fault.

    Attributes:
        name: what reports call it.
        seconds: of processor time after which it hangs: ten times what it takes on what ships, or more.
        run: yields what it sees, as it is found.
    """

    name: str
    seconds: float
    run: Callable[[], Iterator[str]]


def _failures(subject: ClassSubject, scenarios: Iterable[Scenario]) -> Iterator[str]:
    for part in parts_of(scenarios):
        yield from (f"{trace.invariant} in {part.name}" for trace in check_part(part, subject).traces)


def _forests(runs: int) -> Iterator[str]:
    subject = _pool()
    if (accepted := refuses_bad_caps(subject)) is not None:
        yield f"Refused: {accepted}"
    yield from _failures(subject, (one for one in generated_scenarios(runs) if runs == 2 or len(one.runs) == runs))


def _other_orders() -> Iterator[str]:
    for order, tie in _ORDERS:
        for seen in _failures(_pool(order, tie), generated_scenarios(2)):
            yield f"{seen}, {order}"


def _histories() -> Iterator[str]:
    yield from (f"{trace.invariant} in {trace.scenario}" for trace in play_histories(_pool(), RULES["lend"]).traces)


def _permits(runs: int) -> Iterator[str]:
    yield from _failures(_with_permits(), (one for one in permit_scenarios(runs) if len(one.runs) == runs))


def _scenarios(*, permits: bool) -> Iterator[str]:
    small = [one for one in builtin_scenarios().values() if len(one.runs) <= _MOST_RUNS]
    yield from _failures(_with_permits(), (one for one in small if one.permits))
    if not permits:
        yield from _failures(_pool(), (one for one in small if not one.permits))


def _pool(order: str | None = None, tie: str | None = None) -> ClassSubject:
    subject = resolve_subject("pool", order=order, tie=tie)
    assert isinstance(subject, ClassSubject)
    subject.ours = False  # so that the form of what it says is judged too, as for any class
    return subject


def _with_permits() -> ClassSubject:
    subject = with_permits(_pool())
    assert isinstance(subject, ClassSubject)
    subject.ours = False
    return subject


def checks_of(module: str) -> Sequence[Check]:
    """What may see a fault of a module of `slotlending`, the cheapest first."""
    if module == "permit":
        return (
            Check("permits of 2 runs", 10, partial(_permits, 2)),
            Check("scenarios", 40, partial(_scenarios, permits=True)),
            Check("permits of 3 runs", 100, partial(_permits, 3)),
        )
    return (
        Check("forests of 2 runs", 10, partial(_forests, 2)),
        Check("other orders", 20, _other_orders),
        Check("permits of 2 runs", 10, partial(_permits, 2)),
        Check("forests of 3 runs", 20, partial(_forests, 3)),
        Check("histories", 40, _histories),
        Check("scenarios", 40, partial(_scenarios, permits=False)),
    )
