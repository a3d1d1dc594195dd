"""What results depend on beside the suite's own files: Python, packages, programs, where a subject lies."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["installed", "programs", "sources_of"]

#: Which programs the suite's own commands run, and what says where else to find them.
_SUITE_PROGRAMS, _SUITE_VARIABLES = ("java", "tlc"), ("TLA2TOOLS_JAR", "JAVA_HOME", "JAVA_TOOL_OPTIONS")


def installed() -> Iterator[str]:
    """A line for the Python that runs, for each package that is installed, and for what TLC would be run with."""
    yield f"python {platform.python_version()} {platform.machine()} {sys.implementation.name}"
    yield from sorted(f"{dist.metadata['Name']} {dist.version}" for dist in distributions())
    yield from programs(_SUITE_PROGRAMS)
    for name in _SUITE_VARIABLES:
        value = os.environ.get(name, "")
        yield f"{name} {value} {_stamp(Path(value)) if value else ''}"


def programs(names: Iterable[str]) -> Iterator[str]:
    """A line for each program that is on the PATH: an update writes its file anew."""
    for name in names:
        found = shutil.which(name)
        yield f"program {name} " + ("is not there" if found is None else _stamp(Path(found)))


def _stamp(file: Path) -> str:
    real = file.resolve()
    try:
        found = real.stat()
    except OSError as error:
        return f"{real} {error.strerror}"
    return f"{real} {found.st_size} {found.st_mtime_ns}"


def sources_of(subjects: Iterable[str], folder: Path) -> list[Path]:
    """Where Python code lies that these classes (``package.module:Class``) may be made of, the folder aside.

    Their packages, wherever they are installed; and all that is used from where it is edited, of which no version
    tells that it changed: editable installs and the folders of PYTHONPATH.
    """
    found = [place for subject in subjects if ":" in subject for place in _places(subject, folder)]
    found += [Path(entry).resolve() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    found += [place for dist in distributions() if (place := _edited(dist)) is not None]
    return sorted({place for place in found if not place.is_relative_to(folder)})


def _places(subject: str, folder: Path) -> Iterator[Path]:
    """The package or module, without importing it."""
    top = subject.partition(":")[0].partition(".")[0]
    try:
        spec = PathFinder.find_spec(top, [str(folder)]) or importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return  # the check will say so
    if spec is None:
        return
    if spec.submodule_search_locations is not None:
        yield from (Path(place).resolve() for place in spec.submodule_search_locations)
    elif spec.has_location and spec.origin is not None:
        yield Path(spec.origin).resolve()


def _edited(dist: Distribution) -> Path | None:
    """The folder that an editable install is used from; the suite's own files have groups of their own."""
    said = dist.read_text("direct_url.json")
    try:
        told = {} if said is None else json.loads(said)
        if not told.get("dir_info", {}).get("editable") or dist.metadata["Name"] == "slotcheck":
            return None
        return Path(unquote(urlsplit(told["url"]).path)).resolve()
    except (ValueError, AttributeError, KeyError, TypeError):
        return None
