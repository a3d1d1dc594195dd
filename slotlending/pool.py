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
from collections.abc import Hashable
from operator import attrgetter
from typing import Any, NamedTuple

from slotlending.errors import BadCap, NotAdmitted, NotKnown, ParentNotInFlight, RunKnown
from slotlending.explain import Explanation, Waits, explain
from slotlending.jobs import Job, JobNode, JobTree
from slotlending.order import FEWEST_HELD, FIFO, ORDERS, SERVED, TIES, FewestHeldFirst, Fifo, Line, Order
from slotlending.snapshot import IN_FLIGHT, LOAN, NONE, PARKED, POOL, WAITING, Answer, Grant, RunState, Snapshot

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


class _Run:
    """A known run. Runs name one another by id, so that they form no reference cycles."""

    __slots__ = ("arrival", "borrower", "children", "level", "node", "parent", "phase", "run", "token", "waiting")

    def __init__(
        self, run: Hashable, parent: Hashable | None, node: JobNode | None, level: int, phase: str, token: str
    ) -> None:
        self.run = run
        self.parent = parent  # the run whose slot it may borrow or has borrowed
        self.node = node  # None: alone in the job (run,), which nobody else has named yet
        self.level = level
        self.phase = phase
        self.token = token
        self.borrower: Hashable | None = None  # the child that its slot is out on loan to
        self.children: OrderedDict[Hashable, None] | None = None  # those with a slot, in order of admission
        self.waiting: OrderedDict[Hashable, None] | None = None  # those without, by arrival
        self.arrival = 0


