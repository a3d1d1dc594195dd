"""R6, who gets a freed pool slot; and what finds that waiter fast: the tree of jobs and the queue of the least."""

from __future__ import annotations

import gc
import random
import weakref
from heapq import heappop, heappush
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotlending import JobNotLeaf, Pool
from slotlending.heap import LeastFirst
from slotlending.jobs import JobTree

#: The orders by a short name.
FIFO: dict[str, Any] = {"order": "fifo"}
OLDEST: dict[str, Any] = {"tie": "oldest"}
SERVED: dict[str, Any] = {"tie": "served"}


def waiting(way: dict[str, Any], *runs: str, cap: int = 1) -> Pool:
    """A full pool in which these runs wait: "a1" in job ("a",), "app/x/1" in job ("app", "x")."""
    pool = Pool(cap, **way)
    for number in range(cap):
        pool.ask(number, job=("busy", number))
    for run in runs:
        ask(pool, run)
    return pool


def ask(pool: Pool, run: str, parent: str | None = None) -> bool:
    """Whether the run has a slot at once."""
    *above, _ = run.split("/")
    return bool(pool.ask(run, parent, tuple(above) if above else (run[0],)).granted)


def hand_out(pool: Pool, slots: int) -> list[Any]:
    """The runs that get the next slots while nobody ends: what they hold counts."""
    return [run for run, _ in pool.resize(pool.statistics().cap + slots).granted]


def pass_on(pool: Pool, run: Any = 0) -> list[Any]:
    """The runs that get one slot one after the other, each when the one before ends: nobody waiting holds anything."""
    order = []
    while granted := pool.finish(run).granted:
        ((run, _),) = granted
        order.append(run)
    return order


def line(pool: Pool, *node: str) -> list[Any]:
    return list(dict(pool.snapshot().lines).get(node, ()))


# -- fifo ------------------------------------------------------------------------------------------------------------


def test_fifo_serves_by_arrival_whatever_the_job_holds() -> None:
    runs = ["a1", "a2", "a3", "b1", "a4", "c1"]
    assert hand_out(waiting(FIFO, *runs), 6) == runs
    assert pass_on(waiting(FIFO, *runs)) == runs


def test_fifo_forgets_a_cancelled_waiter_and_puts_it_last_when_it_asks_again() -> None:
    pool = waiting(FIFO, "a1", "b1", "c1")
    pool.cancel("a1")
    ask(pool, "a1")
    assert hand_out(pool, 9) == ["b1", "c1", "a1"]


def test_fifo_has_no_lines_and_still_tells_what_is_held() -> None:
    pool = waiting(FIFO, "app/x/1", "app/y/1")
    assert pool.snapshot().lines == frozenset()
    hand_out(pool, 2)
    assert [pool.held(job) for job in [("app",), ("app", "x"), ("app", "y")]] == [2, 1, 1]


