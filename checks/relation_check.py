"""The proof is about the code: the relation of `slotcheck.proofs` against the real pool, edge for edge.

On whole graphs of small forests, in both directions. Every edge that the pool takes must satisfy the relation of an
action that its call can be; and every next state that the relation allows for a call must be the one that the pool
takes, so with FIFO order there is exactly one. With another order R6 leaves the choice of the waiter open in the
relation, so there the pool's next state is one of those allowed. Where the rules refuse a call the relation must allow
nothing. The relation is evaluated in plain Python (`slotcheck.proofs.evaluate`); on a sample of the edges the solvers
are asked the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, TypeAlias

from slotcheck.checks.conformance import calls_without_effect
from slotcheck.checks.facts import Facts
from slotcheck.checks.generated import forests
from slotcheck.checks.relation_graph import Edge, edges_of
from slotcheck.checks.subject import AnySubject
from slotcheck.checks.tree_text import tree_text
from slotcheck.proofs.action import Action
from slotcheck.proofs.evaluate import Structure, Value, compile_formula, compile_step
from slotcheck.proofs.invariant import CONJUNCTS
from slotcheck.proofs.relation import ACTIONS
from slotcheck.proofs.vocabulary import RUN, SLOT
from slotcheck.pymodel.rules import Rule, State
from slotcheck.pymodel.scenario import RunSpec

__all__ = [
    "CAPS",
    "Comparison",
    "Steps",
    "compare",
    "compare_forest",
    "seen",
    "steps_of",
    "structure_of",
    "successors",
]

CAPS = (1, 2, 3)

#: What can be told from outside: cap, taken, the known runs, the queue, the children with a slot by admission.
Seen: TypeAlias = tuple[int, int, frozenset[tuple[Any, ...]], tuple[Any, ...], frozenset[tuple[Any, ...]]]


@dataclass
class Comparison:
    """What was compared, and what differed."""

    forests: int = 0
    states: int = 0
    edges: int = 0
    refused: int = 0
    #: Next states that the relation allows for the calls made; equal to `edges` if it never leaves a choice.
    allowed: int = 0
    #: Edges by the action that they are: every one fires.
    fired: Counter[str] = field(default_factory=Counter)
    #: Calls that are several steps one after another (a cap that changes by more than one).
    composed: int = 0
    #: Calls that change nothing (a `try_ask` that would have to wait, a cap that is what it was).
    idle: int = 0
    #: Conjuncts of the invariant found true, state by state.
    conjuncts: int = 0
    #: Bounds found true as numbers, state by state.
    bounds: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        """Count the other one in."""
        for name in ("forests", "states", "edges", "refused", "allowed", "composed", "idle", "conjuncts", "bounds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.fired.update(other.fired)
        self.differences += other.differences


def compare(
    subject: AnySubject,
    reference: Rule,
    runs: int,
    *,
    exact: bool,
    relend: bool,
    actions: Mapping[str, Action] = ACTIONS,
) -> Iterator[Comparison]:
    """Compare on all forests of so many runs, one after another.

    Args:
        subject: the pool.
        reference: the rule of the reference model, which must take the same edges.
        runs: how many runs each forest has.
        exact: whether the subject's order is FIFO, so that the relation must allow nothing else.
        relend: whether R13 is on.
        actions: the relation.
    """
    for forest in forests(runs, roots=runs):
        yield compare_forest(subject, reference, forest, exact=exact, relend=relend, actions=actions)


def compare_forest(
    subject: AnySubject,
    reference: Rule,
    forest: tuple[RunSpec, ...],
    *,
    exact: bool,
    relend: bool,
    caps: Sequence[int] = CAPS,
    actions: Mapping[str, Action] = ACTIONS,
) -> Comparison:
    """Compare on one forest."""
    found = Comparison(forests=1)
    names = [spec.name for spec in forest]
    told = f"{tree_text(forest)}{', relend' if relend else ''}"
    steps = steps_of(tuple(actions.items()))
    before: Any = None
    for edge in edges_of(subject, forest, caps, relend=relend):
        if edge.before is not before:
            before = edge.before
            start = structure_of(before, names, fifo=exact)
            _judge_state(found, start, told, before)
            _judge_refusals(found, steps, before, start, names, told)
        _judge_edge(found, steps, edge, start, names, reference, exact, told)
        if len(found.differences) >= _MOST_TOLD:
            break
    return found


_MOST_TOLD = 5  # differences of one forest: more say no more


def _judge_state(found: Comparison, start: Structure, told: str, state: State) -> None:
    """The invariant, conjunct by conjunct; and the bounds as numbers, which the proof states as injections."""
    found.states += 1
    facts = Facts(state)
    levels = max((run.level for run in state.runs), default=0)
    bounds = {
        "UnlentWithinCap": len(facts.unlent) == state.taken,
        "LevelWithinCap": max(facts.per_level.values(), default=0) <= state.taken,
        "InFlightWithinCapTimesLevels": len(facts.in_flight) <= state.taken * levels,
        "NoSlotLeak": len(facts.heads) == state.taken,
    }
    found.bounds += sum(bounds.values())
    wrong = [name for name, kept in bounds.items() if not kept]
    found.differences += [f"{told}: {name} as a number is false in a state of the pool: {state}" for name in wrong]
    for name, conjunct in _conjuncts():
        if conjunct(start):
            found.conjuncts += 1
        else:
            found.differences.append(f"{told}: {name} is false in a state of the pool: {state}")


def _judge_refusals(
    found: Comparison, steps: Steps, state: State, start: Structure, names: Sequence[str], told: str
) -> None:
    """What the rules refuse (for another reason than its job, of which the relation knows nothing) is no step."""
    for (verb, *args), code in calls_without_effect(Facts(state), names):
        if code in ("job_not_leaf", "bad_cap") or any(arg == "~" for arg in args[:1]):
            continue
        if len(args) > 1 and args[1] == "~":
            continue
        found.refused += 1
        allowed = list(_taken(steps, verb, args, start, names))
        if allowed:
            found.differences.append(
                f"{told}: {verb}{tuple(args)} must do nothing, but the relation has {allowed[0][0]}"
            )


def _judge_edge(
    found: Comparison,
    steps: Steps,
    edge: Edge,
    start: Structure,
    names: Sequence[str],
    reference: Rule,
    exact: bool,
    told: str,
) -> None:
    found.edges += 1
    call = f"{told}: {edge.verb}{edge.args}"
    after = seen(edge.after, names)
    if getattr(reference, edge.verb)(edge.before, *edge.args).state != edge.after:
        found.differences.append(f"{call}: the pool and the reference rule differ")
    if edge.verb == "resize":
        allowed = successors_of_resize(steps, start, edge.args[0], edge.before.cap, names, found)
    else:
        ways = list(_taken(steps, edge.verb, edge.args, start, names))
        allowed = {seen_in(way, names): name for name, way in ways}
        if not ways and edge.verb == "try_ask":
            allowed = {seen(edge.before, names): "nothing"}
            found.idle += 1
    found.allowed += len(allowed)
    if after not in allowed:
        found.differences.append(
            f"{call}: no action of the relation leads to {edge.after}; it has {list(allowed.values())}"
        )
        return
    if allowed[after] != "nothing":
        found.fired[allowed[after]] += 1
    if exact and len(allowed) > 1:
        others = [name for state, name in allowed.items() if state != after]
        found.differences.append(f"{call}: the relation also allows {others}")


def successors_of_resize(
    steps: Steps, start: Structure, cap: int, now: int, names: Sequence[str], found: Comparison
) -> dict[Seen, str]:
    """All that as many raises or lowers, one after another, lead to."""
    verb = "raise" if cap > now else "lower"
    reached = {seen_in(start, names): (start, "nothing")}
    found.composed += abs(cap - now) > 1
    found.idle += cap == now
    for _ in range(abs(cap - now)):
        level: dict[Seen, tuple[Structure, str]] = {}
        for structure, _name in reached.values():
            for name, after in _taken(steps, verb, (), structure, names):
                level.setdefault(seen_in(after, names), (after, name))
        reached = level
    return {state: name for state, (_, name) in reached.items()}


# -- the relation as a function ----------------------------------------------------------------------------------

Steps: TypeAlias = Mapping[str, list[tuple[Action, Any]]]


@cache
def _conjuncts() -> tuple[tuple[str, Any], ...]:
    return tuple((name, compile_formula(conjunct.formula)) for name, conjunct in CONJUNCTS.items())


@lru_cache(maxsize=8)
def steps_of(actions: tuple[tuple[str, Action], ...]) -> Steps:
    """Each action as a function, by the verb of the call (a resize is raises or lowers)."""
    by_verb: dict[str, list[tuple[Action, Any]]] = {}
    for name, action in actions:
        step = compile_step(action.parameters, list(action.guard.values()), action.updates)
        for verb in action.verbs if action.verbs != ("resize",) else (name.partition("-")[0],):
            by_verb.setdefault(verb, []).append((action, step))
    return by_verb


def successors(
    verb: str, args: Sequence[Any], start: Structure, names: Sequence[str], actions: Mapping[str, Action] = ACTIONS
) -> list[tuple[str, Structure]]:
    """All that the relation allows a call to do: the action and the next state."""
    return list(_taken(steps_of(tuple(actions.items())), verb, args, start, names))


def _taken(
    steps: Steps, verb: str, args: Sequence[Any], start: Structure, names: Sequence[str]
) -> Iterator[tuple[str, Structure]]:
    given: dict[str, Value] = {}
    if args:
        given["run"] = names.index(args[0])
        above = args[1] if len(args) > 1 else None
        if verb in ("ask", "try_ask"):
            given["below"] = above is not None
            given["above"] = 0 if above is None else names.index(above)
    for action, step in steps[verb]:
        if action.name == "ask-on-loan" and not given["below"]:
            continue  # it always has a parent
        for _, updated in step(start, given):
            yield action.name, start.after(updated)


# -- a view as a structure, and back -----------------------------------------------------------------------------


def structure_of(state: State, names: Sequence[str], *, fifo: bool) -> Structure:
    """A view as a structure: run i is ``names[i]``, and the ghosts are what the chains say.

    With FIFO order `before` is the order of arrival. Otherwise it holds of every pair: then every waiter is one that
    the order may pick, as it is under all total orders taken together.
    """
    at = {name: place for place, name in enumerate(names)}
    runs = {at[run.run]: run for run in state.runs}
    everyone = range(len(names))
    heads = sorted(place for place, run in runs.items() if run.token == "pool")
    borrowers = {at[run.parent]: place for place, run in runs.items() if run.token == "loan" and run.parent is not None}
    slots = max(state.cap, state.taken, *CAPS)
    slot, tip, top = [0] * len(names), [0] * slots, [0] * slots
    for number, head in enumerate(heads):
        top[number] = end = head
        slot[end] = number
        while end in borrowers:
            end = borrowers[end]
            slot[end] = number
        tip[number] = end
    queue = {at[run]: place for place, run in enumerate(state.waiting)}
    arrived = [[x in queue and y in queue and queue[x] < queue[y] for y in everyone] for x in everyone]
    admitted = [[False] * len(names) for _ in names]
    for _, line in state.children:
        for place, run in enumerate(line):
            for later in line[place + 1 :]:
                admitted[at[run]][at[later]] = True

    def of(field: str, value: object) -> list[bool]:
        return [place in runs and getattr(runs[place], field) == value for place in everyone]

    return Structure(
        {RUN.name: len(names), SLOT.name: slots},
        {
            "waiting": of("phase", "waiting"),
            "in_flight": of("phase", "in_flight"),
            "parked": of("phase", "parked"),
            "pool": of("token", "pool"),
            "loan": of("token", "loan"),
            "lent": of("lent", True),
            "child": [place in runs and runs[place].parent is not None for place in everyone],
            "parent": [at.get(runs[place].parent or "", 0) if place in runs else 0 for place in everyone],
            "level": [runs[place].level if place in runs else 0 for place in everyone],
            "levels": max((run.level for run in runs.values()), default=0),
            "arrived": arrived,
            "admitted": admitted,
            "taken": [number < len(heads) for number in range(slots)],
            "in_cap": [number < state.cap for number in range(slots)],
            "slot": slot,
            "tip": tip,
            "top": top,
            "borrower": [borrowers.get(place, 0) for place in everyone],
            "relend": state.relend,
            "before": arrived if fifo else [[True] * len(names)] * len(names),
        },
    )


def seen(state: State, names: Sequence[str]) -> Seen:
    """What of a view the relation speaks of: all but the jobs and their lines."""
    return (
        state.cap,
        state.taken,
        frozenset((run.run, run.phase, run.token, run.lent, run.level, run.parent) for run in state.runs),
        state.waiting,
        state.children,
    )


def seen_in(structure: Structure, names: Sequence[str]) -> Seen:
    """The same of a structure."""
    value = structure.values
    runs: list[tuple[Any, ...]] = []
    children: dict[str, list[int]] = {}
    waiting, in_flight, parked, pool, loan = (value[key] for key in ("waiting", "in_flight", "parked", "pool", "loan"))
    for at, name in enumerate(names):
        phase = _PHASES[waiting[at] + 2 * in_flight[at] + 4 * parked[at]]
        token = _TOKENS[pool[at] + 2 * loan[at]]
        if not phase and token == "none":
            continue
        above = names[value["parent"][at]] if value["child"][at] else None
        runs.append((name, phase, token, value["lent"][at], value["level"][at], above))
        if above is not None and token != "none":
            children.setdefault(above, []).append(at)
    queue = [at for at, waits in enumerate(waiting) if waits]
    return (
        sum(value["in_cap"]),
        sum(value["taken"]),
        frozenset(runs),
        _stray([queue], value["arrived"]) or _in_line(queue, value["arrived"], names),
        frozenset(
            (above, _stray(children.values(), value["admitted"]) or _in_line(line, value["admitted"], names))
            for above, line in children.items()
        ),
    )


def _stray(lines: Collection[Sequence[int]], earlier: Value) -> tuple[str, ...]:
    """Something that equals no line if the relation holds of runs outside of these lines, too."""
    pairs = sum(len(line) * (len(line) - 1) // 2 for line in lines)
    return () if sum(map(sum, earlier)) == pairs else ("stray",)


#: By which of waiting, in flight, parked (which of pool, loan) are true; two at once equal nothing that a pool says.
_PHASES = ("", "waiting", "in_flight", "both", "parked", "both", "both", "all")
_TOKENS = ("none", "pool", "loan", "both")


def _in_line(members: Sequence[int], earlier: Value, names: Sequence[str]) -> tuple[str, ...]:
    """The members in the order of a relation; as a set if it is no total order, so that it equals no line."""
    if len(members) < 2:
        return tuple([names[at] for at in members])
    line = sorted(members, key=lambda at: sum(earlier[other][at] for other in members))
    places = [sum(earlier[other][at] for other in members) for at in line]
    return tuple(names[at] for at in line) if places == list(range(len(line))) else ("no line", *map(str, places))
