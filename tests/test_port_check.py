"""The check of a port: a right one holds, wrong ones are caught by a short script, the report says what was seen."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

import pytest
from port_programs import LocalPort, local

from slotcheck.checks.mutants import MUTANTS
from slotcheck.checks.port.check import PortReport, PortSettings, check_port
from slotcheck.checks.port.counterexample import exchange_of, script_of, trace_of_port
from slotcheck.checks.port.drive import ANSWERS, LOCKSTEP, REFUSED, REPLAYS, Session
from slotcheck.checks.port.messages import FEATURES, AnswerError, Hello, difference, read_hello, state_answer
from slotcheck.checks.port.oracle import Exchange, Oracle, demanded
from slotcheck.checks.port.process import PortFaultError
from slotcheck.checks.port.report import port_as_json
from slotcheck.checks.port.smallest import Smallest
from slotcheck.pymodel.explore import Verdict
from slotlending import Pool
from slotlending.snapshot import Answer as PoolAnswer

QUICK = PortSettings(levels=("random",), histories=2)
EDGES = PortSettings(levels=("edges",), runs=3)

#: Not seen through the protocol, which asks nobody what a job holds.
UNSEEN = {"HeldDrifts"}
#: Of orders that the protocol does not speak of.
UNSPOKEN = {name for name, mutant in MUTANTS.items() if mutant.__module__.endswith(".orders")}


def found_by(start: Any, settings: PortSettings) -> Smallest:
    report = check_port(["local"], settings, start=start)
    assert report.verdict is Verdict.VIOLATED
    assert report.violation is not None
    return report.violation


def calls(found: Smallest) -> list[str]:
    return [request["op"] for request in found.requests if request["op"] not in ("state", "reset")]


# -- right ports ---------------------------------------------------------------------------------------------------


def test_the_pool_holds_and_takes_every_edge() -> None:
    settings = PortSettings(levels=("edges", "random"), runs=2, histories=1)
    report = check_port(["local"], settings, start=local(Pool))
    assert report.verdict is Verdict.HOLDS
    edges = [part for part in report.parts if part.level == "edges"]
    assert sum(part.covered for part in edges) == sum(part.edges for part in edges) > 1_500
    assert {part.level for part in report.parts} == {"edges", "random", "requests"}
    assert report.hidden == ()
    assert report.not_claimed == []


@pytest.mark.parametrize("order", ["served", "oldest", "fifo"])
def test_a_port_with_nothing_but_one_order_is_asked_for_nothing_else(order: str) -> None:
    settings = PortSettings(levels=("edges", "random"), runs=2, histories=1)
    report = check_port(["local"], settings, start=local(Pool, features=[order]))
    assert report.verdict is Verdict.HOLDS
    assert report.hello is not None
    assert report.not_claimed == [name for name in FEATURES if name != order]
    edges = [part for part in report.parts if part.level == "edges"]
    assert sum(part.covered for part in edges) == sum(part.edges for part in edges) > 100
    assert "state" not in json.dumps(port_as_json(report, None)["covered"]["features"])


def test_where_there_are_no_vectors_the_other_levels_decide() -> None:
    start = local(Pool, features=["oldest"])
    vectors = check_port(["local"], PortSettings(levels=("vectors",)), start=start)
    assert vectors.verdict is Verdict.UNDETERMINED
    assert vectors.nothing_to_look_at.startswith("nothing was checked")
    every = check_port(["local"], PortSettings(runs=1, histories=1), start=start)
    assert every.verdict is Verdict.HOLDS
    assert every.nothing_to_look_at == ""


def test_fields_that_are_not_shown_are_named_and_not_judged() -> None:
    def hides(request: Any, answer: Any) -> Any:
        if request["op"] == "state" and "error" not in answer:
            answer = {**answer, "taken": None, "lines": None}
            runs = answer["runs"].items()
            answer["runs"] = {
                name: {**{key: value for key, value in run.items() if key != "parent"}, "level": None}
                for name, run in runs
            }
        return answer

    settings = PortSettings(levels=("random",), histories=1)
    report = check_port(["local"], settings, start=local(Pool, change=hides))
    assert report.verdict is Verdict.HOLDS
    assert report.hidden == ("level", "lines", "parent", "taken")


def test_features_that_the_protocol_does_not_know_are_told() -> None:
    hello = read_hello({"name": "x", "protocol": 1, "features": ["served", "telepathy"]})
    assert hello == Hello("x", frozenset({"served"}), ("telepathy",))


# -- wrong ports ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in {*UNSEEN, *UNSPOKEN}])
def test_every_faulty_pool_is_caught_behind_the_adapter(name: str) -> None:
    found = found_by(local(MUTANTS[name]), QUICK)
    assert 1 <= len(calls(found)) + ("reset" in [one["op"] for one in found.requests[1:]]) <= 9
    assert found.remark == ""
    # The script is what it says: the faulty pool fails at its last line, and the pool at none.
    assert Session(local(MUTANTS[name])).fresh(found.requests) is not None
    assert Session(local(Pool)).fresh(found.requests) is None


@pytest.mark.parametrize("name", sorted({*UNSEEN, *UNSPOKEN}))
def test_a_fault_that_no_answer_tells_of_is_none_of_a_port(name: str) -> None:
    assert check_port(["local"], QUICK, start=local(MUTANTS[name])).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("name", "invariant", "tree", "most"),
    [
        ("LeaksCancelledGrant", LOCKSTEP, "a", 2),
        ("ChangesOnRefusal", REFUSED, "a", 1),
        ("NeverForgets", ANSWERS, "a", 3),
        ("ReturnsLoanToPool", LOCKSTEP, "a(b)", 3),
        ("ResizeForgetsQueue", LOCKSTEP, "a(b)", 4),
        ("CascadeStopsShort", LOCKSTEP, "a(b(c))", 5),
        ("RelendNotDone", LOCKSTEP, "a(b c), relend", 5),
    ],
)
def test_the_edges_find_a_fault_in_the_smallest_tree_that_has_it(
    name: str, invariant: str, tree: str, most: int
) -> None:
    report = check_port(["local"], EDGES, start=local(MUTANTS[name]))
    assert report.violation is not None
    assert report.violation.fault.invariant == invariant
    assert report.where.startswith(f"edges: {tree}")
    assert 1 <= len(calls(report.violation)) <= most
    failed = report.parts[-1]
    assert failed.failed
    assert failed.covered < failed.edges


class Outlives(Pool):
    """From the third pool on that is made in a process, cancelling a waiting run does nothing."""

    made = 0

    def __init__(self, cap: int, **options: Any) -> None:
        super().__init__(cap, **options)
        type(self).made += 1

    def cancel(self, run: Hashable) -> PoolAnswer:
        if type(self).made > 2 and run in self._arrivals:
            return PoolAnswer()
        return super().cancel(run)


class KnowsOneOrder(Pool):
    """Claims every order and has the default one."""

    def __init__(self, cap: int, *, order: str = "", tie: str = "", relend: bool = False) -> None:
        super().__init__(cap, relend=relend)


@pytest.mark.parametrize("order", ["oldest", "fifo"])
def test_a_port_that_claims_an_order_it_does_not_have_is_caught(order: str) -> None:
    for features in (["jobs", "cancel", order], ["cancel", order]):
        found = found_by(local(KnowsOneOrder, features=features), PortSettings(levels=("edges",), runs=4, caps=(1, 2)))
        assert found.fault.invariant == LOCKSTEP
        assert order in json.dumps(found.requests[0])


def test_what_outlives_a_reset_is_told_as_such() -> None:
    found = found_by(lambda one_by_one: LocalPort(type("Fresh", (Outlives,), {})), PortSettings(levels=("vectors",)))
    assert found.fault.invariant == REPLAYS
    assert [request["op"] for request in found.requests].count("reset") == 3
    assert calls(found)[-1] == "cancel"
    assert len(script_of(found)) == len(found.requests)


def test_a_port_that_does_not_do_the_same_every_time_is_told_as_such() -> None:
    count = 0

    def changes(request: Any, answer: Any) -> Any:
        nonlocal count
        count += request["op"] == "finish"
        return {"granted": [], "relent": ["ghost"]} if count == 50 and request["op"] == "finish" else answer

    found = found_by(local(Pool, change=changes), QUICK)
    assert found.fault.invariant in (LOCKSTEP, REFUSED)
    assert "not do the same every time" in found.remark


def test_a_port_that_starts_but_once_is_told_for_what_it_did_then() -> None:
    starts = 0

    def start(one_by_one: bool) -> LocalPort:
        nonlocal starts
        starts += 1
        if starts > 1:
            raise PortFaultError("exits", "the address is in use")
        return LocalPort(MUTANTS["LendsTwice"])

    report = check_port(["local"], QUICK, start=start)
    assert report.violation is not None
    assert report.violation.fault.invariant == LOCKSTEP
    assert "a new process do not show it" in report.violation.remark
    assert report.trace is None


def test_a_port_whose_requests_hold_but_which_crashes_on_what_is_no_request_is_caught() -> None:
    def crashes(request: Any, answer: Any) -> Any:
        if request["op"] == "malformed" and "7" in request["line"]:
            raise PortFaultError("exits", "it crashed", sent=request["line"])
        return answer

    found = found_by(local(Pool, change=crashes), QUICK)
    assert [request["op"] for request in found.requests] == ["malformed"]
    assert script_of(found) == ["7"]


@pytest.mark.parametrize("member", ["comment", "job"])
def test_a_port_that_takes_members_for_what_they_are_not_is_caught(member: str) -> None:
    """One that refuses members it does not know; one that takes null for a job."""

    def refuses(request: Any, answer: Any) -> Any:
        odd = "comment" in request if member == "comment" else "job" in request and request["job"] is None
        return {"error": {"code": "bad_request"}} if odd else answer

    found = found_by(local(Pool, change=refuses), QUICK)
    assert found.fault.invariant == ANSWERS
    assert member in found.requests[-1]


def test_a_port_that_begins_anew_at_every_hello_is_caught() -> None:
    class Forgetful(LocalPort):
        def exchange(self, requests: Any) -> Any:
            for request in requests:
                if request["op"] == "hello":
                    self._adapter.pool = Pool(1)
                yield from super().exchange([request])

    found = found_by(lambda one_by_one: Forgetful(Pool), QUICK)
    assert [request["op"] for request in found.requests][-2:] == ["hello", "state"]


def test_a_port_that_takes_a_bad_cap_is_caught() -> None:
    found = found_by(local(MUTANTS["AcceptsCapOfZero"]), PortSettings(levels=("edges",), runs=1))
    assert found.fault.invariant == REFUSED
    assert found.requests[-1] == {"op": "reset", "cap": 0}


# -- the report ----------------------------------------------------------------------------------------------------


def test_a_counterexample_is_a_trace_and_a_script_and_the_last_exchange() -> None:
    found = found_by(local(MUTANTS["ReturnsLoanToPool"]), EDGES)
    trace = trace_of_port(local(MUTANTS["ReturnsLoanToPool"]), found)
    assert trace is not None
    assert (trace.subject, trace.cap, trace.invariant) == ("port ReturnsLoanToPool", 1, LOCKSTEP)
    assert trace.events[-1].startswith("finish('b')")
    assert (trace.before["taken"], trace.after["taken"]) == (1, 0)
    lines = [json.loads(line) for line in script_of(found)]
    assert lines[0]["op"] == "reset"
    assert lines[-1]["expect"]["taken"] == 1
    sent, received = exchange_of(found)
    assert json.loads(sent) == {"op": "state"}
    assert json.loads(received)["taken"] == 0


def test_a_trace_shows_what_the_port_answered_to_the_last_call() -> None:
    found = found_by(local(MUTANTS["LendsTwice"]), EDGES)
    trace = trace_of_port(local(MUTANTS["LendsTwice"]), found)
    assert trace is not None
    assert "admitted on loan" in trace.events[-1]
    assert trace.after["runs"]["c"]["token"] == "loan"  # as the port shows it
    assert "should be answered" in trace.message


def test_a_name_of_a_port_cannot_write_to_the_terminal() -> None:
    hello = read_hello({"name": "a\x1b[2J\n" + "b" * 900, "protocol": 1, "features": ["fifo", "\x07"]})
    assert hello.name.startswith(r"a\x1b[2J\nbbb")
    assert len(hello.name) < 120
    assert hello.unknown == (r"\x07",)


def test_the_same_port_gives_the_same_report() -> None:
    def told() -> str:
        return json.dumps(port_as_json(check_port(["local"], QUICK, start=local(MUTANTS["LendsToNewest"])), None))

    assert told() == told()


def test_what_is_not_looked_at_is_undetermined() -> None:
    report = check_port(["local"], PortSettings(max_seconds=0.0), start=local(Pool))
    assert report.verdict is Verdict.UNDETERMINED
    assert report.stopped == "the 0 s for the whole check are over"
    assert PortReport(("x",), QUICK).verdict is Verdict.UNDETERMINED


# -- answers -------------------------------------------------------------------------------------------------------

NOTHING = {"granted": [], "relent": []}
ASK = {"op": "ask", "run": "a"}


def state_with(**changes: Any) -> Any:
    oracle = Oracle()
    oracle.answer({"op": "reset", "cap": 1})
    oracle.answer({"op": "ask", "run": "a"})
    assert oracle.state is not None
    answer = state_answer(oracle.state)
    of_run = changes.pop("of_run", {})
    return {**answer, "runs": {"a": {**answer["runs"]["a"], **of_run}}, **changes}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "an object, not with null"),
        ([], "an object, not with an array"),
        (True, "not with true or false"),
        ({}, "granted and relent"),
        ({"granted": []}, "granted and relent"),
        ({"granted": {}, "relent": []}, "granted in the answer to ask is an array"),
        ({"granted": [["a", "pool"]], "relent": []}, "a grant is an object"),
        ({"granted": [{"run": 1, "token": "pool"}], "relent": []}, "a grant is an object"),
        ({"granted": [], "relent": [1]}, "relent in the answer to ask holds strings"),
        ({"error": "run_known"}, "error in the answer to ask"),
        ({"error": {"code": 5}}, "error in the answer to ask"),
    ],
)
def test_an_answer_of_another_form_is_told(answer: Any, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        difference(ASK, {"granted": [{"run": "a", "token": "pool"}], "relent": []}, answer, set())


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (state_with(cap=1.0), "cap in the answer to state is an integer, not a number"),
        (state_with(taken=True), "taken in the answer to state is an integer, not true or false"),
        (state_with(runs=[]), "runs in the answer to state is an object"),
        (state_with(runs={"a": None}), "run 'a' in the answer to state is an object, not null"),
        (state_with(of_run={"lent": 0}), "lent in the answer to state is true or false, not an integer"),
        (state_with(of_run={"level": True}), "level in the answer to state is an integer"),
        (state_with(of_run={"parent": 3}), "parent of run 'a' is a string or null"),
        (state_with(children={"a": "b"}), "children in the answer to state holds an array"),
        (state_with(lines={}), "lines in the answer to state is an array"),
        (state_with(lines=[["a"]]), "lines in the answer to state holds objects"),
        ({key: value for key, value in state_with().items() if key != "waiting"}, "lacks waiting"),
        (NOTHING, "lacks cap"),
    ],
)
def test_a_state_of_another_form_is_told(answer: Any, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        difference({"op": "state"}, state_with(), answer, set())


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (state_with(taken=0), "taken should be 1, but is 0"),
        (state_with(runs={}), "run 'a' should be known, but is not shown"),
        (state_with(runs={**state_with()["runs"], "b": state_with()["runs"]["a"]}), "run 'b' should not be known"),
        (state_with(of_run={"parent": "b"}), "parent of run 'a' should be None, but is 'b'"),
        (state_with(of_run={"job": []}), "job of run 'a' should be"),
        (state_with(waiting=["a"]), "waiting should be"),
        (state_with(lines=[{"node": [], "line": ["a"]}]), "lines should be"),
    ],
)
def test_a_state_that_differs_is_told_by_its_first_field(answer: Any, says: str) -> None:
    told = difference({"op": "state"}, state_with(), answer, set())
    assert told is not None
    assert says in told


def test_empty_lists_and_further_members_make_no_difference() -> None:
    shown = state_with(children={"a": []}, lines=[{"node": [], "line": []}], note="mine")
    assert difference({"op": "state"}, state_with(), shown, set()) is None
    assert difference(ASK, NOTHING, {**NOTHING, "note": 1}, set()) is None
    refused = {"error": {"code": "run_known"}}
    assert difference(ASK, refused, {"error": {"code": "run_known", "message": "a is known"}}, set()) is None


def test_the_oracle_is_the_reference_rule_behind_the_protocol() -> None:
    requests: list[dict[str, Any]] = [
        {"op": "finish", "run": "a"},
        {"op": "reset", "cap": 0},
        {"op": "reset", "cap": 1},
        {"op": "ask", "run": "a", "job": ["p", "x"]},
        {"op": "ask", "run": "b", "job": ["p"]},
        {"op": "ask", "run": "b", "parent": "a"},
        {"op": "resize", "cap": True},
    ]
    answers = [answer for _, answer in demanded(requests)]
    refused = [answer.get("error", {}).get("code") for answer in answers]
    assert refused == ["bad_request", "bad_cap", None, None, "job_not_leaf", None, "bad_cap"]
    assert answers[5] == {"granted": [{"run": "b", "token": "loan"}], "relent": []}
    assert Exchange({"op": "state"}, state_with()).expected["taken"] == 1
