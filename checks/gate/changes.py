"""What a change under review touches: files and lines since a revision, as git tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from slotcheck.checks.gate.folder import git

__all__ = ["Changes", "changes_since"]


class Changes(NamedTuple):
    """What differs from a revision, uncommitted and new files included.

    Attributes:
        files: absolute paths of files that differ, those that are gone included.
        lines: of each file that is there, relative to the project's folder, the lines that are new or other, and those
            beside lines that are gone.
    """

    files: tuple[Path, ...]
    lines: dict[str, frozenset[int]]


def changes_since(folder: Path, revision: str) -> Changes | None:
    """What differs from a revision; None if git cannot tell, and then everything is to be run."""
    top = git(folder, "rev-parse", "--show-toplevel")
    if (
        top is None
        or git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}") is None
    ):
        return None
    root = Path(top.rstrip("\n"))
    # What the branch under review did, not what the other one did meanwhile.
    base = git(folder, "merge-base", revision, "HEAD")
    since = base.strip() if base is not None else revision
    named = git(folder, "diff", "--name-only", "-z", "--no-renames", since, "--")
    fresh = git(root, "ls-files", "-z", "--others", "--exclude-standard")
    patch = git(folder, "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames", "--relative", since, "--")
    if named is None or fresh is None or patch is None:
        return None
    files = {root / name for name in (*named.split("\0"), *fresh.split("\0")) if name}
    return Changes(tuple(sorted(files)), _lines(patch))


def _lines(patch: str) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    file = ""
    for line in patch.splitlines():
        if line.startswith("+++ "):
            file = line[6:] if line.startswith("+++ b/") else ""
        elif file and (hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            # Of lines that are only gone, their neighbours.
            touched = range(start, start + count) if count else (start, start + 1)
            found.setdefault(file, set()).update(touched)
    return {file: frozenset(lines) for file, lines in found.items()}