# -- fewest held first -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [SERVED, OLDEST], ids=["served", "oldest"])
class TestFewestHeldFirst:
    """What both tie-breaks have in common."""

    def test_the_job_that_holds_least_comes_first(self, way: dict[str, Any]) -> None:
        pool = waiting(way, "a1", "a2", "a3", "b1", "b2", "c1")
        assert hand_out(pool, 6) == ["a1", "b1", "c1", "a2", "b2", "a3"]

    def test_inside_a_leaf_job_the_run_that_waited_longest_comes_first(self, way: dict[str, Any]) -> None:
        pool = waiting(way, "a2", "a1", "a3")
        assert hand_out(pool, 3) == ["a2", "a1", "a3"]

    def test_slots_are_shared_between_the_apps_first_and_inside_an_app_then(self, way: dict[str, Any]) -> None:
        """App "p" has three jobs and "q" has one; each app gets half of what is handed out."""
        runs = ["p/x/1", "p/x/2", "p/y/1", "p/z/1", "q/x/1", "q/x/2", "q/x/3"]
        pool = waiting(way, *runs)
        assert hand_out(pool, 7) == ["p/x/1", "q/x/1", "p/y/1", "q/x/2", "p/z/1", "q/x/3", "p/x/2"]

    def test_a_job_that_holds_nothing_waits_if_its_app_holds_more(self, way: dict[str, Any]) -> None:
        pool = waiting(way, "p/x/1", "p/x/2")
        hand_out(pool, 2)
        for run in ["p/y/1", "q/x/1"]:
            ask(pool, run)
        assert hand_out(pool, 2) == ["q/x/1", "p/y/1"]

    def test_parked_runs_count_as_held_until_their_loan_is_back(self, way: dict[str, Any]) -> None:
        pool = waiting(way, "a1")
        hand_out(pool, 1)
        pool.ask("borrower", "a1")
        pool.finish("a1")
        for run in ["a2", "b1"]:
            ask(pool, run)
        assert hand_out(pool, 1) == ["b1"]
        pool.finish("borrower")
        assert pool.held(("a",)) == 1  # for a2, which it went to

    def test_loans_are_charged_to_nobody(self, way: dict[str, Any]) -> None:
        pool = waiting(way, "a1")
        hand_out(pool, 1)
        ask(pool, "b1", parent="a1")
        assert pool.held(("b",)) == 0
        for run in ["a2", "b2"]:
            ask(pool, run)
        assert hand_out(pool, 2) == ["b2", "a2"]

    def test_a_run_alone_in_its_own_job_is_charged_like_any_other(self, way: dict[str, Any]) -> None:
        """Asked without a job and seen by nobody, it is not in the tree of jobs at first."""
        pool = Pool(1, **way)
        pool.ask("a")
        pool.ask("b1", job=("b",))
        pool.ask("a2", job=("a",))
        pool.resize(2)
        assert pool.held(("a",)) == 1
        ask(pool, "b2")
        assert hand_out(pool, 2) == ["a2", "b2"]

    def test_a_cancelled_waiter_leaves_the_place_of_its_job_to_those_behind(self, way: dict[str, Any]) -> None:
        pool = waiting(way, "p/x/1", "p/y/1", "q/x/1")
        pool.cancel("p/x/1")
        assert hand_out(pool, 2) == ["p/y/1", "q/x/1"]

    def test_a_relent_slot_is_uncharged_before_it_goes_on(self, way: dict[str, Any]) -> None:
        pool = Pool(3, relend=True, **way)
        pool.ask("a", job=("a",))
        pool.ask("loan", "a")
        pool.ask("pool", "a", ("b",))
        pool.ask("c", job=("c",))
        for run in ["c2", "b2"]:
            ask(pool, run)
        # Were "b" still charged for the run that moved, "c" and "b" would hold one each, and c2 is older.
        assert pool.finish("loan") == ((("b2", "pool"),), ("pool",))


# -- the line of `served` --------------------------------------------------------------------------------------------


def test_a_job_joins_its_line_at_the_end_when_its_first_run_starts_to_wait() -> None:
    pool = waiting(SERVED, "b1", "a1", "b2", "c1")
    assert line(pool) == ["b", "a", "c"]
    assert pool.snapshot().lines == {((), ("b", "a", "c"))}


def test_every_node_above_a_waiting_run_has_a_line() -> None:
    pool = waiting(SERVED, "p/x/1", "q/y/1", "p/z/1", "p/x/2")
    assert pool.snapshot().lines == {((), ("p", "q")), (("p",), ("x", "z")), (("q",), ("y",))}


def test_a_job_goes_to_the_end_when_it_gets_a_pool_slot_while_others_there_wait() -> None:
    pool = waiting(SERVED, "a1", "a2", "b1", "c1")
    assert hand_out(pool, 1) == ["a1"]
    assert line(pool) == ["b", "c", "a"]


def test_a_job_leaves_its_line_when_none_waits_there_and_joins_anew_at_the_end() -> None:
    pool = waiting(SERVED, "a1", "b1", "c1")
    pool.cancel("a1")
    assert line(pool) == ["b", "c"]
    ask(pool, "a2")
    assert line(pool) == ["b", "c", "a"]
    hand_out(pool, 1)
    assert line(pool) == ["c", "a"]


def test_a_pool_grant_moves_every_node_above_the_run() -> None:
    pool = waiting(SERVED, "p/x/1", "p/x/2", "p/y/1", "q/x/1")
    assert hand_out(pool, 1) == ["p/x/1"]
    assert pool.snapshot().lines == {((), ("q", "p")), (("p",), ("y", "x")), (("q",), ("x",))}


