"""The build permit (R9), written from the text: runs of one component work one after another, slot before permit.

`BuildPermit` stands on a rule for slots and adds what happens between a run's slot and its body. A present run of a
component is in one of these places; which one can be read off the state::

    waits for a slot        the pool knows it as waiting
    queued                  in its permit's queue, with a slot or without
    handed over             holds the permit, and has not resumed
    working                 holds the permit, and its body is on

Steps: ``enter`` -> waits, queued or handed over; a slot granted -> queued or handed over, in the step that grants it;
``resume`` of a run that was handed the permit -> "answered" (over), "works", or "asks" (dropped the permit, asked for
a slot); ``finish``, ``fail``, ``cancel`` -> over. A permit that is dropped goes to the run that queued first in the
same step.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Job, Outcome, Refusal, RunId

__all__ = ["BuildPermit", "Component", "Permit", "PermitOutcome", "PermitState", "Present"]

Component: TypeAlias = str


class Present(NamedTuple):
    """A run that has entered and is not over."""

    run: RunId
    #: What it is a run of; None for a run that needs no permit.
    component: Component | None
    #: What its body would make, so that an equal memo answers it; None if nothing can.
    key: str | None
    #: The components of the runs that mounted it, directly or through others, from the top down; ended ones too.
    lineage: tuple[Component, ...]
    #: The run that it asks under: fixed when it enters, None once that is over.
    parent: RunId | None
    job: Job
    #: Whether its body is on, for a run of a component.
    working: bool


class Permit(NamedTuple):
    """The permit of one component, and the memo that it guards."""

    component: Component
    holder: RunId | None
    #: Who queues on it, first come first.
    queue: tuple[RunId, ...]
    #: The key of the component's last body that ended well; None for none.
    memo: str | None


class PermitState(NamedTuple):
    """The state of a pool, and of the permits beside it. A permit that says nothing is left out."""

    pool: Any
    present: frozenset[Present]
    permits: frozenset[Permit]

    @property
    def cap(self) -> Any:
        return self.pool.cap

    @property
    def taken(self) -> Any:
        return self.pool.taken

    @property
    def runs(self) -> Any:
        return self.pool.runs

    @property
    def waiting(self) -> Any:
        return self.pool.waiting

    @property
    def children(self) -> Any:
        return self.pool.children

    @property
    def lines(self) -> Any:
        return self.pool.lines

    @property
    def order(self) -> Any:
        return self.pool.order

    @property
    def tie(self) -> Any:
        return self.pool.tie

    @property
    def relend(self) -> Any:
        return self.pool.relend


class PermitOutcome(NamedTuple):
    """What one call led to: what it did to the pool's slots, and who was handed a permit, in order."""

    state: PermitState
    granted: tuple[tuple[RunId, str], ...]
    relent: tuple[RunId, ...]
    handed: tuple[RunId, ...]
    #: What a resume came to: "answered", "works" or "asks"; None of any other call.
    came_to: str | None = None


class BuildPermit:
    """R9 on top of a rule for slots. Pure functions, as those of the rule.

    Args:
        rule: decides about slots.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def initial(self, cap: int, **options: Any) -> PermitState:
        """Nobody is present."""
        return PermitState(self.rule.initial(cap, **options), frozenset(), frozenset())

    def enter(
        self,
        state: PermitState,
        run: RunId,
        component: Component | None,
        key: str | None = None,
        parent: RunId | None = None,
        job: Job | None = None,
        lineage: tuple[Component, ...] | None = None,
    ) -> PermitOutcome:
        """A run begins; without a component it needs no permit. ``lineage``: by default its parent's, and that."""
        draft = _Draft(self.rule, state)
        asked, entered = draft.judge(run, component, key, parent, job, lineage)
        beside = component is not None and any(other.component == component for other in draft.present.values())
        draft.present[run] = entered
        if beside:
            draft.queue(run)
        else:
            draft.take(asked)
        return draft.done()

    def ask(self, state: PermitState, run: RunId, parent: RunId | None = None, job: Job | None = None) -> PermitOutcome:
        """R2, for a run that needs no permit."""
        return self.enter(state, run, None, None, parent, job)

    def try_ask(
        self, state: PermitState, run: RunId, parent: RunId | None = None, job: Job | None = None
    ) -> PermitOutcome:
        """R2 without step 3, for a run that needs no permit."""
        asked = self.ask(state, run, parent, job)
        return asked if any(got == run for got, _ in asked.granted) else PermitOutcome(state, (), (), ())

    def resume(self, state: PermitState, run: RunId) -> PermitOutcome:
        """A run that was handed its permit looks at the memo, and then ends, works, or asks for a slot."""
        draft = _Draft(self.rule, state)
        known = draft.known(run)
        if known.component is None or draft.holder.get(known.component) != run or known.working:
            raise Refusal("not_handed_over", run)
        has_slot = draft.has_slot(run)
        if known.key is not None and draft.memo.get(known.component) == known.key:
            draft.over(run)
            draft.drop(known.component)
            if has_slot:
                draft.call("finish", run)
            return draft.done("answered")
        if has_slot:
            draft.present[run] = known._replace(working=True)
            return draft.done("works")
        draft.drop(known.component)
        draft.call("ask", run, known.parent, known.job)
        return draft.done("asks")

    def finish(self, state: PermitState, run: RunId) -> PermitOutcome:
        """The body has ended well: in one step store, drop, finish. Before its children: clear instead of store."""
        return self._end(state, run, well=True)

    def fail(self, state: PermitState, run: RunId) -> PermitOutcome:
        """The body has failed: clear, drop, finish."""
        return self._end(state, run, well=False)

    def cancel(self, state: PermitState, run: RunId) -> PermitOutcome:
        """Out of the permit's queue, or drop the permit; then R5, if it asked for a slot."""
        draft = _Draft(self.rule, state)
        known = draft.known(run)
        asked = any(other.run == run for other in draft.pool.runs)
        draft.over(run)
        if known.component is not None:
            if draft.holder.get(known.component) == run:
                draft.memo[known.component] = None
                draft.drop(known.component)
            queue = draft.queues.get(known.component, [])
            if run in queue:
                queue.remove(run)
        if asked:
            draft.call("cancel", run)
        return draft.done()

    def resize(self, state: PermitState, cap: int) -> PermitOutcome:
        """R8."""
        draft = _Draft(self.rule, state)
        draft.call("resize", cap)
        return draft.done()

    def _end(self, state: PermitState, run: RunId, *, well: bool) -> PermitOutcome:
        draft = _Draft(self.rule, state)
        known = draft.known(run)
        if known.component is not None:
            if run in draft.pool.waiting:
                raise Refusal("not_admitted", run)
            if not known.working:
                raise Refusal("not_working", run)
            alone = all(other.parent != run for other in draft.present.values())
            draft.memo[known.component] = known.key if well and alone else None
            draft.drop(known.component)
        draft.call("finish", run)
        draft.over(run)
        return draft.done()


