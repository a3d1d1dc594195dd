"""What the bodies of a scenario do: where each run stands, what it can do next, what it waits for.

Pure functions of a `WorkloadState` and of the runs that the subject knows; nothing here changes a pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from slotcheck.pymodel.scenario import Op, Scenario

__all__ = ["ASKED", "ENDED", "IDLE", "RESUMED", "Action", "Bodies", "Locks", "Wait", "WorkloadState"]

#: The verb first, then whom or what it is about.
Action: TypeAlias = tuple[Any, ...]

#: What a run waits for besides a slot: its kind ("run" to end, "admission" of a run, "event", "lock"), its name, and
#: the runs any one of which can end the wait.
Wait: TypeAlias = tuple[str, str, tuple[str, ...]]

#: For each lock who is in, in order of entry, and who queues, as places of runs.
Locks: TypeAlias = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

#: The runs that the subject knows, by id.
Known: TypeAlias = Mapping[str, Any]

IDLE, ASKED, ENDED, RESUMED = 0, 1, 2, 3  # progress of a run; RESUMED + n: resumed, at step n of its body

_DEFAULT_BODY = (Op("spawn all"), Op("wait all"))


class WorkloadState(NamedTuple):
    """Where every run is, and the subject's state (by its number in `Calls`)."""

    #: For each run, in the scenario's order: not asked, asked (not resumed), ended, or how far its body is.
    progress: tuple[int, ...]
    pool: int
    #: For each lock: who is in, in order of entry, and who queues, as places of runs.
    locks: Locks
    #: The events that are set.
    events: frozenset[str]
    #: The greatest level asked so far.
    levels: int
    resizes: int
    #: How many acts of the script are done.
    turn: int
    #: Whether a call raised: the subject's state means nothing any more, so nothing goes on.
    broken: bool
    #: For each live run the place of the run that it asked under; None without one.
    under: tuple[int | None, ...] = ()