def test_a_grant_that_empties_a_job_moves_its_app_and_takes_the_job_out() -> None:
    pool = waiting(SERVED, "p/x/1", "p/y/1", "q/x/1")
    assert hand_out(pool, 1) == ["p/x/1"]
    assert pool.snapshot().lines == {((), ("q", "p")), (("p",), ("y",)), (("q",), ("x",))}


def test_a_loan_moves_nobody_in_the_line() -> None:
    pool = waiting(SERVED, "a1")
    hand_out(pool, 1)
    assert ask(pool, "a2", parent="a1")
    for run in ["a3", "a4"]:
        ask(pool, run, parent="a1")
    ask(pool, "b1")
    assert line(pool) == ["a", "b"]
    assert pool.finish("a2").granted == (("a3", "loan"),)
    assert line(pool) == ["a", "b"]


def test_a_cancel_moves_nobody_while_others_of_the_job_wait() -> None:
    pool = waiting(SERVED, "a1", "a2", "b1")
    pool.cancel("a1")
    assert line(pool) == ["a", "b"]


def test_a_slot_taken_without_waiting_moves_nobody() -> None:
    pool = waiting(SERVED, "a1", "b1")
    pool.resize(1)
    pool.ask("loan", 0)
    pool.ask("a2", "loan", ("a",))
    assert line(pool) == ["a", "b"]


def test_served_goes_round_between_jobs_that_hold_nothing() -> None:
    assert pass_on(waiting(SERVED, "a1", "a2", "a3", "b1", "b2", "c1")) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_served_asks_what_is_held_before_it_asks_the_line() -> None:
    pool = waiting(SERVED, "a1", "a2", "b1", "b2")
    assert hand_out(pool, 2) == ["a1", "b1"]
    assert line(pool) == ["a", "b"]
    pool.resize(1)
    pool.finish("b1")
    pool.finish(0)
    # Now "a" holds one and "b" nothing; "a" is first in line.
    assert pool.resize(2).granted == (("b2", "pool"),)


def test_oldest_serves_by_arrival_between_jobs_that_hold_nothing() -> None:
    runs = ["a1", "a2", "p/x/1", "p/y/1", "a3", "b1", "p/x/2"]
    assert pass_on(waiting(OLDEST, *runs)) == runs
    assert waiting(OLDEST, *runs).snapshot().lines == frozenset()


def test_oldest_goes_by_the_run_that_waits_now_and_not_by_one_that_has_left() -> None:
    pool = waiting(OLDEST, "p/x/1", "q/x/1", "p/y/1", "q/x/2", "p/x/2")
    pool.cancel("p/x/1")
    assert pass_on(pool) == ["q/x/1", "p/y/1", "q/x/2", "p/x/2"]


def test_oldest_sees_a_loan_and_a_cancel_end_a_wait_deep_in_the_tree() -> None:
    pool = Pool(1, **OLDEST)
    pool.ask("r", job=("r",))
    pool.ask("loan", "r")
    pool.ask("p old", "r", ("p", "x"))
    ask(pool, "q/x/1")
    ask(pool, "p/x/1")
    assert pool.finish("loan").granted == (("p old", "loan"),)
    pool.finish("r")
    assert pass_on(pool, "p old") == ["q/x/1", "p/x/1"]


# -- why `served` ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [FIFO, OLDEST, SERVED], ids=["fifo", "oldest", "served"])
def test_with_as_many_busy_jobs_as_slots_oldest_is_first_come_first_served(way: dict[str, Any]) -> None:
    """Two slots, two jobs with a backlog, each run as long as any other; then a third job comes."""
    backlog = [f"{job}{number}" for number in range(1, 6) for job in "ab"]
    pool = Pool(2, **way)
    working: list[Any] = [run for run in backlog if ask(pool, run)]
    newcomer = ["c1", "c2"]
    for new in newcomer:
        ask(pool, new)
    order = list(working)
    while working:
        for run, _ in pool.finish(working.pop(0)).granted:
            working.append(run)
            order.append(run)
    if way is SERVED:
        assert order == ["a1", "b1", "a2", "b2", "c1", "a3", "b3", "c2", "a4", "b4", "a5", "b5"]
    else:
        assert order == [*backlog, *newcomer]


