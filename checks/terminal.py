"""What all reports share: where they are printed, and the versions of what made them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from rich.console import Console

__all__ = ["console", "versions"]

_WIDTH = 110  # of the text where no terminal tells its own, so that a file reads the same everywhere


def console(*, stderr: bool = False) -> Console:
    """A console that does not wrap at 80 columns in a file or a pipe."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=_WIDTH)


def versions() -> dict[str, str]:
    """Of the suite and of what it stands on."""
    found = {"python": platform.python_version()}
    for name in ("slotcheck", "lark", "networkx"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
