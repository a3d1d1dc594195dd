"""Running `cosmic-ray` over a module, in a copy, so that it can go on where it was stopped.

The copy and the library's database stand in a folder that is named after all that the outcome depends on: with another
suite, another package or other tests everything begins anew, with the same it goes on.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

from slotcheck.checks.gate.inputs import Group, Inputs, suite_groups
from slotcheck.checks.gate.store import make_kept_folder
from slotcheck.checks.mutation.killer import Seen, tests_about
from slotcheck.checks.mutation.mutation import Mutation, Outcome

__all__ = ["INSTALL", "LEFT_OUT", "MutationError", "Session", "tool_is_missing"]

INSTALL = "pip install 'slotcheck[mutation]'"

_STAR = "core/ReplaceBinaryOperator_Mul_.*"
_ORDER_OF_NAMES = "core/ReplaceComparisonOperator_(Eq|NotEq)_(Lt|LtE|Gt|GtE)"

#: Kinds of change that say nothing, as patterns of the library's names for them, each with the reason.
LEFT_OUT: Mapping[str, str] = {
    _ORDER_OF_NAMES: "one name before another in the alphabet, where phases, tokens and orders are compared: left out "
    "only there, where a constant in capitals follows",
    _STAR: "the `*` of a signature, which is no product: left out only there",
    "core/ReplaceBinaryOperator_BitOr_.*": "`|` stands in annotations only, which are never evaluated",
    "core/ReplaceComparisonOperator_(Eq_Is|NotEq_IsNot|Is_Eq|IsNot_NotEq)": "identity in place of equality, or the "
    "other way round: of names that are the same strings, and of None, it is no change",
}

KILLER = (sys.executable, "-P", "-m", "slotcheck.checks.mutation.killer")

_TIMEOUT = 900.0  # seconds for one mutation: the killer's own limits are of processor time, and come first
_PROGRESS = 2.0  # seconds between two looks at how far it is
_TAIL = 500  # characters of what a program said that failed
_GRACE = 10.0  # seconds that the library has to end after it was asked to


class MutationError(RuntimeError):
    """The mutations could not be made or judged."""


def tool_is_missing() -> str | None:
    """Why no mutation can be made; None if they can."""
    return None if importlib.util.find_spec("cosmic_ray") else f"cosmic-ray is not installed: {INSTALL}"


class Session:
    """The mutations of one module.

    Args:
        module: a key of `MODULES`.
        folder: where sessions are kept, each in a folder of its own.
        tests: the folder of this project's tests; None to let the checks alone decide.
        package: the folder of the package, as it is imported by default.
        killer: the command that judges the module that it finds on Python's path.
    """

    def __init__(
        self,
        module: str,
        folder: Path,
        tests: Path | None,
        package: Path | None = None,
        killer: Sequence[str] = KILLER,
    ) -> None:
        self.module = module
        self._tests = None if tests is None else tests.resolve()
        self._package = package or _package()
        self._killer = [*killer, module, *([] if self._tests is None else [str(self._tests)])]
        self._folder = (folder / f"{module}-{self._key()[:16]}").resolve()
        self._copy = self._folder / "copy"
        self._database, self._config = self._folder / "session.sqlite", self._folder / "session.toml"

    def run(self, progress: Callable[[int, int], None] = lambda done, all_: None, stop: Event | None = None) -> None:
        """Judge every mutation that is not yet judged.

        Args:
            progress: told how many are done of how many.
            stop: once it is set, what runs is ended; the next run goes on from there.

        Raises:
            MutationError: `cosmic-ray` failed, or the killer does not pass the module as it is.
        """
        self._make_copy()
        if not self.begun:
            self._begin()
        command = [sys.executable, "-m", "cosmic_ray.cli", "exec", self._config.name, self._database.name]
        running = subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            while True:
                try:
                    _, said = running.communicate(timeout=_PROGRESS)
                    break
                except subprocess.TimeoutExpired:
                    progress(*self._counts())
                    if stop is not None and stop.is_set():
                        return
        finally:
            _end(running)
        if running.returncode:
            raise MutationError(f"cosmic-ray ended with exit code {running.returncode}: {said.strip()[-_TAIL:]}")
        progress(*self._counts())

    @property
    def begun(self) -> bool:
        """Whether its mutations have been listed."""
        return self._database.exists()

    def mutations(self) -> tuple[list[Mutation], int]:
        """All of them as they stand now, and how many of a kind that says nothing were left out."""
        from cosmic_ray.work_db import WorkDB, use_db  # type: ignore[import-untyped]
        from cosmic_ray.work_item import WorkerOutcome  # type: ignore[import-untyped]

        found, left_out = [], 0
        with use_db(str(self._database), WorkDB.Mode.open) as database:
            results = dict(database.results)
            for item in database.work_items:
                result = results.get(item.job_id)
                if result is not None and result.worker_outcome is WorkerOutcome.SKIPPED:
                    left_out += 1
                    continue
                (made,) = item.mutations
                mutation = Mutation(self.module, made.definition_name or "", made.start_pos[0], made.operator_name)
                if result is not None:
                    before, after = _change(result.diff or "")
                    mutation = _judged(replace(mutation, before=before, after=after), result.output or "")
                found.append(mutation)
        return found, left_out

    def _key(self) -> str:
        tests = () if self._tests is None else tuple(tests_about([self.module], self._tests))
        suite, tools = (one for one in suite_groups() if one.name in ("suite", "tools"))
        # What is listed as equivalent is judged when the mutations are read.
        suite = replace(suite, without=(*suite.without, Path(__file__).with_name("equivalent.json")))
        inputs = Inputs([suite, tools, Group("package", (self._package,)), Group("tests", tests)])
        return inputs.key((*self._killer, *LEFT_OUT), [*inputs.groups])

    def _make_copy(self) -> None:
        """A fresh copy of the package: an interrupted run leaves a mutation in its own."""
        shutil.rmtree(self._copy, ignore_errors=True)
        make_kept_folder(self._folder.parent)
        self._folder.mkdir(exist_ok=True)
        shutil.copytree(self._package, self._copy / "slotlending", ignore=shutil.ignore_patterns("__pycache__"))

    def _begin(self) -> None:
        target = Path("copy") / "slotlending" / f"{self.module}.py"
        self._config.write_text(_config(target, self._killer))
        alive = self._call(self._killer)
        if alive.returncode or _seen(alive.stdout) != Seen(None):
            said = (alive.stdout + alive.stderr).strip()[-_TAIL:]
            raise MutationError(f"{self.module}.py as it is does not pass: {said}")
        fresh = self._database.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        for command in (
            ["cosmic_ray.cli", "init", self._config.name, fresh.name],
            ["cosmic_ray.tools.filters.operators_filter", fresh.name, self._config.name],
        ):
            done = self._call([sys.executable, "-m", *command])
            if done.returncode:
                raise MutationError(f"{' '.join(command[:2])} failed: {(done.stderr or done.stdout).strip()[-_TAIL:]}")
        self._leave_out(fresh)
        fresh.rename(self._database)  # whole, or not there

    def _leave_out(self, database: Path) -> None:
        """What says nothing only in some places: the library's filter knows the kind of change only."""
        from cosmic_ray.work_db import WorkDB, use_db
        from cosmic_ray.work_item import WorkerOutcome, WorkResult

        lines = (self._copy / "slotlending" / f"{self.module}.py").read_text().splitlines()
        with use_db(str(database), WorkDB.Mode.open) as work:
            for item in work.pending_work_items:
                (made,) = item.mutations
                line, column = made.end_pos
                follows = lines[line - 1][column:]
                names = re.fullmatch(_ORDER_OF_NAMES, made.operator_name) and re.match(r" ?[A-Z_]{2,}\b", follows)
                signature = re.fullmatch(_STAR, made.operator_name) and follows.startswith(",")
                if names or signature:
                    work.set_result(item.job_id, WorkResult(WorkerOutcome.SKIPPED, "says nothing here"))

    def _call(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self._folder, env=self._environment(), capture_output=True, text=True, check=False
        )

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self._copy)}

    def _counts(self) -> tuple[int, int]:
        from cosmic_ray.work_db import WorkDB, use_db

        with use_db(str(self._database), WorkDB.Mode.open) as database:
            return database.num_results, database.num_work_items


