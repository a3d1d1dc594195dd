"""Traces: domain events in words."""

from __future__ import annotations

from slotcheck.checks.check import ledger_for, parts_of
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.trace import MadeCall, Trace, plain_view, state_of, trace_of
from slotcheck.pymodel.workload import Action, Workload
from slotlending import Pool


def told(text: str, *actions: Action, relend: bool = False) -> Trace:
    (part,) = parts_of([read_scenario(text, "here")], relend=[relend])
    workload = Workload(part.scenario, ledger_for(part, resolve_subject("pool")).calls, cap=part.cap, relend=relend)
    return trace_of(workload, actions, "NoSlotLeak", "so it is")


def test_admissions_waits_and_hand_overs_are_told() -> None:
    trace = told(
        "cap: 1\ntree: r(a b) s\nenvironment: cancel *; finish *",
        ("ask", "r"), ("resume", "r"), ("ask", "a"), ("ask", "b"), ("ask", "s"), ("resume", "a"), ("finish", "a"),
        ("finish early", "r"), ("cancel", "b"),
    )  # fmt: skip
    assert trace.events == (
        "ask r -> r admitted on a pool slot",
        "resume r",
        "ask a under r -> a admitted on loan from r",
        "ask b under r -> waits",
        "ask s -> waits",
        "resume a",
        "finish a -> b admitted on loan from r",
        "finish r early -> parked: its slot stays with its borrower",
        "cancel b (granted, not resumed) -> s admitted on a pool slot",
    )
    assert trace.before["runs"]["r"]["phase"] == "parked"
    assert trace.after["runs"] == {
        "s": {"phase": "in_flight", "token": "pool", "lent": False, "level": 1, "parent": None, "job": ["s"]}
    }


def test_resize_and_relend_are_told() -> None:
    trace = told(
        "cap: 1\ntree: r(a b) s\nenvironment: cap := 2",
        ("ask", "r"), ("resume", "r"), ("ask", "a"), ("ask", "b"), ("resize", 2), ("ask", "s"), ("resume", "a"),
        ("finish", "a"),
        relend=True,
    )  # fmt: skip
    assert trace.events[4] == "cap := 2 -> b admitted on a pool slot"
    assert trace.events[7] == (
        "finish a -> s admitted on a pool slot; b goes on, on loan from r; its pool slot comes back"
    )


def test_steps_that_the_pool_does_not_hear_of_are_told() -> None:
    trace = told(
        "cap: 2\ntree: a b\nbody a: L.take; !e; w; L.drop\nbody b: L.take; w; L.drop; raise",
        ("ask", "a"), ("ask", "b"), ("resume", "a"), ("resume", "b"), ("take", "a", "L"), ("take", "b", "L"),
        ("set", "a", "e"), ("work", "a"), ("drop", "a", "L"), ("work", "b"), ("drop", "b", "L"), ("raise", "b"),
    )  # fmt: skip
    assert trace.events[4:] == (
        "a takes L",
        "b takes L -> queues",
        "a sets e",
        "work a",
        "a drops L -> b is in",
        "work b",
        "b drops L",
        "b raises and ends",
    )


def test_a_trace_is_plain_data() -> None:
    trace = told("cap: 1\ntree: r", ("ask", "r"))
    assert trace.as_dict()["after"]["children"] == {}
    assert (len(trace), trace.cap, trace.tree) == (1, 1, "r")


def test_each_step_carries_its_call_the_answer_and_what_is_so_afterwards() -> None:
    trace = told(
        "cap: 1\ntree: r(a)\nbody r: L.take; !e; +a; &a", ("ask", "r"), ("resume", "r"), ("take", "r", "L"),
        ("set", "r", "e"), ("ask", "a"),
    )  # fmt: skip
    last = trace.steps[-1]
    assert last.call == MadeCall("ask", ("a", "r", None), granted=(("a", "loan"),), held=((("r",), 1),))
    assert (last.run, trace.steps[1].call) == ("a", None)
    assert trace.start.progress == {"r": "idle", "a": "idle"}
    assert last.after.progress == {"r": "resumed", "a": "asked"}
    assert last.after.waits == {"r": (("run", "a", ("a",)),)}
    assert (last.after.locks, last.after.events) == ({"L": {"in": ["r"], "queue": []}}, ("e",))
    assert trace.moments[-1].view == trace.after


def test_a_plain_view_is_the_view_again() -> None:
    trace = told("cap: 1\ntree: r(a(x) b) s", ("ask", "r"), ("resume", "r"), ("ask", "a"), ("ask", "b"), ("ask", "s"))
    state = state_of(trace, trace.after)
    assert plain_view(state, {"r": 0, "a": 1, "x": 2, "b": 3, "s": 4}) == trace.after
    pool = Pool(1)
    for call in (("r",), ("a", "r"), ("b", "r"), ("s",)):
        pool.ask(*call)
    assert state == pool.snapshot()


def test_a_call_that_should_have_been_refused_is_a_step() -> None:
    (part,) = parts_of([read_scenario("cap: 1\ntree: r", "here")])
    workload = Workload(
        part.scenario,
        ledger_for(part, resolve_subject("slotcheck.checks.mutants:ChangesOnRefusal")).calls,
        cap=1,
    )
    trace = trace_of(workload, [("ask", "r"), ("resume", "r"), ("finish", "r")], "Refused", "so it is")
    assert trace.actions[-1] == ("call", "ask", "~", "r", None)
    assert (trace.events[-1], trace.steps[-1].run) == ("ask('~', 'r') -> refused: parent_not_in_flight", "~")
    assert list(trace.after["runs"]) == ["~"]
