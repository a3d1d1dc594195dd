"""Results kept from earlier runs, by the fingerprint of all that they depend on.

A folder of JSON files, one a piece. A file that is damaged, of another version of the gate, or was made from other
inputs says nothing: the piece is run.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["FOLDER", "Kept", "Store", "make_kept_folder"]

#: Where results are kept, in the folder that the gate runs in.
FOLDER = ".slotcheck"

_VERSION = 1  # of the files; others say nothing


class Kept(NamedTuple):
    """A result kept."""

    exit_code: int
    #: What the command printed.
    report: dict[str, Any]
    seconds: float
    memory: int


def make_kept_folder(folder: Path) -> None:
    """A folder for what is kept, which git does not see."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


class Store:
    """The folder. Safe against another gate that writes at the same time, and against being killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str, key: str) -> Kept | None:
        """The result of a piece with this fingerprint; None if there is none to trust."""
        said = self._read(name)
        if said is None or said.get("key") != key:
            return None
        try:
            return Kept(int(said["exit_code"]), dict(said["report"]), float(said["seconds"]), int(said["memory"]))
        except (KeyError, TypeError, ValueError):
            return None

    def seconds(self, name: str) -> float | None:
        """What the piece took when it was last run, whatever it then depended on."""
        said = self._read(name)
        took = None if said is None else said.get("seconds")
        return float(took) if isinstance(took, (int, float)) else None

    def put(self, name: str, key: str, kept: Kept) -> None:
        """Keep a result, in place of an older one."""
        make_kept_folder(self.folder)
        text = json.dumps({"version": _VERSION, "piece": name, "key": key, **kept._asdict()})
        handle, path = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".json")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            os.replace(path, self._file(name))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            said = json.loads(self._file(name).read_text())
        except (OSError, ValueError):
            return None
        if not isinstance(said, dict) or said.get("version") != _VERSION or said.get("piece") != name:
            return None
        return said

    def _file(self, name: str) -> Path:
        return self.folder / f"{''.join(sign if sign.isalnum() or sign in '-_' else '_' for sign in name)}.json"
