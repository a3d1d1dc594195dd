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
diagnosis``. The grammar is ``scenario.lark``; what grammar cannot say (whose child is that, is a cap at least 1) is
judged here, and every complaint carries the place of the word it is about.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn, cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from slotcheck.pymodel.scenario import Act, Op, RunSpec, Scenario

__all__ = [
    "INVARIANTS",
    "RULES",
    "ScenarioError",
    "UnknownScenarioError",
    "builtin_scenarios",
    "load_scenario",
    "read_scenario",
    "resolve",
    "tree_text",
]

#: The rules that an ``expect`` line may name (SEMANTICS 6).
RULES = ("hold", "release", "retake", "per_level", "help", "refuse", "lend", "lend+relend")

#: The invariants that an ``expect`` line may name: those of SEMANTICS 4, and Diagnosis (stuck outside the hypothesis of
#: NoDeadlock, in a way that the scenario does not name).
INVARIANTS = (
    "UnlentWithinCap",
    "CapRespected",
    "InFlightWithinCapTimesLevels",
    "LevelWithinCap",
    "MaxInFlight",
    "OneChainPerSlot",
    "NoSlotLeak",
    "HeldMatches",
    "NoLostWakeUp",
    "FewestHeldFirst",
    "GrantsTold",
    "Refused",
    "NoDeadlock",
    "Diagnosis",
    "AllFinish",
    "PermitOrder",
    "PermitExclusive",
    "NoPermitLost",
    "HolderPresent",
    "WorksUnderPermit",
    "MemoTrue",
    "NoDoubleWork",
    "EndedHoldsNoSlot",
    "PermitFirstCome",
    "EnterTakesNoSlot",
    "NoDeadlockWithPermits",
    "RelendLeavesNoIdle",
)

_KEYS = (
    "title",
    "source",
    "cap",
    "tree",
    "body",
    "gate",
    "spawn",
    "late",
    "environment",
    "resizes",
    "script",
    "relend",
    "expect",
    "diagnosis",
)
_KEYS_LATER = ("job", "jobs", "weight", "weights", "crash", "permit")
#: Keys that may stand on several lines; `late_children` is ``late children``.
_REPEATED = ("body", "gate", "expect", "diagnosis")

#: Most runs in one scenario. No exploration comes near it; without it ``x1..x999999999`` would eat the machine.
_MAX_RUNS = 100_000
#: Longest text, in characters (of a file: bytes). Reading takes time in proportion, some 10 s for this.
_MAX_LENGTH = 1_000_000

_STEP = "a step (+child, &child, ~run, ?event, !event, LOCK.take, LOCK.drop, w or raise)"

#: What people call each terminal of the grammar. Several may share one name; None is not worth telling.
_NAMES: dict[str, str | None] = {
    "_NL": "end of line",
    "$END": None,
    "_BREAK": None,
    "_COLON": "':'",
    "_COMMA": None,
    "_SEMICOLON": "';'",
    "_OPEN": "'('",
    "_CLOSE": "')'",
    "K_CAP": "'cap :='",
    "K_CHILDREN": "'children'",
    "ASSIGN": "':='",
    "STAR": "'*'",
    "RUN": "a run's name",
    "RANGE": "a run's name",
    "EVENT": "an event's name",
    "GATE": "a gate's name",
    "RULE": "a rule's name",
    "OUTCOME": "'holds' or an invariant's name",
    "CAP": "a number",
    "NUMBER": "a number",
    "TEXT": "text",
    "SPAWN": "'blocks' or 'free'",
    "YES_NO": "'yes' or 'no'",
    "RELEND": "'off', 'on' or 'both'",
    "CYCLE": "'cycle'",
    "NEVER": "'never'",
    "ASK": "'ask'",
    "RESUME": "'resume'",
    "CANCEL": "'cancel'",
    "FINISH": "'finish'",
    "WHEN": "'when'",
    "PHASE": "'waiting', 'granted' or 'resumed'",
    "TAKE": "'.take'",
    "DROP": "'.drop'",
    **dict.fromkeys(("SPAWN_CHILD", "WAIT_CHILD", "AWAIT_RUN", "NEED", "SET", "LOCK", "WORK", "RAISE"), _STEP),
}

_VERBS = {
    "SPAWN_CHILD": "spawn",
    "WAIT_CHILD": "wait",
    "AWAIT_RUN": "await",
    "NEED": "need",
    "SET": "set",
    "TAKE": "take",
    "DROP": "drop",
    "WORK": "work",
    "RAISE": "raise",
}

