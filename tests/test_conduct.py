"""What rules make a run do between its steps: give its slot back at a wait and ask again, help, keep still.

And what comes of it, in every interleaving: which designs get stuck, and how many runs are at work and in flight.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from test_diagnosis import all_stuck
from test_workload import CANCEL, EARLY, Play, both_ways, scenario

from slotcheck.checks.check import Part, check_part, ledger_for, parts_of
from slotcheck.checks.facts import Facts
from slotcheck.checks.generated import CAPS, forests, generated_scenarios
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import RuleSubject
from slotcheck.checks.trace import Trace, trace_of
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.bodies import Bodies
from slotcheck.pymodel.conduct import ConductedBodies
from slotcheck.pymodel.explore import explore
from slotcheck.pymodel.rules import RULES
from slotcheck.pymodel.scenario import Act, Scenario
from slotcheck.pymodel.subject import Calls
from slotcheck.pymodel.system import Property
from slotcheck.pymodel.workload import RULE_STEPS, Action, Workload, WorkloadState

SUBJECTS = {name: RuleSubject(rule) for name, rule in RULES.items()}
RETAKE, HELP, INLINE = SUBJECTS["retake"], SUBJECTS["help"], SUBJECTS["help+inline"]

CONDUCTED = ("retake", "help", "help+inline")


def stacks(play: Play) -> str:
    return " ".join(map(">".join, play.workload.snapshot(play.state).stacks))


@pytest.mark.parametrize("name", RULES)
def test_only_some_rules_put_something_between_the_steps_of_a_body(name: str) -> None:
    bodies = Workload(scenario("a"), Calls(SUBJECTS[name]), cap=1).bodies
    assert type(bodies) is (ConductedBodies if name in CONDUCTED else Bodies)


# -- giving back and asking again ------------------------------------------------------------------------------------


def test_a_run_may_give_its_slot_back_where_it_waits_and_needs_one_to_go_on() -> None:
    play = Play(scenario("r", "a<r"), cap=1, subject=RETAKE)
    assert play("go r") == ["ask a"]
    assert play("ask a") == ["give_back r"]
    assert play("give_back r") == ["resume a"]
    assert play.token("r") == "none"
    assert play("resume a") == ["finish a"]
    assert play("finish a") == ["retake r"]
    assert play("retake r") == ["finish r"]
    assert play.token("r") == "pool"
    assert play("finish r") == []
    assert play.finished


def test_a_run_that_asks_again_may_have_to_wait_and_does_nothing_until_its_slot_comes() -> None:
    play = Play(scenario("r", "a<r", "w"), cap=1, subject=RETAKE)
    play("go r", "ask a", "give_back r", "ask w", "resume a")
    assert play("finish a") == ["resume w", "retake r"]
    assert play("retake r") == ["resume w"]
    assert play.token("r") == "retaking"
    facts = Facts(play.workload.snapshot(play.state))
    assert {run.run for run in facts.in_flight} == {"r", "w"}
    assert play("resume w") == ["finish w"]
    assert play("finish w") == ["finish r"]
    assert play.token("r") == "pool"


def test_a_run_whose_wait_is_over_before_it_gave_back_goes_on() -> None:
    play = Play(scenario("r", "a<r"), cap=2, subject=RETAKE)
    assert play("go r", "ask a") == ["resume a", "give_back r"]
    assert play("resume a", "finish a") == ["finish r"]


def test_a_run_gives_back_at_each_of_its_waits_and_nowhere_else() -> None:
    play = Play(scenario("r: +a w &a +b w &b w w", "a<r", "b<r"), cap=1, subject=RETAKE)
    assert play("go r") == ["ask a"]
    assert play("ask a") == ["work r"]
    assert play("work r") == ["give_back r"]
    assert play("give_back r", "resume a", "finish a") == ["retake r"]  # and not: ask b
    assert play("retake r") == ["ask b"]
    assert play("ask b", "work r") == ["give_back r"]
    assert play("give_back r", "resume b", "finish b") == ["retake r"]
    assert play("retake r") == ["work r"]


def test_a_run_that_has_children_left_to_ask_for_does_not_wait_yet() -> None:
    play = Play(scenario("r", "a<r", "b<r"), cap=3, subject=RETAKE)
    assert play("go r", "ask a") == ["ask b", "resume a"]
    assert play("ask b") == ["resume a", "resume b", "give_back r"]


# -- helping and keeping still ---------------------------------------------------------------------------------------


def test_a_worker_may_help_where_its_run_waits() -> None:
    play = Play(scenario("r: +a w &a", "a<r"), cap=1, subject=HELP)
    assert play("go r", "ask a") == ["work r"]
    assert play("work r") == ["help r"]
    assert play("help r") == ["resume a"]
    assert stacks(play) == "r>a"
    assert play("resume a", "finish a") == ["finish r"]
    assert play("finish r") == []
    assert play.finished


def test_a_worker_helps_only_while_someone_waits() -> None:
    play = Play(scenario("r", "a<r", "w"), cap=2, subject=HELP)
    assert play("go r", "ask a") == ["resume a", "ask w"]
    assert play("ask w") == ["resume a", "help r"]
    assert play("help r") == ["resume a", "resume w"]
    assert stacks(play) == "r>w a"


def test_a_run_under_another_takes_no_step_though_its_wait_is_over() -> None:
    play = Play(scenario("r", "a<r", "w"), cap=2, subject=HELP)
    play("go r", "ask a", "ask w", "help r", "resume a")
    assert play("finish a") == ["resume w"]
    assert play.waits == {}
    assert play("resume w") == ["finish w"]
    assert play("finish w") == ["finish r"]


def test_only_the_run_on_top_of_a_worker_helps() -> None:
    play = Play(scenario("r", "a<r", "w", "c<w"), cap=1, subject=HELP)
    play("go r", "ask w", "ask a", "help r", "resume w")
    assert play("ask c") == ["help w"]
    assert list(play.waits) == ["r", "w"]
    assert play("help w") == ["resume c"]
    assert stacks(play) == "r>w>c"
    assert play("resume c", "finish c") == ["finish w"]
    assert play("finish w") == ["help r"]


def test_a_child_that_runs_inline_keeps_its_parent_from_asking_for_more() -> None:
    play = Play(scenario("r", "a<r", "b<r"), cap=1, subject=INLINE)
    assert play("go r", "ask a") == ["resume a"]
    assert play("resume a") == ["finish a"]
    assert play("finish a") == ["ask b"]
    assert play("ask b", "resume b", "finish b") == ["finish r"]


def test_where_children_run_inline_nobody_helps() -> None:
    play = Play(scenario("r", "a<r", "w"), cap=2, subject=INLINE)
    assert play("go r", "ask a", "ask w") == ["resume a"]
    assert play("resume a", "finish a") == ["finish r", "resume w"]


# -- waits that no pool hears of -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("subject", "adds"), [(RETAKE, ["give_back r"]), (HELP, ["help r"]), (INLINE, [])])
def test_a_wait_for_a_run_that_is_not_a_child_is_one_that_the_pool_knows(subject: Any, adds: list[str]) -> None:
    play = Play(scenario("r: ~x", "x"), cap=1, subject=subject)
    play("go r")
    assert play("ask x") == adds


@pytest.mark.parametrize("subject", [RETAKE, HELP, INLINE], ids=CONDUCTED)
def test_a_run_that_waits_for_an_event_or_a_lock_keeps_its_slot_and_does_nothing_else(subject: Any) -> None:
    play = Play(scenario("r: ?e", "s: w !e", "x"), cap=2, subject=subject)
    assert play("go r", "go s", "ask x") == ["work s"]
    assert list(play.waits) == ["r"]
    play = Play(scenario("r: L.take w w", "s: L.take w w", "x"), cap=2, subject=subject)
    assert play("go r", "go s", "ask x", "take s L", "take r L") == ["work s"]
    assert list(play.waits) == ["r"]


@pytest.mark.parametrize("name", ["retake", "help"])
def test_a_run_that_waits_for_a_childs_admission_keeps_its_slot_and_does_nothing_else(name: str) -> None:
    tree = scenario("r", "a<r", blocking_spawn=True)
    play = Play(tree, cap=1, subject=SUBJECTS[name])
    assert play("go r", "ask a") == []
    assert play.waits == {"r": [("admission", "a", ("a",))]}
    assert not play.finished
    assert Play(tree, cap=1, subject=INLINE)("go r", "ask a") == ["resume a"]
    play = Play(tree, cap=2, subject=RETAKE)
    assert play("go r", "ask a") == ["resume a", "give_back r"]  # a is admitted: now r waits for its end


# -- ends from outside -----------------------------------------------------------------------------------------------

ENDS = pytest.mark.parametrize("end", ["cancel r", "finish early r"])
OPEN = {"environment": (CANCEL, EARLY)}


@ENDS
def test_a_run_can_be_ended_while_it_has_given_its_slot_back(end: str) -> None:
    play = Play(scenario("r", "a<r", **OPEN), cap=1, subject=RETAKE)
    play("go r", "ask a")
    assert play("give_back r") == ["resume a", "cancel r", "finish early r", "cancel a"]
    assert play(end) == ["resume a", "cancel a"]
    assert play("resume a", "finish a") == []
    assert play.finished
    assert play.workload.snapshot(play.state) == RETAKE.initial(1, relend=False)


@ENDS
def test_a_run_can_be_ended_while_it_asks_again(end: str) -> None:
    play = Play(scenario("r: +a &a w w", "a<r", "w", **OPEN), cap=1, subject=RETAKE)
    play("go r", "ask a", "give_back r", "ask w", "resume a", "finish a")
    assert play("retake r") == ["resume w", "cancel r", "finish early r", "cancel w"]
    assert play(end) == ["resume w", "cancel w"]
    assert play("resume w", "finish w") == []
    assert play.workload.snapshot(play.state) == RETAKE.initial(1, relend=False)


def test_a_run_asks_again_when_what_it_waits_for_is_cancelled() -> None:
    play = Play(scenario("r", "a<r", environment=(Act("cancel", "a"),)), cap=1, subject=RETAKE)
    assert play("go r", "ask a", "give_back r", "cancel a") == ["retake r"]


@ENDS
def test_a_run_that_is_ended_under_another_leaves_it_the_worker(end: str) -> None:
    play = Play(scenario("r", "a<r", "w", **OPEN), cap=1, subject=HELP)
    play("go r", "ask a", "help r", "ask w")
    assert play(end) == ["resume a", "cancel a", "cancel w"]
    assert (play.token("r"), stacks(play)) == ("parked", "r>a")
    play("resume a", "finish a")
    assert stacks(play) == "w"
    assert play("resume w", "finish w") == []
    assert play.workload.snapshot(play.state) == HELP.initial(1, relend=False)


@ENDS
def test_a_run_that_is_ended_between_others_lets_the_worker_come_back_past_it(end: str) -> None:
    play = Play(scenario("q", "r<q", "a<r", **OPEN), cap=1, subject=INLINE)
    play("go q", "go r", "ask a", end)
    assert stacks(play) == "q>r>a"
    assert "finish q" not in play()
    assert "finish q" in play("resume a", "finish a")
    assert stacks(play) == "q"


def test_a_run_goes_on_when_what_its_worker_took_on_top_is_cancelled_before_it_resumed() -> None:
    play = Play(scenario("r", "a<r", environment=(CANCEL,)), cap=1, subject=HELP)
    play("go r", "ask a", "help r")
    assert play.workload.granted_not_resumed(play.state, "a")
    assert play("cancel a") == ["finish r", "cancel r"]


# -- stuck -----------------------------------------------------------------------------------------------------------

LOCK = "cap: 1\ntree: A(x) B\nbody A: L.take; +x; &*; L.drop\nbody B: L.take; w; L.drop"


def test_a_worker_that_takes_on_what_wants_its_runs_lock_is_stuck_and_lending_is_not() -> None:
    (found,) = set(all_stuck(LOCK, "rule:help"))
    assert (found.circles, found.promised) == ((("A", "B"),), False)
    assert found.told == ("A cannot go on before B, which runs on top of it", "B waits for lock L, which A is in")
    assert all_stuck(LOCK, "rule:lend") == all_stuck(LOCK, "rule:help+inline") == []


def test_who_gives_a_slot_back_at_a_wait_gives_it_to_whom_it_keeps_out() -> None:
    found = {one.circles: one.told for one in all_stuck(LOCK, "rule:retake")}
    assert found == {
        (("A", "x", "B"),): (
            "A waits for x to end",
            "x waits for a slot, and B holds one",
            "B waits for lock L, which A is in",
        ),
        (("A", "B"),): ("A waits for a slot, and B holds one", "B waits for lock L, which A is in"),
    }


def test_a_stack_of_three_is_told_run_by_run() -> None:
    text = LOCK.replace("A(x) B", "A(x) P(y) B")
    told = {one.name: one.told for one in all_stuck(text, "rule:help")}
    assert told.keys() == {"cycle A B", "cycle A P B"}
    assert told["cycle A P B"] == (
        "A cannot go on before P, which runs on top of it",
        "P cannot go on before B, which runs on top of it",
        "B waits for lock L, which A is in",
    )


def test_a_parent_that_was_to_act_while_its_child_runs_cannot_do_so_under_it() -> None:
    text = "cap: 1\ntree: r(a)\nbody r: +a; !e; &a\nbody a: ?e; w"
    (found,) = set(all_stuck(text, "rule:help+inline"))
    assert found.circles == (("a", "r"),)
    assert found.told == (
        "a waits for event e, which r would set",
        "r cannot go on before a, which runs on top of it",
    )
    assert all_stuck(text, "rule:lend") == all_stuck(text, "rule:help") == all_stuck(text, "rule:retake") == []


@pytest.mark.parametrize("name", ["retake", "help"])
def test_a_spawn_that_waits_for_admission_is_stuck_where_only_a_wait_for_an_end_is_known(name: str) -> None:
    text = "cap: 1\ntree: r(a)\nspawn: blocks"
    (found,) = set(all_stuck(text, f"rule:{name}"))
    assert found.circles == (("a", "r"),)
    assert all_stuck(text, "rule:help+inline") == all_stuck(text, "rule:lend") == []


# -- traces ----------------------------------------------------------------------------------------------------------


def told(name: str, text: str, *actions: Action) -> Trace:
    (part,) = parts_of([read_scenario(text, "here")])
    workload = Workload(part.scenario, ledger_for(part, SUBJECTS[name]).calls, cap=part.cap)
    return trace_of(workload, actions, "NoSlotLeak", "so it is")


def test_giving_back_and_asking_again_are_told_in_words() -> None:
    trace = told(
        "retake", "cap: 1\ntree: r(a) s(b)\nenvironment: cancel s",
        ("ask", "r"), ("resume", "r"), ("ask", "a"), ("give_back", "r"), ("ask", "s"), ("resume", "a"), ("finish", "a"),
        ("retake", "r"), ("resume", "s"), ("ask", "b"), ("give_back", "s"), ("cancel", "s"), ("finish", "r"),
    )  # fmt: skip
    assert trace.events[3:] == (
        "r waits and gives its slot back -> a admitted on a pool slot",
        "ask s -> waits",
        "resume a",
        "finish a -> s admitted on a pool slot",
        "r has waited and asks for a slot again -> waits",
        "resume s",
        "ask b under s -> waits",
        "s waits and gives its slot back -> r admitted on a pool slot",
        "cancel s (in flight)",
        "finish r -> b admitted on a pool slot",
    )
    assert "stacks" not in trace.after
    alone = told(
        "retake", "cap: 1\ntree: r(a)",
        ("ask", "r"), ("resume", "r"), ("ask", "a"), ("give_back", "r"), ("resume", "a"), ("finish", "a"),
        ("retake", "r"),
    )  # fmt: skip
    assert alone.events[-1] == "r has waited and asks for a slot again -> r admitted on a pool slot"
    assert alone.before["runs"]["r"]["token"] == "none"


def test_helping_and_stacks_are_told_in_words() -> None:
    trace = told(
        "help", "cap: 1\ntree: r(a) s\nenvironment: cancel r; cancel s",
        ("ask", "r"), ("resume", "r"), ("ask", "s"), ("ask", "a"), ("help", "r"), ("cancel", "r"), ("cancel", "s"),
    )  # fmt: skip
    assert trace.events[2:] == (
        "ask s -> waits",
        "ask a under r -> waits",
        "r waits, and its worker helps -> s admitted, on top of r",
        "cancel r (in flight) -> parked: its slot stays with what runs on it",
        "cancel s (granted, not resumed) -> a admitted on a pool slot",
    )
    assert (trace.before["stacks"], trace.after["stacks"]) == ([["r", "s"]], [["a"]])


def test_inline_and_declined_are_told_in_words() -> None:
    inline = told("help+inline", "cap: 1\ntree: r(a)", ("ask", "r"), ("resume", "r"), ("ask", "a"))
    assert inline.events[-1] == "ask a under r -> a admitted, on top of r"
    declined = told("refuse", "cap: 1\ntree: r(a)", ("ask", "r"), ("resume", "r"), ("ask", "a"), ("finish", "r"))
    assert declined.events[2:] == ("ask a under r -> declined: full", "finish r")


# -- symmetry --------------------------------------------------------------------------------------------------------

ALIKE = (
    (scenario("r", "a<r", "b<r"), (1, 2)),
    (scenario("a", "b", "x<a", "y<b"), (1, 2)),
    (scenario("r", "a<r", "b<r", "x<a", "y<b"), (1, 2)),
    (scenario("r", "a<r", "b<r", "c<r"), (2,)),
    (scenario("r", "a<r", "b<r", environment=(CANCEL, EARLY), late_children=True), (1, 2)),
    (scenario("r", "a<r", "b<r", environment=(CANCEL, Act("resize", cap=1), Act("resize", cap=2))), (1, 2)),
)


@pytest.mark.parametrize("name", CONDUCTED)
def test_symmetry_loses_no_state_and_no_edge_under_a_conduct(name: str) -> None:
    for played, caps in ALIKE:
        for cap in caps:
            merged, plain = both_ways(played, SUBJECTS[name], cap)
            assert merged.states < plain.states
            assert (merged.full_states, merged.full_edges) == (plain.states, plain.edges)
            assert (merged.depth, merged.fired.keys()) == (plain.depth, plain.fired.keys())


# -- every interleaving ----------------------------------------------------------------------------------------------


class Seen:
    """What all states of a scenario under a rule show."""

    def __init__(self, played: Scenario, name: str, cap: int) -> None:
        self.workload = Workload(played, Calls(SUBJECTS[name].declared(played.levels)), cap=cap)
        #: The most runs that hold a slot unlent, in all and on one level; the most in flight, likewise.
        self.at_work = self.at_work_on_a_level = self.in_flight = self.in_flight_on_a_level = 0
        properties = [
            Property.state("most", self._count),
            Property.end("stuck", lambda state: None if self.workload.finished(state) else "not all have finished"),
            Property.eventually("ends", self.workload.finished),
        ]
        if name in CONDUCTED:
            properties.append(Property.state("steps", self._steps))
        self.violated = {violation.property for violation in explore(self.workload, properties).violations}

    def _count(self, state: WorkloadState) -> None:
        runs = self.workload.snapshot(state).runs
        at_work = Counter(run.level for run in runs if run.token != "none" and not run.lent)
        in_flight = Counter(run.level for run in runs if run.phase in ("in_flight", "retaking"))
        self.at_work = max(self.at_work, at_work.total())
        self.at_work_on_a_level = max(self.at_work_on_a_level, *at_work.values(), 0)
        self.in_flight = max(self.in_flight, in_flight.total())
        self.in_flight_on_a_level = max(self.in_flight_on_a_level, *in_flight.values(), 0)

    def _steps(self, state: WorkloadState) -> str | None:
        """Whoever takes a step holds a slot unlent, but to retake one; a rule's step is taken at a wait for a run."""
        workload = self.workload
        known = {run.run: run for run in workload.snapshot(state).runs}
        someone_waits = any(run.phase == "waiting" for run in known.values())
        for verb, name, *_ in workload.actions(state):
            parent = workload.parents[workload.scenario.index[name]]
            if verb == "ask" and parent is None:
                continue
            who = known[workload.names[parent] if verb == "ask" and parent is not None else name]
            good = (who.token != "none" and not who.lent) == (verb != "retake")
            if verb in RULE_STEPS:
                good = good and (name in workload.waits(state)) == (verb != "retake")
                good = good and (someone_waits or verb != "help")
            if not good:
                return f"{verb} {name}"
        return None


