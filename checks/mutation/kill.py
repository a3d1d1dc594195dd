"""Decides whether one mutation is seen: exit code 1, and in the last line what saw it, or 0.

Quick things first: most mutations are seen within a second.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.conformance import refuses_bad_caps
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.histories import play_histories
from slotcheck.checks.mutation.session import MODULES
from slotcheck.checks.subject import ClassSubject, resolve_subject
from slotcheck.pymodel.rules import RULES

__all__ = ["main"]


def main(module: str, tests: str | None = None) -> int:
    """Whether this module, as it is found on the path, is seen to be faulty: 1, or 0."""
    seen = next(_seen(module, tests), None)
    if seen is None:
        return 0
    print(seen)
    return 1


def _seen(module: str, tests: str | None) -> Iterator[str]:
    """What sees a fault, as it is found."""
    importlib.import_module(f"slotlending.{module}")  # a mutation that cannot be imported is seen by everybody
    subject = resolve_subject("pool")
    assert isinstance(subject, ClassSubject)
    if refuses_bad_caps(subject) is not None:
        yield "Refused"
    yield from _explored(subject, 2)
    yield from (trace.invariant for trace in play_histories(subject, RULES["lend"]).traces)
    yield from _explored(subject, 3)
    if tests is not None:
        yield from _tested([Path(tests) / f"{name}.py" for name in MODULES[module]])


def _explored(subject: ClassSubject, runs: int) -> Iterator[str]:
    for part in parts_of(generated_scenarios(runs)):
        if len(part.scenario.runs) == runs or runs == 2:
            yield from (trace.invariant for trace in check_part(part, subject).traces)


def _tested(files: Sequence[Path]) -> Iterator[str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *map(str, files)]
    done = subprocess.run(command, cwd=files[0].parents[1], capture_output=True, text=True, check=False)
    if done.returncode:
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        yield failed[0] if failed else f"pytest ended with exit code {done.returncode}"


_: Callable[..., int] = main

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