#: In which phases of its run an act of a script can fall. An act that is not here has no choice.
_WHEN = {"cancel": ("waiting", "granted", "resumed"), "finish": ("granted", "resumed")}

_RELEND = {"off": (False,), "on": (True,), "both": (False, True)}


class ScenarioError(ValueError):
    """A scenario that cannot be read.

    Attributes:
        message: what is wrong, naming the word it is about.
        file: the file, as it was given.
        line, column: the place of that word, both from 1. What is missing is missed at the end of the text.
        expected: what could stand there instead, in plain words; empty where the message says it all.
        excerpt: the line itself, or the part of a long one around the column, and a second line with a caret; empty
            where the text has no such line.
    """

    def __init__(self, message: str, file: str, line: int, column: int, expected: str = "", excerpt: str = "") -> None:
        super().__init__(message, file, line, column, expected, excerpt)
        self.message, self.file, self.line, self.column = message, file, line, column
        self.expected, self.excerpt = expected, excerpt

    def __str__(self) -> str:
        expected = f"; expected {self.expected}" if self.expected else ""
        excerpt = f"\n{self.excerpt}" if self.excerpt else ""
        return f"{self.file}:{self.line}:{self.column}: {self.message}{expected}{excerpt}"


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
        return f"no scenario named {_quoted(self.name)}{hint}"


def read_scenario(text: str, file: str) -> Scenario:
    """The scenario written in ``text``.

    Args:
        text: the whole of a scenario file.
        file: where the text comes from, for errors; its stem becomes the scenario's name.

    Raises:
        ScenarioError: the text is not a scenario; tells the first reason, and its place.
    """
    if len(text) > _MAX_LENGTH:
        raise ScenarioError(f"longer than {_MAX_LENGTH:,} characters", file, 1, 1)
    source = _Source(text, file)
    return _Meaning(source, _parse(source)).scenario()


def load_scenario(path: Path) -> Scenario:
    """The scenario in a file, which must be UTF-8.

    Raises:
        ScenarioError: the file cannot be opened, is not UTF-8, or is not a scenario.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_LENGTH + 1)
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
            raise UnknownScenarioError(name, _nearest(path.stem, builtin))
    return found


def tree_text(runs: tuple[RunSpec, ...]) -> str:
    """The trees of these runs in the notation: children in brackets, three or more numbered leaves as a range.

    Reading it back gives the same runs with the same parents, children of one parent in the same order.
    """
    children: dict[str | None, list[str]] = {None: []}
    for run in runs:
        children[run.name] = []
    for run in runs:
        children[run.parent].append(run.name)
    parts: list[str] = []
    # A stack and not recursion: trees may be deeper than Python's stack. A string on it is a piece of the text.
    stack: list[Iterator[str] | str] = [_siblings(children, None)]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            parts.append(top)
            continue
        name = next(top, None)
        if name is None:
            continue
        if parts and parts[-1] != "(":
            parts.append(" ")
        parts.append(name)
        stack.append(top)
        if children.get(name):
            parts.append("(")
            stack += [")", _siblings(children, name)]
    return "".join(parts)


def _siblings(children: dict[str | None, list[str]], parent: str | None) -> Iterator[str]:
    """The children of one parent, leaves that count on by one taken together where they are three or more."""
    group: list[str] = []
    for name in [*children[parent], ""]:
        if group and (not name or children[name] or children[group[-1]] or not _follows(group[-1], name)):
            yield from [f"{group[0]}..{group[-1]}"] if len(group) > 2 else group
            group = []
        group.append(name)


def _follows(name: str, other: str) -> bool:
    """Whether a range counts from ``name`` straight on to ``other``."""
    one, two = _numbered(name), _numbered(other)
    return one is not None and two is not None and one[0] == two[0] and one[1] + 1 == two[1]


def _numbered(name: str) -> tuple[str, int] | None:
    """A name's stem and number: ``("x", 12)`` for x12. Names with leading zeros do not count."""
    match = re.fullmatch(r"(.*[A-Za-z_])(0|[1-9][0-9]{0,8})", name)
    return (match[1], int(match[2])) if match else None


@functools.cache
def _builtin() -> tuple[tuple[str, Scenario], ...]:
    folder = resources.files("slotcheck.checks") / "scenarios"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".scenario")), key=lambda e: e.name)
    scenarios = (_decoded(entry.read_bytes(), entry.name) for entry in files)
    return tuple(sorted(((one.name, one) for one in scenarios), key=lambda pair: pair[0]))


