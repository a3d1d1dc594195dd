"""Decides whether a mutated module is seen, and by what: ``python -m slotcheck.checks.mutation.killer MODULE [TESTS]``.

It prints one line of JSON, a `Seen`, and ends with exit code 1 if a check failed and with 0 if none did. Without that
line it has itself failed, which says nothing about the module.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["IMPORT", "MODULES", "UNIT_TESTS", "Seen", "main", "run_tests", "tests_about"]

#: The modules of `slotlending` that decide who gets a slot or a permit, and the tests of this project about each.
MODULES: dict[str, tuple[str, ...]] = {
    "pool": ("test_pool", "test_errors"),
    "order": ("test_order", "test_pool"),
    "other_orders": ("test_other_orders", "test_order"),
    "permit": ("test_permit", "test_permit_agree", "test_aio_permit"),
}

IMPORT, UNIT_TESTS = "import", "unit tests"

_MEMORY = 4 << 30  # bytes
_TESTS = 600.0  # seconds that the unit tests may take


class Seen(NamedTuple):
    """What became of a module.

    Attributes:
        by: the check that failed; None if none did.
        what: what it said first.
        hangs: whether it was ended for the time that it took.
    """

    by: str | None
    what: str = ""
    hangs: bool = False


def tests_about(modules: Iterable[str], tests: Path) -> list[Path]:
    """The files of a folder of tests that decide about these modules: the tests, and what they may import."""
    names = sorted({f"{name}.py" for module in modules for name in MODULES[module]})
    helpers = (file for file in sorted(tests.glob("*.py")) if not file.name.startswith("test_"))
    return [*(tests / name for name in names), *helpers]


def main(module: str, tests: str | None = None) -> int:
    """Whether this module, as it is found on the path, is seen to be faulty: 1, or 0."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        importlib.import_module(f"slotlending.{module}")
        from slotcheck.checks.mutation.sight import checks_of  # not before: the suite imports the package itself
        from slotcheck.checks.subject import SubjectError
    except Exception as error:
        return _tell(Seen(IMPORT, f"{type(error).__name__}: {error}"))
    for check in checks_of(module):
        _limit_processor(check.name, check.seconds)
        try:
            what = next(check.run(), None)
        except SubjectError as error:  # it cannot even be checked
            what = str(error)
        except Exception as error:
            if not _raised_in_subject(error):
                raise
            what = f"{type(error).__name__}: {error}"
        if what is not None:
            return _tell(Seen(check.name, what))
    if tests is not None:
        files = [Path(tests) / f"{name}.py" for name in MODULES[module]]
        seen = run_tests([file for file in files if file.exists()], Path(tests).parent)
        if seen is not None:
            return _tell(seen)
    return _tell(Seen(None))


def run_tests(files: Sequence[Path], project: Path) -> Seen | None:
    """What these tests see of the package that is found on the path; None if they pass.

    Raises:
        RuntimeError: they could not be run.
    """
    command = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(project), "-c", str(project / "pyproject.toml")]
    try:
        done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False, timeout=_TESTS)
    except subprocess.TimeoutExpired:
        return Seen(UNIT_TESTS, "they do not end", hangs=True)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode in (1, 2) and failed:
        return Seen(UNIT_TESTS, failed[0])
    if done.returncode:
        raise RuntimeError(f"pytest ended with exit code {done.returncode}: {(done.stderr or done.stdout)[-500:]}")
    return None


def _raised_in_subject(error: BaseException) -> bool:
    """Whether the package that is checked raised it: any other error is one of the suite."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and _is_ours(trace.tb_frame.f_code.co_filename)


def _is_ours(file: str) -> bool:
    package = sys.modules["slotlending"].__file__
    return package is not None and Path(file).parent == Path(package).parent


def _end_with(parent: int) -> None:
    """Whoever started this has ended: so does it, with the tests that it may run."""
    while os.getppid() == parent:
        time.sleep(1)
    if os.getsid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(2)


def _limit_processor(check: str, seconds: float) -> None:
    """Processor time and not time on the clock: how busy the machine is must not decide."""

    def end(number: int, frame: object) -> None:
        _tell(Seen(check, f"more than {seconds:g} s of processor time", hangs=True))
        sys.stdout.flush()
        os._exit(1)

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _tell(seen: Seen) -> int:
    print(json.dumps(seen._asdict()))
    return int(seen.by is not None)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except Exception:
        traceback.print_exc(file=sys.stdout)
        sys.exit(2)
