"""The main check: a subject, every interleaving of every scenario, every invariant.

`check_part` explores one scenario at one cap; `check` runs many parts, on several processes, and joins them to one
`Report` in the order of the parts, so that the same input gives the same report.
"""

from __future__ import annotations

import functools
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from slotcheck.checks.conformance import refuses_bad_caps
from slotcheck.checks.diagnosis import names
from slotcheck.checks.histories import Histories, play_histories
from slotcheck.checks.judge import SCRIPT_DONE, Judge
from slotcheck.checks.ledger import Ledger
from slotcheck.checks.paths import heaviest_paths
from slotcheck.checks.permit_subject import takes_permits, with_permits
from slotcheck.checks.processes import in_order
from slotcheck.checks.subject import AnySubject, ClassSubject, RuleSubject, SubjectError, resolve_subject, takes
from slotcheck.checks.trace import Trace, size_of, trace_of
from slotcheck.checks.witnesses import ALL_WITNESSES, Means
from slotcheck.pymodel.explore import Limits, Result, Search, Verdict, explore, walk
from slotcheck.pymodel.rules import RULES, Rule
from slotcheck.pymodel.rules.order import limits
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.workload import Action, Workload, WorkloadState

__all__ = [
    "BREADTH",
    "DEPTH",
    "WALK",
    "Part",
    "PartResult",
    "Report",
    "SCRIPT_NOT_DONE",
    "Settings",
    "check",
    "check_part",
    "parts_of",
    "reference_of",
]

DIAGNOSED = "diagnosed"
INTERRUPTED = "interrupted"
SCRIPT_NOT_DONE = "no behaviour gets through the script"

BREADTH, DEPTH, WALK = "breadth", "depth", "walk"

_LIVE_WALKS = 2  # random walks a part on a pool that lives on
_SEED = 20_261_130  # of those walks: fixed, so that the same input gives the same report


class Part(NamedTuple):
    """One scenario at one cap, relend on or off: what is explored as one."""

    scenario: Scenario
    cap: int
    relend: bool

    @property
    def name(self) -> str:
        return f"{self.scenario.name}, cap {self.cap}{', relend' if self.relend else ''}"


def parts_of(
    scenarios: Iterable[Scenario], *, caps: Sequence[int] | None = None, relend: Sequence[bool] | None = None
) -> list[Part]:
    """Every scenario at every one of its caps (or of those given), with relend as it says (or as given).

    Those with the fewest runs come first, so that the first counterexample is a smallest one.
    """
    return [
        Part(scenario, cap, on)
        for scenario in sorted(scenarios, key=lambda scenario: len(scenario.runs))
        for cap in (scenario.caps if caps is None else caps)
        for on in (scenario.relend if relend is None else relend)
    ]


class Settings(NamedTuple):
    """How to check. All plain data, since it goes to other processes."""

    subject: str = "pool"
    order: str | None = None
    tie: str | None = None
    symmetry: bool = True
    #: "breadth" (shortest traces), "depth", or "walk": random walks, which find faults but never show their absence.
    search: str = BREADTH
    walks: int = 1_000
    seed: int = 0
    max_states: int | None = None
    max_memory: int | None = None


@dataclass
class PartResult:
    """What exploring one part found."""

    name: str
    scenario: str
    tree: str
    cap: int
    relend: bool
    runs: int
    verdict: str = Verdict.UNDETERMINED.value
    states: int = 0
    edges: int = 0
    full_states: int = 0
    full_edges: int = 0
    depth: int = 0
    #: Different calls made to the subject and different states of it that no part with the same runs met before, and
    #: calls made on a pool that lived on.
    calls: int = 0
    snapshots: int = 0
    live_calls: int = 0
    most_in_flight: int = 0
    most: int = 0
    #: The most slots that runs sat on at once while they queued on a permit.
    most_queued_with_slot: int = 0
    plain: bool = False
    reduced: bool = False
    #: For each invariant how much it was judged on.
    judged: Counter[str] = field(default_factory=Counter)
    fired: Counter[str] = field(default_factory=Counter)
    reached: list[str] = field(default_factory=list)
    diagnoses: list[str] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    stopped: str | None = None


