"""The pool, rule by rule (R1 to R8, R13): who gets which slot in which step, and what is refused."""

from __future__ import annotations

import copy
import pickle
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from slotlending import (
    Answer,
    BadCap,
    JobNotLeaf,
    NotAdmitted,
    NotKnown,
    ParentNotInFlight,
    Pool,
    Refused,
    RunKnown,
    RunState,
    Statistics,
)
from slotlending.other_orders import ORDERS

NOTHING = Answer((), ())
#: Every way to make a pool.
WAYS: list[dict[str, Any]] = [
    {"order": order, "tie": tie, "relend": relend}
    for order, tie in [("fewest_held", "served"), ("fewest_held", "oldest"), ("fifo", "served")]
    for relend in (False, True)
]
every_order = pytest.mark.parametrize("way", WAYS[::2], ids=lambda way: f"{way['order']}-{way['tie']}")
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(str(value) for value in way.values()))


def got(run: Hashable, token: str) -> Answer:
    """The answer by which this run alone got a slot."""
    return Answer(((run, token),))


def state_of(pool: Pool, run: Hashable) -> RunState:
    return next(state for state in pool.snapshot().runs if state.run == run)


def known(pool: Pool) -> dict[Hashable, tuple[str, str]]:
    """Phase and token of every known run."""
    return {state.run: (state.phase, state.token) for state in pool.snapshot().runs}


def family(cap: int, *children: str, **way: Any) -> Pool:
    """A root "p" that has asked for these children, in a pool of this cap."""
    pool = Pool(cap, **way)
    pool.ask("p")
    for child in children:
        pool.ask(child, parent="p")
    return pool


def chain(*runs: str, cap: int = 1, **way: Any) -> Pool:
    """Runs each of which is the parent of the next and has lent to it."""
    pool = Pool(cap, **way)
    pool.ask(runs[0])
    for parent, run in pairwise(runs):
        assert pool.ask(run, parent=parent) == got(run, "loan")
    return pool


def busy(**way: Any) -> Pool:
    """Runs in every phase: "root" lends to "mid", which is parked on "leaf"; "job" holds; "late" and "kid" wait."""
    pool = chain("root", "mid", "leaf", cap=2, **way)
    pool.finish("mid")
    pool.ask("job", job=("x", "y"))
    pool.ask("late")
    pool.ask("kid", parent="root")
    return pool


# -- R1: construct ---------------------------------------------------------------------------------------------------

BAD_CAPS: list[Any] = [0, -1, float("nan"), 1.5, 2.0, True, False, "2", None, (1,)]


@pytest.mark.parametrize("cap", BAD_CAPS, ids=repr)
def test_a_cap_that_is_no_integer_of_at_least_1_is_refused_and_named(cap: Any) -> None:
    with pytest.raises(BadCap) as caught:
        Pool(cap)
    assert caught.value.code == "bad_cap"
    assert caught.value.value is cap
    assert str(caught.value) == f"bad_cap: a cap is an integer >= 1, not {cap!r}"


