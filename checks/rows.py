"""Each scenario under each rule: what its ``expect`` line says against what exploration finds.

A row says all that a rule does wrong, so what is found must be exactly that. Of lending every invariant counts. Of the
other rules those count that say what is wanted of any of them; how lending gets there (its chains, its wake-ups) is not
theirs to keep.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from slotcheck.checks.check import SCRIPT_NOT_DONE, Part, PartResult, check_part, ledger_for
from slotcheck.checks.designs import DESIGNS, subject_of
from slotcheck.checks.ledger import Ledger
from slotcheck.checks.permit_subject import takes_permits
from slotcheck.checks.processes import time_left
from slotcheck.checks.subject import AnySubject, resolve_subject
from slotcheck.checks.trace import Trace, trace_of
from slotcheck.pymodel.explore import Limits
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.workload import Action, Workload, WorkloadState

__all__ = ["OF_EVERY_RULE", "Outcome", "Row", "explore_row", "rows_of", "told"]

#: One thing that a rule is expected or found to do: ``("NoDeadlock",)``, ``("cycle", "a", "b")``, ``("refused",)``.
Outcome: TypeAlias = tuple[str, ...]

#: The invariants that say what is wanted of any rule, and not how lending gets there.
OF_EVERY_RULE = frozenset(
    {
        "UnlentWithinCap",
        "CapRespected",
        "InFlightWithinCapTimesLevels",
        "NoSlotLeak",
        "GrantsTold",
        "Answers",
        "NoDeadlock",
        "AllFinish",
        "Diagnosis",
        "PermitOrder",
        "PermitExclusive",
        "NoPermitLost",
        "MemoTrue",
        "NoDoubleWork",
        "NoDeadlockWithPermits",
    }
)

_IN_FLIGHT = "InFlightWithinCapTimesLevels"

HOLDS: tuple[Outcome, ...] = (("holds",),)


@dataclass
class Row:
    """One scenario under one rule, all its caps together."""

    scenario: str
    rule: str
    #: What its line says, with ``diagnosed`` spelt out; None without a line.
    expected: tuple[Outcome, ...] | None
    found: tuple[Outcome, ...] = HOLDS
    #: Whether it is outside what lending promises: stuck in a way that was named.
    diagnosed: bool = False
    parts: int = 0
    states: int = 0
    edges: int = 0
    #: The shortest way to each thing found, by its name.
    traces: dict[str, Trace] = field(default_factory=dict)
    #: Why the exploration was cut short.
    stopped: str | None = None

    @property
    def told_expected(self) -> str:
        """As an ``expect`` line says it."""
        return "" if self.expected is None else told(self.expected)

    @property
    def told_found(self) -> str:
        """The same of what was found."""
        return told(self.found)

    @property
    def unexpected(self) -> list[Trace]:
        """The shortest way to each thing found that its line does not say."""
        names = {
            "Diagnosis" if outcome[0] in ("cycle", "never", "no") else outcome[0]
            for outcome in set(self.found) - set(self.expected or ())
        }
        return [trace for name, trace in self.traces.items() if name in names]

    @property
    def agrees(self) -> bool | None:
        """Whether found is what was expected; None where nothing was, or what is found may not be all."""
        if self.expected is None:
            return None
        if self.stopped is not None and set(self.found) - set(HOLDS) <= set(self.expected):
            return None
        return self.expected == self.found


def rows_of(scenarios: Iterable[Scenario], rules: Iterable[str] = DESIGNS) -> Iterator[tuple[Scenario, str]]:
    """What there is to compare: every scenario under every rule, whether or not its file says what to expect. Where
    runs need permits, under every rule that these can stand on.
    """
    rules = tuple(rules)
    return (
        (scenario, rule)
        for scenario in scenarios
        for rule in rules
        if not scenario.permits or takes_permits(subject_of(rule))
    )


def explore_row(scenario: Scenario, rule: str, limits: Limits | None = None) -> Row:
    """Explore a scenario under a rule, at each of its caps."""
    limits, started = limits or Limits(), time.monotonic()
    row = Row(scenario.name, rule, _expected(scenario, rule))
    found: set[Outcome] = set()
    judged_all = rule.startswith("lend")
    # Of lending the code that ships is compared, in lockstep with the rule.
    subject: AnySubject = resolve_subject("pool") if judged_all else subject_of(rule)
    relend = rule.endswith("+relend")
    named = tuple(outcome for outcome in row.expected or () if outcome[0] in ("cycle", "never"))
    scenario = replace(scenario, diagnoses=named or scenario.diagnoses)
    for cap in scenario.caps:
        part = Part(scenario, cap, relend)
        ledger = ledger_for(part, subject, only=None if judged_all else OF_EVERY_RULE)
        result = check_part(part, subject, ledger=ledger, limits=time_left(limits, started))
        row.parts += 1
        row.states += result.states
        row.edges += result.edges
        here = {_turned(tuple(reason.split())) for name in result.diagnoses for reason in name.split("; ")}
        # The reasons say that it is stuck, and what is stuck does not finish.
        stuck = bool(here) or any(trace.invariant.startswith("NoDeadlock") for trace in result.traces)
        said_otherwise = {"Diagnosis", "AllFinish"} if stuck else {"Diagnosis"}
        for trace in result.traces:
            if not _counts(trace.invariant, rule, scenario, cap, result):
                continue
            if trace.invariant == _IN_FLIGHT and not judged_all:
                trace = _way_beyond(part, ledger)
            if trace.invariant not in said_otherwise:
                here.add((trace.invariant,))
            if trace.invariant not in row.traces or len(trace) < len(row.traces[trace.invariant]):
                row.traces[trace.invariant] = trace
        if any(call.reply.declined is not None for call in ledger.calls):
            here.add(("refused",))
        # What another rule does wrong may keep it from the script's end; if it does nothing wrong, nothing was shown.
        if result.stopped is not None and (judged_all or not here or result.stopped != SCRIPT_NOT_DONE):
            row.stopped = row.stopped or result.stopped
        found |= here
    row.diagnosed = any(outcome[0] in ("cycle", "never") for outcome in found)
    row.found = tuple(sorted(found)) or HOLDS
    return row


def _counts(invariant: str, rule: str, scenario: Scenario, cap: int, result: PartResult) -> bool:
    """Whether what the exploration of a part found violated is a fault of this rule."""
    if rule.startswith("lend"):
        return True
    if invariant == _IN_FLIGHT:
        # Where slots have no chains, the slots taken say nothing of what is in flight: the bound is the cap's.
        return result.most_in_flight > _highest_cap(scenario, cap) * scenario.levels
    if invariant == "CapRespected" and subject_of(rule).conduct.by_level:
        return False  # its cap is that of each level, and it sees to that itself
    return invariant in OF_EVERY_RULE


def _highest_cap(scenario: Scenario, cap: int) -> int:
    return max([cap, *(act.cap for act in (*scenario.environment, *scenario.script) if act.cap is not None)])


def _way_beyond(part: Part, ledger: Ledger) -> Trace:
    """The shortest way to more runs in flight than the cap allows, which is known to be there."""
    scenario, cap = part.scenario, _highest_cap(part.scenario, part.cap)
    workload = Workload(scenario, ledger.calls, cap=part.cap, relend=part.relend)
    frontier: deque[tuple[WorkloadState, tuple[Action, ...]]] = deque((state, ()) for state in workload.initial())
    known: set[Hashable] = set()
    while True:
        state, way = frontier.popleft()
        runs = sorted(run.run for run in ledger.facts(state.pool).in_flight)
        if len(runs) > cap * scenario.levels:
            told = (
                f"{len(runs)} runs are in flight ({', '.join(runs)}), more than {cap} slots x {scenario.levels} levels"
            )
            return trace_of(workload, way, _IN_FLIGHT, told)
        for action in workload.actions(state):
            after = workload.next(state, action)
            key = workload.key(after)
            if key not in known:
                known.add(key)
                frontier.append((after, (*way, action)))


def _expected(scenario: Scenario, rule: str) -> tuple[Outcome, ...] | None:
    if rule not in scenario.expect:
        return None
    outcomes: set[Outcome] = set()
    for outcome in scenario.expect[rule]:
        outcomes |= set(scenario.diagnoses) if outcome == ("diagnosed",) else {outcome}
    return tuple(sorted(map(_turned, outcomes)))


def _turned(outcome: Outcome) -> Outcome:
    """A circle begins with its first run by name, wherever one began to tell it."""
    if outcome[0] != "cycle":
        return outcome
    circle = outcome[1:]
    return "cycle", *min(circle[at:] + circle[:at] for at in range(len(circle)))


def told(outcomes: Iterable[Outcome]) -> str:
    """As an ``expect`` line says it."""
    return ", ".join(" ".join(outcome) for outcome in outcomes)