def check_part(
    part: Part,
    subject: AnySubject,
    *,
    settings: Settings | None = None,
    ledger: Ledger | None = None,
    limits: Limits | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> PartResult:
    """Explore one part and judge it. ``ledger``: what is known of the subject from parts with the same runs."""
    settings = settings or Settings()
    if part.scenario.permits:
        subject = with_permits(subject)
    ledger = ledger or ledger_for(part, subject)
    symmetry = settings.symmetry and subject.plain
    workload = Workload(part.scenario, ledger.calls, cap=part.cap, relend=part.relend, symmetry=symmetry)
    judge = Judge(workload, ledger)
    known = ledger.calls_judged, ledger.views_judged
    properties = judge.properties()
    result: Result[WorkloadState, Action]
    if settings.search == WALK:
        walks, seed = settings.walks, settings.seed
        result = walk(workload, properties, seed=seed, walks=walks, limits=limits, progress=progress)
    else:
        result = explore(workload, properties, search=Search(settings.search), limits=limits, progress=progress)
    if result.cyclic and workload.merges:
        # Whether a circle is fair cannot be told of merged states.
        apart = settings._replace(symmetry=False)
        return check_part(part, subject, settings=apart, ledger=ledger, limits=limits, progress=progress)
    scenario = part.scenario
    found = PartResult(
        part.name, scenario.name, scenario.tree, part.cap, part.relend, len(scenario.runs), plain=scenario.plain
    )
    found.states, found.edges, found.depth = result.states, result.edges, result.depth
    found.full_states, found.full_edges = result.full_states, result.full_edges
    found.calls = ledger.calls_judged - known[0]
    found.snapshots = ledger.views_judged - known[1]
    found.reduced = workload.merges
    found.judged.update(judge.judged(result, calls=found.calls, views=found.snapshots))
    found.fired = result.fired
    found.reached = sorted(witness.name for witness in ALL_WITNESSES if witness.name in result.reached)
    found.stopped = result.stopped
    found.most_in_flight, found.most = judge.most_seen, judge.most
    found.most_queued_with_slot = judge.most_queued_with_slot
    found.diagnoses = sorted(judge.diagnoses)
    for violation in result.violations:
        path, message = violation.path.actions, violation.message
        found.traces.append(trace_of(workload, path, violation.property, message, violation.circle))
    if not found.stopped:
        _judge_whole(workload, judge, found, result)
    if isinstance(subject, ClassSubject):
        _walk_live(workload, subject, found)
        found.judged["Replays"] = found.live_calls
    if found.traces:
        found.verdict = Verdict.VIOLATED.value
    elif not found.stopped:
        found.verdict = DIAGNOSED if found.diagnoses else Verdict.HOLDS.value
    return found


def ledger_for(part: Part, subject: AnySubject, *, only: Collection[str] | None = None) -> Ledger:
    """An empty ledger for parts with these runs; ``only`` as in `Ledger`."""
    if part.scenario.permits:
        subject = with_permits(subject)
    if isinstance(subject, RuleSubject):
        subject = subject.declared(part.scenario.levels)
    return Ledger(subject, reference_of(subject), [run.name for run in part.scenario.runs], only=only)


def reference_of(subject: AnySubject) -> Rule | None:
    """The rule to keep in lockstep with: a class claims to lend; a rule of the model claims only to be itself."""
    return RULES["lend"] if isinstance(subject, ClassSubject) else None


def _judge_whole(workload: Workload, judge: Judge, found: PartResult, result: Result[WorkloadState, Action]) -> None:
    """What only the whole exploration can tell."""
    scenario = workload.scenario
    crashed = any(trace.invariant == "Answers" for trace in found.traces)
    reachable = scenario.plain and not limits(workload.order)  # a share may keep slots idle
    if reachable and judge.most_seen < judge.most and not crashed:
        message = f"at most {judge.most_seen} runs are ever in flight at once, and never {judge.most}"
        way = _towards_the_most(workload)
        kept = ", ".join(workload.snapshot(_after(workload, way)).waiting)
        if kept:
            message += f": here {kept} could be too, since all that have asked are on the {workload.cap} longest paths"
        found.traces.append(trace_of(workload, way, "MaxInFlight", message))
    for diagnosis in scenario.diagnoses:
        found_reasons = [reason for stuck in judge.diagnoses.values() for reason in stuck.reasons]
        if not any(names(diagnosis, reason) for reason in found_reasons):
            message = f"the scenario names '{' '.join(diagnosis)}', which was never found"
            found.traces.append(trace_of(workload, (), "Diagnosis", message))
    if scenario.script and SCRIPT_DONE not in result.reached:
        found.stopped = SCRIPT_NOT_DONE


def _towards_the_most(workload: Workload) -> list[Action]:
    """Up to the first that waits, the runs on the cap longest disjoint paths ask, and nobody ends.

    Lending admits each of them at once, and then as many are in flight as there can be.
    """
    scenario = workload.scenario
    paths = heaviest_paths(scenario.runs, {run.name: 1 for run in scenario.runs}, workload.cap)
    wanted = {run for path in paths for run in path.runs}
    way: list[Action] = []
    state = workload.initial()[0]
    for run in scenario.runs:
        if run.name not in wanted:
            continue
        above = ("resume", run.parent)
        for action in ((above,) if run.parent is not None and above not in way else ()) + (("ask", run.name),):
            if action not in workload.actions(state) or workload.snapshot(state).waiting:
                return way
            state = workload.next(state, action)
            way.append(action)
    return way


def _after(workload: Workload, way: Sequence[Action]) -> WorkloadState:
    state = workload.initial()[0]
    for action in way:
        state = workload.next(state, action)
    return state


def _walk_live(workload: Workload, subject: ClassSubject, found: PartResult) -> None:
    """Drive one pool along random walks, without restoring it: it must do what the restored ones did.

    A pool restored from its snapshot at every step would hide whatever it keeps outside the snapshot.
    """
    if any(trace.invariant == "Answers" for trace in found.traces):
        return
    rng = random.Random(_SEED)
    # Without symmetry: among siblings that are alike, any may go first, not only the first by name.
    workload = Workload(workload.scenario, workload.calls, cap=workload.cap, relend=workload.relend, symmetry=False)
    for _ in range(_LIVE_WALKS):
        pool = subject.new(workload.cap, relend=workload.relend)
        state = workload.initial()[0]
        walked: list[Action] = []
        while actions := workload.actions(state):
            action = rng.choice(actions)
            walked.append(action)
            call = workload.call_of(state, action)
            if call is not None:
                reply = subject.call_live(pool, call.verb, *call.args)
                found.live_calls += 1
                if reply != call.reply:
                    message = (
                        f"on a pool that lived on, {call.verb}{call.args!r} gave {reply[1:]!r}; on one restored from "
                        f"its snapshot it gave {call.reply[1:]!r}: the pool keeps something outside its snapshot"
                    )
                    found.traces.append(trace_of(workload, walked, "Replays", message, last=reply))
                    return
            state = workload.next(state, action)


# -- many parts --------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """All parts of a check, and what they say together."""

    subject: str
    parts: list[PartResult] = field(default_factory=list)
    #: Faults of the subject outside any scenario, by invariant.
    faults: list[tuple[str, str]] = field(default_factory=list)
    #: Witnesses that the parts make possible and nobody saw; and those that they do not make possible.
    missing: list[str] = field(default_factory=list)
    not_covered: list[str] = field(default_factory=list)
    stopped: str | None = None
    #: Long random histories of a class against the reference; None for a rule.
    histories: Histories | None = None
    #: Parts with more runs than the smallest that fails, which were left alone.
    left_alone: int = 0
    #: Parts whose runs need permits, which do not stand on the subject.
    left_out: int = 0
    #: The counterexamples cut down (shrink.py), where that was done.
    smallest: list[Trace] | None = None

    @property
    def violations(self) -> list[Trace]:
        """For each invariant the smallest counterexample (`size_of`)."""
        if self.smallest is not None:
            return self.smallest
        best: dict[str, Trace] = {}
        histories = self.histories.traces if self.histories is not None else []
        for trace in [*(trace for part in self.parts for trace in part.traces), *histories]:
            if trace.invariant not in best or size_of(trace) < size_of(best[trace.invariant]):
                best[trace.invariant] = trace

        # At one size what a person looks for first: a deadlock, then the bounds, then what only the suite can see.
        def rank(trace: Trace) -> tuple[bool, int, int, int, str]:
            history, runs, cap, steps, _ = size_of(trace)
            late = {"AllFinish": 1, "Lockstep": 2, "Diagnosis": 3, "MaxInFlight": 4, "NoDeadlock": -1}
            return history, runs, late.get(trace.invariant, 0), cap * 1_000 + steps, trace.invariant

        return sorted(best.values(), key=rank)

    @property
    def verdict(self) -> Verdict:
        """Violated if anything is; undetermined if anything was cut short, never seen or never run; else holds."""
        if self.faults or self.violations or any(part.verdict == Verdict.VIOLATED.value for part in self.parts):
            return Verdict.VIOLATED
        short = any(part.verdict == Verdict.UNDETERMINED.value for part in self.parts)
        if short or self.stopped or self.missing or not self.parts:
            return Verdict.UNDETERMINED
        return Verdict.HOLDS


def check(
    parts: Sequence[Part],
    settings: Settings,
    *,
    jobs: int = 1,
    max_seconds: float | None = None,
    keep_going: bool = False,
    progress: Callable[[int], None] | None = None,
    progress_within: Callable[[int, int, int], None] | None = None,
) -> Report:
    """Check all parts. ``progress`` is told how many are done, after each; ``progress_within`` a part, where it is
    explored in this process, the number of states, of edges, and of states still to expand.

    Once something is violated (a refusal apart), parts with more runs than that can only show it in a longer way: they
    are left alone, unless ``keep_going``. Ctrl-C and ``max_seconds`` end it early; what was done by then is reported as
    undetermined.

    Raises:
        SubjectError: the subject cannot be checked.
    """
    subject = resolve_subject(settings.subject, order=settings.order, tie=settings.tie)
    report = Report(subject.name)
    if not takes_permits(subject):
        without = [part for part in parts if not part.scenario.permits]
        report.left_out = len(parts) - len(without)
        parts = without
    if any(part.relend for part in parts) and not takes(subject, relend=True):
        raise SubjectError(
            f"{settings.subject} does not take relend=True: check it with relend off only (--relend off)"
        )
    for part in parts[-1:]:
        snapshot = subject.initial(1, relend=part.relend)
        wanted = {"relend": part.relend, "order": settings.order, "tie": settings.tie}
        for option, value in wanted.items():
            if value is not None and getattr(snapshot, option) != value:
                told = f"made with {option}={value!r}, but its snapshot says {option} {getattr(snapshot, option)!r}"
                raise SubjectError(f"{settings.subject} was {told}")
    fault = refuses_bad_caps(subject)
    if fault is not None:
        report.faults.append(("Refused", fault))
    deadline = None if max_seconds is None else time.monotonic() + max_seconds
    results = _each(parts, settings, subject, jobs, deadline, progress_within)
    violated_at: int | None = None
    try:
        for result in results:
            if violated_at is not None and result.runs > violated_at:
                report.left_alone = len(parts) - len(report.parts)
                break
            report.parts.append(result)
            if violated_at is None and not keep_going and any(trace.invariant != "Refused" for trace in result.traces):
                violated_at = result.runs
            if result.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            if progress is not None:
                progress(len(report.parts))
    except KeyboardInterrupt:
        report.stopped = INTERRUPTED
    except TimeoutError:
        report.stopped = f"more than {max_seconds:g} seconds: a call to the subject does not return"
    except BrokenProcessPool:
        report.stopped = "a process that explored a part ended; the subject may have ended it"
    finally:
        results.close()
    if report.stopped is None and not report.left_alone and len(report.parts) < len(parts):
        report.stopped = f"more than {max_seconds:g} seconds"
    reached = {name for part in report.parts for name in part.reached}
    if isinstance(subject, ClassSubject) and report.stopped is None and not report.left_alone:
        report.histories = play_histories(subject, RULES["lend"])
    explored = parts[: len(report.parts)]
    means = [Means(part.scenario, part.cap, part.relend) for part in explored]
    for witness in ALL_WITNESSES:
        if witness.name not in reached:
            judged = witness.invariant != "HeldMatches" or subject.tells_held
            possible = judged and any(way.allow(witness) for way in means)
            (report.missing if possible else report.not_covered).append(witness.name)
    return report


def _each(
    parts: Sequence[Part],
    settings: Settings,
    subject: AnySubject,
    jobs: int,
    deadline: float | None,
    progress: Callable[[int, int, int], None] | None,
) -> Generator[PartResult, None, None]:
    """The parts' results in order. Parts with the same runs stand together and share what is known of the subject."""
    groups = [list(group) for _, group in groupby(parts, key=lambda part: part.scenario.runs)]
    # A class that is not ours is kept out of this process: it may end the one that it is in.
    ours = not isinstance(subject, ClassSubject) or subject.ours
    if ours and (jobs <= 1 or len(groups) < 2):
        for group in groups:
            yield from _check_group(group, subject, settings, deadline, progress)
        return
    work = functools.partial(_check_in_worker, deadline)
    workers = in_order(
        work, groups, jobs=jobs, deadline=deadline, initializer=_set_up, initargs=(settings, os.getcwd())
    )
    with closing(workers):
        for group, results in zip(groups, workers, strict=True):
            yield from results
            if len(results) < len(group):
                return


def _check_group(
    group: Sequence[Part],
    subject: AnySubject,
    settings: Settings,
    deadline: float | None,
    progress: Callable[[int, int, int], None] | None = None,
) -> Iterator[PartResult]:
    ledger = ledger_for(group[0], subject)
    for part in group:
        if deadline is not None and time.monotonic() > deadline:
            return
        seconds = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        limits = Limits(settings.max_states, seconds, settings.max_memory)
        yield check_part(part, subject, settings=settings, ledger=ledger, limits=limits, progress=progress)


_worker: tuple[AnySubject, Settings] | None = None  # of a process that explores parts


def _set_up(settings: Settings, folder: str) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and ends us
    sys.stdout = sys.stderr  # what a subject prints must not get into the report
    os.chdir(folder)
    _worker = resolve_subject(settings.subject, order=settings.order, tie=settings.tie), settings


def _check_in_worker(deadline: float | None, group: Sequence[Part]) -> list[PartResult]:
    assert _worker is not None
    subject, settings = _worker
    return list(_check_group(group, subject, settings, deadline))
