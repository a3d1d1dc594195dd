"""The orders that fewest held first is compared with: whom they serve, by hand, on the pool.

test_stateful.py has the pool against the rules under all of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from test_order import ask, hand_out, line, pass_on, waiting

from slotcheck.checks.conformance import lockstep
from slotcheck.pymodel.rules import RULES, order
from slotcheck.pymodel.subject import Call, Reply
from slotlending import Pool, Wait
from slotlending.other_orders import ORDERS, share_of

ROUND_ROBIN: dict[str, Any] = {"order": "round_robin"}
PRIORITY: dict[str, Any] = {"order": "strict_priority:b,y,a"}
SHARE: dict[str, Any] = {"order": "fixed_share:2"}


def test_a_share_is_told_by_its_own_name_only() -> None:
    assert share_of("fixed_share:123456789") == 123_456_789
    for name in ("fixed_share:1234567890", "fixed_share:0", "other:5", "fifo", "fixed_share:\u0663"):
        assert share_of(name) is None


def test_a_large_share_is_kept_to_the_last_slot() -> None:
    pool = Pool(301, order="fixed_share:300")
    for run in range(301):
        assert bool(pool.ask(run, None, ("x",)).granted) == (run < 300)
    assert pool.ask("y").granted
    assert pool.finish("y").granted == ()  # x has its share
    assert pool.finish(0).granted == ((300, "pool"),)


def test_priorities_may_be_many() -> None:
    names = ",".join(f"job{number}" for number in range(300))
    assert Pool(1, order=f"strict_priority:{names}").snapshot().order.endswith("job299")


def test_the_pool_and_the_rules_know_the_same_orders_by_the_same_names() -> None:
    assert order.ORDERS == ORDERS
    for name in ("fewest_held", "fifo", "round_robin", "strict_priority:a", "strict_priority:a,b", "fixed_share:1"):
        order.judge(name)
        assert Pool(1, order=name).snapshot().order == name
    for name in (
        "",
        "lifo",
        "fifo:",
        "round_robin:1",
        "strict_priority",
        "strict_priority:a,a",
        "fixed_share:0",
        "fixed_share",
    ):
        with pytest.raises(ValueError, match=r"order is one of|takes") as of_rule:
            order.judge(name)
        with pytest.raises(ValueError, match=r"order is one of|takes") as of_pool:
            Pool(1, order=name)
        assert str(of_pool.value) == str(of_rule.value)


# -- round-robin -----------------------------------------------------------------------------------------------------


def test_round_robin_takes_turns_whatever_a_job_holds() -> None:
    pool = waiting(ROUND_ROBIN, "a1", "a2", "a3", "b1", "b2", "c1")
    assert line(pool) == ["a", "b", "c"]
    assert hand_out(pool, 2) == ["a1", "b1"]
    assert line(pool) == ["c", "a", "b"]
    pool.finish("b1")  # c is next, though b holds nothing now and a holds one
    assert line(pool) == ["a", "b"]
    ask(pool, "c2")
    assert hand_out(pool, 4) == ["a2", "b2", "c2", "a3"]


def test_round_robin_takes_turns_at_every_node_of_the_tree_of_jobs() -> None:
    pool = waiting(ROUND_ROBIN, "p/x/1", "p/x/2", "p/y/1", "q/x/1", "q/x/2", "q/x/3")
    assert hand_out(pool, 6) == ["p/x/1", "q/x/1", "p/y/1", "q/x/2", "p/x/2", "q/x/3"]


def test_a_turn_survives_a_restore() -> None:
    pool = waiting(ROUND_ROBIN, "a1", "a2", "b1", "b2")
    hand_out(pool, 1)
    assert hand_out(Pool.restore(pool.snapshot()), 3) == hand_out(pool, 3) == ["b1", "a2", "b2"]


# -- strict priority -------------------------------------------------------------------------------------------------


def test_the_name_that_stands_first_is_served_first_and_the_rest_by_age() -> None:
    pool = waiting(PRIORITY, "d1", "c1", "a1", "d2", "b1", "a2")
    assert hand_out(pool, 6) == ["b1", "a1", "a2", "d1", "c1", "d2"]


def test_a_busy_job_starves_those_after_it() -> None:
    pool = waiting(PRIORITY, "a1", "b1")
    for number in range(1, 20):
        ask(pool, f"b{number + 1}")
        ((run, _),) = pool.finish(0 if number == 1 else f"b{number - 1}").granted
        assert run == f"b{number}"
    assert "a1" in pool.snapshot().waiting


def test_a_name_counts_at_every_node_of_the_tree_of_jobs() -> None:
    pool = waiting(PRIORITY, "p/x/1", "q/x/1", "p/y/1", "q/y/1", "p/z/1")
    assert hand_out(pool, 5) == ["p/y/1", "p/x/1", "q/y/1", "q/x/1", "p/z/1"]


def test_priority_does_not_look_at_what_a_job_holds_or_at_the_tie_break() -> None:
    for tie in ("served", "oldest"):
        assert pass_on(waiting({**PRIORITY, "tie": tie}, "d1", "a1", "b1", "b2")) == ["b1", "b2", "a1", "d1"]


# -- fixed share -----------------------------------------------------------------------------------------------------


def test_a_job_never_holds_more_than_its_share_though_slots_are_free() -> None:
    pool = Pool(5, **SHARE)
    assert [ask(pool, run) for run in ("a1", "a2", "a3", "b1")] == [True, True, False, True]
    assert pool.statistics().free == 2
    assert pool.try_ask("a4", job=("a",)).granted == ()
    assert pool.resize(9).granted == ()
    assert pool.finish("b1").granted == ()
    assert pool.finish("a1").granted == (("a3", "pool"),)


def test_of_the_jobs_that_may_take_one_more_the_oldest_run_is_served() -> None:
    pool = waiting(SHARE, "a1", "a2", "a3", "b1", "c1", "a4", "b2")
    assert hand_out(pool, 9) == ["a1", "a2", "b1", "c1", "b2"]
    assert pool.snapshot().waiting == ("a3", "a4")
    assert pool.finish("a2").granted == (("a3", "pool"),)


def test_a_loan_is_outside_the_share() -> None:
    pool = Pool(4, order="fixed_share:1")
    pool.ask("r")
    assert pool.ask("a", "r").granted == (("a", "loan"),)
    assert pool.ask("b", "r").granted == ()  # a second pool slot for job r
    assert pool.finish("a").granted == (("b", "loan"),)


def test_a_child_in_another_job_takes_of_that_jobs_share() -> None:
    pool = Pool(4, order="fixed_share:1")
    for run, parent, job in (("r", None, None), ("a", "r", None), ("b", "r", ("other",)), ("c", "r", ("other",))):
        pool.ask(run, parent, job)
    assert [pool.held(job) for job in (("r",), ("other",))] == [1, 1]
    assert pool.snapshot().waiting == ("c",)


def test_relend_gives_a_share_back() -> None:
    pool = Pool(4, order="fixed_share:2", relend=True)
    for run, parent in (("r", None), ("a", "r"), ("b", "r"), ("s", None)):
        pool.ask(run, parent, ("j",) if parent is None else None)
    assert pool.snapshot().waiting == ("s",)
    answer = pool.finish("a")
    assert (answer.relent, answer.granted) == (("b",), (("s", "pool"),))


def test_a_share_survives_a_restore() -> None:
    pool = Pool(5, **SHARE)
    for run in ("a1", "a2", "a3", "b1", "b2", "b3"):
        ask(pool, run)
    again = Pool.restore(pool.snapshot())
    assert again.snapshot() == pool.snapshot()
    assert again.finish("b2").granted == pool.finish("b2").granted == (("b3", "pool"),)


def test_explain_names_the_holders_of_the_jobs_own_share() -> None:
    pool = Pool(3, order="fixed_share:1")
    for run in ("a1", "b1", "a2"):
        ask(pool, run)
    (wait,) = pool.explain().slot_waits
    assert (wait.run, wait.holders) == ("a2", ("a1",))
    # b1 could end, but that would not help a2: a1 waits for a2, and a2 for a1.
    told = pool.explain({"a1": [Wait("run", "a2", ("a2",))]})
    assert told.cycles == (("a1", "a2"),)


@pytest.mark.parametrize(
    ("name", "share"), [("fixed_share:4", 4), ("fixed_share:0", None), ("fifo", None), ("fixed_share", None)]
)
def test_the_share_of_a_name(name: str, share: int | None) -> None:
    assert share_of(name) == share


def test_lockstep_sees_a_wrong_turn() -> None:
    before = waiting(ROUND_ROBIN, "a1", "a2", "b1").snapshot()
    wrong = Pool.restore(before._replace(lines=frozenset({((), ("b", "a"))})))
    answer = wrong.finish(0)
    call = Call(0, "finish", (0,), Reply(None, answer.granted), 0)
    told = lockstep(RULES["lend"], before, call, wrong.snapshot())  # type: ignore[arg-type]
    assert told == "finish(0) should grant a1 (pool), but granted b1 (pool)"
