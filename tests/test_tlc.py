"""The wrapper of TLC, without running it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tlc_models import expected

from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.tlc import tool as tools
from slotcheck.checks.tlc.behaviour import trace_of_outcome
from slotcheck.checks.tlc.config import ConfigError, Definitions, read_config
from slotcheck.checks.tlc.manifest import chosen, read_manifest
from slotcheck.checks.tlc.messages import ERROR, Message, read_messages
from slotcheck.checks.tlc.outcome import FAILED, HOLDS, VIOLATED, Outcome, judge_output
from slotcheck.checks.tlc.tool import JAR_SHA256, ToolMissingError, find_tool
from slotcheck.checks.tlc.values import ValueFormError, read_state
from slotcheck.checks.tlc_command import tlc_command
from slotcheck.checks.trace import trace_of
from slotcheck.pymodel.subject import Calls
from slotcheck.pymodel.workload import Workload

CONFIG = read_config("SPECIFICATION Spec\nINVARIANTS Within\n")
NOTHING_DEFINED = Definitions({}, frozenset(), {})

# What a run says that holds, shortened.
GREEN = [
    Message(2262, 0, "TLC2 Version 2.15 of Day Month 20?? (rev: d5b5a7f)"),
    Message(2401, 3, "Please run the Java VM ... with a throughput optimized garbage collector"),
    Message(2187, 0, "Running breadth-first search Model-Checking with fp 0"),
    Message(2190, 0, "Finished computing initial states: 1 distinct state generated"),
    Message(2193, 0, "Model checking completed. No error has been found."),
    Message(2199, 0, "5 states generated, 4 distinct states found, 0 states left on queue."),
    Message(2194, 0, "The depth of the complete state graph search is 4."),
    Message(2186, 0, "Finished in 5737ms"),
]


def judged(messages: list[Message], exit_code: int | None = 0, tail: str = "") -> Outcome:
    return judge_output(messages, CONFIG, NOTHING_DEFINED, exit_code, tail)


def test_a_whole_search_holds() -> None:
    assert judged(GREEN)[:5] == (HOLDS, "", 4, 5, 4)


@pytest.mark.parametrize("left_out", [2187, 2193, 2199, 2194, 2186])
def test_whatever_is_not_said_is_not_taken_for_granted(left_out: int) -> None:
    assert judged([message for message in GREEN if message.code != left_out]).result == FAILED


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (Message(1001, ERROR, "Java ran out of memory."), "out of memory"),  # seen beside "no error has been found"
        (Message(2104, ERROR, "Assumption line 3 is false."), "Assumption"),
        (Message(2300, 3, "Declaring symmetry during liveness checking is dangerous."), "TLC warns"),
        (Message(2999, 2, "a bug in TLC"), "a bug"),
    ],
)
def test_an_error_or_a_warning_beside_success_is_not_green(message: Message, told: str) -> None:
    outcome = judged([*GREEN[:-1], message, GREEN[-1]])
    assert outcome.result == FAILED
    assert told in outcome.told


def test_an_exit_code_without_an_error_is_not_green() -> None:
    assert judged(GREEN, exit_code=1).result == FAILED
    assert judged(GREEN, exit_code=None).result == FAILED
    assert judged([], exit_code=0).result == FAILED
    assert judged([], exit_code=1, tail="Error: could not create the Java VM").told.startswith("Error: could not")


def test_states_left_or_none_found_are_not_green() -> None:
    def with_totals(text: str) -> Outcome:
        return judged([message._replace(text=text) if message.code == 2199 else message for message in GREEN])

    assert with_totals("5 states generated, 4 distinct states found, 1 states left on queue.").result == FAILED
    assert with_totals("0 states generated, 0 distinct states found, 0 states left on queue.").result == FAILED
    assert with_totals("1,005 states generated, 1,004 distinct states found, 0 states left on queue.").distinct == 1004


def test_a_violation_of_something_that_is_not_configured_is_not_understood() -> None:
    violation = Message(2110, ERROR, "Invariant Other is violated.")
    assert judged([*GREEN, violation]).result == FAILED
    assert judged([*GREEN, violation._replace(text="Invariant Within is violated.")]).result == VIOLATED
    assert judged([*GREEN, Message(2114, ERROR, "Deadlock reached.")]).told == "Deadlock"


def test_messages_are_found_among_other_output() -> None:
    output = (
        "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n@!@!@STARTMSG 2262:0 @!@!@\nTLC2 Version\n@!@!@ENDMSG 2262 @!@!@\n"
        "Parsing file A.tla\n@!@!@STARTMSG 2217:4 @!@!@\n1: <Initial predicate>\nx = 0\n\n@!@!@ENDMSG 2217 @!@!@\n"
        "@!@!@STARTMSG 2186:0 @!@!@\ncut off"
    )
    assert read_messages(output) == [
        Message(2262, 0, "TLC2 Version"),
        Message(2217, 4, "1: <Initial predicate>\nx = 0"),
    ]


def test_states_are_read() -> None:
    assert read_state("x = <<1, -2>>\n") == {"x": [1, -2]}
    assert read_state('/\\ a = "in_flight"\n/\\ b = [ c |-> <<TRUE, FALSE>>,\n  d |-> << >> ]\n') == {
        "a": "in_flight",
        "b": {"c": [True, False], "d": []},
    }
    for text in ("x = {1, 2}", "x = (1 :> 2 @@ 3 :> 4)", "x = ", "nonsense"):
        with pytest.raises(ValueFormError):
            read_state(text)


def _state(progress: str, pool: str) -> str:
    scenario = (
        "[ parent |-> <<0, 1>>, cap |-> 1, relend |-> FALSE, cancel |-> TRUE, early |-> FALSE, late |-> FALSE, "
        "resizes |-> 0, most |-> 2 ]"
    )
    return f"/\\ scenario = {scenario}\n/\\ pool = {pool}\n/\\ progress = {progress}\n/\\ levels = 1\n/\\ resizes = 0"


def test_a_counterexample_is_told_as_the_explorer_tells_its_own() -> None:
    none = (
        '[ cap |-> 1, taken |-> 0, phase |-> <<"unknown", "unknown">>, token |-> <<"none", "none">>, '
        "lent |-> <<FALSE, FALSE>>, level |-> <<0, 0>>, parent |-> <<0, 0>>, waiting |-> <<>>, "
        "children |-> <<<<>>, <<>>>>, held |-> <<0, 0>>, lines |-> <<<<>>, <<>>>> ]"
    )
    one = none.replace('<<"unknown", ', '<<"in_flight", ').replace('<<"none", ', '<<"pool", ')
    one = one.replace("level |-> <<0, 0>>", "level |-> <<1, 0>>").replace("taken |-> 0", "taken |-> 1")
    two = one.replace('"in_flight", "unknown"', '"in_flight", "in_flight"').replace('"pool", "none"', '"pool", "loan"')
    two = two.replace("<<1, 0>>", "<<1, 2>>").replace("parent |-> <<0, 0>>", "parent |-> <<0, 1>>")
    two = two.replace("lent |-> <<FALSE, ", "lent |-> <<TRUE, ").replace("<<<<>>, <<>>>>", "<<<<2>>, <<>>>>")
    outcome = Outcome(
        VIOLATED,
        "NoDeadlock",
        steps=("Initial predicate", "Ask", "Resume", "Ask", "Cancel"),
        states=(
            _state('<<"idle", "idle">>', none),
            _state('<<"asked", "idle">>', one),
            _state('<<"resumed", "idle">>', one),
            _state('<<"resumed", "asked">>', two),
            _state('<<"resumed", "ended">>', one),
        ),
    )
    trace = trace_of_outcome("MCSlotLending", outcome)
    assert trace is not None
    assert (trace.subject, trace.scenario, trace.invariant) == ("spec:SlotLending", "a(b) cancel", "NoDeadlock")
    assert trace.actions == (("ask", "a"), ("resume", "a"), ("ask", "b"), ("cancel", "b"))
    assert trace.events == (
        "ask a -> a admitted on a pool slot",
        "resume a",
        "ask b under a -> b admitted on loan from a",
        "cancel b (granted, not resumed)",
    )
    assert trace.before["runs"]["b"]["token"] == "loan"
    assert list(trace.after["runs"]) == ["a"]
    for_ever = trace_of_outcome("MCSlotLending", outcome._replace(back_to=4))
    assert for_ever is not None
    assert for_ever.circle == ("nothing goes on",)
    assert trace_of_outcome("MCSlotPool", outcome._replace(states=("x = 1",))) is None


# -- finding it --------------------------------------------------------------------------------------------------


def test_the_jar_and_the_runtime_that_pip_brought_are_found() -> None:
    tool = find_tool({"PATH": ""})
    assert (tool.source, tool.sha256) == ("pip", JAR_SHA256)
    assert Path(tool.java).is_file()


def test_a_named_jar_takes_precedence_over_a_command_and_that_over_pip(tmp_path: Path) -> None:
    jar = tmp_path / "other.jar"
    jar.write_bytes(b"a jar")
    command = tmp_path / "tlc"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    named = find_tool({"TLA2TOOLS_JAR": str(jar), "PATH": str(tmp_path)})
    assert (named.source, named.jar) == ("TLA2TOOLS_JAR", str(jar))
    assert named.sha256 == hashlib.sha256(b"a jar").hexdigest()
    on_path = find_tool({"PATH": str(tmp_path)})
    assert (on_path.source, on_path.jar, on_path.java) == ("tlc on PATH", str(command), "")
    assert on_path.command(tmp_path, ("-tool",), memory=100) == [str(command), "-tool"]
    assert "-Xmx100m" in on_path.environment(tmp_path, memory=100)["JAVA_TOOL_OPTIONS"]


def test_each_run_has_its_own_folder_for_temporary_files(tmp_path: Path) -> None:
    command = find_tool({"PATH": ""}).command(tmp_path, ("-tool",), memory=100)
    assert f"-Djava.io.tmpdir={tmp_path}" in command


def test_without_tlc_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ToolMissingError, match="not a file"):
        find_tool({"TLA2TOOLS_JAR": str(tmp_path / "none.jar")})
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolMissingError, match=r"pip install 'slotcheck\[tlc\]'"):
        find_tool({"PATH": ""})
    jar = tmp_path / "other.jar"
    jar.write_bytes(b"a jar")
    with pytest.raises(ToolMissingError, match="no Java runtime"):
        find_tool({"TLA2TOOLS_JAR": str(jar), "PATH": ""})


def test_another_jar_than_the_known_one_is_not_taken_from_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "JAR_SHA256", "0" * 64)
    with pytest.raises(ToolMissingError, match="it is not TLC"):
        find_tool({"PATH": ""})


# -- the manifest and the command --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"configs": {"A": {"module": "A"}}}',
        json.dumps({"configs": {"A": {**expected(result="holds", property="X")._asdict()}}}),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"manifest\.json"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ConfigError, match=r"manifest\.json"):
        read_manifest(tmp_path)


def test_the_default_set_leaves_out_the_deep_ones() -> None:
    manifest = {name: expected(name, tier=tier) for name, tier in (("A", "default"), ("B", "deep"))}
    assert [each.name for each in chosen(manifest, (), deep=False)] == ["A"]
    assert [each.name for each in chosen(manifest, (), deep=True)] == ["A", "B"]
    assert [each.name for each in chosen(manifest, ("B",), deep=False)] == ["B"]
    with pytest.raises(ConfigError, match="there are A, B"):
        chosen(manifest, ("C",), deep=False)


def test_an_unknown_configuration_is_bad_input() -> None:
    result = CliRunner().invoke(tlc_command, ["Nope"])
    assert result.exit_code == 2
    assert "no configuration 'Nope'" in result.output


def test_without_tlc_the_command_is_undetermined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLA2TOOLS_JAR", str(tmp_path / "none.jar"))
    result = CliRunner().invoke(tlc_command, ["--format", "json", "--no-timing"])
    assert result.exit_code == 3
    told = json.loads(result.stdout)
    assert told["verdict"] == "undetermined"
    assert "pip install" in told["undetermined"][0]
    assert not told["parts"]
    text = CliRunner().invoke(tlc_command, ["--no-timing"])
    assert text.exit_code == 3
    assert text.output.splitlines()[-2:] == ["checked: nothing", "verdict: undetermined"]


@pytest.mark.parametrize("seconds", ["nan", "0", "-1", "soon"])
def test_a_limit_that_is_no_number_of_seconds_is_bad_input(seconds: str) -> None:
    result = CliRunner().invoke(tlc_command, ["MCSlotPool", "--max-seconds", seconds])
    assert result.exit_code == 2
    assert "--max-seconds" in result.output


def test_where_no_graph_is_compared_none_is_told() -> None:
    result = CliRunner().invoke(tlc_command, ["MCSlotPool", "--no-timing"])
    assert result.exit_code == 0
    assert result.output.splitlines()[-2:] == ["checked: 1 configuration, 45 states", "verdict: holds"]


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What the command says of three configurations."""
    names = ("MCHoldSlotDeadlock", "MCReleaseAtFirstChildInFlight", "MCHelpingInFlight")
    result = CliRunner().invoke(tlc_command, ["--format", "json", *names])
    assert result.exit_code == 0
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_run_of_the_command_says_all(told: dict[str, Any]) -> None:
    assert told["verdict"] == "holds"
    parts = {part["name"]: part for part in told["parts"]}
    part = parts["MCHoldSlotDeadlock"]
    assert (part["expected"], part["found"]) == ("NoDeadlock", "NoDeadlock")
    assert part["trace"]["events"][-1].endswith("-> waits")
    assert parts["MCHelpingInFlight"]["trace"]["subject"] == "spec:Helping"
    assert told["covered"]["configurations_that_must_fail"] == 3
    assert told["versions"]["tlc_sha256"] == JAR_SHA256
    assert 0 < told["timing"]["starting"] <= told["timing"]["running"]


@pytest.mark.parametrize(
    ("config", "rule"), [("MCHoldSlotDeadlock", "hold"), ("MCReleaseAtFirstChildInFlight", "release")]
)
def test_a_counterexample_of_tlc_replays_in_the_explorer(told: dict[str, Any], config: str, rule: str) -> None:
    (trace,) = [part["trace"] for part in told["parts"] if part["name"] == config]
    subject = resolve_subject(f"rule:{rule}", order="fifo")
    scenario = read_scenario(f"cap: 1\ntree: {trace['tree']}\n", "x")  # the tree as it is told is one of the notation
    workload = Workload(scenario, Calls(subject), cap=trace["cap"], relend=False, symmetry=False)
    replayed = trace_of(workload, [tuple(action) for action in trace["actions"]], trace["invariant"], "")
    assert list(replayed.events) == trace["events"]
    assert replayed.after == trace["after"]
