"""A scenario under a subject, as a transition system.

The *subject* decides about slots: a rule, the pool that ships, anybody's class. The workload decides nothing about
slots. It runs the bodies, step by step in every order, lets the environment act, and asks the subject what each call
leads to. Grant and resume are separate steps, so a cancel can fall between them.

Actions are tuples of strings and numbers, the verb first: body steps ``("ask", run)``, ``("resume", run)``,
``("work", run)``, ``("set", run, event)``, ``("take", run, lock)``, ``("drop", run, lock)``, ``("raise", run)``,
``("finish", run)``; acts of the environment ``("cancel", run)``, ``("finish early", run)``, ``("ask late", run)``,
``("resize", cap)``.

Two things make it fast. The subject is asked about each call in each of its states once, however many states of the
workload share it (`Calls`). And where siblings are interchangeable, states that differ only in which of them did what
are one (symmetry.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from slotcheck.pymodel.scenario import Act, Op, Scenario
from slotcheck.pymodel.subject import Call, Calls, Subject
from slotcheck.pymodel.symmetry import ForestSymmetry

__all__ = ["BODY_STEPS", "ENVIRONMENT_ACTS", "Action", "Wait", "Workload", "WorkloadState"]

Action: TypeAlias = tuple[Any, ...]

BODY_STEPS = ("ask", "resume", "work", "set", "take", "drop", "raise", "finish")
ENVIRONMENT_ACTS = ("cancel", "finish early", "ask late", "resize")

#: What a run waits for besides a slot: its kind ("run", "event", "lock"), its name, the runs that can end the wait.
Wait: TypeAlias = tuple[str, str, tuple[str, ...]]

_Locks: TypeAlias = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

_IDLE, _ASKED, _ENDED, _RESUMED = 0, 1, 2, 3  # progress of a run; _RESUMED + n: resumed, at step n of its body


class WorkloadState(NamedTuple):
    """Where every run is, and the subject's state (by its number in `Calls`)."""

    #: For each run, in the scenario's order: not asked, asked (not resumed), ended, or how far its body is.
    progress: tuple[int, ...]
    pool: int
    #: For each lock: who is in, in order of entry, and who queues, as places of runs.
    locks: _Locks
    #: The events that are set.
    events: frozenset[str]
    #: The greatest level asked so far.
    levels: int
    resizes: int
    #: How many acts of the script are done.
    turn: int
    #: Whether a call raised: the subject's state means nothing any more, so nothing goes on.
    broken: bool


_new: Any = tuple.__new__  # makes a state without the slower constructor; a search makes millions
_NO_EVENTS: frozenset[str] = frozenset()


