"""Why nothing goes on: the waits in a stuck state, told as one circle.

SEMANTICS promises no deadlock only while every wait is for something below the one who waits. So a stuck state is
either a violation of NoDeadlock, or outside its hypothesis; then the scenario must have named what is found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import networkx as nx

from slotcheck.checks.facts import Facts
from slotcheck.pymodel.bodies import ENDED, IDLE
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.workload import Workload, WorkloadState

__all__ = ["Stuck", "mounts_in_a_circle", "names", "shortest_circle", "stuck", "wait_in_words"]


class Stuck(NamedTuple):
    """A state in which runs are unfinished and no body step is enabled."""

    #: For each group of runs that wait for one another a shortest circle, each waiting for the next and the last for
    #: the first, the shortest first.
    circles: tuple[tuple[str, ...], ...]
    #: Events that runs wait for and that no run can set any more.
    never: tuple[str, ...]
    #: Whether every wait is for something below the one who waits, so that NoDeadlock promises progress.
    promised: bool
    #: Each wait of the first circle (else every wait) in words.
    told: tuple[str, ...]

    @property
    def reasons(self) -> tuple[tuple[str, ...], ...]:
        """All that holds runs up, in the form of `Scenario.diagnoses`."""
        return (*(("cycle", *circle) for circle in self.circles), *(("never", event) for event in self.never))

    @property
    def name(self) -> str:
        """As it is written in a scenario."""
        return "; ".join(" ".join(reason) for reason in self.reasons) or "no circle"


def names(diagnosis: tuple[str, ...], reason: tuple[str, ...]) -> bool:
    """Whether a scenario's diagnosis is this reason, whichever run it begins its circle with."""
    kind, *circle = reason
    turns = [tuple(circle[at:] + circle[:at]) for at in range(len(circle))]
    return diagnosis[0] == kind and diagnosis[1:] in turns


def stuck(workload: Workload, facts: Facts, state: WorkloadState) -> Stuck | None:
    """What holds the runs of this state up; None if some step is enabled or nothing is left to do."""
    if state.broken or workload.finished(state) or workload.goes_on(state):
        return None
    graph: nx.DiGraph[str] = nx.DiGraph()
    never: set[str] = set()
    promised = not mounts_in_a_circle(workload.scenario)
    for run, waits in sorted(workload.waits(state).items()):
        for kind, name, enders in waits:
            if kind == "event" and not enders:
                never.add(name)
                promised = False
            for ender in enders:
                if kind != "permit" and not _is_below(workload, state, ender, run):
                    promised = False
                graph.add_edge(run, ender, why=wait_in_words(kind, name, run, ender))
                for asked, above in _to_be_asked(workload, state, ender):
                    graph.add_edge(asked, above, why=f"{asked} has not asked yet, which is {above}'s to do")
    for stack in getattr(workload.snapshot(state), "stacks", ()):
        for below, above in pairwise([run for run in stack if facts.runs[run].phase != "parked"]):
            graph.add_edge(below, above, why=f"{below} cannot go on before {above}, which runs on top of it")
    conduct = getattr(workload.calls.subject, "conduct", None)
    by_level = conduct is not None and conduct.by_level
    for run in facts.state.waiting:
        for holder in sorted(facts.unlent):
            if not by_level or holder.level == facts.runs[run].level:
                graph.add_edge(run, holder.run, why=f"{run} waits for a slot, and {holder.run} holds one")
    circles = tuple(sorted(_circles(graph), key=lambda circle: (len(circle), circle)))
    if circles:
        first = circles[0]
        told = tuple(graph.edges[a, b]["why"] for a, b in zip(first, (*first[1:], first[0]), strict=True))
    else:
        told = tuple(sorted({str(data["why"]) for _, _, data in graph.edges(data=True)}))
    told += tuple(f"event {name} is waited for, and no run can set it" for name in sorted(never))
    return Stuck(circles, tuple(sorted(never)), promised, told)


def mounts_in_a_circle(scenario: Scenario) -> bool:
    """Whether components mount each other in a circle: S mounts T if a run of S is above a run of T in its lineage. A
    run below its own component is refused, and nothing below it ever enters.
    """
    mounts: nx.DiGraph[str] = nx.DiGraph()
    refused: set[str | None] = set()
    for run in scenario.mounted:  # mounters stand before those that they mount
        above = scenario.lineage[run.name]
        if run.parent in refused or run.component in above:
            refused.add(run.name)
        elif run.component is not None:
            mounts.add_edges_from((component, run.component) for component in above)
    return not nx.is_directed_acyclic_graph(mounts)


def wait_in_words(kind: str, name: str, run: str, ender: str) -> str:
    """A wait of a run for something besides a slot, which another run can end."""
    if kind == "run":
        return f"{run} waits for {name} to end"
    if kind == "admission":
        return f"{run} waits for {name} to be admitted"
    if kind == "permit":
        return f"{run} queues on the permit of {name}, which {ender} holds"
    if kind == "event":
        return f"{run} waits for event {name}, which {ender} would set"
    return f"{run} waits for lock {name}, which {ender} is in"


def _to_be_asked(workload: Workload, state: WorkloadState, run: str) -> Iterator[tuple[str, str]]:
    """A run that has not asked, and each such run above it, with the parent whose body asks for it."""
    index, parents, names = workload.scenario.index, workload.bodies.mounters, workload.names
    at = index[run]
    while state.progress[at] == IDLE and (parent := parents[at]) is not None and state.progress[parent] != ENDED:
        yield names[at], names[parent]
        at = parent


def _is_below(workload: Workload, state: WorkloadState, run: str, above: str) -> bool:
    """Whether a run is below another in the parent relation at this moment, whatever the subject says of it."""
    parent = workload.bodies.parent_now(state, run)
    while parent is not None and parent != above:
        parent = workload.bodies.parent_now(state, parent)
    return parent == above


def _circles(graph: nx.DiGraph[str]) -> Iterator[tuple[str, ...]]:
    """A shortest circle in each group of runs that wait for one another."""
    for group in nx.strongly_connected_components(graph):
        circle = shortest_circle(graph.subgraph(group))
        if circle:
            yield circle


def shortest_circle(graph: nx.DiGraph[str]) -> tuple[str, ...]:
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
