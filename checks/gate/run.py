"""Running the pieces of a gate, one after the other, each in a process of its own.

A piece's command prints one JSON object and ends with the exit code of its verdict. Whatever else it does (no object,
another exit code, too long, killed) is undetermined, never green.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from slotcheck.checks.command import BAD_INPUT, EXIT_CODES
from slotcheck.checks.gate.inputs import Inputs
from slotcheck.checks.gate.piece import Piece, PieceResult, Source
from slotcheck.checks.gate.store import Kept, Store
from slotcheck.pymodel.result import Verdict

__all__ = ["SLOTCHECK", "Skip", "run_pieces"]

#: How the suite's own commands are started: in one group of processes, which can be ended as a whole. The folder that
#: they run in is not on Python's path, or a file of the user's could stand for a module of ours.
SLOTCHECK = (sys.executable, "-P", "-c", "from slotcheck.checks.cli import main; main(prog_name='slotcheck')")

_TICK = 0.05  # seconds between two looks at a process
_GRACE = 5.0  # seconds that a process has to end after it was asked to
_TAIL = 2_000  # characters of what a failed command said
_MOST = 512 << 20  # bytes of a report; more is no report

_EXIT_CODES = {verdict.value: code for verdict, code in EXIT_CODES.items()}

#: Why a piece is left out; None to run it.
Skip = Callable[[Piece], Source | None]


def run_pieces(
    pieces: Sequence[Piece],
    inputs: Inputs,
    store: Store | None,
    *,
    folder: Path,
    traces: Path | None = None,
    skip: Skip = lambda piece: None,
    tell: Callable[[Piece, float], None] = lambda piece, seconds: None,
    program: Sequence[str] = SLOTCHECK,
) -> Iterator[PieceResult]:
    """The pieces' results in order. Only results that hold are kept: what is red is looked at anew.

    Args:
        inputs: what they depend on.
        store: where results are kept; None to run everything anew and keep nothing.
        folder: the project's, in which they run.
        traces: where counterexamples go, in all their forms: a folder for each piece that has any.
        skip: which to leave out, and why.
        tell: told now and then which piece has run for how many seconds.
        program: what runs a piece's command.
    """
    for piece in pieces:
        left_out = skip(piece)
        if left_out is Source.SKIPPED:
            yield PieceResult(piece, left_out)
            continue
        key = inputs.key(piece.command, piece.needs)
        kept = None if store is None else store.get(piece.kept_as, key)
        if kept is not None and kept.report.get("verdict") == Verdict.HOLDS.value:
            yield _result(piece, Source.CACHE, kept)
            continue
        if left_out is not None:
            yield PieceResult(piece, left_out)
            continue
        if piece.absent is not None:
            yield PieceResult(piece, Source.RUN, Verdict.UNDETERMINED, why=[piece.absent])
            continue
        command = [*program, *piece.command]
        if traces is not None and piece.has_traces:
            command[len(program) + 1 : len(program) + 1] = ["--traces", str(traces / piece.name.replace(":", "-"))]
        ended = _run(piece, command, folder, lambda seconds, piece=piece: tell(piece, seconds))  # type: ignore[misc]
        result = _result(piece, Source.RUN, ended) if isinstance(ended, Kept) else ended
        if isinstance(ended, Kept) and store is not None and result.verdict is Verdict.HOLDS:
            store.put(piece.kept_as, key, ended)
        yield result


def _run(piece: Piece, command: Sequence[str], folder: Path, tell: Callable[[float], None]) -> Kept | PieceResult:
    """Build if need be, run, and read what it printed."""
    where = piece.folder or folder
    seconds = 0.0
    for building in piece.build:
        built = _process(building, where, piece.limit, tell)
        if built.exit_code != 0:
            return _failed(piece, built, f"`{' '.join(building)}` ended {built.ended}")
        seconds += built.seconds
    done = _process(command, where, piece.limit, tell)
    if done.exit_code is None:
        return _failed(piece, done, f"ended after {piece.limit:g} s")
    try:
        report = json.loads(done.printed)
    except ValueError:
        return _failed(piece, done, f"ended {done.ended}, and printed no result")
    if not isinstance(report, dict) or report.get("verdict") not in _EXIT_CODES:
        return _failed(piece, done, f"ended {done.ended}, and printed no verdict")
    return Kept(done.exit_code, report, seconds + done.seconds, done.memory)


def _result(piece: Piece, source: Source, kept: Kept) -> PieceResult:
    """Judge what a command printed: nothing is green that does not say so twice, and say what it covered."""
    report = kept.report
    result = PieceResult(piece, source, Verdict(report["verdict"]), report, [], kept.seconds, kept.memory)
    result.why += [str(why) for why in report.get("undetermined", ())]
    if _EXIT_CODES[report["verdict"]] != kept.exit_code:
        result.verdict = Verdict.UNDETERMINED
        result.why.append(f"it says {report['verdict']}, but ended with exit code {kept.exit_code}")
    if result.verdict is Verdict.HOLDS and (not any(result.facts.values()) or not report.get("parts")):
        result.verdict = Verdict.UNDETERMINED
        result.why.append("nothing was checked")
    return result


def _failed(piece: Piece, done: _Done, why: str) -> PieceResult:
    said = done.said.strip()
    told = [why, *([f"it said: {said}"] if said else [])]
    refused = said if done.exit_code == BAD_INPUT and not done.printed else None
    return PieceResult(piece, Source.RUN, Verdict.UNDETERMINED, {}, told, done.seconds, done.memory, refused)


# -- processes ---------------------------------------------------------------------------------------------------


class _Done(NamedTuple):
    #: None if it was ended for taking too long.
    exit_code: int | None
    printed: str
    #: The end of what it said besides.
    said: str
    seconds: float
    memory: int

    @property
    def ended(self) -> str:
        code = self.exit_code
        return "for its time limit" if code is None else f"with exit code {code}" if code >= 0 else f"by signal {-code}"


def _process(command: Sequence[str], folder: Path, limit: float, tell: Callable[[float], None]) -> _Done:
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
            return _Done(127, "", f"{command[0]}: {error.strerror}", 0.0, 0)
        too_long = False
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                seconds = time.monotonic() - started
                if seconds > limit:
                    too_long = True
                    status, usage = _end(process.pid)
                    break
                tell(seconds)
                time.sleep(_TICK)
        except BaseException:
            _end(process.pid)
            raise
        finally:
            process.returncode = 0  # it has been waited for here
            _end_group(process.pid)
        code = None if too_long else os.waitstatus_to_exitcode(status)
        memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return _Done(code, _text(out, _MOST), _text(err, _TAIL, end=True), time.monotonic() - started, memory)


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


def _end_group(pid: int) -> None:
    """End what it left behind."""
    _signal(pid, signal.SIGKILL, group=True)


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
