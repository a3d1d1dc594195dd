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

import shlex
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
        command: how to start it.
        build: commands that build it first; none for one that needs no building.
        folder: where all of them are run.
    """

    name: str
    command: tuple[str, ...]
    build: tuple[tuple[str, ...], ...] = ()
    folder: Path = Path()

    def programs(self) -> list[str]:
        """The programs that build and run it, "python" (the Python that runs the gate) and its own files aside."""
        named = dict.fromkeys(program for program, *_ in (*self.build, self.command))
        return [name for name in named if name != "python" and ("/" not in name or Path(name).is_absolute())]

    def absent(self) -> str | None:
        """Why it cannot be run here; None if it can."""
        # What a build makes is not there yet.
        for program, *_ in self.build or (self.command,):
            if program != "python" and not (self.folder / program).exists() and shutil.which(program) is None:
                return f"{program} is not here"
        return None


@dataclass(frozen=True)
class Project:
    """What is to be put under the gate.

    Attributes:
        folder: the project's.
        subject: what decides: the pool that ships, or ``package.module:Class``.
        asyncio: an asyncio port; None for the one that ships if the subject is the pool that ships, else for none.
        order, tie, relend: how to make pools, where not in every way that the suite knows.
        ports: ports in other languages.
    """

    folder: Path
    subject: str = "pool"
    asyncio: str | None = None
    order: str | None = None
    tie: str | None = None
    relend: str | None = None
    ports: tuple[Port, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether the subject is the pool that ships, so that all that it depends on is known."""
        return self.subject == "pool"

    def with_subject(self, subject: str | None, relend: str | None = None) -> Project:
        """The same with what the command line says."""
        made = self if subject is None else replace(self, subject=subject)
        return made if relend is None else replace(made, relend=relend)


_FIELDS = {"subject": str, "asyncio": str, "order": str, "tie": str, "relend": str, "ports": list}
_PORT_FIELDS = {"name": str, "command": str, "build": list, "folder": str}


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
    commands = [said["command"], *said.get("build", ())]
    try:
        words = [tuple(shlex.split(one)) for one in commands]
    except (AttributeError, TypeError, ValueError) as error:
        raise ProjectError(f"{where}: {commands!r} are no commands: {error}") from error
    if not all(words):
        raise ProjectError(f"{where}: a command is empty")
    inside = (folder / said.get("folder", ".")).resolve()
    if not inside.is_dir():
        raise ProjectError(f"{where}: there is no folder {said['folder']!r}")
    return Port(said["name"], words[0], tuple(words[1:]), inside)


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
