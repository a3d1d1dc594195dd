"""What a scenario's lines mean beyond their grammar: known runs, whose child is whose, caps of at least 1.

Every complaint carries the place of the word it is about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn, cast

from lark import Token, Tree

from slotcheck.checks.diagnosis import names as same_circle
from slotcheck.checks.notation import REPEATED, Source, listed, nearest_names, quoted
from slotcheck.checks.tree_text import numbered, tree_text
from slotcheck.pymodel.scenario import Act, Op, RunSpec, Scenario

__all__ = ["INVARIANTS", "OUTCOMES", "RULES", "Meaning"]

#: The rules that an ``expect`` line may name (SEMANTICS 6).
RULES = ("hold", "release", "retake", "per_level", "help", "help+inline", "refuse", "lend", "lend+relend")

#: The invariants that an ``expect`` line may name: those of SEMANTICS 4, Answers (a call that the rules allow is
#: answered), and Diagnosis (stuck outside the hypothesis of NoDeadlock, in a way that the scenario does not name).
INVARIANTS = (
    "UnlentWithinCap",
    "CapRespected",
    "InFlightWithinCapTimesLevels",
    "LevelWithinCap",
    "MaxInFlight",
    "OneChainPerSlot",
    "NoSlotLeak",
    "HeldMatches",
    "NoLostWakeUp",
    "FewestHeldFirst",
    "GrantsTold",
    "Answers",
    "Refused",
    "NoDeadlock",
    "Diagnosis",
    "AllFinish",
    "PermitOrder",
    "PermitExclusive",
    "NoPermitLost",
    "HolderPresent",
    "WorksUnderPermit",
    "MemoTrue",
    "NoDoubleWork",
    "EndedHoldsNoSlot",
    "PermitFirstCome",
    "EnterTakesNoSlot",
    "NoDeadlockWithPermits",
    "RelendLeavesNoIdle",
)

#: What an ``expect`` line may say in one word: all is well, nothing goes on as the ``diagnosis`` lines name it, the
#: rule answers no to some run, or what fails. A reason why nothing goes on may stand there too.
OUTCOMES = ("holds", "diagnosed", "refused", *INVARIANTS)

#: Most runs in one scenario. No exploration comes near it; without it ``x1..x999999999`` would eat the machine.
_MAX_RUNS = 100_000
_VERBS = {
    "SPAWN_CHILD": "spawn",
    "WAIT_CHILD": "wait",
    "AWAIT_RUN": "await",
    "NEED": "need",
    "SET": "set",
    "TAKE": "take",
    "DROP": "drop",
    "WORK": "work",
    "RAISE": "raise",
}

#: In which phases of its run an act of a script can fall. An act that is not here has no choice.
_WHEN = {"cancel": ("waiting", "granted", "resumed"), "finish": ("granted", "resumed"), "fail": ("resumed",)}

#: Keys judged before the others, since what bodies and keys may name depends on them.
_FIRST = ("late", "live", "component")

_RELEND = {"off": (False,), "on": (True,), "both": (False, True)}


@dataclass
class _Run:
    """A run while its scenario is being read."""

    token: Token
    parent: str | None
    children: list[str]
    body: tuple[Op, ...] | None = None
    body_line: int = 0
    late: bool = False
    job: tuple[str, ...] | None = None
    at_ms: int | None = None
    work_ms: int | None = None
    component: str | None = None
    key: str | None = None
    live: str | None = None
    mounter: str | None = None

    @property
    def asks_by_itself(self) -> bool:
        return self.late or self.live is not None


class Meaning:
    """Judges parsed lines against each other and makes the scenario of them, in the order of the file."""

    def __init__(self, source: Source, lines: list[Tree[Token]]) -> None:
        self.source = source
        self.lines = lines
        self.runs: dict[str, _Run] = {}
        #: All steps of all bodies.
        self.ops: set[Op] = set()
        self.gates: dict[str, int] = {}
        self.expect: dict[str, tuple[tuple[str, ...], ...]] = {}
        self.diagnoses: list[tuple[str, ...]] = []

    def scenario(self) -> Scenario:
        """The scenario, or the first error."""
        once = self._once()
        for key, example in (("tree", "r(a b)"), ("cap", "1")):
            if key not in once:
                self.source.fail_at_end(f"there is no '{key}' line", f"a line such as '{key}: {example}'")
        self._tree(cast("Tree[Token]", once["tree"].children[1]))
        for line in sorted(self.lines, key=lambda line: line.data not in _FIRST):
            if line.data in ("late", *REPEATED):
                getattr(self, f"_{line.data}")(line)
        self._locks_and_events()
        self._jobs_are_leaves()
        runs = tuple(_spec(name, run) for name, run in self.runs.items())
        return Scenario(
            name=Path(self.source.file).name.removesuffix(".scenario"),
            runs=runs,
            caps=self._caps(_tokens(once["cap"])[1:]),
            relend=_RELEND[_word(once, "relend", "off")],
            gates=self.gates,
            blocking_spawn=_word(once, "spawn", "free") == "blocks",
            environment=tuple(self._environment(once["environment"])) if "environment" in once else (),
            resizes=self._number(_tokens(once["resizes"])[1], "number of resizes") if "resizes" in once else 2,
            late_children=_word(once, "late_children", "no") == "yes",
            script=tuple(self._script(once["script"])) if "script" in once else (),
            expect=self.expect,
            diagnoses=tuple(self.diagnoses),
            title=_text(once, "title"),
            source=_text(once, "source"),
            tree=tree_text(runs),
        )

    def _once(self) -> dict[str, Tree[Token]]:
        """The lines whose key may stand once."""
        once: dict[str, Tree[Token]] = {}
        for line in self.lines:
            if line.data in REPEATED:
                continue
            if line.data in once:
                key, before = _tokens(line)[0], _tokens(once[line.data])[0]
                name = line.data.replace("_", " ")
                self.source.fail_at(key, f"'{name}' stands twice; it is in line {before.line} already")
            once[line.data] = line
        return once

    # -- trees and names of runs -------------------------------------------------------------------------------------

    def _tree(self, nodes: Tree[Token]) -> None:
        above: list[str] = []
        # No recursion: trees may be deeper than Python's stack. None on the stack closes the last bracket.
        stack: list[Tree[Token] | None] = [*reversed(_trees(nodes))]
        lineage: set[str] = set()
        while stack:
            node = stack.pop()
            if node is None:
                lineage.remove(above.pop())
                continue
            token = _tokens(node)[0]
            for name in self._names(token):
                if name in lineage:
                    self.source.fail_at(token, f"run {name} is below itself")
                if name in self.runs:
                    first = self.runs[name].token
                    self.source.fail_at(token, f"run {name} is named twice; first at {first.line}:{first.column}")
                if len(self.runs) == _MAX_RUNS:
                    self.source.fail_at(token, f"more than {_MAX_RUNS:,} runs")
                parent = above[-1] if above else None
                self.runs[name] = _Run(token, parent, [])
                if parent is not None:
                    self.runs[parent].children.append(name)
            below = _trees(node)
            if below:
                above.append(str(token))
                lineage.add(str(token))
                stack += [None, *reversed(_trees(below[0]))]

    def _names(self, token: Token) -> Iterator[str]:
        """The names that a token stands for: its own, or those that its range counts through."""
        if token.type != "RANGE":
            yield str(token)
            return
        first, last = str(token).split("..")
        one, two = numbered(first), numbered(last)
        if one is None or two is None or one[0] != two[0]:
            self.source.fail_at(
                token, f"the range {quoted(token)} does not count", "the same name with two numbers, such as x1..x8"
            )
        if one[1] > two[1]:
            self.source.fail_at(token, f"the range {quoted(token)} counts down", f"{last}..{first}")
        if two[1] - one[1] >= _MAX_RUNS:
            self.source.fail_at(token, f"more than {_MAX_RUNS:,} runs")
        for number in range(one[1], two[1] + 1):
            yield f"{one[0]}{number}"

    def _known(self, tokens: Iterable[Token]) -> Iterator[tuple[str, _Run, Token]]:
        """The runs that these tokens name."""
        for token in tokens:
            for name in self._names(token):
                if name not in self.runs:
                    nearest = nearest_names(name, self.runs) if len(self.runs) <= 1000 else ()
                    hint = f" (did you mean {nearest[0]}?)" if nearest else ""
                    self.source.fail_at(token, f"unknown run {quoted(name)}{hint}", "a run of the tree")
                yield name, self.runs[name], token

    def _late(self, line: Tree[Token]) -> None:
        for name, run, token in self._known(_tokens(_trees(line)[0])):
            if run.parent is None:
                self.source.fail_at(token, f"run {name} has no parent whose end it could come after", "a child")
            if run.asks_by_itself:
                self.source.fail_at(token, f"run {name} is {'late' if run.late else 'live'} already")
            run.late = True

    # -- components and live runs ------------------------------------------------------------------------------------

    def _component(self, line: Tree[Token]) -> None:
        component = str(_tokens(line)[1])
        for name, run, token in self._known(_tokens(_trees(line)[0])):
            if run.component is not None:
                self.source.fail_at(token, f"run {name} is a run of {run.component} already")
            run.component = component

    def _key(self, line: Tree[Token]) -> None:
        key = str(_tokens(line)[1])
        for name, run, token in self._known(_tokens(_trees(line)[0])):
            if run.component is None:
                self.source.fail_at(token, f"run {name} is of no component, so nothing remembers its key")
            if run.key is not None:
                self.source.fail_at(token, f"run {name} has the key {run.key} already")
            run.key = key

    def _live(self, line: Tree[Token]) -> None:
        lender = str(_tokens(line)[-1])
        for name, run, token in self._known(_tokens(_trees(line)[0])):
            if run.asks_by_itself:
                self.source.fail_at(token, f"run {name} is {'late' if run.late else 'live'} already")
            run.live = lender

    def _mounts(self, line: Tree[Token]) -> None:
        mounter = _tokens(line)[1]
        ((above, _, _),) = self._known([mounter])
        places = {name: place for place, name in enumerate(self.runs)}
        for name, run, token in self._known(_tokens(_trees(line)[0])):
            if run.live is None:
                self.source.fail_at(token, f"run {name} is not live: its parent in the tree mounts it", "a live run")
            if places[above] >= places[name]:
                self.source.fail_at(mounter, f"run {above} does not stand before {name} in the tree")
            if run.mounter is not None:
                self.source.fail_at(token, f"run {name} is mounted by {run.mounter} already")
            run.mounter = above

    # -- bodies ------------------------------------------------------------------------------------------------------

    def _body(self, line: Tree[Token]) -> None:
        names, steps = _trees(line)
        tokens = [_tokens(step) for step in _trees(steps)]
        ops = tuple(_op(step) for step in tokens)
        self.ops.update(ops)
        taken: Counter[str | None] = Counter()
        awaited: dict[str, Token] = {}
        family: list[tuple[Op, Token]] = []
        for op, step in zip(ops, tokens, strict=True):
            if op.verb in ("take", "drop"):
                taken[op.name] += 1 if op.verb == "take" else -1
                if taken[op.name] < 0:
                    self.source.fail_at(step[0], f"{op.name}.drop without {op.name}.take before it")
            elif op.verb == "await":
                awaited.update((name, token) for name, _, token in self._known([step[1]]) if name not in awaited)
            elif op.verb in ("spawn", "spawn all", "wait"):
                family.append((op, step[1]))
        after_raise = next((step for op, step in zip(ops, tokens[1:], strict=False) if op.verb == "raise"), None)
        if after_raise is not None:
            self.source.fail_at(after_raise[0], "nothing is done after 'raise'", "end of line")
        names_children = any(op.name is not None for op, _ in family)
        for name, run, token in self._known(_tokens(names)):
            if run.body is not None:
                self.source.fail_at(token, f"run {name} has a body already, in line {run.body_line}")
            if name in awaited:
                self.source.fail_at(awaited[name], f"run {name} cannot wait for itself")
            for child in run.children:
                if child in awaited:
                    self.source.fail_at(awaited[child], f"{child} is a child of {name}", f"'&{child}'")
            if run.children or names_children:
                self._family(name, run, family)
            run.body, run.body_line = ops, token.line or 0

    def _family(self, name: str, run: _Run, steps: list[tuple[Op, Token]]) -> None:
        """Judge the asks for children of a run's body, and the waits for one child each."""
        children = set(run.children)
        asked: set[str] = set()
        for op, token in steps:
            if op.name is None:
                new = [child for child in run.children if not self.runs[child].asks_by_itself]
            elif op.name not in children:
                self.source.fail_at(token, f"{op.name} is not a child of {name}", f"a child of {name}" * bool(children))
            elif self.runs[op.name].late:
                self.source.fail_at(token, f"{op.name} is late: it asks after the end of {name}")
            elif self.runs[op.name].live is not None:
                if op.verb == "spawn":
                    self.source.fail_at(token, f"{op.name} is live: it asks by itself")
                continue
            elif op.verb == "wait":
                if op.name not in asked:
                    self.source.fail_at(token, f"{name} waits for {op.name} before asking for it")
                continue
            else:
                new = [op.name]
            for child in new:
                if child in asked:
                    self.source.fail_at(token, f"{name} asks for {child} twice")
            asked.update(new)

    # -- jobs and times ----------------------------------------------------------------------------------------------

    def _job(self, line: Tree[Token]) -> None:
        path = tuple(str(token) for token in _tokens(line)[1:])
        for name, run, token in self._known(_tokens(_trees(line)[0])):
            if run.job is not None:
                self.source.fail_at(token, f"run {name} has a job already")
            run.job = path

    def _jobs_are_leaves(self) -> None:
        """Judge the jobs together: runs belong to leaf jobs, so a pool would refuse a run above or below another."""
        jobs: dict[str, tuple[str, ...]] = {}
        owners: dict[tuple[str, ...], str] = {}
        for name, run in self.runs.items():  # parents stand before their children
            own = run.parent is None or run.live is not None
            jobs[name] = job = run.job or ((name,) if own else jobs[run.parent or ""])
            owners.setdefault(job, name)
        for job, name in owners.items():
            for depth in range(1, len(job)):
                above = owners.get(job[:depth])
                if above is not None:
                    told = f"job {'/'.join(job)} of {name} lies below job {'/'.join(job[:depth])} of {above}"
                    token = self.runs[name].token
                    self.source.fail_at(token, told, "runs in leaf jobs only")

    def _asks_at(self, line: Tree[Token]) -> None:
        for name, run, token, number in self._timed(line, "at_ms"):
            if run.parent is not None:
                self.source.fail_at(token, f"run {name} asks when its parent does so for it", "a run without a parent")
            run.at_ms = number

    def _work(self, line: Tree[Token]) -> None:
        for _, run, _, number in self._timed(line, "work_ms"):
            run.work_ms = number

    def _timed(self, line: Tree[Token], field: str) -> Iterator[tuple[str, _Run, Token, int]]:
        """The runs of a line that gives them a time, and that time."""
        key, number = _tokens(line)
        if not re.fullmatch(r"[0-9]{1,9}", number):
            self.source.fail_at(number, f"{quoted(number)} is not a time", "a whole number of ms, 0 or more")
        for name, run, token in self._known(_tokens(_trees(line)[0])):
            if getattr(run, field) is not None:
                self.source.fail_at(token, f"run {name} has a time in a line '{key}' already")
            yield name, run, token, int(number)

    # -- gates, locks and events -------------------------------------------------------------------------------------

    def _gate(self, line: Tree[Token]) -> None:
        _, token, number = _tokens(line)
        if token in self.gates:
            self.source.fail_at(token, f"gate {token} stands twice")
        self.gates[str(token)] = self._number(number, "number of places at a gate")

    def _locks_and_events(self) -> None:
        """Judge what can be told only when all lines are known."""
        for line in self.lines:
            tokens = _tokens(line)
            if line.data == "gate" and Op("take", str(tokens[1])) not in self.ops:
                self.source.fail_at(tokens[1], f"no body takes gate {tokens[1]}")
            for reason in (line, *_trees(line)) if line.data in ("diagnosis", "expect") else ():
                self._reason_possible(_tokens(reason))

    def _reason_possible(self, tokens: list[Token]) -> None:
        last = tokens[-1]
        if last.type == "EVENT" and Op("need", str(last)) not in self.ops:
            self.source.fail_at(last, f"no body needs event {last}", f"a step '?{last}' in some body")
        if last.type == "OUTCOME" and last == "diagnosed" and not self.diagnoses:
            self.source.fail_at(last, "'diagnosed', but no 'diagnosis' line says what is found", "such a line")

    # -- numbers, acts, expectations -----------------------------------------------------------------------------------

    def _number(self, token: Token, what: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", token) or int(token) < 1:
            self.source.fail_at(token, f"{quoted(token)} is not a {what}", "an integer of 1 or more")
        return int(token)

    def _caps(self, tokens: list[Token]) -> tuple[int, ...]:
        caps: dict[int, None] = {}
        for token in tokens:
            cap = self._number(token, "cap")
            if cap in caps:
                self.source.fail_at(token, f"cap {cap} stands twice")
            caps[cap] = None
        return tuple(caps)

    def _environment(self, line: Tree[Token]) -> Iterator[Act]:
        for act in _trees(line):
            verb, target, *_ = tokens = _tokens(act)
            if act.data == "resize":
                yield from (Act("resize", cap=cap) for cap in self._caps(tokens[2:]))
            elif target.type == "STAR":
                yield Act(str(verb))
            else:
                yield from (Act(str(verb), name) for name, _, _ in self._known([target]))

    def _script(self, line: Tree[Token]) -> Iterator[Act]:
        for act in _trees(line):
            verb, *tokens = _tokens(act)
            when = None
            if tokens[-1].type == "PHASE":
                when = str(tokens[-1])
                possible = _WHEN.get(str(verb), ())
                if not possible:
                    self.source.fail_at(tokens[-2], f"'when' makes no sense with '{verb}'", "';' or end of line")
                if when not in possible:
                    expected = listed(f"'{phase}'" for phase in possible)
                    self.source.fail_at(tokens[-1], f"a run that is {when} cannot {verb}", expected)
            if act.data == "pinned_resize":
                yield Act("resize", cap=self._number(tokens[1], "cap"))
            else:
                for name, _, _ in self._known(tokens[:1]):
                    yield Act(str(verb), name, when=when)

    def _expect(self, line: Tree[Token]) -> None:
        _, rule = _tokens(line)
        if rule not in RULES:
            self._unknown(rule, "rule", RULES, f"one of {', '.join(RULES)}")
        if rule in self.expect:
            self.source.fail_at(rule, f"rule {rule} stands twice")
        outcomes: list[tuple[str, ...]] = []
        for outcome in map(_tokens, _trees(line)):
            first = outcome[0]
            if first.type == "OUTCOME" and first not in OUTCOMES:
                expected = "'holds', 'diagnosed', 'refused', an invariant's name, 'cycle' or 'never'"
                self._unknown(first, "outcome", OUTCOMES, expected)
            found = (str(first),) if first.type == "OUTCOME" else self._reason(outcome)
            if any(found == other or same_circle(found, other) for other in outcomes):
                self.source.fail_at(first, f"outcome {quoted(' '.join(found))} stands twice")
            if outcomes and ("holds",) in (found, *outcomes):
                self.source.fail_at(first, "'holds' stands alone: nothing else is found where all is well")
            outcomes.append(found)
        self.expect[str(rule)] = tuple(outcomes)

    def _unknown(self, token: Token, what: str, names: Iterable[str], expected: str) -> NoReturn:
        nearest = nearest_names(token, names)
        hint = f" (did you mean {nearest[0]}?)" if nearest else ""
        self.source.fail_at(token, f"unknown {what} {quoted(token)}{hint}", expected)

    def _diagnosis(self, line: Tree[Token]) -> None:
        self.diagnoses.append(self._reason(_tokens(line)[1:]))

    def _reason(self, tokens: list[Token]) -> tuple[str, ...]:
        """A circle of runs, or an event; `_locks_and_events` judges the event."""
        kind, *tokens = tokens
        if kind.type == "NEVER":
            return "never", str(tokens[0])
        circle: dict[str, None] = {}
        for name, _, token in self._known(tokens):
            if name in circle:
                self.source.fail_at(token, f"run {name} stands twice in the circle")
            circle[name] = None
        return "cycle", *circle


def _tokens(tree: Tree[Token]) -> list[Token]:
    return [child for child in tree.children if isinstance(child, Token)]


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in tree.children if not isinstance(child, Token)]


def _spec(name: str, run: _Run) -> RunSpec:
    spec = RunSpec(
        name,
        run.parent,
        run.body,
        run.late,
        run.job,
        component=run.component,
        key=run.key,
        live=run.live,
        mounter=run.mounter,
    )
    if run.at_ms is not None:
        spec = replace(spec, at_ms=run.at_ms)
    return spec if run.work_ms is None else replace(spec, work_ms=run.work_ms)


def _op(step: list[Token]) -> Op:
    """One step of a body: a verb and, after it or (a lock) before it, what it is about."""
    first, *rest = step
    if first.type == "LOCK":
        return Op(_VERBS[rest[0].type], str(first))
    verb = _VERBS[first.type]
    if not rest:
        return Op(verb)
    return Op(f"{verb} all") if rest[0].type == "STAR" else Op(verb, str(rest[0]))


def _word(once: dict[str, Tree[Token]], key: str, default: str) -> str:
    """The last word of a line that is one word long."""
    return str(_tokens(once[key])[-1]) if key in once else default


def _text(once: dict[str, Tree[Token]], key: str) -> str:
    """Free text, its lines joined."""
    return " ".join(token.rstrip() for token in _tokens(once[key])[1:]) if key in once else ""
