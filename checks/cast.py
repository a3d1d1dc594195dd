"""The runs of a scenario, followed step by step: what each has done, what it can do next, what it waits for.

For replays. Written from the meaning of the notation (docs/scenarios.md) and not from the explorer's bodies, so that a
trace is judged by other code than the one that found it. It knows nothing of slots: what it needs of the pool it reads
off a view, a state in the common form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from slotcheck.pymodel.conduct import Conduct
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.scenario import Act, Op, Scenario

__all__ = ["Cast", "Done"]

#: What is done, as in a trace: the verb, then the run (or the cap), then the event or the lock.
Done: TypeAlias = tuple[Any, ...]

_DEFAULT = (Op("spawn all"), Op("wait all"))
_ENDS = ("finish", "finish early", "raise", "cancel")


class Cast:
    """All runs of one scenario, at one moment.

    Args:
        scenario: what they play.
        conduct: what the rule of the pool makes them do besides; None for nothing.
    """

    def __init__(self, scenario: Scenario, conduct: Conduct | None = None) -> None:
        self.scenario = scenario
        self.conduct = conduct or Conduct()
        self.specs = {run.name: run for run in scenario.runs}
        #: As `Moment.progress` has it.
        self.progress = {run.name: "idle" for run in scenario.runs}
        self.events: set[str] = set()
        #: For each lock or gate who is in, and who queues.
        self.locks: dict[str, tuple[list[str], list[str]]] = {
            op.name: ([], []) for run in scenario.runs for op in run.body or () if op.verb == "take" and op.name
        }
        self.resizes = 0
        #: How many acts of the script are done.
        self.turn = 0
        self._at = {run.name: 0 for run in scenario.runs}  # the step of its body that each stands before

    # -- what can be done ------------------------------------------------------------------------------------------

    def enabled(self, view: State) -> list[Done]:
        """All that can happen now."""
        steps = [*self.body_steps(view), *self._acts(view)]
        return self._as_scripted(steps, view) if self.scenario.script else steps

    def body_steps(self, view: State) -> list[Done]:
        """What the runs can do by themselves, whatever the script keeps back."""
        known = {run.run: run for run in view.runs}
        steps: list[Done] = []
        for name in self.specs:
            steps += self._steps(name, known)
        return steps

    def goes_on(self, view: State) -> bool:
        """Whether some run can do something by itself. That the script keeps a root's ask back lets nobody go on."""
        later = self._later()
        for step in self.body_steps(view):
            is_root = step[0] == "ask" and self.specs[step[1]].parent is None
            if not is_root or ("ask", step[1]) not in later:
                return True
        return any(_is(self._due(), step) for step in self.enabled(view))

    def unfinished(self) -> list[str]:
        """The runs that have asked and are not over, and those that a body will ask for."""
        return [name for name, now in self.progress.items() if now in ("asked", "resumed") or self._will_ask(name)]

    def waits(self, view: State) -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
        """What each resumed run waits for besides slots: kind, name, and the runs any one of which can end the wait."""
        known = {run.run: run for run in view.runs}
        found = {name: self._blocked(name, known) for name, now in self.progress.items() if now == "resumed"}
        return {name: waits for name, waits in found.items() if waits}

    def is_below(self, run: str, above: str) -> bool:
        """Whether a run is below another, up a way of parents that are not over."""
        at: str | None = run
        while at is not None:
            parent = self.specs[at].parent
            at = None if parent is None or self.progress[parent] == "ended" else parent
            if at == above:
                return True
        return False

    def call_of(self, step: Done) -> tuple[Any, ...] | None:
        """The call that a step makes to the pool; None if the pool does not hear of it."""
        verb = step[0]
        if verb in ("ask", "ask late"):
            run = step[1]
            parent = self.specs[run].parent
            late = verb == "ask late" or self.specs[run].late
            if parent is None or not late:
                return "ask", run, parent, None
            while (above := self.specs[parent].parent) is not None:
                parent = above
            return "ask", run, None, (parent,)
        if verb in _ENDS:
            return ("cancel" if verb == "cancel" else "finish"), step[1]
        return tuple(step) if verb in ("resize", "give_back", "retake", "help") else None

    # -- doing it --------------------------------------------------------------------------------------------------

    def do(self, step: Done, *, declined: bool = False) -> None:
        """Take a step that is enabled. ``declined``: the pool has answered no to the run for good."""
        if _is(self._due(), step):
            self.turn += 1
        verb, run = step[0], step[1]
        if verb == "resize":
            self.resizes += 1
        elif verb in ("ask", "ask late"):
            self.progress[run] = "ended" if declined else "asked"
            parent = self.specs[run].parent
            if (
                verb == "ask"
                and parent is not None
                and not self.specs[run].late
                and self._op(parent) == Op("spawn", run)
            ):
                self._at[parent] += 1
        elif verb == "resume":
            self.progress[run] = "resumed"
        elif verb in _ENDS:
            self.progress[run] = "ended"
            for inside, queue in self.locks.values():
                queue[:] = [other for other in queue if other != run]
                inside[:] = [other for other in inside if other != run]
            for lock in self.locks:
                self._let_in(lock)
        elif verb == "take":
            self.locks[step[2]][1].append(run)
            self._let_in(step[2])
        elif verb == "drop":
            self.locks[step[2]][0].remove(run)
            self._at[run] += 1
            self._let_in(step[2])
        elif verb in ("work", "set"):
            self._at[run] += 1
            if verb == "set":
                self.events.add(step[2])
        for name, now in self.progress.items():
            if now == "resumed":
                self._pass(name)

    def _let_in(self, lock: str) -> None:
        """Whoever queued first goes in, as long as there is room, and goes on behind its take."""
        inside, queue = self.locks[lock]
        while queue and len(inside) < self.scenario.gates.get(lock, 1):
            run = queue.pop(0)
            inside.append(run)
            self._pass(run)
            self._at[run] += 1

    def _pass(self, run: str) -> None:
        """Go past what is done or over: such a wait stays over."""
        body = self._body(run)
        while self._at[run] < len(body):
            op = body[self._at[run]]
            over = (
                (op.verb == "spawn all" and not self._to_ask(run))
                or (op.verb in ("wait", "await", "wait all") and not self._awaited(run, op))
                or (op.verb == "need" and op.name in self.events)
                or (op.verb == "work" and self._at[run] == len(body) - 1)  # the last piece of work ends with the run
            )
            if not over:
                return
            self._at[run] += 1

    # -- one run ---------------------------------------------------------------------------------------------------

    def _body(self, run: str) -> tuple[Op, ...]:
        body = self.specs[run].body
        return _DEFAULT if body is None else body

    def _op(self, run: str) -> Op | None:
        body = self._body(run)
        return body[self._at[run]] if self._at[run] < len(body) else None

    def _own(self, run: str) -> list[str]:
        """The children that its body asks for."""
        return [spec.name for spec in self.scenario.runs if spec.parent == run and not spec.late]

    def _to_ask(self, run: str) -> list[str]:
        return [child for child in self._own(run) if self.progress[child] == "idle"]

    def _awaited(self, run: str, op: Op) -> list[str]:
        """The runs that this wait is for and that are not over."""
        if op.verb == "wait all":
            return [child for child in self._own(run) if self.progress[child] in ("asked", "resumed")]
        return [op.name] if op.name is not None and self.progress[op.name] != "ended" else []

    def _spawning(self, run: str, known: dict[str, Run]) -> list[str]:
        """With blocking spawn: the children that it waits to see admitted."""
        if not self.scenario.blocking_spawn:
            return []
        asked = [child for child in self._own(run) if self.progress[child] == "asked"]
        return [child for child in asked if child in known and known[child].phase == "waiting"]

    def _blocked(self, run: str, known: dict[str, Run]) -> list[tuple[str, str, tuple[str, ...]]]:
        spawning = self._spawning(run, known)
        if spawning:
            return [("admission", child, (child,)) for child in spawning]
        op = self._op(run)
        if op is None or (op.name is None and op.verb != "wait all"):
            return []
        if op.verb in ("wait", "await", "wait all"):
            return [("run", other, (other,)) for other in self._awaited(run, op)]
        assert op.name is not None
        if op.verb == "need":
            return [("event", op.name, tuple(self._setters(op.name)))]
        if op.verb == "take" and run in self.locks[op.name][1]:
            return [("lock", op.name, tuple(self.locks[op.name][0]))]
        return []

    def _setters(self, event: str) -> Iterator[str]:
        for name, now in self.progress.items():
            sets = Op("set", event) in self._body(name)[self._at[name] :]
            if now != "ended" and sets and (now != "idle" or self.scenario.late_children or self._will_ask(name)):
                yield name

    def _will_ask(self, run: str) -> bool:
        """Whether a run that has not asked will do so by itself."""
        if self.progress[run] != "idle":
            return False
        parent = self.specs[run].parent
        if parent is None:
            return True
        if self.specs[run].late:
            return self.progress[parent] != "idle" or self._will_ask(parent)
        if self.progress[parent] == "ended" or (self.progress[parent] == "idle" and not self._will_ask(parent)):
            return False
        rest = self._body(parent)[self._at[parent] :]
        return Op("spawn all") in rest or Op("spawn", run) in rest

    def _steps(self, run: str, known: dict[str, Run]) -> Iterator[Done]:
        now, parent = self.progress[run], self.specs[run].parent
        if now == "idle":
            if parent is None or (self.specs[run].late and self.progress[parent] == "ended"):
                yield "ask", run
        elif now == "asked":
            if run in known and known[run].phase != "waiting":
                yield "resume", run
        elif now == "resumed":
            steps = [] if self._blocked(run, known) else list(self._next(run))
            yield from self._conducted(run, steps, known)

    def _next(self, run: str) -> Iterator[Done]:
        """What its body says next, if that is no wait that is not over."""
        op = self._op(run)
        if op is None:
            yield "finish", run
        elif op.verb == "spawn all":
            yield from (("ask", child) for child in self._to_ask(run))
        elif op.verb == "spawn":
            yield "ask", op.name
        elif op.verb in ("work", "raise"):
            yield op.verb, run
        else:
            yield op.verb, run, op.name

    def _conducted(self, run: str, steps: list[Done], known: dict[str, Run]) -> list[Done]:
        """Its steps under a rule that makes it give its slot back, or help, while it waits for a run."""
        conduct, seen = self.conduct, known.get(run)
        if not conduct.acts or seen is None:
            return steps
        if steps:
            if conduct.gives_back and seen.token == "none":
                return [("retake", run)] if seen.phase == "in_flight" else []
            return [] if conduct.stacked and seen.lent else steps
        waits_for_run = any(kind == "run" for kind, _, _ in self._blocked(run, known))
        if waits_for_run and seen.token != "none" and not seen.lent:
            if conduct.gives_back:
                return [("give_back", run)]
            if conduct.helps and any(other.phase == "waiting" for other in known.values()):
                return [("help", run)]
        return []

    # -- from outside ----------------------------------------------------------------------------------------------

    def _acts(self, view: State) -> Iterator[Done]:
        """Acts of the environment."""
        known = {run.run: run for run in view.runs}
        for name, now in self.progress.items():
            if now in ("asked", "resumed") and self._may("cancel", name):
                yield "cancel", name
            if now == "resumed" and self._may("finish", name) and ("finish", name) not in self._steps(name, known):
                yield "finish early", name
            parent = self.specs[name].parent
            late = self.scenario.late_children and not self.specs[name].late
            if now == "idle" and late and parent is not None and self.progress[parent] == "ended":
                yield "ask late", name
        if self.resizes < self.scenario.resizes:
            for act in self.scenario.environment:
                if act.verb == "resize" and act.cap != view.cap:
                    yield "resize", act.cap

    def _may(self, verb: str, run: str) -> bool:
        return any(act.verb == verb and act.run in (None, run) for act in self.scenario.environment)

    # -- the script ------------------------------------------------------------------------------------------------

    def _due(self) -> Act | None:
        script = self.scenario.script
        return script[self.turn] if self.turn < len(script) else None

    def _later(self) -> set[tuple[str, Any]]:
        return {_key(act) for act in self.scenario.script[self.turn :]}

    def _as_scripted(self, steps: list[Done], view: State) -> list[Done]:
        """Without what the script has for later, and with the act whose turn it is, if it can happen now."""
        later, act = self._later(), self._due()
        allowed = [step for step in steps if (_plain(step[0]), step[1]) not in later]
        if act is None:
            return allowed
        if act.verb == "resize":
            return [*allowed, ("resize", act.cap)]
        assert act.run is not None
        phase = self._phase(act.run, view)
        if act.when is not None and act.when != phase:
            return allowed
        if act.verb == "cancel":
            return [*allowed, ("cancel", act.run)] if phase is not None else allowed
        if act.verb == "finish" and phase in ("granted", "resumed"):
            known = {run.run: run for run in view.runs}
            through = ("finish", act.run) in self._steps(act.run, known)
            return [*allowed, ("finish" if through else "finish early", act.run)]
        return allowed + [step for step in steps if _is(act, step)]

    def _phase(self, run: str, view: State) -> str | None:
        now = self.progress[run]
        if now == "resumed":
            return "resumed"
        if now != "asked":
            return None
        return "granted" if any(seen.run == run and seen.phase == "in_flight" for seen in view.runs) else "waiting"


def _plain(verb: str) -> str:
    return {"finish early": "finish", "ask late": "ask", "raise": "finish"}.get(str(verb), str(verb))


def _key(act: Act) -> tuple[str, Any]:
    return act.verb, act.cap if act.verb == "resize" else act.run


def _is(act: Act | None, step: Done) -> bool:
    """Whether a step is the act of a script."""
    return act is not None and _key(act) == (_plain(step[0]), step[1])
