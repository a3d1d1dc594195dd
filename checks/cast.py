"""The runs of a scenario, followed step by step: what each has done, what it can do next, what it waits for.

For replays. Written from the meaning of the notation (docs/scenarios.md) and not from the explorer's bodies, so that a
trace is judged by other code than the one that found it. It knows nothing of slots and permits: what it needs of them
it reads off a view, a state in the common form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from slotcheck.pymodel.conduct import Conduct
from slotcheck.pymodel.rules import PermitState, Run, State
from slotcheck.pymodel.scenario import Act, Op, RunSpec, Scenario

__all__ = ["Cast", "Done", "Seen"]

#: What is done, as in a trace: the verb, then the run (or the cap), then the event or the lock.
Done: TypeAlias = tuple[Any, ...]

#: What can be seen of the pool, and of the permits where runs need them.
Seen: TypeAlias = State | PermitState

_DEFAULT = (Op("spawn all"), Op("wait all"))
_ENDS = ("finish", "finish early", "raise", "fail", "cancel")


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
        self.mounters = {run.name: run.parent for run in scenario.mounted}
        #: For each live run that has asked the run that it asked under.
        self.under: dict[str, str | None] = {}
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

    def enabled(self, view: Seen) -> list[Done]:
        """All that can happen now."""
        steps = [*self.body_steps(view), *self._acts(view)]
        return self._as_scripted(steps, view) if self.scenario.script else steps

    def body_steps(self, view: Seen) -> list[Done]:
        """What the runs can do by themselves, whatever the script keeps back."""
        known = {run.run: run for run in view.runs}
        steps: list[Done] = []
        for name in self.specs:
            steps += self._steps(name, view, known)
        return steps

    def goes_on(self, view: Seen) -> bool:
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

    def waits(self, view: Seen) -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
        """What runs wait for besides slots: kind, name, and the runs any one of which can end the wait."""
        known = {run.run: run for run in view.runs}
        found = {name: self._blocked(name, known) for name, now in self.progress.items() if now == "resumed"}
        for permit in view.permits if isinstance(view, PermitState) else ():
            for run in permit.queue:
                holders = () if permit.holder is None else (permit.holder,)
                found.setdefault(run, []).append(("permit", permit.component, holders))
        return {name: waits for name, waits in found.items() if waits}

    def is_below(self, run: str, above: str) -> bool:
        """Whether a run is below another, up a way of parents that are not over."""
        at: str | None = run
        while at is not None:
            parent = self.under.get(at, self.specs[at].parent)
            at = None if parent is None or self.progress[parent] == "ended" else parent
            if at == above:
                return True
        return False

    def call_of(self, step: Done, view: Seen) -> tuple[Any, ...] | None:
        """The call that a step makes here; None if the pool does not hear of it."""
        verb, run = step[0], step[1]
        permits = self.scenario.permits
        if verb in ("ask", "ask late"):
            parent, job = self._parent_and_job(step, view)
            if not permits:
                return "ask", run, parent, job
            spec = self.specs[run]
            # What its mounter is present with, the permits know; else it has to say whose lineage it is of.
            told = parent is not None and parent == self.mounters[run]
            return "enter", run, spec.component, spec.key, parent, job, None if told else self.scenario.lineage[run]
        if verb in ("raise", "fail"):
            return "fail" if permits else "finish", run
        if verb in _ENDS:
            return ("cancel" if verb == "cancel" else "finish"), run
        if verb == "resume":
            return ("resume", run) if self.specs[run].component is not None else None
        return tuple(step) if verb in ("resize", "give_back", "retake", "help") else None

    def _parent_and_job(self, step: Done, view: Seen) -> tuple[str | None, tuple[str, ...] | None]:
        spec = self.specs[step[1]]
        if spec.live is not None:
            return self._lender(spec.name, view), self.scenario.jobs[spec.name]
        if spec.parent is not None and (spec.late or step[0] == "ask late"):
            return None, self.scenario.jobs[spec.name]
        return spec.parent, spec.job

    def _lender(self, run: str, view: Seen) -> str | None:
        """Whose slot a live run may borrow (R10), or by a simpler reading; see `LENDERS`."""
        how = self.specs[run].live
        mounter = self.mounters[run]
        lineage: list[str] = []
        while how == "waiter" and (above := self.mounters[lineage[-1] if lineage else run]) is not None:
            lineage.append(above)
        others = [name for name in self.specs if name not in lineage]
        nearest = [name for name in (*lineage, *others) if self._is_to_wait_for(name, run)]
        named = {"waiter": (*nearest, mounter), "mounter": (mounter,), "given": (self.specs[run].parent,)}
        in_flight = {seen.run for seen in view.runs if seen.phase == "in_flight"}
        for name in named.get(how or "", ()):
            if name is not None and name in in_flight and self.progress[name] == "resumed":
                return name
        return None

    def _is_to_wait_for(self, waiter: str, run: str) -> bool:
        """Whether the one's body says that it waits for the other to end."""
        return any(op.verb in ("wait", "await") and op.name == run for op in self.specs[waiter].body or ())

    # -- doing it --------------------------------------------------------------------------------------------------

    def do(self, step: Done, before: Seen, after: Seen, *, declined: bool = False) -> None:
        """Take a step that is enabled.

        Args:
            step: the step.
            before: what was seen before it.
            after: what is seen once its call is answered.
            declined: whether the pool has answered no to the run for good.
        """
        if _is(self._due(), step):
            self.turn += 1
        verb, run = step[0], step[1]
        if verb == "resize":
            self.resizes += 1
        elif verb in ("ask", "ask late"):
            if self.specs[run].live is not None:
                self.under[run] = self._lender(run, before)
            self.progress[run] = "ended" if declined else "asked"
            parent = self.specs[run].parent
            by_its_parent = verb == "ask" and parent is not None and run in self._own(parent)
            if parent is not None and by_its_parent and self._op(parent) == Op("spawn", run):
                self._at[parent] += 1
        elif verb == "resume":
            self.progress[run] = self._resumed(run, after)
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

    def _resumed(self, run: str, after: Seen) -> str:
        """Where a run is once it has resumed: one of a component works, is over, or waits again."""
        if self.specs[run].component is None or not isinstance(after, PermitState):
            return "resumed"
        present = next((known for known in after.present if known.run == run), None)
        return "ended" if present is None else "resumed" if present.working else "asked"

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
        return [spec.name for spec in self.scenario.runs if spec.parent == run and not (spec.late or spec.live)]

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
        parent = self.mounters[run]
        if parent is None:
            return True
        if self.specs[run].late or self.specs[run].live:
            return self.progress[parent] != "idle" or self._will_ask(parent)
        if self.progress[parent] == "ended" or (self.progress[parent] == "idle" and not self._will_ask(parent)):
            return False
        rest = self._body(parent)[self._at[parent] :]
        return Op("spawn all") in rest or Op("spawn", run) in rest

    def _steps(self, run: str, view: Seen, known: dict[str, Run]) -> Iterator[Done]:
        now, spec = self.progress[run], self.specs[run]
        if now == "idle":
            mounter = self.mounters[run]
            above = None if mounter is None else self.progress[mounter]
            if above is None or (spec.late and above == "ended") or (spec.live and above in ("resumed", "ended")):
                yield "ask", run
        elif now == "asked":
            if self._may_resume(spec, view, known):
                yield "resume", run
        elif now == "resumed":
            steps = [] if self._blocked(run, known) else list(self._next(run))
            yield from self._conducted(run, steps, known)

    def _may_resume(self, spec: RunSpec, view: Seen, known: dict[str, Run]) -> bool:
        """Whether it has its slot; one of a component, whether it was handed its permit, and waits for no slot."""
        waits = spec.name in known and known[spec.name].phase == "waiting"
        if spec.component is None or not isinstance(view, PermitState):
            return spec.name in known and not waits
        return not waits and any((one.component, one.holder) == (spec.component, spec.name) for one in view.permits)

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

    def _acts(self, view: Seen) -> Iterator[Done]:
        """Acts of the environment."""
        known = {run.run: run for run in view.runs}
        for name, now in self.progress.items():
            if now in ("asked", "resumed") and self._may("cancel", name):
                yield "cancel", name
            if now == "resumed":
                through = ("finish", name) in self._steps(name, view, known)
                if self._may("finish", name) and not through:
                    yield "finish early", name
                if self._may("fail", name):
                    yield "fail", name
            spec = self.specs[name]
            parent = spec.parent
            late = self.scenario.late_children and not (spec.late or spec.live)
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

    def _as_scripted(self, steps: list[Done], view: Seen) -> list[Done]:
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
        if act.verb == "fail" and phase == "resumed":
            return [*allowed, ("fail", act.run)]
        if act.verb == "finish" and phase in ("granted", "resumed"):
            known = {run.run: run for run in view.runs}
            through = ("finish", act.run) in self._steps(act.run, view, known)
            return [*allowed, ("finish" if through else "finish early", act.run)]
        return allowed + [step for step in steps if _is(act, step)]

    def _phase(self, run: str, view: Seen) -> str | None:
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
