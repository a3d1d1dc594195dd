"""R11: who waits for what and who holds that, in fields and in words, and circles only where there is no way out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotlending import Explanation, Pool, SlotWait, Wait

on = Wait.on_run
fixed = settings(derandomize=True, deadline=None, database=None, max_examples=200)


def pool_of(cap: int, *asks: str, **way: Any) -> Pool:
    """A pool that was asked for these runs: "child<parent" or "root"."""
    pool = Pool(cap, **way)
    for each in asks:
        run, _, parent = each.partition("<")
        pool.ask(run, parent or None)
    return pool


def circles(waits: Mapping[str, Iterable[str]]) -> set[tuple[Any, ...]]:
    """The circles among runs each of which waits for all of the others named, none of them for a slot."""
    return set(Pool(1).explain({run: [on(other) for other in others] for run, others in waits.items()}).cycles)


# -- waits for slots -------------------------------------------------------------------------------------------------


def test_a_pool_in_which_nobody_waits_says_so() -> None:
    explanation = pool_of(2, "a").explain()
    assert explanation == Explanation(cap=2, taken=1, slot_waits=(), other_waits=None, cycles=())
    assert str(explanation) == (
        "1 of 2 slots taken; waiting for a slot: 0\n(waits for slots only: pass what each run waits for to see circles)"
    )


def test_a_waiting_run_is_told_with_its_two_ways_to_a_slot() -> None:
    explanation = pool_of(2, "p", "c<p", "other", "w<p", "stranger").explain()
    assert explanation.slot_waits == (
        SlotWait("w", parent="p", lent_to="c", holders=("other", "p"), within_cap=True),
        SlotWait("stranger", parent=None, lent_to=None, holders=("other", "p"), within_cap=True),
    )
    assert str(explanation) == (
        "2 of 2 slots taken; waiting for a slot: 2\n"
        "  'w' waits for the slot of its parent 'p', lent to 'c' or a pool slot, held by 'other', 'p'\n"
        "  'stranger' waits for a pool slot, held by 'other', 'p'\n"
        "(waits for slots only: pass what each run waits for to see circles)"
    )


def test_waiting_runs_are_told_by_arrival() -> None:
    pool = pool_of(1, "z", "c", "a", "b")
    assert [wait.run for wait in pool.explain().slot_waits] == ["c", "a", "b"]


def test_a_waiter_whose_parent_ended_waits_for_a_pool_slot_only() -> None:
    pool = pool_of(1, "p", "c<p", "w<p")
    pool.finish("p")
    (wait,) = pool.explain().slot_waits
    assert (wait.parent, wait.lent_to) == (None, None)


def test_a_slot_that_a_parked_run_took_is_held_by_the_run_it_stayed_with() -> None:
    pool = pool_of(1, "a", "b<a", "c<b", "d<c", "stranger")
    pool.finish("b")
    assert pool.explain().slot_waits[0].holders == ("a",)
    pool.finish("a")
    assert pool.explain().slot_waits[0].holders == ("c",)
    pool.finish("c")
    assert pool.explain().slot_waits[0].holders == ("d",)
    assert "held by 'd'" in str(pool.explain())


def test_the_parents_slot_is_lent_to_the_run_that_has_it_now_and_not_to_a_parked_one() -> None:
    pool = pool_of(1, "p", "c<p", "g<c", "w<p")
    pool.finish("c")
    assert pool.explain().slot_waits[0].lent_to == "g"


def test_a_lowered_cap_is_told_to_those_who_wait_longer_for_it() -> None:
    pool = pool_of(2, "a", "b", "w")
    pool.resize(1)
    explanation = pool.explain()
    assert (explanation.cap, explanation.taken) == (1, 2)
    assert explanation.slot_waits == (SlotWait("w", None, None, ("a", "b"), within_cap=False),)
    assert str(explanation).splitlines()[:2] == [
        "2 of 1 slots taken; waiting for a slot: 1",
        "  'w' waits for a pool slot, held by 'a', 'b' (after more have come back: the cap was lowered)",
    ]
    pool.finish("a")
    assert pool.explain().slot_waits == (SlotWait("w", None, None, ("b",), within_cap=True),)


def test_explaining_changes_nothing() -> None:
    pool = pool_of(1, "p", "c<p", "w<p", "stranger")
    before = pool.snapshot()
    pool.explain({"p": [on("w")]})
    assert pool.snapshot() == before


def test_runs_of_any_type_are_told_by_their_repr() -> None:
    pool = Pool(1)
    pool.ask(0)
    pool.ask((1, "x"), 0)
    pool.ask(2.5, 0)
    assert str(pool.explain({0: [on(2.5)], (1, "x"): [Wait("event", None)]})).splitlines() == [
        "1 of 1 slots taken; waiting for a slot: 1",
        "  2.5 waits for the slot of its parent 0, lent to (1, 'x') or a pool slot, held by 0",
        "  0 waits for run 2.5",
        "  (1, 'x') waits for event None",
        "no circle among these waits",
    ]


# -- other waits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wait", "text"),
    [
        (on("r"), "run 'r'"),
        (Wait("event", "ready"), "event 'ready'"),
        (Wait("lock", "L", ("a",)), "lock 'L', held by 'a'"),
        (Wait("permit", ("component", 1), ("a", 2)), "permit ('component', 1), held by 'a', 2"),
    ],
)
def test_a_wait_says_what_for_and_who_holds_it(wait: Wait, text: str) -> None:
    assert str(wait) == text


def test_a_wait_for_a_run_is_held_by_that_run() -> None:
    assert on("r") == Wait("run", "r", ("r",))


def test_other_waits_are_told_as_they_were_passed_in_runs_unknown_to_the_pool_included() -> None:
    lock, event = Wait("lock", "L", ("stranger",)), Wait("event", "go")
    explanation = pool_of(1, "p").explain({"unknown": [lock, event], "p": iter([on("unknown")])})
    assert explanation.other_waits == (("unknown", lock), ("unknown", event), ("p", on("unknown")))
    assert explanation.cycles == ()
    assert str(explanation).splitlines()[1:] == [
        "  'unknown' waits for lock 'L', held by 'stranger'",
        "  'unknown' waits for event 'go'",
        "  'p' waits for run 'unknown'",
        "no circle among these waits",
    ]


def test_no_waits_passed_in_is_not_the_same_as_none_that_exist() -> None:
    pool = pool_of(1, "p")
    assert pool.explain().other_waits is None
    assert pool.explain({}).other_waits == ()
    assert str(pool.explain({})).endswith("\nno circle among these waits")


# -- circles ---------------------------------------------------------------------------------------------------------


def test_a_lock_that_a_parent_holds_and_its_child_wants_closes_a_circle() -> None:
    explanation = pool_of(1, "p", "c<p").explain({"p": [on("c")], "c": [Wait("lock", "L", ("p",))]})
    assert explanation.cycles == (("c", "p"),)
    assert str(explanation) == (
        "1 of 1 slots taken; waiting for a slot: 0\n"
        "  'p' waits for run 'c'\n"
        "  'c' waits for lock 'L', held by 'p'\n"
        "deadlock: 'c' waits for 'p' waits for 'c'"
    )


def test_a_wait_for_a_run_that_waits_for_the_waiters_slot_closes_a_circle() -> None:
    explanation = pool_of(1, "a", "b").explain({"a": [on("b")]})
    assert explanation.cycles == (("a", "b"),)


def test_a_parent_that_waits_for_its_waiting_child_is_no_circle_while_the_borrower_goes_on() -> None:
    pool = pool_of(1, "p", "c<p", "w<p")
    assert pool.explain({"p": [on("c"), on("w")]}).cycles == ()
    assert pool.explain({"p": [on("w")], "c": [on("w")]}).cycles != ()


def test_siblings_that_wait_for_one_another_over_one_slot_close_a_circle() -> None:
    """The borrower waits for a sibling that waits for the slot; their parent is stuck with them."""
    explanation = pool_of(1, "p", "c<p", "w<p").explain({"p": [on("c"), on("w")], "c": [on("w")]})
    assert explanation.cycles == (("c", "w"),)


def test_a_circle_goes_through_the_run_that_a_parked_runs_slot_stayed_with() -> None:
    pool = pool_of(1, "p", "c<p", "stranger")
    pool.finish("p")
    assert pool.explain({"c": [on("stranger")]}).cycles == (("c", "stranger"),)


def test_one_holder_that_can_go_on_is_a_way_out() -> None:
    waits: dict[Any, list[Wait]] = {"a": [on("w")]}
    assert pool_of(2, "a", "b", "w").explain(waits).cycles == ()
    assert pool_of(2, "a", "b", "w").explain({**waits, "b": [Wait("event", "go")]}).cycles == ()
    assert pool_of(2, "a", "b", "w").explain({**waits, "b": [on("w")]}).cycles == (("a", "w"),)


def test_a_holder_the_pool_does_not_know_and_that_waits_for_nothing_is_a_way_out() -> None:
    assert pool_of(1, "p").explain({"p": [Wait("lock", "L", ("p", "outside"))]}).cycles == ()
    assert pool_of(1, "p").explain({"p": [Wait("lock", "L", ("p",))]}).cycles == (("p",),)


def test_a_wait_that_ends_from_outside_closes_no_circle_but_does_not_open_one_either() -> None:
    waits: dict[Any, list[Wait]] = {"p": [on("c"), Wait("event", "go")], "c": [on("p")]}
    assert pool_of(1, "p", "c<p").explain({**waits, "p": waits["p"][1:]}).cycles == ()
    assert pool_of(1, "p", "c<p").explain(waits).cycles == (("c", "p"),)


def test_the_shortest_circle_is_told() -> None:
    assert circles({"a": "b", "b": "c", "c": "da", "d": "c"}) == {("c", "d")}


def test_runs_that_only_wait_for_those_in_a_circle_are_not_in_it() -> None:
    assert circles({"x": "y", "y": "a", "a": "b", "b": "a"}) == {("a", "b")}


def test_circles_that_have_nothing_to_do_with_one_another_are_all_told() -> None:
    explanation = Pool(1).explain({"a": [on("b")], "b": [on("a")], "c": [on("d")], "d": [on("c")], "e": [on("e")]})
    assert explanation.cycles == (("a", "b"), ("c", "d"), ("e",))
    assert str(explanation).splitlines()[-3:] == [
        "deadlock: 'a' waits for 'b' waits for 'a'",
        "deadlock: 'c' waits for 'd' waits for 'c'",
        "deadlock: 'e' waits for 'e'",
    ]


@pytest.mark.parametrize(
    "waits",
    [
        {"a": "b", "b": "a", "s": "ta", "t": "s"},
        {"x": "y", "y": "z", "z": "x", "s": "tx", "t": "s"},
    ],
)
def test_every_group_that_holds_itself_up_is_told_whatever_it_is_called_and_waits_for_besides(
    waits: dict[str, str],
) -> None:
    """Ending either circle leaves the other, or names hide it: to mend the one told is not enough."""
    assert {frozenset(cycle) for cycle in circles(waits)} == {
        frozenset("st"),
        frozenset(waits) - frozenset("st"),
    }


@fixed
@given(
    st.dictionaries(
        st.integers(0, 5),
        st.lists(st.frozensets(st.integers(0, 6), max_size=3), max_size=3),
    )
)
def test_circles_are_found_exactly_where_some_runs_can_never_end(waits: dict[int, list[frozenset[int]]]) -> None:
    """Against the plain reading: end, as long as possible, runs all of whose waits are over."""
    named: dict[Any, list[Wait]] = {
        run: [Wait("thing", number, tuple(sorted(holders))) for number, holders in enumerate(them)]
        for run, them in waits.items()
    }
    cycles: tuple[tuple[Any, ...], ...] = Pool(1).explain(named).cycles
    unended = set(waits)
    while ended := {run for run in unended if all(not wait or wait - unended for wait in waits[run])}:
        unended -= ended
    assert bool(cycles) == bool(unended)
    for cycle in cycles:
        assert unended.issuperset(cycle)
        assert len(set(cycle)) == len(cycle)
        for run, waited_for in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert any(waited_for in wait and wait <= unended for wait in waits[run])


# -- circles, against what the pool really does ----------------------------------------------------------------------


def in_flight(pool: Pool) -> list[int]:
    states: Iterable[Any] = pool.snapshot().runs
    return sorted(state.run for state in states if state.phase == "in_flight")


def unended(pool: Pool) -> set[int]:
    states: Iterable[Any] = pool.snapshot().runs
    return {state.run for state in states if state.phase != "parked"}


def histories(relend: bool) -> Iterator[tuple[str, Callable[[], Pool], dict[int, set[int]]]]:
    """Small pools after some steps, and what their runs that have not ended wait for once they have a slot."""
    for seed in range(2000):
        rng = Random(seed)
        pool = Pool(rng.randint(1, 3), relend=relend)
        for run in range(rng.randint(4, 11)):
            there = in_flight(pool)
            act = rng.choices(["root", "child", "finish", "lower"], [3, 8, 3, 1])[0]
            if act == "lower":
                pool.resize(max(1, pool.statistics().cap - 1))
            elif act == "root" or not there:
                pool.ask(run)
            elif act == "child":
                pool.ask(run, rng.choice(there))
            else:
                pool.finish(rng.choice(there))
        left = sorted(unended(pool))
        waits: dict[int, set[int]] = {}
        for _ in range(rng.randint(1, 5) if left else 0):
            waits.setdefault(rng.choice(left), set()).add(rng.choice(left))
        yield f"seed {seed}", partial(Pool.restore, pool.snapshot()), waits


def told(pool: Pool, waits: dict[int, set[int]]) -> tuple[tuple[Any, ...], ...]:
    """What a front end passes in: the waits of the runs in flight for runs that have not ended."""
    left = unended(pool)
    return pool.explain({run: [on(other) for other in waits.get(run, set()) & left] for run in in_flight(pool)}).cycles


def run_to_the_end(pool: Pool, waits: dict[int, set[int]], choose: Callable[[list[int]], int]) -> None:
    """Finish runs in flight that wait for nobody, as long as there are any."""
    while free := [run for run in in_flight(pool) if not waits.get(run, set()) & unended(pool)]:
        pool.finish(choose(free))


@pytest.mark.parametrize(
    "relend",
    [
        False,
        True,
    ],
)
def test_no_run_of_a_circle_ever_ends(relend: bool) -> None:
    stuck = 0
    for name, make, waits in histories(relend):
        named = {run for cycle in told(make(), waits) for run in cycle}
        stuck += bool(named)
        for choose in (min, max):
            pool = make()
            run_to_the_end(pool, waits, choose)
            assert named <= unended(pool), name
    assert stuck > 100


@pytest.mark.parametrize("relend", [False, True])
def test_where_nothing_goes_on_any_more_a_circle_is_told(relend: bool) -> None:
    for name, make, waits in histories(relend):
        pool = make()
        run_to_the_end(pool, waits, min)
        assert bool(told(pool, waits)) == bool(unended(pool)), name


def test_a_slot_that_a_relend_will_bring_back_is_a_way_out() -> None:
    pool = pool_of(2, "p", "c1<p", "c2<p", "w", relend=True)
    assert pool.explain({"p": [on("c1"), on("c2")], "c2": [on("w")]}).cycles == ()
    assert pool.finish("c1") == ((("w", "pool"),), ("c2",))


def test_a_circle_goes_through_the_run_that_a_parked_borrowers_loan_stayed_with() -> None:
    pool = pool_of(1, "p", "c<p", "g<c", "w<p")
    pool.finish("c")
    assert pool.explain({"p": [on("w")], "g": [on("w")]}).cycles == (("g", "w"),)


# -- many runs -------------------------------------------------------------------------------------------------------


class Counted:
    """An id that counts how often anybody looks one up."""

    looked_up = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        Counted.looked_up += 1
        return hash(self.number)

    def __repr__(self) -> str:
        return f"{self.number:06}"


def work_of(explain: Callable[[], Explanation]) -> tuple[Explanation, int]:
    """Work without a clock: the lines that were run, and the ids that were looked up."""
    lines = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    Counted.looked_up = 0
    before = sys.gettrace()
    sys.settrace(count)
    try:
        explanation = explain()
    finally:
        sys.settrace(before)
    return explanation, lines + Counted.looked_up


def work(cap: int, waiting: int, *, deadlock: bool, **way: Any) -> int:
    """What it takes to explain a pool with so many runs waiting."""
    pool = Pool(cap, **way)
    ids = [Counted(number) for number in range(cap + waiting)]
    for run in ids:
        pool.ask(run, job=("job", run.number % cap))
    told: dict[Any, list[Wait]] | None = None
    if deadlock:  # a holder waits for all that wait for its slot, the other holders for that one
        told = {ids[0]: [on(other) for other in ids[cap:]], **{run: [on(ids[0])] for run in ids[1:cap]}}
    explanation, done = work_of(lambda: pool.explain(told))
    assert len(explanation.slot_waits) == waiting
    assert len(explanation.cycles) == deadlock
    return done


@pytest.mark.parametrize("deadlock", [False, True])
@pytest.mark.parametrize(
    "way",
    [
        {},
        {"tie": "oldest"},
        {"relend": True},
        *({"order": order} for order in ("fifo", "round_robin", "strict_priority:a", "fixed_share:1")),
    ],
    ids=str,
)
def test_the_work_grows_as_the_waits_do_and_not_as_their_square(way: dict[str, Any], deadlock: bool) -> None:
    few, many = work(20, 100, deadlock=deadlock, **way), work(80, 400, deadlock=deadlock, **way)
    assert many < 5 * few


def test_one_long_circle_is_found_in_one_walk() -> None:
    def work(runs: int) -> int:
        ids = [Counted(number) for number in range(runs)]
        ring: dict[Any, list[Wait]] = {run: [on(then)] for run, then in zip(ids, [*ids[1:], ids[0]], strict=True)}
        explanation, done = work_of(lambda: Pool(1).explain(ring))
        assert explanation.cycles == (tuple(ids),)
        return done

    assert work(400) < 5 * work(100)


def test_runs_below_one_long_parked_chain_are_explained_in_one_walk() -> None:
    def work(runs: int) -> int:
        pool = Pool(1)
        ids = [Counted(number) for number in range(2 * runs)]
        for number, run in enumerate(ids[:runs]):
            pool.ask(run, ids[number - 1] if number else None)
        for run in ids[runs:]:
            pool.ask(run, ids[0])
        for run in ids[1 : runs - 1]:
            pool.finish(run)
        explanation, done = work_of(pool.explain)
        assert {wait.lent_to for wait in explanation.slot_waits} == {ids[runs - 1]}
        return done

    assert work(400) < 5 * work(100)


def test_a_shortest_circle_is_found_behind_longer_ones() -> None:
    ring = {f"a{number}": [f"a{(number + 1) % 9}"] for number in range(9)}
    ring["a7"].append("a5")
    ring["a3"].append("b")
    ring["b"] = ["c"]
    ring["c"] = ["b", "a0"]
    assert circles(ring) == {("b", "c")}


@fixed
@given(st.dictionaries(st.integers(0, 6), st.frozensets(st.integers(0, 6), min_size=1, max_size=3)))
def test_no_circle_is_shorter_than_the_one_that_is_told(waits: dict[int, frozenset[int]]) -> None:
    """Against the lengths of all walks, for runs that wait for all of the others named."""
    told = circles({str(run): [str(to) for to in them] for run, them in waits.items()})
    stuck = set(waits)
    while free := {run for run in stuck if not waits[run] & stuck}:
        stuck -= free
    paths = {run: {run: 0} for run in stuck}  # by whom a run reaches, in how many waits
    lengths = dict.fromkeys(stuck, 0)
    for length in range(1, len(stuck) + 1):
        for run in stuck:
            for to in {to for at, steps in paths[run].items() if steps == length - 1 for to in waits[at] & stuck}:
                if to == run:
                    lengths[run] = lengths[run] or length
                paths[run].setdefault(to, length)
    for cycle in told:
        group = [run for run in stuck if int(cycle[0]) in paths[run] and run in paths[int(cycle[0])]]
        assert len(cycle) == min(lengths[run] for run in group if lengths[run])
    assert bool(told) == bool(stuck)