@pytest.mark.parametrize(
    ("way", "message"),
    [
        *(
            ({"order": order}, f"order is one of {', '.join(ORDERS)}, not {order!r}")
            for order in ("lifo", None, "", "fifo:", "fewest_held:2", "round_robin:a", "priority:a", 3)
        ),
        *(
            (
                {"order": order},
                f"strict_priority takes different names of jobs, as in strict_priority:a,b; not {order!r}",
            )
            for order in ("strict_priority", "strict_priority:", "strict_priority:a,", "strict_priority:a,b,a")
        ),
        *(
            ({"order": order}, f"fixed_share takes a number of slots >= 1, as in fixed_share:4; not {order!r}")
            for order in (
                "fixed_share",
                "fixed_share:",
                "fixed_share:0",
                "fixed_share:-1",
                "fixed_share:1.5",
                "fixed_share:1e3",
                "fixed_share:\u0663",
                f"fixed_share:{'9' * 10}",
            )
        ),
        ({"tie": "newest"}, "tie is one of served, oldest, not 'newest'"),
        ({"order": "fifo", "tie": ""}, "tie is one of served, oldest, not ''"),
        ({"relend": 1}, "relend is True or False, not 1"),
        ({"relend": "no"}, "relend is True or False, not 'no'"),
    ],
)
def test_an_option_that_does_not_exist_is_refused_by_name(way: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Pool(1, **way)


def test_the_defaults_are_fewest_held_served_without_relend() -> None:
    assert Pool(1).snapshot() == Pool(1, order="fewest_held", tie="served", relend=False).snapshot()


@every_way
def test_a_new_pool_knows_nobody_and_tells_how_it_was_made(way: dict[str, Any]) -> None:
    snapshot = Pool(3, **way).snapshot()
    assert snapshot == (3, 0, frozenset(), (), frozenset(), frozenset(), way["order"], way["tie"], way["relend"])


# -- R2: ask ---------------------------------------------------------------------------------------------------------


def test_a_run_without_a_parent_takes_a_free_pool_slot() -> None:
    pool = Pool(2)
    assert pool.ask("a") == got("a", "pool")
    assert pool.ask("b") == got("b", "pool")
    assert pool.ask("c") == NOTHING
    assert known(pool) == {"a": ("in_flight", "pool"), "b": ("in_flight", "pool"), "c": ("waiting", "none")}
    assert pool.snapshot().waiting == ("c",)


def test_the_parents_slot_comes_before_a_free_pool_slot() -> None:
    pool = family(3)
    assert pool.ask("first", parent="p") == got("first", "loan")
    assert pool.ask("second", parent="p") == got("second", "pool")
    assert pool.snapshot().taken == 2
    assert state_of(pool, "p").lent
    assert not state_of(pool, "first").lent


def test_a_child_waits_only_when_its_parents_slot_is_lent_and_no_slot_is_free() -> None:
    pool = family(1, "first")
    assert pool.ask("second", parent="p") == NOTHING
    assert state_of(pool, "second") == ("second", "waiting", "none", False, 2, "p", ("p",))


def test_a_grandchild_borrows_from_its_own_parent_and_not_from_the_root() -> None:
    pool = chain("p", "c", "g")
    assert pool.snapshot().taken == 1
    assert [state_of(pool, run).lent for run in "pcg"] == [True, True, False]


def test_a_child_that_waits_leaves_both_queues_when_its_parents_slot_frees() -> None:
    pool = family(2, "on loan", "on pool", "waits")
    pool.ask("other")
    assert pool.finish("on loan") == got("waits", "loan")
    # Neither queue has it any more: the next pool slot is for the other, the next loan for nobody.
    assert pool.finish("on pool") == got("other", "pool")
    assert pool.finish("waits") == NOTHING


def test_a_child_that_waits_leaves_both_queues_when_a_pool_slot_frees() -> None:
    pool = family(2, "on loan", "on pool", "waits")
    assert pool.finish("on pool") == got("waits", "pool")
    assert pool.finish("on loan") == NOTHING
    assert pool.finish("waits") == NOTHING
    assert pool.statistics() == Statistics(cap=2, taken=1, free=1, waiting=0, in_flight=1, parked=0)


def test_levels_count_from_1_and_stay_when_the_parent_has_ended() -> None:
    pool = chain("p", "c", "g", cap=2)
    pool.ask("late", parent="p")
    pool.finish("p")
    assert {state.run: state.level for state in pool.snapshot().runs} == {"p": 1, "c": 2, "g": 3, "late": 2}
    assert state_of(pool, "late").parent is None


def test_a_job_is_the_parents_or_the_runs_own_unless_it_is_given() -> None:
    pool = Pool(9)
    pool.ask("a")
    pool.ask("b", parent="a")
    pool.ask("c", job=("app", "update"))
    pool.ask("d", parent="c")
    pool.ask("e", parent="c", job=("app", "other"))
    jobs = {state.run: state.job for state in pool.snapshot().runs}
    app = ("app", "update")
    assert jobs == {"a": ("a",), "b": ("a",), "c": app, "d": app, "e": ("app", "other")}


def test_a_late_child_asks_without_a_parent_in_the_job_of_the_one_that_ended() -> None:
    pool = chain("p", "c")
    pool.finish("p")
    with pytest.raises(ParentNotInFlight):
        pool.ask("late", parent="p")
    assert pool.ask("late", job=("p",)) == NOTHING
    assert state_of(pool, "late") == ("late", "waiting", "none", False, 1, None, ("p",))
    assert pool.finish("c") == got("late", "pool")
    # The job goes on without the run it is named after, which may come again.
    assert pool.held(("p",)) == 1
    assert pool.ask("p") == NOTHING
    assert pool.held(("p",)) == 1


def test_a_forgotten_id_may_be_asked_again_as_another_run() -> None:
    pool = chain("p", "c")
    pool.finish("c")
    assert pool.ask("c", parent="p") == got("c", "loan")
    pool.cancel("c")
    pool.finish("p")
    assert pool.ask("c") == got("c", "pool")
    assert state_of(pool, "c") == ("c", "in_flight", "pool", False, 1, None, ("c",))


def test_a_job_becomes_a_leaf_again_when_the_runs_above_or_below_it_are_forgotten() -> None:
    pool = Pool(9)
    pool.ask("a", job=("x", "y"))
    with pytest.raises(JobNotLeaf):
        pool.ask("b", job=("x",))
    pool.finish("a")
    assert pool.ask("b", job=("x",)) == got("b", "pool")
    with pytest.raises(JobNotLeaf):
        pool.ask("a", job=("x", "y"))


def test_the_job_of_a_run_alone_is_a_leaf_before_anybody_has_looked() -> None:
    for ask in (Pool.ask, Pool.try_ask):
        pool = Pool(2)
        pool.ask("a")
        with pytest.raises(JobNotLeaf):
            ask(pool, "b", None, ("a", "below"))
        assert pool.held(("a",)) == 1


def test_siblings_of_a_leaf_job_may_be_as_deep_as_they_like() -> None:
    pool = Pool(9)
    for number, job in enumerate([("x", "y"), ("x", "z", "1"), ("x", "z", "2"), ("xy",), ("y", "x")]):
        assert pool.ask(number, job=job) == got(number, "pool")


def test_ids_may_be_anything_hashable_falsy_ones_and_mixed_types_included() -> None:
    ids: list[Hashable] = [0, "", (), ("a", 1), "0", b"0", frozenset(), 2.5]
    pool = Pool(1)
    pool.ask(0)
    for parent, run in pairwise(ids):
        assert pool.ask(run, parent=parent) == got(run, "loan")
    assert pool.ask(7, parent="") == NOTHING
    assert [pool.finish(run) for run in reversed(ids[2:])] == [NOTHING] * 5 + [got(7, "loan")]
    assert [pool.finish(run) for run in (7, "", 0)] == [NOTHING] * 3
    assert pool.snapshot() == Pool(1).snapshot()


# -- R2, R3, R5, R8: what is refused ---------------------------------------------------------------------------------

#: Calls that a busy pool refuses: the class, the code, the value, the message after the code.
ASKS: list[tuple[tuple[Any, ...], type[Refused], str, Any, str]] = [
    # a known id, whatever else is wrong
    (("root", "nobody", ()), RunKnown, "run_known", "root", "run 'root' is known: in flight"),
    (("late", None, None), RunKnown, "run_known", "late", "run 'late' is known: waiting"),
    (("mid", "late", ("x",)), RunKnown, "run_known", "mid", "run 'mid' is known: parked"),
    # a parent that is not in flight, whatever the job
    (
        ("new", "nobody", ()),
        ParentNotInFlight,
        "parent_not_in_flight",
        "nobody",
        "parent 'nobody' of run 'new' is not in flight: not known",
    ),
    (
        ("new", "late", ("x",)),
        ParentNotInFlight,
        "parent_not_in_flight",
        "late",
        "parent 'late' of run 'new' is not in flight: waiting",
    ),
    (
        ("new", "mid", None),
        ParentNotInFlight,
        "parent_not_in_flight",
        "mid",
        "parent 'mid' of run 'new' is not in flight: parked",
    ),
    (
        ("new", "new", None),
        ParentNotInFlight,
        "parent_not_in_flight",
        "new",
        "parent 'new' of run 'new' is not in flight: not known",
    ),
    # a job that is empty, above or below one with a known run, with a parent or without
    (("new", None, ()), JobNotLeaf, "job_not_leaf", (), "a job is a non-empty path of names, not ()"),
    (("new", "root", ()), JobNotLeaf, "job_not_leaf", (), "a job is a non-empty path of names, not ()"),
    (("new", None, ("x",)), JobNotLeaf, "job_not_leaf", ("x",), "job ('x',) lies above jobs that have runs"),
    (("x", None, None), JobNotLeaf, "job_not_leaf", ("x",), "job ('x',) lies above jobs that have runs"),
    (
        ("new", "job", ("x", "y", "z")),
        JobNotLeaf,
        "job_not_leaf",
        ("x", "y", "z"),
        "job ('x', 'y', 'z') lies below ('x', 'y'), which has a run",
    ),
    (
        ("new", None, ("x", "y", "z", "deeper")),
        JobNotLeaf,
        "job_not_leaf",
        ("x", "y", "z", "deeper"),
        "job ('x', 'y', 'z', 'deeper') lies below ('x', 'y'), which has a run",
    ),
    (
        ("new", "root", ("root", "part")),
        JobNotLeaf,
        "job_not_leaf",
        ("root", "part"),
        "job ('root', 'part') lies below ('root',), which has a run",
    ),
    (
        ("new", None, ("late", "part")),
        JobNotLeaf,
        "job_not_leaf",
        ("late", "part"),
        "job ('late', 'part') lies below ('late',), which has a run",
    ),
]
REFUSALS: list[tuple[str, tuple[Any, ...], type[Refused], str, Any, str]] = [
    *((name, *ask) for name in ("ask", "try_ask") for ask in ASKS),
    (
        "finish",
        ("late",),
        NotAdmitted,
        "not_admitted",
        "late",
        "run 'late' waits for a slot, so it cannot finish; cancel it",
    ),
    ("finish", ("mid",), NotKnown, "not_known", "mid", "run 'mid' is not in flight, so it cannot finish"),
    ("finish", ("nobody",), NotKnown, "not_known", "nobody", "run 'nobody' is not in flight, so it cannot finish"),
    (
        "cancel",
        ("mid",),
        NotKnown,
        "not_known",
        "mid",
        "run 'mid' is neither waiting nor in flight, so it cannot be cancelled",
    ),
    (
        "cancel",
        ("nobody",),
        NotKnown,
        "not_known",
        "nobody",
        "run 'nobody' is neither waiting nor in flight, so it cannot be cancelled",
    ),
    *(("resize", (cap,), BadCap, "bad_cap", cap, f"a cap is an integer >= 1, not {cap!r}") for cap in BAD_CAPS),
]


@every_order
@pytest.mark.parametrize(
    ("name", "args", "error", "code", "value", "message"),
    REFUSALS,
    ids=[f"{name}{args}" for name, args, *_ in REFUSALS],
)
def test_a_refused_call_says_what_is_wrong_and_changes_nothing(
    way: dict[str, Any], name: str, args: tuple[Any, ...], error: type[Refused], code: str, value: Any, message: str
) -> None:
    pool = busy(**way)
    before = pool.snapshot()
    with pytest.raises(Refused) as caught:
        getattr(pool, name)(*args)
    assert type(caught.value) is error
    assert caught.value.code == code
    assert caught.value.value is value or caught.value.value == value
    assert str(caught.value) == f"{code}: {message}"
    assert pool.snapshot() == before
    # Nor does it leave anything that is not in the snapshot but tells later: both go on alike to the end.
    assert list(to_the_end(pool)) == list(to_the_end(busy(**way)))


@every_order
@pytest.mark.parametrize("name", ["ask", "try_ask"])
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((None,), "None is no id for a run: it stands for no parent"),
        ((None, "root"), "None is no id for a run: it stands for no parent"),
        (([],), "unhashable type: 'list'"),
        (("new", []), "unhashable type: 'list'"),
        (("new", None, "app"), "a job is a tuple of names such as ('app', 'update'), not 'app'"),
        (("new", "root", ""), "a job is a tuple of names such as ('app', 'update'), not ''"),
        (("new", None, ["app"]), "a job is a tuple of names such as ('app', 'update'), not ['app']"),
        (("new", None, ("app", [])), "unhashable type: 'list'"),
        (("new", "root", ([], "app")), "unhashable type: 'list'"),
    ],
)
def test_a_value_of_the_wrong_type_is_a_type_error_and_changes_nothing(
    way: dict[str, Any], name: str, args: tuple[Any, ...], message: str
) -> None:
    pool = busy(**way)
    before = pool.snapshot()
    with pytest.raises(TypeError) as caught:
        getattr(pool, name)(*args)
    assert str(caught.value) == message
    assert pool.snapshot() == before


