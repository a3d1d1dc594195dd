"""Replaying a trace: its calls are made again, one by one, and what comes of them is compared and judged.

Shares no code with the search: what the runs can do is followed by `Cast`, what is wrong is told by the invariants'
own predicates on what is seen here. The subject is one that lives on, as a user's does; where a trace shows itself only
if the subject is restored from its snapshot before each call (as a search does), that is tried too, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from slotcheck.checks.cast import Cast
from slotcheck.checks.conformance import BAD_CAPS, calls_without_effect, difference, lockstep
from slotcheck.checks.facts import Facts, most_in_flight
from slotcheck.checks.invariants import CALLS, STATES, Happening, Situation
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.paths import heaviest_paths
from slotcheck.checks.subject import AnySubject, ClassSubject, view
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import CALL, RESTORE, MadeCall, Step, Trace, call_event, made_call, plain_view, state_of
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.rules import RULES, Refusal, Rule, State
from slotcheck.pymodel.subject import Call, Reply

__all__ = ["LivePlayer", "Player", "Replayed", "player_of", "replay"]


class Player(Protocol):
    """Who answers the calls of a replay."""

    #: The rule to compare every answer with; None for a subject that follows another rule.
    reference: Rule | None

    def new(self, cap: Any) -> Reply:
        """A new pool in the place of the old one."""

    def call(self, verb: str, *args: Any) -> Reply:
        """Make a call."""

    def restore(self) -> Any:
        """Put a pool restored from its snapshot in the pool's place; the snapshot afterwards."""


class LivePlayer:
    """A subject of `slotcheck check`.

    Args:
        subject: the subject.
        trace: of whose pool the options are.
        restores: whether the pool is replaced by one restored from its snapshot before each call.
    """

    def __init__(self, subject: AnySubject, trace: Trace, *, restores: bool = False) -> None:
        levels = 1 if trace.play is None else trace.play.levels
        self.subject = subject if isinstance(subject, ClassSubject) else subject.declared(levels)
        self.reference = RULES["lend"] if isinstance(subject, ClassSubject) else None
        self.conduct = getattr(subject, "conduct", None)
        self._wanted = {"order": trace.order, "tie": trace.tie}
        self._relend = trace.relend
        self._restores = restores
        self._pool: Any = None  # of a class: the pool; of a rule: its state

    def new(self, cap: Any) -> Reply:
        """Made with the order and tie of the trace only where its own are others."""
        try:
            snapshot = self._made(cap, {})
            options = {name: value for name, value in self._wanted.items() if getattr(snapshot, name, value) != value}
            return Reply(self._made(cap, options) if options else snapshot)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            code = getattr(error, "code", None)
            return Reply(None, refused=code) if isinstance(code, str) else Reply(None, raised=error)

    def _made(self, cap: Any, options: dict[str, str]) -> Any:
        if isinstance(self.subject, ClassSubject):
            self._pool = self.subject.new(cap, relend=self._relend, **options)
            return self._pool.snapshot()
        self._pool = self.subject.rule.initial(cap, relend=self._relend, **{**self.subject.options, **options})
        return self._pool

    def call(self, verb: str, *args: Any) -> Reply:
        """On the pool that lives on, or on one just restored."""
        if not isinstance(self.subject, ClassSubject):
            reply = self.subject.call(self._pool, verb, *args)
            self._pool = reply.snapshot
            return reply
        if self._restores:
            self.restore()
        return self.subject.call_live(self._pool, verb, *args)

    def restore(self) -> Any:
        if isinstance(self.subject, ClassSubject):
            self._pool = self.subject.cls.restore(self._pool.snapshot())
            return self._pool.snapshot()
        return self._pool


@dataclass(frozen=True)
class Replayed:
    """What a replay found."""

    #: Violated: the trace shows what it says, or the subject still breaks the invariant on its way. Holds: the subject
    #: does otherwise, and the invariant holds as far as that way goes. Undetermined: that cannot be told.
    verdict: Verdict
    #: Whether every event fits and the last one shows the violation.
    accepted: bool
    #: In a sentence.
    message: str
    #: The number of the first step that does not fit; None if all do.
    step: int | None = None
    #: What was enabled there instead, where the step is not.
    enabled: tuple[str, ...] = ()
    #: Whether it shows only on a pool that is restored from its snapshot before each call.
    restored: bool = False


