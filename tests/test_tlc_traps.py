"""What makes TLC show green for red: each trap with a specification that would have been green, run for real."""

from __future__ import annotations

import stat
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from tlc_models import COUNTER, counter, expected, run_counter

from slotcheck.checks.tlc.config import ConfigError, judge_config, read_config, read_definitions
from slotcheck.checks.tlc.outcome import FAILED, HOLDS, VIOLATED
from slotcheck.checks.tlc.run import Run
from slotcheck.checks.tlc.suite import check_specs, judged
from slotcheck.checks.tlc.tool import Tool, find_tool
from slotcheck.pymodel.explore import Verdict

#: With a constant, and with a definition that makes any property of it hold.
WITH_CONSTANT = COUNTER.replace("VARIABLES x", "CONSTANTS\n  Most, \\* of x\n  Other(_, _)\nVARIABLES x").replace(
    "Small == x < 2", "Weak == TRUE\nTwo == 2\nSum(a, b) == a + b\nSmall == x < Other(Most, 0)"
)
FALSE_ASSUME = COUNTER.replace("VARIABLES x", "ASSUME 1 = 2\nVARIABLES x")


class Trap(NamedTuple):
    """A run, and what must come of it: a result, and words that must be told."""

    config: str
    result: str
    told: str
    options: Mapping[str, Any] = MappingProxyType({})


def _spec(*, invariant: str = "", prop: str = "", spec: str = "Spec") -> str:
    lines = [f"SPECIFICATION {spec}"]
    lines += [f"INVARIANT {invariant}"] if invariant else []
    lines += [f"PROPERTY {prop}"] if prop else []
    return "\n".join(lines) + "\n"


TRAPS = {
    # Not traps: what a plain run says.
    "holds": Trap(_spec(invariant="Within"), HOLDS, ""),
    "invariant": Trap(_spec(invariant="Small"), VIOLATED, "Small"),
    "invariant at the start": Trap(_spec(invariant="NotZero"), VIOLATED, "NotZero"),
    "a part of a property": Trap(_spec(prop="FromOne"), VIOLATED, "FromOne"),
    "the one liveness property": Trap(_spec(prop="Settles", spec="FairSpec"), VIOLATED, "Settles"),
    # Exit code 0 after violations.
    "continue": Trap(_spec(invariant="Small"), FAILED, "go on after the first", {"more": ("-continue",)}),
    # A violating step into a state that is known already.
    "step into a known state": Trap(_spec(prop="Up"), VIOLATED, "Up"),
    # A false assumption: seen by the search, not by the simulator, which ends with exit code 0.
    "false assumption": Trap(_spec(invariant="Within"), FAILED, "Assumption", {"module": FALSE_ASSUME}),
    "simulate": Trap(
        _spec(invariant="Within"),
        FAILED,
        "search of all states",
        {"module": FALSE_ASSUME, "more": ("-simulate", "num=1", "-depth", "3")},
    ),
    "simulate without end": Trap(
        _spec(invariant="Within"), FAILED, "not done after 4 s", {"more": ("-simulate",), "seconds": 4.0}
    ),
    "a search in depth": Trap(_spec(invariant="Within"), FAILED, "", {"more": ("-dfid", "5")}),
    # No state at all: "no error has been found", exit code 0.
    "no first state": Trap(_spec(invariant="Within", spec="NoStart"), FAILED, "no initial state"),
    "evaluation fails": Trap(_spec(invariant="Fails"), FAILED, "Fails"),
    "parse error": Trap(
        _spec(invariant="Within"), FAILED, "Parsing", {"module": COUNTER.replace("Small == x < 2", "Small == x <")}
    ),
    "out of memory": Trap(_spec(invariant="Sets", spec="Swells"), FAILED, "", {"memory": 24}),
    "endless": Trap(_spec(invariant="Sets", spec="Grows"), FAILED, "not done after 4 s", {"seconds": 4.0}),
}


@cache
def run_of(name: str) -> Run:
    """Run one, once in each process of the tests: most of a run is the start of a Java runtime."""
    trap = TRAPS[name]
    with tempfile.TemporaryDirectory() as folder:
        return run_counter(Path(folder), trap.config, **trap.options)


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_is_not_green(name: str) -> None:
    trap = TRAPS[name]
    outcome = run_of(name).outcome
    assert (outcome.result, trap.told in outcome.told) == (trap.result, True), outcome.told


