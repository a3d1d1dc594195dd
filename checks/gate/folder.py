"""The files of a folder that a result may depend on: all but what is known not to matter."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from importlib.machinery import all_suffixes
from pathlib import Path

__all__ = ["DOCUMENTATION", "files_below", "git"]

#: Files that no result depends on.
DOCUMENTATION = (".md", ".rst")

#: Folders of what tools keep, build or install.
_LEFT_OUT = {"__pycache__", "node_modules", "target", ".git", ".slotcheck"}

_IMPORTABLE = (*all_suffixes(), ".pth")


def files_below(folder: Path, *, by_git: bool) -> Iterator[Path]:
    """All files of a folder, documentation and the folders of tools aside.

    Args:
        by_git: leave out what git ignores, unless Python could import it: a compiled module is built, not committed.
    """
    known = _known_to_git(folder) if by_git else None
    for file in _walk(folder, hidden=not by_git) if known is None else known:
        inside = file.relative_to(folder).parts
        if _LEFT_OUT.intersection(inside) or any(part.endswith(".egg-info") for part in inside):
            continue
        if file.suffix not in DOCUMENTATION and file.is_file():
            yield file


def _walk(folder: Path, *, hidden: bool, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """All that is below a folder, links followed, but no environment that Python packages are installed in."""
    real = folder.resolve()
    if real in above:  # a link to a folder that it is in
        return
    for entry in sorted(folder.iterdir()):
        if entry.name in _LEFT_OUT or (not hidden and entry.name.startswith(".")):
            continue
        if not entry.is_dir():
            yield entry
        elif not (entry / "pyvenv.cfg").exists():
            yield from _walk(entry, hidden=hidden, above=above | {real})


def _known_to_git(folder: Path) -> Iterator[Path] | None:
    """What git does not ignore, and of what it does what can be imported; None if it cannot tell."""
    listed = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    ignored = git(folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    if listed is None or ignored is None:
        return None
    return _below(folder, _names(listed), _names(ignored))


def _below(folder: Path, listed: list[str], ignored: list[str]) -> Iterator[Path]:
    for name in listed:
        path = folder / name
        if path.is_symlink() and path.is_dir():
            yield from _walk(path, hidden=False)
        elif path.is_dir():  # a repository within this one: git lists its name only
            yield from files_below(path, by_git=True)
        else:
            yield path
    for name in ignored:
        path = folder / name
        if path.is_file():
            below = iter((path,))
        elif path.name.startswith(".") or path.name in _LEFT_OUT or (path / "pyvenv.cfg").exists():
            continue
        else:
            below = _walk(path, hidden=False)
        yield from (file for file in below if file.name.endswith(_IMPORTABLE))


def _names(listed: str) -> list[str]:
    return [name for name in listed.split("\0") if name]


def git(folder: Path, *args: str) -> str | None:
    """What git says; None if there is no git, no repository, or an error."""
    try:
        said = subprocess.run(["git", *args], cwd=folder, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return said.stdout.decode(errors="surrogateescape") if said.returncode == 0 else None