PLAIN = [Scenario(tree_text(trees), trees, tree=tree_text(trees)) for runs in range(1, 5) for trees in forests(runs)]
ENDING = [name for name in RULES if name != "hold"]
IN_FLIGHT_BOUNDED = {"hold", "per_level", "help+inline", "refuse", "lend"}


@pytest.mark.parametrize("name", RULES)
def test_every_plain_forest_of_up_to_four_runs(name: str) -> None:
    grows = more_at_work = 0
    for played in PLAIN:
        parents = {run.parent for run in played.runs} - {None}
        for cap in CAPS:
            seen = Seen(played, name, cap)
            # Holding gets stuck just where as many parents as there are slots can all hold one.
            stuck = name == "hold" and len(parents) >= cap
            assert seen.violated == ({"stuck"} if stuck else set()), (played.name, cap)
            assert seen.at_work_on_a_level <= cap
            more_at_work += seen.at_work > cap
            grows += seen.in_flight > cap * played.levels
            if name in ("hold", "refuse"):
                assert seen.in_flight <= cap
            if name in ("per_level", "help+inline", "lend"):
                assert seen.in_flight_on_a_level <= cap
    assert (more_at_work > 0) == (name == "per_level")
    assert (grows > 0) == (name not in IN_FLIGHT_BOUNDED)


@pytest.mark.parametrize("name", [name for name in RULES if name != "lend"])
def test_every_forest_of_up_to_three_runs_with_ends_from_outside_late_children_and_resizes(name: str) -> None:
    found: set[str] = set()
    for played in generated_scenarios(3):
        for cap in (1, 2):
            found.update(trace.invariant for trace in check_part(Part(played, cap, False), SUBJECTS[name]).traces)
    never = {"Answers", "Diagnosis", "GrantsTold", "NoSlotLeak", "UnlentWithinCap", "NoDeadlock", "AllFinish"}
    if name == "hold":
        never -= {"NoDeadlock", "AllFinish"}
        assert {"NoDeadlock", "AllFinish"} <= found
    if name != "per_level":  # whose pools are several
        never |= {"CapRespected", "FewestHeldFirst", "Refused"}
    assert not found & never
    if name == "help+inline":
        assert found == set()