@pytest.mark.parametrize("call", [Pool.finish, Pool.cancel])
def test_none_is_never_a_known_run(call: Callable[[Pool, Any], Answer]) -> None:
    with pytest.raises(NotKnown):
        call(busy(), None)


def test_a_run_finishes_once() -> None:
    pool = family(1)
    pool.finish("p")
    with pytest.raises(NotKnown):
        pool.finish("p")
    assert pool.statistics().taken == 0


def test_a_cancelled_waiter_cannot_finish() -> None:
    """The race that a front end swallows; here it is a plain refusal."""
    pool = family(1, "c", "w")
    pool.cancel("w")
    with pytest.raises(NotKnown):
        pool.finish("w")


# -- R2: try_ask -----------------------------------------------------------------------------------------------------


@every_way
def test_try_ask_grants_what_ask_grants_at_once(way: dict[str, Any]) -> None:
    asked, tried = Pool(2, **way), Pool(2, **way)
    asks: list[tuple[Any, ...]] = [("p",), ("loan", "p"), ("pool", "p", ("other", "job"))]
    for args in asks:
        answer = tried.try_ask(*args)
        assert answer == asked.ask(*args)
        assert answer.granted
        assert tried.snapshot() == asked.snapshot()


@every_way
def test_try_ask_changes_nothing_where_ask_would_wait(way: dict[str, Any]) -> None:
    pool = busy(**way)
    before = pool.snapshot()
    assert pool.try_ask("new") == NOTHING
    assert pool.try_ask("new", "root") == NOTHING
    assert pool.try_ask("new", None, ("other", "job")) == NOTHING
    assert pool.snapshot() == before
    assert list(to_the_end(pool)) == list(to_the_end(busy(**way)))


