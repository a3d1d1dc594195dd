"""A counterexample: all that is needed to read it, to draw it, to replay it and to turn it into a test.

Events say what a person would say (``ask c under a -> waits``, ``finish b -> c admitted on loan from a``), never how
the search scheduled it, so a trace survives a change of the search. Every step carries the call that it made to the
subject, what that answered, and the view afterwards: nobody who has the trace needs the search, or even the subject.

Traces come from explored scenarios (`trace_of`), from histories of calls without a scenario (`trace_of_calls`), and
from others who make their own. Their file is ``checks/forms/itf.py``, and their forms are in ``checks/forms/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from slotcheck.checks.conformance import BAD_CAPS, calls_without_effect, told
from slotcheck.checks.events import call_event, step_event
from slotcheck.checks.facts import Facts
from slotcheck.checks.permit_invariants import PermitFacts
from slotcheck.checks.permit_invariants import calls_without_effect as permit_calls_without_effect
from slotcheck.checks.permit_subject import seen
from slotcheck.checks.plain_view import permits_again, plain_view, view_again
from slotcheck.checks.subject import AnySubject
from slotcheck.pymodel.bodies import ASKED, ENDED, IDLE
from slotcheck.pymodel.rules import PermitState, State
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.subject import Call, Reply
from slotcheck.pymodel.workload import Action, Workload, WorkloadState

__all__ = [
    "CALL",
    "RESTORE",
    "MadeCall",
    "Moment",
    "Step",
    "Trace",
    "call_event",
    "made_call",
    "plain_view",
    "seen_of",
    "size_of",
    "state_of",
    "switches",
    "trace_of",
    "trace_of_bad_cap",
    "trace_of_calls",
]

#: The action of a step that is a call and nothing else: no body makes it. The call's verb and arguments follow.
CALL = "call"

#: No call: the pool is replaced by one restored from its snapshot.
RESTORE = "restore"


class MadeCall(NamedTuple):
    """A call to the subject and what it answered, as plain data."""

    verb: str
    #: ``ask`` and ``try_ask``: run, parent or None, job or None; ``finish`` and ``cancel``: run; ``resize``: cap;
    #: ``new``: the cap of a new pool. With permits ``enter``: run, component, key, parent, job, lineage, each after the
    #: run or None; ``resume`` and ``fail``: run.
    args: tuple[Any, ...]
    granted: tuple[tuple[str, str], ...] = ()
    relent: tuple[str, ...] = ()
    #: The code of a refusal; that with which a rule that makes nobody wait declined the run.
    refused: str | None = None
    declined: str | None = None
    #: Any other exception: its type and message.
    raised: str | None = None
    #: What each job holds, as the subject counts it, where it can be asked.
    held: tuple[tuple[tuple[str, ...], int], ...] = ()
    #: With permits: who was handed one, and what a resume came to.
    handed: tuple[str, ...] = ()
    came_to: str | None = None

    def __str__(self) -> str:
        """The call, as one would write it."""
        return told(Call(0, self.verb, self.args, Reply(None), 0))


@dataclass(frozen=True)
class Moment:
    """What is so between two steps."""

    #: The pool, as the subject shows it: a view in the form of the port protocol; where runs need permits also
    #: ``permits`` and the runs that are ``present``, by name. See `state_of`.
    view: dict[str, Any]
    #: For each run of the scenario "idle" (has not asked), "asked" (and not resumed), "resumed" or "ended". A history
    #: of calls knows nothing of resuming: for each run that was asked for "asked" or "ended".
    progress: dict[str, str]
    #: For each lock or gate who is in ("in") and who queues ("queue").
    locks: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    #: The events that are set.
    events: tuple[str, ...] = ()
    #: What runs wait for besides slots: kind ("run", "admission", "event", "lock", "permit"), name, and the runs any
    #: one of which can end that wait.
    waits: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = field(default_factory=dict)

    @property
    def ended(self) -> list[str]:
        """The runs that are over (parked ones too)."""
        return [run for run, progress in self.progress.items() if progress == "ended"]


@dataclass(frozen=True)
class Step:
    """One event."""

    #: As `Workload` has it; in a history of calls the verb and the arguments of the call, or ``("restore",)``.
    action: Action
    #: The same in words, and what it led to.
    event: str
    #: The call that it made to the subject; None for a step that the pool does not hear of.
    call: MadeCall | None
    after: Moment

    @property
    def run(self) -> str | None:
        """The run that it is about; None if it is about the pool."""
        action = self.action[1:] if self.action[0] == CALL else self.action
        return action[1] if len(action) > 1 and action[0] not in ("resize", "new") else None


@dataclass(frozen=True)
class Trace:
    """One behaviour of one subject, up to where an invariant fails."""

    #: As on the command line: "pool", "rule:NAME", "package.module:Class".
    subject: str
    #: The name of the scenario, or of what else this is a trace of, and its tree.
    scenario: str
    tree: str
    cap: int
    relend: bool
    invariant: str
    message: str
    start: Moment
    steps: tuple[Step, ...]
    #: The order and the tie-break that the pool says it has.
    order: str = "fewest_held"
    tie: str = "served"
    #: What goes on for ever afterwards, for a behaviour that never ends: from the last moment and back to it.
    again: tuple[Step, ...] = ()
    #: The whole scenario; None for a history of calls.
    play: Scenario | None = None
    #: The versions of what found it; None: those at hand.
    versions: Mapping[str, str] | None = None

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def name(self) -> str:
        """The scenario with its cap."""
        return f"{self.scenario}, cap {self.cap}{', relend' if self.relend else ''}"

    @property
    def permits(self) -> bool:
        """Whether what it is of has permits, and not a pool alone."""
        return "permits" in self.start.view

    @property
    def actions(self) -> tuple[Action, ...]:
        """What is done, step by step."""
        return tuple(step.action for step in self.steps)

    @property
    def events(self) -> tuple[str, ...]:
        """The same in words, with what it led to."""
        return tuple(step.event for step in self.steps)

    @property
    def circle(self) -> tuple[str, ...]:
        """What goes on for ever, in words."""
        return tuple(step.event for step in self.again)

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The start, and what is so after each step."""
        return (self.start, *(step.after for step in self.steps))

    @property
    def before(self) -> dict[str, Any]:
        """The view before the last step; without one, at the start."""
        return self.moments[max(len(self.steps) - 1, 0)].view

    @property
    def after(self) -> dict[str, Any]:
        """The view after the last step."""
        return self.moments[-1].view

    def as_dict(self) -> dict[str, Any]:
        """For a report in JSON: what a person would look at. All there is to it stands in its file (forms/itf.py)."""
        return {
            "subject": self.subject,
            "scenario": self.scenario,
            "tree": self.tree,
            "cap": self.cap,
            "relend": self.relend,
            "order": self.order,
            "tie": self.tie,
            "invariant": self.invariant,
            "message": self.message,
            "actions": self.actions,
            "events": self.events,
            "circle": self.circle,
            "before": self.before,
            "after": self.after,
        }


