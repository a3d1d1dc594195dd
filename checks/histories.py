"""Long random histories: one pool that lives on, call by call against the reference rule.

An exploration restores the pool before every call, gives every run one place in one tree, and makes only calls that
the rules allow. Here a pool lives a long life: ids are asked for in any order and again, runs belong to jobs of any
depth, `try_ask` grants, calls are refused in between, the cap goes anywhere, and now and then the pool is replaced by
one restored from its snapshot. All orders that the subject can be made with have their turn. Seeded: the same every
time. A history that fails is cut down, call by call, to what still fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from slotcheck.checks.conformance import lockstep
from slotcheck.checks.facts import Facts
from slotcheck.checks.subject import ClassSubject, takes, view
from slotcheck.checks.trace import RESTORE, Trace, trace_of_calls
from slotcheck.pymodel.rules import Refusal, Rule, State
from slotcheck.pymodel.subject import Call, Reply

__all__ = ["Histories", "draw_call", "play_histories"]

_SEED = 20_261_130
_HISTORIES = 10  # for each way of making a pool; every other one is never restored
_FEWER = 4  # under the orders that are there for comparison
_LENGTH = 250  # calls
_RUNS = 9

#: Jobs to ask for: some above, below and beside others, and none at all.
_JOBS: tuple[tuple[str, ...], ...] = (
    ("p",), ("p", "x"), ("p", "y"), ("p", "x", "1"), ("p", "x", "2"), ("q", "x", "1"), ("q", "y"), ("r1",), ("r1", "x"),
    (),
)  # fmt: skip

#: Orders to play under, with a tie-break where that matters. The names are those of jobs above.
_ORDERS = (
    ("fewest_held", "served"),
    ("fewest_held", "oldest"),
    ("fifo",),
    ("round_robin",),
    ("strict_priority:q,y,p",),
    ("fixed_share:1",),
    ("fixed_share:2",),
)

Made: TypeAlias = tuple[Any, ...]


class Way(NamedTuple):
    """A way of making a pool."""

    options: dict[str, str]
    relend: bool

    @property
    def name(self) -> str:
        """What the histories of pools made so are called."""
        how = " ".join(self.options.values())
        return f"a random history{f', order {how}' if how else ''}"


@dataclass
class Histories:
    """What the histories covered, and what failed."""

    calls: int = 0
    refused: int = 0
    #: Orders that pools were made with, and those that the subject does not take.
    orders: list[str] = field(default_factory=list)
    orders_not_taken: list[str] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)


class _Fault(NamedTuple):
    invariant: str
    message: str


def play_histories(
    subject: ClassSubject, reference: Rule, *, until: str | None = None, where: tuple[str, bool] | None = None
) -> Histories:
    """Play all histories, until one fails for each invariant at most.

    Args:
        subject: what lives.
        reference: what it must do.
        until: an invariant to end with, as soon as it fails.
        where: only the histories of this name, with relend on or off.
    """
    found = Histories()
    told: set[str] = set()
    for number, way in enumerate(_ways(subject, found)):
        if where is not None and where != (way.name, way.relend):
            continue
        for history in range(_HISTORIES if way.options.get("order", "fifo") in ("fewest_held", "fifo") else _FEWER):
            rng = random.Random(_SEED + 1_000 * number + history)
            cap = rng.choice((1, 1, 2, 2, 3, 4))
            names = [f"r{run}" for run in range(_RUNS)]
            rng.shuffle(names)  # so that the order of ids says nothing
            draw = partial(draw_call, rng, names, restores=bool(history % 2))
            calls, fault = _play(subject, reference, way, cap, draw, found)
            if fault is not None and fault.invariant not in told:
                told.add(fault.invariant)
                found.traces.append(_smallest(subject, reference, way, cap, calls, fault))
                if fault.invariant == until:
                    return found
    return found


def _ways(subject: ClassSubject, found: Histories) -> Iterator[Way]:
    """Every order and tie (unless the subject's are given), relend off and on."""
    ways: list[dict[str, str]] = [{}]
    if not subject.options:
        ways = [dict(zip(("order", "tie"), order, strict=False)) for order in _ORDERS]
    taken = [options for options in ways if takes(subject, **options)]
    names = {" ".join(options.values()) or "as given": options for options in ways}
    found.orders = [name for name, options in names.items() if options in taken]
    found.orders_not_taken = [name for name, options in names.items() if options not in taken]
    if not taken:
        taken, found.orders = [{}], ["its own"]
    for options in taken:
        for relend in (False, True):
            if not relend or takes(subject, **options, relend=True):
                yield Way(options, relend)


def draw_call(rng: random.Random, names: Sequence[str], before: State, *, restores: bool = False) -> Made:
    """One call: mostly one that does something in this state, sometimes any. With ``restores`` also `RESTORE`."""
    verb = rng.choices(("ask", "try_ask", "finish", "cancel", "resize", RESTORE), (46, 6, 26, 9, 7, 6 * restores))[0]
    if verb == RESTORE:
        return (verb,)
    if verb == "resize":
        return verb, rng.choice((1, 1, 2, 2, 3, 4, before.cap, 0, True))
    by_phase: dict[str, list[str]] = {"unknown": list(names), "waiting": [], "in_flight": [], "parked": []}
    for run in sorted(before.runs, key=lambda run: names.index(run.run)):
        by_phase[run.phase].append(run.run)
        by_phase["unknown"].remove(run.run)
    anybody = rng.random() < 0.15
    if verb in ("ask", "try_ask"):
        asks = names if anybody or not by_phase["unknown"] else by_phase["unknown"]
        # Few parents, so that siblings wait for one another.
        parents = names if anybody else [*by_phase["in_flight"][:2] * 2, *by_phase["in_flight"], None]
        return verb, rng.choice(asks), rng.choice(parents), rng.choice((None,) * 9 + _JOBS)
    # Now and then a waiting run is told to finish, which is refused.
    known = by_phase["in_flight"] * (1 if verb == "cancel" else 4) + by_phase["waiting"]
    return verb, rng.choice(names if anybody or not known else known)


def _play(
    subject: ClassSubject,
    reference: Rule,
    way: Way,
    cap: int,
    calls: Iterable[Made] | Callable[[State], Made],
    found: Histories | None = None,
) -> tuple[list[Made], _Fault | None]:
    """Play one history, given or drawn; the calls made, and what is wrong with the last of them."""
    pool = subject.new(cap, relend=way.relend, **way.options)
    before = view(pool.snapshot())
    made: list[Made] = []
    given = None if callable(calls) else iter(calls)
    while len(made) < _LENGTH:
        call = calls(before) if callable(calls) else next(given, None)  # type: ignore[arg-type]
        if call is None:
            break
        made.append(call)
        verb, *args = call
        if verb == RESTORE:
            pool = subject.cls.restore(pool.snapshot())
            if view(pool.snapshot()) != before:
                return made, _Fault("Replays", "a pool restored from its snapshot has another snapshot")
            continue
        reply = subject.call_live(pool, verb, *args)
        if reply.snapshot is None:
            return made, _Fault("Answers", f"{verb} raised {type(reply.raised).__name__}: {reply.raised}")
        after = view(reply.snapshot)
        fault = _judge(subject, reference, pool, Call(0, verb, tuple(args), reply, 0), before, after)
        if fault is not None:
            return made, fault
        if found is not None:
            found.calls += 1
            found.refused += reply.refused is not None
        before = after
    return made, None


def _judge(subject: ClassSubject, reference: Rule, pool: Any, call: Call, before: State, after: State) -> _Fault | None:
    reply = call.reply
    try:
        getattr(reference, call.verb)(before, *call.args)
    except Refusal:
        pass
    else:
        if reply.raised is not None:
            return _Fault("Answers", f"{call.verb} raised {type(reply.raised).__name__}: {reply.raised}")
        if reply.refused is not None:
            return _Fault("Answers", f"{call.verb} was refused with {reply.refused}, though the rules allow it here")
    different = lockstep(reference, before, call, after)
    if different is not None:
        return _Fault("Lockstep", different)
    if subject.tells_held:
        facts = Facts(after)
        for job in sorted({path[:depth] for path in _JOBS for depth in range(len(path) + 1)}):
            held, truth = pool.held(job), facts.held(job)
            if held != truth:
                return _Fault("HeldMatches", f"job {'/'.join(job)} holds {truth} pool slots, but the pool says {held}")
    return None


def _smallest(subject: ClassSubject, reference: Rule, way: Way, cap: int, calls: list[Made], fault: _Fault) -> Trace:
    """Cut the history down to calls each of which is needed, and tell it."""
    before_pass = len(calls) + 1
    while len(calls) < before_pass:
        before_pass = len(calls)
        for at in range(len(calls) - 2, -1, -1):
            shorter, still = _play(subject, reference, way, cap, calls[:at] + calls[at + 1 :])
            if still is not None and still.invariant == fault.invariant:
                calls, fault = shorter, still
    pool = subject.new(cap, relend=way.relend, **way.options)
    start = pool.snapshot()
    made: list[tuple[Made, Reply | None]] = []
    for call in calls:
        verb, *args = call
        if verb == RESTORE:
            pool = subject.cls.restore(pool.snapshot())
            made.append((call, None))
        else:
            made.append((call, subject.call_live(pool, verb, *args)))
    return trace_of_calls(
        subject.name, way.name, made, fault.invariant, fault.message, start=start, cap=cap, relend=way.relend
    )
