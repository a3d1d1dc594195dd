"""Exhaustive search of a transition system, judging properties on the way.

Breadth first (the default) finds a shortest path to everything it reports; depth first needs less of a frontier; seeded
random walks look into spaces too big to exhaust, and can find faults but never show their absence. A search that a
limit or Ctrl-C stopped is *undetermined*, never *holds*.
"""

from __future__ import annotations

import enum
import gc
import random
import sys
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

from slotcheck.pymodel.liveness import Edges, circle_states, fair_circle
from slotcheck.pymodel.result import Judge, Limits, Result, Verdict, Violation
from slotcheck.pymodel.system import Kind, Path, Property, TransitionSystem

__all__ = ["Limits", "Result", "Search", "Verdict", "Violation", "explore", "walk"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)

_LOOK = 256  # states expanded between two looks at the clock, the memory and the progress callback


class Search(enum.Enum):
    """The order in which states are visited."""

    BREADTH = "breadth"
    DEPTH = "depth"


def explore(
    system: TransitionSystem[S, A],
    properties: Sequence[Property] = (),
    *,
    search: Search = Search.BREADTH,
    limits: Limits | None = None,
    progress: Callable[[int, int, int], None] | None = None,
    on_state: Callable[[S], None] | None = None,
) -> Result[S, A]:
    """Visit every state that can be reached, and judge every property wherever its kind says.

    The search goes on after a violation, so that one run tells all the properties that fail; each is reported at the
    first place found, which breadth first makes a shortest one.

    Args:
        system: what to explore. States of equal `TransitionSystem.key` are visited once.
        properties: what to judge.
        search: the order of visits.
        limits: when to give up.
        progress: called now and then with the number of states, of edges, and of states still to expand.
        on_state: called on every state that is visited.

    Returns:
        the result. It never raises for a violation, a limit or Ctrl-C; errors of the system itself pass through.
    """
    limits = limits or Limits()
    result: Result[S, A] = Result()
    known: dict[Hashable, int] = {}
    starts: list[S] = []
    came_from = array("q")  # for each state the state it was first reached from, or -1 - k for the k-th start
    came_by: list[A | None] = []
    depths = array("l")
    weights: list[int] = []
    frontier: deque[tuple[int, S]] = deque()

    def path_to(at: int) -> Path[S, A]:
        actions: list[A] = []
        while came_from[at] >= 0:
            actions.append(cast("A", came_by[at]))
            at = came_from[at]
        return Path(starts[-1 - came_from[at]], tuple(reversed(actions)))

    judge = Judge(properties, result, path_to)
    goal = judge.goal
    graph = None if goal is None else _Graph()

    def found(state: S, key: Hashable, origin: int, action: A | None) -> int:
        at = known[key] = len(came_from)
        came_from.append(origin)
        came_by.append(action)
        depths.append(0 if origin < 0 else depths[origin] + 1)
        if merges:
            weights.append(system.weight(state))
        if judge.of_states:
            judge.state(state, at)
        if graph is not None and goal is not None:
            graph.goal.append(goal.check(state))
        if on_state is not None:
            on_state(state)
        frontier.append((at, state))
        return at

    merges, judged_steps = system.merges, judge.of_steps
    most_states = sys.maxsize if limits.states is None else limits.states
    pop = frontier.popleft if search is Search.BREADTH else frontier.pop
    next_, key_of, is_body_step, actions_of = system.next, system.key, system.is_body_step, system.actions
    fired: Counter[A] = Counter()
    started = time.monotonic()
    expanded = 0
    # Nothing here forms reference cycles, and the collector would go through all states again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        for state in system.initial():
            key = key_of(state) if merges else state
            if key not in known:
                starts.append(state)
                found(state, key, -len(starts), None)
        while frontier:
            if expanded % _LOOK == 0 or len(came_from) > most_states:
                result.stopped = limits.exceeded(len(came_from), started)
                if progress is not None:
                    progress(len(came_from), result.edges, len(frontier))
                if result.stopped:
                    break
            expanded += 1
            at, state = pop()
            can_go_on = False
            actions = actions_of(state)
            for action in actions:
                can_go_on = can_go_on or is_body_step(action)
                after = next_(state, action)
                if judged_steps:
                    judge.step(state, action, after, at)
                key = key_of(after) if merges else after
                to = known.get(key)
                if to is None:
                    to = found(after, key, at, action)
                if graph is not None:
                    graph.add(at, to, action)
            result.edges += len(actions)
            fired.update(actions)
            if merges:
                result.full_edges += weights[at] * system.degree(state)
            if not can_go_on:
                result.ends += 1
                judge.end(state, at)
        if graph is not None and goal is not None and not result.stopped:
            _judge_goal(system, goal, graph, result, path_to)
    except KeyboardInterrupt:
        result.stopped = "interrupted"
    finally:
        if collecting:
            gc.enable()
    result.states = len(came_from)
    result.full_states = sum(weights) if merges else result.states
    result.full_edges = result.full_edges if merges else result.edges
    result.depth = max(depths, default=0)
    for action, times in fired.items():
        result.fired[action[0] if isinstance(action, tuple) else action] += times
    result.missing = judge.missing
    return result


