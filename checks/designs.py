"""The designs compared: what each keeps and what it breaks, found by exploration and never looked up.

For each design three looks: at all plain forests of a few runs, for what it ever breaks and the smallest way there; at
trees of growing width, for what is bounded (the maximum stays) and what is not (it grows beyond cap x levels); and at a
chain one level longer than declared, for whether the number of levels must be known ahead.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from slotcheck.checks.diagnosis import stuck
from slotcheck.checks.facts import Facts
from slotcheck.checks.generated import forests
from slotcheck.checks.ledger import Ledger
from slotcheck.checks.processes import time_left
from slotcheck.checks.subject import RuleSubject
from slotcheck.checks.trace import Trace, trace_of
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.explore import Limits, Result, explore
from slotcheck.pymodel.rules import RULES
from slotcheck.pymodel.scenario import RunSpec, Scenario
from slotcheck.pymodel.system import Property
from slotcheck.pymodel.workload import RULE_STEPS, Action, Workload, WorkloadState

__all__ = [
    "BREAKS",
    "CONDITIONS",
    "DESIGNS",
    "GROWS",
    "UNDETERMINED",
    "WITHIN",
    "Bound",
    "Design",
    "Look",
    "Series",
    "comb",
    "design",
    "subject_of",
]

#: The designs in the order of the table: the rules of SEMANTICS 6.
DESIGNS = ("hold", "release", "retake", "per_level", "help", "help+inline", "refuse", "lend", "lend+relend")

#: What a design can be seen to break, each with a sentence.
BREAKS = {
    "deadlock-free": "a plain tree does not end: no body step is enabled, or only such as lead round in a circle",
    "executing <= cap": "more runs hold a slot unlent than the cap says",
    "in flight <= cap x levels": "more runs are in flight than the cap times the levels of the tree",
    "levels not known ahead": "a run on a level that was not declared is refused",
    "every run admitted": "a run is declined: its caller has to go on without it",
}

#: The cell of what could not be told.
UNDETERMINED = "undetermined"

#: What a bounded count may be within, the narrowest first. Of a cell no more may be known than that it is not that.
WITHIN = ("<= cap", "<= cap x levels")

#: The four conditions for deadlock, and what a state or edge of ours shows of each. A design that never shows one of
#: them has broken it, and one broken condition is enough.
CONDITIONS = {
    "mutual exclusion": "a slot serves one run at a time",
    "hold and wait": "a run keeps its slot from everybody while it waits for a run that waits for a slot",
    "no preemption": "a slot serves nobody but its holder until that has ended or given it up",
    "circular wait": "runs wait for one another in a circle",
}


class Look(NamedTuple):
    """How far the designs are looked at."""

    #: All plain forests of up to so many runs at the caps 1 to 3.
    runs: int = 4
    #: The trees of growing width, at one cap, of so many levels.
    widths: tuple[int, ...] = (2, 3, 4, 5, 6)
    cap: int = 2
    levels: int = 3


class Series(NamedTuple):
    """Maxima over trees of growing width."""

    widths: tuple[int, ...]
    maxima: tuple[int, ...]

    @property
    def bound(self) -> Bound | None:
        """The same at the end: bounded by that; growing to the end: not bounded; None where neither can be said."""
        last = self.maxima[-3:]
        if len(last) == 3 and len(set(last)) == 1:
            return Bound(last[0])
        if len(last) == 3 and last[0] < last[1] < last[2]:
            return GROWS
        return None


class Bound(NamedTuple):
    """What a count comes to at most; None if it grows with the tree."""

    most: int | None

    def told(self, cap: int, levels: int) -> str:
        """In terms of the cap and the levels."""
        if self.most is None:
            return "unbounded"
        return "<= cap" if self.most <= cap else "<= cap x levels" if self.most <= cap * levels else f"<= {self.most}"


GROWS = Bound(None)


@dataclass
class Design:
    """One row of the table, and what it stands on."""

    name: str
    look: Look
    executing: Series
    in_flight: Series
    #: Runs in flight on the second level alone: the files of the post's walk over files and chunks.
    second_level: Series
    #: What it breaks, by the names of `BREAKS`, with the smallest way there.
    breaks: dict[str, Trace] = field(default_factory=dict)
    #: The runs, the cap and the steps of each.
    sizes: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    #: Which of the four conditions for deadlock it keeps.
    seen: dict[str, bool] = field(default_factory=dict)
    #: How many pools its slots are in, judged by how many times the cap can be taken at once.
    pools: int = 1
    forests: int = 0
    states: int = 0
    edges: int = 0
    #: Why the look was cut short.
    stopped: str | None = None

    @property
    def broken_conditions(self) -> list[str]:
        """The conditions for deadlock that it breaks."""
        return [name for name in CONDITIONS if not self.seen[name]]

    def undetermined(self) -> dict[str, str]:
        """The cells that tell nothing, or only what is not so."""
        return {what: cell for what, cell in self.cells().items() if cell == UNDETERMINED or cell.startswith("not ")}

    def cells(self) -> Mapping[str, str]:
        """The row's cells by column, in the words of the post that compares the designs.

        What was found once is so; what was never found is told only where the look was not cut short.
        """
        never = self.stopped is None
        return {
            "deadlock-free": "no" if "deadlock-free" in self.breaks else "yes" if never else UNDETERMINED,
            "executing": self._bound("executing", self.executing, "<= cap"),
            "in flight": self._bound("in flight", self.in_flight, "<= cap x levels"),
            "levels known ahead": "yes" if "levels not known ahead" in self.breaks else "no" if never else UNDETERMINED,
            "one pool for all levels": "no" if self.pools > 1 else "yes" if never else UNDETERMINED,
        }

    def _bound(self, what: str, series: Series, wanted: str) -> str:
        """What a count is bounded by, judged by the trees of growing width and by what small forests break."""
        cap, levels = self.look.cap, self.look.levels
        broken = f"{what} {wanted}" in self.breaks
        bound = None if self.stopped is not None else series.bound
        # As long as it is within cap x levels it may grow up to there and stay.
        if bound is None or (bound.most is None and series.maxima[-1] <= cap * levels):
            return f"not {wanted}" if broken else UNDETERMINED
        told = bound.told(cap, levels)
        return f"not {wanted}" if broken and told in WITHIN[: WITHIN.index(wanted) + 1] else told


def subject_of(name: str) -> RuleSubject:
    """The rule of a design."""
    return RuleSubject(RULES[name.partition("+relend")[0]])


def design(name: str, look: Look, limits: Limits | None = None) -> Design:
    """Look at one design."""
    limits, started = limits or Limits(), time.monotonic()
    nothing = Series(look.widths, ())
    row = Design(name, look, nothing, nothing, nothing)
    row.seen = {"mutual exclusion": True, "hold and wait": False, "no preemption": True, "circular wait": False}
    for scenario in _plain_forests(look.runs):
        for cap in scenario.caps:
            row.forests += 1
            _Watch(row, scenario, cap, time_left(limits, started)).look()
    maxima = []
    for width in look.widths:
        watch = _Watch(row, comb(look.levels, width), look.cap, time_left(limits, started))
        watch.measure()
        maxima.append((watch.most_executing, watch.most_in_flight, watch.most_on_second))
    row.executing, row.in_flight, row.second_level = (
        Series(look.widths, counts) for counts in zip(*maxima, strict=True)
    )
    _Watch(row, comb(look.levels, 1), look.cap, time_left(limits, started), declared=look.levels - 1).look()
    return row


def comb(levels: int, width: int) -> Scenario:
    """A root with so many children, below each of which a chain goes down to the last level."""
    runs = [RunSpec("r")]
    for arm in range(1, width + 1):
        for level in range(2, levels + 1):
            above = "r" if level == 2 else f"{chr(ord('a') + level - 3)}{arm}"
            runs.append(RunSpec(f"{chr(ord('a') + level - 2)}{arm}", above))
    return _scenario(tuple(runs), ())


def _plain_forests(runs: int) -> Iterator[Scenario]:
    for size in range(1, runs + 1):
        for trees in forests(size):
            yield _scenario(trees, (1, 2, 3))


def _scenario(runs: tuple[RunSpec, ...], caps: tuple[int, ...]) -> Scenario:
    told = tree_text(runs)
    return Scenario(told, runs, caps=caps, tree=told)


class _Watch:
    """One exploration, watched for all that a row tells."""

    def __init__(
        self,
        row: Design,
        scenario: Scenario,
        cap: int,
        limits: Limits,
        declared: int | None = None,
        *,
        symmetry: bool = True,
    ) -> None:
        self.row = row
        self.scenario, self.declared = scenario, declared
        self.limits = limits
        subject = subject_of(row.name).declared(scenario.levels if declared is None else declared)
        self.ledger = Ledger(subject, None, [run.name for run in scenario.runs])
        relend = row.name.endswith("+relend")
        # A grant counts from the hand-off, so that a run resumes at once hides no count.
        self.workload = Workload(
            scenario, self.ledger.calls, cap=cap, relend=relend, symmetry=symmetry, resume_at_grant=True
        )
        self.most_executing = self.most_in_flight = self.most_on_second = 0

    def measure(self) -> None:
        """Explore for the maxima, and for whether it gets stuck."""
        properties = [Property.ends("stuck", self._end)]
        self._add(explore(self.workload, properties, limits=self.limits, on_state=self._count))

    def look(self) -> None:
        """Explore, and add what is broken to the row."""
        properties = [
            Property.states("states", self._state),
            Property.steps("steps", self._step),
            Property.ends("stuck", self._end),
            Property.eventually("deadlock-free", self.workload.finished),
        ]
        result = explore(self.workload, properties, limits=self.limits)
        if result.cyclic and self.workload.merges:
            # Whether a circle is fair cannot be told of merged states.
            scenario, cap = self.scenario, self.workload.cap
            _Watch(self.row, scenario, cap, self.limits, self.declared, symmetry=False).look()
            return
        self._add(result)

    def _add(self, result: Result[WorkloadState, Action]) -> None:
        row, workload = self.row, self.workload
        row.states += result.states
        row.edges += result.edges
        row.stopped = row.stopped or result.stopped
        for violation in result.violations:
            name, actions = violation.property, violation.path.actions
            size = len(workload.scenario.runs), workload.cap, len(actions)
            if name not in row.sizes or size < row.sizes[name]:
                row.sizes[name] = size
                row.breaks[name] = trace_of(workload, actions, name, violation.message, violation.circle)

    def _count(self, state: WorkloadState) -> None:
        facts = self.ledger.facts(state.pool)
        self.most_executing = max(self.most_executing, len(facts.unlent))
        self.most_in_flight = max(self.most_in_flight, len(facts.in_flight))
        self.most_on_second = max(self.most_on_second, facts.per_level[2])
        self.row.pools = max(self.row.pools, ceil(facts.state.taken / self.workload.cap))

    def _state(self, state: WorkloadState) -> Mapping[str, str]:
        facts = self.ledger.facts(state.pool)
        cap, row = self.workload.cap, self.row
        executing, in_flight = len(facts.unlent), len(facts.in_flight)
        if executing > facts.state.taken:
            row.seen["mutual exclusion"] = False
        if any(run.lent and run.phase == "in_flight" for run in facts.runs.values()):
            row.seen["no preemption"] = False
        if not row.seen["hold and wait"]:
            row.seen["hold and wait"] = self._withheld(state, facts)
        broken = {}
        if executing > cap:
            broken["executing <= cap"] = f"{executing} runs hold a slot unlent under a cap of {cap}"
        if in_flight > cap * state.levels:
            told = f"{in_flight} runs are in flight under a cap of {cap}, on {state.levels} levels"
            broken["in flight <= cap x levels"] = told
        return broken

    def _withheld(self, state: WorkloadState, facts: Facts) -> bool:
        """Whether a run that can do nothing keeps its slot while it waits for a run that waits for a slot."""
        acting = {action[1] for action in self.workload.actions(state) if action[0] in RULE_STEPS}
        return any(
            kind == "run" and name in facts.runs and facts.runs[name].phase == "waiting"
            for run, waits in self.workload.waits(state).items()
            if run not in acting and facts.runs[run].token != "none" and not facts.runs[run].lent
            for kind, name, _ in waits
        )

    def _step(self, state: WorkloadState, action: tuple[str, str], after: WorkloadState) -> Mapping[str, str]:
        call = self.workload.call_of(state, action)
        if call is None:
            return {}
        if call.reply.refused is not None:
            return {"levels not known ahead": f"{action[1]} is refused: {call.reply.refused}"}
        if call.reply.declined is not None:
            return {"every run admitted": f"{action[1]} is declined: {call.reply.declined}"}
        return {}

    def _end(self, state: WorkloadState) -> Mapping[str, str]:
        facts = self.ledger.facts(state.pool)
        found = stuck(self.workload, facts, state)
        if found is None:
            return {}
        if found.circles:
            self.row.seen["circular wait"] = True
        return {"deadlock-free": f"nothing goes on: {'; '.join(found.told)}"}