def switches(actions: Sequence[Action]) -> int:
    """How often an action is about another run than the one before it."""
    return sum(one[1:2] != two[1:2] for one, two in pairwise(actions))


def size_of(trace: Trace) -> tuple[bool, int, int, int, int]:
    """What traces are compared by: fewest runs, then smallest cap, then fewest steps, then fewest switches of run.

    Histories of calls, which no scenario bounds, come last.
    """
    runs = len({step.run for step in trace.steps}) if trace.play is None else len(trace.play.runs)
    return trace.play is None, runs, trace.cap, len(trace), switches(trace.actions)


def state_of(trace: Trace, plain: Mapping[str, Any]) -> State:
    """A plain view of this trace as the common view again, without permits."""
    return view_again(plain, order=trace.order, tie=trace.tie, relend=trace.relend)


def seen_of(trace: Trace, plain: Mapping[str, Any]) -> State | PermitState:
    """The same with permits, where it has them."""
    pool = state_of(trace, plain)
    return permits_again(plain, pool) if "permits" in plain else pool


# -- from an explored scenario -----------------------------------------------------------------------------------


def trace_of(
    workload: Workload,
    actions: Sequence[Action],
    invariant: str,
    message: str,
    circle: Sequence[Action] = (),
    *,
    last: Reply | None = None,
) -> Trace:
    """Replay the actions from the start and tell them. ``last``: what the last call led to, if that is not what it
    leads to on a pool restored from its snapshot.
    """
    scenario = workload.scenario
    start = state = workload.initial()[0]
    steps = []
    for at, action in enumerate(actions, 1):
        before = state
        state = workload.next(state, action)
        steps.append(_step(workload, before, action, state, last if at == len(actions) else None))
    if invariant == "Refused":
        steps += _refused(workload, state)
    again = []
    here = state
    for action in circle:
        after = workload.next(here, action)
        again.append(_step(workload, here, action, after))
        here = after
    snapshot = workload.snapshot(start)
    return Trace(
        subject=workload.calls.subject.name,
        scenario=scenario.name,
        tree=scenario.tree,
        cap=workload.cap,
        relend=workload.relend,
        invariant=invariant,
        message=message,
        start=_moment(workload, start),
        steps=tuple(steps),
        order=snapshot.order,
        tie=snapshot.tie,
        again=tuple(again),
        play=scenario,
    )


def _step(
    workload: Workload, before: WorkloadState, action: Action, after: WorkloadState, reply: Reply | None = None
) -> Step:
    call = workload.call_of(before, action)
    reply = reply or (None if call is None else call.reply)
    made = None if call is None or reply is None else made_call(call.verb, call.args, reply)
    moment = _moment(workload, after, None if reply is None else reply.snapshot)
    return Step(action, step_event(workload, before, action, after, reply), made, moment)