def player_of(trace: Trace, subject: AnySubject) -> Callable[[bool], Player]:
    """What makes a player of a subject, one that restores or not."""
    return lambda restores: LivePlayer(subject, trace, restores=restores)


def replay(trace: Trace, player: Callable[[bool], Player]) -> Replayed:
    """Replay a trace. ``player(restores)`` makes a player."""
    if trace.invariant not in ALL_INVARIANTS:
        return Replayed(Verdict.UNDETERMINED, False, f"a replay does not judge {trace.invariant}")
    if not trace.steps and trace.invariant == "Diagnosis":
        told = "it says what no behaviour comes to, which no single behaviour can show"
        return Replayed(Verdict.UNDETERMINED, False, told)
    found = _Replay(trace, player).result()
    if found.accepted:
        return found
    restored = _Replay(trace, lambda _: player(True)).result()
    if restored.accepted:
        return Replayed(restored.verdict, True, restored.message, restored=True)
    return found


class _Replay:
    """One replay, up to the first step that cannot be taken."""

    def __init__(self, trace: Trace, player: Callable[[bool], Player]) -> None:
        self.trace = trace
        self.make = player
        self.player = player(False)
        conduct = getattr(self.player, "conduct", None)
        self.cast = None if trace.play is None else Cast(trace.play, conduct)
        self.levels = 0
        #: The first step that does not fit, and why.
        self.misfit: tuple[int, str] | None = None
        self.enabled: tuple[str, ...] = ()
        #: Where the invariant was seen to fail: after which step, and the sentence.
        self.failed: tuple[int, str] | None = None

    def result(self) -> Replayed:
        trace = self.trace
        made = self.player.new(trace.cap)
        if made.snapshot is None:
            why = made.refused or f"{type(made.raised).__name__}: {made.raised}"
            return Replayed(Verdict.UNDETERMINED, False, f"a pool of cap {trace.cap} cannot be made: {why}", 0)
        here = view(made.snapshot)
        self._compare_view(0, trace.start.view, made.snapshot)
        for number, step in enumerate(trace.steps, 1):
            after = self._take(number, step, here)
            if after is None:
                break
            here = after
            if self.failed is not None and number < len(trace.steps):
                break
        else:
            self._judge_end(here)
        return self._told(len(trace.steps))

    def _told(self, steps: int) -> Replayed:
        name, message = self.trace.invariant, self.trace.message
        if self.misfit is None and self.failed is not None and self.failed[0] == steps:
            return Replayed(Verdict.VIOLATED, True, f"all {steps} steps fit, and {name} fails as told: {message}")
        step, why = self.misfit or (None, "")
        if self.failed is not None:
            at, sentence = self.failed
            told = f"{name} fails after step {at}, otherwise than told: {sentence}"
            return Replayed(Verdict.VIOLATED, False, f"{told} ({why})" if why else told, step, self.enabled)
        if step is None:
            return Replayed(Verdict.HOLDS, False, f"all {steps} steps fit, but {name} does not fail")
        told = f"step {step} does not fit: {why}; {name} does not fail as far as the trace goes here"
        by = (self.trace.versions or {}).get("slotcheck")
        if by not in (None, versions()["slotcheck"]):
            told += f" (the trace was written by slotcheck {by}, this is {versions()['slotcheck']}: it may not apply)"
        return Replayed(Verdict.UNDETERMINED if self.enabled else Verdict.HOLDS, False, told, step, self.enabled)

    def _fits_not(self, number: int, why: str) -> None:
        if self.misfit is None:
            self.misfit = number, why

    # -- one step --------------------------------------------------------------------------------------------------

    def _take(self, number: int, step: Step, before: State) -> State | None:
        """Take a step, compare what comes of it, and judge it; None if the trace cannot go on from there."""
        action, cast = step.action, self.cast
        if action == (RESTORE,):
            after = view(self.player.restore())
            if after != before and self.trace.invariant == "Replays":
                self.failed = number, "a pool restored from its snapshot has another snapshot"
            return after
        call: tuple[Any, ...] | None
        if cast is None or action[0] == CALL:
            assert step.call is not None
            call = step.call.verb, *step.call.args
        else:
            enabled = cast.enabled(before)
            if action not in enabled:
                # Only if nothing went another way before is it the trace that does not fit the scenario.
                if self.misfit is None:
                    self.enabled = tuple(" ".join(map(str, one)) for one in enabled) or ("nothing",)
                self._fits_not(number, f"'{' '.join(map(str, action))}' is not enabled")
                return None
            call = cast.call_of(action)
        if (None if step.call is None else (step.call.verb, *step.call.args)) != call:
            self._fits_not(number, f"the trace says that the pool is called with {step.call}, but it is with {call}")
        if call is None:
            assert cast is not None
            cast.do(action)
            return before
        reply = self.player.new(call[1]) if call[0] == "new" else self.player.call(*call)
        if cast is not None and action[0] != CALL:
            cast.do(action, declined=reply.declined is not None)
        self._compare(number, step, reply)
        after = before if reply.snapshot is None else view(reply.snapshot)
        self.levels = max([self.levels, *(run.level for run in after.runs)])
        self._judge(number, Call(0, call[0], tuple(call[1:]), reply, 0), before, after)
        return None if reply.snapshot is None else after

    def _compare(self, number: int, step: Step, reply: Reply) -> None:
        """The answer and the view with those of the trace."""
        assert step.call is not None
        told, found = step.call, made_call(step.call.verb, step.call.args, reply)
        if _without_words(told) != _without_words(found):
            event = call_event(str(told), told.verb, told.args[0], reply)
            self._fits_not(number, f"{event} here, not '{step.event}'")
        elif reply.snapshot is not None:
            self._compare_view(number, step.after.view, reply.snapshot)

    def _compare_view(self, number: int, told: Mapping[str, Any], snapshot: Any) -> None:
        found = plain_view(snapshot, {run: at for at, run in enumerate(told["runs"])})
        if found != told:
            different = difference(state_of(self.trace, told), view(snapshot))
            self._fits_not(number, f"here the view afterwards is another: {different or 'the stacks differ'}")

    # -- what is wrong ---------------------------------------------------------------------------------------------

    def _judge(self, number: int, call: Call, before: State, after: State) -> None:
        if self.failed is None:
            message = self._fault(number, call, before, after)
            if message is not None:
                self.failed = number, message

    def _fault(self, number: int, call: Call, before: State, after: State) -> str | None:
        """What is wrong by the invariant of the trace with this step, or with the state after it."""
        name = self.trace.invariant
        if name == "Refused":
            names = {*(run.run for run in before.runs), *(self.cast.specs if self.cast is not None else ())}
            return _not_refused(call, before, after, sorted(names))
        if name == "Replays":
            return self._lives_otherwise(number, call)
        if name == "Lockstep":
            return None if self.player.reference is None else lockstep(self.player.reference, before, call, after)
        if name == "Answers":
            return _not_answered(self.player.reference, call, before, after)
        for invariant in CALLS:
            if invariant.name == name:
                return invariant.check(Happening(Facts(before), call, Facts(after)))
        for invariant in STATES:
            if invariant.name == name:
                return invariant.check(Facts(after) if invariant.of_view else self._situation(after))
        return None  # judged at the end

    def _situation(self, here: State) -> Situation:
        scenario = self.trace.play
        assert scenario is not None
        assert self.cast is not None
        most = most_in_flight(scenario.runs, self.trace.cap)
        return Situation(Facts(here), scenario, self.trace.cap, self.levels, self.cast.resizes, most)

    def _lives_otherwise(self, number: int, call: Call) -> str | None:
        """Whether a pool restored before each call does otherwise than this one that lives on."""
        if number < len(self.trace.steps):
            return None
        player = self.make(True)
        player.new(self.trace.cap)
        reply = Reply(None)
        for step in self.trace.steps:
            if step.call is not None:
                reply = player.call(step.call.verb, *step.call.args)
        if reply != call.reply:
            return f"the pool that lived on gave {call.reply[1:]!r}; one restored before each call {reply[1:]!r}"
        return None

    def _judge_end(self, here: State) -> None:
        if self.failed is not None or self.cast is None:
            return
        end = len(self.trace.steps)
        name = self.trace.invariant
        message = None
        if name == "MaxInFlight":
            message = _kept_from_the_most(self.trace, self.cast, here)
        elif name == "AllFinish" and self.trace.again:
            message = self._goes_round(here)
        elif name in ("NoDeadlock", "AllFinish", "Diagnosis"):
            message = _nothing_goes_on(self.cast, here, promised=name != "Diagnosis")
        if message is not None:
            self.failed = end, message

    def _goes_round(self, here: State) -> str | None:
        """Whether what goes on for ever comes back to where it began, unfinished, and is fair to all body steps."""
        cast = self.cast
        assert cast is not None
        start, progress = here, dict(cast.progress)
        kept = set(cast.body_steps(here))
        done = set()
        for number, step in enumerate(self.trace.again, len(self.trace.steps) + 1):
            kept &= set(cast.body_steps(here))
            after = self._take(number, step, here)
            if after is None or not cast.unfinished():
                return None
            done.add(step.action)
            here = after
        if here != start or cast.progress != progress or kept - done:
            return None
        return "the circle comes back to where it began, and leaves out no step that stays possible"


