"""The pool against the reference rules, step by step, on random histories that hypothesis shrinks.

The reference (``pymodel.rules.Lend``) looks everything up by its definition and shares no code with the pool, so what
the pool keeps beside its runs (queues, lines, heaps, the tree of jobs) is wrong as soon as one answer or state differs.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from slotcheck.pymodel.rules import Lend, Outcome, Refusal, State
from slotlending import Answer, Pool, Refused

LEND = Lend()
IDS = [f"r{number}" for number in range(12)]
#: Jobs that go together, at two levels.
JOBS = [("a", "u"), ("a", "v"), ("b", "u"), ("b", "v"), ("c",)]
#: Jobs that lie above or below one of these, or below the job that a run has by default.
ODD_JOBS = [(), ("a",), ("b",), ("a", "v", "w"), ("c", "u"), ("r0",), ("r1", "u")]
OTHER_ORDERS = ["round_robin", "strict_priority:b,v,r3", "fixed_share:1", "fixed_share:2"]
#: Every path at or above one of the jobs.
PATHS = sorted({job[:depth] for job in JOBS + ODD_JOBS for depth in range(len(job) + 1)} | {(run,) for run in IDS})

runs = st.sampled_from(IDS)
nths = st.integers(0, 11)
caps = st.sampled_from([2, 3, 1, 4])
bad_caps = st.sampled_from([0, -1, True, 1.0, 1.5, float("nan"), "2", None])
jobs = st.none() | st.sampled_from(JOBS)


class Twins(RuleBasedStateMachine):
    """One history, told to both."""

    pool: Pool
    state: State
    #: What the last call was answered, if it was allowed.
    answer = Answer()

    @initialize(
        cap=caps,
        order=st.sampled_from(["fewest_held", "fewest_held", "fifo", *OTHER_ORDERS]),
        oldest=st.booleans(),
        relend=st.sampled_from([True, True, False]),
    )
    def construct(self, cap: int, order: str, oldest: bool, relend: bool) -> None:
        tie = "oldest" if oldest else "served"
        self.pool = Pool(cap, order=order, tie=tie, relend=relend)
        self.state = LEND.initial(cap, order=order, tie=tie, relend=relend)

    # -- calls that the rules allow, mostly: else histories get nowhere --------------------------------------------

    @precondition(lambda self: self.unknown())
    @rule(nth=nths, job=jobs)
    def ask_without_parent(self, nth: int, job: tuple[str, ...] | None) -> None:
        run = pick(self.unknown(), nth)
        self.both(lambda it, *state: it.ask(*state, run, None, job))

    @precondition(lambda self: self.unknown() and self.known("in_flight"))
    @rule(nth=nths, parent=nths, job=jobs)
    def ask_under_a_run_in_flight(self, nth: int, parent: int, job: tuple[str, ...] | None) -> None:
        run, above = pick(self.unknown(), nth), pick(self.known("in_flight"), parent)
        self.both(lambda it, *state: it.ask(*state, run, above, job))

    @precondition(lambda self: self.unknown() and self.known("in_flight"))
    @rule(nth=nths, parent=nths)
    def ask_for_three_children(self, nth: int, parent: int) -> None:
        above = pick(self.known("in_flight"), parent)
        for _ in range(min(3, len(self.unknown()))):
            run = pick(self.unknown(), nth)
            self.both(lambda it, *state, run=run: it.ask(*state, run, above))

    @precondition(lambda self: self.unknown() and self.known())
    @rule(nth=nths, other=nths)
    def ask_in_the_job_of_a_known_run(self, nth: int, other: int) -> None:
        """A child that comes after its parent's end asks like this."""
        run, like = pick(self.unknown(), nth), pick(self.known(), other)
        job = next(known.job for known in self.state.runs if known.run == like)
        self.both(lambda it, *state: it.ask(*state, run, None, job))

    @precondition(lambda self: self.known("in_flight"))
    @rule(nth=nths)
    def finish(self, nth: int) -> None:
        run = pick(self.known("in_flight"), nth)
        self.both(lambda it, *state: it.finish(*state, run))

    @precondition(lambda self: self.borrowers())
    @rule(nth=nths)
    def finish_a_borrower(self, nth: int) -> None:
        run = pick(self.borrowers(), nth)
        self.both(lambda it, *state: it.finish(*state, run))

    @precondition(lambda self: self.known("waiting"))
    @rule(nth=nths)
    def cancel_a_waiter(self, nth: int) -> None:
        run = pick(self.known("waiting"), nth)
        self.both(lambda it, *state: it.cancel(*state, run))

    @rule(cap=caps)
    def resize(self, cap: int) -> None:
        self.both(lambda it, *state: it.resize(*state, cap))

    # -- calls of any kind ---------------------------------------------------------------------------------------

    @rule(
        name=st.sampled_from(["ask", "try_ask", "try_ask"]),
        run=runs,
        parent=st.none() | runs,
        job=st.sampled_from([None, *JOBS, *ODD_JOBS]),
    )
    def ask_anything(self, name: str, run: str, parent: str | None, job: tuple[str, ...] | None) -> None:
        self.both(lambda it, *state: getattr(it, name)(*state, run, parent, job))

    @rule(call=st.tuples(st.sampled_from(["finish", "cancel"]), runs) | st.tuples(st.just("resize"), bad_caps))
    def call_anything(self, call: tuple[str, Any]) -> None:
        name, value = call
        self.both(lambda it, *state: getattr(it, name)(*state, value))

    # -- what is looked at ---------------------------------------------------------------------------------------

    @rule()
    def go_on_with_a_restored_pool(self) -> None:
        self.pool = Pool.restore(self.pool.snapshot())

    @rule()
    def held_is_what_it_is_by_definition(self) -> None:
        """A rule and no invariant: to be asked changes which jobs the pool has in its tree, and must not matter."""
        for path in PATHS:
            held = sum(run.token == "pool" and run.job[: len(path)] == path for run in self.state.runs)
            assert self.pool.held(path) == held, path

    @invariant()
    def the_snapshot_is_the_state(self) -> None:
        assert self.pool.snapshot() == self.state

    @invariant()
    def the_statistics_are_the_counts(self) -> None:
        cap, taken = self.state.cap, self.state.taken
        counts = [len(self.known(phase)) for phase in ("waiting", "in_flight", "parked")]
        assert self.pool.statistics() == (cap, taken, max(cap - taken, 0), *counts)

    @invariant()
    def no_wake_up_is_lost(self) -> None:
        """R7, of the pool's own snapshot: the reference could be wrong in the same way."""
        snapshot = self.pool.snapshot()
        states = {state.run: state for state in snapshot.runs}
        share = int(snapshot.order.partition(":")[2]) if "share" in snapshot.order else snapshot.cap
        can_take = [run for run in snapshot.waiting if self.pool.held(states[run].job) < share]
        assert not can_take or snapshot.taken >= snapshot.cap
        parents = [states[run].parent for run in snapshot.waiting]
        assert all(states[parent].lent for parent in parents if parent is not None)

    def teardown(self) -> None:
        """Whatever happened, a pool whose runs have all ended knows nothing."""
        if not hasattr(self, "state"):
            return
        while known := self.known("in_flight", "waiting"):
            self.both(lambda it, *state, run=known[-1]: it.cancel(*state, run))
        cap, _, _, _, _, _, order, tie, relend = self.state
        assert self.pool.snapshot() == LEND.initial(cap, order=order, tie=tie, relend=relend)

    def known(self, *phases: str) -> list[str]:
        return sorted(run.run for run in self.state.runs if not phases or run.phase in phases)

    def borrowers(self) -> list[str]:
        return sorted(run.run for run in self.state.runs if run.token == "loan" and run.phase == "in_flight")

    def unknown(self) -> list[str]:
        return sorted(set(IDS) - set(self.known()))

    def both(self, call: Callable[..., Any]) -> None:
        """The same call to both: the same answer, or the same refusal."""
        before = self.pool.snapshot()
        self.answer = Answer()
        expected: Outcome | Refusal
        answer: Answer | Refused
        try:
            expected = call(LEND, self.state)
        except Refusal as refusal:
            expected = refusal
        try:
            answer = call(self.pool)
        except Refused as refused:
            answer = refused
        if isinstance(expected, Refusal):
            assert isinstance(answer, Refused), f"{answer}, but the rules refuse: {expected}"
            assert answer.code == expected.code
            assert answer.value is expected.value or answer.value == expected.value
            assert self.pool.snapshot() == before
        else:
            assert isinstance(answer, Answer), f"{answer!r}, but the rules allow it: {expected}"
            assert answer.granted == expected.granted
            assert answer.relent == expected.relent
            self.state, self.answer = expected.state, answer