def test_runs_begun_at_once_do_not_meet(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        config = _spec(invariant="Within")
        runs = [threads.submit(run_counter, tmp_path / name, config) for name in ("one", "two", "three")]
    assert [run.result().outcome.result for run in runs] == [HOLDS] * 3


def test_a_counterexample_is_read_to_its_end() -> None:
    of_invariant, at_start, of_liveness = (
        run_of(name).outcome for name in ("invariant", "invariant at the start", "the one liveness property")
    )
    assert of_invariant.steps == ("Initial predicate", "Inc", "Inc")
    assert at_start.states == ("x = 0",)
    assert len(of_liveness.states) == 4
    assert of_liveness.back_to == 0


def test_what_comes_out_otherwise_than_expected_is_told() -> None:
    holds, violated, failed = (run_of(name) for name in ("holds", "invariant", "no first state"))
    assert judged(expected(), holds).verdict is Verdict.HOLDS
    told = judged(expected(distinct=5), holds)
    assert (told.verdict, told.why) == (Verdict.VIOLATED, ["distinct: 4 instead of 5"])
    other = expected(generated=9)
    assert judged(other, holds).verdict is Verdict.VIOLATED
    assert judged(other, holds, known_tlc=False).verdict is Verdict.HOLDS  # how it gets there is another TLC's business
    told = judged(expected(), violated)
    assert (told.verdict, told.why) == (Verdict.VIOLATED, ["expected all to hold, but Small is violated"])
    told = judged(expected(result="violated", property="Within"), violated)
    assert told.why == ["expected Within to be violated, but it is Small"]
    told = judged(expected(result="violated", property="Small"), holds)
    assert told.why == ["expected Small to be violated, but nothing is violated"]
    assert judged(expected(), failed).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (_spec(), "nothing would be checked"),
        (_spec(invariant="Nothing"), "speaks of no variable"),
        (_spec(prop="Whatever"), "speaks of no variable"),
        (_spec(invariant="Missing"), "not defined"),
        (_spec(invariant="Within") + "CHECK_DEADLOCK FALSE\n", "not known to TLC 2.15"),
        (_spec(prop="Up") + "SYMMETRY Perms\n", "with symmetry"),
        (_spec(invariant="Within") + "VIEW x\n", "merges states"),
        (_spec(invariant="Within") + "CONSTRAINT Small\n", "leaves states out"),
        (_spec(prop="Up Settles"), "only property"),
        ("INIT Init\nNEXT Next\nINVARIANT Within\n", "SPECIFICATION"),
        ("Within\n", "no section"),
    ],
)
def test_a_configuration_that_checks_less_than_it_seems_to_is_refused(tmp_path: Path, config: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        run_counter(tmp_path, config)


def test_comments_in_a_configuration_name_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing would be checked"):
        run_counter(tmp_path, "SPECIFICATION Spec \\* INVARIANT Within\n(* PROPERTY\n Up *)\n")


def test_a_refused_configuration_is_undetermined_in_a_suite(tmp_path: Path) -> None:
    run = tmp_path / "Counter.cfg"
    run.write_text("SPECIFICATION Spec\n")
    (tmp_path / "Counter.tla").write_text(COUNTER)
    report = check_specs(find_tool(), tmp_path, [expected()], seconds=60)
    assert report.verdict is Verdict.UNDETERMINED
    assert "nothing would be checked" in report.parts[0].why[0]


def test_nothing_run_is_undetermined(tmp_path: Path) -> None:
    assert check_specs(find_tool(), tmp_path, [], seconds=60).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exit 0", "no search"),
        ("echo '@!@!@STARTMSG 2193:0 @!@!@'; echo ok; echo '@!@!@ENDMSG 2193 @!@!@'; exit 0", "no search"),
        ("echo 'no room for a heap'; exit 1", "no room for a heap"),
        ("kill -9 $$", "no search"),
    ],
)
def test_a_tlc_that_says_nothing_is_not_green(tmp_path: Path, script: str, told: str) -> None:
    tlc = tmp_path / "tlc"
    tlc.write_text(f"#!/bin/sh\n{script}\n")
    tlc.chmod(tlc.stat().st_mode | stat.S_IXUSR)
    tool = Tool("tlc on PATH", "", str(tlc), "")
    outcome = run_counter(tmp_path / "specs", _spec(invariant="Within"), tool=tool).outcome
    assert (outcome.result, told in outcome.told) == (FAILED, True), outcome.told


def test_what_a_late_script_began_is_ended_with_it(tmp_path: Path) -> None:
    tlc = tmp_path / "tlc"
    tlc.write_text("#!/bin/sh\nsleep 300 & wait\n")
    tlc.chmod(tlc.stat().st_mode | stat.S_IXUSR)
    run = run_counter(
        tmp_path / "specs", _spec(invariant="Within"), tool=Tool("tlc on PATH", "", str(tlc), ""), seconds=0.5
    )
    assert run.outcome.told == "not done after 0.5 s"
    assert run.seconds < 5  # nobody keeps its output open