class _Draft:
    """The next state, being written."""

    def __init__(self, rule: Rule, state: PermitState) -> None:
        self.rule = rule
        self.pool = state.pool
        self.present = {known.run: known for known in state.present}
        self.holder = {permit.component: permit.holder for permit in state.permits if permit.holder is not None}
        self.queues = {permit.component: list(permit.queue) for permit in state.permits}
        self.memo = {permit.component: permit.memo for permit in state.permits}
        self.granted: list[tuple[RunId, str]] = []
        self.relent: list[RunId] = []
        self.handed: list[RunId] = []

    def done(self, came_to: str | None = None) -> PermitOutcome:
        permits = frozenset(
            Permit(component, holder, queue, memo)
            for component in {*self.holder, *self.queues, *self.memo}
            for holder in (self.holder.get(component),)
            for queue in (tuple(self.queues.get(component, ())),)
            for memo in (self.memo.get(component),)
            if holder is not None or queue or memo is not None
        )
        state = PermitState(self.pool, frozenset(self.present.values()), permits)
        return PermitOutcome(state, tuple(self.granted), tuple(self.relent), tuple(self.handed), came_to)

    def judge(
        self,
        run: RunId,
        component: Component | None,
        key: str | None,
        parent: RunId | None,
        job: Job | None,
        lineage: tuple[Component, ...] | None,
    ) -> tuple[Outcome, Present]:
        """All that `ask` would refuse, then a component above itself; what asking would lead to, and who enters."""
        if run in self.present:
            raise Refusal("run_known", run)
        asked: Outcome = self.rule.ask(self.pool, run, parent, job)
        path: Job = next(known.job for known in asked.state.runs if known.run == run)
        for other in self.present.values():  # some of these may have yet to ask
            shorter = min(len(path), len(other.job))
            if path != other.job and path[:shorter] == other.job[:shorter]:
                raise Refusal("job_not_leaf", path)
        if lineage is None:
            above = self.present[parent] if parent is not None else None
            lineage = () if above is None else above.lineage
            if above is not None and above.component is not None:
                lineage = (*lineage, above.component)
        if component in lineage:
            raise Refusal("component_above", component)
        return asked, Present(run, component, key, lineage, parent, path, False)

    def known(self, run: RunId) -> Present:
        if run not in self.present:
            raise Refusal("not_known", run)
        return self.present[run]

    def has_slot(self, run: RunId) -> bool:
        return any(known.run == run and known.phase == "in_flight" for known in self.pool.runs)

    def over(self, run: RunId) -> None:
        """The run is present no longer; nobody asks under it from now on."""
        del self.present[run]
        for other in list(self.present.values()):
            if other.parent == run:
                self.present[other.run] = other._replace(parent=None)

    def call(self, verb: str, *args: Any) -> None:
        self.take(getattr(self.rule, verb)(self.pool, *args))

    def take(self, outcome: Outcome) -> None:
        """What a call to the pool led to. Whoever got a slot queues on its permit now."""
        self.pool = outcome.state
        self.granted += outcome.granted
        self.relent += outcome.relent
        for run, _ in outcome.granted:
            if run in self.present and self.present[run].component is not None:
                self.queue(run)

    def queue(self, run: RunId) -> None:
        """Queue on the permit. Queueing on a free permit takes it."""
        component = self.present[run].component
        assert component is not None
        if component in self.holder:
            self.queues.setdefault(component, []).append(run)
        else:
            self.hand(component, run)

    def drop(self, component: Component) -> None:
        """The permit goes to the run that queued first."""
        del self.holder[component]
        if self.queues.get(component):
            self.hand(component, self.queues[component].pop(0))

    def hand(self, component: Component, run: RunId) -> None:
        self.holder[component] = run
        self.handed.append(run)
