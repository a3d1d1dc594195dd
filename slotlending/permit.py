"""The build permit: the runs of one component work one after another, and an unchanged one does not work twice.

Theory of operation
===================

A *component* is something that is built, and may be asked for again while it is being built: two updates overlap, two
parents mount a shared part. `Permits` stands between the caller and a `slotlending.Pool` and gives each component one
*permit*, a lock that its runs hold while their body is on, and one *memo*, the key of its last body that ended well.
A run whose key is the memo's has nothing to do: its body would make what is there already.

A lock inside a slot is a trap: a run that waits for a slot while it holds the permit, and a run that has the last slot
and waits for that permit, wait for each other. The rule that keeps out of it: **slot before permit; nobody waits for a
slot while holding a permit.** The way of a run::

    enter --another run of the component is present: no slot-----------------------> queued
    enter --nobody else is--> asks for a slot --granted, now or later--------------> queued
    queued --the permit is free, or is dropped and it queued first-----------------> handed over
    handed over --resume: the memo answers it--------------------------------------> over ("answered")
    handed over --resume: not answered, it has a slot------------------------------> working ("works")
    handed over --resume: not answered, no slot: drops the permit, asks for a slot-> waits, or queued again ("asks")
    working --finish or fail: store or clear the memo, drop the permit, end--------> over
    any of these --cancel----------------------------------------------------------> over

* A run that enters beside another one takes no slot: most likely that one's memo will answer it. Only the run that
  finds the memo missing asks for one, and to ask it gives the permit up first, and then queues again.
* The permit goes to the run that queued first, in the step that drops it. So it is never free while somebody queues.
* Memo: a body that ends well stores its key, if it has one, else nothing. One that fails, is cancelled (after
  it was handed the permit, even before its body is on), or ends before its children clears what was stored: what it
  left half done is nobody's answer.
* A run whose component is in its own *lineage*, the components of the runs that mounted it directly or through others,
  is refused: it would wait for its own lineage. A mounter that has ended counts: its own mounter may still be there.

What is promised, beside all that the pool promises: while every run waits only for runs below it, and no two components
mount each other, something can always go on. Two components that mount each other can deadlock with a cap of 2 or
more; no lock on each of them can help that. And runs that queue with a slot sit on it (`statistics`).

A call is one step, makes at most one call to the pool, and answers who was granted a slot and who was handed a permit,
so that the caller can wake them; the caller decides nothing. As the pool, this is sans-IO, raises on a refused call and
leaves everything as it was then. All calls for a pool go through its `Permits`, runs that need no permit included.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, TypeAlias

from slotlending.errors import ComponentAbove, NotAdmitted, NotHandedOver, NotKnown, NotWorking, RunKnown
from slotlending.explain import Explanation, Wait, Waits
from slotlending.jobs import Job, JobTree
from slotlending.order import Line
from slotlending.pool import Pool
from slotlending.snapshot import IN_FLIGHT, WAITING, Answer, Grant, RunState, Snapshot

__all__ = [
    "ANSWERED",
    "ASKS",
    "WORKS",
    "Lineage",
    "Permit",
    "PermitAnswer",
    "PermitSnapshot",
    "PermitStatistics",
    "Permits",
    "Present",
]

#: What a run that resumes comes to: over, its body on, or the permit dropped and a slot asked for.
ANSWERED, WORKS, ASKS = "answered", "works", "asks"

#: The components of the runs that mounted a run, directly or through others, from the top down.
Lineage: TypeAlias = tuple[Hashable, ...]


class Present(NamedTuple):
    """A run that has entered and is not over."""

    run: Hashable
    #: What it is a run of; None for a run that needs no permit.
    component: Hashable | None
    #: What tells whether the memo answers it; None if nothing can.
    key: Hashable | None
    lineage: Lineage
    #: The run that it asks for a slot under; None without one, or once that is over.
    parent: Hashable | None
    job: Job
    #: Whether its body is on, for a run of a component.
    working: bool


class Permit(NamedTuple):
    """The permit of one component, and the memo that it guards."""

    component: Hashable
    holder: Hashable | None
    #: The runs that queue on it, first come first.
    queue: tuple[Hashable, ...]
    #: The key of the component's last body that ended well; None for none.
    memo: Hashable | None


class PermitSnapshot(NamedTuple):
    """The whole state: that of the pool, and beside it the runs and the permits. Hashable if ids and keys are."""

    pool: Snapshot
    present: frozenset[Present]
    #: Those that have a holder or a memo, or that somebody queues on.
    permits: frozenset[Permit]

    @property
    def cap(self) -> int:
        return self.pool.cap

    @property
    def taken(self) -> int:
        return self.pool.taken

    @property
    def runs(self) -> frozenset[RunState]:
        return self.pool.runs

    @property
    def waiting(self) -> tuple[Hashable, ...]:
        return self.pool.waiting

    @property
    def children(self) -> frozenset[tuple[Hashable, tuple[Hashable, ...]]]:
        return self.pool.children

    @property
    def lines(self) -> frozenset[Line]:
        return self.pool.lines

    @property
    def order(self) -> str:
        return self.pool.order

    @property
    def tie(self) -> str:
        return self.pool.tie

    @property
    def relend(self) -> bool:
        return self.pool.relend


class PermitAnswer(NamedTuple):
    """What one call did: who got a slot, whose pool slot became a loan, who was handed a permit; in order."""

    granted: tuple[Grant, ...] = ()
    relent: tuple[Hashable, ...] = ()
    #: Each of these is to resume: `Permits.resume`.
    handed: tuple[Hashable, ...] = ()
    #: What a resume came to: "answered", "works" or "asks"; None of any other call.
    came_to: str | None = None


class PermitStatistics(NamedTuple):
    """Counts at one moment."""

    #: Runs that have entered and are not over.
    present: int
    #: Runs of a component whose body is on.
    working: int
    #: Runs that queue on a permit.
    queued: int
    #: Those of them that have a slot: nobody works on it, unless it is lent.
    queued_with_slot: int


class _Component:
    """A component's permit and memo, as long as they say anything or a run of it is present."""

    __slots__ = ("holder", "memo", "present", "queue")

    def __init__(self) -> None:
        self.holder: Hashable | None = None
        self.queue: OrderedDict[Hashable, None] = OrderedDict()
        self.memo: Hashable | None = None
        self.present = 0  # runs


