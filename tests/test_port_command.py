"""``slotcheck port`` and ``slotcheck vectors``, from outside: exit codes, text, JSON, scripts, bad input."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from port_programs import ADAPTER, HOSTILE

from slotcheck.checks.cli import main
from slotcheck.checks.forms.registry import FORMS

ADAPTED = [sys.executable, str(ADAPTER)]
QUICK = ["--level", "edges", "--level", "random", "--runs", "1", "--histories", "1", "--no-timing"]

FAULTY = """
from slotlending import Pool
class Leaky(Pool):
    def cancel(self, run):
        state = self._runs.get(run)
        if state is not None and state.phase == "in_flight":
            self._forget(state)
            return (), ()
        return super().cancel(run)
"""


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


@pytest.fixture
def leaky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "leaky.py").write_text(FAULTY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return [*ADAPTED, "leaky:Leaky"]


def test_the_adapter_of_the_pool_holds() -> None:
    result = run("port", *QUICK, "--", *ADAPTED)
    assert result.exit_code == 0, result.output
    assert "verdict: holds" in result.stdout
    assert "features not claimed, so not asked of it: none" in result.stdout
    assert run("port", *QUICK, "--", *ADAPTED).stdout == result.stdout


def test_a_faulty_port_is_violated_and_its_script_shows_it_by_hand(leaky: list[str], tmp_path: Path) -> None:
    script = tmp_path / "fault.jsonl"
    result = run("port", *QUICK, "--script", str(script), "--", *leaky)
    assert result.exit_code == 1, result.output
    assert "Lockstep is violated by port python Leaky" in result.stdout
    assert "verdict: violated (Lockstep)" in result.stdout
    lines = script.read_text().splitlines()
    assert all(line in result.stdout for line in lines)
    # Piped in by hand, the last answer is another one than the script says, and the others are not.
    piped = subprocess.run(leaky, input=script.read_text(), capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in piped.stdout.splitlines()]
    expected = [json.loads(line)["expect"] for line in lines]
    assert [answer == should for answer, should in zip(answers, expected, strict=True)] == [True] * 3 + [False]


def test_the_report_in_json_has_the_form_of_all_of_them(leaky: list[str]) -> None:
    told = json.loads(run("port", *QUICK, "--format", "json", "--", *leaky).stdout)
    assert {"verdict", "covered", "violations", "parts", "versions"} <= set(told)
    assert told["verdict"] == "violated"
    (violation,) = told["violations"]
    assert violation["invariant"] == "Lockstep"
    assert violation["scenario"] == "edges: a"
    assert len(violation["script"]) == violation["requests"] == 4
    assert violation["trace"]["events"][-1].startswith("cancel('a')")
    assert json.loads(violation["received"])["taken"] == 1
    assert "timing" not in told
    assert told["covered"]["edges"]["edges_covered"] < told["covered"]["edges"]["edges"]


def test_a_counterexample_is_written_in_every_form_that_a_port_can_have(leaky: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    result = run("port", *QUICK, "--traces", str(folder), "--format", "json", "--", *leaky)
    (told,) = json.loads(result.stdout)["traces"]
    assert told["not_written"] == {
        "pytest": "a port is no class that a test could import",
        "asyncio": "a history of calls has no runs that could be tasks",
        "tla": "a history of calls has no scenario, which the specification needs",
    }
    assert set(told["files"]) == set(FORMS) - set(told["not_written"])
    assert {path.name for path in folder.iterdir()} == {name for names in told["files"].values() for name in names}
    assert "cancel('a')" in (folder / "Lockstep.txt").read_text(encoding="utf-8")


def test_timing_is_told_apart() -> None:
    told = json.loads(run("port", *QUICK[:-1], "--format", "json", "--", *ADAPTED).stdout)
    assert told["timing"]["messages_per_second"] > 0


def test_a_breach_of_the_protocol_is_a_verdict_with_the_last_exchange(tmp_path: Path) -> None:
    script = tmp_path / "fault.jsonl"
    result = run("port", *QUICK, "--script", str(script), "--", *HOSTILE["prints a banner"].command)
    assert result.exit_code == 1
    assert 'sent:     {"op":"hello"}' in result.stdout
    assert "received: Server ready" in result.stdout
    assert "verdict: violated (Protocol: garbage)" in result.stdout
    assert script.read_text() == ""  # it comes before any request


def test_what_a_port_prints_cannot_write_to_the_terminal() -> None:
    result = run("port", *QUICK, "--", *HOSTILE["prints bytes"].command)
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    assert r"\xff\x1b[31m" in result.stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["port"], "Missing argument"),
        (["port", "--", "no-such-program"], "cannot start 'no-such-program'"),
        (["port", "--runs", "0", "--", "true"], "0 is not in the range"),
        (["port", "--cap", "0", "--", "true"], "a cap is an integer from 1"),
        (["port", "--timeout", "0", "--", "true"], "0: a number of seconds is more than 0"),
        (["port", "--timeout", "nan", "--", "true"], "nan: a number of seconds is more than 0"),
        (["port", "--max-seconds", "inf", "--", "true"], "inf: a number of seconds is 0 or more"),
        (["port", "--level", "deepest", "--", "true"], "is not one of"),
        (["vectors"], "Missing argument"),
        (["vectors", "/dev/null/x"], "/dev/null/x: "),
    ],
)
def test_bad_input_is_said_in_a_line(args: list[str], says: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert says in result.output
    assert "Traceback" not in result.output


def test_time_that_is_over_is_undetermined() -> None:
    result = run("port", "--max-seconds", "0", "--", *ADAPTED)
    assert result.exit_code == 3
    assert "undetermined: the 0 s for the whole check are over" in result.stdout


def test_a_check_that_is_ended_ends_its_port(tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    reading = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    program = f"import os, time; os.write(os.open({str(told)!r}, os.O_WRONLY), b'%d' % os.getpid()); time.sleep(1000)"
    command = [sys.executable, "-m", "slotcheck.checks.entry", "port", "--", sys.executable, "-S", "-c", program]
    checking = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert select.select([reading], [], [], 60)[0], "the port was never started"
        pid = int(os.read(reading, 20))
        checking.terminate()
        _, errors = checking.communicate(timeout=60)
    finally:
        checking.kill()
        os.close(reading)
    assert checking.returncode == 3
    assert errors == "slotcheck: interrupted, so undetermined\n"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_vectors_are_written(tmp_path: Path) -> None:
    result = run("vectors", str(tmp_path / "here"), "--format", "json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["vectors"] == 1
    assert told["covered"]["edges"] == sum(part["edges"] for part in told["parts"]) > 5_000
    assert {path.name for path in (tmp_path / "here").iterdir()} == {
        "README.md",
        "vectors.schema.json",
        *[f"{part['name']}.jsonl" for part in told["parts"]],
    }
