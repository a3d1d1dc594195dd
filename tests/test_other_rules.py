"""The designs that lending is compared with, on histories worked out by hand: retake, per_level, help, inline, refuse.

That a run does what such a rule asks of it (gives back where it waits, helps, keeps still) is `test_conduct.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from history import History

from slotcheck.checks.facts import Facts
from slotcheck.checks.invariants import CALLS, Happening
from slotcheck.pymodel.rules import RULES, Help, HelpInline, PerLevel, Refusal, Refuse, Retake, Rule
from slotcheck.pymodel.subject import Call, Reply

RETAKE, PER_LEVEL, HELP, INLINE = Retake(), PerLevel(3), Help(), HelpInline()

#: The rules that let runs wait: under all of them those without a parent stand in one queue.
QUEUING = pytest.mark.parametrize("name", [name for name, rule in RULES.items() if not rule.declines])
STACKS = pytest.mark.parametrize("rule", [HELP, INLINE], ids=["help", "help+inline"])
ENDS = pytest.mark.parametrize("end", ["finish", "cancel"])


def parents(pool: History) -> dict[str, str | None]:
    return {run.run: run.parent for run in pool.state.runs}


# -- one queue: R6 whatever the rule ---------------------------------------------------------------------------------


@QUEUING
def test_the_job_that_holds_fewest_goes_first_unless_the_order_is_by_arrival(name: str) -> None:
    for options, got in (({"tie": "served"}, "d:pool"), ({"tie": "oldest"}, "d:pool"), ({"order": "fifo"}, "c:pool")):
        pool = History(RULES[name], 2, **options)
        pool("ask a@j", "ask b@k", "ask c@j", "ask d@k")
        assert pool("finish b") == got


@QUEUING
def test_a_job_that_was_served_goes_to_the_end_of_the_line_or_not(name: str) -> None:
    for tie, got in (("served", "c:pool"), ("oldest", "b2:pool")):
        pool = History(RULES[name], 1, tie=tie)
        pool("ask x", "ask b1@j", "ask b2@j", "ask c@k")
        assert [pool("finish x"), pool("cancel b1")] == ["b1:pool", got]


# -- retake ----------------------------------------------------------------------------------------------------------


def test_a_run_that_waits_gives_its_slot_to_whoever_waits_and_asks_again() -> None:
    pool = History(RETAKE, 1)
    assert pool("ask a", "ask b<a") == ""
    assert pool("give_back a") == "b:pool"
    assert (pool.phases(), pool.state.taken) == ("a:none b:pool", 1)
    assert pool("retake a") == ""
    assert (pool.phases(), pool.state.waiting) == ("a:none:retaking b:pool", ("a",))
    assert pool("finish b") == "a:pool"
    assert (pool.phases(), pool.state.taken, pool.state.waiting) == ("a:pool", 1, ())
    pool("finish a")
    assert pool.state == RETAKE.initial(1)


def test_a_slot_given_back_that_nobody_wants_is_free_for_the_next_ask_or_retake() -> None:
    pool = History(RETAKE, 1)
    assert pool("ask a", "give_back a") == ""
    assert (pool.phases(), pool.state.taken) == ("a:none", 0)
    assert pool("retake a") == "a:pool"
    assert pool("give_back a", "ask b") == "b:pool"
    assert pool("retake a") == ""


def test_a_run_that_asks_again_stands_in_the_queue_by_its_arrival_there() -> None:
    pool = History(RETAKE, 1, order="fifo")
    assert pool("ask a", "ask x", "give_back a") == "x:pool"
    assert pool("ask y", "retake a", "ask z") == ""
    assert pool.state.waiting == ("y", "a", "z")
    assert [pool("finish x"), pool("finish y"), pool("finish a")] == ["y:pool", "a:pool", "z:pool"]


@pytest.mark.parametrize(("ends", "got"), [("finish c", "a:pool"), ("finish b", "d:pool")])
def test_a_run_without_its_slot_is_charged_to_nobody_and_asks_again_for_its_job(ends: str, got: str) -> None:
    pool = History(RETAKE, 2)
    pool("ask a@j", "ask b@k", "ask c@j", "ask d@k")
    assert pool("give_back a") == "c:pool"  # j holds nothing
    assert pool("retake a") == ""
    assert pool.line() == "k j"
    assert pool(ends) == got
    assert pool.line() == ("k" if got == "a:pool" else "j")


def test_a_run_keeps_its_place_among_its_parents_children_while_it_has_no_slot() -> None:
    pool = History(RETAKE, 2)
    pool("ask p", "ask a<p", "give_back p", "ask b<p", "give_back a")
    assert dict(pool.state.children) == {"p": ("a", "b")}
    assert pool("retake a") == "a:pool"
    assert dict(pool.state.children) == {"p": ("a", "b")}
    assert parents(pool) == {"p": None, "a": "p", "b": "p"}


def test_retaking_bounds_nothing_in_flight() -> None:
    pool = History(RETAKE, 1)
    for at in range(6):
        pool(f"ask r{at}" + f"<r{at - 1}" * (at > 0), f"give_back r{at}")
    assert [run.phase for run in pool.state.runs] == ["in_flight"] * 6
    assert pool.state.taken == 0


def test_only_a_run_with_a_slot_gives_it_back_and_only_one_without_retakes() -> None:
    pool = History(RETAKE, 1)
    pool("ask a", "ask w")
    assert pool.refused("retake a") == pool.refused("retake w") == pool.refused("retake nobody") == "not_known"
    assert pool.refused("give_back w") == pool.refused("give_back nobody") == "not_known"
    pool("give_back a")
    assert pool.refused("give_back a") == "not_known"
    pool("retake a")
    assert pool.refused("give_back a") == pool.refused("retake a") == "not_known"


def test_a_run_that_asks_again_is_known_but_no_parent() -> None:
    pool = History(RETAKE, 1)
    pool("ask a", "ask b", "give_back a")
    assert pool("ask c<a") == ""
    pool("retake a")
    assert pool.refused("ask a") == "run_known"
    assert pool.refused("ask d<a") == "parent_not_in_flight"
    assert pool.refused("ask d@a/below") == "job_not_leaf"


@ENDS
def test_a_run_that_ends_without_its_slot_gives_nothing_back(end: str) -> None:
    pool = History(RETAKE, 1)
    pool("ask a", "ask w", "ask b<a", "give_back a")
    assert pool.phases() == "a:none b:waiting w:pool"
    assert pool(f"{end} a") == ""
    assert (pool.phases(), pool.state.taken) == ("b:waiting w:pool", 1)
    assert parents(pool) == {"b": None, "w": None}
    assert pool(f"{end} w") == "b:pool"


@ENDS
def test_a_run_that_ends_while_it_asks_again_leaves_the_queue(end: str) -> None:
    pool = History(RETAKE, 1)
    pool("ask a", "ask b<a", "give_back a", "retake a", "ask w", "ask c<b")
    assert (pool.state.waiting, pool.line()) == (("a", "w", "c"), "a w")
    assert pool(f"{end} a") == ""
    assert (pool.phases(), pool.state.waiting, pool.line()) == ("b:pool c:waiting w:waiting", ("w", "c"), "a w")
    assert parents(pool) == {"b": None, "c": "b", "w": None}
    assert [pool(f"{end} b"), pool.line()] == ["c:pool", "w"]


@ENDS
def test_a_run_that_ends_with_a_slot_it_retook_gives_it_back(end: str) -> None:
    pool = History(RETAKE, 1)
    pool("ask a", "ask w", "give_back a", "retake a", "finish w", "ask v")
    assert pool.phases() == "a:pool v:waiting"
    assert pool(f"{end} a") == "v:pool"


def test_a_slot_given_back_beyond_a_lowered_cap_serves_nobody() -> None:
    pool = History(RETAKE, 2)
    pool("ask a", "ask b", "ask w", "resize 1")
    assert pool("give_back a") == ""
    assert (pool.phases(), pool.state.taken) == ("a:none b:pool w:waiting", 1)
    assert pool("retake a") == ""
    assert pool("resize 3") == "w:pool a:pool"


# -- per level -------------------------------------------------------------------------------------------------------


def test_each_level_has_a_pool_of_its_own() -> None:
    pool = History(PER_LEVEL, 1)
    assert [pool("ask a"), pool("ask b<a"), pool("ask c<b")] == ["a:pool", "b:pool", "c:pool"]
    assert [pool("ask d<a"), pool("ask e")] == ["", ""]
    assert (pool.state.taken, pool.state.waiting) == (3, ("d", "e"))
    assert pool("finish c") == ""  # nobody waits on level 3
    assert pool("finish b") == "d:pool"
    assert pool("finish a") == "e:pool"
    assert (pool.phases(), pool.state.taken) == ("d:pool e:pool", 2)


def test_a_run_below_the_declared_levels_is_refused_after_all_that_lending_refuses() -> None:
    pool = History(PER_LEVEL, 1)
    pool("ask a", "ask b<a", "ask c<b")
    for verb in ("ask", "try_ask"):
        assert pool.refused(f"{verb} d<c") == "too_deep"
        assert pool.refused(f"{verb} a<c") == "run_known"
        assert pool.refused(f"{verb} d<c@a/x") == "job_not_leaf"
    assert pool("ask d@a") == ""  # as a run without a parent it is on level 1
    alone = History(PerLevel(), 5)
    alone("ask a")
    assert alone.refused("ask b<a") == "too_deep"
    assert History(PerLevel().declared(2), 1)("ask a", "ask b<a") == "b:pool"


def test_a_try_sees_the_room_of_its_own_level() -> None:
    pool = History(PER_LEVEL, 1)
    assert [pool("try_ask a"), pool("try_ask b<a"), pool("try_ask c<a"), pool("try_ask d")] == [
        "a:pool",
        "b:pool",
        "",
        "",
    ]
    assert pool.phases() == "a:pool b:pool"


@pytest.mark.parametrize("order", ["fifo", "fewest_held"])
def test_a_slot_goes_to_a_waiter_of_its_level_past_those_of_others(order: str) -> None:
    pool = History(PER_LEVEL, 1, order=order)
    pool("ask a@j", "ask b<a", "ask c<a", "ask w@k")
    assert pool.state.waiting == ("c", "w")
    assert pool("finish a") == "w:pool"
    assert pool("finish b") == "c:pool"


def test_within_a_level_the_order_is_that_of_the_rules() -> None:
    for options, got in (({}, "y:pool"), ({"order": "fifo"}, "x:pool")):
        pool = History(PER_LEVEL, 2, **options)
        pool("ask a@j", "ask b@k", "ask c<a", "ask d<b", "ask x<a", "ask y<b")
        assert pool("finish d") == got


def test_a_childs_level_outlives_its_parent() -> None:
    pool = History(PER_LEVEL, 1)
    pool("ask a", "ask b<a", "ask c<a")
    assert pool("cancel a") == ""
    assert parents(pool) == {"b": None, "c": None}
    assert pool("ask d") == "d:pool"
    assert pool("cancel b") == "c:pool"


def test_resizing_is_for_the_pool_of_every_level() -> None:
    pool = History(PER_LEVEL, 1)
    pool("ask a", "ask b<a", "ask c<a", "ask w", "ask v")
    assert pool("resize 2") == "w:pool c:pool"  # job a holds two, the others nothing; v finds level 1 full
    assert pool.state.taken == 4
    pool("ask d<a")
    assert pool("resize 1") == ""
    assert [pool("finish a"), pool("finish b")] == ["", ""]
    assert [pool("finish c"), pool("finish w")] == ["d:pool", "v:pool"]


# -- help ------------------------------------------------------------------------------------------------------------


def test_a_worker_whose_run_waits_takes_a_queued_run_on_top_and_comes_back() -> None:
    pool = History(HELP, 1)
    assert pool("ask a", "ask b<a") == ""
    assert pool("help a") == "b:loan"
    assert (pool.phases(), pool.stacks(), pool.state.taken) == ("a:pool+lent b:loan", "a>b", 1)
    assert dict(pool.state.children) == {"a": ("b",)}
    assert pool("finish b") == ""
    assert (pool.phases(), pool.stacks()) == ("a:pool", "a")
    pool("finish a")
    assert pool.state == HELP.initial(1)


def test_a_worker_that_is_free_comes_before_one_that_helps() -> None:
    pool = History(HELP, 2)
    assert pool("ask a", "ask b<a") == "b:pool"
    assert pool.stacks() == "a b"
    assert pool.refused("help a") == "not_known"  # nobody waits


def test_only_the_run_on_top_helps() -> None:
    pool = History(HELP, 1)
    pool("ask a", "ask b<a", "ask c<a", "help a")
    assert pool.stacks() == "a>b"
    assert pool.refused("help a") == "not_known"
    assert pool.refused("help c") == pool.refused("help nobody") == "not_known"
    assert pool("help b") == "c:loan"  # not its child: a sibling
    assert pool.stacks() == "a>b>c"


def test_a_worker_that_comes_back_serves_nobody_until_its_run_helps_again() -> None:
    pool = History(HELP, 1)
    pool("ask a", "ask b<a", "ask c<a", "help a")
    assert pool("finish b") == ""
    assert (pool.phases(), pool.state.waiting) == ("a:pool c:waiting", ("c",))
    assert pool("help a") == "c:loan"


def test_a_worker_helps_whom_the_order_names_and_not_its_runs_own_child_first() -> None:
    for options, got in (({}, "w:loan"), ({"order": "fifo"}, "b:loan")):
        pool = History(HELP, 1, **options)
        pool("ask a", "ask b<a", "ask w")  # job a holds a slot, job w none
        assert pool("help a") == got


def test_to_be_helped_is_a_loan_so_it_is_charged_to_nobody_and_moves_nobody() -> None:
    pool = History(HELP, 1)
    pool("ask x", "ask b1@j", "ask b2@j", "ask c@k")
    assert pool("help x") == "b1:loan"
    assert pool.line() == "j k"
    assert pool("finish b1", "help x") == "b2:loan"
    assert pool.line() == "k"


def test_helping_bounds_nothing_in_flight() -> None:
    pool = History(HELP, 1, order="fifo")
    pool(*[f"ask r{at}" for at in range(5)], "ask c0<r0", *[f"help r{at}" for at in range(4)], "ask c4<r4")
    assert pool.stacks() == "r0>r1>r2>r3>r4"
    assert pool.state.taken == 1  # five in flight on one worker, on one level


def test_the_end_of_the_last_run_on_a_worker_frees_it_for_whoever_waits() -> None:
    pool = History(HELP, 1)
    pool("ask a", "ask b<a", "ask w")
    assert pool("finish a") == "b:pool"  # job a holds nothing now, and stands first in the line
    assert (pool.stacks(), parents(pool)) == ("b", {"b": None, "w": None})


def test_more_workers_for_a_raised_cap_and_no_fewer_for_a_lowered_one() -> None:
    pool = History(HELP, 1)
    pool("ask a", "ask b<a", "ask w")
    assert pool("resize 3") == "w:pool b:pool"
    assert pool.stacks() == "a w b"
    assert pool("resize 1", "ask c<a") == ""
    assert pool("help a") == "c:loan"  # what a worker does beyond the cap it goes on doing
    assert pool("ask v", "finish w") == ""
    assert [pool("finish b"), pool("finish c"), pool("finish a")] == ["", "", "v:pool"]
    assert pool.stacks() == "v"


def test_a_run_that_ends_under_one_that_is_not_its_child_is_parked_and_its_children_are_on_their_own() -> None:
    pool = History(HELP, 1)
    pool("ask a", "ask b<a", "ask w", "help a", "finish a")
    assert (pool.phases(), pool.stacks()) == ("a:pool+lent:parked b:waiting w:loan", "a>w")
    assert parents(pool) == {"a": None, "b": None, "w": None}
    assert dict(pool.state.children) == {}
    assert pool("finish w") == "b:pool"
    assert pool.stacks() == "b"


# -- help, and inline: stacks ----------------------------------------------------------------------------------------


def stacked(rule: Rule, runs: str) -> History:
    """Runs on one worker, each the child of the one below it."""
    pool = History(rule, 1)
    pool(f"ask {runs[0]}")
    for below, above in pairwise(runs):
        if not pool(f"ask {above}<{below}"):
            pool(f"help {below}")
    assert pool.stacks() == ">".join(runs)
    return pool


@STACKS
def test_a_stack_of_any_height_is_one_worker(rule: Rule) -> None:
    pool = stacked(rule, "abcdef")
    assert pool.phases() == "a:pool+lent b:loan+lent c:loan+lent d:loan+lent e:loan+lent f:loan"
    assert pool.state.taken == 1
    for run in "fedcb":
        assert pool(f"finish {run}") == ""
    assert pool.phases() == "a:pool"


@STACKS
@ENDS
def test_a_run_that_ends_on_top_uncovers_the_one_below(rule: Rule, end: str) -> None:
    pool = stacked(rule, "abc")
    pool("ask w")
    assert pool(f"{end} c") == ""
    assert (pool.phases(), pool.stacks()) == ("a:pool+lent b:loan w:waiting", "a>b")
    assert dict(pool.state.children) == {"a": ("b",)}


@STACKS
@ENDS
def test_a_run_that_ends_under_others_is_parked_until_its_worker_comes_back_to_it(rule: Rule, end: str) -> None:
    pool = stacked(rule, "abc")
    pool("ask w")
    assert pool(f"{end} b") == ""
    assert (pool.phases(), pool.stacks()) == ("a:pool+lent b:loan+lent:parked c:loan w:waiting", "a>b>c")
    assert parents(pool) == {"a": None, "b": "a", "c": "b", "w": None}  # as a borrower c keeps its parent
    assert pool("finish c") == ""
    assert (pool.phases(), pool.stacks()) == ("a:pool w:waiting", "a")


@STACKS
@ENDS
def test_a_run_that_ends_at_the_bottom_leaves_its_worker_to_those_on_top(rule: Rule, end: str) -> None:
    pool = stacked(rule, "abc")
    pool("ask w")
    assert pool(f"{end} a") == ""
    assert (pool.phases(), pool.state.taken) == ("a:pool+lent:parked b:loan+lent c:loan w:waiting", 1)
    assert parents(pool) == {"a": None, "b": "a", "c": "b", "w": None}
    assert pool("finish c") == ""
    assert pool("finish b") == "w:pool"
    assert pool.stacks() == "w"


@STACKS
def test_all_parked_runs_that_a_worker_comes_back_to_go_in_one_step(rule: Rule) -> None:
    pool = stacked(rule, "abcde")
    pool("finish c", "cancel d", "finish b")
    assert pool.phases() == "a:pool+lent b:loan+lent:parked c:loan+lent:parked d:loan+lent:parked e:loan"
    assert pool("finish e") == ""
    assert (pool.phases(), pool.stacks()) == ("a:pool", "a")
    pool = stacked(rule, "abcd")
    pool("ask w", "cancel b", "cancel a", "cancel c")
    assert pool("cancel d") == "w:pool"
    assert (pool.phases(), pool.stacks(), pool.state.taken) == ("w:pool", "w", 1)


@STACKS
def test_a_parked_run_in_between_stops_the_cascade_at_the_first_that_is_open(rule: Rule) -> None:
    pool = stacked(rule, "abcd")
    pool("cancel a", "cancel c")
    assert pool("finish d") == ""
    assert (pool.phases(), pool.stacks()) == ("a:pool+lent:parked b:loan", "a>b")


@STACKS
def test_a_parked_run_is_known_but_nothing_can_be_asked_of_it(rule: Rule) -> None:
    pool = stacked(rule, "ab")
    pool("finish a", "ask w")
    for call in ("finish a", "cancel a", "help a"):
        assert pool.refused(call) == "not_known"
    assert pool.refused("ask a") == "run_known"
    assert pool.refused("ask c<a") == "parent_not_in_flight"


@STACKS
def test_other_children_of_a_run_that_ends_under_one_of_them_lose_their_parent(rule: Rule) -> None:
    pool = History(rule, 2)
    pool("ask a", "ask b<a", "ask c<a", *["help a"] * (rule is HELP), "ask d<a")
    assert (pool.stacks(), pool.state.waiting) == ("a>c b", ("d",))
    assert dict(pool.state.children) == {"a": ("b", "c")}
    pool("finish a")
    assert dict(pool.state.children) == {"a": ("c",)}
    assert parents(pool) == {"a": None, "b": None, "c": "a", "d": None}
    assert pool("finish c") == "d:pool"


# -- inline ----------------------------------------------------------------------------------------------------------


def test_a_child_runs_on_its_parents_worker_when_no_other_is_free() -> None:
    pool = History(INLINE, 2)
    assert [pool("ask a"), pool("ask b<a"), pool("ask c<a")] == ["a:pool", "b:pool", "c:loan"]
    assert (pool.phases(), pool.stacks(), pool.state.taken) == ("a:pool+lent b:pool c:loan", "a>c b", 2)


def test_inline_goes_past_the_queue_but_no_worker_does() -> None:
    pool = History(INLINE, 1)
    assert [pool("ask a"), pool("ask w"), pool("ask b<a")] == ["a:pool", "", "b:loan"]
    assert [pool("finish b"), pool("finish a")] == ["", "w:pool"]


def test_a_parent_under_another_run_takes_no_child_inline() -> None:
    pool = History(INLINE, 1)
    assert [pool("ask a"), pool("ask b<a"), pool("ask c<a")] == ["a:pool", "b:loan", ""]
    assert pool("ask d<b") == "d:loan"
    assert pool.stacks() == "a>b>d"
    assert pool("finish d", "finish b") == ""  # nor does it when that has ended: it runs a child only where it asks
    assert pool("finish a") == "c:pool"


def test_a_try_runs_a_child_inline_too() -> None:
    pool = History(INLINE, 1)
    assert [pool("try_ask a"), pool("try_ask b<a"), pool("try_ask c<a"), pool("try_ask d")] == [
        "a:pool",
        "b:loan",
        "",
        "",
    ]
    assert pool.phases() == "a:pool+lent b:loan"


def test_a_try_takes_a_free_worker_but_is_not_helped() -> None:
    pool = History(HELP, 2)
    assert [pool("try_ask a"), pool("try_ask b<a"), pool("try_ask c<a")] == ["a:pool", "b:pool", ""]
    assert pool.stacks() == "a b"


# -- refuse ----------------------------------------------------------------------------------------------------------


def test_at_the_cap_the_answer_is_no_and_nobody_waits() -> None:
    pool = History(Refuse(), 2)
    assert [pool("ask a"), pool("ask b<a")] == ["a:pool", "b:pool"]
    assert pool.refused("ask c<a") == pool.refused("ask d") == "full"
    assert (pool.phases(), pool.state.waiting, pool.state.lines) == ("a:pool b:pool", (), frozenset())
    assert pool("finish b") == ""
    assert pool("ask c<a") == "c:pool"  # to be asked again, by whoever still wants it


def test_below_the_depth_the_answer_is_no_though_there_is_room() -> None:
    pool = History(Refuse(depth=2), 3)
    pool("ask a", "ask b<a")
    assert pool.refused("ask c<b") == "too_deep"
    assert pool("ask c") == "c:pool"
    assert pool.refused("ask d<b") == "too_deep"  # told before the cap
    assert pool.refused("ask d<a") == "full"


def test_a_depth_of_three_unless_it_is_said() -> None:
    pool = History(Refuse(), 9)
    pool("ask a", "ask b<a", "ask c<b")
    assert pool.refused("ask d<c") == "too_deep"


def test_what_the_rules_refuse_is_told_before_the_cap_and_the_depth() -> None:
    pool = History(Refuse(depth=1), 1)
    pool("ask a@j")
    assert pool.refused("ask a<a") == "run_known"
    assert pool.refused("ask b<nobody") == "parent_not_in_flight"
    assert pool.refused("ask b<a@j/k") == "job_not_leaf"


def test_a_try_is_not_refused_but_grants_nothing() -> None:
    pool = History(Refuse(depth=1), 1)
    pool("ask a")
    before = pool.state
    assert [pool("try_ask b"), pool("try_ask b<a")] == ["", ""]
    pool("resize 2")
    assert pool("try_ask b<a") == ""  # too deep
    assert pool.state == before._replace(cap=2)
    assert pool("try_ask b") == "b:pool"


@ENDS
def test_a_run_that_ends_makes_room_and_its_children_lose_their_parent(end: str) -> None:
    pool = History(Refuse(), 2)
    pool("ask a", "ask b<a")
    assert pool(f"{end} a") == ""
    assert (pool.phases(), pool.state.taken, parents(pool)) == ("b:pool", 1, {"b": None})
    assert pool("ask c<b") == "c:pool"
    assert pool.refused("ask d") == "full"
    pool(f"{end} b")
    assert pool.refused("ask d<c") == "too_deep"  # b's level outlived a


def test_a_lowered_cap_refuses_until_enough_came_back() -> None:
    pool = History(Refuse(), 3)
    pool("ask a", "ask b", "ask c", "resize 1")
    assert pool.state.taken == 3
    pool("finish a", "finish b")
    assert pool.refused("ask d") == "full"
    assert pool("finish c", "ask d") == "d:pool"
    assert pool("resize 2", "ask e") == "e:pool"


# -- what stays true whatever is called ------------------------------------------------------------------------------


def faults(rule: Rule, before: Any, verb: str, args: tuple[Any, ...], outcome: Any) -> list[str]:
    """What is wrong after a call, under any of the rules."""
    state = outcome.state
    runs = {run.run: run for run in state.runs}
    holders = {name for name, run in runs.items() if run.token != "none"}
    queued = {name for name, run in runs.items() if run.phase in ("waiting", "retaking")}
    pool_of = {name: run.level if rule.name == "per_level" else 0 for name, run in runs.items()}
    taken = Counter(pool_of[name] for name, run in runs.items() if run.token == "pool")
    served = [name for name, token in outcome.granted if token == "pool"]
    nodes = {(run.job[:at], run.job[at]) for name, run in runs.items() if name in queued for at in range(len(run.job))}
    in_line = [(node, name) for node, line in state.lines for name in line]
    has_lines = state.order == "fewest_held" and state.tie == "served"
    children = {child: parent for parent, admitted in state.children for child in admitted}
    barged = verb in ("ask", "try_ask", "retake") and args[0] in served
    claims = {
        "taken is what is out": state.taken == sum(taken.values()) == sum(not runs[name].lent for name in holders),
        "those wait who are queued": sorted(state.waiting) == sorted(queued) and not queued & holders,
        "nobody waits while there is room": all(taken[pool_of[name]] >= state.cap for name in state.waiting),
        "no grant goes beyond the cap": all(taken[pool_of[name]] <= state.cap for name in served),
        "nobody barges": not (barged and any(pool_of[name] == pool_of[args[0]] for name in state.waiting)),
        "who is parked has lent its slot": all(run.lent for run in runs.values() if run.phase == "parked"),
        "those stand in line who wait": sorted(in_line) == sorted(nodes if has_lines else ()),
        "children are their parents'": all(runs[child].parent == parent for child, parent in children.items()),
        "children with a slot are told": all(name in children for name in holders if runs[name].parent is not None),
        "parents are known": all(run.parent in (None, *runs) for run in runs.values()),
    }
    if rule.conduct.stacked:
        stacks = [[runs[name] for name in stack] for stack in state.stacks]
        claims |= {
            "each run with a slot is on one stack": sorted(run.run for stack in stacks for run in stack)
            == sorted(holders),
            "all but the top have lent": all(
                [run.lent for run in stack] == [True] * (len(stack) - 1) + [False] for stack in stacks
            ),
            "the bottom has the worker": all(
                [run.token for run in stack] == ["pool"] + ["loan"] * (len(stack) - 1) for stack in stacks
            ),
            "nobody parked is on top": all(stack[-1].phase == "in_flight" for stack in stacks),
        }
    several_pools = {"FewestHeldFirst", "CapRespected"} if rule.name == "per_level" else set()
    call = Call(0, verb, args, Reply(state, outcome.granted, outcome.relent), 0)
    happening = Happening(Facts(before), call, Facts(state))
    judged = {judge.name: judge.check(happening) for judge in CALLS if judge.name not in several_pools}
    return [claim for claim, true in claims.items() if not true] + [name for name, told in judged.items() if told]


RANDOM = {name: rule.declared(3) for name, rule in RULES.items()} | {"refuse": Refuse(depth=2)}
#: What histories must come across besides runs in flight, that wait, and every call.
MET = {
    "retake": {"retaking"},
    "per_level": {"too_deep"},
    "help": {"parked"},
    "help+inline": {"parked"},
    "refuse": {"full", "too_deep"},
    "lend": {"parked"},
}


@pytest.mark.parametrize(("name", "rule"), RANDOM.items(), ids=RANDOM.keys())
def test_long_random_histories_keep_a_rule_sound(name: str, rule: Rule) -> None:
    rng = random.Random(20_261_130)
    own = [verb for verb in ("give_back", "retake", "help") if hasattr(rule, verb)]
    verbs = ["ask", "ask", "ask", "ask", "try_ask", "finish", "cancel", "resize", *own, *own]
    ids, jobs = [*"abcdef"], [None, None, ("j",), ("k", "l"), ("k", "m")]
    met: Counter[str] = Counter()
    for _ in range(100):
        options: dict[str, Any] = {
            "order": rng.choice(["fewest_held", "fifo"]),
            "tie": rng.choice(["served", "oldest"]),
        }
        start = state = rule.initial(rng.randint(1, 3), **options)
        for _ in range(60):
            verb = rng.choice(verbs)
            args: tuple[Any, ...] = (rng.randint(1, 3),) if verb == "resize" else (rng.choice(ids),)
            if verb in ("ask", "try_ask"):
                args = *args, rng.choice([None, None, *ids]), rng.choice(jobs)
            try:
                outcome = getattr(rule, verb)(state, *args)
            except Refusal as refusal:
                met[refusal.code] += 1
                continue
            assert faults(rule, state, verb, args, outcome) == [], (state, verb, args, outcome)
            met[verb] += outcome.state != state
            met.update(run.phase for run in outcome.state.runs)
            state = outcome.state
        for run in sorted(run.run for run in state.runs if run.phase != "parked"):
            state = rule.cancel(state, run).state
        assert state == start._replace(cap=state.cap)
    must = {"in_flight", *verbs, *MET.get(name, ()), *(() if rule.declines else ("waiting",))}
    assert must <= {what for what, times in met.items() if times > 20}
