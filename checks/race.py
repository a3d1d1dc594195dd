"""One walk over files under several rules, on one clock: what each does with a parent's slot, seen over time.

A walk starts a run for each file. A file is read, which takes 1 tick, and waits for its chunks, each of which takes 2.
The rules of the reference model decide about slots, and `simulate` plays the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slotcheck.pymodel.rules import RULES, Outcome, Rule, State
from slotcheck.pymodel.scenario import Op, RunSpec, Scenario
from slotcheck.pymodel.simulate import simulate
from slotcheck.pymodel.timeline import Simulated, Steps

__all__ = ["CHUNK", "RACED", "READ", "WALK", "Life", "Race", "Span", "race", "walk_over"]

#: The rules of the comparison, in the order in which it shows them.
RACED = ("hold", "release", "lend")
#: Ticks that it takes to read a file, and that a chunk takes.
READ, CHUNK = 1, 2
#: The run that starts those of the files.
WALK = "walk"


class Span(NamedTuple):
    """From one tick to another; None is for ever."""

    start: int
    end: int | None


@dataclass(frozen=True)
class Life:
    """What becomes of one run. Times are in ticks."""

    run: str
    parent: str | None
    asked: int
    #: None where it never came to that.
    admitted: int | None
    ended: int | None
    #: At work; none for the walk.
    works: Span | None
    #: Holds a slot unlent and does nothing.
    idle: tuple[Span, ...]


@dataclass(frozen=True)
class Race:
    """The walk under one rule."""

    rule: str
    cap: int
    files: int
    #: When everything has ended; None if that never happens.
    end: int | None
    #: When the last thing happened.
    last: int
    #: At most so many files in flight at once.
    peak: int
    #: Every run that has asked: the walk, the files, the chunks.
    lives: tuple[Life, ...]
    #: Files in flight over time.
    in_flight: Steps

    def __str__(self) -> str:
        ends = f"stuck at t = {self.last}" if self.end is None else f"ends at t = {self.end}"
        return f"{ends}, at most {self.peak} of {self.files} files in flight"


def walk_over(files: int, chunks: int) -> Scenario:
    """The walk: ``walk(1(1.1 1.2) 2(2.1 2.2) ...)``, every file before any chunk in the order of runs."""
    body = (Op("work"), Op("spawn all"), Op("wait all"))
    named = [str(number) for number in range(1, files + 1)]
    runs = [RunSpec(WALK)]
    runs += [RunSpec(file, WALK, body, work_ms=READ) for file in named]
    runs += [RunSpec(f"{file}.{chunk}", file, work_ms=CHUNK) for file in named for chunk in range(1, chunks + 1)]
    return Scenario(f"a walk over {files} files of {chunks} chunks", tuple(runs))


def race(files: int = 6, chunks: int = 2, cap: int = 2, rules: Sequence[str] = RACED) -> list[Race]:
    """The walk under each of these rules."""
    return [_race(walk_over(files, chunks), files, cap, RULES[rule]) for rule in rules]


class _Watched:
    """A pool under a rule that keeps every state it has been in."""

    def __init__(self, rule: Rule, cap: int) -> None:
        self._rule = rule
        self.state: State = rule.initial(cap)
        #: Each call's verb and run, and the state it led to.
        self.calls: list[tuple[str, str, State]] = []

    def ask(self, run: str, parent: str | None = None, job: tuple[str, ...] | None = None) -> Outcome:
        return self._went("ask", run, self._rule.ask(self.state, run, parent, job))

    def finish(self, run: str) -> Outcome:
        return self._went("finish", run, self._rule.finish(self.state, run))

    def held(self, job: tuple[str, ...]) -> int:
        return sum(run.token == "pool" and run.job[: len(job)] == job for run in self.state.runs)

    def _went(self, verb: str, run: str, outcome: Outcome) -> Outcome:
        self.state = outcome.state
        self.calls.append((verb, run, self.state))
        return outcome


def _race(scenario: Scenario, files: int, cap: int, rule: Rule) -> Race:
    pool = _Watched(rule, cap)
    found = simulate(scenario, pool)
    # A run asks once and finishes once, so its times are those of its calls.
    times = {"ask": found.asked_ms, "finish": found.ended_ms}
    states = [(times[verb][scenario.index[run]], state) for verb, run, state in pool.calls]
    lives = [_life(found, at, states) for at in range(len(scenario.runs)) if found.asked_ms[at] >= 0]
    in_flight = Steps()
    for tick, state in states:
        in_flight.set(tick, sum(run.phase == "in_flight" and run.parent == WALK for run in state.runs))
    return Race(
        rule.name,
        cap,
        files,
        None if found.stuck else found.end_ms,
        states[-1][0],
        max(in_flight.values, default=0),
        tuple(lives),
        in_flight,
    )


def _life(found: Simulated, at: int, states: Sequence[tuple[int, State]]) -> Life:
    spec = found.scenario.runs[at]
    admitted, ended = (None if tick < 0 else tick for tick in (found.admitted_ms[at], found.ended_ms[at]))
    works = None
    if spec.parent is not None and admitted is not None:
        works = Span(admitted, admitted + spec.work_ms)
    return Life(
        spec.name, spec.parent, found.asked_ms[at], admitted, ended, works, tuple(_idle(spec.name, works, states))
    )


def _idle(run: str, works: Span | None, states: Sequence[tuple[int, State]]) -> Iterator[Span]:
    """When the run holds a slot unlent, its time at work aside, which comes first."""
    since: int | None = None
    busy_until = 0 if works is None or works.end is None else works.end
    for (tick, state), (until, _) in zip(states, [*states[1:], (None, None)], strict=True):
        holds = any(known.run == run and known.token != "none" and not known.lent for known in state.runs)
        start = max(tick, busy_until)
        if holds and since is None and (until is None or start < until):  # at one time the last word counts
            since = start
        elif not holds and since is not None:
            yield Span(since, tick)
            since = None
    if since is not None:
        yield Span(since, None)
