"""Running the pieces of a gate, some at a time, each in a process of its own.

A piece's command prints one JSON object and ends with the exit code of its verdict. Whatever else it does (no object,
another exit code, too long, killed) is undetermined, never green.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Protocol

from slotcheck.checks.command import BAD_INPUT, EXIT_CODES
from slotcheck.checks.gate.inputs import Inputs
from slotcheck.checks.gate.piece import Piece, PieceResult, Source
from slotcheck.checks.gate.process import Ended, run_process
from slotcheck.checks.gate.store import Kept, Store
from slotcheck.pymodel.result import Verdict

__all__ = ["SLOTCHECK", "Runner", "Skip", "Watch"]

#: How the suite's own commands are started: in one group of processes, which can be ended as a whole. The folder that
#: they run in is not on Python's path, or a file of the user's could stand for a module of ours.
SLOTCHECK = (sys.executable, "-P", "-c", "from slotcheck.checks.entry import command; command()")

_EXIT_CODES = {verdict.value: code for verdict, code in EXIT_CODES.items()}

#: Why a piece is left out; None to run it.
Skip = Callable[[Piece], Source | None]


class Watch(Protocol):
    """Who is told how the run goes on, from whatever thread it is that runs a piece."""

    def begun(self, piece: Piece) -> None:
        """Its process starts now."""

    def ended(self, result: PieceResult) -> None:
        """It has been judged, or left out."""


class Nobody:
    """Looks away."""

    def begun(self, piece: Piece) -> None:
        """Says nothing."""

    def ended(self, result: PieceResult) -> None:
        """Says nothing."""


@dataclass(frozen=True)
class Runner:
    """How pieces are run.

    Attributes:
        inputs: what they depend on.
        store: where results are kept; None to run everything anew and keep nothing.
        folder: the project's, in which they run.
        jobs: how many run at a time.
        traces: where counterexamples go, in all their forms: a folder for each piece that has any.
        skip: which to leave out, and why.
        watch: who is told.
        program: what runs a piece's command.
        stop: once it is set, what runs is ended and nothing is started any more.
    """

    inputs: Inputs
    store: Store | None
    folder: Path
    jobs: int = 1
    traces: Path | None = None
    skip: Skip = lambda piece: None
    watch: Watch = field(default_factory=Nobody)
    program: Sequence[str] = SLOTCHECK
    stop: Event = field(default_factory=Event)

    def run(self, pieces: Sequence[Piece]) -> list[PieceResult]:
        """A result for each, in their order. Only results that hold are kept: what is red is looked at anew."""
        with ThreadPoolExecutor(max(self.jobs, 1)) as threads:
            try:
                return list(threads.map(self._one, pieces))
            except BaseException:
                self.stop.set()  # or leaving the pool would wait for all pieces
                raise

    def _one(self, piece: Piece) -> PieceResult:
        result = PieceResult(piece, Source.NOT_REACHED) if self.stop.is_set() else self._judged(piece)
        self.watch.ended(result)
        return result

    def _judged(self, piece: Piece) -> PieceResult:
        left_out = self.skip(piece)
        if left_out is Source.SKIPPED:
            return PieceResult(piece, left_out)
        key = self.inputs.key(piece.command, piece.needs)
        kept = None if self.store is None else self.store.get(piece.kept_as, key)
        if kept is not None and kept.report.get("verdict") == Verdict.HOLDS.value:
            return _result(piece, Source.CACHE, kept)
        if left_out is not None:
            return PieceResult(piece, left_out)
        if piece.absent is not None:
            return PieceResult(piece, Source.RUN, Verdict.UNDETERMINED, why=[piece.absent])
        self.watch.begun(piece)
        ended = self._run(piece)
        result = _result(piece, Source.RUN, ended) if isinstance(ended, Kept) else ended
        if self.stop.is_set() and result.verdict is Verdict.UNDETERMINED:
            return PieceResult(piece, Source.NOT_REACHED)
        if self.store is None or not isinstance(ended, Kept) or result.verdict is not Verdict.HOLDS:
            return result
        if self._still(piece, key):
            self.store.put(piece.kept_as, key, ended)
        return result

    def _still(self, piece: Piece, key: str) -> bool:
        """Whether its inputs are what they were: what was edited meanwhile may or may not be what ran."""
        return self.inputs.read_again().key(piece.command, piece.needs) == key

    def _run(self, piece: Piece) -> Kept | PieceResult:
        """Build if need be, run, and read what it printed."""
        where = piece.folder or self.folder
        seconds = 0.0
        for building in piece.build:
            built = run_process(building, where, piece.limit, self.stop)
            if built.exit_code != 0:
                return _failed(piece, built, f"`{' '.join(building)}` ended {built.how}")
            seconds += built.seconds
        done = run_process(self._command(piece), where, piece.limit, self.stop)
        if done.exit_code is None:
            return _failed(piece, done, f"ended after {piece.limit:g} s")
        try:
            report = json.loads(done.printed)
        except ValueError:
            return _failed(piece, done, f"ended {done.how}, and printed no result")
        if not isinstance(report, dict) or report.get("verdict") not in _EXIT_CODES:
            return _failed(piece, done, f"ended {done.how}, and printed no verdict")
        return Kept(done.exit_code, report, seconds + done.seconds, done.memory)

    def _command(self, piece: Piece) -> list[str]:
        name, *arguments = piece.command
        if self.traces is not None and piece.has_traces:
            arguments = ["--traces", str(self.traces / piece.name.replace(":", "-")), *arguments]
        return [*self.program, name, *arguments]


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


def _failed(piece: Piece, done: Ended, why: str) -> PieceResult:
    said = done.said.strip()
    told = [why, *([f"it said: {said}"] if said else [])]
    refused = said if done.exit_code == BAD_INPUT and not done.printed else None
    return PieceResult(piece, Source.RUN, Verdict.UNDETERMINED, {}, told, done.seconds, done.memory, refused)
