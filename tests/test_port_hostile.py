"""Ports that do anything but answer: each gets a verdict that says which, in time, and nothing is left of it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from port_programs import ADAPTER, HOSTILE, Hostile

from slotcheck.checks.port.check import PortReport, PortSettings, check_port
from slotcheck.checks.port.process import MOST_BYTES, PortFaultError, PortProcess, StartError, shown
from slotcheck.pymodel.explore import Verdict

SHORT = 0.3  # seconds for an answer, of a port that is waited for in vain
LONG = 30.0  # seconds for one that is heard to its end, whatever else this machine does


def breach_of(report: PortReport) -> PortFaultError:
    assert report.verdict is Verdict.VIOLATED
    assert report.violation is not None
    assert report.violation.fault.invariant == "Protocol"
    breach = report.violation.fault.breach
    assert breach is not None
    return breach


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_port_is_told_by_what_it_does(name: str) -> None:
    hostile = HOSTILE[name]
    timeout = SHORT if hostile.kind in ("hangs", "half a line") else LONG
    breach = breach_of(check_port(hostile.command, PortSettings(levels=("vectors",), timeout=timeout)))
    assert breach.kind == hostile.kind, breach
    assert hostile.says in f"{breach.message} {breach.received} {breach.stderr}"
    assert breach.sent.startswith('{"op":')  # the last exchange is shown
    assert len(breach.received) < 300
    assert (breach.received + breach.stderr).isprintable()


def test_a_port_that_lives_on_when_its_input_has_ended_is_told(tmp_path: Path) -> None:
    ends = f"import runpy; runpy.run_path({str(ADAPTER)!r}, run_name='__main__');"
    for last, kind, says in (
        ("import time; time.sleep(1000)", "does not end", "still runs"),
        ("raise SystemExit(7)", "exits", "exit status 7"),
        ("print('bye')", "unasked", "without a request"),
    ):
        port = PortProcess([sys.executable, "-c", f"{ends} {last}"], LONG)
        assert port.exchange(['{"op":"hello"}'])[0]["protocol"] == 1
        port.timeout = SHORT if kind == "does not end" else LONG
        with pytest.raises(PortFaultError, match=says) as caught:
            port.end()
        assert caught.value.kind == kind


def test_a_port_that_claims_batches_and_has_none_is_told(tmp_path: Path) -> None:
    program = f"""
import runpy
port = runpy.run_path({str(ADAPTER)!r})
whole = port["Adapter"]._answer
port["Adapter"]._answer = lambda self, said: {{}} if "ops" in said else whole(self, said)
port["main"]()
"""
    command = [sys.executable, "-c", program]
    report = check_port(command, PortSettings(levels=("random",), histories=1, timeout=LONG))
    breach = breach_of(report)
    assert breach.kind == "wrong type"
    assert "a batch of 100 is answered with an array" in breach.message
    assert report.violation is not None
    assert report.violation.remark.endswith("it is the batch that is not")


def test_nothing_is_left_of_a_port_not_even_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = f"""
child = os.fork()
if child == 0:
    import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
with open({str(pids)!r}, "w") as file: file.write(f"{{os.getpid()}} {{child}}")
greet(); hear(); say("no")
time.sleep(1000)
"""
    report = check_port(Hostile(program, "garbage").command, PortSettings(levels=("vectors",), timeout=LONG))
    assert breach_of(report).kind == "garbage"
    for pid in map(int, pids.read_text().split()):
        deadline = time.monotonic() + LONG
        while _runs(pid) and time.monotonic() < deadline:
            pass
        assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and whose parent has not looked yet does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_command_that_cannot_be_started_is_no_port(tmp_path: Path) -> None:
    for command in ("no-such-program", str(tmp_path), "a\0b"):
        with pytest.raises(StartError, match="cannot start"):
            check_port([command], PortSettings())


def test_what_a_port_prints_is_shown_bounded_and_on_one_line() -> None:
    assert shown(b"a\nb\x1b[31m\xff\x00") == r"a\nb\x1b[31m\xff\x00"
    assert shown("\u202e" + "x" * 500) == r"\u202e" + "x" * 199 + "... (501 characters)"
    assert shown(b"x" * (MOST_BYTES + 1)).endswith("... (1,048,577 bytes)")
