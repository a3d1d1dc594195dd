"""The notation of scenarios: what a text is made of, and every error in it with its place.

The grammar is ``scenario.lark``. Here it becomes a tree for each line, and a syntax error becomes words: what stands
there, and what could.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable
from importlib import resources
from typing import Any, NoReturn, cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

__all__ = ["MAX_LENGTH", "REPEATED", "ScenarioError", "Source", "listed", "nearest_names", "parse", "quoted"]

KEYS = (
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
    "job",
    "at",
    "work",
    "component",
    "key",
    "live",
    "mounts",
)
KEYS_LATER = ("jobs", "weight", "weights", "crash")
#: Keys that may stand on several lines; `late_children` is ``late children``.
REPEATED = ("body", "gate", "expect", "diagnosis", "job", "asks_at", "work", "component", "key", "live", "mounts")

#: Longest text, in characters (of a file: bytes). Reading takes time in proportion, some 10 s for this.
MAX_LENGTH = 1_000_000

_STEP = "a step (+child, &child, ~run, ?event, !event, LOCK.take, LOCK.drop, w or raise)"

#: What people call each terminal of the grammar. Several may share one name; None is not worth telling.
_NAMES: dict[str, str | None] = {
    "_NL": "end of line",
    "$END": None,
    "_BREAK": None,
    "_COLON": "':'",
    "_COMMA": None,
    "_ALSO": "','",
    "_SEMICOLON": "';'",
    "_OPEN": "'('",
    "_CLOSE": "')'",
    "_SLASH": "'/'",
    "JOB_PART": "a job's name",
    "K_CAP": "'cap :='",
    "K_CHILDREN": "'children'",
    "ASSIGN": "':='",
    "STAR": "'*'",
    "RUN": "a run's name",
    "RANGE": "a run's name",
    "EVENT": "an event's name",
    "GATE": "a gate's name",
    "COMPONENT": "a component's name",
    "KEY": "a key",
    "LENDER": "'waiter', 'mounter', 'given' or 'nobody'",
    "RULE": "a rule's name",
    "OUTCOME": "'holds', 'diagnosed', 'refused', an invariant's name",
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
    "FAIL": "'fail'",
    "WHEN": "'when'",
    "PHASE": "'waiting', 'granted' or 'resumed'",
    "TAKE": "'.take'",
    "DROP": "'.drop'",
    **dict.fromkeys(("SPAWN_CHILD", "WAIT_CHILD", "AWAIT_RUN", "NEED", "SET", "LOCK", "WORK", "RAISE"), _STEP),
}


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


class Source:
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
        if indented and indented[1] in KEYS and column <= indented.end():
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


def parse(source: Source) -> list[Tree[Token]]:
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


def _explain(source: Source, error: UnexpectedInput, accepts: set[str], stack: list[object]) -> NoReturn:
    """Say a syntax error in words: what stands there, and what could."""
    line, column = error.line, error.column
    rest = source.lines[line - 1][column - 1 :]
    match = re.match(r"[A-Za-z_][A-Za-z0-9_]*|\.+[A-Za-z0-9_]*|:=|\S", rest)
    word = match[0] if match else ""
    verbs = accepts & {"CANCEL", "FINISH"}
    if word in KEYS_LATER and ("K_TREE" in accepts or verbs):
        source.fail(f"'{word}' is not read yet", line, column)
    if "K_TREE" in accepts:
        nearest = nearest_names(word, KEYS)
        hint = f" (did you mean {nearest[0]}?)" if nearest else ""
        source.fail(f"unknown key {quoted(word)}{hint}", line, column, f"one of {', '.join(KEYS)}")
    told = {name for terminal in accepts if (name := _NAMES[terminal]) is not None}
    expected = listed(
        [name for name in dict.fromkeys(_NAMES.values()) if name in told and name != "end of line"]
        + [name for name in ("end of line",) if name in told]
    )
    opened = [token for token in stack if isinstance(token, Token) and token.type == "_OPEN"]
    if not word and opened:
        source.fail_at(opened[-1], "this bracket is never closed", "')'")
    source.fail(f"unexpected {quoted(word) if word else 'end of line'}", line, column, expected)


def nearest_names(word: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(difflib.get_close_matches(word[:80], list(names), n=3, cutoff=0.5))


def quoted(word: str) -> str:
    return repr(str(word) if len(word) <= 40 else f"{word[:37]}...")


def listed(words: Iterable[str]) -> str:
    """``a, b or c``."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