@pytest.mark.parametrize(
    ("way", "took_ms"), [(FIFO, 505), (OLDEST, 505), (SERVED, 95)], ids=["fifo", "oldest", "served"]
)
def test_a_job_that_comes_to_eight_busy_ones_takes_as_long_as_is_told(way: dict[str, Any], took_ms: int) -> None:
    """The figures of SEMANTICS R6, in simulated time: cap 8, 8 jobs of 50 runs of 10 ms, then 8 runs after 5 ms."""
    pool = Pool(8, **way)
    ends: list[tuple[int, int, Any]] = []
    now = 0
    starts = count()

    def start(granted: tuple[tuple[Any, str], ...]) -> None:
        for run, _ in granted:
            heappush(ends, (now + 10, next(starts), run))

    for number in range(50):
        for job in range(8):
            start(pool.ask((job, number), job=(job,)).granted)
    now = 5
    for number in range(8):
        start(pool.ask(("new", number), job=("new",)).granted)
    last = 0
    while ends:
        now, _, run = heappop(ends)
        if run[0] == "new":
            last = now
        start(pool.finish(run).granted)
    assert last - 5 == took_ms


# -- the tree of jobs ------------------------------------------------------------------------------------------------


OTHERS: list[dict[str, Any]] = [{"order": name} for name in ("round_robin", "strict_priority:3,1", "fixed_share:2")]


@pytest.mark.parametrize("way", [FIFO, OLDEST, SERVED, *OTHERS], ids=str)
def test_a_pool_restored_among_many_jobs_goes_on_like_the_one_that_lives(way: dict[str, Any]) -> None:
    """Many jobs that hold as much as one another: what is restored wrong shows only in which of them comes first."""
    for seed in range(60):
        walk_beside_restored(Pool(3, **way), random.Random(seed))


def walk_beside_restored(live: Pool, rng: random.Random) -> None:
    known: list[int] = []
    for run in range(200):
        if run % 10 == 0:
            restored = Pool.restore(live.snapshot())
        if len(known) < 12 or rng.random() < 0.5:
            job = (str(rng.randrange(9)), str(rng.randrange(2)))
            assert live.ask(run, None, job) == restored.ask(run, None, job)
            known.append(run)
        else:
            in_flight = [one for one in known if (state := live.state(one)) and state.phase == "in_flight"]
            gone = rng.choice(in_flight if rng.random() < 0.7 else known)
            assert live.cancel(gone) == restored.cancel(gone)
            known.remove(gone)
    assert live.snapshot() == restored.snapshot()


@pytest.mark.parametrize("way", [OLDEST, SERVED, *OTHERS], ids=str)
def test_nothing_is_kept_of_jobs_that_have_gone(way: dict[str, Any]) -> None:
    pool = Pool(1, **way)
    for job in "abc":
        for run in range(3):
            pool.ask(f"{job}{run}", None, (job,))
    while runs := [run for run in pool.snapshot().runs if run.phase == "in_flight"]:
        pool.finish(runs[0].run)
    assert pool.statistics().waiting == 0
    assert pool._order._queues == {}  # type: ignore[attr-defined]
    assert pool._queues == {}


def test_a_job_with_runs_may_have_more_runs_and_siblings() -> None:
    tree = JobTree()
    tree.enter(("app", "x"))
    for job in [("app", "x"), ("app", "y"), ("app", "y", "z"), ("other",), ("app2",)]:
        tree.judge(job)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ((), "a job is a non-empty path of names, not ()"),
        (("app",), "job ('app',) lies above jobs that have runs"),
        (("app", "x"), "job ('app', 'x') lies above jobs that have runs"),
        (("app", "x", "1", "deep"), "job ('app', 'x', '1', 'deep') lies below ('app', 'x', '1'), which has a run"),
        (
            ("app", "x", "1", "a", "b", "c"),
            "job ('app', 'x', '1', 'a', 'b', 'c') lies below ('app', 'x', '1'), which has a run",
        ),
    ],
)
def test_a_job_that_is_empty_or_above_or_below_one_with_runs_is_no_leaf(job: tuple[Any, ...], message: str) -> None:
    tree = JobTree()
    tree.enter(("app", "x", "1"))
    with pytest.raises(JobNotLeaf) as caught:
        tree.judge(job)
    assert caught.value.value == job
    assert caught.value.message == message
    assert set(tree.nodes) == {("app",), ("app", "x"), ("app", "x", "1")}


