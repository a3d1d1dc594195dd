"""Traces: domain events in words."""

from __future__ import annotations

from slotcheck.checks.check import ledger_for, parts_of
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.trace import Trace, trace_of
from slotcheck.pymodel.workload import Action, Workload


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
