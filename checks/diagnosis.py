"""Why nothing goes on: the waits in a stuck state, told as one circle.

SEMANTICS promises no deadlock only while every wait is for something below the one who waits. So a stuck state is
either a violation of NoDeadlock, or outside its hypothesis; then the scenario must have named what is found here.
"""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx

from slotcheck.checks.facts import Facts
from slotcheck.pymodel.workload import Workload, WorkloadState

__all__ = ["Stuck", "stuck"]


class Stuck(NamedTuple):
    """A state in which runs are unfinished and no body step is enabled."""

    #: A shortest circle of runs, each waiting for the next and the last for the first; empty if there is none.
    circle: tuple[str, ...]
    #: Events that runs wait for and that no run can set any more.
    never: tuple[str, ...]
    #: Whether every wait is for something below the one who waits, so that NoDeadlock promises progress.
    promised: bool
    #: Each wait of the circle (else every wait) in words.
    told: tuple[str, ...]

    def matches(self, diagnosis: tuple[str, ...]) -> bool:
        """Whether a scenario's diagnosis, as `Scenario.diagnoses` has them, names this."""
        if diagnosis[0] == "never":
            return not self.circle and diagnosis[1] in self.never
        turns = [self.circle[at:] + self.circle[:at] for at in range(len(self.circle))]
        return diagnosis[1:] in turns

    @property
    def name(self) -> str:
        """As it is written in a scenario."""
        if self.circle:
            return "cycle " + " ".join(self.circle)
        return "never " + " ".join(self.never) if self.never else "no circle"


def stuck(workload: Workload, facts: Facts, state: WorkloadState) -> Stuck | None:
    """What holds the runs of this state up; None if some step is enabled or nothing is left to do."""
    if state.broken or workload.finished(state) or workload.withheld(state):
        return None
    if any(workload.is_body_step(action) or workload.is_due(state, action) for action in workload.actions(state)):
        return None
    graph: nx.DiGraph[str] = nx.DiGraph()
    never: set[str] = set()
    promised = True
    for run, waits in sorted(workload.waits(state).items()):
        for kind, name, enders in waits:
            if kind == "event" and not enders:
                never.add(name)
                promised = False
            for ender in enders:
                if not _is_below(workload, state, ender, run):
                    promised = False
                graph.add_edge(run, ender, why=_why(kind, name, run, ender))
    holders = sorted(run.run for run in facts.unlent)
    for run in facts.state.waiting:
        for holder in holders:
            graph.add_edge(run, holder, why=f"{run} waits for a slot, and {holder} holds one")
    circle = _shortest_circle(graph)
    if circle:
        told = tuple(graph.edges[a, b]["why"] for a, b in zip(circle, (*circle[1:], circle[0]), strict=True))
    else:
        told = tuple(sorted({str(data["why"]) for _, _, data in graph.edges(data=True)})) + tuple(
            f"event {name} is waited for, and no run can set it" for name in sorted(never)
        )
    return Stuck(circle, tuple(sorted(never)), promised, told)


def _why(kind: str, name: str, run: str, ender: str) -> str:
    if kind == "run":
        return f"{run} waits for {name} to end"
    if kind == "admission":
        return f"{run} waits for {name} to be admitted"
    if kind == "event":
        return f"{run} waits for event {name}, which {ender} would set"
    return f"{run} waits for lock {name}, which {ender} is in"


def _is_below(workload: Workload, state: WorkloadState, run: str, above: str) -> bool:
    """Whether a run is below another in the parent relation at this moment, whatever the subject says of it."""
    parent = workload.bodies.parent_now(state, run)
    while parent is not None and parent != above:
        parent = workload.bodies.parent_now(state, parent)
    return parent == above


def _shortest_circle(graph: nx.DiGraph[str]) -> tuple[str, ...]:
    """Deterministic: of the shortest circles the first by name, from its first run by name."""
    best: tuple[str, ...] = ()
    for start in sorted(graph):
        ways = nx.single_source_shortest_path(graph, start)
        for end in sorted(graph.predecessors(start)):
            if end in ways:
                circle = tuple(ways[end])
                turns = [circle[at:] + circle[:at] for at in range(len(circle))]
                least = min(turns)
                if not best or (len(least), least) < (len(best), best):
                    best = least
    return best
