"""Everything that `slotcheck prove` shows, cut into units of work for several processes.

A unit is all obligations of one step for one solver, or one forest of the comparison with the code, or a part of what
keeps the proof from being empty. A verdict is never better than what was found: an obligation is proved if every
solver asked says so, refuted if there is a counterexample that plain Python confirms and no solver says otherwise, and
undetermined in all other cases.
"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from slotcheck.checks.generated import forests
from slotcheck.checks.permit_relation import PermitForest, compare_permits, permit_forests
from slotcheck.checks.permit_subject import with_permits
from slotcheck.checks.processes import in_order
from slotcheck.checks.relation_check import CAPS, Comparison, compare_forest
from slotcheck.checks.relation_sample import Sample, sample
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.tree_text import tree_text
from slotcheck.proofs.catalogue import consequences, needs, obligations, possibilities
from slotcheck.proofs.designs import existences
from slotcheck.proofs.existence import Existence, find
from slotcheck.proofs.finite import NotAnInstanceError, counterexample
from slotcheck.proofs.obligation import Obligation
from slotcheck.proofs.solve import SolverFailedError, answers
from slotcheck.proofs.tell import told_counterexample
from slotcheck.proofs.wrong import SIZES, WRONG
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.rules import RULES

__all__ = [
    "DEEP_RUNS",
    "PROVED",
    "REFUTED",
    "RUNS",
    "UNDETERMINED",
    "Found",
    "Unit",
    "chosen_names",
    "everything",
    "good",
    "overall",
    "prove",
    "units",
]

RUNS = 4  # of the forests that relation and code are compared on; the biggest at two caps only, unless it goes deeper
DEEP_RUNS = 5
_PERMIT_RUNS = 3

PROVED, REFUTED, UNDETERMINED = "proved", "refuted", "undetermined"
FOUND, MISSING, EQUAL, DIFFERENT = "found", "missing", "equal", "different"

_GOOD = (PROVED, FOUND, EQUAL)


@dataclass(frozen=True)
class Unit:
    """One piece of work.

    Attributes:
        kind: obligations, exists, possible, needed, implied, wrong, code, permits or sample.
        names: what it is about.
        solver: who is asked; "" where only finite instances and plain Python are.
        options: forest, relend and order of a comparison.
    """

    kind: str
    names: tuple[str, ...]
    solver: str = ""
    options: tuple[str, ...] = ()


@dataclass
class Found:
    """What was found out about one name: from every solver asked, put together by `prove`."""

    kind: str
    name: str
    meaning: str
    verdict: str
    #: What each solver said, and how long it took.
    said: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    #: A counterexample or an instance, in words; or why there is no verdict.
    told: list[str] = field(default_factory=list)
    comparison: Comparison | None = None
    sample: Sample | None = None


Order: TypeAlias = tuple[str, str | None]

_FIFO: Order = ("fifo", None)
_SERVED: Order = ("fewest_held", "served")


@cache
def _existences() -> Mapping[str, Existence]:
    return {claim.name: claim for claim in existences()}


@cache
def _code(runs: int) -> Mapping[str, tuple[int, int, bool, Order]]:
    """The comparisons: every forest with FIFO, the smaller ones with the default order too, relend off and on."""
    found: dict[str, tuple[int, int, bool, Order]] = {}
    for count in range(runs, 0, -1):  # the biggest first: two processes end together
        for at, forest in enumerate(forests(count, roots=count)):
            for order in (_FIFO, _SERVED) if count < runs else (_FIFO,):
                for relend in (False, True):
                    told = (
                        f"{tree_text(forest)}, {' '.join(part for part in order if part)}{', relend' if relend else ''}"
                    )
                    found[told] = (count, at, relend, order)
    return found


@cache
def _permits(runs: int) -> Mapping[str, PermitForest]:
    """The comparisons of permits: all forests of three runs if it goes deeper, else those with a key on one slot."""
    return {
        forest.name: forest
        for forest in permit_forests(_PERMIT_RUNS)
        if runs > RUNS
        or len(forest.runs) < _PERMIT_RUNS
        or (forest.cap == 1 and any(run.key is not None for run in forest.runs))
    }


def everything(runs: int) -> dict[str, list[str]]:
    """All names, by kind."""
    return {
        "obligations": list(obligations()),
        "exists": list(_existences()),
        "possible": list(possibilities()),
        "needed": list(needs()),
        "implied": list(consequences()),
        "wrong": list(WRONG),
        "code": list(_code(runs)),
        "permits": list(_permits(runs)),
        "sample": ["edges"],
    }


def chosen_names(patterns: Sequence[str], runs: int) -> tuple[dict[str, list[str]], list[str]]:
    """What the patterns mean, by kind, and those that mean nothing.

    A pattern is a name, a part of one between slashes, or has wildcards; ``kind/name`` names one of a kind.
    """
    names = everything(runs)
    if not patterns:
        return names, []
    unused = []
    found: dict[str, list[str]] = {kind: [] for kind in names}
    for pattern in patterns:
        hits = [
            (kind, name)
            for kind, of_kind in names.items()
            for name in of_kind
            if pattern in (kind, name, f"{kind}/{name}", *(name.split("/") if kind == "obligations" else ()))
            or fnmatch.fnmatchcase(name, pattern)
            or fnmatch.fnmatchcase(f"{kind}/{name}", pattern)
        ]
        if not hits:
            unused.append(pattern)
        for kind, name in hits:
            if name not in found[kind]:
                found[kind].append(name)
    return found, unused


def units(names: Mapping[str, Sequence[str]], solvers: Sequence[str]) -> list[Unit]:
    """Cut the work up, so that what belongs together is told together."""
    made = []
    for group in _groups(names["obligations"]):
        made += [Unit("obligations", group, solver) for solver in solvers]
    made += [Unit("exists", (name,), solver) for name in names["exists"] for solver in solvers]
    for kind in ("possible", "needed", "implied", "wrong"):
        of_kind = names[kind]
        made += [Unit(kind, tuple(of_kind[at : at + 8])) for at in range(0, len(of_kind), 8)]
    made += [Unit("sample", (name,), solver) for name in names["sample"] for solver in solvers]
    made += [Unit("code", (name,)) for name in names["code"]]
    of_permits = names["permits"]
    made += [Unit("permits", tuple(of_permits[at : at + 8])) for at in range(0, len(of_permits), 8)]
    return made


def _groups(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Obligations with the same hypotheses share a session; small groups are put together."""
    group: list[str] = []
    shared: object = None
    for name in names:
        hypotheses = obligations()[name].hypotheses
        if group and hypotheses is not shared and len(group) >= 20:
            yield tuple(group)
            group = []
        shared = hypotheses
        group.append(name)
    if group:
        yield tuple(group)


