"""The rules of the reference model, on small histories worked out by hand from SEMANTICS R1-R8 and R13."""

from __future__ import annotations

from typing import Any

import pytest
from history import History

from slotcheck.pymodel.rules import RULES, Hold, Lend, Refusal, Release, Rule, State

LEND, HOLD, RELEASE = Lend(), Hold(), Release()
LEVELS = 3  # of the deepest tree here, for a rule that must know
DECLARED = {name: rule.declared(LEVELS) for name, rule in RULES.items()}
QUEUING = {name: rule for name, rule in DECLARED.items() if not rule.declines}
ALL = pytest.mark.parametrize("rule", DECLARED.values(), ids=DECLARED.keys())
#: The rules that let a run wait.
WITH_A_QUEUE = pytest.mark.parametrize("rule", QUEUING.values(), ids=QUEUING.keys())


# -- R1, R2: refusals ------------------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("cap", [0, -1, True, False, 1.5, 2.0, float("nan"), "2", None], ids=repr)
def test_a_cap_that_is_no_integer_of_at_least_one_is_refused(rule: Rule, cap: Any) -> None:
    with pytest.raises(Refusal, match="bad_cap") as made:
        rule.initial(cap)
    with pytest.raises(Refusal, match="bad_cap") as resized:
        rule.resize(rule.initial(1), cap)
    assert (made.value.code, resized.value.code) == ("bad_cap", "bad_cap")
    assert made.value.value is cap


@ALL
def test_a_new_pool_knows_nobody(rule: Rule) -> None:
    state = rule.initial(3, order="fifo", tie="oldest", relend=True)
    assert state[:9] == State(3, 0, frozenset(), (), frozenset(), frozenset(), "fifo", "oldest", True)
    assert not any(state[9:])


@ALL
@pytest.mark.parametrize("verb", ["ask", "try_ask"])
def test_an_ask_is_refused_by_the_first_reason_that_applies(rule: Rule, verb: str) -> None:
    pool = History(rule, 2)
    pool("ask a@j/k", "ask x@z")
    assert pool.refused(f"{verb} a<nobody@j") == "run_known"
    assert pool.refused(f"{verb} b<nobody@j") == "parent_not_in_flight"
    assert pool.refused(f"{verb} b<b") == "parent_not_in_flight"
    assert pool.refused(f"{verb} b@j") == "job_not_leaf"
    assert pool.refused(f"{verb} b@j/k/l") == "job_not_leaf"
    assert pool.refused(f"{verb} b<a@z/y") == "job_not_leaf"


@WITH_A_QUEUE
@pytest.mark.parametrize("verb", ["ask", "try_ask"])
def test_a_waiting_run_is_known_and_no_parent_and_keeps_its_job_a_leaf(rule: Rule, verb: str) -> None:
    pool = History(rule, 1)
    pool("ask a@j/k", "ask w@z")
    assert pool.refused(f"{verb} w") == "run_known"
    assert pool.refused(f"{verb} b<w") == "parent_not_in_flight"
    assert pool.refused(f"{verb} b<a@z/y") == "job_not_leaf"


@ALL
def test_an_empty_job_is_refused(rule: Rule) -> None:
    state = rule.initial(1)
    with pytest.raises(Refusal) as alone:
        rule.ask(state, "a", None, ())
    with pytest.raises(Refusal) as beside:
        rule.ask(rule.ask(state, "b").state, "a", None, ())
    assert alone.value.code == beside.value.code == "job_not_leaf"


def test_a_parked_run_is_known_but_neither_a_parent_nor_to_be_finished_or_cancelled() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "finish a")
    assert pool.phases() == "a:pool+lent:parked b:loan"
    assert pool.refused("ask a") == "run_known"
    assert pool.refused("ask c<a") == "parent_not_in_flight"
    assert pool.refused("finish a") == "not_known"
    assert pool.refused("cancel a") == "not_known"


@ALL
def test_finish_and_cancel_are_refused_where_there_is_nothing_to_end(rule: Rule) -> None:
    pool = History(rule, 1)
    pool("ask a")
    assert pool.refused("finish nobody") == "not_known"
    assert pool.refused("cancel nobody") == "not_known"
    pool("finish a")
    assert pool.refused("finish a") == "not_known"
    assert pool.refused("cancel a") == "not_known"


