"""The permit relation of `slotcheck.proofs` against the permits that ship, edge for edge, as `relation_check` does it.

On whole graphs of small forests whose runs have components, in both directions: every call of the permits, in every
state that calls lead to, must be one of the relation's steps that the call can be, followed by one step for each other
run that the pool granted a slot; and the relation must allow nothing else. Whether a slot is to be had it leaves open:
that is the pool's to say. What the permits refuse must be no step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from slotcheck.checks.generated_permits import permit_scenarios
from slotcheck.checks.permit_invariants import PermitFacts, calls_without_effect
from slotcheck.checks.permit_subject import permit_view
from slotcheck.checks.relation_check import Comparison, Steps, steps_of
from slotcheck.proofs.action import Action
from slotcheck.proofs.evaluate import Structure, compile_formula
from slotcheck.proofs.permit import COMPONENT, KEY, PERMIT_ACTIONS, PERMIT_CONJUNCTS
from slotcheck.proofs.vocabulary import RUN
from slotcheck.pymodel.rules import PermitState
from slotcheck.pymodel.scenario import RunSpec, Scenario
from slotcheck.pymodel.subject import Reply, Subject

__all__ = ["PermitForest", "compare_permits", "permit_forests"]

#: What can be told from outside, each in the order of runs or components.
Seen: TypeAlias = tuple[tuple[Any, ...], ...]

_OF_RUNS = ("present", "wants_slot", "has_slot", "queued", "permit", "working")
_SETTLED = {"run_known", "not_known", "not_handed_over", "not_working", "not_admitted"}
_MOST_TOLD = 5  # differences of one forest: more say no more


class PermitForest(NamedTuple):
    """Runs with their components and keys, and a cap."""

    name: str
    runs: tuple[RunSpec, ...]
    cap: int
    lineage: Mapping[str, tuple[str, ...]]


@cache
def permit_forests(runs: int) -> tuple[PermitForest, ...]:
    """All forests of up to so many runs, two or more of them of one component: no key, one or two; caps 1 and 2."""
    found: list[PermitForest] = []
    for scenario in permit_scenarios(0, plain_runs=runs):
        found += [_forest(scenario, cap) for cap in (1, 2)]
    return tuple(found)


def _forest(scenario: Scenario, cap: int) -> PermitForest:
    name = f"{scenario.name.removesuffix(' plain')}, cap {cap}"
    return PermitForest(name, scenario.runs, cap, scenario.lineage)


def compare_permits(
    subject: Subject, forest: PermitForest, *, actions: Mapping[str, Action] = PERMIT_ACTIONS
) -> Comparison:
    """Compare on one forest.

    Args:
        subject: permits on a pool.
        forest: who may enter, and how many slots there are.
        actions: the relation.
    """
    found = Comparison(forests=1)
    steps = steps_of(tuple(actions.items()))
    told = _Told(forest)
    start = subject.initial(forest.cap, relend=False)
    seen, frontier = {start}, [start]
    while frontier and len(found.differences) < _MOST_TOLD:
        before = frontier.pop()
        view = permit_view(before)
        structure = told.structure_of(view)
        _judge_state(found, forest, structure)
        _judge_refusals(found, forest, steps, view, structure)
        for verb, args in _calls(view, forest):
            reply = subject.call(before, verb, *args)
            if reply.declined is not None:
                found.refused += 1  # a component below itself: the relation speaks of runs that may enter
                continue
            if reply.refused is not None or reply.raised is not None:
                raise AssertionError(f"{verb}{args} was not answered: {reply.refused or reply.raised}")
            _judge_edge(found, told, steps, view, structure, (verb, *args), reply)
            if reply.snapshot not in seen:
                seen.add(reply.snapshot)
                frontier.append(reply.snapshot)
    return found


def _calls(view: PermitState, forest: PermitForest) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every call that the rules allow. A run may enter again once it is forgotten."""
    present = {run.run: run for run in view.present}
    phases = {run.run: run.phase for run in view.runs}
    holders = {permit.holder for permit in view.permits}
    for spec in forest.runs:
        known = present.get(spec.name)
        if known is None:
            if spec.name in phases:
                continue  # parked
            above = spec.parent if phases.get(spec.parent or "") == "in_flight" and spec.parent in present else None
            yield "enter", (spec.name, spec.component, spec.key, above, None, forest.lineage[spec.name])
            continue
        yield "cancel", (spec.name,)
        if known.component is None:
            if phases[spec.name] == "in_flight":
                yield "finish", (spec.name,)
        elif known.working:
            yield "finish", (spec.name,)
            yield "fail", (spec.name,)
        elif spec.name in holders:
            yield "resume", (spec.name,)


def _judge_state(found: Comparison, forest: PermitForest, structure: Structure) -> None:
    found.states += 1
    for name, conjunct in _conjuncts():
        if conjunct(structure):
            found.conjuncts += 1
        else:
            found.differences.append(f"{forest.name}: {name} is false in a state of the permits: {structure.values}")


def _judge_refusals(
    found: Comparison, forest: PermitForest, steps: Steps, view: PermitState, structure: Structure
) -> None:
    """What is refused for a reason that the relation knows is no step."""
    names = [spec.name for spec in forest.runs]
    present = {run.run for run in view.present}
    for (verb, *args), code in calls_without_effect(PermitFacts(view), names):
        if code not in _SETTLED or args[0] not in names or (code == "run_known" and args[0] not in present):
            continue
        if forest.runs[names.index(args[0])].component is None:
            continue
        found.refused += 1
        allowed = list(_taken(steps, verb, names.index(args[0]), structure, None))
        if allowed:
            found.differences.append(
                f"{forest.name}: {verb}{tuple(args)} is refused, but the relation has {allowed[0][0]}"
            )


