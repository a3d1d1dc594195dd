"""One program, run to its end in a group of processes of its own: what it printed, said, took and used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import IO, Any, NamedTuple

__all__ = ["Ended", "run_process"]

_TICK = 0.05  # seconds between two looks at a process
_GRACE = 5.0  # seconds that a process has to end after it was asked to
_TAIL = 2_000  # characters of what a failed command said
_MOST = 512 << 20  # bytes of what it may print; more is cut off


class Ended(NamedTuple):
    """A program that has ended, or was."""

    #: Negative for a signal, as `subprocess` has it; None if it was ended from here.
    exit_code: int | None
    printed: str
    #: The end of what it wrote to stderr.
    said: str
    seconds: float
    #: The most memory that it, or a process it waited for, had in use: bytes.
    memory: int

    @property
    def how(self) -> str:
        """How it ended, in words."""
        code = self.exit_code
        return "before its end" if code is None else f"with exit code {code}" if code >= 0 else f"by signal {-code}"


def run_process(command: Sequence[str], folder: Path, limit: float, stop: Event) -> Ended:
    """Run it to its end, at most ``limit`` seconds and until ``stop`` is set; nothing that it started outlives it.

    A program that is not there ends with 127, as in a shell.
    """
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env=_environment(),
            )
        except OSError as error:
            return Ended(127, "", f"{command[0]}: {error.strerror}", 0.0, 0)
        ended_here = False
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if stop.is_set() or time.monotonic() - started > limit:
                    ended_here = True
                    status, usage = _end(process.pid)
                    break
                time.sleep(_TICK)
        except BaseException:
            _end(process.pid)
            raise
        finally:
            process.returncode = 0  # it has been waited for here
            _signal(process.pid, signal.SIGKILL, group=True)  # what it left behind
        code = None if ended_here else os.waitstatus_to_exitcode(status)
        memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return Ended(code, _text(out, _MOST), _text(err, _TAIL, end=True), time.monotonic() - started, memory)


def _environment() -> Mapping[str, str]:
    """Ours, without what colours or cuts the output of a program that is not on a terminal."""
    return {**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}


def _end(pid: int) -> tuple[int, Any]:
    """Ask a process to end, then end it; its status and what it used."""
    _signal(pid, signal.SIGINT)
    deadline = time.monotonic() + _GRACE
    while time.monotonic() < deadline:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return status, usage
        time.sleep(_TICK)
    _signal(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return status, usage


def _signal(pid: int, number: int, *, group: bool = False) -> None:
    try:
        (os.killpg if group else os.kill)(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:  # macOS says so of a group whose last process has ended
        pass


def _text(file: IO[bytes], most: int, *, end: bool = False) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - most, 0) if end else 0)
    return file.read(most).decode(errors="replace")