_arrival = attrgetter("arrival")


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
        order: who gets a freed pool slot: "fewest_held" (first) or "fifo". See order.py.
        tie: the tie-break of fewest held first: "served" or "oldest".
        relend: whether a slot that comes back to a waiting parent is used again at once (R13).

    Raises:
        BadCap: ``cap`` is not an integer >= 1.
        ValueError: an order or tie-break that does not exist.
    """

    __slots__ = ("_cap", "_clock", "_jobs", "_order", "_parked", "_relend", "_rules", "_runs", "_taken", "_waiting")

    def __init__(self, cap: int, *, order: str = FEWEST_HELD, tie: str = SERVED, relend: bool = False) -> None:
        if order not in ORDERS:
            raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}")
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
        self._waiting = 0
        self._parked = 0
        self._clock = 0  # numbers the arrivals
        self._runs: dict[Hashable, _Run] = {}
        self._jobs = JobTree()
        self._order: Order[_Run] = Fifo() if order == FIFO else FewestHeldFirst(self._jobs, tie)

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
        record = self._runs.get(run)
        if record is None or record.phase == PARKED:
            raise NotKnown(run, f"run {run!r} is not in flight, so it cannot finish")
        if record.phase == WAITING:
            raise NotAdmitted(run, f"run {run!r} waits for a slot, so it cannot finish; cancel it")
        return self._end(record)

    def cancel(self, run: Hashable) -> Answer:
        """The run will not go on (R5): a waiting run leaves both queues, an admitted one gives its slot on.

        Cancels none of its children; a structured front end cancels those first.

        Raises:
            NotKnown: it is neither waiting nor in flight.
        """
        record = self._runs.get(run)
        if record is None or record.phase == PARKED:
            raise NotKnown(run, f"run {run!r} is neither waiting nor in flight, so it cannot be cancelled")
        if record.phase == WAITING:
            self._unqueue(record, granted=False)
            self._forget(record)
            return _NOTHING
        return self._end(record)

    def resize(self, cap: int) -> Answer:
        """Change the cap (R8). Raising it serves waiters in this step; lowering it revokes nothing.

        Raises:
            BadCap: ``cap`` is not an integer >= 1.
        """
        _judge_cap(cap)
        self._cap = cap
        return self._serve()

    # -- what can be seen ----------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The whole state, immutable, and hashable as the run ids are."""
        states = [
            _new(
                RunState,
                (
                    record.run,
                    record.phase,
                    record.token,
                    record.borrower is not None,
                    record.level,
                    record.parent,
                    (record.run,) if record.node is None else record.node.path,
                    tuple(record.children) if record.children else (),
                ),
            )
            for record in self._runs.values()
        ]
        waiting: tuple[Hashable, ...] = ()
        lines: frozenset[Line] = _NO_LINES
        if self._waiting:
            records = [record for record in self._runs.values() if record.phase == WAITING]
            records.sort(key=_arrival)
            waiting = tuple([record.run for record in records])
            lines = frozenset(self._order.lines())
        snapshot: Snapshot = _new(
            Snapshot, (self._cap, self._taken, frozenset(states), waiting, lines, *self._rules, self._relend)
        )
        return snapshot

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Pool:
        """A pool in the state that a snapshot tells."""
        pool = cls.__new__(cls)
        cap, taken, states, waiting, lines, order, tie, relend = snapshot
        pool._set_up(cap, order, tie, relend)
        pool._taken = taken
        runs = pool._runs
        nodes = pool._jobs.nodes
        loans = []
        for run, phase, token, _, level, parent, job, children in states:
            node = nodes.get(job)
            if node is None:
                node = pool._jobs.enter(job)
            else:
                node.runs += 1
            runs[run] = record = _Run(run, parent, node, level, phase, token)
            if children:
                record.children = OrderedDict.fromkeys(children)
            if token == LOAN:
                loans.append((parent, run))
            elif token == POOL:
                up = node.up
                while up is not None:
                    node.held += 1
                    node, up = up, up.up
            if phase == PARKED:
                pool._parked += 1
        for parent, run in loans:
            runs[parent].borrower = run
        if waiting:
            pool._waiting = pool._clock = len(waiting)
            records = [runs[run] for run in waiting]
            for arrival, record in enumerate(records, 1):
                record.arrival = arrival
                if record.parent is not None:
                    pool._queue_up(runs[record.parent], record)
            pool._order.restore(records, lines)
        return pool

    def statistics(self) -> Statistics:
        """Counts at this moment, in constant time."""
        in_flight = len(self._runs) - self._waiting - self._parked
        free = max(self._cap - self._taken, 0)
        return Statistics(self._cap, self._taken, free, self._waiting, in_flight, self._parked)

    def held(self, job: Job) -> int:
        """Pool slots charged to runs whose job lies at or below this path, parked runs included; ``()`` is all."""
        if not job:
            return self._taken
        first = self._runs.get(job[0])
        if first is not None:
            self._node(first)
        node = self._jobs.nodes.get(job)
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

    def _judge(self, run: Hashable, parent: Hashable | None, job: Job | None) -> tuple[_Run | None, Job | None]:
        """R2's refusals, in its order, and the job: None for a run that is alone in its own. Nothing seen changes."""
        known = self._runs.get(run)
        if known is not None:
            raise RunKnown(run, f"run {run!r} is known: {known.phase}")
        if run is None:
            raise TypeError("None is no id for a run: it stands for no parent")
        lender = None
        if parent is not None:
            lender = self._runs.get(parent)
            if lender is None or lender.phase != IN_FLIGHT:
                phase = "not known" if lender is None else lender.phase
                raise ParentNotInFlight(parent, f"parent {parent!r} of run {run!r} is not in flight: {phase}")
            if job is None:
                return lender, self._node(lender).path
        if job is None:
            if (run,) not in self._jobs.nodes:
                return None, None
            job = (run,)
        elif not isinstance(job, tuple):
            raise TypeError(f"a job is a tuple of names such as ('app', 'update'), not {job!r}")
        elif job:
            first = self._runs.get(job[0])
            if first is not None:
                self._node(first)
        self._jobs.judge(job)
        return lender, job

    def _node(self, record: _Run) -> JobNode:
        """The record's place in the tree of jobs. One alone in its own job enters the tree when that first matters."""
        node = record.node
        if node is None:
            node = record.node = self._jobs.enter((record.run,))
            node.held = int(record.token == POOL)
        return node

    def _admit(self, run: Hashable, lender: _Run | None, job: Job | None) -> Answer | None:
        """R2.1 and R2.2: a slot for a new run at once, if there is one."""
        if lender is not None and lender.borrower is None:
            token = LOAN
        elif self._taken < self._cap:
            token = POOL
        else:
            return None
        record = self._enter(run, lender, None if job is None else self._jobs.enter(job))
        answer: Answer = _new(Answer, ((self._hand_over(record, lender, token),), ()))
        return answer

    def _wait(self, run: Hashable, lender: _Run | None, job: Job | None) -> Answer:
        """R2.3: the run waits in two queues at once."""
        record = self._enter(run, lender, self._jobs.enter((run,) if job is None else job))
        if lender is not None:
            self._queue_up(lender, record)
        self._clock += 1
        record.arrival = self._clock
        self._waiting += 1
        self._order.join(record)
        return _NOTHING

    def _enter(self, run: Hashable, lender: _Run | None, node: JobNode | None) -> _Run:
        if lender is None:
            record = _Run(run, None, node, 1, WAITING, NONE)
        else:
            record = _Run(run, lender.run, node, lender.level + 1, WAITING, NONE)
        self._runs[run] = record
        return record

    @staticmethod
    def _queue_up(lender: _Run, record: _Run) -> None:
        if lender.waiting is None:
            lender.waiting = OrderedDict()
        lender.waiting[record.run] = None

    # -- slots that go out ---------------------------------------------------------------------------------------

    def _hand_over(self, record: _Run, lender: _Run | None, token: str) -> Grant:
        """A slot, its parent's or the pool's, for a run that is in no queue (any more)."""
        if token == POOL:
            self._taken += 1
            if record.node is not None:
                self._order.charge(record.node, 1)
        else:
            assert lender is not None
            lender.borrower = record.run
        record.phase = IN_FLIGHT
        record.token = token
        if lender is not None:
            if lender.children is None:
                lender.children = OrderedDict()
            lender.children[record.run] = None
        return record.run, token

    def _serve(self, relent: tuple[Hashable, ...] = ()) -> Answer:
        """Hand out free pool slots to waiters, one by one, the order asked anew for each (R6, R8)."""
        granted = []
        while self._waiting and self._taken < self._cap:
            record = self._order.pick()
            lender = self._unqueue(record, granted=True)
            granted.append(self._hand_over(record, lender, POOL))
        return Answer(tuple(granted), relent) if granted or relent else _NOTHING

    def _unqueue(self, record: _Run, *, granted: bool) -> _Run | None:
        """A waiting run leaves both queues in one step. Returns its parent."""
        self._waiting -= 1
        self._order.leave(record, granted=granted)
        if record.parent is None:
            return None
        lender = self._runs[record.parent]
        assert lender.waiting is not None
        del lender.waiting[record.run]
        return lender

    # -- slots that come back ------------------------------------------------------------------------------------

    def _end(self, record: _Run) -> Answer:
        """R3: an admitted run has finished or was cancelled."""
        borrower = record.borrower
        if record.waiting:
            for child in record.waiting:
                self._runs[child].parent = None
            record.waiting = None
        if record.children:
            for child in record.children:
                if child != borrower:
                    self._runs[child].parent = None
            record.children = None
        if borrower is not None:
            record.children = OrderedDict.fromkeys((borrower,))
            record.phase = PARKED
            self._parked += 1
            return _NOTHING
        return self._give_back(record)

    def _give_back(self, record: _Run) -> Answer:
        """R4: the slot of a run that has ended, and whose slot is unlent, goes back to where it came from."""
        while record.token == LOAN:
            assert record.parent is not None
            lender = self._runs[record.parent]
            self._forget(record)
            lender.borrower = None
            if lender.phase == IN_FLIGHT:
                return self._loan_returned(lender)
            self._parked -= 1
            record = lender
        self._return_slot(record)
        self._forget(record)
        return self._serve() if self._waiting else _NOTHING

    def _loan_returned(self, lender: _Run) -> Answer:
        """An open lender has its slot back: its longest-waiting child, else (R13) a child on a pool slot, else it."""
        if lender.waiting:
            record = self._runs[next(iter(lender.waiting))]
            self._unqueue(record, granted=False)
            return Answer((self._hand_over(record, lender, LOAN),))
        if self._relend and lender.children:
            first = next(iter(lender.children))  # on a pool slot, as all are: the one on loan has just ended
            record = self._runs[first]
            self._return_slot(record)
            record.token = LOAN
            lender.borrower = first
            return self._serve((first,))
        return _NOTHING

    def _return_slot(self, record: _Run) -> None:
        """A pool slot comes back, uncharged before anybody is served."""
        self._taken -= 1
        if record.node is not None:
            self._order.charge(record.node, -1)

    def _forget(self, record: _Run) -> None:
        del self._runs[record.run]
        if record.node is not None:
            self._jobs.leave(record.node)
        if record.parent is not None:
            children = self._runs[record.parent].children
            if children is not None:
                children.pop(record.run, None)


def _judge_cap(cap: object) -> None:
    if type(cap) is not int or cap < 1:
        raise BadCap(cap, f"a cap is an integer >= 1, not {cap!r}")