# -- R3, R4: finish and give back ------------------------------------------------------------------------------------


def test_a_returned_loan_goes_to_the_lenders_longest_waiting_child_before_anybody_else() -> None:
    pool = family(1, "on loan")
    pool.ask("older stranger")
    pool.ask("first", parent="p")
    pool.ask("second", parent="p")
    assert pool.finish("on loan") == got("first", "loan")
    assert pool.finish("first") == got("second", "loan")
    assert pool.finish("second") == NOTHING
    assert pool.finish("p") == got("older stranger", "pool")


def test_a_lender_without_a_waiting_child_holds_its_slot_unlent_again() -> None:
    pool = family(1, "c")
    pool.ask("stranger")
    assert pool.finish("c") == NOTHING
    assert state_of(pool, "p") == ("p", "in_flight", "pool", False, 1, None, ("p",))
    assert pool.ask("next", parent="p") == got("next", "loan")


def test_a_run_that_finishes_while_it_lends_is_parked_and_its_slot_stays_with_the_loan() -> None:
    pool = family(1, "c")
    pool.ask("stranger")
    assert pool.finish("p") == NOTHING
    assert known(pool) == {"p": ("parked", "pool"), "c": ("in_flight", "loan"), "stranger": ("waiting", "none")}
    assert pool.held(("p",)) == 1
    assert pool.finish("c") == got("stranger", "pool")
    assert known(pool) == {"stranger": ("in_flight", "pool")}


def test_the_waiting_children_of_a_run_that_ended_keep_their_place_in_the_pools_queue() -> None:
    pool = family(1, "c", "w1", order="fifo")
    pool.ask("stranger")
    pool.ask("w2", parent="p")
    pool.finish("p")
    assert pool.snapshot().waiting == ("w1", "stranger", "w2")
    assert [state_of(pool, run)[4:6] for run in ("w1", "w2")] == [(2, None), (2, None)]
    # The loan is not for them any more: it goes up through the parked parent to the pool.
    assert pool.finish("c") == got("w1", "pool")
    assert pool.finish("w1") == got("stranger", "pool")
    assert pool.finish("stranger") == got("w2", "pool")


def test_the_borrower_alone_keeps_its_parked_parent() -> None:
    pool = family(3, "borrower", "c2", "c3")
    pool.finish("p")
    assert [state_of(pool, run).parent for run in ("borrower", "c2", "c3")] == ["p", None, None]
    assert pool.snapshot().children == {("p", ("borrower",))}


def test_children_on_pool_slots_outlive_a_parent_that_did_not_lend() -> None:
    pool = family(2, "on loan", "on pool")
    pool.finish("on loan")
    assert pool.finish("p") == NOTHING
    assert known(pool) == {"on pool": ("in_flight", "pool")}
    assert state_of(pool, "on pool")[4:] == (2, None, ("p",))
    assert pool.snapshot().children == frozenset()