def prove(work: Sequence[Unit], *, jobs: int, seconds: float, runs: int) -> Iterator[list[Found]]:
    """Do the work; what is found out comes unit by unit, with the answers of all solvers in one."""
    waiting: dict[str, Found] = {}
    solvers_of = {(unit.kind, unit.names): 0 for unit in work}
    for unit in work:
        solvers_of[unit.kind, unit.names] += 1
    done = dict.fromkeys(solvers_of, 0)
    for unit, parts in zip(work, in_order(_done, [(unit, seconds, runs) for unit in work], jobs=jobs), strict=True):
        key = unit.kind, unit.names
        done[key] += 1
        for part in parts:
            before = waiting.get(part.name)
            waiting[part.name] = part if before is None else _joined(before, part)
        if done[key] == solvers_of[key]:
            yield [waiting.pop(name) for name in unit.names]


def overall(found: Iterable[Found]) -> Verdict:
    """One verdict: violated if anything is refuted, missing or different, undetermined if nothing was done."""
    verdicts = {part.verdict for part in found}
    if verdicts & {REFUTED, MISSING, DIFFERENT}:
        return Verdict.VIOLATED
    return Verdict.HOLDS if verdicts and verdicts <= set(_GOOD) else Verdict.UNDETERMINED


def good(found: Found) -> bool:
    """Whether it is as it should be."""
    return found.verdict in _GOOD


def _joined(one: Found, other: Found) -> Found:
    """What two solvers found about one name."""
    both = Found(one.kind, one.name, one.meaning, one.verdict, one.said | other.said, one.seconds | other.seconds)
    both.told = one.told or other.told
    both.comparison, both.sample = one.comparison or other.comparison, one.sample or other.sample
    if one.verdict != other.verdict:
        both.verdict = UNDETERMINED
        if {one.verdict, other.verdict} & {REFUTED, MISSING}:
            both.told = ["the solvers disagree", *both.told]
    return both


# -- one unit ----------------------------------------------------------------------------------------------------


def _done(task: tuple[Unit, float, int]) -> list[Found]:
    unit, seconds, runs = task
    match unit.kind:
        case "obligations":
            return _prove([obligations()[name] for name in unit.names], unit.solver, seconds)
        case "exists":
            return [_find(_existences()[name], unit.solver, seconds) for name in unit.names]
        case "possible":
            return [_must_fail("possible", name, possibilities()[name], seconds) for name in unit.names]
        case "needed":
            return [_must_fail("needed", name, needs()[name], seconds) for name in unit.names]
        case "implied":
            return [_must_hold(name, consequences()[name], seconds) for name in unit.names]
        case "wrong":
            found = [_must_fail("wrong", name, WRONG[name].obligation(), seconds) for name in unit.names]
            for one in found:
                one.meaning = WRONG[one.name].mistake
            return found
        case "sample":
            return [_sampled(unit.solver, seconds)]
        case "permits":
            return [_compared_permits(_permits(runs)[name]) for name in unit.names]
    return [_compared(unit.names[0], runs)]


