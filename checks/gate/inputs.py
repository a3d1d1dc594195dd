"""What results depend on, as fingerprints: whatever might change a result changes one. In doubt it changes.

A *group* is a set of files, or of versions. The fingerprint of a piece is taken over its command line and its groups.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from slotcheck.checks.gate.folder import DOCUMENTATION, files_below
from slotcheck.checks.gate.versions import installed

__all__ = ["Group", "Inputs", "suite_groups"]

_CHUNK = 1 << 20


@dataclass
class Group:
    """Files, or facts, that results depend on.

    Attributes:
        name: what pieces call it.
        roots: files, and folders with all that is below them.
        facts: lines that are taken as they are, such as versions.
        without: folders below the roots that belong to another group.
    """

    name: str
    roots: tuple[Path, ...] = ()
    facts: tuple[str, ...] = ()
    without: tuple[Path, ...] = ()
    #: Whether to leave out what git ignores (of a user's folder, which may hold anything).
    by_git: bool = False

    @cached_property
    def files(self) -> list[Path]:
        """All files, in order."""
        return sorted(set(self._files()))

    @cached_property
    def fingerprint(self) -> str:
        """Of the names, sizes and contents of all files, and of the facts."""
        taken = hashlib.sha256(self.name.encode())
        for line in self.facts:
            taken.update(f"\0fact {line}".encode())
        for file in self.files:
            taken.update(f"\0file {_told(file, self.roots)}\0".encode())
            taken.update(_digest(file).encode())
        return taken.hexdigest()

    def holds(self, path: Path) -> bool:
        """Whether a path (of a file that may be gone) belongs to it."""
        return not self._elsewhere(path) and any(path.is_relative_to(root) for root in self.roots)

    def _files(self) -> Iterator[Path]:
        for root in self.roots:
            found = (root,) if root.is_file() else files_below(root, by_git=self.by_git) if root.is_dir() else ()
            yield from (file for file in found if not self._elsewhere(file))

    def _elsewhere(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.without)


class Inputs:
    """All groups, and the fingerprints of pieces."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self.groups = {group.name: group for group in groups}

    def read_again(self) -> Inputs:
        """The same groups, their files looked at anew."""
        return Inputs(replace(group) for group in self.groups.values())

    def key(self, command: Sequence[str], needs: Sequence[str]) -> str:
        """The fingerprint of a piece: equal iff its command line and all that it needs are."""
        taken = hashlib.sha256("\0".join(command).encode())
        for need in needs:
            taken.update(f"\0{need} {self.groups[need].fingerprint}".encode())
        return taken.hexdigest()

    def changed(self, needs: Sequence[str], paths: Iterable[Path]) -> bool:
        """Whether any of the paths is one that these groups hold."""
        return any(self.groups[need].holds(path) for path in paths for need in needs)

    def unknown(self, paths: Iterable[Path]) -> list[Path]:
        """The paths that no group holds and that are no documentation: what they change cannot be told."""
        return [
            path
            for path in paths
            if path.suffix not in DOCUMENTATION and not any(group.holds(path) for group in self.groups.values())
        ]


def suite_groups() -> list[Group]:
    """The groups of the suite itself: its code by part, what ships, and the tools."""
    checks, pymodel = _package("slotcheck.checks"), _package("slotcheck.pymodel")
    proofs, specs, pool = _package("slotcheck.proofs"), _package("slotcheck.specs"), _package("slotlending")
    return [
        # The gate itself only judges what the commands print, and does that anew each time.
        Group("suite", (checks, pymodel), without=(checks / "gate",)),
        Group("pool", (pool,)),
        Group("proofs", (proofs,)),
        Group("specs", (specs,)),
        Group("tools", facts=tuple(installed())),
    ]


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    where = list(spec.submodule_search_locations or ())
    return Path(where[0]).resolve()


def _digest(file: Path) -> str:
    taken = hashlib.sha256()
    try:
        with file.open("rb") as bytes_:
            while chunk := bytes_.read(_CHUNK):
                taken.update(chunk)
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return taken.hexdigest()


def _told(file: Path, roots: Sequence[Path]) -> str:
    """A name that is the same wherever the folder stands."""
    for at, root in enumerate(roots):
        if file == root:
            return f"{at}:{file.name}"
        if file.is_relative_to(root):
            return f"{at}:{file.relative_to(root).as_posix()}"
    return str(file)
