"""Work on several processes: in order, never hanging, and no worker left behind."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from processes import runs, wait_until

from slotcheck.checks import processes
from slotcheck.checks.processes import in_order, time_left
from slotcheck.pymodel.explore import Limits


def slow_first(number: int) -> int:
    time.sleep(0.2 if number == 0 else 0)
    return number * number


def dies_at_two(number: int) -> int:
    if number == 2:
        time.sleep(0.3)  # not before all is handed out
        os._exit(3)
    return number


def fails_at_two(number: int) -> int:
    if number == 2:
        raise ZeroDivisionError("two")
    return number


def sleeps(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def tells(_: int) -> tuple[str, int]:
    return _told, os.getpid()


_told = ""


def tell(what: str) -> None:
    global _told
    _told = what


#: A pool whose first question takes for ever in a worker, which notes that it is there.
SLOW = """
import multiprocessing, os, time
from slotlending import Pool

class Slow(Pool):
    def ask(self, *args, **named):
        if multiprocessing.parent_process() is None:
            return super().ask(*args, **named)
        with open("pids", "a") as pids:
            print(os.getpid(), file=pids, flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        signal.SIGINT,
        pytest.param(
            signal.SIGKILL, marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of that")
        ),
    ],
)
@pytest.mark.parametrize("command", [["check"], ["gate", "--lane", "deep", "--only", "check"]], ids=lambda one: one[0])
def test_whatever_ends_a_command_leaves_no_process_behind(
    tmp_path: Path, command: list[str], number: signal.Signals
) -> None:
    (tmp_path / "my.py").write_text(SLOW)
    entry = [sys.executable, "-m", "slotcheck.checks.entry", *command, "--subject", "my:Slow", "--jobs", "2"]
    quiet = subprocess.DEVNULL
    started = subprocess.Popen(entry, cwd=tmp_path, stdout=quiet, stderr=quiet)
    pids = tmp_path / "pids"
    try:
        workers = min(2, os.cpu_count() or 1)
        wait_until(lambda: pids.exists() and pids.read_text().count("\n") == workers)
        started.send_signal(number)
        code = started.wait(60)
    finally:
        started.kill()
        started.wait()
    assert code == (-number if number == signal.SIGKILL else 3)
    wait_until(lambda: not any(runs(int(pid)) for pid in pids.read_text().split()))


DEAF = (
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('there', 'w').close()\ntime.sleep(600)\n"
)


def test_a_command_that_does_not_end_when_it_is_asked_to_is_ended_and_told_so(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(DEAF)
    program = "from slotcheck.checks import entry; entry._GRACE = 1; entry.run()"
    command = [sys.executable, "-c", program, "check", "--subject", "my:Pool"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as asked:
        wait_until((tmp_path / "there").exists)
        asked.terminate()
        _, told = asked.communicate(timeout=60)
    assert asked.returncode == 3
    assert told == "slotcheck: interrupted, and the process that checked did not end within 1 s: undetermined\n"


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_results_come_in_the_order_of_the_work(jobs: int) -> None:
    assert list(in_order(slow_first, range(5), jobs=jobs)) == [0, 1, 4, 9, 16]


def test_no_work_gives_nothing() -> None:
    assert list(in_order(slow_first, [], jobs=0)) == []


def test_workers_are_set_up_first_and_are_not_this_process() -> None:
    told = list(in_order(tells, range(3), jobs=2, initializer=tell, initargs=("ready",)))
    assert {what for what, _ in told} == {"ready"}
    assert os.getpid() not in {process for _, process in told}
    assert _told == ""


def test_a_worker_that_dies_breaks_the_work_off() -> None:
    results = in_order(dies_at_two, range(5), jobs=1)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(BrokenProcessPool):
        next(results)


def test_an_error_of_the_work_comes_to_the_caller_in_its_place() -> None:
    results = in_order(fails_at_two, range(5), jobs=2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ZeroDivisionError, match="two"):
        next(results)
    assert list(results) == []


def test_a_worker_that_goes_on_after_the_deadline_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.1)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        list(in_order(sleeps, [60], jobs=1, deadline=started + 0.2))
    assert time.monotonic() - started < 30


def test_work_done_within_the_grace_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 30.0)
    assert len(list(in_order(sleeps, [0.05], jobs=1, deadline=time.monotonic() - 1))) == 1


def test_a_deadline_that_never_comes_is_none() -> None:
    assert list(in_order(slow_first, [1], jobs=1, deadline=math.inf)) == [1]


def test_closing_ends_the_workers_at_once() -> None:
    results = in_order(sleeps, [0, 60, 60], jobs=2)
    worker = next(results)
    results.close()
    for _ in range(100):
        if not alive(worker):
            break
        time.sleep(0.05)
    assert not alive(worker)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_several_explorations_share_their_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes.time, "monotonic", lambda: 103.0)
    assert time_left(Limits(states=7, seconds=10), 100.0) == Limits(states=7, seconds=7)
    assert time_left(Limits(seconds=2), 100.0) == Limits(seconds=0)
    assert time_left(Limits(states=7), 100.0) == Limits(states=7)