def _prove(chosen: Sequence[Obligation], solver: str, seconds: float) -> list[Found]:
    found = []
    try:
        for obligation, answer in zip(chosen, answers(chosen, solver, seconds), strict=True):
            proved = answer.said == "unsat"
            one = Found("obligations", obligation.name, obligation.meaning, PROVED if proved else UNDETERMINED)
            one.said[solver], one.seconds[solver] = answer.said, answer.seconds
            found.append(one)
    except SolverFailedError as error:
        for obligation in chosen[len(found) :]:
            one = Found("obligations", obligation.name, obligation.meaning, UNDETERMINED, {solver: "failed"})
            one.told = [str(error)]
            found.append(one)
    for obligation, one in zip(chosen, found, strict=True):
        if one.verdict != PROVED:
            _explain(obligation, one, seconds)
    return found


def _explain(obligation: Obligation, one: Found, seconds: float) -> None:
    """Pose a failed obligation on finite instances, for a counterexample that plain Python confirms."""
    try:
        instance = counterexample(obligation, SIZES, seconds=seconds)
    except (TimeoutError, NotAnInstanceError, SolverFailedError) as error:
        one.told.append(str(error))
        return
    if instance is None:
        one.told.append("no counterexample over a few runs and slots")
        return
    one.verdict = REFUTED
    one.told += told_counterexample(obligation, instance)


def _must_fail(kind: str, name: str, obligation: Obligation, seconds: float) -> Found:
    """An obligation that a finite instance must refute."""
    one = Found(kind, name, obligation.meaning, MISSING)
    started = time.perf_counter()
    try:
        instance = counterexample(obligation, SIZES, seconds=seconds)
        if instance is not None:
            one.verdict = FOUND
            one.told = told_counterexample(obligation, instance)
    except (TimeoutError, NotAnInstanceError, SolverFailedError) as error:
        one.verdict = UNDETERMINED
        one.told = [str(error)]
    one.said = {"obligation": obligation.name}
    one.seconds["z3"] = time.perf_counter() - started
    return one


def _must_hold(name: str, obligation: Obligation, seconds: float) -> Found:
    """A conjunct that no finite instance refutes, the others being true."""
    one = Found("implied", name, obligation.meaning, FOUND)
    started = time.perf_counter()
    try:
        instance = counterexample(obligation, SIZES[1:2], seconds=seconds)
        if instance is not None:
            one.verdict, one.told = MISSING, told_counterexample(obligation, instance)
    except (TimeoutError, NotAnInstanceError, SolverFailedError) as error:
        one.verdict, one.told = UNDETERMINED, [str(error)]
    one.seconds["z3"] = time.perf_counter() - started
    return one


def _find(claim: Existence, solver: str, seconds: float) -> Found:
    one = Found("exists", claim.name, claim.meaning, MISSING)
    started = time.perf_counter()
    try:
        instance = find(claim, solver, seconds)
        if instance is not None:
            one.verdict = FOUND
            one.told = [f"{name} = {value}" for name, value in sorted(instance.parameters.items())]
    except (TimeoutError, NotAnInstanceError, SolverFailedError) as error:
        one.verdict = UNDETERMINED
        one.told = [str(error)]
    one.said[solver] = "sat" if one.verdict == FOUND else one.verdict
    one.seconds[solver] = time.perf_counter() - started
    return one


def _compared(name: str, runs: int) -> Found:
    count, at, relend, (order, tie) = _code(runs)[name]
    forest = forests(count, roots=count)[at]
    subject = resolve_subject("pool", order=order, tie=tie)
    started = time.perf_counter()
    caps = CAPS if count < RUNS or runs > RUNS else CAPS[:2]
    comparison = compare_forest(subject, RULES["lend"], forest, exact=order == "fifo", relend=relend, caps=caps)
    return _equal_or_not("code", name, "the relation is what the pool does", comparison, started)


def _compared_permits(forest: PermitForest) -> Found:
    started = time.perf_counter()
    comparison = compare_permits(with_permits(resolve_subject("pool", order="fifo")), forest)
    return _equal_or_not("permits", forest.name, "the permit relation is what the permits do", comparison, started)


def _equal_or_not(kind: str, name: str, meaning: str, comparison: Comparison, started: float) -> Found:
    one = Found(kind, name, meaning, DIFFERENT if comparison.differences else EQUAL)
    one.comparison, one.told = comparison, comparison.differences
    one.seconds["python"] = time.perf_counter() - started
    if not comparison.edges:
        one.verdict, one.told = UNDETERMINED, ["no edge was compared"]
    return one


def _sampled(solver: str, seconds: float) -> Found:
    started = time.perf_counter()
    one = Found(
        "sample", "edges", "solver and evaluation agree on edges of the pool, right ones and spoilt ones", EQUAL
    )
    try:
        one.sample = sample(solver, seconds)
        if one.sample.differences:
            one.verdict, one.told = DIFFERENT, one.sample.differences
    except (TimeoutError, SolverFailedError) as error:
        one.verdict, one.told = UNDETERMINED, [str(error)]
    one.said[solver] = one.verdict
    one.seconds[solver] = time.perf_counter() - started
    return one