@WITH_A_QUEUE
def test_a_waiting_run_can_be_cancelled_but_not_finished(rule: Rule) -> None:
    pool = History(rule, 1)
    pool("ask a", "ask w", "ask v")
    assert pool.refused("finish w") == "not_admitted"
    assert pool("cancel w") == ""
    assert pool.state.waiting == ("v",)
    assert pool.refused("cancel w") == "not_known"
    assert pool("finish a") == "v:pool"


@ALL
def test_a_forgotten_run_may_be_asked_again(rule: Rule) -> None:
    pool = History(rule, 1)
    assert pool("ask a", "finish a", "ask a") == "a:pool"


@ALL
def test_a_child_has_its_parents_job_and_the_level_below(rule: Rule) -> None:
    pool = History(rule, 4)
    pool("ask a@j/k", "ask b<a", "ask c<b@x", "ask d")
    runs = {run.run: (run.job, run.level, run.parent) for run in pool.state.runs}
    assert runs == {
        "a": (("j", "k"), 1, None),
        "b": (("j", "k"), 2, "a"),
        "c": (("x",), 3, "b"),
        "d": (("d",), 1, None),
    }


@WITH_A_QUEUE
def test_try_ask_changes_nothing_where_ask_would_wait(rule: Rule) -> None:
    pool = History(rule, 1)
    pool("ask a", "ask w")
    before = pool.state
    assert pool("try_ask b") == ""
    assert pool.state == before
    pool = History(rule, 1)
    assert pool("try_ask a") == "a:pool"


@WITH_A_QUEUE
def test_a_run_without_a_parent_waits_until_a_pool_slot_comes_back(rule: Rule) -> None:
    pool = History(rule, 2)
    assert [pool("ask a"), pool("ask b"), pool("ask c")] == ["a:pool", "b:pool", ""]
    assert (pool.state.taken, pool.state.waiting) == (2, ("c",))
    assert pool("finish a") == "c:pool"
    assert (pool.state.taken, pool.state.waiting) == (2, ())
    pool("finish b", "finish c")
    assert pool.state == pool.rule.initial(2)


# -- hold ------------------------------------------------------------------------------------------------------------


def test_holding_gets_stuck_when_every_slot_is_held_by_a_parent_that_waits() -> None:
    pool = History(HOLD, 2)
    pool("ask a", "ask b", "ask x<a", "ask y<b")
    assert pool.phases() == "a:pool b:pool x:waiting y:waiting"  # nobody can go on: a and b wait for x and y


def test_holding_gives_a_slot_back_only_at_the_end() -> None:
    pool = History(HOLD, 1)
    assert pool("ask a", "ask b<a") == ""
    assert pool("finish a") == "b:pool"
    (run,) = pool.state.runs
    assert (run.parent, run.level, run.job) == (None, 2, ("a",))


# -- release ---------------------------------------------------------------------------------------------------------


def test_releasing_gives_the_slot_back_at_the_first_child_and_the_child_takes_it() -> None:
    pool = History(RELEASE, 1)
    assert pool("ask a", "ask b<a") == "b:pool"
    assert pool.phases() == "a:none b:pool"
    assert pool.state.taken == 1


def test_releasing_serves_the_queue_before_the_child() -> None:
    pool = History(RELEASE, 1)
    assert pool("ask a", "ask w", "ask b<a") == "w:pool"
    assert pool.phases() == "a:none b:waiting w:pool"
    assert pool("finish w") == "b:pool"


def test_releasing_leaves_nothing_to_give_back_at_the_end() -> None:
    pool = History(RELEASE, 1)
    pool("ask a", "ask b<a", "ask w")
    assert pool("finish a") == ""
    assert (pool.phases(), pool.state.taken) == ("b:pool w:waiting", 1)
    assert pool("finish b") == "w:pool"


def test_releasing_happens_once_a_parent() -> None:
    pool = History(RELEASE, 2)
    assert pool("ask a", "ask b<a", "ask c<a") == "c:pool"
    assert pool("ask d<a") == ""
    assert (pool.phases(), pool.state.taken) == ("a:none b:pool c:pool d:waiting", 2)


