"""Fairness as numbers: how many pool slots go to others, at worst, before a job that waits gets one.

The space is closed: a few runs in a few jobs ask and finish for ever, in every order, at every moment, so that a job
can stream short runs. In it the states in which the judged job waits are a graph, its edges weighted by the pool slots
handed to other jobs. The worst case is its heaviest path; where a circle hands out a slot there is none, and the
circle is the witness.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import networkx as nx

from slotcheck.checks.facts import Facts
from slotcheck.checks.subject import AnySubject, view
from slotcheck.pymodel.rules import State

__all__ = ["Claim", "Overtaken", "Streams", "Worst", "claims", "worst_overtaking"]

Job: TypeAlias = tuple[str, ...]

#: A step, told: "ask a1", "finish b1: a2 gets the slot".
Step: TypeAlias = str


class Streams(NamedTuple):
    """A closed space: for each job how many runs it can have at once, the first one being judged; and the slots."""

    jobs: tuple[tuple[Job, int], ...]
    cap: int

    @property
    def judged(self) -> Job:
        return self.jobs[0][0]

    @property
    def told(self) -> str:
        """The space in words."""
        jobs = ", ".join(f"{'/'.join(job)} {runs}" for job, runs in self.jobs)
        return f"cap {self.cap}: {jobs}"


class Claim(NamedTuple):
    """A job's worst case under one order, and what the rules promise of it."""

    order: str
    tie: str | None
    streams: Streams
    #: Whether the judged job and those above it hold nothing while it waits, or it may hold something.
    holds_nothing: bool
    #: The greatest number of grants to others, None if there is none; "" if nothing is promised.
    promised: int | str | None


class Overtaken(NamedTuple):
    """A way in which a job is overtaken: how its wait begins, then the steps of the wait; a circle goes on for ever."""

    before: tuple[Step, ...]
    during: tuple[Step, ...]
    circle: tuple[Step, ...]


class Worst(NamedTuple):
    """What exploring one space found."""

    claim: Claim
    #: The greatest number of grants to others before the job gets a slot; None: as many as one likes.
    grants: int | None
    states: int
    edges: int
    witness: Overtaken

    @property
    def kept(self) -> bool | None:
        """Whether it is exactly what is promised; None if nothing is."""
        return None if self.claim.promised == "" else self.grants == self.claim.promised


class _Edge(NamedTuple):
    target: int
    step: Step
    #: Pool slots handed to other jobs, before the judged job got one.
    others: int
    #: Whether the judged job got a pool slot.
    served: bool


def claims() -> Iterator[Claim]:
    """The worst cases of every order: for a job that holds nothing, and for one that holds something.

    Two others, of three runs and of two; so at most ``5 - cap`` runs wait before the judged one.
    """
    nothing = [Streams(((("t",), 1), (("a",), 3), (("b",), 2)), cap) for cap in (1, 2)]
    something = Streams(((("t",), 2), (("a",), 2), (("b",), 1)), 2)
    other_jobs = 2
    for streams in nothing:
        older = 5 - streams.cap
        yield Claim("fewest_held", "served", streams, True, other_jobs)
        yield Claim("fewest_held", "oldest", streams, True, older)
        yield Claim("fifo", None, streams, True, older)
        yield Claim("round_robin", None, streams, True, other_jobs)
        yield Claim("strict_priority:a,b,t", None, streams, True, None)
    yield Claim("fewest_held", "served", something, False, None)
    yield Claim("fewest_held", "oldest", something, False, None)
    yield Claim("fifo", None, something, False, "")
    yield Claim("round_robin", None, something, False, other_jobs)
    yield Claim("strict_priority:a,b,t", None, something, False, None)
    yield Claim("fixed_share:1", None, something, False, None)
    # Below a job that holds something, one that holds nothing waits for it: its sibling's slots count against it too.
    two_levels = Streams(((("p", "t"), 1), (("p", "a"), 1), (("q",), 2)), 2)
    yield Claim("fewest_held", "served", two_levels, False, None)
    yield Claim("fewest_held", "served", two_levels, True, 1)


def worst_overtaking(subject: AnySubject, claim: Claim) -> Worst:
    """Explore the space of a claim, and find the worst case in it.

    Args:
        subject: decides about slots; made with the order of the claim.
        claim: the space, and what is judged in it.

    Raises:
        ValueError: the subject refuses a call of the space, or makes nobody wait.
    """
    space = _Space(subject, claim.streams)
    inside = [space.waits(state, holds_nothing=claim.holds_nothing) for state in space.states]
    if not any(inside):
        raise ValueError(f"under {subject.name} no job ever waits, so none can be overtaken")
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(at for at, is_inside in enumerate(inside) if is_inside)
    for at in graph.nodes:
        for edge in space.edges[at]:
            if not edge.served and inside[edge.target]:
                graph.add_edge(at, edge.target)
    groups = list(nx.strongly_connected_components(graph))
    group_of = {at: number for number, group in enumerate(groups) for at in group}

    def within(at: int, edge: _Edge) -> bool:
        return not edge.served and group_of.get(edge.target) == group_of[at]

    for at in sorted(group_of):
        for edge in space.edges[at]:
            if edge.others and within(at, edge):
                back = space.way(edge.target, at, lambda source, other: within(source, other))
                return _worst(claim, space, None, Overtaken(space.path(at), (), (edge.step, *back)))
    # No circle hands out a slot, so the heaviest path is found from the ends of the graph back: groups come in reverse
    # topological order, and all of one group share their heaviest path.
    heaviest: dict[int, int] = {}
    for number, group in enumerate(groups):
        heaviest[number] = max(
            (
                edge.others + (0 if edge.served or not inside[edge.target] else heaviest[group_of[edge.target]])
                for at in group
                for edge in space.edges[at]
                if not within(at, edge)
            ),
            default=0,
        )
    best = max(heaviest.values(), default=0)
    start = min((at for at in sorted(group_of) if heaviest[group_of[at]] == best), default=0)
    return _worst(
        claim, space, best, Overtaken(space.path(start), _heavy(space, start, inside, group_of, heaviest), ())
    )