def test_a_loan_cascades_through_three_parked_lenders_in_one_step() -> None:
    pool = chain("a", "b", "c", "d")
    pool.ask("stranger")
    for run in ("b", "a", "c"):
        assert pool.finish(run) == NOTHING
    assert pool.statistics() == Statistics(cap=1, taken=1, free=0, waiting=1, in_flight=1, parked=3)
    assert pool.finish("d") == got("stranger", "pool")
    assert known(pool) == {"stranger": ("in_flight", "pool")}


def test_a_cascade_stops_at_the_first_open_lender() -> None:
    pool = chain("a", "b", "c", "d")
    pool.ask("stranger")
    pool.ask("sibling", parent="a")
    pool.finish("b")
    pool.finish("c")
    assert pool.finish("d") == got("sibling", "loan")
    assert set(known(pool)) == {"a", "sibling", "stranger"}
    assert state_of(pool, "a").lent


def test_a_parked_run_on_loan_gives_its_slot_to_its_open_lender_which_holds_it() -> None:
    pool = chain("a", "b", "c")
    pool.ask("stranger")
    pool.finish("b")
    assert pool.finish("c") == NOTHING
    assert known(pool) == {"a": ("in_flight", "pool"), "stranger": ("waiting", "none")}
    assert not state_of(pool, "a").lent


def test_a_parked_child_on_a_pool_slot_is_still_a_child_with_a_slot() -> None:
    pool = family(2, "on loan", "on pool")
    pool.ask("grandchild", parent="on pool")
    pool.finish("on pool")
    assert known(pool)["on pool"] == ("parked", "pool")
    assert pool.snapshot().children == {("p", ("on loan", "on pool")), ("on pool", ("grandchild",))}
    assert pool.finish("grandchild") == NOTHING
    assert pool.snapshot().children == {("p", ("on loan",))}
    assert pool.statistics().free == 1


def test_a_pool_slot_is_uncharged_before_the_order_is_asked() -> None:
    """Still charged, the job of the run that ended would seem to hold one more than its rival."""
    pool = Pool(2)
    pool.ask("a1", job=("a",))
    pool.ask("b1", job=("b",))
    pool.ask("a2", job=("a",))
    pool.ask("b2", job=("b",))
    assert pool.finish("a1") == got("a2", "pool")


@every_way
def test_the_children_of_a_run_are_told_by_admission_and_not_by_arrival(way: dict[str, Any]) -> None:
    pool = family(2, "c1", "c2", "c3", "c4", **way)
    pool.finish("c2")  # c3 gets its pool slot
    pool.finish("c1")  # c4 gets the loan
    pool.ask("c5", parent="p")
    pool.resize(3)
    assert pool.snapshot().children == {("p", ("c3", "c4", "c5"))}


# -- R5: cancel ------------------------------------------------------------------------------------------------------


def test_cancelling_a_waiter_takes_it_out_of_both_queues() -> None:
    pool = family(1, "c", "w1", "w2")
    pool.ask("stranger")
    assert pool.cancel("w1") == NOTHING
    assert pool.snapshot().waiting == ("w2", "stranger")
    assert pool.finish("c") == got("w2", "loan")
    assert pool.ask("w1") == NOTHING  # forgotten, so its id is free
    assert pool.snapshot().waiting == ("stranger", "w1")


def test_cancelling_the_last_waiter_leaves_no_queue_behind() -> None:
    pool = family(1, "c", "w", order="fewest_held")
    pool.cancel("w")
    assert pool.snapshot().waiting == ()
    assert pool.snapshot().lines == frozenset()
    assert pool.finish("c") == NOTHING


@every_way
@pytest.mark.parametrize("run", ["root", "leaf", "job"], ids=["lending", "on loan", "on a pool slot"])
def test_cancelling_an_admitted_run_is_finishing_it(way: dict[str, Any], run: str) -> None:
    cancelled, finished = busy(**way), busy(**way)
    assert cancelled.cancel(run) == finished.finish(run)
    assert cancelled.snapshot() == finished.snapshot()


def test_cancelling_a_run_gives_a_loan_to_the_lender_and_never_to_the_pool() -> None:
    pool = family(1, "c")
    pool.ask("stranger")
    assert pool.cancel("c") == NOTHING
    assert known(pool) == {"p": ("in_flight", "pool"), "stranger": ("waiting", "none")}


def test_cancelling_a_run_gives_a_pool_slot_to_the_pool_and_never_to_the_parent() -> None:
    pool = family(2, "on loan", "on pool")
    pool.ask("stranger")
    pool.ask("sibling", parent="p")
    assert pool.cancel("on pool") == got("stranger", "pool")
    assert state_of(pool, "sibling").phase == "waiting"


def test_cancelling_a_lending_run_cancels_none_of_its_children() -> None:
    pool = family(2, "on loan", "on pool", "waits")
    assert pool.cancel("p") == NOTHING
    assert known(pool) == {
        "p": ("parked", "pool"),
        "on loan": ("in_flight", "loan"),
        "on pool": ("in_flight", "pool"),
        "waits": ("waiting", "none"),
    }
    assert pool.cancel("on loan") == got("waits", "pool")


def test_cancelling_a_run_granted_in_another_step_gives_by_the_token_it_has_now() -> None:
    pool = family(2, "c1", "c2", "c3")
    assert pool.finish("c1") == got("c3", "loan")
    assert pool.cancel("c3") == NOTHING
    assert not state_of(pool, "p").lent
    assert pool.statistics().taken == 2


# -- R7: no lost wake-up, nothing barges -----------------------------------------------------------------------------


def test_a_new_run_does_not_overtake_a_waiter_at_the_step_that_frees_a_slot() -> None:
    pool = Pool(1)
    pool.ask("a")
    pool.ask("waits")
    assert pool.finish("a") == got("waits", "pool")
    assert pool.try_ask("barges") == NOTHING