class _Graph:
    """The edges of the explored graph, kept for liveness."""

    def __init__(self) -> None:
        self.source, self.target, self.action = array("l"), array("l"), array("l")
        self.goal: list[bool] = []
        self.numbers: dict[Hashable, int] = {}

    def add(self, source: int, target: int, action: Hashable) -> None:
        self.source.append(source)
        self.target.append(target)
        self.action.append(self.numbers.setdefault(action, len(self.numbers)))


def _judge_goal(
    system: TransitionSystem[S, A],
    goal: Property,
    graph: _Graph,
    result: Result[S, A],
    path_to: Callable[[int], Path[S, A]],
) -> None:
    actions: list[Any] = list(graph.numbers)
    body_steps = [system.is_body_step(action) for action in actions]
    edges = Edges(graph.source, graph.target, graph.action, body_steps, graph.goal)
    within = circle_states(edges)
    result.cyclic = bool(within)
    circle = fair_circle(edges, within) if within else None
    if circle is not None and not any(violation.property == goal.name for violation in result.violations):
        message = "a behaviour that is fair to every body step goes round in a circle for ever"
        steps = tuple(actions[action] for _, action in circle)
        result.violations.append(Violation(goal.name, message, path_to(circle[0][0]), steps))


def walk(
    system: TransitionSystem[S, A],
    properties: Sequence[Property] = (),
    *,
    seed: int,
    walks: int,
    steps: int = 10_000,
    limits: Limits | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> Result[S, A]:
    """Random walks from the start, each until nothing is enabled or ``steps`` are done. Never says *holds*.

    The same seed gives the same walks. ``states`` counts the different keys seen.
    """
    limits = limits or Limits()
    result: Result[S, A] = Result()
    path: list[A] = []
    start: S

    def path_to(_: int) -> Path[S, A]:
        return Path(start, tuple(path))

    judge = Judge([prop for prop in properties if prop.kind is not Kind.EVENTUALLY], result, path_to)
    rng = random.Random(seed)
    seen: set[Hashable] = set()
    fired: Counter[A] = Counter()
    started = time.monotonic()
    merges = system.merges
    result.stopped = f"walked {walks} times at random (seed {seed}), which cannot exhaust the states"
    try:
        starts = list(system.initial())
        for number in range(walks if starts else 0):
            over = limits.exceeded(len(seen), started)
            if over:
                result.stopped = f"{over}, after {number} random walks (seed {seed})"
                break
            if progress is not None:
                progress(len(seen), result.edges, walks - number)
            state = start = rng.choice(starts)
            path.clear()
            while True:
                key = system.key(state) if merges else state
                if key not in seen:
                    seen.add(key)
                    result.full_states += system.weight(state) if merges else 1
                    judge.state(state, 0)
                actions = system.actions(state)
                if not any(system.is_body_step(action) for action in actions):
                    result.ends += 1
                    judge.end(state, 0)
                if not actions or len(path) >= steps:
                    break
                action = rng.choice(actions)
                after = system.next(state, action)
                result.edges += 1
                fired[action] += 1
                judge.step(state, action, after, 0)
                path.append(action)
                result.depth = max(result.depth, len(path))
                state = after
    except KeyboardInterrupt:
        result.stopped = "interrupted"
    result.states = len(seen)
    for action, times in fired.items():
        result.fired[action[0] if isinstance(action, tuple) else action] += times
    result.missing = judge.missing
    return result