def _worst(claim: Claim, space: _Space, grants: int | None, witness: Overtaken) -> Worst:
    return Worst(claim, grants, len(space.states), sum(map(len, space.edges)), witness)


def _heavy(
    space: _Space, start: int, inside: Sequence[bool], group_of: dict[int, int], heaviest: dict[int, int]
) -> tuple[Step, ...]:
    """The steps of a heaviest path from a state."""
    steps: list[Step] = []
    at = start
    while at in group_of and heaviest[group_of[at]]:
        left = heaviest[group_of[at]]

        def leads_on(edge: _Edge, left: int = left) -> bool:
            stays = not edge.served and inside[edge.target]
            return edge.others + (heaviest[group_of[edge.target]] if stays else 0) == left and edge.others > 0

        # The nearest step from here that hands out the first of the slots that are left.
        queue = deque([at])
        came: dict[int, tuple[Step, ...]] = {at: ()}
        while queue:
            now = queue.popleft()
            found = next((edge for edge in space.edges[now] if leads_on(edge)), None)
            if found is not None:
                steps += [*came[now], found.step]
                at = -1 if found.served else found.target
                break
            for edge in space.edges[now]:
                on = edge.target
                if edge.others or edge.served or on in came or not inside[on] or heaviest[group_of[on]] != left:
                    continue
                came[on] = (*came[now], edge.step)
                queue.append(on)
    return tuple(steps)


class _Space:
    """Every state in which runs that ask and finish for ever can be."""

    def __init__(self, subject: AnySubject, streams: Streams) -> None:
        self.judged = streams.judged
        self.runs = {f"{job[-1]}{number + 1}": job for job, count in streams.jobs for number in range(count)}
        start = subject.initial(streams.cap, relend=False)
        self.states: list[State] = []
        self.edges: list[list[_Edge]] = []
        self._came: list[tuple[int, Step]] = [(-1, "")]
        numbers = {start: 0}
        snapshots = [start]
        for at, snapshot in enumerate(snapshots):  # grows while it is walked
            state = view(snapshot)
            self.states.append(state)
            self.edges.append([])
            for verb, run in self._calls(state):
                args = (run, None, self.runs[run]) if verb == "ask" else (run,)
                reply = subject.call(snapshot, verb, *args)
                if reply.snapshot is None or reply.refused is not None:
                    raise ValueError(f"{subject.name} answered {verb}({run!r}) with {reply.refused or reply.raised!r}")
                got = [run for run, token in reply.granted if token == "pool"]
                told = f"{verb} {run}" + (f": {' and '.join(got)} gets a slot" if got else "")
                target = numbers.setdefault(reply.snapshot, len(snapshots))
                if target == len(snapshots):
                    snapshots.append(reply.snapshot)
                    self._came.append((at, told))
                own = next((place for place, name in enumerate(got) if self.runs[name] == self.judged), None)
                self.edges[at].append(_Edge(target, told, len(got) if own is None else own, own is not None))

    def _calls(self, state: State) -> Iterator[tuple[str, str]]:
        """What can happen: of each job the first run that is not there asks, and any that has a slot finishes."""
        phases = {run.run: run.phase for run in state.runs}
        asked: set[Job] = set()
        for run, job in self.runs.items():
            if run not in phases and job not in asked:
                asked.add(job)
                yield "ask", run
            elif phases.get(run) == "in_flight":
                yield "finish", run

    def waits(self, state: State, *, holds_nothing: bool) -> bool:
        """Whether the judged job waits; and, if asked for, neither it nor a job above it holds a slot."""
        if not any(self.runs[run] == self.judged for run in state.waiting):
            return False
        return not (holds_nothing and Facts(state).held(self.judged[:1]))

    def path(self, at: int) -> tuple[Step, ...]:
        """A shortest way from the start to a state."""
        steps: list[Step] = []
        while at > 0:
            at, step = self._came[at]
            steps.append(step)
        return tuple(reversed(steps))

    def way(self, source: int, target: int, allowed: Any) -> tuple[Step, ...]:
        """A shortest way between two states over allowed edges; there is one."""
        queue = deque([source])
        came: dict[int, tuple[Step, ...]] = {source: ()}
        while target not in came:
            at = queue.popleft()
            for edge in self.edges[at]:
                if edge.target not in came and allowed(at, edge):
                    came[edge.target] = (*came[at], edge.step)
                    queue.append(edge.target)
        return came[target]