def test_a_new_child_does_not_overtake_its_waiting_sibling() -> None:
    pool = family(1, "c", "waits")
    assert pool.finish("c") == got("waits", "loan")
    assert pool.try_ask("barges", "p") == NOTHING


# -- R8: resize ------------------------------------------------------------------------------------------------------


def test_raising_the_cap_serves_one_by_one_with_the_order_applied_anew_to_each() -> None:
    pool = Pool(1)
    pool.ask("x")
    for run in ("a1", "a2", "a3", "b1", "b2"):
        pool.ask(run, job=(run[0],))
    assert pool.resize(5) == Answer((("a1", "pool"), ("b1", "pool"), ("a2", "pool"), ("b2", "pool")))
    assert pool.snapshot().waiting == ("a3",)


def test_raising_the_cap_under_fifo_serves_by_arrival() -> None:
    pool = Pool(1, order="fifo")
    pool.ask("x")
    for run in ("a1", "a2", "a3", "b1"):
        pool.ask(run, job=(run[0],))
    assert pool.resize(4) == Answer((("a1", "pool"), ("a2", "pool"), ("a3", "pool")))


def test_raising_the_cap_serves_a_child_by_a_pool_slot_and_it_leaves_its_parents_queue() -> None:
    pool = family(1, "c", "w")
    assert pool.resize(2) == got("w", "pool")
    assert pool.finish("c") == NOTHING


def test_lowering_the_cap_revokes_nothing_and_hands_nothing_out_until_enough_came_back() -> None:
    pool = Pool(3, order="fifo")
    for run in ("a", "b", "c", "w1", "w2"):
        pool.ask(run)
    assert pool.resize(1) == NOTHING
    assert pool.statistics() == Statistics(cap=1, taken=3, free=0, waiting=2, in_flight=3, parked=0)
    assert pool.finish("a") == NOTHING
    assert pool.finish("b") == NOTHING  # one taken, and the cap is one: it is full
    assert pool.finish("c") == got("w1", "pool")


def test_loans_go_on_while_more_are_taken_than_a_lowered_cap() -> None:
    pool = family(2, "c1", "c2", "w")
    pool.resize(1)
    assert pool.finish("c1") == got("w", "loan")
    assert pool.ask("grandchild", parent="w") == got("grandchild", "loan")
    assert pool.finish("c2") == NOTHING
    assert pool.statistics().taken == 1


def test_resizing_to_the_same_cap_changes_nothing() -> None:
    pool = busy()
    before = pool.snapshot()
    assert pool.resize(2) == NOTHING
    assert pool.snapshot() == before


# -- R13: relend -----------------------------------------------------------------------------------------------------


def test_without_relend_a_returned_loan_idles_under_its_waiting_parent() -> None:
    pool = family(2, "c1", "c2")
    pool.ask("stranger")
    assert pool.finish("c1") == NOTHING
    assert known(pool)["c2"] == ("in_flight", "pool")


def test_relend_moves_a_child_onto_the_loan_and_its_pool_slot_to_the_next_waiter() -> None:
    pool = family(2, "c1", "c2", relend=True)
    pool.ask("stranger")
    assert pool.finish("c1") == Answer((("stranger", "pool"),), ("c2",))
    assert known(pool)["c2"] == ("in_flight", "loan")
    assert state_of(pool, "p").lent
    assert pool.held(("p",)) == 1


def test_relend_frees_the_pool_slot_when_nobody_waits() -> None:
    pool = family(2, "c1", "c2", relend=True)
    assert pool.finish("c1") == Answer((), ("c2",))
    assert pool.statistics() == Statistics(cap=2, taken=1, free=1, waiting=0, in_flight=2, parked=0)


def test_relend_comes_after_a_waiting_child() -> None:
    pool = family(2, "c1", "c2", "waits", relend=True)
    assert pool.finish("c1") == got("waits", "loan")


def test_relend_takes_the_child_admitted_first_and_it_keeps_its_place() -> None:
    pool = family(4, "c1", "c2", "c3", "c4", relend=True)
    assert pool.finish("c1").relent == ("c2",)
    assert pool.snapshot().children == {("p", ("c2", "c3", "c4"))}
    assert pool.ask("c5", parent="p") == got("c5", "pool")
    assert pool.finish("c2").relent == ("c3",)
    assert pool.finish("c3").relent == ("c4",)
    assert pool.finish("c4").relent == ("c5",)
    assert pool.finish("c5") == NOTHING


def test_relend_goes_by_admission_and_not_by_arrival() -> None:
    pool = family(2, "c1", "c2", "c3", relend=True)
    pool.ask("c4", parent="p")
    assert pool.finish("c1") == got("c3", "loan")
    assert pool.finish("c2") == got("c4", "pool")
    assert pool.finish("c3") == Answer((), ("c4",))


def test_relend_joins_two_chains_end_to_end() -> None:
    pool = family(2, "c1", "c2", relend=True)
    pool.ask("grandchild", parent="c2")
    assert pool.finish("c1").relent == ("c2",)
    assert [state_of(pool, run).lent for run in ("p", "c2", "grandchild")] == [True, True, False]
    assert pool.statistics().taken == 1
    pool.finish("c2")
    pool.finish("p")
    assert pool.finish("grandchild") == NOTHING
    assert pool.statistics() == Statistics(cap=2, taken=0, free=2, waiting=0, in_flight=0, parked=0)