class Bodies:
    """The bodies of one scenario. Runs are named by their place in it."""

    def __init__(self, scenario: Scenario) -> None:
        runs = scenario.runs
        self.scenario = scenario
        self.names = [run.name for run in runs]
        self.parents = [None if run.parent is None else scenario.index[run.parent] for run in runs]
        #: For each run the one that mounted it.
        self.mounters = [None if run.parent is None else scenario.index[run.parent] for run in scenario.mounted]
        self.lives = [at for at, run in enumerate(runs) if run.live is not None]
        #: For each run the children that its body asks for; late ones ask by themselves.
        self.own: list[list[int]] = [[] for _ in runs]
        #: For each run its job, wherever its parent is by then.
        self.jobs = [scenario.jobs[name] for name in self.names]
        for at, parent in enumerate(self.parents):
            if parent is not None and not runs[at].late and not runs[at].live:
                self.own[parent].append(at)
        self._bodies = [run.body for run in runs]
        self.most_progress = RESUMED + max((len(body) for body in self._bodies if body is not None), default=2)
        #: Locks and gates, by name.
        self.lock_names = sorted({op.name for run in runs for op in run.body or () if op.verb == "take" and op.name})
        self._lock_at = {lock: at for at, lock in enumerate(self.lock_names)}
        self._room = [scenario.gates.get(lock, 1) for lock in self.lock_names]
        self.no_locks: Locks = tuple(((), ()) for _ in self.lock_names)

    def steps(self, state: WorkloadState, known: Known) -> list[Action]:
        """The body steps that are enabled, run by run."""
        steps: list[Action] = []
        progress = state.progress
        for at, name in enumerate(self.names):
            now = progress[at]
            if now >= RESUMED:
                if self._bodies[at] is None:
                    own = self.own[at]
                    idle = [child for child in own if progress[child] == IDLE]
                    if idle:
                        if not self.scenario.blocking_spawn or not self._spawning(state, known, at):
                            steps += [("ask", self.names[child]) for child in idle]
                    elif all(progress[child] == ENDED for child in own):
                        steps.append(("finish", name))
                else:
                    steps += self.look_ahead(state, known, at)[1]
            elif now == ASKED:
                if self.may_resume(state, known, at):
                    steps.append(("resume", name))
            elif now == IDLE and self._asks_by_itself(state, at):
                steps.append(("ask", name))
        return steps

    def may_resume(self, state: WorkloadState, known: Known, at: int) -> bool:
        """Whether a run that has asked has what it needs to go on."""
        run = known.get(self.names[at])
        return run is not None and run.phase != "waiting"

    def _asks_by_itself(self, state: WorkloadState, at: int) -> bool:
        """Whether a run that has not asked can do so, without a step of its parent's body."""
        spec, mounter = self.scenario.runs[at], self.mounters[at]
        if mounter is None:
            return True
        now = state.progress[mounter]
        return (spec.late and now == ENDED) or (spec.live is not None and now >= ENDED)

    def look_ahead(self, state: WorkloadState, known: Known, at: int) -> tuple[int, list[Action], list[Wait]]:
        """Where in its body a resumed run stands, the steps it can take there, and if none what it waits for.

        Waits that are met are passed over: they stay met, so where a body stands is told by its last step alone.
        """
        name, progress = self.names[at], state.progress
        body = self._body(at)
        place = progress[at] - RESUMED
        if self.scenario.blocking_spawn and (spawning := self._spawning(state, known, at)):
            return place, [], [("admission", self.names[child], (self.names[child],)) for child in spawning]
        for place in range(progress[at] - RESUMED, len(body)):
            verb, what = body[place].verb, body[place].name
            if verb in ("wait", "await", "wait all"):
                awaited = self._awaited(state, at, body[place])
                blocked = [self.names[run] for run in awaited if progress[run] != ENDED]
                if blocked:
                    return place, [], [("run", run, (run,)) for run in blocked]
            elif verb == "spawn all":
                idle = [child for child in self.own[at] if progress[child] == IDLE]
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

    def can_finish(self, state: WorkloadState, known: Known, at: int) -> bool:
        """Whether a resumed run is through with its body, so that nothing but its finish is left and enabled."""
        return self.look_ahead(state, known, at)[1] == [("finish", self.names[at])]

    def _body(self, at: int) -> Sequence[Op]:
        body = self._bodies[at]
        return _DEFAULT_BODY if body is None else body

    def _rest(self, at: int, progress: int) -> Sequence[Op]:
        return self._body(at)[max(progress - RESUMED, 0) :]

    def passed(self, state: WorkloadState, known: Known, at: int) -> int:
        """The progress of a run once it has taken the step that it stands before."""
        place, _, _ = self.look_ahead(state, known, at)
        # A step that asks for all children is passed over once the last has been asked for.
        return RESUMED + place + (self._body(at)[place].verb != "spawn all")

    def _awaited(self, state: WorkloadState, at: int, op: Op) -> list[int]:
        if op.verb == "wait all":
            return [child for child in self.own[at] if state.progress[child] != IDLE]
        assert op.name is not None
        return [self.scenario.index[op.name]]

    def _spawning(self, state: WorkloadState, known: Known, at: int) -> list[int]:
        """With blocking spawn: the children that the run is waiting to see admitted."""
        return [
            child
            for child in self.own[at]
            if state.progress[child] == ASKED
            and (run := known.get(self.names[child])) is not None
            and run.phase == "waiting"
        ]

    def _setters(self, state: WorkloadState, event: str) -> tuple[str, ...]:
        return tuple(
            name
            for at, name in enumerate(self.names)
            if state.progress[at] != ENDED
            and any(op == Op("set", event) for op in self._rest(at, state.progress[at]))
            and (state.progress[at] != IDLE or self._may_ask(state, at))
        )

    def _may_ask(self, state: WorkloadState, at: int) -> bool:
        """Whether a run that has not asked may do so by a body step, or late by an act of the environment."""
        return self.scenario.late_children or self._will_ask(state, at)

    def _will_ask(self, state: WorkloadState, at: int) -> bool:
        """Whether a run that has not asked will do so by a body step."""
        parent = self.mounters[at]
        if parent is None:
            return True
        now = state.progress[parent]
        if self.scenario.runs[at].late or self.scenario.runs[at].live:
            return now != IDLE or self._will_ask(state, parent)
        if now == ENDED:
            return False
        if now == IDLE and not self._will_ask(state, parent):
            return False
        rest = self._rest(parent, now)
        return any(op.verb == "spawn all" or op == Op("spawn", self.names[at]) for op in rest)

    def waits(self, state: WorkloadState, known: Known) -> dict[str, list[Wait]]:
        """What each resumed run waits for, besides slots: (kind, name, the runs any one of which can end the wait).

        Kinds: "run", "event" (by the runs whose bodies can still set it), "lock".
        """
        waits: dict[str, list[Wait]] = {}
        for at, progress in enumerate(state.progress):
            if progress >= RESUMED:
                _, _, blocked = self.look_ahead(state, known, at)
                if blocked:
                    waits[self.names[at]] = blocked
        return waits

    def finished(self, state: WorkloadState) -> bool:
        """Whether every run that has asked, or whose turn to ask will come, has ended."""
        return not any(
            progress not in (IDLE, ENDED) or (progress == IDLE and self._will_ask(state, at))
            for at, progress in enumerate(state.progress)
        )

    def unfinished(self, state: WorkloadState) -> list[str]:
        """The runs that have asked and not ended."""
        return [name for name, at in zip(self.names, state.progress, strict=True) if at not in (IDLE, ENDED)]

    def parent_now(self, state: WorkloadState, run: str) -> str | None:
        """The run's parent, as long as that has not ended."""
        at = self.scenario.index[run]
        parent = self.parents[at]
        if at in self.lives and state.progress[at] != IDLE:
            parent = state.under[self.lives.index(at)]
        return None if parent is None or state.progress[parent] == ENDED else self.names[parent]

    def lender(self, state: WorkloadState, known: Known, at: int) -> int | None:
        """The run that a live run asks under (R10), or that a simpler reading names; see `LENDERS`."""
        how, mounter, given = self.scenario.runs[at].live, self.mounters[at], self.parents[at]
        candidates: list[int | None] = [mounter] if how == "mounter" else [given] if how == "given" else []
        if how == "waiter":
            lineage = []
            above = mounter
            while above is not None:
                lineage.append(above)
                above = self.mounters[above]
            others = [other for other in range(len(self.names)) if other not in lineage]
            candidates = [other for other in (*lineage, *others) if self._waits_for(other, at)]
            candidates.append(mounter)
        for candidate in candidates:
            if candidate is None or state.progress[candidate] < RESUMED:
                continue
            run = known.get(self.names[candidate])
            if run is not None and run.phase == "in_flight":
                return candidate
        return None

    def _waits_for(self, waiter: int, run: int) -> bool:
        """Whether it is in the body of one run to wait for another to end."""
        name = self.names[run]
        return any(op.verb in ("wait", "await") and op.name == name for op in self._bodies[waiter] or ())

    # -- locks ---------------------------------------------------------------------------------------------------

    def take(self, state: WorkloadState, known: Known, at: int, name: str) -> WorkloadState:
        """The run goes into a lock, or queues for it."""
        lock = self._lock_at[name]
        progress = list(state.progress)
        inside, queue = state.locks[lock]
        if len(inside) < self._room[lock]:
            progress[at] = self.passed(state, known, at)
            entry = ((*inside, at), queue)
        else:
            entry = (inside, (*queue, at))
        locks = (*state.locks[:lock], entry, *state.locks[lock + 1 :])
        return state._replace(progress=tuple(progress), locks=locks)

    def drop(self, state: WorkloadState, known: Known, at: int, name: str) -> WorkloadState:
        """The run leaves a lock by a step of its body."""
        progress = list(state.progress)
        progress[at] = self.passed(state, known, at)
        locks = self._out_of(state.locks, self._lock_at[name], at, progress)
        return state._replace(progress=tuple(progress), locks=locks)

    def _out_of(self, locks: Locks, lock: int, at: int, progress: list[int]) -> Locks:
        """The run gives up one place at a lock; whoever queued first goes in, past its own take."""
        inside, queue = locks[lock]
        if at in inside:
            place = inside.index(at)
            inside = (*inside[:place], *inside[place + 1 :])
        if queue and len(inside) < self._room[lock]:
            first, *rest = queue
            progress[first] = self._past_take(first, progress[first], lock)
            inside, queue = (*inside, first), tuple(rest)
        return (*locks[:lock], (inside, queue), *locks[lock + 1 :])

    def _past_take(self, at: int, progress: int, lock: int) -> int:
        body = self._bodies[at]
        assert body is not None
        take = Op("take", self.lock_names[lock])
        return RESUMED + body.index(take, progress - RESUMED) + 1

    def out_of_locks(self, locks: Locks, at: int, progress: list[int]) -> Locks:
        """The run has ended: it leaves every queue for a lock, and gives up all its places."""
        for lock, (inside, queue) in enumerate(locks):
            if at in queue:
                left = tuple(other for other in queue if other != at)
                locks = (*locks[:lock], (inside, left), *locks[lock + 1 :])
            while at in locks[lock][0]:
                locks = self._out_of(locks, lock, at, progress)
        return locks
