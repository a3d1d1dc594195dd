"""A configuration of TLC, and what it names in the modules, judged before anything is run.

TLC accepts much that checks less than it seems to: a configuration without a property, a property that says nothing of
any state, symmetry beside a property, a constraint that cuts states away, another text in the place of a definition.
Each is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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

_CONSTANT = r"\w+(?:\s*\([^)]*\))?"
_GIVES = ("<-", "=")

#: What ends the text of a definition, at the start of a line.
_END = re.compile(
    r"""^(?:
        [^\S\n]*(?:(?:THEOREM|LEMMA|PROPOSITION|COROLLARY|ASSUME|ASSUMPTION|AXIOM|VARIABLES?|CONSTANTS?|RECURSIVE|LOCAL
            |INSTANCE)\b|-{4}|={4})
        |\S[^\n]*==                                                     # the head of another definition, of any form
        |[^\S\n]+(?P<indented>\w+(?:\([^)\n]*\)|\[[^]\n]*\])?[^\S\n]*==)  # the same, unless a LET is open
    )""",
    re.MULTILINE | re.VERBOSE,
)


class ConfigError(ValueError):
    """A configuration that would check nothing, or less than it seems to."""


class Config(NamedTuple):
    """What a configuration names."""

    specification: str
    invariants: tuple[str, ...]
    properties: tuple[str, ...]
    #: What is given a value, or replaced by a definition.
    gives: tuple[str, ...] = ()


class Definitions(NamedTuple):
    """What a module and those it extends define: of each name its text; and the variables."""

    bodies: dict[str, str]
    variables: frozenset[str]
    #: Of each name its module, and the first and the last line of its text there.
    places: dict[str, tuple[str, int, int]]
    #: The declared ones, of which a configuration tells what they are.
    constants: frozenset[str] = frozenset()

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
    return Config(found["specification"][0], invariants, properties, tuple(_given(found["constants"])))


def _given(words: list[str]) -> Iterator[str]:
    """The names that are given something, by the words of the sections for constants."""
    for at, word in enumerate(words):
        if word not in _GIVES:
            continue
        name, value = (words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else "")
        if not re.fullmatch(r"\w+", name) or value in ("", "["):
            told = " ".join(words[max(at - 1, 0) : at + 2])
            raise ConfigError(
                f"{told!r} is not understood: a constant is given something as NAME = VALUE or NAME <- NAME"
            )
        yield name


def judge_config(config: Config, definitions: Definitions) -> None:
    """Raise a `ConfigError` if a property is not defined, or says nothing of any state, or if anything that is defined
    is replaced.
    """
    for name in config.gives:
        if name not in definitions.constants or name in definitions.bodies:
            raise ConfigError(
                f"{name} is no declared CONSTANT: with another in its place the modules do not say what is checked"
            )
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
    constants: set[str] = set()
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
        for declared in re.findall(rf"^CONSTANTS?\s+((?:{_CONSTANT}\s*,\s*)*{_CONSTANT})", text, re.MULTILINE):
            constants |= set(re.findall(r"\w+", re.sub(r"\([^)]*\)", "", declared)))
        heads = list(re.finditer(r"^(\w+)(?:\([^)\n]*\))? *==", text, re.MULTILINE))
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            end = _end(text, head.end(), following.start() if following is not None else len(text))
            bodies[head[1]] = text[head.end() : end]
            places[head[1]] = name, text.count("\n", 0, head.start()) + 1, text.count("\n", 0, end)
    return Definitions(bodies, frozenset(variables), places, frozenset(constants))


def _end(text: str, start: int, end: int) -> int:
    """Where the text of a definition ends: it begins at the start, and at the end begins the next."""
    begun = start + len(text[start:end]) - len(text[start:end].lstrip())
    for found in _END.finditer(text, begun + 1, end):  # an INSTANCE may be the text itself
        let, closed = (len(re.findall(word, text[start : found.start()])) for word in (r"\bLET\b", r"\bIN\b"))
        if found["indented"] is None or let <= closed:
            return found.start()
    return end


def _blank(comment: re.Match[str]) -> str:
    """What to put in a comment's place: its lines, empty, so that what follows stays on its line."""
    return "\n" * comment[0].count("\n")
