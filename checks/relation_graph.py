"""The whole graph of a pool over a few runs: every call that the rules allow, in every state that calls lead to.

Larger than what any workload reaches: nobody here has a body to follow. A run asks under its parent of the forest while
that is in flight and without one otherwise, as often as it is forgotten; any run in flight may finish, any known run be
cancelled, and the cap go to any of a few values, at any time. So one graph covers all caps and all environments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

from slotcheck.checks.subject import AnySubject
from slotcheck.pymodel.rules import State
from slotcheck.pymodel.scenario import RunSpec

__all__ = ["Edge", "edges_of"]


class Edge(NamedTuple):
    """One call in one state, and the state it leads to."""

    before: State
    verb: str
    args: tuple[Any, ...]
    after: State


def edges_of(subject: AnySubject, forest: Sequence[RunSpec], caps: Sequence[int], *, relend: bool) -> Iterator[Edge]:
    """Every edge, each once, state by state."""
    start = subject.initial(caps[0], relend=relend)
    renamings = _renamings(forest)
    found = {start}
    frontier = [start]
    while frontier:
        before = frontier.pop()
        for verb, args in _calls(before, forest, caps):
            reply = subject.call(before, verb, *args)
            after = reply.snapshot
            if reply.refused is not None or reply.raised is not None or after is None:
                raise AssertionError(f"{verb}{args} was not answered: {reply.refused or reply.raised}")
            yield Edge(before, verb, args, after)
            if after not in found:
                found.add(after)
                found.update([_renamed(after, renaming) for renaming in renamings])
                frontier.append(after)


def _calls(state: Any, forest: Sequence[RunSpec], caps: Sequence[int]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    phases = {run.run: run.phase for run in state.runs}
    for spec in forest:
        phase = phases.get(spec.name)
        if phase is None:
            above = spec.parent if spec.parent is not None and phases.get(spec.parent) == "in_flight" else None
            yield "ask", (spec.name, above)
            yield "try_ask", (spec.name, above)
        elif phase == "in_flight":
            yield "finish", (spec.name,)
            yield "cancel", (spec.name,)
        elif phase == "waiting":
            yield "cancel", (spec.name,)
    for cap in caps:
        yield "resize", (cap,)


def _renamings(forest: Sequence[RunSpec]) -> list[Mapping[Any, Any]]:
    """All other ways to name the runs that keep who is whose parent."""
    names = [spec.name for spec in forest]
    parents = [(spec.name, spec.parent) for spec in forest]
    ways = [{None: None, **dict(zip(names, chosen, strict=True))} for chosen in permutations(names)]
    return [way for way in ways[1:] if {(way[run], way[above]) for run, above in parents} == set(parents)]


def _renamed(state: Any, name: Mapping[Any, Any]) -> Any:
    """The state in which each run has another's name (and its own job, that one's job)."""
    return state._replace(
        runs=frozenset(
            run._replace(run=name[run.run], parent=name[run.parent], job=tuple([name[part] for part in run.job]))
            for run in state.runs
        ),
        waiting=tuple([name[run] for run in state.waiting]),
        children=frozenset((name[run], tuple([name[child] for child in line])) for run, line in state.children),
        lines=frozenset(
            (tuple([name[part] for part in node]), tuple([name[to] for to in line])) for node, line in state.lines
        ),
    )
