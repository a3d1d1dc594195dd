"""Slot lending: a tree of tasks shares one pool of slots without deadlock and without losing its bound.

Theory of operation
===================

A *run* is one task of a tree. It asks for a slot, works, waits for the runs it started, and finishes. A plain
semaphore makes such a tree hang (parents hold every slot while they wait for children that need one); giving the slot
back before waiting loses the bound (every parent is in flight at once). Lending keeps both: **a parent keeps its slot
and lends it to one child at a time.**

The states of a run::

    (unknown) --ask--> waiting --granted--> in flight --finish, unlent--> (unknown)
                 \\------granted at once----/^    \\------finish, lent---> parked --loan returned--> (unknown)
    waiting --cancel--> (unknown)          in flight --cancel--> as finish

The pool remembers waiting, in flight and parked runs and nothing else: a forgotten id may be asked again.

Every run in flight or parked has a slot, as one of two tokens: ``pool``, a slot taken from the pool, or ``loan``, its
parent's slot. A run whose slot is out on loan has *lent* it. So each pool slot is the head of a chain: the run that
took it, its borrower, that run's borrower, and so on, strictly down the tree. Exactly one run of a chain, the last,
holds the slot unlent. From this follow the two bounds: runs with an unlent slot = slots taken <= cap; and, a chain
having at most one run per level, runs in flight <= cap x levels.

Who gets what, when:

* ``ask``: the parent's slot if it is unlent; else a free pool slot; else the run waits in two queues at once, its
  parent's and the pool's, and takes whichever frees first. It leaves both in the same step.
* a loan comes back: an open lender hands it to its longest-waiting child or holds it unlent again; a *parked* lender
  (it finished while lending; its slot stayed with the loan) gives its own slot back in turn, and so on up the chain.
* a pool slot comes back: it is uncharged from its job, then goes to the waiter that the order picks (order.py), or is
  free.
* with ``relend``: a lender that gets its slot back and has no waiting child, but a child that runs on a pool slot,
  lends to that child, whose pool slot goes back to the pool. So no slot idles under a waiting parent.

Conflicts are settled by the order of these rules: a parent's slot before a pool slot, a returned loan to the lender's
child before anybody else, the cascade before the pool's waiters. After every call no run waits while a pool slot is
free, and no run waits while its own open parent holds its slot unlent. Nothing barges.

Sans-IO: no clock, thread, loop or randomness. A call is one step; it returns who was granted what, and the caller
wakes them. A refused call raises (errors.py) and changes nothing. Not thread-safe: a front end calls it from one
thread or under one lock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from slotlending.errors import BadCap, NotAdmitted, NotKnown, ParentNotInFlight, RunKnown
from slotlending.explain import Explanation, Waits, explain
from slotlending.jobs import Job, JobTree
from slotlending.order import FEWEST_HELD, SERVED, TIES, Line
from slotlending.other_orders import order_of
from slotlending.snapshot import IN_FLIGHT, LOAN, NONE, PARKED, POOL, WAITING, Answer, RunState, Snapshot

__all__ = ["Pool", "Statistics"]

_NOTHING = Answer()
_NO_LINES: frozenset[Line] = frozenset()
_new: Any = tuple.__new__  # makes a NamedTuple without its slower constructor; the explorer makes millions


class Statistics(NamedTuple):
    """Counts of one pool at one moment."""

    #: How many slots there are.
    cap: int
    #: Pool slots out; also the runs that hold a slot unlent, so the runs that can be at work.
    taken: int
    #: Pool slots that can be handed out now (0 when the cap was lowered below ``taken``).
    free: int
    #: Runs that have asked and have no slot yet.
    waiting: int
    #: Runs with a slot that have not finished: at most ``taken`` times the levels of the tree.
    in_flight: int
    #: Runs that finished while their slot was lent.
    parked: int


class Pool:
    """The shared slots of a tree of tasks. See the head of this file for how it works.

    Think of a desk that a clerk keeps for the whole of a case and lets one helper at a time sit at: the case never
    loses its desk, and there are never more people seated than desks.

        >>> pool = Pool(1)
        >>> pool.ask("walk")
        Answer(granted=(('walk', 'pool'),), relent=())
        >>> pool.ask("file", parent="walk")
        Answer(granted=(('file', 'loan'),), relent=())
        >>> pool.ask("other")
        Answer(granted=(), relent=())
        >>> pool.finish("file")
        Answer(granted=(), relent=())
        >>> pool.finish("walk")
        Answer(granted=(('other', 'pool'),), relent=())

    It is not a semaphore to be awaited: it waits for nothing and wakes nobody. It is not a cap on memory or on CPU (a
    parent may work while its slot is lent). And it cannot help runs that wait for anything but their own descendants.

    Args:
        cap: how many slots there are, at least 1.
        order: who gets a freed pool slot: "fewest_held" (first) or, for comparison, "fifo", "round_robin",
            "strict_priority:NAME,..." or "fixed_share:N". See order.py and other_orders.py.
        tie: the tie-break of fewest held first: "served" or "oldest".
        relend: whether a slot that comes back to a waiting parent is used again at once (R13).

    Raises:
        BadCap: ``cap`` is not an integer >= 1.
        ValueError: an order or tie-break that does not exist, an order without its parameter, or a ``relend`` that is
            not a bool.
    """

    __slots__ = (
        "_arrivals",
        "_borrowers",
        "_cap",
        "_children",
        "_clock",
        "_jobs",
        "_limits",
        "_nodes",
        "_order",
        "_parked",
        "_queues",
        "_relend",
        "_rules",
        "_runs",
        "_taken",
    )

    def __init__(self, cap: int, *, order: str = FEWEST_HELD, tie: str = SERVED, relend: bool = False) -> None:
        if tie not in TIES:
            raise ValueError(f"tie is one of {', '.join(TIES)}, not {tie!r}")
        if not isinstance(relend, bool):
            raise ValueError(f"relend is True or False, not {relend!r}")
        _judge_cap(cap)
        self._set_up(cap, order, tie, relend)

    def _set_up(self, cap: int, order: str, tie: str, relend: bool) -> None:
        self._cap = cap
        self._rules = (order, tie)
        self._relend = relend
        self._taken = 0  # = runs with a pool token = runs that hold a slot unlent
        self._parked = 0
        # The known runs. Their states are immutable and replaced whole, so a snapshot is a copy of references. What
        # would make a state grow is kept beside them, for runs that have any: the child on loan, the children with a
        # slot by admission, the waiting children by arrival.
        self._runs: dict[Hashable, RunState] = {}
        self._borrowers: dict[Hashable, Hashable] = {}
        self._children: dict[Hashable, OrderedDict[Hashable, None]] = {}
        self._queues: dict[Hashable, OrderedDict[Hashable, None]] = {}
        self._arrivals: dict[Hashable, int] = {}  # the waiting runs by arrival, each with a number that only grows
        self._clock = 0  # the last such number
        # A run that is alone in its own job (run,), does not wait and was never a parent need not be in the tree of
        # jobs: it enters when it becomes a parent, or when somebody names a job that begins with its id.
        self._jobs = JobTree()
        self._nodes = self._jobs.nodes
        self._order = order_of(order, tie, self._jobs)
        self._limits = self._order.limits

    # -- the calls -----------------------------------------------------------------------------------------------

    def ask(self, run: Hashable, parent: Hashable | None = None, job: Job | None = None) -> Answer:
        """Ask for a slot (R2). ``granted`` names the run if it has one now; otherwise it waits for a later grant.

        Args:
            run: the caller's id for it, hashable and not None.
            parent: the run whose slot it may borrow, in flight; None without one.
            job: the path of the job it belongs to; by default its parent's, or ``(run,)`` without a parent.

        Raises:
            RunKnown, ParentNotInFlight, JobNotLeaf: in this order of judgement.
            TypeError: the job is not a tuple of names, or the id is None or cannot be hashed.
        """
        lender, path = self._judge(run, parent, job)
        return self._admit(run, lender, path) or self._wait(run, lender, path)

    def try_ask(self, run: Hashable, parent: Hashable | None = None, job: Job | None = None) -> Answer:
        """`ask`, but where the run would have to wait nothing is granted and nothing changes."""
        lender, path = self._judge(run, parent, job)
        return self._admit(run, lender, path) or _NOTHING

    def finish(self, run: Hashable) -> Answer:
        """The run has ended (R3). Its slot goes on at once, or stays with its borrower until the loan comes back.

        Raises:
            NotAdmitted: it still waits for a slot.
            NotKnown: it was never asked, has finished before, or was cancelled.
        """
        state = self._runs.get(run)
        if state is None or state.phase != IN_FLIGHT:
            if state is not None and state.phase == WAITING:
                raise NotAdmitted(run, f"run {run!r} waits for a slot, so it cannot finish; cancel it")
            raise NotKnown(run, f"run {run!r} is not in flight, so it cannot finish")
        return self._end(state)

    def cancel(self, run: Hashable) -> Answer:
        """The run will not go on (R5): a waiting run leaves both queues, an admitted one gives its slot on.

        Cancels none of its children; a structured front end cancels those first.

        Raises:
            NotKnown: it is neither waiting nor in flight.
        """
        state = self._runs.get(run)
        if state is None or state.phase == PARKED:
            raise NotKnown(run, f"run {run!r} is neither waiting nor in flight, so it cannot be cancelled")
        if state.phase == WAITING:
            self._unqueue(state, granted=False)
            self._forget(state)
            return _NOTHING
        return self._end(state)

    def resize(self, cap: int) -> Answer:
        """Change the cap (R8). Raising it serves waiters in this step; lowering it revokes nothing.

        Raises:
            BadCap: ``cap`` is not an integer >= 1.
        """
        _judge_cap(cap)
        self._cap = cap
        return self._serve()

    def judge(self, run: Hashable, parent: Hashable | None = None, job: Job | None = None) -> Job:
        """Raise what `ask` would raise; else the job that the run would belong to. Changes nothing."""
        return self._judge(run, parent, job)[1]

    # -- what can be seen ----------------------------------------------------------------------------------------

    def state(self, run: Hashable) -> RunState | None:
        """What is known of a run, in constant time; None of one that is not known."""
        return self._runs.get(run)

    def snapshot(self) -> Snapshot:
        """The whole state, immutable, and hashable as the run ids are."""
        waiting = self._arrivals
        snapshot: Snapshot = _new(
            Snapshot,
            (
                self._cap,
                self._taken,
                frozenset(self._runs.values()),
                tuple(waiting),
                frozenset([(parent, tuple(children)) for parent, children in self._children.items()]),
                frozenset(self._order.lines()) if waiting else _NO_LINES,
                *self._rules,
                self._relend,
            ),
        )
        return snapshot

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Pool:
        """A pool in the state that a snapshot tells. The snapshot is believed: it must be one that a pool gave."""
        pool = cls.__new__(cls)
        cap, taken, states, waiting, children, lines, order, tie, relend = snapshot
        pool._set_up(cap, order, tie, relend)
        pool._taken = taken
        pool._runs = runs = {state[0]: state for state in states}
        nodes = pool._jobs.nodes
        for run, phase, token, _, _, parent, job in states:
            node = nodes.get(job)
            if node is None:
                node = pool._jobs.enter(job)
            else:
                node.runs += 1
            if token == LOAN:
                pool._borrowers[parent] = run
            elif token == POOL:
                node.charge(1)
            if phase == PARKED:
                pool._parked += 1
        for parent, admitted in children:
            pool._children[parent] = OrderedDict.fromkeys(admitted)
        if waiting:
            pool._clock = len(waiting)
            pool._arrivals = dict(zip(waiting, range(1, len(waiting) + 1), strict=True))
            for run in waiting:
                parent = runs[run].parent
                if parent is not None:
                    pool._queue_up(parent, run)
            pool._order.restore([(run, nodes[runs[run].job]) for run in waiting], lines)
        return pool

    def __reduce__(self) -> tuple[Callable[[Snapshot], Pool], tuple[Snapshot]]:
        """A copy is a pool of its own in this state (a shallow one would share its insides). Unpickled, too."""
        return type(self).restore, (self.snapshot(),)

    def statistics(self) -> Statistics:
        """Counts at this moment, in constant time."""
        waiting = len(self._arrivals)
        in_flight = len(self._runs) - waiting - self._parked
        free = max(self._cap - self._taken, 0)
        return Statistics(self._cap, self._taken, free, waiting, in_flight, self._parked)

    def held(self, job: Job) -> int:
        """Pool slots charged to runs whose job lies at or below this path, parked runs included; ``()`` is all."""
        if not isinstance(job, tuple):
            raise TypeError(f"a job is a tuple of names such as ('app', 'update'), not {job!r}")
        if not job:
            return self._taken
        self._show(job[0])
        node = self._nodes.get(job)
        return 0 if node is None else node.held

    def explain(self, waits: Waits | None = None) -> Explanation:
        """Who waits for what, and who holds that (R11). See explain.py for what a front end passes in."""
        return explain(self.snapshot(), waits)

    def __repr__(self) -> str:
        order = "" if self._rules[0] != FEWEST_HELD else f" {self._rules[1]}"
        relend = ", relend" if self._relend else ""
        counts = self.statistics()
        return (
            f"<Pool {counts.taken} of {counts.cap} taken, {counts.in_flight} in flight, {counts.waiting} waiting, "
            f"{counts.parked} parked; {self._rules[0]}{order}{relend}>"
        )

    # -- asking --------------------------------------------------------------------------------------------------

    def _judge(self, run: Hashable, parent: Hashable | None, job: Job | None) -> tuple[RunState | None, Job]:
        """R2's refusals, in its order; the parent, and the job that the run will belong to. Nothing seen changes."""
        if run in self._runs:
            raise RunKnown(run, f"run {run!r} is known: {_told(self._runs[run])}")
        if run is None:
            raise TypeError("None is no id for a run: it stands for no parent")
        lender = None
        if parent is not None:
            lender = self._runs.get(parent)
            if lender is None or lender.phase != IN_FLIGHT:
                phase = "not known" if lender is None else _told(lender)
                raise ParentNotInFlight(parent, f"parent {parent!r} of run {run!r} is not in flight: {phase}")
            if job is None:
                return lender, lender.job
        if job is None:
            job = (run,)
            if not self._nodes or job not in self._nodes:
                return None, job
        elif not isinstance(job, tuple):
            raise TypeError(f"a job is a tuple of names such as ('app', 'update'), not {job!r}")
        elif job:
            self._show(job[0])
        self._jobs.judge(job)
        return lender, job

    def _show(self, run: Hashable) -> None:
        """If a run of this id is alone in its own job, it enters the tree of jobs."""
        state = self._runs.get(run)
        if state is not None:
            self._place(state)

    def _place(self, state: RunState) -> None:
        """A known run's job is in the tree of jobs from now on, which a run alone in its job has not entered yet."""
        if state.job not in self._nodes:
            self._jobs.enter(state.job).held = int(state.token == POOL)

    def _admit(self, run: Hashable, lender: RunState | None, job: Job) -> Answer | None:
        """R2.1 and R2.2: a slot for a new run at once, if there is one."""
        if lender is None:
            if self._taken >= self._cap or (self._limits and not self._may_take(job)):
                return None
            token, level, parent = POOL, 1, None
            if len(job) > 1 or job[0] != run or (self._nodes and job in self._nodes):
                self._jobs.enter(job)
        else:
            if not lender.lent:
                token = LOAN
            elif self._taken < self._cap and not (self._limits and not self._may_take(job)):
                token = POOL
            else:
                return None
            level, parent = lender.level + 1, lender.run
            self._place(lender)
            self._jobs.enter(job)
        self._runs[run] = state = _new(RunState, (run, IN_FLIGHT, token, False, level, parent, job))
        self._hand_over(state)
        return _new(Answer, (((run, token),), ()))  # type: ignore[no-any-return]

    def _may_take(self, job: Job) -> bool:
        """Whether the order lets the job take a pool slot that is free. (That of a lender is in the tree of jobs.)"""
        node = self._nodes.get(job)
        return node is None or self._order.admits(node)

    def _wait(self, run: Hashable, lender: RunState | None, job: Job) -> Answer:
        """R2.3: the run waits in two queues at once."""
        level, parent = 1, None
        if lender is not None:
            level, parent = lender.level + 1, lender.run  # which lends, so its job is in the tree of jobs
            self._queue_up(parent, run)
        self._runs[run] = _new(RunState, (run, WAITING, NONE, False, level, parent, job))
        self._clock += 1
        self._arrivals[run] = self._clock
        self._order.join(run, self._jobs.enter(job), self._clock)
        return _NOTHING

    def _queue_up(self, parent: Hashable, run: Hashable) -> None:
        queue = self._queues.get(parent)
        if queue is None:
            queue = self._queues[parent] = OrderedDict()
        queue[run] = None

    # -- slots that go out ---------------------------------------------------------------------------------------

    def _hand_over(self, state: RunState) -> None:
        """The run, in no queue (any more), has its slot from now on: its parent's, or one of the pool."""
        run, _, token, _, _, parent, job = state
        if token == POOL:
            self._taken += 1
            if self._nodes and job in self._nodes:
                self._order.charge(self._nodes[job], 1)
        else:
            self._lend(parent, run)
        if parent is not None:
            children = self._children.get(parent)
            if children is None:
                children = self._children[parent] = OrderedDict()
            children[run] = None

    def _lend(self, lender: Hashable, borrower: Hashable) -> None:
        self._borrowers[lender] = borrower
        run, phase, token, _, level, parent, job = self._runs[lender]
        self._runs[lender] = _new(RunState, (run, phase, token, True, level, parent, job))

    def _grant(self, run: Hashable, token: str) -> tuple[Hashable, str]:
        """A waiting run gets a slot: it leaves both queues in this step."""
        state = self._runs[run]
        self._unqueue(state, granted=token == POOL)
        _, _, _, _, level, parent, job = state
        self._runs[run] = state = _new(RunState, (run, IN_FLIGHT, token, False, level, parent, job))
        self._hand_over(state)
        return run, token

    def _serve(self, relent: tuple[Hashable, ...] = ()) -> Answer:
        """Hand out free pool slots to waiters, one by one, the order asked anew for each (R6, R8)."""
        granted = []
        while self._arrivals and self._taken < self._cap:
            run = self._order.pick()
            if run is None:
                break
            granted.append(self._grant(run, POOL))
        return Answer(tuple(granted), relent) if granted or relent else _NOTHING

    def _unqueue(self, state: RunState, *, granted: bool) -> None:
        """A waiting run leaves both queues."""
        run, parent = state.run, state.parent
        del self._arrivals[run]
        self._order.leave(run, self._nodes[state.job], granted=granted)
        if parent is not None:
            queue = self._queues[parent]
            del queue[run]
            if not queue:
                del self._queues[parent]

    # -- slots that come back ------------------------------------------------------------------------------------

    def _end(self, state: RunState) -> Answer:
        """R3: an admitted run has finished or was cancelled."""
        run = state.run
        if run in self._queues:
            for child in self._queues.pop(run):
                self._orphan(child)
        borrower = self._borrowers[run] if state.lent else None
        if run in self._children:
            for child in self._children.pop(run):
                if child != borrower:
                    self._orphan(child)
        if borrower is None:
            return self._give_back(state)
        self._children[run] = OrderedDict.fromkeys((borrower,))
        _, _, token, _, level, parent, job = state
        self._runs[run] = _new(RunState, (run, PARKED, token, True, level, parent, job))
        self._parked += 1
        return _NOTHING

    def _orphan(self, child: Hashable) -> None:
        run, phase, token, lent, level, _, job = self._runs[child]
        self._runs[child] = _new(RunState, (run, phase, token, lent, level, None, job))

    def _give_back(self, state: RunState) -> Answer:
        """R4: the slot of a run that has ended, and whose slot is unlent, goes back to where it came from."""
        while state.token == LOAN:
            self._forget(state)
            run, phase, token, _, level, parent, job = self._runs[state.parent]
            del self._borrowers[run]
            self._runs[run] = state = _new(RunState, (run, phase, token, False, level, parent, job))
            if phase == IN_FLIGHT:
                return self._loan_returned(run)
            self._parked -= 1
        self._return_slot(state)
        self._forget(state)
        return self._serve() if self._arrivals else _NOTHING

    def _loan_returned(self, lender: Hashable) -> Answer:
        """An open lender has its slot back: its longest-waiting child, else (R13) a child on a pool slot, else it."""
        queue = self._queues.get(lender)
        if queue:
            return Answer((self._grant(next(iter(queue)), LOAN),))
        children = self._children.get(lender)
        if self._relend and children:
            first = next(iter(children))  # on a pool slot, as all are: the one on loan has just ended
            run, phase, _, lent, level, parent, job = state = self._runs[first]
            self._return_slot(state)
            self._runs[run] = _new(RunState, (run, phase, LOAN, lent, level, parent, job))
            self._lend(lender, run)
            return self._serve((run,))
        return _NOTHING

    def _return_slot(self, state: RunState) -> None:
        """A pool slot comes back, uncharged before anybody is served."""
        self._taken -= 1
        if self._nodes and state.job in self._nodes:
            self._order.charge(self._nodes[state.job], -1)

    def _forget(self, state: RunState) -> None:
        run, _, _, _, _, parent, job = state
        del self._runs[run]
        if self._nodes and job in self._nodes:
            self._jobs.leave(self._nodes[job])
        if parent is not None:  # which lends, or did so to this run: it has an admitted child
            children = self._children[parent]
            children.pop(run, None)
            if not children:
                del self._children[parent]


def _told(state: RunState) -> str:
    return state.phase.replace("_", " ")


def _judge_cap(cap: object) -> None:
    if not isinstance(cap, int) or isinstance(cap, bool) or cap < 1:
        raise BadCap(cap, f"a cap is an integer >= 1, not {cap!r}")
