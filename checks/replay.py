"""Replaying a trace: its calls are made again, one by one, and what comes of them is compared and judged.

Shares no code with the search: what the runs can do is followed by `Cast`, what is wrong is told by the invariants'
own predicates on what is seen here. The subject is one that lives on, as a user's does; where a trace shows itself only
if the subject is restored from its snapshot before each call (as a search does), that is tried too, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slotcheck.checks.cast import Cast, Seen
from slotcheck.checks.conformance import BAD_CAPS, calls_without_effect, difference, lockstep
from slotcheck.checks.diagnosis import mounts_in_a_circle
from slotcheck.checks.facts import Facts, most_of
from slotcheck.checks.invariants import CALLS, STATES, Happening, Situation
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.paths import heaviest_paths
from slotcheck.checks.permit_invariants import (
    OF_PERMIT_CALLS,
    OF_PERMIT_VIEWS,
    OF_RUNS,
    PermitFacts,
    RunsNow,
    permit_difference,
    permit_lockstep,
)
from slotcheck.checks.permit_invariants import calls_without_effect as permit_calls_without_effect
from slotcheck.checks.permit_subject import seen
from slotcheck.checks.player import Player
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import CALL, RESTORE, MadeCall, Step, Trace, call_event, made_call, plain_view, seen_of
from slotcheck.checks.wording import have_not_ended, wait
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.rules import BuildPermit, PermitState, Refusal, Rule
from slotcheck.pymodel.subject import Call, Reply

__all__ = ["Replayed", "replay"]


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
        self._told_held = False
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
        here = seen(made.snapshot)
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
        if name == "HeldMatches" and not self._told_held:
            return Replayed(Verdict.UNDETERMINED, False, "the subject does not tell what a job holds", step)
        if step is None:
            return Replayed(Verdict.HOLDS, False, f"all {steps} steps fit, but {name} does not fail")
        if step == 0:  # no call was made yet, so nothing is mended
            told = f"a new pool here is not the one that the trace begins with: {why}"
            return Replayed(Verdict.UNDETERMINED, False, told, step)
        told = f"step {step} does not fit: {why}; {name} does not fail as far as the trace goes here"
        by = (self.trace.versions or {}).get("slotcheck")
        if by not in (None, versions()["slotcheck"]):
            told += f" (the trace was written by slotcheck {by}, this is {versions()['slotcheck']}: it may not apply)"
        return Replayed(Verdict.UNDETERMINED if self.enabled else Verdict.HOLDS, False, told, step, self.enabled)

    def _fits_not(self, number: int, why: str) -> None:
        if self.misfit is None:
            self.misfit = number, why

    # -- one step --------------------------------------------------------------------------------------------------

    def _take(self, number: int, step: Step, before: Seen) -> Seen | None:
        """Take a step, compare what comes of it, and judge it; None if the trace cannot go on from there."""
        action, cast = step.action, self.cast
        if action == (RESTORE,):
            after = seen(self.player.restore())
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
            call = cast.call_of(action, before)
        if (None if step.call is None else (step.call.verb, *step.call.args)) != call:
            self._fits_not(number, f"the trace says that the pool is called with {step.call}, but it is with {call}")
        if call is None:
            assert cast is not None
            cast.do(action, before, before)
            self._judge_runs(number, before)
            return before
        reply = self.player.new(call[1]) if call[0] == "new" else self.player.call(*call)
        after = before if reply.snapshot is None else seen(reply.snapshot)
        if cast is not None and action[0] != CALL:
            cast.do(action, before, after, declined=reply.declined is not None)
        self._compare(number, step, reply)
        self.levels = max([self.levels, *(run.level for run in after.runs)])
        self._judge(number, Call(0, call[0], tuple(call[1:]), reply, 0), before, after)
        self._judge_runs(number, after)
        return None if reply.snapshot is None else after

    def _compare(self, number: int, step: Step, reply: Reply) -> None:
        """The answer and the view with those of the trace."""
        assert step.call is not None
        told, found = step.call, made_call(step.call.verb, step.call.args, reply)
        self._told_held |= bool(found.held)
        if not (told.held and found.held):  # not every subject can be asked what a job holds
            told, found = told._replace(held=()), found._replace(held=())
        if _without_words(told) != _without_words(found):
            event = call_event(str(told), told.verb, told.args[0], reply)
            self._fits_not(number, f"{event} here, not '{step.event}'")
        elif reply.snapshot is not None:
            self._compare_view(number, step.after.view, reply.snapshot)

    def _compare_view(self, number: int, told: Mapping[str, Any], snapshot: Any) -> None:
        found = plain_view(snapshot, {run: at for at, run in enumerate(told["runs"])})
        if found != told:
            different = _difference(seen_of(self.trace, told), seen(snapshot))
            self._fits_not(number, f"here the view afterwards is another: {different or 'the stacks differ'}")

    # -- what is wrong ---------------------------------------------------------------------------------------------

    def _judge(self, number: int, call: Call, before: Seen, after: Seen) -> None:
        if self.failed is None:
            message = self._fault(number, call, before, after)
            if message is not None:
                self.failed = number, message

    def _fault(self, number: int, call: Call, before: Seen, after: Seen) -> str | None:
        """What is wrong by the invariant of the trace with this step, or with the state after it."""
        name = self.trace.invariant
        if name == "Refused":
            names = {*(run.run for run in before.runs), *(self.cast.specs if self.cast is not None else ())}
            return _not_refused(call, before, after, sorted(names))
        if name == "Replays":
            return self._lives_otherwise(number, call)
        if name == "Lockstep":
            return _out_of_step(self.player.reference, call, before, after)
        if name == "Answers":
            return _not_answered(self.player.reference, call, before, after)
        for invariant in (*CALLS, *OF_PERMIT_CALLS):
            if invariant.name == name:
                return invariant.check(Happening(_facts(before), call, _facts(after)))
        for invariant in (*STATES, *OF_PERMIT_VIEWS):
            if invariant.name == name:
                return invariant.check(_facts(after) if invariant.of_view else self._situation(after))
        return None  # judged as one with what the runs do, or at the end

    def _judge_runs(self, number: int, here: Seen) -> None:
        """What must be so of the runs of the scenario, and not only of the view."""
        facts, cast = _facts(here), self.cast
        if self.failed is not None or cast is None or not isinstance(facts, PermitFacts):
            return
        on = [spec for spec in cast.scenario.runs if cast.progress[spec.name] == "resumed"]
        now = RunsNow(facts, on, [name for name, progress in cast.progress.items() if progress == "ended"])
        for invariant in OF_RUNS:
            if invariant.name == self.trace.invariant and (message := invariant.check(now)) is not None:
                self.failed = number, message

    def _situation(self, here: Seen) -> Situation:
        scenario = self.trace.play
        assert scenario is not None
        assert self.cast is not None
        most = most_of(scenario, self.trace.cap)
        return Situation(_facts(here), scenario, self.trace.cap, self.levels, self.cast.resizes, most)

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

    def _judge_end(self, here: Seen) -> None:
        if self.failed is not None or self.cast is None:
            return
        end = len(self.trace.steps)
        name = self.trace.invariant
        message = None
        if name == "MaxInFlight":
            message = _kept_from_the_most(self.trace, self.cast, here)
        elif name == "AllFinish" and self.trace.again:
            message = self._goes_round(here)
        elif name in ("NoDeadlock", "NoDeadlockWithPermits", "AllFinish", "Diagnosis"):
            message = _nothing_goes_on(self.cast, here, promised=name != "Diagnosis")
        if message is not None:
            self.failed = end, message

    def _goes_round(self, here: Seen) -> str | None:
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


def _facts(here: Seen) -> Facts:
    return PermitFacts(here) if isinstance(here, PermitState) else Facts(here)


def _difference(expected: Seen, found: Seen) -> str | None:
    if isinstance(expected, PermitState) and isinstance(found, PermitState):
        return permit_difference(expected, found)
    if isinstance(expected, PermitState) or isinstance(found, PermitState):
        return "the one has permits, the other none"
    return difference(expected, found)


def _out_of_step(reference: Rule | None, call: Call, before: Seen, after: Seen) -> str | None:
    """What was done otherwise than by the rule; None if nothing, or if there is no rule to go by."""
    if reference is None:
        return None
    if isinstance(before, PermitState) and isinstance(after, PermitState):
        return permit_lockstep(BuildPermit(reference), PermitFacts(before), call, PermitFacts(after))
    assert not isinstance(before, PermitState)
    assert not isinstance(after, PermitState)
    return lockstep(reference, before, call, after)


def _not_refused(call: Call, before: Seen, after: Seen, names: Sequence[str]) -> str | None:
    reply = call.reply
    if call.verb in ("new", "resize"):
        if repr(call.args[0]) in map(repr, BAD_CAPS) and (reply.refused != "bad_cap" or before != after):
            return f"{call.verb}({call.args[0]!r}) is not refused with bad_cap, with nothing changed"
        return None
    if isinstance(before, PermitState):
        told = permit_calls_without_effect(PermitFacts(before), names)
    else:
        told = calls_without_effect(Facts(before), names)
    refusals = {_made(*one): code for one, code in told}
    made = _made(call.verb, *call.args)
    if made not in refusals:
        return None
    code = refusals[made]
    if reply.raised is not None or (reply.refused or reply.declined) != code or reply.granted or reply.relent:
        return f"the call must be {f'refused with {code}' if code else 'answered with nothing granted'}"
    return _difference(before, after)


def _made(*call: Any) -> tuple[Any, ...]:
    """A call without the arguments that it leaves out at its end."""
    *args, last = call
    return call if last is not None or len(call) == 1 else _made(*args)


def _not_answered(reference: Rule | None, call: Call, before: Seen, after: Seen) -> str | None:
    if reference is not None:
        rule = BuildPermit(reference) if isinstance(before, PermitState) else reference
        try:
            getattr(rule, call.verb)(before, *call.args)
        except Refusal:
            return None
    (answers,) = (invariant for invariant in CALLS if invariant.name == "Answers")
    return answers.check(Happening(_facts(before), call, _facts(after)))


def _kept_from_the_most(trace: Trace, cast: Cast, here: Seen) -> str | None:
    """Of the runs on the cap longest paths, which are all that have asked and none of which is over, one waits."""
    assert trace.play is not None
    paths = heaviest_paths(trace.play.runs, {run.name: 1 for run in trace.play.runs}, trace.cap)
    on_paths = {run for path in paths for run in path.runs}
    asked = {run for run, now in cast.progress.items() if now in ("asked", "resumed")}
    over = [run for run, now in cast.progress.items() if now == "ended"]
    if cast.resizes or over or not asked <= on_paths or not here.waiting:
        return None
    return f"{wait(here.waiting)}, though all that have asked are on the {trace.cap} longest paths"


def _nothing_goes_on(cast: Cast, here: Seen, *, promised: bool) -> str | None:
    unfinished = cast.unfinished()
    if not unfinished or cast.goes_on(here):
        return None
    waits = cast.waits(here)
    below = not mounts_in_a_circle(cast.scenario) and all(
        kind == "permit" or (bool(enders) and all(cast.is_below(ender, run) for ender in enders))
        for run, them in waits.items()
        for kind, _, enders in them
    )
    return f"nothing goes on, and {have_not_ended(unfinished)}" if below == promised else None
