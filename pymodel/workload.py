"""A scenario under a subject, as a transition system.

The *subject* decides about slots: a rule, the pool that ships, anybody's class. The workload decides nothing about
slots. It runs the bodies, step by step in every order, lets the environment act, and asks the subject what each call
leads to. Grant and resume are separate steps, so a cancel can fall between them.

Actions are tuples of strings and numbers, the verb first: body steps ``("ask", run)``, ``("resume", run)``,
``("work", run)``, ``("set", run, event)``, ``("take", run, lock)``, ``("drop", run, lock)``, ``("raise", run)``,
``("finish", run)``, and those that some rules add (conduct.py); acts of the environment ``("cancel", run)``,
``("finish early", run)``, ``("fail", run)``, ``("ask late", run)``, ``("resize", cap)``. Where runs need permits
(permits.py), asking is entering, and resuming is a call that tells whether the run works.

Two things make it fast. The subject is asked about each call in each of its states once, however many states of the
workload share it (`Calls`). And where siblings are interchangeable, states that differ only in which of them did what
are one (symmetry.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from slotcheck.pymodel.bodies import ASKED, ENDED, IDLE, RESUMED, Action, Bodies, Locks, Wait, WorkloadState
from slotcheck.pymodel.conduct import ConductedBodies
from slotcheck.pymodel.permits import PermitBodies
from slotcheck.pymodel.rules.order import names_jobs
from slotcheck.pymodel.scenario import Act, Scenario
from slotcheck.pymodel.subject import Call, Calls
from slotcheck.pymodel.symmetry import ForestSymmetry

__all__ = ["BODY_STEPS", "ENVIRONMENT_ACTS", "RULE_STEPS", "Action", "Wait", "Workload", "WorkloadState"]

BODY_STEPS = ("ask", "resume", "work", "set", "take", "drop", "raise", "finish")
RULE_STEPS = ("give_back", "retake", "help")  # what some rules make a run do, see conduct.py
ENVIRONMENT_ACTS = ("cancel", "finish early", "fail", "ask late", "resize")

_new: Any = tuple.__new__  # makes a state without the slower constructor; a search makes millions
_NO_EVENTS: frozenset[str] = frozenset()


class Workload:
    """A scenario at one cap under one subject. A `TransitionSystem`.

    Args:
        scenario: what happens.
        calls: the subject's answers; workloads of the same subject may share them.
        cap: how many slots.
        relend: whether R13 is on.
        symmetry: whether to merge states that differ only by an exchange of interchangeable siblings. Ignored (see
            `merges`) where that would not be sound.
        resume_at_grant: let a run resume in the step that grants its slot, as the models of the speed baselines do.
    """

    def __init__(
        self,
        scenario: Scenario,
        calls: Calls,
        *,
        cap: int,
        relend: bool = False,
        symmetry: bool = True,
        resume_at_grant: bool = False,
    ) -> None:
        self.scenario = scenario
        self.cap = cap
        self.relend = relend
        self.calls = calls
        self._resume_at_grant = resume_at_grant and not scenario.permits  # there a grant lets nobody go on
        #: The order that the subject's pools are made with.
        self.order: str = getattr(calls.subject.initial(cap, relend=relend), "order", "")
        conduct = getattr(calls.subject, "conduct", None)
        self._permits = PermitBodies(scenario, calls) if scenario.permits else None
        self.bodies = self._permits or (
            ConductedBodies(scenario, conduct) if conduct and conduct.acts else Bodies(scenario)
        )
        self.names, self.parents = self.bodies.names, self.bodies.parents
        acts = scenario.environment
        self._cancels = self._named(acts, "cancel")
        self._early = self._named(acts, "finish")
        self._fails = self._named(acts, "fail")
        self._caps = [act.cap for act in acts if act.verb == "resize"]
        self._script_next: list[Act | None] = [*scenario.script, None]
        self._scripted = [{_step(act) for act in scenario.script[turn:]} for turn in range(len(scenario.script) + 1)]
        symmetry = symmetry and _exchangeable(scenario) and not names_jobs(self.order)
        forest = ForestSymmetry(self.parents, [""] * len(self.names)) if symmetry else None
        self.merges = forest is not None and forest.size > 1  # else there is nothing to merge
        self._symmetry = forest if self.merges else None
        self._seen: list[list[int] | None] = []
        self._numbers: dict[Hashable, int] = {}
        self._degree: tuple[WorkloadState | None, int] = None, 0
        self._last_step: tuple[WorkloadState | None, Action, Call | None] = None, (), None
        self._last: tuple[WorkloadState, tuple[Hashable, int]] | None = None

    def _named(self, acts: Iterable[Act], verb: str) -> set[int]:
        named: set[int] = set()
        for act in acts:
            if act.verb == verb:
                named.update(range(len(self.names)) if act.run is None else [self.scenario.index[act.run]])
        return named

    # -- the transition system -----------------------------------------------------------------------------------

    def initial(self) -> list[WorkloadState]:
        """Nobody has asked."""
        pool = self.calls.number(self.calls.subject.initial(self.cap, relend=self.relend))
        under = (None,) * len(self.bodies.lives)
        return [WorkloadState((IDLE,) * len(self.names), pool, self.bodies.no_locks, _NO_EVENTS, 0, 0, 0, False, under)]

    def is_body_step(self, action: Action) -> bool:
        """Whether a run does this by itself."""
        return action[0] in _BODY_STEPS

    def actions(self, state: WorkloadState) -> list[Action]:
        """Body steps run by run, then acts of the environment; under symmetry one for all that are alike."""
        if state.broken:
            self._degree = state, 0
            return []
        actions = self.bodies.steps(state, self.calls.runs[state.pool])
        if self._cancels or self._early or self._fails or self._caps or self.scenario.late_children:
            actions += self._environment_acts(state)
        if self.scenario.script:
            actions = self._as_scripted(state, actions)
        self._degree = state, len(actions)
        if self._symmetry is not None and len(actions) > 1:
            stands = self._symmetry.stand_ins(self._codes(state))
            index = self.scenario.index
            return [action for action in actions if action[0] == "resize" or stands[index[action[1]]]]
        return actions

    def degree(self, state: WorkloadState) -> int:
        """How many actions there are, those included that another one stands for."""
        if self._degree[0] is not state:
            self.actions(state)
        return self._degree[1]

    def next(self, state: WorkloadState, action: Action) -> WorkloadState:
        """Take a step."""
        verb = action[0]
        call = self.call_of(state, action)
        if self.scenario.script and _matches(self._script_next[state.turn], action):
            state = state._replace(turn=state.turn + 1)
        if verb == "resize":
            assert call is not None
            return self._called(state, call, list(state.progress), resizes=state.resizes + 1)
        at = self.scenario.index[action[1]]
        progress = list(state.progress)
        if verb in RULE_STEPS:
            assert call is not None
            return self._called(state, call, progress)
        known = self.calls.runs[state.pool]
        if call is not None and call.verb in _ENTRIES:
            progress[at] = ASKED if call.reply.declined is None else ENDED
            parent = self.parents[at]
            if parent is not None and at in self.bodies.own[parent] and verb == "ask":
                if self.scenario.runs[parent].body is not None:
                    progress[parent] = self.bodies.passed(state, known, parent)
            elif at in self.bodies.lives:
                state = state._replace(under=self._now_under(state, at))
            return self._called(state, call, progress)
        if call is not None and verb == "resume":
            assert self._permits is not None
            progress[at] = self._permits.resumed(call)
            return self._called(state, call, progress)
        if call is not None:
            progress[at] = ENDED
            return self._called(state, call, progress, locks=self.bodies.out_of_locks(state.locks, at, progress))
        if verb == "take":
            return self.bodies.take(state, known, at, action[2])
        if verb == "drop":
            return self.bodies.drop(state, known, at, action[2])
        progress[at] = RESUMED if verb == "resume" else self.bodies.passed(state, known, at)
        events = state.events | {action[2]} if verb == "set" else state.events
        return state._replace(progress=tuple(progress), events=events)

    def key(self, state: WorkloadState) -> Hashable:
        """What tells states apart: the state itself, or under symmetry its class."""
        return state if self._symmetry is None else self._class(state)[0]

    def weight(self, state: WorkloadState) -> int:
        """How many states are in this state's class."""
        return 1 if self._symmetry is None else self._class(state)[1]

    # -- what judges ask -----------------------------------------------------------------------------------------

    def call_of(self, state: WorkloadState, action: Action) -> Call | None:
        """The call that an action makes to the subject; None for a step that the pool does not hear of."""
        if state is not self._last_step[0] or action is not self._last_step[1]:
            self._last_step = state, action, self._make_call(state, action)
        return self._last_step[2]

    def _make_call(self, state: WorkloadState, action: Action) -> Call | None:
        verb = action[0]
        if verb == "resize":
            return self.calls.call(state.pool, *action)
        if verb in ("finish", "finish early"):
            return self.calls.call(state.pool, "finish", action[1])
        if verb in ("raise", "fail"):
            return self.calls.call(state.pool, "finish" if self._permits is None else "fail", action[1])
        if verb == "cancel" or verb in RULE_STEPS:
            return self.calls.call(state.pool, *action)
        if verb in ("ask", "ask late"):
            at = self.scenario.index[action[1]]
            parent, job = self._parent_and_job(state, at, late=verb == "ask late")
            if self._permits is not None:
                return self.calls.call(state.pool, *self._permits.entry(at, parent, job))
            above = None if parent is None else self.names[parent]
            return self.calls.call(state.pool, "ask", action[1], above, job)
        if verb == "resume" and self.scenario.runs[self.scenario.index[action[1]]].component is not None:
            return self.calls.call(state.pool, *action)
        return None

    def _parent_and_job(
        self, state: WorkloadState, at: int, *, late: bool
    ) -> tuple[int | None, tuple[str, ...] | None]:
        """What a run asks with: the run it asks under, and its job if it has to say it."""
        parent, spec = self.parents[at], self.scenario.runs[at]
        if spec.live is not None:
            return self.bodies.lender(state, self.calls.runs[state.pool], at), self.bodies.jobs[at]
        if parent is None:
            return None, spec.job
        return (None, self.bodies.jobs[at]) if late or spec.late else (parent, spec.job)

    def _now_under(self, state: WorkloadState, at: int) -> tuple[int | None, ...]:
        place = self.bodies.lives.index(at)
        lender = self.bodies.lender(state, self.calls.runs[state.pool], at)
        return (*state.under[:place], lender, *state.under[place + 1 :])

    def snapshot(self, state: WorkloadState) -> Any:
        """The subject's state."""
        return self.calls.snapshots[state.pool]

    def finished(self, state: WorkloadState) -> bool:
        """Whether every run that has asked, or whose turn to ask will come, has ended."""
        return self.bodies.finished(state)

    def waits(self, state: WorkloadState) -> dict[str, list[Wait]]:
        """What each resumed run waits for, besides slots."""
        return self.bodies.waits(state, self.calls.runs[state.pool])

    def goes_on(self, state: WorkloadState) -> bool:
        """Whether a body step is enabled, or the act whose turn it is in the script, or a step that a run which has
        asked is ready for and the script has for later. That a run's first ask is kept back lets nobody go on.
        """
        if any(self.is_body_step(action) or self._is_due(state, action) for action in self.actions(state)):
            return True
        if not self.scenario.script:
            return False
        ready = self.bodies.steps(state, self.calls.runs[state.pool])
        return any(verb != "ask" or self.parents[self.scenario.index[run]] is not None for verb, run, *_ in ready)

    def _is_due(self, state: WorkloadState, action: Action) -> bool:
        return _matches(self._script_next[state.turn], action)

    def script_done(self, state: WorkloadState) -> bool:
        """Whether all acts of the script have happened."""
        return state.turn == len(self.scenario.script)

    def granted_not_resumed(self, state: WorkloadState, run: str) -> bool:
        """Whether the run has a slot and has not resumed."""
        return state.progress[self.scenario.index[run]] == ASKED and self._admitted(state, run)

    # -- environment and script ----------------------------------------------------------------------------------

    def _environment_acts(self, state: WorkloadState) -> list[Action]:
        acts: list[Action] = []
        progress = state.progress
        for at, name in enumerate(self.names):
            now = progress[at]
            if now >= ASKED and now != ENDED and at in self._cancels:
                acts.append(("cancel", name))
            if now >= RESUMED and at in self._early and not self._can_finish(state, at):
                acts.append(("finish early", name))
            if now >= RESUMED and at in self._fails:
                acts.append(("fail", name))
            parent = self.parents[at]
            if (
                now == IDLE
                and parent is not None
                and progress[parent] == ENDED
                and self.scenario.late_children
                and not self.scenario.runs[at].late
                and not self.scenario.runs[at].live
            ):
                acts.append(("ask late", name))
        if state.resizes < self.scenario.resizes:
            cap = self.calls.snapshots[state.pool].cap
            acts += [("resize", to) for to in self._caps if to != cap]
        return acts

    def _can_finish(self, state: WorkloadState, at: int) -> bool:
        return self.bodies.can_finish(state, self.calls.runs[state.pool], at)

    def _admitted(self, state: WorkloadState, run: str) -> bool:
        known = self.calls.runs[state.pool].get(run)
        return known is not None and known.phase == "in_flight"

    def _as_scripted(self, state: WorkloadState, actions: list[Action]) -> list[Action]:
        """Without the steps that the script has for later; with the act whose turn it is."""
        act = self._script_next[state.turn]
        scripted = self._scripted[state.turn]
        allowed = [action for action in actions if (_plain(action[0]), action[1]) not in scripted]
        if act is None:
            return allowed
        if act.verb == "resize":
            return [*allowed, ("resize", act.cap)]
        assert act.run is not None
        at = self.scenario.index[act.run]
        now = state.progress[at]
        phase = (
            None
            if now in (IDLE, ENDED)
            else "resumed"
            if now >= RESUMED
            else "granted"
            if self._admitted(state, act.run)
            else "waiting"
        )
        if act.when is not None and act.when != phase:
            return allowed
        if act.verb == "cancel" and phase is not None:
            allowed.append(("cancel", act.run))
        elif act.verb == "fail" and phase == "resumed":
            allowed.append(("fail", act.run))
        elif act.verb == "finish" and phase in ("granted", "resumed"):
            through = phase == "resumed" and self._can_finish(state, at)
            allowed.append(("finish" if through else "finish early", act.run))
        else:
            allowed += [action for action in actions if _matches(act, action)]
        return allowed

    # -- after a call --------------------------------------------------------------------------------------------

    def _called(
        self,
        state: WorkloadState,
        call: Call,
        progress: list[int],
        *,
        locks: Locks | None = None,
        resizes: int | None = None,
    ) -> WorkloadState:
        levels = state.levels
        if call.verb in _ASKS:
            asked = self.calls.runs[call.target].get(call.args[0])
            if asked is not None and asked.level > levels:
                levels = asked.level
        if self._resume_at_grant:
            for run, _ in call.reply.granted:
                if progress[self.scenario.index[run]] == ASKED:
                    progress[self.scenario.index[run]] = RESUMED
        after: WorkloadState = _new(
            WorkloadState,
            (
                tuple(progress),
                call.target,
                state.locks if locks is None else locks,
                state.events,
                levels,
                state.resizes if resizes is None else resizes,
                state.turn,
                call.reply.raised is not None or call.reply.refused is not None,
                state.under,
            ),
        )
        return after

    # -- symmetry ------------------------------------------------------------------------------------------------

    def _class(self, state: WorkloadState) -> tuple[Hashable, int]:
        if self._last is not None and self._last[0] is state:
            return self._last[1]
        assert self._symmetry is not None
        key, weight = self._symmetry.key_and_weight(self._codes(state))
        snapshot = self.calls.snapshots[state.pool]
        found = (key, snapshot.cap, snapshot.taken, state.levels, state.resizes, state.broken), weight
        self._last = state, found
        return found

    def _codes(self, state: WorkloadState) -> list[int]:
        """For each run a number for all that can be seen of it, other runs being named by their place only."""
        return [seen + progress for seen, progress in zip(self._seen_of(state.pool), state.progress, strict=True)]

    def _seen_of(self, pool: int) -> list[int]:
        """For each run the number of what a snapshot tells of it, times a number greater than any progress."""
        while len(self._seen) <= pool:
            self._seen.append(None)
        seen = self._seen[pool]
        if seen is None:
            snapshot, runs = self.calls.snapshots[pool], self.calls.runs[pool]
            waiting = {run: place for place, run in enumerate(snapshot.waiting)}
            admitted = {child: place for _, children in snapshot.children for place, child in enumerate(children)}
            standing = {name: place for node, line in snapshot.lines if not node for place, name in enumerate(line)}
            stacks = enumerate(getattr(snapshot, "stacks", ()))
            stacked = {run: (worker, depth) for worker, stack in stacks for depth, run in enumerate(stack)}
            seen = self._seen[pool] = [0] * len(self.names)
            index, numbers = self.scenario.index, self._numbers
            for name in {**runs, **standing}:
                run = runs.get(name)
                what = run and (run.phase, run.token, run.lent, run.level, run.parent is None)
                code = what, waiting.get(name), admitted.get(name), standing.get(name), stacked.get(name)
                number = numbers.get(code)
                if number is None:
                    number = numbers[code] = len(numbers) + 1
                seen[index[name]] = number * (self.bodies.most_progress + 1)
        return seen


_ENTRIES = frozenset(("ask", "enter"))  # calls with which a run begins
_ASKS = frozenset(("ask", "enter", "resume"))  # and those that may ask for a slot
_BODY_STEPS = frozenset((*BODY_STEPS, *RULE_STEPS))


def _plain(verb: str) -> str:
    return {"finish early": "finish", "ask late": "ask", "raise": "finish"}.get(verb, verb)


def _step(act: Act) -> tuple[str, Any]:
    return (act.verb, act.cap if act.verb == "resize" else act.run)


def _matches(act: Act | None, action: Action) -> bool:
    return act is not None and _step(act) == (_plain(action[0]), action[1])


def _exchangeable(scenario: Scenario) -> bool:
    """Whether siblings with equal subtrees are interchangeable: no body, act or job names one of them."""
    by_name = scenario.diagnoses or any(
        run.body is not None or run.late or run.live or run.component or run.job for run in scenario.runs
    )
    return not by_name and not scenario.script and all(act.run is None for act in scenario.environment)