def _judge_edge(
    found: Comparison,
    told: _Told,
    steps: Steps,
    view: PermitState,
    structure: Structure,
    call: tuple[Any, ...],
    reply: Reply,
) -> None:
    found.edges += 1
    verb, run = call[:2]
    at = told.at[run]
    reached = [("nothing", structure)]
    if told.components[at] is not None:
        well = verb == "finish" and all(other.parent != run for other in view.present)
        got = any(other == run for other, _ in reply.granted)
        taken = _taken(steps, verb, at, structure, well)
        reached = [(name, state) for name, state in taken if _pool_agrees(structure, state, at, got)]
    else:
        found.idle += 1  # a run without a component: the permits hear of it only by whom it grants a slot
    granted = [told.at[other] for other, _ in reply.granted if other != run and told.components[told.at[other]]]
    found.composed += bool(granted)
    for other in granted:
        reached = [
            (name, after) for name, state in reached for _, after in _taken(steps, "granted", other, state, None)
        ]
    after = told.seen(told.structure_of(permit_view(reply.snapshot)))
    allowed = {told.seen(state): name for name, state in reached}
    found.allowed += len(allowed)
    if list(allowed) != [after]:
        has = allowed or [name for name, _ in reached]
        found.differences.append(f"{told.name}: {verb}({run}) leads to {after}; the relation allows {has}")
        return
    found.fired[allowed[after]] += 1
    found.fired["slot-granted"] += len(granted)


def _pool_agrees(before: Structure, after: Structure, run: int, got: bool) -> bool:
    """If a step asks for a slot: whether it comes out as the pool says, which the relation leaves open."""
    asked = after.values["wants_slot"][run] or after.values["has_slot"][run]
    had_asked = before.values["wants_slot"][run] or before.values["has_slot"][run]
    return had_asked or not asked or bool(after.values["has_slot"][run]) == got


@cache
def _conjuncts() -> tuple[tuple[str, Any], ...]:
    return tuple((name, compile_formula(conjunct.formula)) for name, conjunct in PERMIT_CONJUNCTS.items())


def _taken(
    steps: Steps, verb: str, run: int, structure: Structure, well: bool | None
) -> Iterator[tuple[str, Structure]]:
    given = {"run": run} if well is None else {"run": run, "well": well}
    for action, step in steps.get(verb, ()):
        for _, updated in step(structure, given):
            yield action.name, structure.after(updated)


class _Told:
    """The runs, components and keys of a forest by number, and its states as structures."""

    def __init__(self, forest: PermitForest) -> None:
        self.name = forest.name
        self.names = [spec.name for spec in forest.runs]
        self.at = {name: place for place, name in enumerate(self.names)}
        self.components = [spec.component for spec in forest.runs]
        self._components = sorted({name for name in self.components if name is not None})
        self._keys = sorted({spec.key for spec in forest.runs if spec.key is not None}) or ["none"]
        # Runs without a component are of one that nobody is present of.
        nobodys = len(self._components)
        self._sizes = {RUN.name: len(self.names), COMPONENT.name: nobodys + 1, KEY.name: len(self._keys)}
        self._rigid = {
            "component": [nobodys if name is None else self._components.index(name) for name in self.components],
            "keyed": [spec.key is not None for spec in forest.runs],
            "key": [0 if spec.key is None else self._keys.index(spec.key) for spec in forest.runs],
        }

    def structure_of(self, view: PermitState) -> Structure:
        """A view as a structure. Ghosts: what a stored memo is the key of, is what it says."""
        phases = {run.run: run.phase for run in view.runs}
        known = {run.run: run for run in view.present if run.component is not None}
        permits = {permit.component: permit for permit in view.permits}
        queues = [run for permit in permits.values() for run in permit.queue]
        holders = {permit.holder for permit in permits.values()}
        memos = [permits[name].memo if name in permits else None for name in self._components]
        keepers = [permits[name].holder if name in permits else None for name in self._components]
        stored = [*(memo is not None for memo in memos), False]
        memo = [*(0 if memo is None else self._keys.index(memo) for memo in memos), 0]
        return Structure(
            self._sizes,
            {
                **self._rigid,
                "present": [name in known for name in self.names],
                "wants_slot": [name in known and phases.get(name) == "waiting" for name in self.names],
                "has_slot": [name in known and phases.get(name) == "in_flight" for name in self.names],
                "queued": [name in queues for name in self.names],
                "permit": [name in holders for name in self.names],
                "working": [name in known and known[name].working for name in self.names],
                "keeper": [*(0 if keeper is None else self.at[keeper] for keeper in keepers), 0],
                "stored": stored,
                "memo": memo,
                "made_any": stored,
                "made": memo,
                "queued_before": [[_before(queues, one, other) for other in self.names] for one in self.names],
            },
        )

    def seen(self, structure: Structure) -> Seen:
        """What of a structure the permits show."""
        values = structure.values
        memos = [memo if stored else None for memo, stored in zip(values["memo"], values["stored"], strict=True)]
        return (*(tuple(values[name]) for name in _OF_RUNS), tuple(memos))


def _before(queue: Collection[str] | Sequence[str], one: str, other: str) -> bool:
    """Whether both queue, the first before the second; of runs of two components it does not matter."""
    order = list(queue)
    return one in order and other in order and order.index(one) < order.index(other)