class Workload:
    """A scenario at one cap under one subject. A `TransitionSystem`.

    Args:
        scenario: what happens.
        subject: who decides about slots.
        cap: how many slots.
        relend: whether R13 is on.
        symmetry: whether to merge states that differ only by an exchange of interchangeable siblings. Ignored (see
            `reduced`) where that would not be sound.
        resume_at_grant: let a run resume in the step that grants its slot, as the models of the speed baselines do.
    """

    def __init__(
        self,
        scenario: Scenario,
        subject: Subject,
        *,
        cap: int,
        relend: bool = False,
        symmetry: bool = True,
        resume_at_grant: bool = False,
    ) -> None:
        self.scenario = scenario
        self.cap = cap
        self.relend = relend
        self.calls = Calls(subject)
        self._resume_at_grant = resume_at_grant
        runs = scenario.runs
        index = scenario.index
        self.names = [run.name for run in runs]
        self.parents = [None if run.parent is None else index[run.parent] for run in runs]
        self.children: list[list[int]] = [[] for _ in runs]
        for at, parent in enumerate(self.parents):
            if parent is not None:
                self.children[parent].append(at)
        #: The children that a body asks for; the late ones ask by themselves.
        self._own = [[child for child in children if not runs[child].late] for children in self.children]
        self._bodies = [run.body for run in runs]
        self._jobs = [(self._root(at),) for at in range(len(runs))]
        self._locks = sorted({op.name for run in runs for op in run.body or () if op.verb == "take" and op.name})
        self._lock_at = {lock: at for at, lock in enumerate(self._locks)}
        self._room = [scenario.gates.get(lock, 1) for lock in self._locks]
        acts = scenario.environment
        self._cancels = self._named(acts, "cancel")
        self._early = self._named(acts, "finish")
        self._caps = [act.cap for act in acts if act.verb == "resize"]
        self._script_next: list[Act | None] = [*scenario.script, None]
        self._scripted = [{_step(act) for act in scenario.script[turn:]} for turn in range(len(scenario.script) + 1)]
        #: Whether states are merged by symmetry.
        self.reduced = symmetry and _exchangeable(scenario)
        self._symmetry = ForestSymmetry(self.parents, [""] * len(runs)) if self.reduced else None
        self._seen: list[list[int] | None] = []
        self._numbers: dict[Hashable, int] = {}
        self._most_progress = _RESUMED + max(len(self._body(at)) for at in range(len(runs))) + 1
        self._degree = 0
        self._last_step: tuple[WorkloadState | None, Action, Call | None] = None, (), None
        self._last: tuple[WorkloadState, tuple[Hashable, int]] | None = None

    def _root(self, at: int) -> str:
        parent = self.parents[at]
        return self.names[at] if parent is None else self._root(parent)

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
        locks = tuple(((), ()) for _ in self._locks)
        return [WorkloadState((_IDLE,) * len(self.names), pool, locks, _NO_EVENTS, 0, 0, 0, False)]

    def is_body_step(self, action: Action) -> bool:
        """Whether a run does this by itself."""
        return action[0] in _BODY_STEPS

    def actions(self, state: WorkloadState) -> list[Action]:
        """Body steps run by run, then acts of the environment."""
        if state.broken:
            return []
        actions = self._body_steps(state)
        if self._cancels or self._early or self._caps or self.scenario.late_children:
            actions += self._environment_acts(state)
        if self.scenario.script:
            actions = self._as_scripted(state, actions)
        self._degree = len(actions)
        if self._symmetry is not None and len(actions) > 1:
            stands = self._symmetry.stand_ins(self._codes(state))
            index = self.scenario.index
            return [action for action in actions if action[0] == "resize" or stands[index[action[1]]]]
        return actions

    def degree(self, state: WorkloadState) -> int:
        """How many actions the state has that `actions` was last asked about, interchangeable ones included."""
        return self._degree

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
        if call is not None and call.verb == "ask":
            progress[at] = _ASKED
            parent = self.parents[at]
            if call.args[1] is not None and parent is not None and self._bodies[parent] is not None:
                progress[parent] = self._passed(state, parent)
            return self._called(state, call, progress)
        if call is not None:
            progress[at] = _ENDED
            return self._called(state, call, progress, locks=self._out_of_locks(state.locks, at, progress))
        if verb == "resume":
            progress[at] = _RESUMED
            return state._replace(progress=tuple(progress))
        if verb == "take":
            return self._take(state, at, progress, self._lock_at[action[2]])
        progress[at] = self._passed(state, at)
        if verb == "drop":
            locks = self._out_of(state.locks, self._lock_at[action[2]], at, progress)
            return state._replace(progress=tuple(progress), locks=locks)
        if verb == "set":
            return state._replace(progress=tuple(progress), events=state.events | {action[2]})
        return state._replace(progress=tuple(progress))

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
        if verb in ("finish", "finish early", "raise"):
            return self.calls.call(state.pool, "finish", action[1])
        if verb == "cancel":
            return self.calls.call(state.pool, "cancel", action[1])
        if verb in ("ask", "ask late"):
            at = self.scenario.index[action[1]]
            parent = self.parents[at]
            if parent is None:
                return self.calls.call(state.pool, "ask", action[1], None, None)
            if verb == "ask late" or self.scenario.runs[at].late:
                return self.calls.call(state.pool, "ask", action[1], None, self._jobs[at])
            return self.calls.call(state.pool, "ask", action[1], self.names[parent], None)
        return None

    def snapshot(self, state: WorkloadState) -> Any:
        """The subject's state."""
        return self.calls.snapshots[state.pool]

    def finished(self, state: WorkloadState) -> bool:
        """Whether every run that has asked, or whose turn to ask will come, has ended."""
        return not any(
            progress not in (_IDLE, _ENDED) or (progress == _IDLE and self._will_ask(state, at))
            for at, progress in enumerate(state.progress)
        )

    def unfinished(self, state: WorkloadState) -> list[str]:
        """The runs that have asked and not ended."""
        return [name for name, at in zip(self.names, state.progress, strict=True) if at not in (_IDLE, _ENDED)]

    def parent_now(self, state: WorkloadState, run: str) -> str | None:
        """The run's parent, as long as that has not ended."""
        parent = self.parents[self.scenario.index[run]]
        return None if parent is None or state.progress[parent] == _ENDED else self.names[parent]

    def withheld(self, state: WorkloadState) -> Act | None:
        """The act of the script whose turn it is, if a body step has to wait for it."""
        if not self.scenario.script:
            return None
        steps = self._body_steps(state)
        return self._script_next[state.turn] if len(self._as_scripted(state, steps)) < len(steps) else None

    def script_done(self, state: WorkloadState) -> bool:
        """Whether all acts of the script have happened."""
        return state.turn == len(self.scenario.script)

    def granted_not_resumed(self, state: WorkloadState, run: str) -> bool:
        """Whether the run has a slot and has not resumed."""
        return state.progress[self.scenario.index[run]] == _ASKED and self._admitted(state, run)

    def waits(self, state: WorkloadState) -> dict[str, list[Wait]]:
        """What each resumed run waits for, besides slots: (kind, name, the runs any one of which can end the wait).

        Kinds: "run", "event" (by the runs whose bodies can still set it), "lock".
        """
        waits: dict[str, list[Wait]] = {}
        for at, progress in enumerate(state.progress):
            if progress >= _RESUMED:
                _, _, blocked = self._look_ahead(state, at)
                if blocked:
                    waits[self.names[at]] = blocked
        return waits

    # -- bodies --------------------------------------------------------------------------------------------------

    def _body_steps(self, state: WorkloadState) -> list[Action]:
        steps: list[Action] = []
        progress = state.progress
        known = self.calls.runs[state.pool]
        for at, name in enumerate(self.names):
            now = progress[at]
            if now >= _RESUMED:
                if self._bodies[at] is None:
                    own = self._own[at]
                    idle = [child for child in own if progress[child] == _IDLE]
                    if idle:
                        if not self.scenario.blocking_spawn or not self._spawning(state, at):
                            steps += [("ask", self.names[child]) for child in idle]
                    elif all(progress[child] == _ENDED for child in own):
                        steps.append(("finish", name))
                else:
                    steps += self._look_ahead(state, at)[1]
            elif now == _ASKED:
                run = known.get(name)
                if run is not None and run.phase != "waiting":
                    steps.append(("resume", name))
            elif now == _IDLE:
                parent = self.parents[at]
                if parent is None or (self.scenario.runs[at].late and progress[parent] == _ENDED):
                    steps.append(("ask", name))
        return steps

    def _look_ahead(self, state: WorkloadState, at: int) -> tuple[int, list[Action], list[Wait]]:
        """Where in its body a resumed run stands, the steps it can take there, and if none what it waits for.

        Waits that are met are passed over: they stay met, so where a body stands is told by its last step alone.
        """
        name, progress = self.names[at], state.progress
        body = self._body(at)
        place = progress[at] - _RESUMED
        if self.scenario.blocking_spawn and (spawning := self._spawning(state, at)):
            return place, [], [("run", self.names[child], (self.names[child],)) for child in spawning]
        for place in range(progress[at] - _RESUMED, len(body)):
            verb, what = body[place].verb, body[place].name
            if verb in ("wait", "await", "wait all"):
                blocked = [self.names[run] for run in self._awaited(at, body[place]) if progress[run] != _ENDED]
                if blocked:
                    return place, [], [("run", run, (run,)) for run in blocked]
            elif verb == "spawn all":
                idle = [child for child in self._own[at] if progress[child] == _IDLE]
                if idle:
                    return place, [("ask", self.names[child]) for child in idle], []
            elif verb == "need":
                assert what is not None
                if what not in state.events:
                    return place, [], [("event", what, self._setters(state, what))]
            elif verb == "spawn":
                return place, [("ask", what)], []
            elif verb == "take":
                assert what is not None
                inside, queue = state.locks[self._lock_at[what]]
                if at in queue:
                    return place, [], [("lock", what, tuple(self.names[run] for run in inside))]
                return place, [("take", name, what)], []
            elif verb == "work" and place == len(body) - 1:
                break  # the last piece of work ends with the run
            elif verb in ("work", "raise"):
                return place, [(verb, name)], []
            else:
                return place, [(verb, name, what)], []
        return len(body), [("finish", name)], []

    def _body(self, at: int) -> Sequence[Op]:
        body = self._bodies[at]
        return _DEFAULT_BODY if body is None else body

    def _rest(self, at: int, progress: int) -> Sequence[Op]:
        return self._body(at)[max(progress - _RESUMED, 0) :]

    def _passed(self, state: WorkloadState, at: int) -> int:
        """The progress of a run once it has taken the step that it stands before."""
        place, _, _ = self._look_ahead(state, at)
        # A step that asks for all children is passed over once the last has been asked for.
        return _RESUMED + place + (self._body(at)[place].verb != "spawn all")

    def _awaited(self, at: int, op: Op) -> list[int]:
        if op.verb == "wait all":
            return self._own[at]
        assert op.name is not None
        return [self.scenario.index[op.name]]

    def _spawning(self, state: WorkloadState, at: int) -> list[int]:
        """With blocking spawn: the children that the run is waiting to see admitted."""
        known = self.calls.runs[state.pool]
        return [
            child
            for child in self._own[at]
            if state.progress[child] == _ASKED
            and (run := known.get(self.names[child])) is not None
            and run.phase == "waiting"
        ]

    def _setters(self, state: WorkloadState, event: str) -> tuple[str, ...]:
        return tuple(
            name
            for at, name in enumerate(self.names)
            if state.progress[at] != _ENDED and any(op == Op("set", event) for op in self._rest(at, state.progress[at]))
        )

    def _will_ask(self, state: WorkloadState, at: int) -> bool:
        """Whether a run that has not asked will do so by a body step."""
        parent = self.parents[at]
        if parent is None:
            return True
        now = state.progress[parent]
        if self.scenario.runs[at].late:
            return now != _IDLE or self._will_ask(state, parent)
        if now == _ENDED:
            return False
        if now == _IDLE and not self._will_ask(state, parent):
            return False
        rest = self._rest(parent, now)
        return any(op.verb == "spawn all" or op == Op("spawn", self.names[at]) for op in rest)

    def _admitted(self, state: WorkloadState, run: str) -> bool:
        known = self.calls.runs[state.pool].get(run)
        return known is not None and known.phase == "in_flight"

    # -- locks ---------------------------------------------------------------------------------------------------

    def _take(self, state: WorkloadState, at: int, progress: list[int], lock: int) -> WorkloadState:
        inside, queue = state.locks[lock]
        if len(inside) < self._room[lock]:
            progress[at] = self._passed(state, at)
            entry = ((*inside, at), queue)
        else:
            entry = (inside, (*queue, at))
        locks = (*state.locks[:lock], entry, *state.locks[lock + 1 :])
        return state._replace(progress=tuple(progress), locks=locks)

    def _out_of(self, locks: _Locks, lock: int, at: int, progress: list[int]) -> _Locks:
        """The run leaves a lock; whoever queued first goes in, past its own take."""
        inside, queue = locks[lock]
        if at in inside:
            place = inside.index(at)
            inside = (*inside[:place], *inside[place + 1 :])
        queue = tuple(other for other in queue if other != at)
        if queue and len(inside) < self._room[lock]:
            first, *rest = queue
            progress[first] = self._past_take(first, progress[first], lock)
            inside, queue = (*inside, first), tuple(rest)
        return (*locks[:lock], (inside, queue), *locks[lock + 1 :])

    def _past_take(self, at: int, progress: int, lock: int) -> int:
        body = self._bodies[at]
        assert body is not None
        take = Op("take", self._locks[lock])
        return _RESUMED + body.index(take, progress - _RESUMED) + 1

    def _out_of_locks(self, locks: _Locks, at: int, progress: list[int]) -> _Locks:
        for lock, (inside, queue) in enumerate(locks):
            if at in inside or at in queue:
                locks = self._out_of(locks, lock, at, progress)
        return locks

    # -- environment and script ----------------------------------------------------------------------------------

    def _environment_acts(self, state: WorkloadState) -> list[Action]:
        acts: list[Action] = []
        progress = state.progress
        for at, name in enumerate(self.names):
            now = progress[at]
            if now >= _ASKED and now != _ENDED and at in self._cancels:
                acts.append(("cancel", name))
            if now >= _RESUMED and at in self._early and not self._can_finish(state, at):
                acts.append(("finish early", name))
            parent = self.parents[at]
            if (
                now == _IDLE
                and parent is not None
                and progress[parent] == _ENDED
                and self.scenario.late_children
                and not self.scenario.runs[at].late
            ):
                acts.append(("ask late", name))
        if state.resizes < self.scenario.resizes:
            cap = self.calls.snapshots[state.pool].cap
            acts += [("resize", to) for to in self._caps if to != cap]
        return acts

    def _can_finish(self, state: WorkloadState, at: int) -> bool:
        return self._look_ahead(state, at)[1] == [("finish", self.names[at])]

    def _as_scripted(self, state: WorkloadState, actions: list[Action]) -> list[Action]:
        """Without the steps that the script has for later; with the act whose turn it is."""
        act = self._script_next[state.turn]
        later = self._scripted[state.turn]
        allowed = [action for action in actions if (_plain(action[0]), action[1]) not in later]
        if act is None:
            return allowed
        if act.verb == "resize":
            return [*allowed, ("resize", act.cap)]
        assert act.run is not None
        at = self.scenario.index[act.run]
        now = state.progress[at]
        phase = (
            None
            if now in (_IDLE, _ENDED)
            else "resumed"
            if now >= _RESUMED
            else "granted"
            if self._admitted(state, act.run)
            else "waiting"
        )
        if act.when is not None and act.when != phase:
            return allowed
        if act.verb == "cancel" and phase is not None:
            allowed.append(("cancel", act.run))
        elif act.verb == "finish" and phase == "resumed":
            allowed.append(("finish" if self._can_finish(state, at) else "finish early", act.run))
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
        locks: _Locks | None = None,
        resizes: int | None = None,
    ) -> WorkloadState:
        levels = state.levels
        if call.verb == "ask":
            asked = self.calls.runs[call.target].get(call.args[0])
            if asked is not None and asked.level > levels:
                levels = asked.level
        if self._resume_at_grant:
            for run, _ in call.reply.granted:
                progress[self.scenario.index[run]] = _RESUMED
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
            seen = self._seen[pool] = []
            for name in self.names:
                run = runs.get(name)
                what = run and (run.phase, run.token, run.lent, run.level, run.parent is None)
                places = waiting.get(name), admitted.get(name), standing.get(name)
                number = self._numbers.setdefault((what, places), len(self._numbers))
                seen.append(number * self._most_progress)
        return seen


_BODY_STEPS = frozenset(BODY_STEPS)
_DEFAULT_BODY = (Op("spawn all"), Op("wait all"))


def _plain(verb: str) -> str:
    return {"finish early": "finish", "ask late": "ask", "raise": "finish"}.get(verb, verb)


def _step(act: Act) -> tuple[str, Any]:
    return (act.verb, act.cap if act.verb == "resize" else act.run)


def _matches(act: Act | None, action: Action) -> bool:
    return act is not None and _step(act) == (_plain(action[0]), action[1])


def _exchangeable(scenario: Scenario) -> bool:
    """Whether siblings with equal subtrees are interchangeable: no body, act or job names one of them."""
    by_name = any(run.body is not None or run.late for run in scenario.runs)
    return not by_name and not scenario.script and all(act.run is None for act in scenario.environment)