def test_relend_takes_a_parked_child_too() -> None:
    pool = family(2, "c1", "c2", relend=True)
    pool.ask("grandchild", parent="c2")
    pool.finish("c2")
    pool.ask("stranger")
    assert pool.finish("c1") == Answer((("stranger", "pool"),), ("c2",))
    assert known(pool)["c2"] == ("parked", "loan")
    assert pool.finish("grandchild") == NOTHING
    assert not state_of(pool, "p").lent


def test_relend_happens_at_the_open_lender_that_ends_a_cascade() -> None:
    pool = chain("p", "c1", "g", cap=2, relend=True)
    pool.ask("c2", parent="p")
    pool.finish("c1")
    pool.ask("stranger")
    assert pool.finish("g") == Answer((("stranger", "pool"),), ("c2",))


def test_relend_under_a_lowered_cap_hands_out_nothing_until_enough_came_back() -> None:
    pool = family(3, "c1", "c2", "c3", relend=True)
    pool.ask("stranger")
    pool.resize(1)
    assert pool.finish("c1") == Answer((), ("c2",))
    assert pool.finish("c2") == Answer((), ("c3",))
    assert pool.statistics().taken == 1
    pool.finish("p")
    assert pool.finish("c3") == got("stranger", "pool")


def test_relend_may_change_the_token_of_a_run_granted_earlier_and_cancel_goes_by_it() -> None:
    pool = family(2, "c1", "c2", relend=True)
    pool.ask("stranger")
    assert pool.finish("c1").relent == ("c2",)
    assert pool.cancel("c2") == NOTHING  # by the token it has now, so to its lender
    assert pool.statistics().taken == 2


# -- what can be seen ------------------------------------------------------------------------------------------------


def test_statistics_count_every_phase_and_free_is_never_below_0() -> None:
    pool = busy()
    assert pool.statistics() == Statistics(cap=2, taken=2, free=0, waiting=2, in_flight=3, parked=1)
    pool.resize(1)
    assert pool.statistics().free == 0
    pool.resize(7)
    assert pool.statistics() == Statistics(cap=7, taken=4, free=3, waiting=0, in_flight=5, parked=1)


def test_held_counts_pool_slots_at_or_below_parked_ones_included_and_no_loans() -> None:
    pool = Pool(9)
    pool.ask("a", job=("app", "x"))
    pool.ask("loan", parent="a")
    pool.ask("pool", parent="a", job=("app", "y", "deep"))
    pool.ask("alone")
    pool.finish("a")
    held = {path: pool.held(path) for path in [(), ("app",), ("app", "x"), ("app", "y"), ("app", "y", "deep")]}
    assert held == {(): 3, ("app",): 2, ("app", "x"): 1, ("app", "y"): 1, ("app", "y", "deep"): 1}
    assert pool.held(("alone",)) == 1
    assert pool.held(("alone", "below")) == 0
    assert pool.held(("nobody",)) == 0
    assert pool.held(("x",)) == 0


@pytest.mark.parametrize("job", ["app", ["app"], None, 1])
def test_what_is_held_is_asked_of_a_path(job: Any) -> None:
    with pytest.raises(TypeError, match="a job is a tuple of names"):
        Pool(1).held(job)


def test_a_pool_explains_who_waits() -> None:
    pool = Pool(1)
    pool.ask("a")
    pool.ask("b")
    assert [wait.run for wait in pool.explain().slot_waits] == ["b"]


@every_way
def test_asking_what_is_held_changes_nothing(way: dict[str, Any]) -> None:
    pool = busy(**way)
    before = pool.snapshot()
    assert [pool.held((run,)) for run in ("root", "late", "x", "nobody")] == [1, 0, 1, 0]
    assert pool.snapshot() == before
    assert list(to_the_end(pool)) == list(to_the_end(busy(**way)))


@pytest.mark.parametrize(
    ("way", "rules"),
    [
        ({}, "fewest_held served"),
        ({"tie": "oldest"}, "fewest_held oldest"),
        ({"order": "fifo"}, "fifo"),
        ({"order": "fifo", "relend": True}, "fifo, relend"),
    ],
)
def test_repr_tells_the_counts_and_the_rules(way: dict[str, Any], rules: str) -> None:
    assert repr(busy(**way)) == f"<Pool 2 of 2 taken, 3 in flight, 2 waiting, 1 parked; {rules}>"


def test_a_snapshot_does_not_change_when_the_pool_goes_on() -> None:
    pool = busy()
    before = pool.snapshot()
    copy = pickle.loads(pickle.dumps(before))
    list(to_the_end(pool))
    assert before == copy


def test_snapshots_hold_orders_and_no_history() -> None:
    """Two pools with different pasts that leave the same runs in the same orders are equal, and hash alike."""
    direct, roundabout = family(1, "c", "w"), Pool(1)
    for run in range(5):
        roundabout.ask(run)
        roundabout.ask((run, "waits"))
        roundabout.finish(run)
        roundabout.cancel((run, "waits"))
    roundabout.ask("p")
    for child in ("x", "c", "w"):
        roundabout.ask(child, parent="p")
    roundabout.finish("x")
    assert direct.snapshot() == roundabout.snapshot()
    assert hash(direct.snapshot()) == hash(roundabout.snapshot())