def test_an_empty_job_is_refused_by_an_empty_tree() -> None:
    with pytest.raises(JobNotLeaf):
        JobTree().judge(())


def test_nodes_exist_exactly_while_a_run_lies_at_or_below_them() -> None:
    tree = JobTree()
    x1, x2, y = tree.enter(("app", "x")), tree.enter(("app", "x")), tree.enter(("app", "y", "deep"))
    assert x1 is x2
    tree.leave(x1)
    assert set(tree.nodes) == {("app",), ("app", "x"), ("app", "y"), ("app", "y", "deep")}
    tree.leave(y)
    assert set(tree.nodes) == {("app",), ("app", "x")}
    tree.judge(("app", "y"))
    tree.leave(x2)
    assert tree.nodes == {}
    assert tree.root.below == 0
    tree.judge(("app",))


# -- the queue of the least ------------------------------------------------------------------------------------------

commands = st.lists(
    st.tuples(st.sampled_from(["set", "set", "set", "discard", "least"]), st.integers(0, 8), st.integers(0, 9)),
    max_size=150,
)


@settings(derandomize=True, deadline=None, database=None, max_examples=150)
@given(commands)
def test_least_first_agrees_with_a_sorted_list(commands: list[tuple[str, int, int]]) -> None:
    queue, naive = LeastFirst[int](), dict[int, tuple[int, int]]()
    for command, item, key in commands:
        if command == "set":
            queue.set(item, (key, item))  # keys of different items differ
            naive[item] = (key, item)
        elif command == "discard":
            queue.discard(item)
            naive.pop(item, None)
        elif naive:
            assert queue.least() == min(naive, key=lambda item: naive[item])
        assert len(queue) == len(naive)
        assert set(queue) == set(naive)
        # Stale entries never outnumber the live ones by more than a constant.
        assert len(queue._heap or ()) <= 2 * max(len(naive), 9) + 16


@settings(derandomize=True, deadline=None, database=None, max_examples=50)
@given(st.dictionaries(st.integers(), st.integers(), min_size=1))
def test_least_first_made_of_items_hands_them_out_by_key(items: dict[int, int]) -> None:
    queue = LeastFirst([(item, (key, item)) for item, key in items.items()])
    order = []
    while queue:
        order.append(queue.least())
        queue.discard(order[-1])
    assert order == sorted(items, key=lambda item: (items[item], item))


def test_least_first_never_compares_items() -> None:
    queue = LeastFirst[Any]()
    for item in ("a", 1, None, (2,), 1 + 2j):
        queue.set(item, 0)
        assert queue.least() == "a"
    queue.discard("a")
    assert queue.least() == 1


def test_least_first_does_not_compare_a_new_item_with_a_stale_one_of_its_key() -> None:
    queue = LeastFirst[Any]([("a", 0), (1, 1)])
    assert queue.least() == "a"
    queue.discard(1)
    queue.set(None, 1)
    queue.discard("a")
    assert queue.least() is None


def test_an_item_that_comes_back_under_an_old_key_is_found_by_its_last_key() -> None:
    queue = LeastFirst([("a", 1), ("b", 2)])
    assert queue.least() == "a"
    queue.set("a", 3)
    assert queue.least() == "b"
    queue.set("a", 1)
    assert queue.least() == "a"
    queue.discard("a")
    queue.set("a", 4)
    assert queue.least() == "b"


def test_least_first_stays_small_however_often_items_are_re_keyed() -> None:
    """The least item never moves, so no stale entry ever reaches the top."""
    queue = LeastFirst([(item, item) for item in range(10)])
    largest = 0
    for key in range(10, 5_000):
        queue.set(1 + key % 9, key)
        if key % 3 == 0:
            assert queue.least() == 0
        largest = max(largest, len(queue._heap or ()))
    assert 10 <= largest <= 36


def test_least_first_stays_small_when_most_items_are_taken_out() -> None:
    """As when all but one of many waiting jobs are cancelled: nothing is re-keyed then."""

    class Item:
        pass

    items = [Item() for _ in range(1000)]
    alive = weakref.WeakSet(items)
    queue = LeastFirst((item, number) for number, item in enumerate(items))
    assert queue.least() is items[0]
    for item in items[1:]:
        queue.discard(item)
    del items[1:], item
    gc.collect()
    assert len(queue) == 1
    assert len(alive) < 50
