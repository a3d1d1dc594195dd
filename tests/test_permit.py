"""R9 worked out by hand, on the permits that ship and on the rule."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from slotcheck.pymodel.rules import BuildPermit, Lend, PermitOutcome, Refusal
from slotlending import Pool, Refused
from slotlending.explain import Wait
from slotlending.permit import ANSWERED, WORKS, Permits


class Both:
    """One history, told to both. Each call returns what it did, in one line."""

    def __init__(self, cap: int, **options: Any) -> None:
        self.permits = Permits(Pool(cap, **options))
        self.rule = BuildPermit(Lend())
        self.state = self.rule.initial(cap, **options)

    def __call__(self, verb: str, *args: Any) -> str:
        """``a:pool``: was granted a slot; ``~a``: relent; ``!a``: handed the permit; last what a resume came to."""
        outcome = self.outcome(verb, *args)
        if isinstance(outcome, Refusal):
            with pytest.raises(Refused) as caught:
                getattr(self.permits, verb)(*args)
            assert caught.value.code == outcome.code
            assert self.permits.snapshot() == self.state
            return outcome.code
        answer = getattr(self.permits, verb)(*args)
        self.state = outcome.state
        assert tuple(answer) == tuple(outcome[1:])
        assert self.permits.snapshot() == self.state
        told = [*map(":".join, answer.granted), *[f"~{run}" for run in answer.relent]]
        told += [f"!{run}" for run in answer.handed] + [answer.came_to or ""]
        return " ".join(filter(None, told))

    def outcome(self, verb: str, *args: Any) -> PermitOutcome | Refusal:
        try:
            return getattr(self.rule, verb)(self.state, *args)  # type: ignore[no-any-return]
        except Refusal as refusal:
            return refusal


def test_alone_a_run_asks_for_a_slot_and_then_takes_the_permit() -> None:
    both = Both(1)
    assert both("ask", "r") == "r:pool"
    assert both("enter", "a", "S") == ""
    assert both.permits.holder("S") is None
    assert both("finish", "r") == "a:pool !a"
    assert both("resume", "a") == "works"
    assert both("finish", "a") == ""
    assert both.permits.statistics() == (0, 0, 0, 0)


def test_beside_another_it_takes_no_slot_even_if_one_is_free() -> None:
    both = Both(3)
    assert both("enter", "a", "S", "k") == "a:pool !a"
    assert both("enter", "b", "S", "k") == ""
    assert both("resume", "a") == "works"
    assert both.permits.pool.statistics().taken == 1
    assert both("finish", "a") == "!b"
    assert both("resume", "b") == "answered"


def test_a_first_run_that_waits_for_its_slot_holds_nobody_up() -> None:
    both = Both(1)
    both("ask", "r")
    both("enter", "a", "S", "k")
    assert both("enter", "b", "S", "k") == "!b"  # the permit is free
    assert both("resume", "b") == "asks"
    assert both("finish", "r") == "a:pool !a"
    both("resume", "a")
    assert both("finish", "a") == "b:pool !b"
    assert both("resume", "b") == "answered"  # with a slot, which goes back
    assert both.permits.pool.statistics().taken == 0


def test_a_run_that_the_memo_does_not_answer_drops_the_permit_before_it_asks() -> None:
    both = Both(2)
    for run in ("a", "b", "c"):
        both("enter", run, "S")
    both("resume", "a")
    both("finish", "a")
    assert both("resume", "b") == "b:pool !c asks"  # c has it now, and b queues behind it, with a slot
    assert both.permits.statistics() == (2, 0, 1, 1)
    assert both("resume", "c") == "c:pool !b asks"
    assert both("resume", "b") == "works"


def test_alone_with_a_free_slot_it_has_the_permit_again_at_once() -> None:
    both = Both(1)
    both("enter", "a", "S")
    both("enter", "b", "S")
    both("resume", "a")
    both("finish", "a")
    assert both("resume", "b") == "b:pool !b asks"
    assert both("resume", "b") == "works"


@pytest.mark.parametrize("ended", [False, True], ids=["", "ended"])
def test_it_asks_under_its_parent_while_that_is_in_flight_and_else_in_its_job(ended: bool) -> None:
    both = Both(1)
    both("ask", "r", None, ("app", "one"))
    both("enter", "first", "S")  # waits for a slot
    assert both("enter", "a", "S", None, "r") == "!a"
    if ended:
        assert both("finish", "r") == "first:pool"  # and queues behind a
        assert both("resume", "a") == "!first asks"
    else:
        assert both("resume", "a") == "a:loan !a asks"
    assert both.permits.pool.state("a").job == ("app", "one")  # type: ignore[union-attr]


@pytest.mark.parametrize("how", ["fail", "cancel", "finish before its child"])
def test_a_body_that_does_not_end_well_clears_the_older_memo(how: str) -> None:
    both = Both(2)
    both("enter", "a", "S", "k")
    both("resume", "a")
    both("finish", "a")
    assert both.permits.memo("S") == "k"
    both("enter", "b", "S", "new")
    both("resume", "b")
    if how == "finish before its child":
        both("ask", "c", "b")
        assert both("finish", "b") == ""
    else:
        assert both(how, "b") == ""
    assert both.permits.memo("S") is None


def test_a_body_without_a_key_stores_none() -> None:
    both = Both(1)
    for run, key in (("a", "k"), ("b", None)):
        both("enter", run, "S", key)
        both("resume", run)
        both("finish", run)
    assert both.permits.memo("S") is None


def test_a_cancel_finds_the_run_wherever_it_is() -> None:
    both = Both(1)
    both("ask", "r")
    both("enter", "waits", "S")
    both("enter", "handed", "S")
    both("enter", "queued", "S")
    assert both("cancel", "waits") == ""
    assert both("cancel", "queued") == ""
    assert both("cancel", "handed") == ""
    assert both.permits.statistics() == (1, 0, 0, 0)
    both("finish", "r")
    assert both("enter", "works", "S") == "works:pool !works"
    both("resume", "works")
    both("enter", "next", "S")
    both("ask", "plain")
    assert both("cancel", "works") == "plain:pool !next"


def test_the_pool_never_hears_of_a_run_that_did_not_ask() -> None:
    both = Both(1)
    both("enter", "a", "S")
    both("enter", "b", "S")
    assert both.permits.pool.state("b") is None
    both("cancel", "b")
    assert both("resume", "b") == "not_known"


@pytest.mark.parametrize("early", [False, True], ids=["", "after its mounter has ended"])
def test_a_component_below_itself_is_refused(early: bool) -> None:
    both = Both(2)
    both("enter", "a", "S")
    both("resume", "a")
    both("ask", "m", "a")
    lineage = both.permits.lineage("m")
    assert lineage == ("S",)
    if early:
        both("finish", "m")
        assert both("enter", "b", "S", None, None, ("a",), lineage) == "component_above"
    else:
        assert both("enter", "b", "S", None, "m") == "component_above"
        assert both("enter", "b", "T", None, "m") == "b:loan !b"
        assert both.permits.lineage("b") == ("S", "T")


def test_a_job_that_a_present_run_will_ask_in_is_not_taken_from_it() -> None:
    both = Both(2)
    both("enter", "a", "S")
    both("enter", "b", "S", None, None, ("app", "b"))  # has yet to ask
    assert both("ask", "c", None, ("app",)) == "job_not_leaf"
    assert both("enter", "c", "T", None, None, ("app", "b", "below")) == "job_not_leaf"
    assert both("ask", "c", None, ("app", "b")) == "c:pool"
    both("cancel", "b")
    both("finish", "c")
    assert both("ask", "c", None, ("app",)) == "c:pool"


def test_a_job_is_free_again_once_its_run_has_asked_and_ended() -> None:
    both = Both(1)
    assert both("enter", "u", "S", None, None, ("a",)) == "u:pool !u"
    assert both("resume", "u") == "works"
    assert both("enter", "v", "S", None, None, ("b", "x")) == ""
    assert both("enter", "w", None, None, None, ("b",)) == "job_not_leaf"
    assert both("finish", "u") == "!v"
    assert both("resume", "v") == "v:pool !v asks"
    assert both("resume", "v") == "works"
    assert both("finish", "v") == ""
    assert both("enter", "w", None, None, None, ("b",)) == "w:pool"


def test_nothing_is_kept_of_components_without_a_memo() -> None:
    permits = Permits(Pool(2))
    for run in range(50):
        permits.enter(run, ("component", run))
        permits.resume(run)
        permits.finish(run)
    assert permits._components == {}
    assert permits._children == {}
    assert permits.statistics() == (0, 0, 0, 0)


def test_an_id_that_is_asked_again_is_nobodys_parent() -> None:
    both = Both(1)
    both("enter", "first", "S")
    both("enter", "r", "T")
    both("ask", "p", "first")
    both("enter", "b", "T", None, "p")
    both("finish", "p")
    both("ask", "p", "first")  # another run
    both("cancel", "r")
    assert both.permits.holder("T") == "b"
    assert both("resume", "b") == "asks"  # not under the other p, whose slot it could have
    assert both.permits.pool.state("b").parent is None  # type: ignore[union-attr]


def test_what_cannot_be_said_is_refused() -> None:
    both = Both(1)
    both("ask", "r")
    both("enter", "a", "S")
    both("enter", "b", "S")
    assert both("enter", "a", "S") == "run_known"
    assert both("ask", "b") == "run_known"
    assert both("enter", "c", "S", None, "a") == "parent_not_in_flight"
    assert both("finish", "a") == "not_admitted"
    assert both("finish", "b") == "not_working"
    assert both("resume", "a") == "not_handed_over"
    assert both("resume", "r") == "not_handed_over"
    assert both("resize", 0) == "bad_cap"
    for verb in ("resume", "finish", "fail", "cancel"):
        assert both(verb, "nobody") == "not_known"
    with pytest.raises(TypeError):
        both.permits.enter("c", "S", lineage="S")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        both.permits.enter("c", [])


def test_what_a_parked_run_left_behind_is_no_longer_present() -> None:
    both = Both(1)
    both("enter", "a", "S", "k")
    both("resume", "a")
    both("ask", "c", "a")
    both("finish", "a")  # parked: its slot stays with c
    assert both.permits.state("a") is None
    assert both("enter", "a", "S") == "run_known"
    assert both("cancel", "a") == "not_known"
    assert both("enter", "b", "S") == ""
    assert both("finish", "c") == "b:pool !b"


def test_explain_names_who_queues_on_a_permit_and_circles_through_it() -> None:
    permits = Permits(Pool(2))
    for run, component in (("a", "A"), ("b", "B")):
        permits.enter(run, component)
        permits.resume(run)
    permits.enter("b2", "B", parent="a")
    permits.enter("a2", "A", parent="b")
    told = str(permits.explain())
    assert "'b2' waits for permit 'B', held by 'b'" in told

    circle = permits.explain({"a": [Wait.on_run("b2")], "b": [Wait.on_run("a2")]})
    assert circle.cycles == (("a", "b2", "b", "a2"),)
    assert Permits(Pool(1)).explain().other_waits is None
    assert repr(permits).startswith(
        "<Permits: 4 present, 2 working with a permit, 2 queued, 0 of them with a slot; <Pool"
    )


def test_to_forget_a_component_is_what_a_body_that_fails_would_leave() -> None:
    """So no state comes to be that the rules do not know, and what is checked of permits holds with it, too."""
    forgotten, failed = Permits(Pool(1)), Permits(Pool(1))
    for permits in (forgotten, failed):
        permits.enter("first", "S", key="v1")
        permits.resume("first")
        permits.finish("first")
        assert permits.memo("S") == "v1"
    forgotten.forget("S")
    forgotten.forget("T")
    failed.enter("second", "S", key="v2")
    failed.resume("second")
    failed.fail("second")
    assert forgotten.snapshot() == failed.snapshot() == Permits(Pool(1)).snapshot()
    assert not forgotten._components


def test_a_component_is_forgotten_while_its_runs_are_present() -> None:
    permits = Permits(Pool(2))
    permits.enter("first", "S", key="v1")
    permits.resume("first")
    permits.finish("first")
    permits.enter("second", "S", key="v1")
    permits.enter("third", "S", key="v1")
    permits.forget("S")
    assert permits.holder("S") == "second"
    assert permits.resume("second").came_to == WORKS
    permits.forget("S")
    permits.finish("second")
    assert permits.memo("S") == "v1"
    assert permits.resume("third").came_to == ANSWERED


def test_present_runs_are_those_that_have_entered_and_are_not_over() -> None:
    permits = Permits(Pool(1))
    for run, component in (("z", "S"), ("a", "S"), ("m", None)):
        permits.enter(run, component)
    permits.resume("z")
    permits.cancel("m")
    assert set(permits.present()) == {"z", "a"}


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda permits: pickle.loads(pickle.dumps(permits))])
def test_a_copy_is_on_a_pool_of_its_own(again: Any) -> None:
    permits = Permits(Pool(1))
    for run in ("a", "b"):
        permits.enter(run, "S", key=run)
    before = permits.snapshot()
    other = again(permits)
    assert other.snapshot() == before
    other.resume("a")
    other.finish("a")
    assert other.snapshot() != permits.snapshot() == before
    assert permits.pool.statistics().taken == 1


def test_components_and_jobs_are_forgotten_with_their_last_run() -> None:
    permits = Permits(Pool(1))
    for number in range(100):
        permits.enter(number, ("component", number), job=("app", number))
        permits.resume(number)
        permits.finish(number)
    assert not permits._components
    assert not permits.pool._jobs.nodes
