"""Values of the Informal Trace Format, written and read strictly.

The format (Apalache's ADR-015): an integer is ``{"#bigint": "3"}``, a set ``{"#set": [...]}``, a function ``{"#map":
[[key, value], ...]}``, a tuple ``{"#tup": [...]}``, a list and a record are JSON's own. What may be missing is a set of
at most one.

A *kind* below reads one sort of value and says where something else stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "Function",
    "Kind",
    "Maybe",
    "TraceError",
    "boolean",
    "integer",
    "listing",
    "mapping",
    "optional",
    "record",
    "setting",
    "text",
    "to_itf",
    "tupled",
]

#: Reads a value; the string says where it stands.
Kind: TypeAlias = Callable[[Any, str], Any]

_DIGITS = re.compile(r"-?[0-9]{1,18}")
_SHOWN = 60  # characters of a value in an error


class TraceError(ValueError):
    """A file is not a trace that can be used; the message says where and why."""


class Function(NamedTuple):
    """A function of strings, to be written."""

    of: Mapping[str, Any]


class Maybe(NamedTuple):
    """What may be missing (None), to be written."""

    value: Any


def to_itf(value: Any) -> Any:
    """A value of bools, integers, strings, lists, tuples, sets of strings, dicts (records: their keys are fields), and
    the two above.
    """
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"#bigint": str(value)}
    if isinstance(value, Function):
        return {"#map": [[to_itf(key), to_itf(item)] for key, item in value.of.items()]}
    if isinstance(value, Maybe):
        return {"#set": [] if value.value is None else [to_itf(value.value)]}
    if isinstance(value, tuple):
        return {"#tup": [to_itf(item) for item in value]}
    if isinstance(value, frozenset):
        return {"#set": [to_itf(item) for item in sorted(value)]}
    if isinstance(value, list):
        return [to_itf(item) for item in value]
    if isinstance(value, dict):
        return {key: to_itf(item) for key, item in value.items()}
    raise TypeError(f"no ITF value: {value!r}")


def fail(where: str, expected: str, value: Any) -> TraceError:
    """The error that says what stands there instead."""
    told = repr(value)
    shown = told if len(told) <= _SHOWN else f"{told[:_SHOWN]}..."
    return TraceError(f"{where}: expected {expected}, not {shown}")


def boolean(value: Any, where: str) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise fail(where, "true or false", value)
    return value


def text(value: Any, where: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise fail(where, "a string", value)
    return value


def integer(value: Any, where: str) -> int:
    """An integer, of up to 18 digits. Plain JSON numbers, as older tools write them, are read too."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    digits = value.get("#bigint") if isinstance(value, dict) else None
    if not isinstance(digits, str) or not _DIGITS.fullmatch(digits):
        raise fail(where, 'an integer, such as {"#bigint": "3"}', value)
    return int(digits)


def _items(value: Any, where: str, tag: str, expected: str) -> list[Any]:
    items = value.get(tag) if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise fail(where, expected, value)
    return items


def listing(item: Kind) -> Kind:
    """A list of such items."""

    def read(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise fail(where, "a list", value)
        return [item(one, f"{where}[{at}]") for at, one in enumerate(value)]

    return read


def setting(item: Kind) -> Kind:
    """A set of such items, as a tuple in the order of the file."""

    def read(value: Any, where: str) -> tuple[Any, ...]:
        return tuple(item(one, where) for one in _items(value, where, "#set", "a set"))

    return read


def optional(item: Kind) -> Kind:
    """Such an item, or None."""

    def read(value: Any, where: str) -> Any:
        items = _items(value, where, "#set", "a set of at most one")
        if len(items) > 1:
            raise fail(where, "a set of at most one", value)
        return item(items[0], where) if items else None

    return read


def tupled(*items: Kind) -> Kind:
    """A tuple of such items, one each."""

    def read(value: Any, where: str) -> tuple[Any, ...]:
        found = _items(value, where, "#tup", f"a tuple of {len(items)}")
        if len(found) != len(items):
            raise fail(where, f"a tuple of {len(items)}", value)
        return tuple(item(one, where) for item, one in zip(items, found, strict=True))

    return read


def mapping(item: Kind) -> Kind:
    """A function of strings, in the order of the file."""

    def read(value: Any, where: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for pair in _items(value, where, "#map", "a function"):
            if not isinstance(pair, list) or len(pair) != 2:
                raise fail(where, "a pair of key and value", pair)
            key = text(pair[0], where)
            if key in found:
                raise TraceError(f"{where}: the key {key[:_SHOWN]!r} stands twice")
            found[key] = item(pair[1], f"{where} of {key[:_SHOWN]!r}")
        return found

    return read


def record(**fields: Kind) -> Kind:
    """A record with these fields; more are not read."""

    def read(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise fail(where, f"a record with {', '.join(fields)}", value)
        for name in fields:
            if name not in value:
                raise TraceError(f"{where}: there is no {name!r}")
        return {name: kind(value[name], f"{where}.{name}") for name, kind in fields.items()}

    return read