class Permits:
    """A pool, with a permit for each component. See the head of this file for how it works.

        >>> permits = Permits(Pool(1))
        >>> permits.enter("first", "docs", key="v1")
        PermitAnswer(granted=(('first', 'pool'),), relent=(), handed=('first',), came_to=None)
        >>> permits.resume("first").came_to
        'works'
        >>> permits.enter("second", "docs", key="v1")
        PermitAnswer(granted=(), relent=(), handed=(), came_to=None)
        >>> permits.finish("first")
        PermitAnswer(granted=(), relent=(), handed=('second',), came_to=None)
        >>> permits.resume("second").came_to
        'answered'

    It is no lock to be awaited: it waits for nothing and wakes nobody. It is no cache either: it keeps keys, not what
    the bodies made, and one key a component, until `forget`.

    Args:
        pool: decides about slots; from now on called through this object only.
    """

    __slots__ = ("_children", "_components", "_pool", "_present", "_slotless")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._present: dict[Hashable, Present] = {}
        self._children: dict[Hashable, dict[Hashable, None]] = {}  # of the present runs that have any, by parent
        self._components: dict[Hashable, _Component] = {}
        # The jobs of the runs that have yet to ask, so that nobody takes them away (R2: runs belong to leaf jobs).
        self._slotless = JobTree()

    # -- the calls -----------------------------------------------------------------------------------------------

    def enter(
        self,
        run: Hashable,
        component: Hashable | None,
        key: Hashable | None = None,
        parent: Hashable | None = None,
        job: Job | None = None,
        lineage: Lineage | None = None,
    ) -> PermitAnswer:
        """A run of a component begins: it asks for a slot, or beside another run of it queues on the permit.

        Args:
            run: the caller's id for it.
            component: what it is a run of, hashable; None for a run that needs no permit.
            key: what its body would make of it, so that an equal memo answers it; None if none can.
            parent, job: as for `slotlending.Pool.ask`.
            lineage: the components above it (see `lineage`); by default its parent's lineage and component. To be
                given where it was mounted by a run that is not its parent, or that has ended.

        Raises:
            RunKnown, ParentNotInFlight, JobNotLeaf: as for `slotlending.Pool.ask`, over the present runs too.
            ComponentAbove: its component is in its lineage.
            TypeError: an argument is of the wrong kind.
        """
        hash((component, key, lineage))
        entered = self._judge(run, component, key, parent, job, lineage)
        if component is None:
            self._add(entered, None)
            return self._told(self._pool.ask(run, parent, entered.job))
        of = self._components.get(component)
        if of is None:
            of = self._components[component] = _Component()
        beside = of.present > 0
        self._add(entered, of)
        if beside:
            self._slotless.enter(entered.job)
            return PermitAnswer(handed=self._queue(entered))
        return self._told(self._pool.ask(run, parent, entered.job))

    def ask(self, run: Hashable, parent: Hashable | None = None, job: Job | None = None) -> PermitAnswer:
        """`slotlending.Pool.ask`, for a run that needs no permit: `enter` without a component."""
        return self.enter(run, None, None, parent, job)

    def try_ask(self, run: Hashable, parent: Hashable | None = None, job: Job | None = None) -> PermitAnswer:
        """`slotlending.Pool.try_ask`, for a run that needs no permit."""
        entered = self._judge(run, None, None, parent, job, None)
        answer = self._pool.try_ask(run, parent, entered.job)
        if answer.granted:
            self._add(entered, None)
        return self._told(answer)

    def resume(self, run: Hashable) -> PermitAnswer:
        """A run that was handed its permit goes on; ``came_to`` tells how.

        "answered": the memo has its key, so it is over. "works": its body is on from now on. "asks": it had no slot, so
        it dropped the permit and asked for one; it is handed the permit anew once it has a slot and its turn comes.

        Raises:
            NotHandedOver: it is not a present run that has the permit and has not resumed.
            NotKnown: it is not present.
        """
        state = self._known(run, "resume")
        of = None if state.component is None else self._components[state.component]
        if of is None or of.holder != run or state.working:
            raise NotHandedOver(run, f"run {run!r} has no permit that it could resume with")
        has_slot = self._has_slot(run)
        if state.key is not None and of.memo == state.key:
            handed = self._drop(of)
            self._over(state)
            return self._told(self._pool.finish(run) if has_slot else None, handed, ANSWERED)
        if has_slot:
            self._present[run] = state._replace(working=True)
            return PermitAnswer(came_to=WORKS)
        handed = self._drop(of)
        self._slotless.leave(self._slotless.nodes[state.job])
        return self._told(self._pool.ask(run, state.parent, state.job), handed, ASKS)

    def finish(self, run: Hashable) -> PermitAnswer:
        """The body has ended well: its key is stored, the permit dropped, the slot given back, in one step.

        If a run that has it as parent is still present, nothing is stored, and the memo is cleared.

        Raises:
            NotWorking: it has a component and its body is not on.
            NotAdmitted, NotKnown: as for `slotlending.Pool.finish`.
        """
        return self._end(run, well=run not in self._children)

    def fail(self, run: Hashable) -> PermitAnswer:
        """The body has failed: `finish`, with the memo cleared."""
        return self._end(run, well=False)

    def cancel(self, run: Hashable) -> PermitAnswer:
        """The run will not go on, wherever it is: it leaves the permit's queue or drops the permit, and then its slot.

        If it held the permit, the memo is cleared. Cancels none of its children.

        Raises:
            NotKnown: it is not present.
        """
        state = self._known(run, "be cancelled")
        asked = self._pool.state(run) is not None
        handed: tuple[Hashable, ...] = ()
        if state.component is not None:
            of = self._components[state.component]
            if of.holder == run:
                of.memo = None
                handed = self._drop(of)
            else:
                of.queue.pop(run, None)
        self._over(state)
        return self._told(self._pool.cancel(run) if asked else None, handed)

    def resize(self, cap: int) -> PermitAnswer:
        """`slotlending.Pool.resize`."""
        return self._told(self._pool.resize(cap))

    def forget(self, component: Hashable) -> None:
        """Forget the memo of a component, as if its last body had failed: nothing answers the next run of it.

        Without it a component whose body had a key costs memory for as long as the permits live. What it costs is that
        work is done again. A body that is on stores its key when it ends well, as always.
        """
        of = self._components.get(component)
        if of is not None:
            of.memo = None
            if not of.present:
                del self._components[component]

    # -- what can be seen ----------------------------------------------------------------------------------------

    @property
    def pool(self) -> Pool:
        """The pool, to look at."""
        return self._pool

    def present(self) -> Iterable[Hashable]:
        """The runs that have entered and are not over."""
        return self._present.keys()

    def state(self, run: Hashable) -> Present | None:
        """What is known of a present run; None of any other."""
        return self._present.get(run)

    def lineage(self, run: Hashable) -> Lineage:
        """The lineage of whatever this present run mounts: its own, and its component.

        To be remembered by what can mount after the run has ended (a late child, a live component).

        Raises:
            NotKnown: the run is not present.
        """
        return _below(self._known(run, "mount"))

    def holder(self, component: Hashable) -> Hashable | None:
        """The run that holds this component's permit; None if nobody does."""
        of = self._components.get(component)
        return None if of is None else of.holder

    def memo(self, component: Hashable) -> Hashable | None:
        """The key of this component's last body that ended well; None for none."""
        of = self._components.get(component)
        return None if of is None else of.memo

    def held(self, job: Job) -> int:
        """`slotlending.Pool.held`."""
        return self._pool.held(job)

    def statistics(self) -> PermitStatistics:
        """Counts at this moment, in time proportional to the number of components and of queued runs."""
        components = self._components.values()
        queued = [run for of in components for run in of.queue]
        working = sum(of.holder is not None and self._present[of.holder].working for of in components)
        return PermitStatistics(len(self._present), working, len(queued), sum(map(self._has_slot, queued)))

    def explain(self, waits: Waits | None = None) -> Explanation:
        """`slotlending.Pool.explain`, told of the waits for permits too. ``waits``: what else each run waits for."""
        told: dict[Any, list[Wait]] = {run: list(them) for run, them in ({} if waits is None else waits).items()}
        for component, of in self._components.items():
            for run in of.queue:
                told.setdefault(run, []).append(Wait("permit", component, (of.holder,)))
        return self._pool.explain(told if told or waits is not None else None)

    def snapshot(self) -> PermitSnapshot:
        """The whole state, immutable."""
        permits = frozenset(
            [
                Permit(component, of.holder, tuple(of.queue), of.memo)
                for component, of in self._components.items()
                if of.holder is not None or of.queue or of.memo is not None
            ]
        )
        return PermitSnapshot(self._pool.snapshot(), frozenset(self._present.values()), permits)

    @classmethod
    def restore(cls, snapshot: PermitSnapshot, pool: Callable[[Snapshot], Pool] = Pool.restore) -> Permits:
        """Permits in the state that a snapshot tells, which is believed. ``pool`` restores the pool."""
        permits = cls(pool(snapshot.pool))
        for component, holder, queue, memo in snapshot.permits:
            of = permits._components[component] = _Component()
            of.holder, of.queue, of.memo = holder, OrderedDict.fromkeys(queue), memo
        for state in snapshot.present:
            if state.component is None:
                permits._add(state, None)
                continue
            of = permits._components.get(state.component) or _Component()
            permits._components[state.component] = of
            permits._add(state, of)
            if permits._pool.state(state.run) is None:
                permits._slotless.enter(state.job)
        return permits

    def __reduce__(self) -> tuple[Callable[..., Permits], tuple[PermitSnapshot, Callable[[Snapshot], Pool]]]:
        """A copy, or what is unpickled, is on a pool of its own, in this state."""
        return type(self).restore, (self.snapshot(), type(self._pool).restore)

    def __repr__(self) -> str:
        counts = self.statistics()
        return (
            f"<Permits: {counts.present} present, {counts.working} working with a permit, {counts.queued} queued, "
            f"{counts.queued_with_slot} of them with a slot; {self._pool!r}>"
        )

    # -- runs that come and go -----------------------------------------------------------------------------------

    def _judge(
        self,
        run: Hashable,
        component: Hashable | None,
        key: Hashable | None,
        parent: Hashable | None,
        job: Job | None,
        lineage: Lineage | None,
    ) -> Present:
        """What is refused, in its order; who enters. Nothing seen changes."""
        if run in self._present:
            raise RunKnown(run, f"run {run!r} is known: present")
        path = self._pool.judge(run, parent, job)
        self._slotless.judge(path)
        if lineage is None:
            above = None if parent is None else self._present.get(parent)
            lineage = () if above is None else _below(above)
        elif not isinstance(lineage, tuple):
            raise TypeError(f"a lineage is a tuple of components, from the top down, not {lineage!r}")
        if component is not None and component in lineage:
            above_it = " > ".join(map(repr, lineage))
            raise ComponentAbove(component, f"run {run!r} of {component!r} would be below itself: {above_it}")
        return Present(run, component, key, lineage, parent, path, False)

    def _known(self, run: Hashable, what: str) -> Present:
        state = self._present.get(run)
        if state is None:
            raise NotKnown(run, f"run {run!r} is not present, so it cannot {what}")
        return state

    def _has_slot(self, run: Hashable) -> bool:
        state = self._pool.state(run)
        return state is not None and state.phase == IN_FLIGHT

    def _add(self, state: Present, of: _Component | None) -> None:
        self._present[state.run] = state
        if of is not None:
            of.present += 1
        if state.parent is not None:
            self._children.setdefault(state.parent, {})[state.run] = None

    def _over(self, state: Present) -> None:
        """The run is present no longer. Not yet: what becomes of its slot, which the pool still has to hear."""
        run, component = state.run, state.component
        del self._present[run]
        for child in self._children.pop(run, ()):
            self._present[child] = self._present[child]._replace(parent=None)
        siblings = self._children.get(state.parent)
        if siblings is not None:
            siblings.pop(run, None)
            if not siblings:
                del self._children[state.parent]
        if component is not None:
            of = self._components[component]
            of.present -= 1
            if not of.present and of.memo is None:
                del self._components[component]
            if self._pool.state(run) is None:
                self._slotless.leave(self._slotless.nodes[state.job])

    def _end(self, run: Hashable, *, well: bool) -> PermitAnswer:
        state = self._known(run, "finish")
        if state.component is None:
            answer = self._pool.finish(run)
            self._over(state)
            return self._told(answer)
        if not state.working:
            of_pool = self._pool.state(run)
            if of_pool is not None and of_pool.phase == WAITING:
                raise NotAdmitted(run, f"run {run!r} waits for a slot, so it cannot finish; cancel it")
            raise NotWorking(run, f"the body of run {run!r} is not on, so it cannot finish; cancel it")
        of = self._components[state.component]
        of.memo = state.key if well else None
        handed = self._drop(of)
        self._over(state)
        return self._told(self._pool.finish(run), handed)

    # -- the permit ----------------------------------------------------------------------------------------------

    def _told(
        self, answer: Answer | None, handed: tuple[Hashable, ...] = (), came_to: str | None = None
    ) -> PermitAnswer:
        """What the pool did, if it was called. Whoever got a slot queues on its permit in this step."""
        if answer is None:
            return PermitAnswer((), (), handed, came_to)
        for run, _ in answer.granted:
            state = self._present[run]
            if state.component is not None:
                handed += self._queue(state)
        return PermitAnswer(answer.granted, answer.relent, handed, came_to)

    def _queue(self, state: Present) -> tuple[Hashable, ...]:
        """The run queues on its component's permit; queueing on a free permit takes it. Returns who took it."""
        of = self._components[state.component]
        if of.holder is None:
            of.holder = state.run
            return (state.run,)
        of.queue[state.run] = None
        return ()

    def _drop(self, of: _Component) -> tuple[Hashable, ...]:
        """The permit goes to the run that queued first. Returns who that is."""
        if not of.queue:
            of.holder = None
            return ()
        of.holder, _ = of.queue.popitem(last=False)
        return (of.holder,)


def _below(state: Present) -> Lineage:
    return state.lineage if state.component is None else (*state.lineage, state.component)