_PROGRESS = {IDLE: "idle", ASKED: "asked", ENDED: "ended"}


def _moment(workload: Workload, state: WorkloadState, snapshot: Any = None) -> Moment:
    names = workload.names
    locks = {
        lock: {"in": [names[at] for at in inside], "queue": [names[at] for at in queue]}
        for lock, (inside, queue) in zip(workload.bodies.lock_names, state.locks, strict=True)
    }
    return Moment(
        plain_view(workload.snapshot(state) if snapshot is None else snapshot, workload.scenario.index),
        {name: _PROGRESS.get(at, "resumed") for name, at in zip(names, state.progress, strict=True)},
        locks,
        tuple(sorted(state.events)),
        {} if state.broken else {run: tuple(waits) for run, waits in workload.waits(state).items()},
    )


def _refused(workload: Workload, state: WorkloadState) -> list[Step]:
    """The first call that the rules refuse in this state and the subject does not, or not as it should."""
    subject, snapshot = workload.calls.subject, workload.snapshot(state)
    names = [run.name for run in workload.scenario.runs]
    here = seen(snapshot)
    if isinstance(here, PermitState):
        calls = permit_calls_without_effect(PermitFacts(here), names)
    else:
        calls = calls_without_effect(Facts(here), names)
    for call, code in calls:
        if subject.unchanged(snapshot, [(call, code)]) is not None:  # type: ignore[attr-defined]  # see AnySubject
            reply = subject.call(snapshot, *call)
            call = (*call, *(None,) * (_ARGUMENTS.get(call[0], 0) - len(call[1:])))
            made = made_call(call[0], call[1:], reply)
            shown = reply.snapshot if reply.snapshot is not None else snapshot
            moment = _moment(workload, state, shown)
            return [Step((CALL, *call), call_event(str(made), call[0], call[1], reply), made, moment)]
    return []


#: How many arguments calls have that may leave some out.
_ARGUMENTS = {"ask": 3, "try_ask": 3, "enter": 6}


# -- from calls --------------------------------------------------------------------------------------------------


def trace_of_calls(
    subject: str,
    scenario: str,
    calls: Iterable[tuple[tuple[Any, ...], Reply | None]],
    invariant: str,
    message: str,
    *,
    start: Any,
    cap: int,
    relend: bool,
) -> Trace:
    """A history of calls without a scenario, each with what it led to; (``("restore",)``, None) for a restored pool.

    Args:
        start: the snapshot of the new pool.
    """
    progress: dict[str, str] = {}
    here = Moment(plain_view(start, {}), {})
    first, steps = here, []
    for call, reply in calls:
        made, event = None, "the pool is restored from its snapshot"
        if reply is not None:
            made = made_call(call[0], call[1:], reply)
            event = call_event(str(made), call[0], call[1], reply)
            shown = here.view if reply.snapshot is None else plain_view(reply.snapshot, {})
            for run in shown["runs"]:
                progress[run] = "asked"
            for run in progress:
                if run not in shown["runs"] or shown["runs"][run]["phase"] == "parked":
                    progress[run] = "ended"
            here = Moment(shown, dict(progress))
        steps.append(Step(tuple(call), event, made, here))
    return Trace(
        subject, scenario, "", cap, relend, invariant, message, first, tuple(steps), order=start.order, tie=start.tie
    )


def trace_of_bad_cap(subject: AnySubject) -> Trace | None:
    """A new pool is made with, or a pool resized to, the first bad cap that the subject takes.

    None if it takes none, or one that is no integer, so that no view can show it.
    """
    start = subject.initial(1, relend=False)
    for verb in ("new", "resize"):
        for cap in BAD_CAPS:
            reply = _new_pool(subject, cap) if verb == "new" else subject.call(start, verb, cap)
            after = start if reply.snapshot is None else reply.snapshot
            if reply.refused == "bad_cap" and after == start:
                continue
            if type(after.cap) is not int or not isinstance(cap, int):
                return None
            message = f"{told(Call(0, verb, (cap,), reply, 0))} must be refused with bad_cap, and nothing changed"
            made = ((verb, cap), reply)
            return trace_of_calls(
                subject.name, "any pool", [made], "Refused", message, start=start, cap=1, relend=False
            )
    return None


def _new_pool(subject: AnySubject, cap: Any) -> Reply:
    try:
        return Reply(subject.initial(cap, relend=False))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        code = getattr(error, "code", None)
        return Reply(None, refused=code) if isinstance(code, str) else Reply(None, raised=error)


def made_call(verb: str, args: Sequence[Any], reply: Reply) -> MadeCall:
    """A call with its answer."""
    return MadeCall(
        verb,
        tuple(args),
        tuple(reply.granted),
        tuple(reply.relent),
        reply.refused,
        reply.declined,
        None if reply.raised is None else f"{type(reply.raised).__name__}: {reply.raised}",
        tuple(reply.held),
        tuple(reply.handed),
        reply.came_to,
    )
