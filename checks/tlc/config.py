"""A configuration of TLC, and what it names in the modules, judged before anything is run.

TLC accepts much that checks less than it seems to: a configuration without a property, a property that says nothing of
any state, symmetry beside a property, a constraint that cuts states away. Each is refused here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["Config", "ConfigError", "Definitions", "judge_config", "read_config", "read_definitions"]

_SECTIONS = {
    "SPECIFICATION": "specification",
    "INIT": "init",
    "NEXT": "next",
    "CONSTANT": "constants",
    "CONSTANTS": "constants",
    "INVARIANT": "invariants",
    "INVARIANTS": "invariants",
    "PROPERTY": "properties",
    "PROPERTIES": "properties",
}
_REFUSED = {
    "SYMMETRY": "with symmetry TLC can miss violations of a property, and only warns",
    "VIEW": "a view merges states without a word",
    "CONSTRAINT": "a constraint leaves states out",
    "CONSTRAINTS": "a constraint leaves states out",
    "ACTION_CONSTRAINT": "a constraint leaves steps out",
    "ACTION_CONSTRAINTS": "a constraint leaves steps out",
    "TYPE_CONSTRAINT": "a constraint leaves states out",
}
#: Words of later versions, which TLC 2.15 takes for the names of invariants or properties.
_NEWER = {"ALIAS", "POSTCONDITION", "CHECK_DEADLOCK", "PERIODIC", "_PERIODIC", "_RL_REWARD"}


class ConfigError(ValueError):
    """A configuration that would check nothing, or less than it seems to."""


class Config(NamedTuple):
    """What a configuration names."""

    specification: str
    invariants: tuple[str, ...]
    properties: tuple[str, ...]


class Definitions(NamedTuple):
    """What a module and those it extends define: of each name its text; and the variables."""

    bodies: dict[str, str]
    variables: frozenset[str]
    #: Of each name its module, and the first and the last line of its text there.
    places: dict[str, tuple[str, int, int]]

    def reached(self, name: str) -> set[str]:
        """The name, and all defined names that what it means depends on."""
        seen = {name}
        todo = [name]
        while todo:
            fresh = (set(re.findall(r"\w+", self.bodies.get(todo.pop(), ""))) & self.bodies.keys()) - seen
            seen |= fresh
            todo += fresh
        return seen

    def speaks_of_states(self, name: str) -> bool:
        """Whether what the name means depends on a variable."""
        words = {word for each in self.reached(name) for word in re.findall(r"\w+", self.bodies.get(each, ""))}
        return bool(words & self.variables)

    def is_temporal(self, name: str) -> bool:
        """Whether a property says more than that each step, or the start, is allowed: TLC then does not name it."""
        return any(re.search(r"<>|~>|\b[WS]F_", self.bodies.get(each, "")) for each in self.reached(name))

    def holds_place(self, name: str, module: str, line: int) -> bool:
        """Whether what the name means is said, in part, on this line of a module, or by an instance of that module."""
        for each in self.reached(name):
            where, first, last = self.places.get(each, ("", 0, 0))
            if (where == module and first <= line <= last) or re.search(
                rf"\bINSTANCE {module}\b", self.bodies.get(each, "")
            ):
                return True
        return False


def read_config(text: str) -> Config:
    """Read a configuration.

    Raises:
        ConfigError: it names no property, or checks less than it seems to; the message says why.
    """
    found: dict[str, list[str]] = {name: [] for name in _SECTIONS.values()}
    section = None
    for word in re.findall(r"<-|[\w!]+|\S", re.sub(r"\\\*[^\n]*|\(\*.*?\*\)", " ", text, flags=re.DOTALL)):
        if word in _REFUSED:
            raise ConfigError(f"{word}: {_REFUSED[word]}")
        if word in _NEWER:
            raise ConfigError(f"{word} is not known to TLC 2.15, which takes it for the name of a property")
        if word in _SECTIONS:
            section = _SECTIONS[word]
        elif section is None:
            raise ConfigError(f"{word!r} stands in no section")
        else:
            found[section].append(word)
    invariants, properties = tuple(found["invariants"]), tuple(found["properties"])
    if not invariants and not properties:
        raise ConfigError("it names no invariant and no property, so nothing would be checked")
    if len(found["specification"]) != 1:
        raise ConfigError("it must name one SPECIFICATION (INIT and NEXT would leave fairness out)")
    return Config(found["specification"][0], invariants, properties)


def judge_config(config: Config, definitions: Definitions) -> None:
    """Raise a `ConfigError` if a property is not defined, or says nothing of any state."""
    for name in (config.specification, *config.invariants, *config.properties):
        if name not in definitions.bodies:
            raise ConfigError(f"{name} is not defined in the module")
        if not definitions.speaks_of_states(name):
            raise ConfigError(f"{name} speaks of no variable: it is true or false of every state alike")
    temporal = [name for name in config.properties if definitions.is_temporal(name)]
    if temporal and len(config.properties) > 1:
        raise ConfigError(f"{temporal[0]} must be the only property: TLC does not say which one is violated")


def read_definitions(folder: Path, module: str) -> Definitions:
    """What a module in a folder defines, with all that it extends there.

    Raises:
        ConfigError: there is no such module.
    """
    bodies: dict[str, str] = {}
    variables: set[str] = set()
    places: dict[str, tuple[str, int, int]] = {}
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        path = folder / f"{name}.tla"
        if name in seen or (not path.is_file() and name != module):
            continue  # one of the standard modules
        seen.add(name)
        try:
            text = path.read_text()
        except OSError as error:
            raise ConfigError(f"there is no module {path.name}") from error
        text = re.sub(r"\(\*.*?\*\)|\\\*[^\n]*", _blank, text, flags=re.DOTALL)
        for extended in re.findall(r"^EXTENDS\s+((?:\w+\s*,\s*)*\w+)", text, re.MULTILINE):
            todo += re.findall(r"\w+", extended)
        for declared in re.findall(r"^VARIABLES?\s+((?:\w+\s*,\s*)*\w+)", text, re.MULTILINE):
            variables |= set(re.findall(r"\w+", declared))
        heads = list(re.finditer(r"^(\w+)(?:\([^)\n]*\))? *==", text, re.MULTILINE))
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            end = following.start() if following is not None else len(text)
            bodies[head[1]] = text[head.end() : end]
            places[head[1]] = name, text.count("\n", 0, head.start()) + 1, text.count("\n", 0, end)
    return Definitions(bodies, frozenset(variables), places)


def _blank(comment: re.Match[str]) -> str:
    """What to put in a comment's place: its lines, empty, so that what follows stays on its line."""
    return "\n" * comment[0].count("\n")
