"""TLC's states, read: numbers, strings, booleans, sequences and records become Python's."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["ValueFormError", "read_state", "read_states"]

# A function over 1 .. n is printed as a sequence. Sets, and functions over anything else, are in no state of ours: they
# are not understood, and said to be so.
_FIELD = re.compile(r"(\w+) \|->")
_VARIABLE = re.compile(r"/\\ (\w+) =")
_ONLY = re.compile(r"(?:^|(?<=\x1e))\s*(\w+) =")
_BRACKETS = (("[", "{"), ("]", "}"), ("<<", "["), (">>", "]"), ("TRUE", "true"), ("FALSE", "false"))
_END = "\x1e"  # ends a state; in none of them


class ValueFormError(ValueError):
    """A state that TLC printed is not understood."""


def read_state(text: str) -> dict[str, Any]:
    """The variables of a state, from ``/\\ x = 1`` line by line, or ``x = 1`` if there is only one.

    Raises:
        ValueFormError: it holds a value that is neither number, string, boolean, sequence nor record.
    """
    return read_states([text])[0]


def read_states(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Many states at once, which is several times faster: they are turned into one JSON text."""
    if not texts:
        return []
    if any("{" in text for text in texts):
        raise ValueFormError("a set, or a function over something else than 1 .. n, is not understood")
    told = _END.join(texts)
    for old, new in _BRACKETS:
        told = told.replace(old, new)
    told = _FIELD.sub(r'"\1":', told)
    variable = _VARIABLE if "/\\" in texts[0] else _ONLY
    told = variable.sub(r',"\1":', told)
    states = [state.lstrip().removeprefix(",") for state in told.split(_END)]
    try:
        read = json.loads("[{" + "},{".join(states) + "}]")
    except json.JSONDecodeError as error:
        raise ValueFormError(f"not understood: {texts[0]!r}{' and more' if len(texts) > 1 else ''}: {error}") from error
    assert isinstance(read, list)
    return read