def _package() -> Path:
    spec = importlib.util.find_spec("slotlending")
    assert spec is not None
    return Path(next(iter(spec.submodule_search_locations or ())))


def _config(target: Path, killer: Sequence[str]) -> str:
    lines = [
        "[cosmic-ray]",
        f"module-path = {json.dumps(str(target))}",
        f"timeout = {_TIMEOUT}",
        "excluded-modules = []",
        f"test-command = {json.dumps(shlex.join(killer))}",
        "[cosmic-ray.distributor]",
        'name = "local"',
        "[cosmic-ray.filters.operators-filter]",
        f"exclude-operators = {json.dumps([kind for kind in LEFT_OUT if kind not in (_ORDER_OF_NAMES, _STAR)])}",
    ]
    return "\n".join(lines) + "\n"


def _judged(mutation: Mutation, output: str) -> Mutation:
    """With what its killer printed."""
    if output == "timeout":  # the library's word
        return replace(mutation, outcome=Outcome.HANGS, by="time", told=f"more than {_TIMEOUT:g} s")
    seen = _seen(output)
    if seen is None:
        return replace(mutation, outcome=Outcome.FAILED, told=output.strip()[-_TAIL:] or "the killer printed nothing")
    outcome = Outcome.SURVIVED if seen.by is None else Outcome.HANGS if seen.hangs else Outcome.KILLED
    return replace(mutation, outcome=outcome, by=seen.by, told=seen.what)


def _seen(output: str) -> Seen | None:
    """What the killer printed in its last line; None if that is nothing of its own."""
    lines = output.strip().splitlines()
    try:
        return Seen(**json.loads(lines[-1])) if lines else None
    except (ValueError, TypeError):
        return None


def _change(diff: str) -> tuple[str, str]:
    """The lines taken out and put in, without their indentation."""
    lines = diff.splitlines()
    out = [line[1:].strip() for line in lines if line.startswith("-") and not line.startswith("--- ")]
    into = [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++ ")]
    return "\n".join(out), "\n".join(into)


def _end(running: subprocess.Popen[str]) -> None:
    """End it, if need be. (A killer, in a group of its own, ends once it has.)"""
    if running.poll() is None:
        running.send_signal(signal.SIGINT)
        try:
            running.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
