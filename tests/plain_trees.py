"""Plain trees under a rule, explored a second time: no workload, no symmetry, just the rule's calls and the two counts.

Every run asks for all its children in any order, waits for all, and ends; it goes on as soon as it has a slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from slotcheck.pymodel.rules import RULES, Refusal, Rule

Parents: TypeAlias = Mapping[str, str | None]
Move: TypeAlias = tuple[str, str]

CAPS = (1, 2, 3)


class Place(NamedTuple):
    """Who has asked, who has ended, and the rule's state."""

    asked: frozenset[str]
    ended: frozenset[str]
    state: Any


class Plain:
    """A plain forest under a rule, at one cap."""

    def __init__(self, design: str, parents: Parents, cap: int) -> None:
        rule, relend, _ = design.partition("+relend")
        self.parents, self.cap = parents, cap
        self.rule: Rule = RULES[rule].declared(max(self.level(run) for run in parents))
        self.start = Place(frozenset(), frozenset(), self.rule.initial(cap, relend=bool(relend)))

    def level(self, run: str) -> int:
        parent = self.parents[run]
        return 1 if parent is None else 1 + self.level(parent)

    def moves(self, place: Place) -> list[Move]:
        """What can happen next."""
        conduct = self.rule.conduct
        runs = {run.run: run for run in place.state.runs}
        some_wait = any(run.phase == "waiting" for run in runs.values())
        moves = [("ask", run) for run, parent in self.parents.items() if parent is None and run not in place.asked]
        for name, run in sorted(runs.items()):
            if run.phase != "in_flight":
                continue
            own = {child for child, parent in self.parents.items() if parent == name}
            idle = own - place.asked
            if idle or own <= place.ended:
                if conduct.gives_back and run.token == "none":
                    moves.append(("retake", name))
                elif not (conduct.stacked and run.lent):
                    moves += [("ask", child) for child in sorted(idle)] or [("finish", name)]
            elif conduct.gives_back and run.token != "none":
                moves.append(("give_back", name))
            elif conduct.helps and some_wait and not run.lent:
                moves.append(("help", name))
        return moves

    def after(self, place: Place, move: Move) -> tuple[Place, str | None]:
        """Where a move leads, and the code if the run was declined or refused."""
        verb, run = move
        asked, ended = place.asked, place.ended
        args = (self.parents[run],) if verb == "ask" else ()
        try:
            state = getattr(self.rule, verb)(place.state, run, *args).state
        except Refusal as refusal:
            return Place(asked | {run}, ended | {run}, place.state), refusal.code
        if verb == "ask":
            asked |= {run}
        elif verb == "finish":
            ended |= {run}
        return Place(asked, ended, state), None

    def executing(self, place: Place) -> int:
        return sum(run.token != "none" and not run.lent for run in place.state.runs)

    def in_flight(self, place: Place) -> int:
        return sum(run.phase in ("in_flight", "retaking") for run in place.state.runs)

    def broken(self, place: Place, code: str | None) -> set[str]:
        """What is broken here, or by the call that led here."""
        levels = max((self.level(run) for run in place.asked), default=0)
        broken = {
            "executing <= cap": self.executing(place) > self.cap,
            "in flight <= cap x levels": self.in_flight(place) > self.cap * levels,
            "deadlock-free": not self.moves(place) and place.ended != place.asked,
            "every run admitted": code is not None and code in self.rule.declines,
            "levels not known ahead": code is not None and code not in self.rule.declines,
        }
        return {name for name, is_so in broken.items() if is_so}

    def explore(self) -> tuple[dict[str, int], tuple[int, int]]:
        """For each thing broken the fewest steps to it; and the greatest counts of executing and in flight."""
        steps: dict[str, int] = {}
        most = 0, 0
        known, frontier, depth = {self.start}, [(self.start, None)], 0
        while frontier:
            reached: list[tuple[Place, str | None]] = []
            for place, code in frontier:
                most = max(most[0], self.executing(place)), max(most[1], self.in_flight(place))
                for name in self.broken(place, code):
                    steps.setdefault(name, depth)
                for move in self.moves(place):
                    after, said = self.after(place, move)
                    if after not in known or said is not None:
                        known.add(after)
                        reached.append((after, said))
            frontier, depth = reached, depth + 1
        return steps, most


def all_forests(most: int) -> Iterator[dict[str, str | None]]:
    """Every forest of up to so many runs, once each: the parent of a run is none, or one before it."""
    names = "abcdefgh"
    seen = set()

    def grow(parents: dict[str, str | None]) -> Iterator[dict[str, str | None]]:
        shape = _shape(parents, None)
        if shape in seen:
            return
        seen.add(shape)
        yield parents
        if len(parents) < most:
            for above in (None, *parents):
                yield from grow({**parents, names[len(parents)]: above})

    yield from sorted(grow({"a": None}), key=len)


def _shape(parents: Parents, above: str | None) -> str:
    return "(" + "".join(sorted(_shape(parents, run) for run, parent in parents.items() if parent == above)) + ")"
