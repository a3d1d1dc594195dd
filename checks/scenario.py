"""The reader of scenarios: text in the notation of DESIGN becomes a `Scenario`, or one error that says where and why.

A file holds one scenario, named after the file, as ``key: value`` lines::

    title: two parents, one slot          # free text runs to the end of its line, "#" included
    cap: 1 2                              # each tried apart
    tree: r(a(x) b(y1..y3)) s             # roots r and s; y1..y3 are three leaves
    body r: +a; &a; +b; &b                # the steps of Op; without a body: ask for all, wait for all
    environment: cancel a; finish *; cap := 1 3
    expect hold: NoDeadlock

A value goes on over indented lines; in a list of steps or acts such a line break separates as ``;`` does. All keys:
``title source cap tree body gate spawn late`` and ``late children``, ``environment resizes script relend expect
diagnosis``, ``job``, and for simulations ``at`` and ``work``. The grammar is ``scenario.lark``; what grammar cannot say
(whose child is that, is a cap at least 1) is judged here, and every complaint carries the place of the word it is
about.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from slotcheck.checks.meaning import INVARIANTS, OUTCOMES, RULES, Meaning
from slotcheck.checks.notation import MAX_LENGTH, ScenarioError, Source, nearest_names, parse, quoted
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.scenario import Scenario

__all__ = [
    "INVARIANTS",
    "OUTCOMES",
    "RULES",
    "ScenarioError",
    "UnknownScenarioError",
    "builtin_scenarios",
    "load_scenario",
    "read_scenario",
    "resolve",
    "tree_text",
]


class UnknownScenarioError(ValueError):
    """There is no scenario of that name, and no file either.

    Attributes:
        name: the name asked for.
        nearest: the names that look most like it, best first; may be empty.
    """

    def __init__(self, name: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(name, nearest)
        self.name, self.nearest = name, nearest

    def __str__(self) -> str:
        hint = f"; nearest: {', '.join(self.nearest)}" if self.nearest else ""
        return f"no scenario named {quoted(self.name)}{hint}"


def read_scenario(text: str, file: str) -> Scenario:
    """The scenario written in ``text``.

    Args:
        text: the whole of a scenario file.
        file: where the text comes from, for errors; its stem becomes the scenario's name.

    Raises:
        ScenarioError: the text is not a scenario; tells the first reason, and its place.
    """
    if len(text) > MAX_LENGTH:
        raise ScenarioError(f"longer than {MAX_LENGTH:,} characters", file, 1, 1)
    source = Source(text, file)
    return Meaning(source, parse(source)).scenario()


def load_scenario(path: Path) -> Scenario:
    """The scenario in a file, which must be UTF-8.

    Raises:
        ScenarioError: the file cannot be opened, is not UTF-8, or is not a scenario.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_LENGTH + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise ScenarioError(f"cannot be read: {reason}", str(path), 1, 1) from error
    return _decoded(data, str(path))


def builtin_scenarios() -> dict[str, Scenario]:
    """The named scenarios that ship with slotcheck, by name, in the order of their names."""
    return dict(_builtin())


def resolve(names: Iterable[str]) -> list[Scenario]:
    """The scenarios asked for, in that order, each given as the name of a built-in one or the path of a file.

    A built-in name goes before a file. A file's name ends in ``.scenario``.

    Raises:
        UnknownScenarioError: neither the one nor the other; carries the nearest names.
        ScenarioError: a file that is not a scenario.
    """
    builtin = builtin_scenarios()
    found = []
    for name in names:
        path = Path(name)
        if name in builtin:
            found.append(builtin[name])
        elif path.suffix == ".scenario" and "\0" not in name and path.exists():
            found.append(load_scenario(path))
        else:
            raise UnknownScenarioError(name, nearest_names(path.stem, builtin))
    return found


@functools.cache
def _builtin() -> tuple[tuple[str, Scenario], ...]:
    folder = resources.files("slotcheck.checks") / "scenarios"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".scenario")), key=lambda e: e.name)
    scenarios = (_decoded(entry.read_bytes(), entry.name) for entry in files)
    return tuple(sorted(((one.name, one) for one in scenarios), key=lambda pair: pair[0]))


def _decoded(data: bytes, file: str) -> Scenario:
    if len(data) > MAX_LENGTH:
        raise ScenarioError(f"longer than {MAX_LENGTH:,} bytes", file, 1, 1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        raise ScenarioError(f"byte 0x{data[error.start]:02x} is not UTF-8", file, line, column, "UTF-8 text") from error
    return read_scenario(text, file)
