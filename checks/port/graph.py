"""The state graph of a pool under all calls that the runs of a forest can make, by the reference rule.

Nothing here is a workload: runs have no bodies, and a run that has ended may be asked again, as the rules allow. So a
state is a pool's state and nothing more, every call is possible wherever its run and parent are, and from every state
there is a way back to the empty pool: one walk can take every edge (tour.py).

States that differ only by an exchange of siblings with equal subtrees are one, kept as the first of them that was
found. An edge tells how the runs of the state it leads to are named there: so a walk carries the names along, and
drives a port through real states and real answers without asking the rule again. A rule that looks at an id to decide
would be judged wrongly; the reference does not, and ports that do are found by random histories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import factorial, prod
from typing import Any, NamedTuple, TypeAlias

from slotcheck.checks.conformance import calls_without_effect
from slotcheck.checks.facts import Facts
from slotcheck.checks.port.messages import (
    Answer,
    Call,
    Order,
    Request,
    answer_by_rule,
    answer_of,
    refusal_of,
    request_of,
)
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.rules import Rule, Run, State
from slotcheck.pymodel.scenario import RunSpec

__all__ = [
    "Edge",
    "Family",
    "Graph",
    "Renaming",
    "build",
    "renamed_request",
    "renamed_state",
    "with_nested_jobs",
    "with_shared_jobs",
]

#: What each run of one state is called in another one that differs from it by an exchange of siblings.
Renaming: TypeAlias = tuple[str, ...]

_NEEDED = ("ask", "finish")  # what every port has
_WITH_JOB = 4  # members of a call that can have a job, the last of them


class Family(NamedTuple):
    """What spans a graph."""

    specs: tuple[RunSpec, ...]
    order: Order
    relend: bool
    #: The cap to begin with, and, where `acts` has resize, the others to resize to.
    caps: tuple[int, ...]
    #: The features of the port that may be used.
    acts: frozenset[str]
    #: Whether a child may ask without a parent, in its root's job, while its parent is not in flight.
    late: bool = False
    #: Jobs to ask for, by root, and what they are called; the other roots ask without one.
    jobs: Mapping[str, tuple[str, ...]] = {}
    jobs_are: str = ""

    @property
    def name(self) -> str:
        """The forest and what is special about it."""
        told = [tree_text(self.specs)]
        if len(self.specs) > 1 and sum(spec.parent is None for spec in self.specs) > 1:
            told.append(self.order.order if self.order.order == "fifo" else self.order.tie)
        told += ["late children"] * self.late + [self.jobs_are] * bool(self.jobs) + ["relend"] * self.relend
        if "resize" not in self.acts:
            told.append(f"cap {self.caps[0]}")
        return ", ".join(told)


def with_nested_jobs(family: Family) -> Family:
    """Each root in a job of two names, of which the first two roots share the first."""
    roots = [spec.name for spec in family.specs if spec.parent is None]
    jobs = {root: ("g" if at < 2 else "h", root) for at, root in enumerate(roots)}
    return family._replace(jobs=jobs, jobs_are="nested jobs")


def with_shared_jobs(order: Order, relend: bool, caps: tuple[int, ...], acts: frozenset[str]) -> Iterator[Family]:
    """Four runs without a parent in two or three jobs: the fewest in which the orders tell themselves apart.

    Two in one job, and two others: of what is held. Three in one job, and one other: of whose turn it is.
    """
    family = Family(tuple(RunSpec(name, None) for name in "abcd"), order, relend, caps, acts)
    for told, sharing in (("two in one job", "ab"), ("three in one job", "abc")):
        yield family._replace(jobs=dict.fromkeys(sharing, ("g",)), jobs_are=told)


@dataclass(frozen=True, slots=True)
class Edge:
    """One call in one state, as its runs are named there."""

    request: Request
    answer: Answer
    target: int
    #: For each run of the forest what the run of the state it leads to that has its place is called here.
    renaming: Renaming


@dataclass
class Graph:
    """The states, by number from 0 (the empty pool), and their edges."""

    family: Family
    names: tuple[str, ...]
    states: list[State] = field(default_factory=list)
    #: For each state the calls that the rules allow.
    edges: list[list[Edge]] = field(default_factory=list)
    #: For each state the calls that change nothing: refused ones, and `try_ask` where nothing is free.
    still: list[list[tuple[Request, Answer]]] = field(default_factory=list)
    #: What states and edges (the refused calls too) are without the exchange of siblings.
    full_states: int = 0
    full_edges: int = 0

    @property
    def count(self) -> int:
        """All edges: of calls that do something, and of calls that change nothing."""
        return sum(map(len, self.edges)) + sum(map(len, self.still))


def build(rule: Rule, family: Family, tick: Callable[[], None] = lambda: None) -> Graph:
    """Explore the whole graph. ``tick`` is called once for each state, and may raise to end it."""
    forest = _Forest(family)
    graph = Graph(family, forest.names)
    initial: State = rule.initial(family.caps[0], order=family.order.order, tie=family.order.tie, relend=family.relend)
    seen = forest.seen(initial)
    known = {initial: seen}
    numbers = {seen.key: 0}
    symmetries = seen.stabiliser
    graph.states.append(initial)
    views = [seen]
    for number, state in enumerate(graph.states):  # grows
        tick()
        seen = views[number]
        edges: list[Edge] = []
        calls = forest.calls(state)
        for call in calls:
            if forest.named(call) in seen.stood_for:
                continue
            answer, after = answer_by_rule(rule, state, call)
            there = known.get(after)
            if there is None:
                there = known[after] = forest.seen(after)
            target = numbers.setdefault(there.key, len(graph.states))
            if target == len(graph.states):
                graph.states.append(after)
                views.append(there)
            renaming = _renaming(forest.names, views[target].places, there.places)
            edges.append(Edge(request_of(call), answer, target, renaming))
        still = forest.calls_without_effect(state)
        graph.edges.append(edges)
        graph.still.append(
            [(request_of(call), answer) for call, answer in still if forest.named(call) not in seen.stood_for]
        )
        weight = symmetries // seen.stabiliser
        graph.full_states += weight
        graph.full_edges += weight * (len(calls) + len(still))
    return graph


def renamed_request(request: Request, names: Mapping[str, str]) -> Request:
    """The request with runs called otherwise. Names that are no run's are left as they are."""
    renamed = dict(request)
    for member in ("run", "parent"):
        called = renamed.get(member)
        if called is not None:
            renamed[member] = names.get(called, called)
    if renamed.get("job"):
        renamed["job"] = [names.get(name, name) for name in renamed["job"]]
    return renamed