def test_releasing_bounds_nothing_in_flight() -> None:
    pool = History(RELEASE, 1)
    pool("ask r0", *[f"ask r{at}<r{at - 1}" for at in range(1, 6)])
    assert [run.phase for run in pool.state.runs] == ["in_flight"] * 6
    assert (pool.state.taken, sum(run.token == "pool" for run in pool.state.runs)) == (1, 1)


def test_a_try_that_gets_nothing_does_not_release() -> None:
    pool = History(RELEASE, 1)
    pool("ask a", "ask w")
    before = pool.state
    assert pool("try_ask b<a") == ""
    assert pool.state == before


# -- lend ------------------------------------------------------------------------------------------------------------


def test_lending_goes_before_a_free_pool_slot() -> None:
    pool = History(LEND, 2)
    assert pool("ask a", "ask b<a") == "b:loan"
    assert (pool.phases(), pool.state.taken) == ("a:pool+lent b:loan", 1)


def test_a_run_lends_to_one_child_at_a_time_then_the_pool_then_it_waits_in_both_queues() -> None:
    pool = History(LEND, 2)
    assert [pool("ask a"), pool("ask b<a"), pool("ask c<a"), pool("ask d<a")] == ["a:pool", "b:loan", "c:pool", ""]
    assert dict(pool.state.children) == {"a": ("b", "c")}


@pytest.mark.parametrize(("ends", "got"), [("finish b", "d:loan"), ("finish c", "d:pool")])
def test_a_child_that_waits_in_both_queues_takes_whichever_frees_first(ends: str, got: str) -> None:
    pool = History(LEND, 2)
    assert pool("ask a", "ask b<a", "ask c<a", "ask d<a", ends) == got
    assert pool.state.waiting == ()


def test_a_loan_goes_to_the_lenders_longest_waiting_child_past_older_waiters() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "ask w", "ask c<a", "ask d<a")
    assert pool("finish b") == "c:loan"
    assert pool.state.waiting == ("w", "d")


def test_a_loan_that_nobody_waits_for_is_held_unlent_and_lent_again() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "ask w")
    assert pool("finish b") == ""
    assert pool.phases() == "a:pool w:waiting"
    assert pool("ask c<a") == "c:loan"


def test_a_chain_of_any_depth_needs_one_slot() -> None:
    pool = History(LEND, 1)
    assert pool("ask r0", *[f"ask r{at}<r{at - 1}" for at in range(1, 6)]) == "r5:loan"
    assert pool.state.taken == 1
    assert pool("ask w", *[f"finish r{at}" for at in range(5, 0, -1)]) == ""
    assert pool("finish r0") == "w:pool"


def test_a_run_that_ends_while_its_slot_is_lent_is_parked_until_the_loan_comes_back() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "ask w")
    assert pool("finish a") == ""
    assert (pool.phases(), pool.state.taken) == ("a:pool+lent:parked b:loan w:waiting", 1)
    assert pool("finish b") == "w:pool"
    assert pool.phases() == "w:pool"


def test_parked_lenders_give_their_slots_back_up_the_chain_in_one_step() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "ask c<b", "ask w", "finish a", "finish b")
    assert pool.phases() == "a:pool+lent:parked b:loan+lent:parked c:loan w:waiting"
    assert pool("finish c") == "w:pool"
    assert pool.phases() == "w:pool"


def test_the_cascade_ends_at_an_open_lender_whose_waiting_child_gets_the_loan() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "ask c<b", "ask d<a", "finish b")
    assert pool.phases() == "a:pool+lent b:loan+lent:parked c:loan d:waiting"
    assert pool("finish c") == "d:loan"
    assert pool.phases() == "a:pool+lent d:loan"


def test_children_of_a_run_that_ended_wait_on_in_the_pools_queue_alone() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "ask c<a", "finish a")  # a is parked, b on loan; c has no parent any more
    runs = {run.run: (run.parent, run.level, run.job) for run in pool.state.runs}
    assert runs["b"] == ("a", 2, ("a",))
    assert runs["c"] == (None, 2, ("a",))
    assert pool("finish b") == "c:pool"


