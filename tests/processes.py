"""What tests of processes share."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable


def runs(pid: int) -> bool:
    """Whether there is such a process, one that has ended and was not waited for aside."""
    said = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(said.strip()) and not said.strip().startswith("Z")


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Give the system the moment that it needs.

    Raises:
        TimeoutError: it still is not so.
    """
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError
        os.sched_yield()
