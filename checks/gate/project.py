"""What a project tells the gate about itself, in its ``pyproject.toml``::

[tool.slotcheck]
subject = "mypackage.pool:Pool"

[[tool.slotcheck.ports]]
name = "rust"
folder = "ports/rust"
build = ["cargo", "build", "--release"]
command = ["target/release/port"]
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

__all__ = ["Port", "Project", "ProjectError", "read_project"]


class ProjectError(ValueError):
    """The project's file, or what it says of the gate, cannot be used."""


@dataclass(frozen=True)
class Port:
    """A port in another language.

    Attributes:
        name: what reports call it.
        command: how to start it, relative to its folder.
        build: how to build it first; empty for one that needs no building.
        folder: where both are run.
    """

    name: str
    command: tuple[str, ...]
    build: tuple[str, ...] = ()
    folder: Path = Path()

    def absent(self) -> str | None:
        """Why it cannot be run here; None if it can."""
        if self.build and shutil.which(self.build[0]) is None:
            return f"{self.build[0]} is not here, which builds it"
        if not self.build and self._program() is None:
            return f"{self.command[0]} is not here"
        return None

    def _program(self) -> str | None:
        inside = self.folder / self.command[0]
        return str(inside) if inside.exists() else shutil.which(self.command[0])


@dataclass(frozen=True)
class Project:
    """What is to be put under the gate."""

    folder: Path
    subject: str = "pool"
    order: str | None = None
    tie: str | None = None
    relend: str | None = None
    ports: tuple[Port, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether the subject is the pool that ships, so that all that it depends on is known."""
        return self.subject == "pool"

    def with_subject(self, subject: str | None) -> Project:
        """The same with the subject of the command line, if there is one."""
        return self if subject is None else replace(self, subject=subject)


_FIELDS = {"subject": str, "order": str, "tie": str, "relend": str, "ports": list}
_PORT_FIELDS = {"name": str, "command": list, "build": list, "folder": str}


def read_project(folder: Path) -> Project:
    """What the folder's ``pyproject.toml`` says; the pool that ships, without ports, where it says nothing.

    Raises:
        ProjectError: it cannot be read, or says what the gate does not know.
    """
    file = folder / "pyproject.toml"
    if not file.exists():
        return Project(folder)
    try:
        said = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProjectError(f"pyproject.toml: {error}") from error
    table = said.get("tool", {}).get("slotcheck", {})
    _judge("[tool.slotcheck]", table, _FIELDS)
    if table.get("relend") not in (None, "off", "on", "both"):
        raise ProjectError(f"[tool.slotcheck]: relend is {table['relend']!r}, not off, on or both")
    ports = tuple(_port(folder, one) for one in table.get("ports", ()))
    names = [port.name for port in ports]
    for name in names:
        if names.count(name) > 1:
            raise ProjectError(f"[[tool.slotcheck.ports]]: two are named {name!r}")
    return Project(folder, **{**{key: value for key, value in table.items() if key != "ports"}, "ports": ports})


def _port(folder: Path, said: Any) -> Port:
    where = "[[tool.slotcheck.ports]]"
    if not isinstance(said, Mapping):
        raise ProjectError(f"{where}: {said!r} is no table")
    _judge(where, said, _PORT_FIELDS)
    for key in ("name", "command"):
        if not said.get(key):
            raise ProjectError(f"{where}: a port has a {key}")
    for key in ("command", "build"):
        if not all(isinstance(word, str) for word in said.get(key, ())):
            raise ProjectError(f"{where}: {key} is {said[key]!r}, not a list of words")
    inside = (folder / said.get("folder", ".")).resolve()
    if not inside.is_dir():
        raise ProjectError(f"{where}: there is no folder {said['folder']!r}")
    return Port(said["name"], tuple(said["command"]), tuple(said.get("build", ())), inside)


def _judge(where: str, table: Any, fields: Mapping[str, type]) -> None:
    if not isinstance(table, Mapping):
        raise ProjectError(f"{where} is no table")
    for key, value in table.items():
        if key not in fields:
            raise ProjectError(f"{where}: {key!r} is not known; there are {_listed(list(fields))}")
        if not isinstance(value, fields[key]):
            raise ProjectError(f"{where}: {key} is {value!r}, not of type {fields[key].__name__}")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