def test_a_parked_lender_keeps_only_its_borrower_as_a_child() -> None:
    pool = History(LEND, 2)
    pool("ask a", "ask b<a", "ask c<a")
    assert dict(pool.state.children) == {"a": ("b", "c")}
    pool("finish a")
    assert dict(pool.state.children) == {"a": ("b",)}
    assert {run.run: run.parent for run in pool.state.runs} == {"a": None, "b": "a", "c": None}


def test_a_cancelled_waiter_leaves_both_queues_and_takes_nothing() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "ask c<a", "ask d<a")
    assert pool("cancel c") == ""
    assert pool("finish b") == "d:loan"


def test_a_cancelled_run_gives_back_the_token_that_it_has_now() -> None:
    pool = History(LEND, 1)
    pool("ask a", "ask b<a", "ask c<a", "ask w")
    assert pool("cancel b") == "c:loan"  # a loan goes to its lender, not to w
    assert pool("finish c", "cancel a") == "w:pool"  # a pool slot to the pool


def test_cancelling_a_run_cancels_none_of_its_children() -> None:
    pool = History(LEND, 2)
    pool("ask a", "ask b<a", "ask c<a", "cancel a")
    assert pool.phases() == "a:pool+lent:parked b:loan c:pool"


# -- R6: whose turn it is --------------------------------------------------------------------------------------------


def test_first_come_first_served_looks_at_arrival_alone() -> None:
    pool = History(LEND, 2, order="fifo")
    pool("ask a@j", "ask b@k", "ask c@j", "ask d@k")
    assert pool("finish b") == "c:pool"  # j holds one slot, k none
    assert pool.state.lines == frozenset()


@pytest.mark.parametrize("tie", ["served", "oldest"])
def test_the_job_that_holds_fewest_goes_first(tie: str) -> None:
    pool = History(LEND, 2, tie=tie)
    pool("ask a@j", "ask b@k", "ask c@j", "ask d@k")
    assert pool("finish b") == "d:pool"


def test_a_slot_that_comes_back_is_uncharged_first() -> None:
    pool = History(LEND, 1)
    pool("ask a@j", "ask b@j", "ask c@k")
    assert pool("finish a") == "b:pool"  # j holds nothing again, and stands first in the line


@pytest.mark.parametrize(("tie", "got"), [("served", "c:pool"), ("oldest", "b2:pool")])
def test_a_job_that_was_served_goes_to_the_end_of_the_line_or_not(tie: str, got: str) -> None:
    pool = History(LEND, 1, tie=tie)
    pool("ask x", "ask b1@j", "ask b2@j", "ask c@k")
    assert pool("finish x") == "b1:pool"
    assert pool("finish b1") == got


def test_jobs_stand_in_line_at_every_node_of_the_job_tree() -> None:
    pool = History(LEND, 1)
    pool("ask x", "ask a@j/p", "ask b@j/q", "ask c@k", "ask d@j/p")
    assert (pool.line(), pool.line("j")) == ("j k", "p q")
    assert pool("finish x") == "a:pool"
    assert (pool.line(), pool.line("j")) == ("k j", "q p")
    assert pool("finish a") == "c:pool"
    assert (pool.line(), pool.line("j")) == ("j", "q p")
    assert pool("cancel b") == ""
    assert (pool.line(), pool.line("j")) == ("j", "p")
    assert pool("finish c") == "d:pool"
    assert pool.state.lines == frozenset()


def test_inside_a_node_the_child_that_holds_fewest_goes_first() -> None:
    pool = History(LEND, 3)
    pool("ask a@j/p", "ask x", "ask y", "ask b@j/p", "ask c@j/q", "ask d@k")
    assert pool("finish x") == "d:pool"  # k holds none, j one
    assert pool("finish y") == "c:pool"  # j/q holds none, j/p one


def test_loans_are_charged_to_nobody_and_move_nobody() -> None:
    pool = History(LEND, 2)
    pool("ask a@j", "ask x@z", "ask b<a", "ask c<a", "ask d<a", "ask w@k")
    assert pool.line() == "j k"
    assert pool("finish b") == "c:loan"
    assert pool.line() == "j k"  # d still waits for j
    assert pool("finish x") == "w:pool"  # j holds one: a's; the loan does not count


