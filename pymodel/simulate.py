"""A scenario played once, on a virtual clock: one behaviour of the many that an exploration finds, with its times.

Every piece of work takes the time that the scenario gives its run; everything else takes none. Of steps that could
happen at one instant, a slot is handed on first, then whoever waited for the run that ended goes on, each in the order
in which it came. So the same scenario, pool and rule always give the same timeline.

The pool decides about slots, here as in an exploration: the pool that ships, a rule that lives on (live.py), anything
with the same three calls. What may happen from outside (cancels, resizes, early ends) is left out, and a script is
refused: times say what happens when.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from slotcheck.pymodel.clock import Clock
from slotcheck.pymodel.conduct import Conduct
from slotcheck.pymodel.locks import LockQueues
from slotcheck.pymodel.scenario import Op, Scenario
from slotcheck.pymodel.timeline import Simulated, Steps

__all__ = ["SimulatedPool", "simulate"]

_IDLE, _ASKED, _IN_FLIGHT, _ENDED = range(4)
_LEAF = (Op("work"),)
_INNER = (Op("spawn all"), Op("wait all"))


class SimulatedPool(Protocol):
    """What a simulation asks of a pool: three calls, answered with ``granted`` and ``relent``.

    Under a rule with a conduct also ``make``, ``waits`` and ``lent``, see `LiveRule`.
    """

    def ask(self, run: Any, parent: Any = None, job: Any = None) -> Any:
        """R2. None in place of an answer: the run was declined for good."""

    def finish(self, run: Any) -> Any:
        """R3."""

    def held(self, job: Any) -> int:
        """Pool slots charged to the job."""


def simulate(scenario: Scenario, pool: SimulatedPool, conduct: Conduct | None = None) -> Simulated:
    """Play the scenario on the pool, which knows no run yet.

    Args:
        scenario: trees, bodies and times. Its caps are not looked at: the pool has one.
        pool: decides about slots, and is used up by this.
        conduct: what the pool's rule makes a run do besides its body's steps.

    Raises:
        ValueError: the scenario has a script, components or live runs.
    """
    if scenario.permits or any(run.live for run in scenario.runs):
        raise ValueError(f"{scenario.name} has components or live runs, which a simulation knows nothing of")
    if scenario.script:
        raise ValueError(f"{scenario.name} has a script, which fixes an order and not times; it cannot be simulated")
    return _Player(scenario, pool, conduct or Conduct()).play()


class _Player:
    """Plays the bodies of one scenario. Runs go by their place in it."""

    def __init__(self, scenario: Scenario, pool: SimulatedPool, conduct: Conduct) -> None:
        self.scenario, self.pool, self.conduct = scenario, pool, conduct
        self.clock = Clock()
        self.runs, self.index, self.jobs = scenario.runs, scenario.index, scenario.jobs
        count = len(self.runs)
        self.phase = bytearray(count)
        self.place = array("l", bytes(array("l").itemsize * count))  # in the run's body
        self.level = array("l", bytes(array("l").itemsize * count))
        self.open_children = array("l", bytes(array("l").itemsize * count))  # that have asked and not ended
        self.parents: list[int | None] = []
        self.children: dict[int, list[int]] = {}
        self.late: dict[int, list[int]] = {}
        self.unasked: dict[int, deque[int]] = {}  # of "spawn all" under way
        for at, run in enumerate(self.runs):
            parent = None if run.parent is None else self.index[run.parent]
            self.parents.append(parent)
            self.level[at] = 1 if parent is None else self.level[parent] + 1
            if parent is not None:
                (self.late if run.late else self.children).setdefault(parent, []).append(at)
        never = array("q", [-1]) * count
        self.found = Simulated(scenario, asked_ms=never[:], admitted_ms=never[:], ended_ms=never[:])
        self.held: dict[tuple[str, ...], Steps] = {}
        self.touched: dict[tuple[str, ...], None] = {}
        self.parks = False  # once a run has ended before its children, a slot may come back to any job
        self.ready: deque[tuple[Callable[[int], None], int]] = deque()  # what goes on at this instant
        self.declined: list[str] = []
        self.awaiting: dict[int, list[int]] = {}  # by the run whose end they wait for, its parent aside
        self.needing: dict[str, list[int]] = {}  # by the event they wait for
        self.events: set[str] = set()
        self.locks = LockQueues(scenario.gates)
        # What the rule's conduct adds: who has given its slot back, who may run others on top of it, who is under them.
        self.gave_back: set[int] = set()
        self.retaking: set[int] = set()
        self.helpers: dict[int, None] = {}
        self.under: dict[int, None] = {}

    def play(self) -> Simulated:
        for at, run in enumerate(self.runs):
            if run.parent is None:
                self.clock.at(run.at_ms, self._ask, at)
        clock, ready = self.clock, self.ready
        while (next_ms := clock.next_ms()) is not None:
            if next_ms > clock.now_ms:
                self._look()
            clock.tick()
            while ready:
                go_on, at = ready.popleft()
                go_on(at)
        self._look()
        found = self.found
        found.end_ms = max(found.ended_ms, default=0)
        found.stuck = tuple([run.name for at, run in enumerate(self.runs) if self.phase[at] in (_ASKED, _IN_FLIGHT)])
        found.declined = tuple(self.declined)
        found.held = {job: self.held[job] for job in sorted(self.held)}
        return found

    def _look(self) -> None:
        """An instant is over: note how it left the counts."""
        now, found = self.clock.now_ms, self.found
        for job in self.held if self.parks else self.touched:
            self.held[job].set(now, self.pool.held(job))
        self.touched.clear()
        found.in_flight_steps.set(now, found.in_flight.now)
        found.working_steps.set(now, found.working.now)

    # -- calls to the pool ---------------------------------------------------------------------------------------

    def _ask(self, at: int) -> None:
        run, parent = self.runs[at], self.parents[at]
        self.phase[at] = _ASKED
        self.found.asked_ms[at] = self.clock.now_ms
        self.found.alive.add(self.level[at], 1)
        self._touch(at)
        if parent is None or run.late:
            answer = self.pool.ask(run.name, None, self.jobs[run.name])
        else:
            self.open_children[parent] += 1
            answer = self.pool.ask(run.name, run.parent, run.job)
        if answer is None:
            self.declined.append(run.name)
            self._over(at)
        else:
            self._take_in(answer)

    def _finish(self, at: int) -> None:
        self._touch(at)
        if self.open_children[at]:
            self.parks = True
        self.found.ended_ms[at] = self.clock.now_ms
        self.found.in_flight.add(self.level[at], -1)
        self.phase[at] = _ENDED
        self._take_in(self.pool.finish(self.runs[at].name))
        self.helpers.pop(at, None)
        for other in self.locks.leave(at):
            self._pass(other)
        self._over(at)

    def _over(self, at: int) -> None:
        """The run has ended or was declined: whoever waited for it goes on, and its late children ask."""
        self.phase[at] = _ENDED
        self.found.alive.add(self.level[at], -1)
        parent = self.parents[at]
        if parent is not None and not self.runs[at].late:
            self.open_children[parent] -= 1
            if self.phase[parent] == _IN_FLIGHT and self._waits_for(parent, at):
                self.ready.append((self._go_on, parent))
        for other in self.awaiting.pop(at, ()):
            self.ready.append((self._go_on, other))
        for child in self.late.pop(at, ()):
            self.ready.append((self._ask, child))

    def _waits_for(self, parent: int, child: int) -> bool:
        """Whether this child's end lets its parent go on."""
        body, place = self._body(parent), self.place[parent]
        if not 0 <= place < len(body) or body[place].verb not in ("wait", "wait all"):
            return False
        op = body[place]
        return op.name == self.runs[child].name or (op.verb == "wait all" and not self.open_children[parent])

    def _take_in(self, answer: Any) -> None:
        """Note what a call led to; runs that got a slot go on at this instant."""
        for name, _ in answer.granted:
            at = self.index[name]
            self._touch(at)
            if self.phase[at] == _ASKED:
                self.phase[at] = _IN_FLIGHT
                self.found.admitted_ms[at] = self.clock.now_ms
                self.found.in_flight.add(self.level[at], 1)
                parent = self.parents[at]
                if self.scenario.blocking_spawn and parent is not None and not self.runs[at].late:
                    self.ready.append((self._go_on, parent))
            else:
                self.gave_back.discard(at)
                self.retaking.discard(at)
            self.ready.append((self._go_on, at))
        for name in answer.relent:
            self._touch(self.index[name])
        if self.conduct.acts:
            self._conduct()

    def _conduct(self) -> None:
        """After a call: workers whose run waits take queued runs on top, and runs with nothing on top go on."""
        pool: Any = self.pool
        for at in list(self.helpers):
            if at in self.helpers and pool.waits() and not pool.lent(self.runs[at].name):
                self._take_in(pool.make("help", self.runs[at].name))
        for at in [at for at in self.under if not pool.lent(self.runs[at].name)]:
            if at in self.under:
                del self.under[at]
                self.ready.append((self._go_on, at))

    def _touch(self, at: int) -> None:
        job = self.jobs[self.runs[at].name]
        if job not in self.touched:
            self.touched[job] = None
            if job not in self.held:
                self.held[job] = Steps()

    # -- bodies --------------------------------------------------------------------------------------------------

    def _body(self, at: int) -> Sequence[Op]:
        body = self.runs[at].body
        if body is not None:
            return body
        return _INNER if at in self.children else _LEAF

    def _go_on(self, at: int) -> None:
        """The run, unless it is at work, takes the steps of its body until one takes time or has to wait."""
        body = self._body(at)
        while self.phase[at] == _IN_FLIGHT and self.place[at] >= 0:
            if self.conduct.stacked and self.pool.lent(self.runs[at].name):  # type: ignore[attr-defined]
                self.under[at] = None
                return
            if self.scenario.blocking_spawn and self._spawning(at):
                return
            if self.place[at] >= len(body):
                self._finish(at)
                return
            op = body[self.place[at]]
            if op.verb == "raise":
                self._finish(at)
                return
            if op.verb == "work":
                self.place[at] = -self.place[at] - 1  # below 0 while at work
                self.found.working.add(self.level[at], 1)
                self.clock.at(self.clock.now_ms + self.runs[at].work_ms, self._worked, at)
                return
            if not self._step(at, op):
                return

    def _worked(self, at: int) -> None:
        self.found.working.add(self.level[at], -1)
        self.place[at] = -self.place[at]
        self._go_on(at)

    def _pass(self, at: int) -> None:
        """The step before which the run stands has happened."""
        self.place[at] += 1
        self.ready.append((self._go_on, at))

    def _step(self, at: int, op: Op) -> bool:
        """Take a step that takes no time; False if the run has to wait, or will be told to go on."""
        what = op.name
        if op.verb in ("wait", "wait all", "await"):
            return self._wait(at, op)
        if op.verb == "spawn all":
            if at not in self.unasked:
                self.unasked[at] = deque(self.children.get(at, ()))
            if self.unasked[at]:
                self._ask(self.unasked[at].popleft())
                return True  # and here again, unless the ask made the run wait
            del self.unasked[at]
        elif op.verb == "spawn":
            assert what is not None
            self.place[at] += 1
            self._ask(self.index[what])
            return True
        elif op.verb == "set":
            assert what is not None
            self.events.add(what)
            self._wake(self.needing.pop(what, ()))
        elif op.verb == "need":
            assert what is not None
            if what not in self.events:
                self.needing.setdefault(what, []).append(at)
                return False
        elif op.verb == "take":
            assert what is not None
            if not self.locks.take(what, at):
                return False
        else:
            assert op.verb == "drop"
            assert what is not None
            for other in self.locks.drop(what, at):
                self._pass(other)
        self.place[at] += 1
        return True

    def _wait(self, at: int, op: Op) -> bool:
        """Wait for runs: go on, or see to it that their end wakes this one; the rule may want its slot meanwhile."""
        met = not self.open_children[at] if op.verb == "wait all" else self.phase[self.index[op.name or ""]] == _ENDED
        if met:
            self.helpers.pop(at, None)
            if at in self.gave_back:
                if at in self.retaking:
                    return False
                self.retaking.add(at)
                self._take_in(self.pool.make("retake", self.runs[at].name))  # type: ignore[attr-defined]
                return False
            self.place[at] += 1
            return True
        if op.verb == "await":
            self.awaiting.setdefault(self.index[op.name or ""], []).append(at)
        if self.conduct.gives_back and at not in self.gave_back:
            self.gave_back.add(at)
            self._take_in(self.pool.make("give_back", self.runs[at].name))  # type: ignore[attr-defined]
        elif self.conduct.helps and at not in self.helpers:
            self.helpers[at] = None
            self._conduct()
        return False

    def _spawning(self, at: int) -> bool:
        """With blocking spawn: whether a child that the run asked for waits for its admission."""
        return any(self.phase[child] == _ASKED for child in self.children.get(at, ()))

    def _wake(self, runs: Iterable[int]) -> None:
        for at in runs:
            self.ready.append((self._go_on, at))
