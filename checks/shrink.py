"""The smallest counterexample: fewest runs, then smallest cap, then fewest steps, then fewest switches between runs.

A breadth-first search of all small forests finds such traces by itself. One that came from a big scenario or a random
walk is cut here: runs go, with all below them, or alone; the cap is lowered; acts of the environment, lines of the
script, bodies and their steps go, and so do components, keys, jobs, and that a run is a live one. After each cut the
same invariant must still fail: first along what is left of the old steps, and if that does not show it, in a new search
of what is left. A cut that makes the trace bigger is no cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from slotcheck.checks.check import Part, ledger_for
from slotcheck.checks.judge import Judge
from slotcheck.checks.notation import ScenarioError
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.scenario_text import scenario_text
from slotcheck.checks.subject import AnySubject, ClassSubject
from slotcheck.checks.trace import Trace, switches, trace_of
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.scenario import Op, RunSpec, Scenario
from slotcheck.pymodel.subject import Reply
from slotcheck.pymodel.system import Kind, Property
from slotcheck.pymodel.workload import Action, Workload, WorkloadState

__all__ = ["shrink"]

_SEARCHED_RUNS = 5  # a scenario of more runs is only cut along its old steps
_SEARCHED_STATES = 10_000


class _Found(NamedTuple):
    """A way to the violation."""

    part: Part
    actions: tuple[Action, ...]
    message: str
    #: For Replays what the last call led to on the pool that lived on.
    last: Reply | None = None

    @property
    def size(self) -> tuple[int, int, int, int]:
        return len(self.part.scenario.runs), self.part.cap, len(self.actions), switches(self.actions)


def shrink(trace: Trace, subject: AnySubject) -> Trace:
    """The smallest trace that shows the same invariant fail, as far as cuts lead to it; the trace itself if none does.

    Histories of calls are cut where they are found (histories.py). A trace that goes round for ever, or that says what
    no behaviour comes to, is left as it is.
    """
    play = trace.play
    if play is None or trace.again or trace.invariant == "Diagnosis" or not trace.steps:
        return trace
    search = _Search(subject, trace.invariant)
    actions = tuple(action for action in trace.actions if action[0] != "call")
    found = search.along(Part(play, trace.cap, trace.relend), actions)
    if found is None:
        return trace
    found = search.cut(found)
    smallest = search.fewest_switches(found) or search.without_steps(found)
    workload = search.workload(smallest.part)
    return trace_of(workload, smallest.actions, trace.invariant, smallest.message, last=smallest.last)


class _Search:
    def __init__(self, subject: AnySubject, invariant: str) -> None:
        self.subject = subject
        self.invariant = invariant

    def workload(self, part: Part) -> Workload:
        return self._judged(part)[0]

    def _judged(self, part: Part) -> tuple[Workload, list[Property]]:
        ledger = ledger_for(part, self.subject)
        workload = Workload(part.scenario, ledger.calls, cap=part.cap, relend=part.relend, symmetry=False)
        return workload, Judge(workload, ledger).properties()

    # -- cutting ---------------------------------------------------------------------------------------------------

    def cut(self, found: _Found) -> _Found:
        """Cut until nothing can go."""
        going = True
        while going:
            going = False
            for part in _cuts(found.part):
                smaller = self.along(part, found.actions) or self.shortest(part, len(found.actions))
                if smaller is not None and smaller.size <= found.size:
                    found, going = smaller, True
                    break
        return found

    def along(self, part: Part, actions: Sequence[Action]) -> _Found | None:
        """What is left of these steps in this scenario, up to where the invariant fails."""
        workload, properties = self._judged(part)
        runs = part.scenario.index
        state, taken = workload.initial()[0], []
        message = self._fails(properties, workload, None, None, state)
        live, last = self._live(part), None
        for action in actions:
            if message is not None:
                break
            if (action[0] != "resize" and action[1] not in runs) or action not in workload.actions(state):
                continue
            after = workload.next(state, action)
            taken.append(action)
            message = self._fails(properties, workload, state, action, after)
            call = workload.call_of(state, action)
            if live is not None and call is not None:
                assert isinstance(self.subject, ClassSubject)
                last = self.subject.call_live(live, call.verb, *call.args)
                if last != call.reply:
                    message = f"{call.verb}{call.args!r} gives another answer, or another view, on a pool that lived on"
            state = after
        return None if message is None else _Found(part, tuple(taken), message, last)

    def _live(self, part: Part) -> Any:
        """A pool that lives on, where that is what is looked for."""
        if self.invariant != "Replays" or not isinstance(self.subject, ClassSubject):
            return None
        return self.subject.new(part.cap, relend=part.relend)

    def without_steps(self, found: _Found) -> _Found:
        """The same without steps that are not needed."""
        going = True
        while going:
            going = False
            for at in reversed(range(len(found.actions))):
                shorter = self.along(found.part, (*found.actions[:at], *found.actions[at + 1 :]))
                if shorter is not None and shorter.size < found.size:
                    found, going = shorter, True
                    break
        return found

    def _fails(
        self,
        properties: list[Property],
        workload: Workload,
        before: WorkloadState | None,
        action: Action | None,
        state: WorkloadState,
    ) -> str | None:
        """What is wrong by the invariant with a state, or with the step that led to it."""
        for property_ in properties:
            found: Mapping[str, str] | None = None
            if property_.kind is Kind.STATE:
                found = property_.check(state)
            elif property_.kind is Kind.STEP and before is not None:
                found = property_.check(before, action, state)
            elif property_.kind is Kind.END and not any(map(workload.is_body_step, workload.actions(state))):
                found = property_.check(state)
            if found and self.invariant in found:
                return found[self.invariant]
        return None

    # -- searching -------------------------------------------------------------------------------------------------

    def shortest(self, part: Part, most: int) -> _Found | None:
        """The first shortest way to a violation, of at most so many steps; None beyond the limits."""
        if len(part.scenario.runs) > _SEARCHED_RUNS or self.invariant == "Replays":
            return None
        workload, properties = self._judged(part)
        start = workload.initial()[0]
        known = {start}
        todo: deque[tuple[WorkloadState, tuple[Action, ...]]] = deque([(start, ())])
        while todo and len(known) < _SEARCHED_STATES:
            state, way = todo.popleft()
            if len(way) == most:
                return None
            for action in workload.actions(state):
                after = workload.next(state, action)
                message = self._fails(properties, workload, state, action, after)
                if message is not None:
                    return _Found(part, (*way, action), message)
                if after not in known:
                    known.add(after)
                    todo.append((after, (*way, action)))
        return None

    def fewest_switches(self, found: _Found) -> _Found | None:
        """Of all shortest ways the first with the fewest switches between runs; None beyond the limits."""
        first = self.shortest(found.part, len(found.actions))
        if first is None:
            return None
        workload, properties = self._judged(found.part)
        # Layer by layer: of each state, and the run of the step that led there, the way with the fewest switches.
        layer: dict[tuple[WorkloadState, Hashable], tuple[Action, ...]] = {(workload.initial()[0], None): ()}
        best: _Found | None = None
        for _ in first.actions:
            following: dict[tuple[WorkloadState, Hashable], tuple[Action, ...]] = {}
            for (state, _), way in layer.items():
                for action in workload.actions(state):
                    after, here = workload.next(state, action), (*way, action)
                    if len(here) == len(first.actions):
                        message = self._fails(properties, workload, state, action, after)
                        if message is not None and (best is None or switches(here) < switches(best.actions)):
                            best = _Found(found.part, here, message)
                        continue
                    key = after, action[1]
                    if key not in following or switches(here) < switches(following[key]):
                        following[key] = here
            if len(following) > _SEARCHED_STATES:
                return first
            layer = following
        return best or first


# -- cuts ----------------------------------------------------------------------------------------------------------


def _cuts(part: Part) -> Iterator[Part]:
    """The part with one thing less, the biggest cuts first."""
    play, cap, relend = part
    for smaller in (*_without_runs(play), *_without_acts(play), *_without_traits(play), *_without_steps(play)):
        read = _sound(smaller)
        if read is not None:
            yield Part(read, cap, relend)
    if cap > 1:
        yield Part(play, cap - 1, relend)
        if cap > 2:
            yield Part(play, 1, relend)
    if relend:
        yield Part(play, cap, False)


def _sound(play: Scenario) -> Scenario | None:
    """The scenario as it reads in the notation, if it is one."""
    try:
        return replace(read_scenario(scenario_text(play), "cut"), name=play.name)
    except ScenarioError:
        return None


def _without_runs(play: Scenario) -> Iterator[Scenario]:
    below: dict[str, set[str]] = {}
    for run in reversed(play.runs):
        below.setdefault(run.name, set()).add(run.name)
        if run.parent is not None:
            below.setdefault(run.parent, set()).update(below[run.name])
    for name, gone in sorted(below.items(), key=lambda item: (-len(item[1]), play.index[item[0]])):
        if len(gone) < len(play.runs):
            yield _without(play, gone)
        if len(gone) > 1:
            yield _without(play, {name})


def _without(play: Scenario, gone: set[str]) -> Scenario:
    """The scenario without these runs. Children of a run that goes alone become its parent's."""
    above: dict[str, str | None] = {}
    mounters: dict[str, str | None] = {}
    for run in play.mounted:  # mounters stand before those that they mount
        mounters[run.name] = mounters[run.parent] if run.parent in gone else run.parent
    for run in play.runs:
        parent = run.parent
        above[run.name] = above[parent] if parent in gone else parent
    orphans = {run.name for run in play.runs if run.parent in gone and not run.live}
    runs = []
    for run in play.runs:
        if run.name not in gone:
            body = run.body
            if body is not None:
                body = tuple(op for op in body if op.name not in gone)
                lost = {name for name in orphans if above[name] == run.name and name not in gone}
                body = (*(Op("spawn", name) for name in sorted(lost)), *body)
            parent, mounter = above[run.name], mounters[run.name]
            late = run.late and parent is not None
            kept = mounter if run.mounter is not None and mounter != parent else None
            runs.append(replace(run, parent=parent, body=body, late=late, mounter=kept))
    return replace(
        play,
        runs=tuple(runs),
        environment=tuple(act for act in play.environment if act.run not in gone),
        script=tuple(act for act in play.script if act.run not in gone),
        diagnoses=tuple(reason for reason in play.diagnoses if not gone.intersection(reason)),
        expect={},
        tree=tree_text(tuple(runs)),
    )