def pick(runs: list[str], nth: int) -> str:
    return runs[nth % len(runs)]


TestTwins = Twins.TestCase
TestTwins.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


WAYS = [
    ("fewest_held", "served"), ("fewest_held", "oldest"), ("fifo", "served"),
    *((order, "served") for order in OTHER_ORDERS),
]  # fmt: skip


@pytest.mark.parametrize("relend", [False, True], ids=["", "relend"])
@pytest.mark.parametrize(("order", "tie"), WAYS)
def test_long_walks_agree(order: str, tie: str, relend: bool) -> None:
    """The same acts, many more of them: rare meetings of rules (a relend that serves a waiter) need long histories."""
    relends_that_served = 0
    for seed in range(20 if order in OTHER_ORDERS else 80):
        rng = Random(f"{order} {tie} {relend} {seed}")
        twins = Twins()
        twins.construct(rng.randint(1, 4), order, tie == "oldest", relend)
        for _ in range(100):
            walk(twins, rng)
            twins.the_snapshot_is_the_state()
            relends_that_served += bool(twins.answer.relent and twins.answer.granted)
        twins.held_is_what_it_is_by_definition()
        twins.the_statistics_are_the_counts()
        twins.no_wake_up_is_lost()
        twins.teardown()
    assert (relends_that_served > 0) == relend


def walk(twins: Twins, rng: Random) -> None:
    """One act, drawn with the weights that keep a pool busy."""
    nth, other = rng.randrange(12), rng.randrange(12)
    job = rng.choice([None, None, *JOBS])
    acts: list[tuple[int, Callable[[], None]]] = [
        (2, lambda: twins.resize(rng.randint(1, 4))),
        (2, twins.go_on_with_a_restored_pool),
        (1, twins.held_is_what_it_is_by_definition),
        (2, lambda: twins.ask_anything("try_ask", pick(IDS, nth), pick(IDS, other), job)),
    ]
    if twins.unknown():
        acts.append((12, lambda: twins.ask_without_parent(nth, job)))
        if twins.known():
            acts.append((2, lambda: twins.ask_in_the_job_of_a_known_run(nth, other)))
        if twins.known("in_flight"):
            acts.append((12, lambda: twins.ask_under_a_run_in_flight(nth, other, job)))
    if twins.known("in_flight"):
        acts.append((4, lambda: twins.finish(nth)))
    if twins.borrowers():
        acts.append((14, lambda: twins.finish_a_borrower(nth)))
    if twins.known("waiting"):
        acts.append((5, lambda: twins.cancel_a_waiter(nth)))
    ((_, act),) = rng.choices(acts, [weight for weight, _ in acts])
    act()
