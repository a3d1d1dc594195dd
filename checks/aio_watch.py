"""What is seen of an asyncio port while a program runs on it, and what is wrong with it.

Two sides are watched. The core (`slotlending.Pool`, which decides): every call that the port makes to it, and its state
after every callback. The bodies, which count for themselves who is at work. What the one says and what the other does
must agree; neither is asked to vouch for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any

from slotcheck.checks.aio_loop import StepLoop
from slotcheck.checks.facts import Facts
from slotcheck.checks.invariants import STATES, Situation
from slotcheck.checks.trace import call_event
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.subject import Reply

__all__ = ["LATE_CHILD", "PORT_INVARIANTS", "PORT_WITNESSES", "TWO_WOKEN", "BaseBoom", "Boom", "Watch", "plain_name"]

#: What must hold of a port, beside the state invariants of its core. In the order in which a fault is told.
PORT_INVARIANTS: dict[str, str] = {
    "WorksWithSlot": "a body runs only between the grant of its slot and its finish",
    "ExecutingWithinCap": "bodies at work at once, as they count themselves, never exceed the cap",
    "BodiesWithinBound": "bodies in flight, as they count themselves, never exceed cap x levels, nor the exact maximum",
    "NoSlotLost": "a run with a slot belongs to a task that lives, and in the end no run is known and no slot is out",
    "AdmissionBeforeSpawn": "with start a run is admitted before it has a task, and at most one child of a run waits",
    "CallsAllowed": "the port makes no call that its core refuses",
    "AsksAsDemanded": "each run asks with the parent and the job that the program gives it, or by R2 without them",
    "CapAndOrderAsGiven": "the core has the cap, order, tie and relend that the pool was made with or resized to",
    "CountsTold": "statistics and held tell what is so in the core",
    "OthersRefused": "calls from another thread, from another loop or without one are refused, and change nothing",
    "GroupWaits": "a group is left only when all its tasks have ended",
    "NoTaskLeft": "when nothing is ready any more, every task has ended and no timer is set",
    "ErrorsDelivered": "what a body raises reaches the root, in the form of its construct, and nothing else is raised",
    "CancelDelivered": "a task that is cancelled ends, and not as if nothing had been",
    "OthersGoOn": "what was neither cancelled nor hit by an error runs to its end, once",
    "NothingHidden": "no exception goes to the loop's handler or unseen, and no coroutine stays without a task",
}

LATE_CHILD = "a late child, asked without its parent"
TWO_WOKEN = "two runs woken by one step"

#: What must be seen, or the invariants were never put to the test; and on how many runs it can be seen at the least.
PORT_WITNESSES: dict[str, int] = {
    "executing = cap": 1,
    "in flight = the exact maximum": 1,
    "a task cancelled before its first step": 2,
    "a wait that is cancelled": 2,
    "a grant cancelled before it resumes": 2,
    "a parked slot": 2,
    LATE_CHILD: 3,  # unless tasks are eager: then it asks while its parent is there
    TWO_WOKEN: 3,  # where a body changes the cap by two
    "a pool slot that turns into a loan": 3,
}

_new: Any = tuple.__new__  # makes a NamedTuple without its slower constructor: there are hundreds of thousands

_SLACK = 1  # turns of the loop that may pass between the end of a task and the return of its slot


class Boom(Exception):
    """What a body raises."""


class BaseBoom(BaseException):
    """What a body raises that no `except Exception` sees."""


class _Seen:
    """What is known of one run."""

    __slots__ = ("asker", "due", "entered", "granted", "left", "level", "parent", "task", "token")

    def __init__(self, parent: str | None, level: int, asker: asyncio.Task[Any] | None) -> None:
        self.parent = parent
        self.level = level
        #: The task that asked, and the one that the run goes on in, once that is known.
        self.asker = asker
        self.task = asker
        self.granted = False
        self.token = ""
        self.entered = self.left = 0
        #: The callback by which its slot must be back, when its task has ended.
        self.due: int | None = None


class Watch:
    """One run of a program, watched.

    Args:
        loop: what it runs on.
        pool: what the program uses. The class of its core is exchanged for one that tells its calls to this watch.
        cap: the cap it begins with.
        levels: the levels of the program's forest.
        most: the most runs that can be in flight at once while nothing is resized.
        parents: the parent of each run of the program.
        lenders: the run under which each is to ask, as long as that is in flight.
        jobs: the job that each is to belong to.
        spawn_waits: whether a child's task is made only once the child is admitted.
        reads: whether what the pool tells of itself is judged too.
        tell: whether events are kept in words.
    """

    def __init__(
        self,
        loop: StepLoop,
        pool: Any,
        *,
        cap: int,
        levels: int,
        most: int,
        parents: Mapping[str, str | None],
        lenders: Mapping[str, str | None],
        jobs: Mapping[str, tuple[str, ...]],
        spawn_waits: bool = False,
        reads: bool = False,
        tell: bool = False,
    ) -> None:
        self.loop = loop
        self.pool = pool
        self.core = core = pool.core
        #: What is wrong, by invariant: the first fault of each, and the callback after which it was seen.
        self.faults: dict[str, tuple[str, int]] = {}
        #: What happened, in words, and in which callback.
        self.events: list[tuple[int, str]] = []
        #: What the bodies counted: the most at work, and the most in flight.
        self.most_executing = 0
        self.most_in_flight = 0
        #: What was seen of `PORT_WITNESSES`.
        self.witnessed: set[str] = set()
        #: Those that raised, in order.
        self.raised: list[str] = []
        self.cap = self.highest_cap = cap
        self.resizes = 0
        #: How many callbacks changed the core, and so how many of its states were judged.
        self.states = 0
        self._spawn_waits = spawn_waits
        self._tell = tell
        self._most = most
        self._levels = levels
        self._parents = parents
        self._lenders = lenders
        self._demanded = jobs
        self._unjudged: set[str] = set()  # those that asked in this callback
        self._reads = reads
        self._asked_levels = 0
        self.runs: dict[str, _Seen] = {}
        self._names: dict[Hashable, str] = {}
        self._to_ask: dict[asyncio.Task[Any] | None, str] = {}
        self._jobs: dict[tuple[Any, ...], tuple[str, ...]] = {}
        self._open: dict[str, _Seen] = {}  # those granted and neither finished nor cancelled
        self._executing: set[str] = set()
        self._inside: set[str] = set()
        self._changed = True
        self._counts: Any = None
        _listen(core, self)

    def fault(self, invariant: str, message: str) -> None:
        """Something is wrong. Only the first fault of each invariant is kept."""
        self.faults.setdefault(invariant, (message, self.loop.steps))

    def say(self, event: str) -> None:
        """Something happened."""
        if self._tell:
            self.events.append((self.loop.steps, event))

    # -- what the bodies say -------------------------------------------------------------------------------------

    def owner(self, name: str, task: asyncio.Task[Any]) -> None:
        """The run goes on in this task, which may not have begun."""
        seen = self.runs.get(name)
        if seen is not None and not seen.entered:
            seen.task = task
        if self._spawn_waits and (seen is None or not (seen.entered or seen.granted)):
            self.fault("AdmissionBeforeSpawn", f"{name} has a task, and has not been admitted")

    def asks_next(self, name: str) -> None:
        """The task that runs now asks for this run next, where it cannot give it a name."""
        self._to_ask[asyncio.current_task(self.loop)] = name

    def enter(self, name: str) -> None:
        """The body begins."""
        self.say(f"{name} goes on")
        seen = self.runs.get(name)
        if name not in self._open:
            phase = "was never asked for" if seen is None else "waits" if not seen.granted else "has ended"
            self.fault("WorksWithSlot", f"the body of {name} runs, but {name} {phase}")
        if seen is None:
            seen = self.runs[name] = _Seen(None, 1, None)
        seen.task = asyncio.current_task(self.loop)
        seen.entered += 1
        self._inside.add(name)
        self._at_work(name)
        count = len(self._inside)
        if count > self.most_in_flight:
            self.most_in_flight = count
            bound = self.highest_cap * self._levels
            if count > bound or (not self.resizes and count > self._most):
                told = f"{count} bodies are in flight ({', '.join(sorted(self._inside))})"
                self.fault("BodiesWithinBound", f"{told}: more than {bound} = cap x levels, or than {self._most}")

    def pause(self, name: str) -> None:
        """The body has nothing to do but to start children and wait for them."""
        self._executing.discard(name)

    def resume(self, name: str) -> None:
        """The body works again: its children have ended."""
        self._at_work(name)

    def leave(self, name: str) -> None:
        """The body is over, whichever way."""
        self._executing.discard(name)
        self._inside.discard(name)
        self.runs[name].left += 1

    def raises(self, name: str, *, base: bool = False) -> Boom | BaseBoom:
        """What the body of this run raises now."""
        self.say(f"{name} raises")
        self.raised.append(name)
        return BaseBoom(name) if base else Boom(name)

    def made_with(self, *options: Any) -> None:
        """The pool was made with this cap, order, tie and relend."""
        state = self.core.snapshot()
        found = state.cap, state.order, state.tie, state.relend
        if found != options:
            told = "cap, order, tie and relend"
            self.fault("CapAndOrderAsGiven", f"{told} are {options} where the pool is made, and {found} in the core")

    def resized(self, cap: int) -> None:
        """The cap was changed, just now."""
        found = self.core.statistics().cap
        if found != cap:
            self.fault("CapAndOrderAsGiven", f"the cap is {found} after resize({cap})")

    def _at_work(self, name: str) -> None:
        self._executing.add(name)
        count = len(self._executing)
        if count > self.most_executing:
            self.most_executing = count
            if count > self.highest_cap:
                told = f"{count} bodies are at work ({', '.join(sorted(self._executing))})"
                self.fault("ExecutingWithinCap", f"{told}, under a cap of {self.highest_cap}")

    # -- what the core is asked ----------------------------------------------------------------------------------

    def called(self, verb: str, args: Mapping[str, Any], answer: Any, error: BaseException | None) -> None:
        """The port has made a call to its core."""
        self._changed = True
        run = args.get("run")
        if verb == "ask" and self._to_ask:
            self._names[run] = self._to_ask.pop(asyncio.current_task(self.loop), "") or plain_name(run)
        name = "" if verb == "resize" else self._name(run)
        refused = None if error is None else getattr(error, "code", None)
        if error is not None:
            told = refused or f"{type(error).__name__}: {error}"
            self.fault("CallsAllowed", f"{verb} {name or args.get('cap')} is refused: {told}")
        elif verb in ("ask", "try_ask"):
            granted = [got for got, _ in answer.granted]
            if verb == "ask" or run in granted:
                parent = args.get("parent")
                lender = None if parent is None else self._name(parent)
                level = 1 if lender is None else self.runs[lender].level + 1 if lender in self.runs else 1
                self._asked_levels = max(self._asked_levels, level)
                self.runs[name] = _Seen(lender, level, asyncio.current_task(self.loop))
                self._unjudged.add(name)
                demanded = self._lenders.get(name)
                if demanded is not None and demanded not in self._open:
                    demanded = None
                    self.witnessed.add(LATE_CHILD)
                if lender != demanded:
                    told = f"{name} asks {_under(lender)}, but it must ask {_under(demanded)}"
                    self.fault("AsksAsDemanded", told)
        elif verb == "resize":
            self.cap = args["cap"]
            self.highest_cap = max(self.highest_cap, self.cap)
            self.resizes += 1
        else:
            seen = self._open.pop(name, None)
            if seen is None:
                self.witnessed.add("a wait that is cancelled")
            elif not seen.entered:
                self.witnessed.add("a grant cancelled before it resumes")
            if name in self._inside:
                self.fault("WorksWithSlot", f"{verb} {name} while its body still runs")
        if answer is not None:
            self._granted(answer)
        if self._tell:
            self._say_call(verb, name, args, answer, refused, error)

    def _granted(self, answer: Any) -> None:
        for run, token in answer.granted:
            name = self._name(run)
            seen = self.runs.get(name)
            if seen is not None:
                seen.granted, seen.token = True, token
                self._open[name] = seen
        if len(answer.granted) > 1:
            self.witnessed.add(TWO_WOKEN)
        if answer.relent:
            self.witnessed.add("a pool slot that turns into a loan")

    def _say_call(
        self, verb: str, name: str, args: Mapping[str, Any], answer: Any, refused: str | None, error: Any
    ) -> None:
        granted = tuple((self._name(run), token) for run, token in answer.granted) if answer is not None else ()
        relent = tuple(self._name(run) for run in answer.relent) if answer is not None else ()
        parent = args.get("parent")
        said = f"cap := {args['cap']}" if verb == "resize" else f"{verb.replace('_', ' ')} {name}"
        if parent is not None:
            said += f" under {self._name(parent)}"
        if verb in ("finish", "cancel") and name in self.runs and not self.runs[name].granted:
            said += " (waiting)"
        elif verb in ("finish", "cancel") and name in self.runs and not self.runs[name].entered:
            said += " (granted, not resumed)"
        raised = error if refused is None else None
        reply = Reply(self.view(), granted, relent, refused, raised)
        self.say(call_event(said, verb, name, reply))

    # -- after every callback ------------------------------------------------------------------------------------

    def look(self) -> None:
        """Judge what there is, between two callbacks."""
        counts = self.core.statistics()
        if self._changed or counts != self._counts:  # so that what changes the core behind its calls is seen too
            self._changed = False
            self._counts = counts
            self._judge_core()
        steps = self.loop.steps
        for name, seen in self._open.items():
            task = seen.task
            if task is not None and task.done():
                if seen.due is None:
                    seen.due = steps + _SLACK * (self.loop.ready() + 1)
                elif steps > seen.due:
                    self.fault("NoSlotLost", f"{name} has a slot, but its task has ended")

    def _judge_core(self) -> None:
        self.states += 1
        state = self.view()
        for name, message in _bad_state(state, self._asked_levels, self.resizes, self._most, self.cap):
            self.fault(name, message)
        phases = {run.run: run.phase for run in state.runs}
        if self._unjudged:  # a job is fixed when its run asks
            jobs = {run.run: run.job for run in state.runs if run.run in self._unjudged}
            self._unjudged.clear()
            for name, job in jobs.items():
                if job != self._demanded.get(name):
                    told = f"{name} is in the job {job}, but it must be in {self._demanded.get(name)}"
                    self.fault("AsksAsDemanded", told)
        if self._reads:
            try:
                self._judge_told()
            except Exception as error:
                self.fault("CountsTold", f"statistics() or held() raises {type(error).__name__}: {error}")
        if "parked" in phases.values():
            self.witnessed.add("a parked slot")
        for name in self._inside:
            if phases.get(name) != "in_flight":
                phase = phases.get(name, "not known")
                self.fault("WorksWithSlot", f"the body of {name} runs, but to the core {name} is {phase}")
        if self._spawn_waits and len(state.waiting) > 1:
            waiting = [run for run in state.runs if run.phase == "waiting" and run.parent is not None]
            for run in waiting:
                of_one = sorted(other.run for other in waiting if other.parent == run.parent)
                if len(of_one) > 1:
                    told = f"{' and '.join(of_one)} wait, all of them children of {run.parent}"
                    self.fault("AdmissionBeforeSpawn", told)

    def _judge_told(self) -> None:
        """What the pool tells of itself."""
        pool, core = self.pool, self.core
        told, counts = pool.statistics(), core.statistics()
        if told[:6] != counts:
            self.fault("CountsTold", f"statistics() tells {tuple(told[:6])}, but in the core it is {tuple(counts)}")
        states = core.snapshot()
        borrowers = {(run.run, run.token) for run in states.runs if run.phase == "in_flight"}
        if set(told.borrowers) != borrowers or len(told.borrowers) != len(borrowers):
            self.fault("CountsTold", f"the borrowers are not {', '.join(self._name(run) for run, _ in told.borrowers)}")
        if told.waiters != states.waiting:
            self.fault("CountsTold", f"those who wait are not {', '.join(map(self._name, told.waiters))}")
        for job in {(), *(run.job for run in states.runs)}:
            held = pool.held(job)
            if held != core.held(job):
                self.fault("CountsTold", f"held({self._path(job)}) tells {held}, but it is {core.held(job)}")

    def view(self) -> State:
        """The core's state, its runs by name."""
        cap, taken, states, waiting, children, lines, order, tie, relend = self.core.snapshot()
        name, job = self._names, self._jobs
        for state in states:  # all were told when they asked, unless the port goes behind its core's back
            if state[0] not in name:
                self._name(state[0])
            if state[6] not in job:
                job[state[6]] = self._path(state[6])
        runs = [
            _new(Run, (name[run], phase, token, lent, level, name.get(parent), job[path]))
            for run, phase, token, lent, level, parent, path in states
        ]
        return State(
            cap,
            taken,
            frozenset(runs),
            tuple([name[run] for run in waiting]),
            frozenset([(name[parent], tuple([name[run] for run in below])) for parent, below in children]),
            frozenset([(self._path(node), self._path(line)) for node, line in lines]),
            order,
            tie,
            relend,
        )

    def _name(self, run: Hashable) -> str:
        found = self._names.get(run)
        if found is None:
            found = self._names[run] = plain_name(run)
        return found

    def _path(self, path: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple([part if isinstance(part, str) else self._name(part) for part in path])

    # -- in the end ----------------------------------------------------------------------------------------------

    def drained(self) -> None:
        """Nothing is ready any more: judge what is left."""
        self._changed = True
        self.look()
        self._see_extremes()
        alive = [made.task for made in self.loop.alive()]
        for task in reversed(alive):  # the last one made is the nearest to what is wrong
            self.fault("NoTaskLeft", f"nothing is ready, and {self._told_task(task)}")
        if self.loop.time():
            self.fault("NoTaskLeft", f"nothing is ready, and a timer of {self.loop.time():g} s was still set")
        state = self.view()
        if not alive and (state.runs or state.taken):
            told = ", ".join(f"{run.run} is {run.phase.replace('_', ' ')}" for run in sorted(state.runs)) or "nobody"
            self.fault("NoSlotLost", f"all tasks have ended, and {state.taken} of {state.cap} slots are out; {told}")

    def stop(self) -> None:
        """Listen to the core no more."""
        _watches.pop(id(self.core), None)

    def _see_extremes(self) -> None:
        if self.most_executing == self.highest_cap:
            self.witnessed.add("executing = cap")
        if self.most_in_flight == self._most:
            self.witnessed.add("in flight = the exact maximum")
        for name in self._parents:
            seen = self.runs.get(name)
            task = None if seen is None else seen.task
            if seen is not None and not seen.entered and task is not None and task.done():
                self.witnessed.add("a task cancelled before its first step")

    def _told_task(self, task: asyncio.Task[Any]) -> str:
        name = task.get_name()
        of = [run for run, seen in self.runs.items() if seen.task is task and not seen.left]
        if not of:
            return f"the task {name} has not ended"
        run = of[-1]
        seen = self.runs[run]
        if seen.entered:
            return f"{run} waits for ever in its body"
        return f"{run} has a slot, but was never woken" if seen.granted else f"{run} waits for its slot for ever"


def _under(lender: str | None) -> str:
    return "without a parent" if lender is None else f"under {lender}"


def plain_name(run: Any) -> str:
    """The name of one of the port's runs."""
    name = getattr(run, "name", run)
    return name if isinstance(name, str) else str(name)


@cache
def _bad_state(state: State, levels: int, resizes: int, most: int, cap: int) -> tuple[tuple[str, str], ...]:
    """What is wrong with a state of the core. The same few states come again and again."""
    facts = Facts(state)
    situation = Situation(facts, _NO_SCENARIO, cap, levels, resizes, most)
    found = []
    for invariant in STATES:
        message = invariant.check(facts if invariant.of_view else situation)
        if message is not None:
            found.append((invariant.name, message))
    return tuple(found)


_NO_SCENARIO = Scenario("a program", ())


# -- a core that tells its calls ---------------------------------------------------------------------------------

_watches: dict[int, Watch] = {}


def _listen(core: Any, watch: Watch) -> None:
    # The object stays the one that the port has made and holds, whatever it is; only its class becomes one that tells.
    core.__class__ = _telling(type(core))
    _watches[id(core)] = watch


def _telling(cls: type) -> type:
    """A subclass whose calls are told to the watch. Of the same layout, so that an object can turn into one."""
    if cls in _classes or cls in _classes.values():
        return _classes.get(cls, cls)
    names: dict[str, Any] = {"__slots__": ()}
    for verb, arguments in _ARGUMENTS.items():
        names[verb] = _teller(verb, arguments, getattr(cls, verb))
    _classes[cls] = type(cls.__name__, (cls,), names)
    return _classes[cls]


_classes: dict[type, type] = {}
_ARGUMENTS = {
    "ask": ("run", "parent", "job"),
    "try_ask": ("run", "parent", "job"),
    "finish": ("run",),
    "cancel": ("run",),
    "resize": ("cap",),
}


def _teller(verb: str, arguments: tuple[str, ...], call: Callable[..., Any]) -> Callable[..., Any]:
    def told(self: Any, *args: Any, **more: Any) -> Any:
        watch = _watches.get(id(self))
        named = {**dict(zip(arguments, args, strict=False)), **more}
        try:
            answer = call(self, *args, **more)
        except Exception as error:
            if watch is not None:
                watch.called(verb, named, None, error)
            raise
        if watch is not None:
            watch.called(verb, named, answer, None)
        return answer

    return told
