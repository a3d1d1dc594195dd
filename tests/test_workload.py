"""Workloads: what bodies, the environment and scripts can do in every state, and that symmetry loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slotcheck.checks.check import Part, Settings, check_part
from slotcheck.checks.generated import forests, generated_scenarios
from slotcheck.checks.subject import RuleSubject, resolve_subject
from slotcheck.pymodel.explore import Verdict, explore
from slotcheck.pymodel.rules import RULES
from slotcheck.pymodel.scenario import Act, Op, RunSpec, Scenario
from slotcheck.pymodel.subject import Calls, Reply
from slotcheck.pymodel.symmetry import ForestSymmetry
from slotcheck.pymodel.system import Property
from slotcheck.pymodel.workload import BODY_STEPS, ENVIRONMENT_ACTS, Workload, WorkloadState

LEND = RuleSubject(RULES["lend"])

CANCEL, EARLY = Act("cancel"), Act("finish")


def body(text: str) -> tuple[Op, ...]:
    """The steps of a body in the notation of `Op`, apart by blanks."""
    verbs = {"+": "spawn", "&": "wait", "~": "await", "?": "need", "!": "set"}
    ops = []
    for word in text.split():
        if word in ("w", "raise"):
            ops.append(Op({"w": "work"}.get(word, word)))
        elif word[0] in verbs:
            verb, name = verbs[word[0]], word[1:]
            ops.append(Op(f"{verb} all") if name == "*" else Op(verb, name))
        else:
            name, verb = word.split(".")
            ops.append(Op(verb, name))
    return tuple(ops)


def scenario(*runs: str, **more: Any) -> Scenario:
    """Runs as ``"r"``, ``"a<r"`` (below r), ``"late a<r"``, each with a body after a colon if it has one."""
    specs = []
    for run in runs:
        head, colon, text = run.partition(":")
        name, _, parent = head.removeprefix("late ").partition("<")
        specs.append(RunSpec(name, parent or None, body(text) if colon else None, head.startswith("late ")))
    return Scenario("s", tuple(specs), **more)


def told(action: tuple[Any, ...]) -> str:
    return " ".join(map(str, action))


class Play:
    """One behaviour of a scenario, step by step. Every step has to be enabled where it is taken."""

    def __init__(self, played: Scenario, cap: int = 9, subject: Any = LEND, **options: Any) -> None:
        self.workload = Workload(played, Calls(subject), cap=cap, symmetry=False, **options)
        (self.state,) = self.workload.initial()

    def __call__(self, *steps: str) -> list[str]:
        """Take steps, ``go a`` being short for ask and resume, and return what is enabled then."""
        for step in steps:
            for part in [step.replace("go", verb) for verb in ("ask", "resume")] if step.startswith("go ") else [step]:
                by_name = {told(action): action for action in self.workload.actions(self.state)}
                assert part in by_name, f"{part!r} is not enabled, only {sorted(by_name)}"
                self.state = self.workload.next(self.state, by_name[part])
        return [told(action) for action in self.workload.actions(self.state)]

    @property
    def waits(self) -> dict[str, Any]:
        return self.workload.waits(self.state)

    @property
    def finished(self) -> bool:
        return self.workload.finished(self.state)

    @property
    def unfinished(self) -> list[str]:
        return self.workload.bodies.unfinished(self.state)

    def token(self, name: str) -> str:
        """What the pool says of a run."""
        known = {run.run: run for run in self.workload.snapshot(self.state).runs}
        return known[name].token if known[name].phase == "in_flight" else known[name].phase


# -- bodies ----------------------------------------------------------------------------------------------------------


def test_the_default_body_asks_for_all_children_in_any_order_waits_for_all_and_finishes() -> None:
    play = Play(scenario("r", "a<r", "b<r"))
    assert play() == ["ask r"]
    assert play("ask r") == ["resume r"]
    assert play("resume r") == ["ask a", "ask b"]
    assert play("ask b") == ["ask a", "resume b"]
    assert play("ask a", "resume b", "resume a", "finish b") == ["finish a"]
    assert play("finish a") == ["finish r"]
    assert play("finish r") == []
    assert play.finished


def test_a_run_that_waits_for_a_slot_resumes_only_after_its_grant() -> None:
    play = Play(scenario("a", "b"), cap=1)
    assert play("ask a", "ask b") == ["resume a"]
    assert not play.workload.granted_not_resumed(play.state, "b")
    assert play("resume a", "finish a") == ["resume b"]
    assert play.workload.granted_not_resumed(play.state, "b")
    assert play("resume b") == ["finish b"]
    assert not play.workload.granted_not_resumed(play.state, "b")


def test_a_run_can_resume_in_the_step_that_grants_its_slot() -> None:
    play = Play(scenario("a", "b"), cap=1, resume_at_grant=True)
    assert play("ask a", "ask b") == ["finish a"]
    assert play("finish a") == ["finish b"]


def test_a_body_asks_for_one_child_after_another_in_its_own_order() -> None:
    play = Play(scenario("r: +b +a", "a<r", "b<r"))
    assert play("go r") == ["ask b"]
    assert play("ask b") == ["ask a", "resume b"]
    assert play("ask a") == ["finish r", "resume a", "resume b"]


def test_a_body_asks_for_all_children_in_any_order_before_its_next_step() -> None:
    play = Play(scenario("r: +* w w", "a<r", "b<r"))
    assert play("go r") == ["ask a", "ask b"]
    assert play("ask b") == ["ask a", "resume b"]
    assert play("ask a") == ["work r", "resume a", "resume b"]


def test_a_wait_for_one_child_does_not_wait_for_another() -> None:
    play = Play(scenario("r: +* &a w w", "a<r", "b<r"))
    play("go r", "ask a", "ask b")
    assert play.waits == {"r": [("run", "a", ("a",))]}
    assert play("resume a", "finish a") == ["work r", "resume b"]


def test_a_wait_for_all_waits_for_the_children_asked_so_far() -> None:
    play = Play(scenario("r: +a &* +b &*", "a<r", "b<r"))
    play("go r", "go a")
    assert play.waits == {"r": [("run", "a", ("a",))]}
    assert play("finish a") == ["ask b"]
    assert play("ask b") == ["resume b"]
    assert play("resume b", "finish b") == ["finish r"]


def test_a_run_can_wait_for_a_run_that_is_not_its_child() -> None:
    play = Play(scenario("a: ~x", "r", "x<r"))
    assert play("go a", "go r") == ["ask x"]
    assert play.waits == {"a": [("run", "x", ("x",))]}
    assert play("go x", "finish x") == ["finish a", "finish r"]


def test_a_run_needs_an_event_that_another_sets() -> None:
    play = Play(scenario("a: ?e w w", "b: w !e w", "c: ?e"))
    assert play("go a", "go b", "go c") == ["work b"]
    assert play.waits == {"a": [("event", "e", ("b",))], "c": [("event", "e", ("b",))]}
    assert play("work b") == ["set b e"]
    assert play("set b e") == ["work a", "finish b", "finish c"]
    assert play.waits == {}


def test_an_event_is_waited_for_in_vain_once_nobody_is_left_to_set_it() -> None:
    play = Play(scenario("a: ?e", "b: !e", environment=(CANCEL,)))
    play("go a", "ask b", "cancel b")
    assert play.waits == {"a": [("event", "e", ())]}


def test_a_run_that_will_never_ask_is_not_waited_for_to_set_an_event() -> None:
    play = Play(scenario("a: ?e", "r: raise", "c<r: !e"))
    assert play("go a", "go r", "raise r") == []
    assert play.finished is False
    assert play.waits == {"a": [("event", "e", ())]}


def test_the_last_piece_of_work_ends_with_the_run() -> None:
    assert Play(scenario("a: w"))("go a") == ["finish a"]
    play = Play(scenario("a: w w w"))
    assert play("go a") == ["work a"]
    assert play("work a") == ["work a"]
    assert play("work a") == ["finish a"]


def test_a_run_that_raises_ends_at_once_and_its_children_live_on() -> None:
    play = Play(scenario("r: +a raise", "a<r", "b<r"))
    assert play("go r", "ask a") == ["raise r", "resume a"]
    assert play("raise r") == ["resume a"]
    assert play.unfinished == ["a"]
    assert play.token("r") == "parked"
    assert play("resume a", "finish a") == []
    assert play.finished  # b is never asked for


# -- locks and gates -------------------------------------------------------------------------------------------------


def test_a_lock_lets_one_in_and_is_handed_over_in_the_order_of_arrival() -> None:
    play = Play(scenario(*[f"{name}: L.take w L.drop" for name in "abc"]))
    play("go a", "go b", "go c", "take c L")
    assert play("take b L", "take a L") == ["work c"]
    assert play.waits == {"a": [("lock", "L", ("c",))], "b": [("lock", "L", ("c",))]}
    assert play("work c", "drop c L") == ["work b", "finish c"]
    assert play("work b", "drop b L") == ["work a", "finish b", "finish c"]


def test_a_gate_lets_so_many_in_at_once() -> None:
    play = Play(scenario(*[f"{name}: G.take w G.drop" for name in "abcd"], gates={"G": 2}))
    play("go a", "go b", "go c", "go d")
    assert play("take a G", "take b G", "take c G", "take d G") == ["work a", "work b"]
    assert play.waits["d"] == [("lock", "G", ("a", "b"))]
    assert play("work b", "drop b G") == ["work a", "finish b", "work c"]


def test_a_run_that_takes_a_lock_twice_waits_for_itself() -> None:
    play = Play(scenario("a: L.take L.take"))
    assert play("go a", "take a L") == ["take a L"]
    assert play("take a L") == []
    assert play.waits == {"a": [("lock", "L", ("a",))]}


def test_a_run_that_takes_two_places_at_a_gate_drops_them_one_by_one() -> None:
    play = Play(scenario("a: G.take G.take G.drop G.drop", "b: G.take w w", "c: G.take w w", gates={"G": 2}))
    play("go a", "go b", "go c", "take a G", "take a G")
    assert play("take b G", "take c G") == ["drop a G"]
    assert play("drop a G") == ["drop a G", "work b"]
    assert play("drop a G") == ["finish a", "work b", "work c"]


def test_a_run_hands_over_to_the_take_at_which_the_next_one_queues() -> None:
    play = Play(scenario("a: L.take w L.drop", "b: L.take L.drop w L.take w"))
    play("go a", "go b", "take b L", "drop b L", "work b", "take a L")
    assert play("take b L") == ["work a"]
    assert play("work a", "drop a L") == ["finish a", "finish b"]


@pytest.mark.parametrize("end", ["raise a", "finish a", "cancel a", "finish early a"])
def test_a_run_that_ends_in_any_way_drops_its_lock(end: str) -> None:
    rest = {"raise a": "raise", "finish a": ""}.get(end, "w w")
    play = Play(scenario(f"a: L.take {rest}", "b: L.take w w", environment=(CANCEL, EARLY)))
    play("go a", "go b", "take a L", "take b L")
    assert "work b" not in play()
    assert "work b" in play(end)


@pytest.mark.parametrize("end", ["raise a", "finish a", "cancel a", "finish early a"])
def test_a_run_that_ends_in_any_way_drops_all_its_places_at_a_gate(end: str) -> None:
    rest = {"raise a": "raise", "finish a": ""}.get(end, "w w")
    more = ("b: G.take w w", "c: G.take w w")
    play = Play(scenario(f"a: G.take G.take {rest}", *more, gates={"G": 2}, environment=(CANCEL, EARLY)))
    play("go a", "go b", "go c", "take a G", "take a G", "take b G", "take c G", end)
    assert {"work b", "work c"} <= set(play())


def test_a_run_that_ends_in_a_queue_leaves_it() -> None:
    play = Play(scenario(*[f"{name}: L.take w L.drop" for name in "abc"], environment=(Act("cancel", "b"),)))
    play("go a", "go b", "go c", "take a L", "take b L", "take c L", "cancel b")
    assert play("work a", "drop a L") == ["finish a", "work c"]


# -- late runs, blocking spawn ---------------------------------------------------------------------------------------


def test_a_late_run_asks_after_its_parents_end_without_a_parent_in_its_parents_job() -> None:
    play = Play(scenario("r", "a<r", "late b<a"))
    play("go r", "go a")
    assert play() == ["finish a"]  # which neither asks nor waits for b
    assert not play.finished
    assert play("finish a") == ["finish r", "ask b"]
    assert play("finish r") == ["ask b"]
    assert not play.finished
    play("ask b")
    (run,) = play.workload.snapshot(play.state).runs
    assert (run.parent, run.level, run.job) == (None, 1, ("r",))
    assert play("resume b", "finish b") == []
    assert play.finished


def test_children_not_asked_for_may_ask_late_where_the_scenario_lets_them() -> None:
    cancelled = (Act("cancel", "r"),)
    assert Play(scenario("r", "a<r", environment=cancelled))("go r", "cancel r") == []
    play = Play(scenario("r", "a<r", "b<a", environment=cancelled, late_children=True))
    assert play("go r", "cancel r") == ["ask late a"]
    assert play.finished  # it may ask, but need not
    assert not play.workload.is_body_step(("ask late", "a"))
    assert play("ask late a") == ["resume a"]
    assert not play.finished
    assert play("resume a") == ["ask b"]
    (run,) = play.workload.snapshot(play.state).runs
    assert (run.parent, run.level, run.job) == (None, 1, ("r",))


def test_a_spawn_that_blocks_waits_for_the_childs_admission() -> None:
    play = Play(scenario("r", "a<r", "b<r", "c<r", blocking_spawn=True), cap=1)
    assert play("go r", "ask b") == ["ask a", "ask c", "resume b"]  # b is admitted, on loan
    assert play("ask c") == ["resume b"]
    assert play.waits == {"r": [("admission", "c", ("c",))]}
    assert play("resume b", "finish b") == ["ask a", "resume c"]


def test_a_spawn_that_blocks_holds_a_body_back_too() -> None:
    tree = ("r: +a +b w w", "a<r", "b<r")
    assert Play(scenario(*tree), cap=1)("go r", "ask a", "ask b") == ["work r", "resume a"]
    assert Play(scenario(*tree, blocking_spawn=True), cap=1)("go r", "ask a", "ask b") == ["resume a"]


# -- the environment -------------------------------------------------------------------------------------------------


def test_any_run_can_be_cancelled_from_its_ask_to_its_end() -> None:
    play = Play(scenario("a", "b", environment=(CANCEL,)), cap=1)
    assert play() == ["ask a", "ask b"]
    assert play("ask a", "ask b") == ["resume a", "cancel a", "cancel b"]
    assert play("cancel b") == ["resume a", "cancel a"]
    assert play("resume a") == ["finish a", "cancel a"]
    assert play("cancel a") == []
    assert play.finished


def test_a_cancel_that_names_a_run_is_for_that_run_only() -> None:
    assert Play(scenario("a", "b", environment=(Act("cancel", "b"),)))("go a", "go b") == [
        "finish a",
        "finish b",
        "cancel b",
    ]


def test_cancelling_a_run_leaves_its_children_and_it_asks_for_no_more() -> None:
    play = Play(scenario("r", "a<r", "b<r", environment=(Act("cancel", "r"),)))
    assert play("go r", "ask a", "cancel r") == ["resume a"]
    assert play.unfinished == ["a"]


def test_a_run_can_finish_early_once_resumed_while_its_body_is_not_through() -> None:
    play = Play(scenario("r", "a<r", environment=(EARLY,)))
    assert play("ask r") == ["resume r"]
    assert play("resume r") == ["ask a", "finish early r"]
    assert play("go a") == ["finish a", "finish early r"]  # a is through
    assert play("finish early r") == ["finish a"]
    assert Play(scenario("r", "a<r", environment=(Act("finish", "a"),)))("go r") == ["ask a"]


def test_the_cap_changes_to_another_one_so_many_times() -> None:
    play = Play(scenario("a", "b", environment=(Act("resize", cap=1), Act("resize", cap=2)), resizes=2), cap=1)
    assert play("ask a", "ask b") == ["resume a", "resize 2"]
    assert play("resize 2") == ["resume a", "resume b", "resize 1"]
    assert play("resize 1") == ["resume a", "resume b"]
    assert play.workload.snapshot(play.state).cap == 1


def test_only_body_steps_must_happen_some_time() -> None:
    workload = Play(scenario("a")).workload
    assert BODY_STEPS == ("ask", "resume", "work", "set", "take", "drop", "raise", "finish")
    assert ENVIRONMENT_ACTS == ("cancel", "finish early", "fail", "ask late", "resize")
    assert all(workload.is_body_step((verb, "a")) for verb in BODY_STEPS)
    assert not any(workload.is_body_step((verb, "a")) for verb in ENVIRONMENT_ACTS)


# -- scripts ---------------------------------------------------------------------------------------------------------


def test_a_script_puts_its_acts_in_order_and_leaves_the_rest_free() -> None:
    play = Play(scenario("a", "b", "c", script=(Act("ask", "b"), Act("ask", "a"), Act("finish", "b"))))
    assert play() == ["ask c", "ask b"]
    assert play("ask b") == ["resume b", "ask c", "ask a"]
    assert play("resume b") == ["ask c", "ask a"]
    assert not play.workload.script_done(play.state)
    assert play("ask a") == ["resume a", "ask c", "finish b"]
    assert play("finish b") == ["resume a", "ask c"]
    assert play.workload.script_done(play.state)


def test_a_script_can_cancel_between_grant_and_resume() -> None:
    play = Play(scenario("a", "b", script=(Act("cancel", "b", when="granted"), Act("resume", "b"))), cap=1)
    assert play("ask a", "ask b") == ["resume a"]
    assert play("resume a", "finish a") == ["cancel b"]
    assert play.workload.granted_not_resumed(play.state, "b")
    assert play("cancel b") == []


@pytest.mark.parametrize(
    ("when", "steps"),
    [("waiting", ("ask b",)), ("granted", ("ask b", "finish a")), ("resumed", ("ask b", "finish a", "resume b"))],
)
def test_a_scripted_cancel_can_wait_for_the_phase_of_its_run(when: str, steps: tuple[str, ...]) -> None:
    play = Play(scenario("a", "b", script=(Act("cancel", "b", when=when),)), cap=1)
    play("go a")
    for step in steps:
        assert "cancel b" not in play()
        play(step)
    assert "cancel b" in play()


@pytest.mark.parametrize(("when", "steps"), [("granted", ("ask a",)), ("resumed", ("go a",))])
def test_a_scripted_finish_can_wait_for_the_phase_of_its_run(when: str, steps: tuple[str, ...]) -> None:
    play = Play(scenario("a: w w", script=(Act("finish", "a", when=when),)))
    assert "finish early a" in play(*steps)


def test_a_scripted_finish_of_a_body_that_is_through_is_its_own() -> None:
    assert Play(scenario("a", script=(Act("finish", "a"),)))("go a") == ["finish a"]


def test_a_script_can_resize_in_its_place_beyond_the_number_of_resizes() -> None:
    script = (Act("resize", cap=2), Act("ask", "b"), Act("resize", cap=1))
    play = Play(scenario("a", "b", script=script, resizes=0), cap=1)
    assert play() == ["ask a", "resize 2"]
    assert play("resize 2") == ["ask a", "ask b"]
    assert play("ask b", "ask a", "resize 1") == ["resume a", "resume b"]
    assert play.workload.snapshot(play.state).cap == 1


def test_an_act_of_the_environment_that_the_script_has_for_later_is_not_free() -> None:
    acts = {"environment": (CANCEL,), "script": (Act("resume", "a"), Act("cancel", "a"))}
    play = Play(scenario("a", "b", **acts))
    assert play("ask a", "ask b") == ["resume b", "cancel b", "resume a"]
    assert "cancel a" in play("resume a")


def test_a_late_ask_can_be_scripted() -> None:
    acts = {"late_children": True, "script": (Act("cancel", "r"), Act("ask", "b"), Act("ask", "a"))}
    play = Play(scenario("r", "a<r", "b<r", **acts))
    assert play("go r") == ["cancel r"]
    assert play("cancel r") == ["ask late b"]
    assert play("ask late b") == ["resume b", "ask late a"]


def test_a_run_that_the_script_holds_up_goes_on() -> None:
    first = Act("cancel", "b", when="waiting")
    play = Play(scenario("a", "b", script=(first, Act("finish", "a"))))
    play("go a", "ask b", "resume b")  # b never comes to wait, so the script is stuck; the pool is not: a could finish
    assert play.workload.goes_on(play.state)
    assert Play(scenario("a")).workload.goes_on(Play(scenario("a")).state)


def test_an_act_that_is_due_goes_on() -> None:
    play = Play(scenario("a", "b", script=(Act("cancel", "b"), Act("finish", "a"))), cap=1)
    assert play("go a", "ask b") == ["cancel b"]
    assert play.workload.goes_on(play.state)


def test_nothing_goes_on_where_only_a_first_ask_is_kept_back() -> None:
    script = (Act("cancel", "a", when="waiting"), Act("ask", "z"))
    play = Play(scenario("a", "x<a", "z", script=script), cap=1, subject=resolve_subject("rule:hold"))
    play("go a", "ask x")  # held: x waits for a's slot for ever, and z is kept for later
    assert not play.workload.goes_on(play.state)


def test_a_script_that_holds_a_run_up_for_a_cancel_is_no_deadlock() -> None:
    script = (Act("cancel", "b"), Act("finish", "a"))
    part = Part(scenario("a", "b", script=script), 1, False)
    assert check_part(part, LEND).verdict == Verdict.HOLDS.value


# -- what is told of a state -----------------------------------------------------------------------------------------


def test_finished_waits_for_every_run_whose_turn_to_ask_will_come() -> None:
    play = Play(scenario("a", "r: &a +a", "x<r"), cap=1)
    assert not play.finished
    assert play.unfinished == []
    play("go a", "finish a")
    assert not play.finished


def test_a_run_below_one_that_was_cancelled_before_asking_for_it_is_not_waited_for() -> None:
    play = Play(scenario("r", "a<r", "b<a", environment=(Act("cancel", "r"),)))
    play("ask r", "cancel r")
    assert play.finished
    assert play.unfinished == []


def test_a_parent_is_one_until_its_end() -> None:
    play = Play(scenario("r", "a<r", environment=(Act("cancel", "r"),)))
    parent_now = play.workload.bodies.parent_now
    assert (parent_now(play.state, "r"), parent_now(play.state, "a")) == (None, "r")
    play("go r", "ask a")
    assert parent_now(play.state, "a") == "r"
    play("cancel r")
    assert parent_now(play.state, "a") is None


def test_the_greatest_level_asked_so_far_is_remembered() -> None:
    play = Play(scenario("r", "a<r"))
    assert play.state.levels == 0
    play("go r", "go a")
    assert play.state.levels == 2
    play("finish a")
    assert play.state.levels == 2


def test_a_call_is_told_of_the_steps_that_the_pool_hears_of() -> None:
    play = Play(scenario("r: w +a w w", "a<r"))
    workload = play.workload
    play("ask r")
    assert workload.call_of(play.state, ("resume", "r")) is None
    play("resume r")
    assert workload.call_of(play.state, ("work", "r")) is None
    play("work r")
    call = workload.call_of(play.state, ("ask", "a"))
    assert call is not None
    assert (call.verb, call.args, call.reply.granted) == ("ask", ("a", "r", None), (("a", "loan"),))


# -- a subject that fails --------------------------------------------------------------------------------------------


class Failing(RuleSubject):
    """Lending that fails whenever a run is to finish while another one waits."""

    def __init__(self, fail: Callable[[Any], Reply]) -> None:
        super().__init__(RULES["lend"])
        self.fail = fail

    def call(self, snapshot: Any, verb: str, *args: Any) -> Reply:
        return self.fail(snapshot) if verb == "finish" and snapshot.waiting else super().call(snapshot, verb, *args)


def refuse(snapshot: Any) -> Reply:
    return Reply(snapshot, refused="not_known")


def crash(snapshot: Any) -> Reply:
    return Reply(snapshot, raised=ZeroDivisionError("of the subject"))


def vanish(snapshot: Any) -> Reply:
    return Reply(None, raised=ZeroDivisionError("of the subject"))


FAILURES = pytest.mark.parametrize("fail", [refuse, crash, vanish])


@FAILURES
def test_nothing_goes_on_after_a_call_that_is_refused_or_raises(fail: Callable[[Any], Reply]) -> None:
    play = Play(scenario("a", "b", environment=(CANCEL, Act("resize", cap=3))), cap=1, subject=Failing(fail))
    play("go a", "ask b")
    assert not play.state.broken
    assert play("finish a") == []
    assert play.state.broken


@FAILURES
def test_symmetry_counts_states_and_edges_in_full_where_calls_fail(fail: Callable[[Any], Reply]) -> None:
    tree = scenario("r", "a<r", "b<r", "c<r")
    merged, all_of_them = both_ways(tree, Failing(fail), cap=1)
    assert (merged.full_states, merged.full_edges) == (all_of_them.states, all_of_them.edges)


def test_each_call_is_made_once_in_each_state_of_the_subject() -> None:
    made: list[tuple[Any, ...]] = []

    class Counted(RuleSubject):
        def call(self, snapshot: Any, verb: str, *args: Any) -> Reply:
            made.append((snapshot, verb, *args))
            return super().call(snapshot, verb, *args)

    explore(Workload(scenario("r", "a<r", "b<r"), Calls(Counted(RULES["lend"])), cap=1, symmetry=False))
    assert len(made) == len(set(made)) == 10


# -- symmetry --------------------------------------------------------------------------------------------------------


def both_ways(played: Scenario, subject: Any, cap: int, **options: Any) -> tuple[Any, Any]:
    """What is explored with and without symmetry."""
    ways = [Workload(played, Calls(subject), cap=cap, symmetry=on, **options) for on in (True, False)]
    assert not ways[1].merges
    merged, plain = (explore(way) for way in ways)
    return merged, plain


def parents_of(played: Scenario) -> list[int | None]:
    return [None if run.parent is None else played.index[run.parent] for run in played.runs]


SYMMETRIC = [
    played
    for played in generated_scenarios(4)
    if ForestSymmetry(parents_of(played), [""] * len(played.runs)).size > 1  # or there is nothing to merge
]


@pytest.mark.parametrize("played", SYMMETRIC, ids=lambda played: played.name)
def test_the_weights_of_merged_states_add_up_to_what_is_seen_without_symmetry(played: Scenario) -> None:
    for cap in (1, 2):
        for relend in (False, True):
            merged, plain = both_ways(played, LEND, cap, relend=relend)
            assert merged.states < plain.states
            assert (merged.full_states, merged.full_edges) == (plain.states, plain.edges)
            assert (merged.depth, merged.fired.keys()) == (plain.depth, plain.fired.keys())


SMALL = [played for played in SYMMETRIC if len(played.runs) < 4]
WIDE = [played for played in SYMMETRIC if played.tree == "a(b c d)"]


@pytest.mark.parametrize("subject", ["pool", "rule:hold", "rule:release"])
@pytest.mark.parametrize("played", SMALL + WIDE, ids=lambda played: played.name)
def test_symmetry_changes_nothing_that_is_found(played: Scenario, subject: str) -> None:
    resolved = resolve_subject(subject)
    for cap in (1, 2) if played in SMALL else (2,):
        for relend in (False, True) if subject == "pool" and played in SMALL else (False,):
            part = Part(played, cap, relend)
            merged, plain = (check_part(part, resolved, settings=Settings(symmetry=on)) for on in (True, False))
            assert (merged.reduced, plain.reduced) == (True, False)
            assert merged.verdict == plain.verdict
            assert sorted(trace.invariant for trace in merged.traces) == sorted(
                trace.invariant for trace in plain.traces
            )
            assert {trace.invariant: len(trace) for trace in merged.traces} == {
                trace.invariant: len(trace) for trace in plain.traces
            }
            assert merged.reached == plain.reached
            assert merged.fired.keys() == plain.fired.keys()
            assert (merged.full_states, merged.full_edges) == (plain.states, plain.edges)


def test_subtrees_told_in_different_order_are_merged_like_others() -> None:
    merged, plain = both_ways(scenario("a", "b<a", "c<b", "d<a", "e", "f<e", "g<e", "h<g"), LEND, cap=1)
    assert (merged.full_states, merged.full_edges) == (plain.states, plain.edges)


def test_states_that_differ_only_in_the_order_of_a_queue_are_told_apart() -> None:
    workload = Workload(scenario("a", "b", "c", "x<c", "y<c"), Calls(LEND), cap=2)
    (state,) = workload.initial()
    for step in [("ask", "c"), ("resume", "c"), ("ask", "x"), ("ask", "y"), ("ask", "a"), ("ask", "b")]:
        state = workload.next(state, step)
    snapshot = workload.snapshot(state)
    assert (snapshot.waiting, dict(snapshot.lines), dict(snapshot.children)) == (
        ("a", "b"),
        {(): ("a", "b")},
        {"c": ("x", "y")},
    )

    def key(**changed: Any) -> Any:
        return workload.key(state._replace(pool=workload.calls.number(snapshot._replace(**changed))))

    waiting, lines = ("b", "a"), frozenset({((), ("b", "a"))})
    assert key(waiting=waiting, lines=lines) == key()  # a and b exchanged
    assert key(waiting=waiting) == key(lines=lines) != key()
    assert key(children=frozenset({("c", ("y", "x"))})) != key()


@pytest.mark.parametrize(
    "played",
    [
        scenario("r", "a<r: w", "b<r"),
        scenario("r", "late a<r", "b<r"),
        scenario("r", "a<r", "b<r", environment=(Act("cancel", "a"),)),
        scenario("r", "a<r", "b<r", script=(Act("ask", "a"),)),
    ],
    ids=["a body", "a late run", "a named cancel", "a script"],
)
def test_nothing_is_merged_where_something_names_a_run(played: Scenario) -> None:
    assert not Workload(played, Calls(LEND), cap=1).merges


def test_a_path_found_with_symmetry_is_a_behaviour_of_the_scenario() -> None:
    workload = Workload(scenario("r", "a<r", "b<r", "c<r"), Calls(LEND), cap=2)
    done = Property.state("Busy", lambda state: "done" if workload.finished(state) else None)
    (violation,) = explore(workload, [done]).violations
    states = violation.path.states(workload)
    assert workload.finished(states[-1])
    assert len(violation.path) == 4 * 3  # each asks, resumes and finishes


def test_nothing_is_merged_where_no_two_siblings_are_alike() -> None:
    assert not Workload(scenario("a", "b<a", "c<b", "d<a"), Calls(LEND), cap=1).merges
    assert Workload(scenario("a", "b<a", "c<a"), Calls(LEND), cap=1).merges


def test_a_default_body_does_the_same_when_it_is_written_out() -> None:
    written = (Op("spawn all"), Op("wait all"))
    for forest in forests(4):
        plain = Scenario("default", forest)
        spelt = Scenario("written out", tuple(RunSpec(run.name, run.parent, written) for run in forest))
        for cap in (1, 2):
            one, other = (Workload(way, Calls(LEND), cap=cap, symmetry=False) for way in (plain, spelt))
            seen: list[list[set[object]]] = []
            for way in (one, other):
                states: list[WorkloadState] = []
                explore(way, on_state=states.append)
                seen.append([set(way.actions(state)) for state in states])
            assert seen[0] == seen[1]


# -- pinned counts ---------------------------------------------------------------------------------------------------


def full_tree(runs: int, children: int) -> Scenario:
    return Scenario(
        "full tree", tuple(RunSpec(f"r{at}", f"r{(at - 1) // children}" if at else None) for at in range(runs))
    )


@pytest.mark.parametrize(
    ("played", "cap", "states", "edges", "merged"),
    [
        (full_tree(1, 1), 1, 4, 3, 4),
        (scenario("a", "b"), 1, 16, 20, 9),
        (full_tree(4, 1), 1, 13, 12, 13),
        (full_tree(7, 2), 1, 117, 181, 38),
        (full_tree(7, 2), 2, 775, 1_853, 154),
        (full_tree(5, 4), 2, 859, 2_147, 58),
    ],
    ids=["one run", "two runs", "a chain of 4", "7 runs, cap 1", "7 runs, cap 2", "a star of 4, cap 2"],
)
def test_counts_of_small_workloads(played: Scenario, cap: int, states: int, edges: int, merged: int) -> None:
    with_symmetry, without = both_ways(played, LEND, cap)
    assert (without.states, without.edges) == (states, edges)
    assert (with_symmetry.states, with_symmetry.full_states, with_symmetry.full_edges) == (merged, states, edges)
    assert without.depth == 3 * len(played.runs)


def test_the_binary_tree_of_15_runs_has_the_counts_that_other_model_checkers_gave() -> None:
    subject = resolve_subject("pool", order="fifo")
    merged, plain = both_ways(full_tree(15, 2), subject, cap=2, resume_at_grant=True)
    assert (plain.states, plain.edges) == (14_590, 42_516)
    assert (merged.states, merged.full_states, merged.full_edges) == (826, 14_590, 42_516)


def test_the_same_place_reached_in_two_orders_is_one_place() -> None:
    play = Play(scenario("a", "b"))
    play("go a", "go b", "finish a")
    other = Play(scenario("a", "b"))
    other("go b", "go a", "finish a")
    assert play.state.progress == other.state.progress
    assert play.workload.snapshot(play.state) == other.workload.snapshot(other.state)