# -- R8: resize ------------------------------------------------------------------------------------------------------


@WITH_A_QUEUE
def test_raising_the_cap_serves_waiters_one_by_one(rule: Rule) -> None:
    pool = History(rule, 1)
    pool("ask a@j", "ask b@j", "ask c@k", "ask d@j")
    assert pool("resize 3") == "c:pool b:pool"  # k held none; then j is alone
    assert (pool.state.cap, pool.state.taken, pool.state.waiting) == (3, 3, ("d",))


@WITH_A_QUEUE
def test_lowering_the_cap_revokes_nothing_and_hands_out_nothing_until_enough_came_back(rule: Rule) -> None:
    pool = History(rule, 3)
    pool("ask a", "ask b", "ask c", "ask w")
    assert pool("resize 1") == ""
    assert (pool.state.cap, pool.state.taken) == (1, 3)
    assert [pool("finish a"), pool("finish b"), pool("finish c")] == ["", "", "w:pool"]


def test_loans_go_on_while_the_cap_is_lowered() -> None:
    pool = History(LEND, 2)
    pool("ask a", "ask b", "resize 1")
    assert pool("ask c<a") == "c:loan"
    assert pool("ask d<a", "finish c") == "d:loan"


# -- R13: relend -----------------------------------------------------------------------------------------------------


def test_without_relend_a_slot_that_came_back_idles_while_another_run_waits() -> None:
    pool = History(LEND, 2)
    assert pool("ask a", "ask b<a", "ask c<a", "ask w", "finish b") == ""
    assert pool.phases() == "a:pool c:pool w:waiting"


def test_with_relend_the_child_on_a_pool_slot_goes_on_on_loan_and_its_slot_serves_a_waiter() -> None:
    pool = History(LEND, 2, relend=True)
    assert pool("ask a", "ask b<a", "ask c<a", "ask w", "finish b") == "w:pool ~c"
    assert (pool.phases(), pool.state.taken) == ("a:pool+lent c:loan w:pool", 2)


def test_with_relend_the_child_admitted_first_is_taken_and_keeps_its_place() -> None:
    pool = History(LEND, 3, relend=True)
    assert pool("ask a", "ask b<a", "ask c<a", "ask d<a", "finish b") == "~c"
    assert dict(pool.state.children) == {"a": ("c", "d")}
    assert (pool.phases(), pool.state.taken) == ("a:pool+lent c:loan d:pool", 2)


def test_with_relend_a_waiting_child_still_goes_first() -> None:
    pool = History(LEND, 2, relend=True)
    assert pool("ask a", "ask b<a", "ask c<a", "ask d<a", "finish b") == "d:loan"
    assert pool.phases() == "a:pool+lent c:pool d:loan"


def test_with_relend_a_parked_child_gives_its_pool_slot_back_too() -> None:
    pool = History(LEND, 2, relend=True)
    pool("ask a", "ask b<a", "ask c<a", "ask x<c", "finish c", "ask w")
    assert pool.phases() == "a:pool+lent b:loan c:pool+lent:parked w:waiting x:loan"
    assert pool("finish b") == "w:pool ~c"
    assert pool.phases() == "a:pool+lent c:loan+lent:parked w:pool x:loan"
    assert pool("finish x") == ""
    assert pool.phases() == "a:pool w:pool"


def test_with_relend_a_slot_beyond_a_lowered_cap_is_not_handed_out() -> None:
    pool = History(LEND, 2, relend=True)
    assert pool("ask a", "ask b<a", "ask c<a", "ask w", "resize 1", "finish b") == "~c"
    assert (pool.phases(), pool.state.taken) == ("a:pool+lent c:loan w:waiting", 1)


def test_relend_does_nothing_for_a_lender_that_has_ended() -> None:
    pool = History(LEND, 2, relend=True)
    assert pool("ask a", "ask b<a", "ask c<a", "finish a", "finish b") == ""
    assert (pool.phases(), pool.state.taken) == ("c:pool", 1)
