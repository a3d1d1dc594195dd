"""Running `cosmic-ray` over a module, in a copy, so that it can go on where it was stopped.

The copy and the library's database stand in a folder that is named after all that the outcome depends on: another suite
or another pool begins anew, the same one goes on.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

__all__ = ["MODULES", "Mutation", "MutationError", "mutate"]

#: The modules that are mutated, of the package `slotlending`, and the tests of this project that are about them.
MODULES: Mapping[str, tuple[str, ...]] = {
    "pool": ("test_pool", "test_explain"),
    "order": ("test_order", "test_pool"),
    "permit": ("test_permit",),
}

_TIMEOUT = 120.0  # seconds for one mutation: some ten times what one takes that survives everything
#: Changes to what is never evaluated, annotations: `int | None` is the only use of that operator.
_NEVER_EVALUATED = ("core/ReplaceBinaryOperator_BitOr_.*",)

KILLED, HANGS, SURVIVED, EQUIVALENT, PENDING = "killed", "hangs", "survived", "equivalent", "pending"


class MutationError(RuntimeError):
    """The mutations could not be made or judged."""


@dataclass(frozen=True)
class Mutation:
    """One small change to one module.

    Attributes:
        outcome: "killed", "hangs" (killed for its time limit), "survived", "equivalent", or "pending".
        by: what killed it, in the words of the killer; for an equivalent one the reason.
    """

    module: str
    function: str
    line: int
    operator: str
    before: str
    after: str
    outcome: str
    by: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What names it, wherever its line moves to."""
        return self.module, self.function, self.before, self.after


def mutate(
    module: str, folder: Path, tests: Path | None, progress: Callable[[int, int], None] = lambda done, all_: None
) -> Iterator[Mutation]:
    """Judge every mutation of a module.

    Args:
        folder: where to work and to go on from.
        tests: the folder of this project's tests; None to let the checks alone decide.
        progress: told how many are done of how many.

    Raises:
        MutationError: `cosmic-ray` failed, or the killer kills the module as it is.
    """
    copy = _copy(folder)
    target = copy / "slotlending" / f"{module}.py"
    killer = [sys.executable, "-m", "slotcheck.checks.mutation.kill", module, *(() if tests is None else (str(tests),))]
    session, config = folder / f"{module}.sqlite", folder / f"{module}.toml"
    config.write_text(_config(target.relative_to(copy), killer))
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    if not session.exists():
        _call(["cosmic_ray.cli", "init", str(config), str(session)], copy, environment)
        _call(["cosmic_ray.tools.filters.operators_filter", str(session), str(config)], copy, environment)
        alive = subprocess.run(killer, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        if alive.returncode:
            session.unlink()
            raise MutationError(f"the killer kills {module}.py as it is: {alive.stdout.strip() or alive.stderr.strip()}")
    running = subprocess.Popen(
        [sys.executable, "-m", "cosmic_ray.cli", "exec", str(config), str(session)],
        cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        while True:
            try:
                said, _ = running.communicate(timeout=2)
                break
            except subprocess.TimeoutExpired:
                progress(*_counts(session))
    except BaseException:
        running.kill()
        running.wait()
        raise
    if running.returncode:
        raise MutationError(f"cosmic-ray ended with exit code {running.returncode}: {said.strip()[-500:]}")
    yield from _outcomes(module, session)


def _copy(folder: Path) -> Path:
    """A fresh copy of the package (an interrupted run leaves a mutation in its own)."""
    spec = importlib.util.find_spec("slotlending")
    assert spec is not None
    assert spec.submodule_search_locations
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(
        Path(next(iter(spec.submodule_search_locations))), copy / "slotlending", ignore=shutil.ignore_patterns("__pycache__")
    )
    return copy


def _config(target: Path, killer: Sequence[str]) -> str:
    return "\n".join(
        [
            "[cosmic-ray]",
            f"module-path = {json.dumps(str(target))}",
            f"timeout = {_TIMEOUT}",
            "excluded-modules = []",
            f"test-command = {json.dumps(shlex.join(killer))}",
            "[cosmic-ray.distributor]",
            'name = "local"',
            "[cosmic-ray.filters.operators-filter]",
            f"exclude-operators = {json.dumps(list(_NEVER_EVALUATED))}",
            "",
        ]
    )


def _call(module: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *module], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MutationError(f"{' '.join(module[:2])} failed: {(done.stderr or done.stdout).strip()[-500:]}")


def _counts(session: Path) -> tuple[int, int]:
    from cosmic_ray.work_db import WorkDB, use_db

    with use_db(str(session), WorkDB.Mode.open) as db:
        return db.num_results, db.num_work_items


def _outcomes(module: str, session: Path) -> Iterator[Mutation]:
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import TestOutcome, WorkerOutcome

    reasons = equivalents()
    with use_db(str(session), WorkDB.Mode.open) as db:
        results = dict(db.results)
        for item in db.work_items:
            result = results.get(item.job_id)
            if result is not None and result.worker_outcome is WorkerOutcome.SKIPPED:
                continue
            (made,) = item.mutations
            before, after = _change(None if result is None else result.diff)
            outcome, by = PENDING, ""
            if result is not None:
                by = (result.output or "").strip().splitlines()[-1:] and (result.output or "").strip().splitlines()[-1]
                outcome = SURVIVED if result.test_outcome is TestOutcome.SURVIVED else HANGS if by == "timeout" else KILLED
            found = Mutation(
                module, made.definition_name or "", made.start_pos[0], made.operator_name, before, after, outcome, str(by)
            )
            if outcome == SURVIVED and found.identity in reasons:
                found = Mutation(**{**found.__dict__, "outcome": EQUIVALENT, "by": reasons[found.identity]})
            yield found


def _change(diff: str | None) -> tuple[str, str]:
    """The lines taken out and put in, without their indentation."""
    if diff is None:
        return "", ""
    lines = diff.splitlines()
    out = [line[1:].strip() for line in lines if line.startswith("-") and not line.startswith("---")]
    into = [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]
    return "\n".join(out), "\n".join(into)


def equivalents() -> dict[tuple[str, str, str, str], str]:
    """The mutations that change nothing that anybody can see, each with the reason."""
    listed = json.loads(files("slotcheck.checks.mutation").joinpath("equivalent.json").read_text())
    return {(one["module"], one["function"], one["before"], one["after"]): one["reason"] for one in listed}