def renamed_state(state: State, names: Mapping[str, str]) -> State:
    """The state with runs called otherwise."""

    def job_of(job: Sequence[str]) -> tuple[str, ...]:
        return tuple([names.get(name, name) for name in job])

    return state._replace(
        runs=frozenset(
            [
                Run(names[run.run], *run[1:5], None if run.parent is None else names[run.parent], job_of(run.job))
                for run in state.runs
            ]
        ),
        waiting=tuple([names[run] for run in state.waiting]),
        children=frozenset([(names[run], tuple([names[child] for child in below])) for run, below in state.children]),
        lines=frozenset([(job_of(node), job_of(line)) for node, line in state.lines]),
    )


def _renaming(names: Sequence[str], kept: Sequence[str], here: Sequence[str]) -> Renaming:
    by_name = dict(zip(kept, here, strict=True))
    return tuple([by_name[name] for name in names])


class _Seen(NamedTuple):
    """A state with its siblings sorted."""

    key: Any
    #: The runs in an order that equal states share.
    places: tuple[str, ...]
    #: How many exchanges of siblings leave the state as it is.
    stabiliser: int
    #: Runs whose calls are, but for an exchange that leaves the state as it is, those of a sibling.
    stood_for: frozenset[str]


_PHASES = {"waiting": 1, "in_flight": 2, "parked": 3}
_TOKENS = {"none": 0, "pool": 1, "loan": 2}