def _without_words(call: MadeCall) -> MadeCall:
    """The message of an exception may name an address in memory."""
    return call if call.raised is None else call._replace(raised=call.raised.partition(":")[0])


def _not_refused(call: Call, before: State, after: State, names: Sequence[str]) -> str | None:
    reply = call.reply
    if call.verb in ("new", "resize"):
        if repr(call.args[0]) in map(repr, BAD_CAPS) and (reply.refused != "bad_cap" or before != after):
            return f"{call.verb}({call.args[0]!r}) is not refused with bad_cap, with nothing changed"
        return None
    refusals = dict(calls_without_effect(Facts(before), names))
    made = (call.verb, *call.args)
    if made not in refusals:
        return None
    code = refusals[made]
    if reply.raised is not None or reply.refused != code or reply.granted or reply.relent:
        return f"the call must be {f'refused with {code}' if code else 'answered with nothing granted'}"
    return difference(before, after)


def _not_answered(reference: Rule | None, call: Call, before: State, after: State) -> str | None:
    if reference is not None:
        try:
            getattr(reference, call.verb)(before, *call.args)
        except Refusal:
            return None
    (answers,) = (invariant for invariant in CALLS if invariant.name == "Answers")
    return answers.check(Happening(Facts(before), call, Facts(after)))


def _kept_from_the_most(trace: Trace, cast: Cast, here: State) -> str | None:
    """Of the runs on the cap longest paths, which are all that have asked and none of which is over, one waits."""
    assert trace.play is not None
    paths = heaviest_paths(trace.play.runs, {run.name: 1 for run in trace.play.runs}, trace.cap)
    on_paths = {run for path in paths for run in path.runs}
    asked = {run for run, now in cast.progress.items() if now in ("asked", "resumed")}
    over = [run for run, now in cast.progress.items() if now == "ended"]
    if cast.resizes or over or not asked <= on_paths or not here.waiting:
        return None
    return f"{', '.join(here.waiting)} wait, though all that have asked are on the {trace.cap} longest paths"


def _nothing_goes_on(cast: Cast, here: State, *, promised: bool) -> str | None:
    unfinished = cast.unfinished()
    if not unfinished or cast.goes_on(here):
        return None
    waits = cast.waits(here)
    below = all(
        bool(enders) and all(cast.is_below(ender, run) for ender in enders)
        for run, them in waits.items()
        for _, _, enders in them
    )
    return f"nothing goes on, and {', '.join(unfinished)} have not ended" if below == promised else None