def test_an_interrupted_run_is_not_green(tmp_path: Path) -> None:
    tlc = tmp_path / "tlc"
    tlc.write_text("#!/bin/sh\nsleep 300\n")
    tlc.chmod(tlc.stat().st_mode | stat.S_IXUSR)
    stop = threading.Event()
    stop.set()
    tool = Tool("tlc on PATH", "", str(tlc), "")
    outcome = run_counter(tmp_path / "specs", _spec(invariant="Within"), tool=tool, stop=stop).outcome
    assert (outcome.result, outcome.told) == (FAILED, "interrupted")


def test_a_java_that_is_not_there_is_told(tmp_path: Path) -> None:
    tool = find_tool()._replace(java=str(tmp_path / "java"))
    outcome = run_counter(tmp_path / "specs", _spec(invariant="Within"), tool=tool).outcome
    assert outcome.result == FAILED
    assert "cannot run" in outcome.told


CONSTANTS = "CONSTANTS\n  Most <- Two\n  Other <- Sum\n"


@pytest.mark.parametrize(
    ("replaces", "told"),
    [
        ("Small <- Weak", "Small is no declared CONSTANT"),  # TLC says that all holds
        ("Small = TRUE", "Small is no declared CONSTANT"),
        ("Inc <- Weak", "Inc is no declared CONSTANT"),
        ("Nat <- Two", "Nat is no declared CONSTANT"),
        ("x <- Two", "x is no declared CONSTANT"),
        ("Other(1, 2) = 3", "not understood"),
        ("Most <- [Counter] Two", "not understood"),
    ],
)
def test_a_configuration_that_replaces_a_definition_is_refused(tmp_path: Path, replaces: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        run_counter(tmp_path, _spec(invariant="Small") + CONSTANTS + f"  {replaces}\n", module=WITH_CONSTANT)


def test_a_name_that_is_declared_in_one_module_and_defined_in_another_is_not_replaced(tmp_path: Path) -> None:
    inner = "---- MODULE Inner ----\nCONSTANT Small\n====\n"
    module = WITH_CONSTANT.replace("VARIABLES x", f"{inner}VARIABLES x")
    with pytest.raises(ConfigError, match="Small is no declared CONSTANT"):
        run_counter(tmp_path, _spec(invariant="Small") + CONSTANTS + "  Small <- Weak\n", module=module)


def test_a_declared_constant_is_given_a_value(tmp_path: Path) -> None:
    outcome = run_counter(tmp_path, _spec(invariant="Small") + CONSTANTS, module=WITH_CONSTANT).outcome
    assert (outcome.result, outcome.told) == (VIOLATED, "Small")


@pytest.mark.parametrize(
    "following",
    [
        "THEOREM Spec => [](x < 4)",
        "  THEOREM Spec => [](x < 4)",
        "LEMMA Spec => [](x < 4)",
        "ASSUME x = x",
        "ASSUMPTION x = x",
        "AXIOM x = x",
        "VARIABLES x2, x",
        "VARIABLE x",
        "CONSTANT C(_), x",
        "CONSTANTS x",
        "INSTANCE Other WITH y <- x",
        "  INSTANCE Other WITH y <- x",
        "RECURSIVE x",
        "-----------\nx",
        "===========\nx",
        "LOCAL Other == x",
        "Other[n \\in 1 .. 3] == x",
        "  Other == x",
        "a ++ b == x",
    ],
)
def test_what_follows_a_definition_is_no_part_of_it(tmp_path: Path, following: str) -> None:
    module = COUNTER.replace("Nothing == 1 + 1 = 2", f"AllDone == 1 + 1 = 2\n{following}\n")
    folder = counter(tmp_path, "", module)
    config = read_config(_spec(invariant="AllDone"))
    with pytest.raises(ConfigError, match="AllDone speaks of no variable"):
        judge_config(config, read_definitions(folder, "Counter"))


@pytest.mark.parametrize(
    "body",
    [
        "\n  INSTANCE Other WITH y <- x",
        "\nINSTANCE Other WITH y <- x",
        "\n  LET one == 1\n      two == 2\n  IN one < two /\\ x = 1",
        "\n  /\\ 1 = 1\n\n  /\\ x = 1",
    ],
)
def test_a_definition_has_its_whole_body(tmp_path: Path, body: str) -> None:
    folder = counter(tmp_path, "", COUNTER.replace("Nothing == 1 + 1 = 2", f"Here =={body}\n"))
    assert read_definitions(folder, "Counter").speaks_of_states("Here")