class _Forest:
    """The forest of a family: its calls, and what its states look like whatever equal siblings are called."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self.names = tuple([spec.name for spec in family.specs])
        self._parents = {spec.name: spec.parent for spec in family.specs}
        self._below: dict[str | None, list[str]] = {}
        for spec in family.specs:
            self._below.setdefault(spec.parent, []).append(spec.name)
        self._jobs = {root: family.jobs.get(root, (root,)) for root in self._below[None]}
        self._roots = {name: name if parent is None else "" for name, parent in self._parents.items()}
        for name, parent in self._parents.items():  # parents stand before their children
            if parent is not None:
                self._roots[name] = self._roots[parent]
        # Roots of one job above theirs can be exchanged; where all ask without a job, all are below ().
        # The names of a job that stay what they are when roots are exchanged: all but a root's own.
        self._fixed = {root: tuple([name for name in job if name != root]) for root, job in self._jobs.items()}
        self._groups: dict[tuple[str, ...], list[str]] = {}
        for root, job in self._jobs.items():
            self._groups.setdefault(job[:-1], []).append(root)

    # -- calls ---------------------------------------------------------------------------------------------------

    def calls(self, state: State) -> list[Call]:
        """All that the runs of the forest can do in this state, refused calls aside."""
        acts, known = self._family.acts, {run.run: run for run in state.runs}
        calls: list[Call] = []
        for name in self.names:
            run = known.get(name)
            if run is None:
                asked = self._ask(name, known)
                if asked is not None:
                    calls += [("ask", *asked)] + [("try_ask", *asked)] * ("try_ask" in acts)
                continue
            if run.phase == "in_flight":
                calls.append(("finish", name))
            if run.phase != "parked" and "cancel" in acts:
                calls.append(("cancel", name))
        if "resize" in acts:
            calls += [("resize", cap) for cap in self._family.caps]
        return calls

    def _ask(self, name: str, known: Mapping[str, Run]) -> tuple[str, str | None, tuple[str, ...] | None] | None:
        parent = self._parents[name]
        if parent is None:
            return name, None, self._family.jobs.get(name)
        if parent in known and known[parent].phase == "in_flight":
            return name, parent, None
        return (name, None, self._jobs[self._roots[name]]) if self._family.late else None

    def calls_without_effect(self, state: State) -> list[tuple[Call, Answer]]:
        """What changes nothing here, with the answer that the rules demand."""
        return [
            (call, answer_of() if code is None else refusal_of(code))
            for call, code in calls_without_effect(Facts(state), self.names)
            if call[0] in _NEEDED or call[0] in self._family.acts
            if len(call) < _WITH_JOB or call[3] is None or "jobs" in self._family.acts
        ]

    def named(self, call: Call) -> str | None:
        """The run of this forest that a call is about: the one that calls or is asked under."""
        for name in call[1:3]:
            if name in self._parents:
                return str(name)
        return None

    # -- symmetry ------------------------------------------------------------------------------------------------

    def seen(self, state: State) -> _Seen:
        """The state with its siblings sorted."""
        known = {run.run: run for run in state.runs}
        waiting = {run: place for place, run in enumerate(state.waiting, 1)}
        admitted = {child: place for _, children in state.children for place, child in enumerate(children, 1)}
        lines = dict(state.lines)
        stood_for: set[str] = set()
        stabiliser = 1

        def sort(siblings: Sequence[str]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
            nonlocal stabiliser
            coded = sorted([code(name) for name in siblings])
            keys = tuple([key for key, _ in coded])
            if len(set(keys)) < len(keys):
                stabiliser *= prod(factorial(count) for count in Counter(keys).values())
                for (key, _), (other, places) in pairwise(coded):
                    if key == other:
                        stood_for.update(places)
            return keys, tuple([name for _, places in coded for name in places])

        def code(name: str) -> tuple[Any, tuple[str, ...]]:
            run = known.get(name)
            own: tuple[Any, ...] = (0,)
            if run is not None:
                own = (
                    _PHASES[run.phase], _TOKENS[run.token], run.lent, run.level, run.parent is None,
                    waiting.get(name, 0), admitted.get(name, 0),
                )  # fmt: skip
            if name in self._jobs:
                own = (*own, _place(lines, self._jobs[name]), self._fixed[name])
            keys, places = sort(self._below.get(name, ()))
            return (own, keys), (name, *places)

        keys: list[Any] = []
        places: list[str] = []
        for above, roots in self._groups.items():
            sorted_keys, sorted_places = sort(roots)
            keys.append((_place(lines, above) if above else 0, sorted_keys))
            places += sorted_places
        key = (state.cap, state.taken, tuple(keys))
        return _Seen(key, tuple(places), stabiliser, frozenset(stood_for))


def _place(lines: Mapping[tuple[str, ...], Sequence[str]], job: tuple[str, ...]) -> int:
    """Where a job stands in the line of the one above it, from 1; 0 if it does not."""
    line = lines.get(job[:-1], ())
    return line.index(job[-1]) + 1 if job[-1] in line else 0
