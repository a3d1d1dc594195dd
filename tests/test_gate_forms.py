"""What a reviewer sees of a gate: JUnit XML, SARIF, Markdown and text, whatever names and messages are in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from sarif_pydantic import Sarif

from slotcheck.checks.gate.base import Difference
from slotcheck.checks.gate.junit import gate_as_junit
from slotcheck.checks.gate.piece import Piece, PieceResult, Source
from slotcheck.checks.gate.report import GateReport, gate_as_json
from slotcheck.checks.gate.sarif import gate_as_sarif
from slotcheck.checks.gate.tell import gate_as_markdown, gate_as_text
from slotcheck.checks.terminal import console
from slotcheck.pymodel.result import Verdict

HOSTILE = '</script>"]]>&amp;\x00\x1b[31m\ud800|`*_[x](y)\n# not a heading'

TRACE = {
    "events": ["ask a -> a admitted on a pool slot", "cancel a"],
    "location": {"file": "FOLDER/my.py", "line": 7, "function": "Leaky._forget", "lines": [7, 8, 9]},
}


def result(name: str, verdict: Verdict | None, source: Source = Source.RUN, **report: Any) -> PieceResult:
    parts = [{"name": "a plain, cap 1", "verdict": "holds"}]
    return PieceResult(
        Piece(name, "a test", (), ()), source, verdict, {"covered": {"states": 4}, "parts": parts, **report}
    )


def violation(folder: Path, message: str = "taken is 1") -> dict[str, Any]:
    trace = json.loads(json.dumps(TRACE).replace("FOLDER", str(folder)))
    return {"scenario": "a cancel, cap 1", "invariant": "NoSlotLeak", "message": message, "trace": trace}


def report(folder: Path, message: str = "taken is 1") -> GateReport:
    """Every kind of result."""
    parts = [
        {"name": message, "verdict": "violated", "violated": ["NoSlotLeak"]},
        {"name": "b", "verdict": "undetermined"},
    ]
    red = result("check", Verdict.VIOLATED, violations=[violation(folder, message)], parts=parts)
    unknown = result("tlc", Verdict.UNDETERMINED)
    unknown.why = [f"no Java: {message}"]
    made = GateReport("default", f"my:{message}", [red, result("prove", Verdict.HOLDS), unknown], folder=folder)
    made.results += [result("mutants", None, Source.SKIPPED), result("port:go", None, Source.NOT_REACHED)]
    made.pinned = [Difference("prove", "obligations", 5, 4)]
    return made


# -- JUnit -------------------------------------------------------------------------------------------------------


def test_junit_says_what_the_gate_says(tmp_path: Path) -> None:
    suites = {suite.name: list(suite) for suite in JUnitXml.fromstring(gate_as_junit(report(tmp_path), 1.0).encode())}
    told = {name: [(case.name, [type(one) for one in case.result]) for case in cases] for name, cases in suites.items()}
    assert told == {
        "slotcheck check": [("taken is 1", [Failure]), ("b", [Error]), ("verdict", [Failure])],
        "slotcheck prove": [("a plain, cap 1", []), ("verdict", [Failure])],  # by what is pinned
        "slotcheck tlc": [("a plain, cap 1", []), ("verdict", [Error])],
        "slotcheck mutants": [("left out", [Skipped])],
        "slotcheck port:go": [("verdict", [Error])],
    }
    (failed,) = suites["slotcheck check"][-1].result
    assert "2. cancel a" in failed.text


def test_junit_counts_and_has_only_the_attributes_of_its_schema(tmp_path: Path) -> None:
    known = {
        "testsuites": {"name", "tests", "failures", "errors"},
        "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
        "testcase": {"name", "classname"},
        "failure": {"message", "type"},
        "error": {"message", "type"},
        "skipped": {"message"},
    }
    root = ElementTree.fromstring(gate_as_junit(report(tmp_path), 1.0))
    for element in root.iter():
        assert set(element.attrib) <= known[element.tag]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("9", "3", "3")
    assert [suite.get("skipped") for suite in root] == ["0", "0", "0", "1", "0"]


# -- SARIF -------------------------------------------------------------------------------------------------------


def sarif(made: GateReport) -> dict[str, Any]:
    log = gate_as_sarif(made)
    Sarif.model_validate(log)
    json.dumps(log).encode()
    run: dict[str, Any] = log["runs"][0]
    return run


def test_sarif_has_the_trace_as_a_code_flow_that_ends_where_the_bad_step_was_made(tmp_path: Path) -> None:
    run = sarif(report(tmp_path))
    found, pinned, *unknown = run["results"]
    place = found["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "my.py", "uriBaseId": "PROJECT"}, "region": {"startLine": 7}}
    steps = found["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == TRACE["events"]
    assert steps[-1]["location"]["physicalLocation"] == place
    assert pinned["ruleId"] == "Pinned"
    assert {one["ruleId"] for one in unknown} == {"Undetermined"}
    assert run["invocations"][0]["executionSuccessful"] is False
    assert [run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] for one in run["results"]] == [
        one["ruleId"] for one in run["results"]
    ]


def test_sarif_names_a_line_under_review_if_the_bad_step_ran_one(tmp_path: Path) -> None:
    made = report(tmp_path)
    made.changed = {"my.py": {8, 30}}
    found = sarif(made)["results"][0]
    assert found["locations"][0]["physicalLocation"]["region"] == {"startLine": 8}
    assert "At <code>my.py:8, in Leaky.&#95;forget</code>." in gate_as_markdown(made, None)


def test_sarif_fingerprints_stay_where_lines_move_and_tell_faults_apart(tmp_path: Path) -> None:
    def print_of(change: dict[str, Any]) -> str:
        one = {**violation(tmp_path), **change}
        run = sarif(GateReport("default", "pool", [result("check", Verdict.VIOLATED, violations=[one])]))
        told: str = run["results"][0]["partialFingerprints"]["slotcheck/v1"]
        return told

    moved = violation(tmp_path)
    moved["trace"]["location"]["line"] = 99
    assert print_of({}) == print_of(moved)
    assert len({print_of({}), print_of({"scenario": "b"}), print_of({"invariant": "CapRespected"})}) == 3


def test_sarif_of_a_green_gate_has_no_results(tmp_path: Path) -> None:
    run = sarif(GateReport("default", "pool", [result("check", Verdict.HOLDS)]))
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


# -- Markdown and text -------------------------------------------------------------------------------------------


def test_the_summary_has_verdict_pieces_trace_and_what_is_unknown(tmp_path: Path) -> None:
    told = gate_as_markdown(report(tmp_path), 1.0)
    assert told.startswith(
        "## ❌ slotcheck gate: violated (lane default; 3 pieces; skipped: mutants; not reached: port:go)"
    )
    for line in ("| check | ❌ violated |", "1. ask a", "- prove: obligations: 4, was 5", "- tlc: no Java: taken is 1"):
        assert line in told


def test_what_one_trace_breaks_is_told_once_with_the_trace_and_its_place(tmp_path: Path) -> None:
    made = report(tmp_path)
    one = violation(tmp_path)
    same = {**one, "invariant": "NoLostWakeUp", "message": "b waits"}
    elsewhere = {**one, "scenario": "a plain, cap 2"}
    bare = {"invariant": "Manifest", "scenario": None, "message": None, "trace": None}
    made.results[0] = result("check", Verdict.VIOLATED, violations=[one, same, elsewhere, bare, bare])
    told = gate_as_markdown(made, None)
    assert [line for line in told.splitlines() if line.startswith("###")] == [
        "### NoSlotLeak and NoLostWakeUp are violated in a cancel, cap 1 (check)",
        "### NoSlotLeak is violated in a plain, cap 2 (check)",
        "### Manifest is violated (check)",
        "### Manifest is violated (check)",
        "### Not what is pinned",
        "### Undetermined",
    ]
    assert told.count("1. ask a") == 2
    assert "- taken is 1\n- b waits\n" in told
    assert told.count("At <code>my.py:7, in Leaky.&#95;forget</code>.") == 2
    to = console()
    with to.capture() as printed:
        to.print(gate_as_text(made, None))
    assert "check: NoSlotLeak and NoLostWakeUp are violated in a cancel, cap 1\n  taken is 1\n" in printed.get()
    assert "  2. cancel a\n  at my.py:7, in Leaky._forget\n" in printed.get()


@pytest.mark.parametrize("limit", [600, 2_000, 10_000])
def test_the_summary_keeps_to_its_limit_and_says_when_it_was_cut(tmp_path: Path, limit: int) -> None:
    made = report(tmp_path)
    made.results += [result(f"port:{number}", Verdict.HOLDS) for number in range(500)]
    told = gate_as_markdown(made, 1.0, limit=limit)
    assert len(told.encode()) <= limit
    assert told.startswith("## ❌ slotcheck gate: violated")
    assert "The rest does not fit here" in told


def test_a_fence_is_longer_than_any_in_the_trace(tmp_path: Path) -> None:
    made = report(tmp_path)
    made.results[0].violations[0]["trace"]["events"].append("````")
    assert "`````text\n" in gate_as_markdown(made, None)


def test_hostile_names_stay_names_in_every_form(tmp_path: Path) -> None:
    made = report(tmp_path, HOSTILE)
    xml = ElementTree.fromstring(gate_as_junit(made, None).encode())
    assert any("</script>" in (element.get("name") or "") for element in xml.iter("testcase"))
    sarif(made)
    told = gate_as_markdown(made, None)
    told.encode()
    assert "\x1b" not in told
    assert "\x00" not in told
    assert "</script>" not in told
    assert "\n# not a heading" not in told
    json.dumps(gate_as_json(made, None)).encode()
    to = console()
    with to.capture() as printed:
        to.print(gate_as_text(made, None))
    printed.get().encode()
    assert "\x1b[31m" not in printed.get()


def test_without_timing_every_form_is_the_same_whatever_it_took(tmp_path: Path) -> None:
    slow, fast = report(tmp_path), report(tmp_path)
    slow.results[0].seconds, slow.results[0].memory = 99.0, 1 << 30
    assert gate_as_json(slow, None) == gate_as_json(fast, None)
    assert gate_as_junit(slow, None) == gate_as_junit(fast, None)
    assert gate_as_markdown(slow, None) == gate_as_markdown(fast, None)