def crowd(**way: Any) -> Pool:
    """Several trees, jobs of two levels with waiting runs, a parked chain, a lowered cap."""
    pool = Pool(4, **way)
    for run, job in [("a", ("app", "a")), ("b", ("app", "b")), ("c", ("web",)), ("d", None)]:
        pool.ask(run, job=job)
    for child in range(4):
        for run in "abcd":
            pool.ask(f"{run}{child}", parent=run)
    pool.ask("deep", parent="b0")
    pool.finish("b0")
    pool.finish("d0")
    pool.ask("e", job=("app", "c", "deep"))
    pool.finish("c")
    pool.cancel("c0")
    pool.resize(3)
    return pool


def to_the_end(pool: Pool) -> Iterator[Any]:
    """Finish run after run, with a new ask in between, until nobody is known; every answer, and then the end."""
    for number in range(200):
        states: Iterable[Any] = pool.snapshot().runs
        in_flight = sorted(state.run for state in states if state.phase == "in_flight")
        if not in_flight:
            break
        if number in (1, 4):
            yield pool.ask(f"new {number}", job=("app", "new"))
        yield pool.finish(in_flight[number * 7 % len(in_flight)])
    yield pool.statistics()


@every_way
@pytest.mark.parametrize("make", [busy, crowd])
def test_a_restored_pool_is_equal_and_goes_on_alike(way: dict[str, Any], make: Callable[..., Pool]) -> None:
    pool = make(**way)
    snapshot = pool.snapshot()
    restored = Pool.restore(pickle.loads(pickle.dumps(snapshot)))
    assert restored.snapshot() == snapshot
    assert hash(restored.snapshot()) == hash(snapshot)
    assert restored.statistics() == pool.statistics()
    assert repr(restored) == repr(pool)
    answers = list(to_the_end(pool))
    assert list(to_the_end(restored)) == answers
    assert answers[-1].waiting == answers[-1].taken == 0


def test_a_restored_pool_shares_nothing_with_the_first() -> None:
    pool = crowd()
    snapshot = pool.snapshot()
    list(to_the_end(Pool.restore(snapshot)))
    assert pool.snapshot() == snapshot


def test_an_answer_lists_grants_in_order_of_hand_off() -> None:
    pool = family(1, "c", "w1", "w2", "w3", order="fifo")
    assert pool.resize(3) == Answer(granted=(("w1", "pool"), ("w2", "pool")), relent=())
    assert pool.snapshot().children == {("p", ("c", "w1", "w2"))}


# -- a pool that serves ten million runs stays small -----------------------------------------------------------------


def contents(thing: Any, name: str = "pool") -> Iterator[tuple[str, int]]:
    """Every container inside a pool, by name, with its size. Fails on an object it cannot look into."""
    if isinstance(thing, dict | list | set | deque | OrderedDict):
        yield name, len(thing)
        for key, value in thing.items() if isinstance(thing, dict) else enumerate(thing):
            yield from contents(value, f"{name}[{key!r}]")
    elif not isinstance(thing, str | int | tuple | frozenset | type(None)):
        slots = [slot for cls in type(thing).__mro__ for slot in getattr(cls, "__slots__", ())]
        fields = {*slots, *getattr(thing, "__dict__", ())} - {"up", "__weakref__"}
        assert fields, f"{name} cannot be looked into: {thing!r}"
        for slot in sorted(fields):
            if hasattr(thing, slot):
                yield from contents(getattr(thing, slot), f"{name}.{slot}")


@every_way
def test_200_000_runs_leave_nothing_behind_and_never_more_than_those_known(way: dict[str, Any]) -> None:
    """Some run waits at nearly all times, so hardly a queue is dropped merely because all of it is empty at once.

    The runs are spread over the ways of making a pool.
    """
    pool = Pool(4, **way)
    known: deque[int] = deque()
    admitted: set[Hashable] = set()
    largest = cancelled = 0
    for run in range(200_000 // len(WAYS) + 1):
        parent = run - run % 4 if run % 4 and run - run % 4 in admitted else None
        if parent is None:
            answer = pool.ask(run, job=("app", run % 7) if run % 8 else ("update", run))
        else:
            answer = pool.ask(run, parent, job=("app", run % 7) if run % 5 == 0 else None)
        known.append(run)
        admitted.update(granted for granted, _ in answer.granted)
        if len(known) == 20:
            if run % 1000 == 999:
                largest = max(largest, sum(size for _, size in contents(pool)))
            oldest = known.popleft()
            if oldest in admitted and oldest % 9:
                answer = pool.finish(oldest)
            else:
                answer = pool.cancel(oldest)
                cancelled += 1
            admitted.discard(oldest)
            admitted.update(granted for granted, _ in answer.granted)
    assert pool.statistics().waiting > 5
    assert cancelled > 1000
    assert 50 < largest < 500
    while known:
        pool.cancel(known.popleft())
    assert pool.statistics() == Statistics(cap=4, taken=0, free=4, waiting=0, in_flight=0, parked=0)
    assert pool.snapshot() == Pool(4, **way).snapshot()
    assert [name for name, size in contents(pool) if size] == []


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))])
@pytest.mark.parametrize("order", ["fewest_held", "fifo", "fixed_share:2"])
def test_a_copy_is_a_pool_of_its_own_in_the_same_state(again: Any, order: str) -> None:
    pool = Pool(2, order=order, relend=True)
    for run, parent in (("a", None), ("b", "a"), ("c", "a"), ("w", None)):
        pool.ask(run, parent)
    before = pool.snapshot()
    other = again(pool)
    assert other.snapshot() == before
    other.finish("b")
    other.finish("c")
    assert pool.snapshot() == before
    assert pool.finish("c").granted == (("w", "pool"),)