def _decoded(data: bytes, file: str) -> Scenario:
    if len(data) > _MAX_LENGTH:
        raise ScenarioError(f"longer than {_MAX_LENGTH:,} bytes", file, 1, 1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        raise ScenarioError(f"byte 0x{data[error.start]:02x} is not UTF-8", file, line, column, "UTF-8 text") from error
    return read_scenario(text, file)


def _nearest(word: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(difflib.get_close_matches(word[:80], list(names), n=3, cutoff=0.5))


def _quoted(word: str) -> str:
    return repr(str(word) if len(word) <= 40 else f"{word[:37]}...")


def _list(words: Iterable[str]) -> str:
    """``a, b or c``."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


# --- Text and grammar ------------------------------------------------------------------------------------------------


class _Source:
    """The text of a scenario, and the errors about it."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        #: Ends with a line break, so that the end of the last line is like that of any other.
        self.text = text if text.endswith("\n") else f"{text}\n"
        self.lines = self.text.split("\n")

    def fail(self, message: str, line: int, column: int, expected: str = "") -> NoReturn:
        """Raise the error that says so about this place."""
        shown = self.lines[line - 1]
        indented = re.match(r"[ \t]+([a-z]+)[^:]*:(?!=)", shown)
        if indented and indented[1] in _KEYS and column <= indented.end():
            message += " (an indented line goes on with the one above)"
        # A window on a long line; nothing in it that could move the cursor, so that the caret stands right.
        start = max(0, column - 80) if len(shown) > 120 else 0
        window = "".join(
            char if char.isprintable() or char == "\t" else "\ufffd" for char in shown[start : start + 120]
        )
        pad = "".join("\t" if char == "\t" else " " for char in window[: column - 1 - start])
        raise ScenarioError(message, self.file, line, column, expected, f"{window}\n{pad}^" if shown else "")

    def fail_at(self, token: Token, message: str, expected: str = "") -> NoReturn:
        assert token.line is not None
        assert token.column is not None
        self.fail(message, token.line, token.column, expected)

    def fail_at_end(self, message: str, expected: str = "") -> NoReturn:
        """Raise an error about what is missing, placed after the last word of the text."""
        line = next((at for at in range(len(self.lines), 0, -1) if self.lines[at - 1].strip()), 1)
        self.fail(message, line, len(self.lines[line - 1].rstrip()) + 1, expected)


@functools.cache
def _parser() -> Lark:
    grammar = (resources.files("slotcheck.checks") / "scenario.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", maybe_placeholders=False)


def _parse(source: _Source) -> list[Tree[Token]]:
    """One tree for each line of the scenario."""
    if all(not line.strip() or line.lstrip().startswith("#") for line in source.lines):
        source.fail("the file is empty", 1, 1, "a scenario, such as 'cap: 1' and 'tree: r(a b)'")
    parsing: Any = _parser().parse_interactive(source.text)  # lark leaves its methods untyped
    try:
        for _ in parsing.iter_parse():
            pass
        return cast("list[Tree[Token]]", parsing.feed_eof().children)
    except UnexpectedInput as error:
        _explain(source, error, parsing.accepts(), parsing.parser_state.value_stack)


def _explain(source: _Source, error: UnexpectedInput, accepts: set[str], stack: list[object]) -> NoReturn:
    """Say a syntax error in words: what stands there, and what could."""
    line, column = error.line, error.column
    rest = source.lines[line - 1][column - 1 :]
    match = re.match(r"[A-Za-z_][A-Za-z0-9_]*|\.+[A-Za-z0-9_]*|:=|\S", rest)
    word = match[0] if match else ""
    verbs = accepts & {"CANCEL", "FINISH"}
    if word in _KEYS_LATER and ("K_TREE" in accepts or verbs):
        source.fail(f"'{word}' is not read yet", line, column)
    if "K_TREE" in accepts:
        nearest = _nearest(word, _KEYS)
        hint = f" (did you mean {nearest[0]}?)" if nearest else ""
        source.fail(f"unknown key {_quoted(word)}{hint}", line, column, f"one of {', '.join(_KEYS)}")
    told = {name for terminal in accepts if (name := _NAMES[terminal]) is not None}
    expected = _list(
        [name for name in dict.fromkeys(_NAMES.values()) if name in told and name != "end of line"]
        + [name for name in ("end of line",) if name in told]
    )
    opened = [token for token in stack if isinstance(token, Token) and token.type == "_OPEN"]
    if not word and opened:
        source.fail_at(opened[-1], "this bracket is never closed", "')'")
    source.fail(f"unexpected {_quoted(word) if word else 'end of line'}", line, column, expected)


# --- Meaning ---------------------------------------------------------------------------------------------------------


@dataclass
class _Run:
    """A run while its scenario is being read."""

    token: Token
    parent: str | None
    children: list[str]
    body: tuple[Op, ...] | None = None
    body_line: int = 0
    late: bool = False


class _Meaning:
    """Judges parsed lines against each other and makes the scenario of them, in the order of the file."""

    def __init__(self, source: _Source, lines: list[Tree[Token]]) -> None:
        self.source = source
        self.lines = lines
        self.runs: dict[str, _Run] = {}
        #: All steps of all bodies.
        self.ops: set[Op] = set()
        self.gates: dict[str, int] = {}
        self.expect: dict[str, str] = {}
        self.diagnoses: list[tuple[str, ...]] = []

    def scenario(self) -> Scenario:
        """The scenario, or the first error."""
        once = self._once()
        for key, example in (("tree", "r(a b)"), ("cap", "1")):
            if key not in once:
                self.source.fail_at_end(f"there is no '{key}' line", f"a line such as '{key}: {example}'")
        self._tree(cast("Tree[Token]", once["tree"].children[1]))
        # Late runs first: what a body may ask for depends on them, wherever the lines stand.
        for line in sorted(self.lines, key=lambda line: line.data != "late"):
            if line.data in ("late", *_REPEATED):
                getattr(self, f"_{line.data}")(line)
        self._locks_and_events()
        runs = tuple(RunSpec(name, run.parent, run.body, run.late) for name, run in self.runs.items())
        return Scenario(
            name=Path(self.source.file).name.removesuffix(".scenario"),
            runs=runs,
            caps=self._caps(_tokens(once["cap"])[1:]),
            relend=_RELEND[_word(once, "relend", "off")],
            gates=self.gates,
            blocking_spawn=_word(once, "spawn", "free") == "blocks",
            environment=tuple(self._environment(once["environment"])) if "environment" in once else (),
            resizes=self._number(_tokens(once["resizes"])[1], "number of resizes") if "resizes" in once else 2,
            late_children=_word(once, "late_children", "no") == "yes",
            script=tuple(self._script(once["script"])) if "script" in once else (),
            expect=self.expect,
            diagnoses=tuple(self.diagnoses),
            title=_text(once, "title"),
            source=_text(once, "source"),
            tree=tree_text(runs),
        )

    def _once(self) -> dict[str, Tree[Token]]:
        """The lines whose key may stand once."""
        once: dict[str, Tree[Token]] = {}
        for line in self.lines:
            if line.data in _REPEATED:
                continue
            if line.data in once:
                key, before = _tokens(line)[0], _tokens(once[line.data])[0]
                name = line.data.replace("_", " ")
                self.source.fail_at(key, f"'{name}' stands twice; it is in line {before.line} already")
            once[line.data] = line
        return once

    # -- trees and names of runs -------------------------------------------------------------------------------------

    def _tree(self, nodes: Tree[Token]) -> None:
        above: list[str] = []
        # No recursion: trees may be deeper than Python's stack. None on the stack closes the last bracket.
        stack: list[Tree[Token] | None] = [*reversed(_trees(nodes))]
        lineage: set[str] = set()
        while stack:
            node = stack.pop()
            if node is None:
                lineage.remove(above.pop())
                continue
            token = _tokens(node)[0]
            for name in self._names(token):
                if name in lineage:
                    self.source.fail_at(token, f"run {name} is below itself")
                if name in self.runs:
                    first = self.runs[name].token
                    self.source.fail_at(token, f"run {name} is named twice; first at {first.line}:{first.column}")
                if len(self.runs) == _MAX_RUNS:
                    self.source.fail_at(token, f"more than {_MAX_RUNS:,} runs")
                parent = above[-1] if above else None
                self.runs[name] = _Run(token, parent, [])
                if parent is not None:
                    self.runs[parent].children.append(name)
            below = _trees(node)
            if below:
                above.append(str(token))
                lineage.add(str(token))
                stack += [None, *reversed(_trees(below[0]))]

    def _names(self, token: Token) -> Iterator[str]:
        """The names that a token stands for: its own, or those that its range counts through."""
        if token.type != "RANGE":
            yield str(token)
            return
        first, last = str(token).split("..")
        one, two = _numbered(first), _numbered(last)
        if one is None or two is None or one[0] != two[0]:
            self.source.fail_at(
                token, f"the range {_quoted(token)} does not count", "the same name with two numbers, such as x1..x8"
            )
        if one[1] > two[1]:
            self.source.fail_at(token, f"the range {_quoted(token)} counts down", f"{last}..{first}")
        if two[1] - one[1] >= _MAX_RUNS:
            self.source.fail_at(token, f"more than {_MAX_RUNS:,} runs")
        for number in range(one[1], two[1] + 1):
            yield f"{one[0]}{number}"

    def _known(self, tokens: Iterable[Token]) -> Iterator[tuple[str, _Run, Token]]:
        """The runs that these tokens name."""
        for token in tokens:
            for name in self._names(token):
                if name not in self.runs:
                    nearest = _nearest(name, self.runs) if len(self.runs) <= 1000 else ()
                    hint = f" (did you mean {nearest[0]}?)" if nearest else ""
                    self.source.fail_at(token, f"unknown run {_quoted(name)}{hint}", "a run of the tree")
                yield name, self.runs[name], token

    def _late(self, line: Tree[Token]) -> None:
        for name, run, token in self._known(_tokens(_trees(line)[0])):
            if run.parent is None:
                self.source.fail_at(token, f"run {name} has no parent whose end it could come after", "a child")
            if run.late:
                self.source.fail_at(token, f"run {name} is late already")
            run.late = True

    # -- bodies ------------------------------------------------------------------------------------------------------

    def _body(self, line: Tree[Token]) -> None:
        names, steps = _trees(line)
        tokens = [_tokens(step) for step in _trees(steps)]
        ops = tuple(_op(step) for step in tokens)
        self.ops.update(ops)
        taken: Counter[str | None] = Counter()
        awaited: dict[str, Token] = {}
        family: list[tuple[Op, Token]] = []
        for op, step in zip(ops, tokens, strict=True):
            if op.verb in ("take", "drop"):
                taken[op.name] += 1 if op.verb == "take" else -1
                if taken[op.name] < 0:
                    self.source.fail_at(step[0], f"{op.name}.drop without {op.name}.take before it")
            elif op.verb == "await":
                awaited.update((name, token) for name, _, token in self._known([step[1]]) if name not in awaited)
            elif op.verb in ("spawn", "spawn all", "wait"):
                family.append((op, step[1]))
        after_raise = next((step for op, step in zip(ops, tokens[1:], strict=False) if op.verb == "raise"), None)
        if after_raise is not None:
            self.source.fail_at(after_raise[0], "nothing is done after 'raise'", "end of line")
        names_children = any(op.name is not None for op, _ in family)
        for name, run, token in self._known(_tokens(names)):
            if run.body is not None:
                self.source.fail_at(token, f"run {name} has a body already, in line {run.body_line}")
            if name in awaited:
                self.source.fail_at(awaited[name], f"run {name} cannot wait for itself")
            for child in run.children:
                if child in awaited:
                    self.source.fail_at(awaited[child], f"{child} is a child of {name}", f"'&{child}'")
            if run.children or names_children:
                self._family(name, run, family)
            run.body, run.body_line = ops, token.line or 0

    def _family(self, name: str, run: _Run, steps: list[tuple[Op, Token]]) -> None:
        """Judge the asks for children of a run's body, and the waits for one child each."""
        children = set(run.children)
        asked: set[str] = set()
        for op, token in steps:
            if op.name is None:
                new = [child for child in run.children if not self.runs[child].late]
            elif op.name not in children:
                self.source.fail_at(token, f"{op.name} is not a child of {name}", f"a child of {name}" * bool(children))
            elif self.runs[op.name].late:
                self.source.fail_at(token, f"{op.name} is late: it asks after the end of {name}")
            elif op.verb == "wait":
                if op.name not in asked:
                    self.source.fail_at(token, f"{name} waits for {op.name} before asking for it")
                continue
            else:
                new = [op.name]
            for child in new:
                if child in asked:
                    self.source.fail_at(token, f"{name} asks for {child} twice")
            asked.update(new)

    def _gate(self, line: Tree[Token]) -> None:
        _, token, number = _tokens(line)
        if token in self.gates:
            self.source.fail_at(token, f"gate {token} stands twice")
        self.gates[str(token)] = self._number(number, "number of places at a gate")

    def _locks_and_events(self) -> None:
        """Judge what can be told only when all bodies are known."""
        for line in self.lines:
            tokens = _tokens(line)
            if line.data == "gate" and Op("take", str(tokens[1])) not in self.ops:
                self.source.fail_at(tokens[1], f"no body takes gate {tokens[1]}")
            if line.data == "diagnosis" and tokens[1].type == "NEVER":
                event = str(tokens[2])
                if Op("need", event) not in self.ops:
                    self.source.fail_at(tokens[2], f"no body needs event {event}", f"a step '?{event}' in some body")

    # -- numbers, acts, expectations -----------------------------------------------------------------------------------

    def _number(self, token: Token, what: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", token) or int(token) < 1:
            self.source.fail_at(token, f"{_quoted(token)} is not a {what}", "an integer of 1 or more")
        return int(token)

    def _caps(self, tokens: list[Token]) -> tuple[int, ...]:
        caps: dict[int, None] = {}
        for token in tokens:
            cap = self._number(token, "cap")
            if cap in caps:
                self.source.fail_at(token, f"cap {cap} stands twice")
            caps[cap] = None
        return tuple(caps)

    def _environment(self, line: Tree[Token]) -> Iterator[Act]:
        for act in _trees(line):
            verb, target, *_ = tokens = _tokens(act)
            if act.data == "resize":
                yield from (Act("resize", cap=cap) for cap in self._caps(tokens[2:]))
            elif target.type == "STAR":
                yield Act(str(verb))
            else:
                yield from (Act(str(verb), name) for name, _, _ in self._known([target]))

    def _script(self, line: Tree[Token]) -> Iterator[Act]:
        for act in _trees(line):
            verb, *tokens = _tokens(act)
            when = None
            if tokens[-1].type == "PHASE":
                when = str(tokens[-1])
                possible = _WHEN.get(str(verb), ())
                if not possible:
                    self.source.fail_at(tokens[-2], f"'when' makes no sense with '{verb}'", "';' or end of line")
                if when not in possible:
                    expected = _list(f"'{phase}'" for phase in possible)
                    self.source.fail_at(tokens[-1], f"a run that is {when} cannot {verb}", expected)
            if act.data == "pinned_resize":
                yield Act("resize", cap=self._number(tokens[1], "cap"))
            else:
                for name, _, _ in self._known(tokens[:1]):
                    yield Act(str(verb), name, when=when)

    def _expect(self, line: Tree[Token]) -> None:
        _, rule, outcome = _tokens(line)
        if rule not in RULES:
            self._unknown(rule, "rule", RULES, f"one of {', '.join(RULES)}")
        if rule in self.expect:
            self.source.fail_at(rule, f"rule {rule} stands twice")
        if outcome != "holds" and outcome not in INVARIANTS:
            self._unknown(outcome, "invariant", ("holds", *INVARIANTS), "'holds' or an invariant's name")
        self.expect[str(rule)] = str(outcome)

    def _unknown(self, token: Token, what: str, names: Iterable[str], expected: str) -> NoReturn:
        nearest = _nearest(token, names)
        hint = f" (did you mean {nearest[0]}?)" if nearest else ""
        self.source.fail_at(token, f"unknown {what} {_quoted(token)}{hint}", expected)

    def _diagnosis(self, line: Tree[Token]) -> None:
        _, kind, *tokens = _tokens(line)
        if kind.type == "NEVER":
            self.diagnoses.append(("never", str(tokens[0])))
            return
        circle: dict[str, None] = {}
        for name, _, token in self._known(tokens):
            if name in circle:
                self.source.fail_at(token, f"run {name} stands twice in the circle")
            circle[name] = None
        self.diagnoses.append(("cycle", *circle))


def _tokens(tree: Tree[Token]) -> list[Token]:
    return [child for child in tree.children if isinstance(child, Token)]


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in tree.children if not isinstance(child, Token)]


def _op(step: list[Token]) -> Op:
    """One step of a body: a verb and, after it or (a lock) before it, what it is about."""
    first, *rest = step
    if first.type == "LOCK":
        return Op(_VERBS[rest[0].type], str(first))
    verb = _VERBS[first.type]
    if not rest:
        return Op(verb)
    return Op(f"{verb} all") if rest[0].type == "STAR" else Op(verb, str(rest[0]))


def _word(once: dict[str, Tree[Token]], key: str, default: str) -> str:
    """The last word of a line that is one word long."""
    return str(_tokens(once[key])[-1]) if key in once else default


def _text(once: dict[str, Tree[Token]], key: str) -> str:
    """Free text, its lines joined."""
    return " ".join(token.rstrip() for token in _tokens(once[key])[1:]) if key in once else ""