def _without_acts(play: Scenario) -> Iterator[Scenario]:
    for at in range(len(play.environment)):
        yield replace(play, environment=(*play.environment[:at], *play.environment[at + 1 :]), expect={})
    for at in range(len(play.script)):
        yield replace(play, script=(*play.script[:at], *play.script[at + 1 :]), expect={})
    if play.late_children:
        yield replace(play, late_children=False, expect={})
    if play.blocking_spawn:
        yield replace(play, blocking_spawn=False, expect={})


def _without_traits(play: Scenario) -> Iterator[Scenario]:
    """Without a component and its keys, a key, that a run is a live one, a job; without times, which no check reads."""

    def changed(**changes: Any) -> Iterator[Scenario]:
        """One scenario for each run that this changes."""
        for number, run in enumerate(play.runs):
            other = replace(run, **changes)
            if other != run:
                yield replace(play, runs=(*play.runs[:number], other, *play.runs[number + 1 :]), expect={})

    for component in sorted({run.component for run in play.runs if run.component is not None}):
        runs = tuple(replace(run, component=None, key=None) if run.component == component else run for run in play.runs)
        yield replace(play, runs=runs, expect={})
    yield from changed(component=None, key=None)
    yield from changed(key=None)
    yield from changed(live=None, mounter=None)
    yield from changed(job=None)
    yield from changed(at_ms=RunSpec("").at_ms, work_ms=RunSpec("").work_ms)


def _without_steps(play: Scenario) -> Iterator[Scenario]:
    for number, run in enumerate(play.runs):
        if run.body is None:
            continue
        bodies = [None, *((*run.body[:at], *run.body[at + 1 :]) for at in range(len(run.body)))]
        for body in bodies:
            runs = (*play.runs[:number], replace(run, body=body or None), *play.runs[number + 1 :])
            gates = {op.name for one in runs for op in one.body or () if op.verb == "take"}
            kept = {gate: places for gate, places in play.gates.items() if gate in gates}
            yield replace(play, runs=runs, gates=kept, diagnoses=(), expect={})
