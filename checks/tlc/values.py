"""TLC's states, read: numbers, strings, booleans, sequences and records become Python's."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["ValueFormError", "read_state"]

# A function over 1 .. n is printed as a sequence. Sets, and functions over anything else, are in no state of ours: they
# are not understood, and said to be so.
_FIELD = re.compile(r"(\w+) \|->")
_VARIABLE = re.compile(r"(?:^|\n)\s*/\\ (\w+) = ")
_ONLY = re.compile(r"^\s*(\w+) = ")


class ValueFormError(ValueError):
    """A state that TLC printed is not understood."""


def read_state(text: str) -> dict[str, Any]:
    """The variables of a state, from ``/\\ x = 1`` line by line, or ``x = 1`` if there is only one.

    Raises:
        ValueFormError: it holds a value that is neither number, string, boolean, sequence nor record.
    """
    told = "".join(text.replace("[", "{").replace("]", "}").replace("<<", "[").replace(">>", "]"))
    told = _FIELD.sub(r'"\1":', told).replace("TRUE", "true").replace("FALSE", "false")
    if _VARIABLE.search(told):
        told = _VARIABLE.sub(r',"\1":', told)
    else:
        told = _ONLY.sub(r',"\1":', told)
    try:
        state = json.loads("{" + told.lstrip().removeprefix(",") + "}")
    except json.JSONDecodeError as error:
        raise ValueFormError(f"not understood: {text!r}") from error
    assert isinstance(state, dict)
    return state
