"""Lines that are no requests, and pools that cannot be: a port refuses each, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slotcheck.checks.port.messages import BAD_CAPS, Request, malformed_request
from slotcheck.checks.port.oracle import Exchange, demanded

__all__ = ["malformed_exchanges"]

_ALWAYS: Final = (
    "not JSON",
    '{"op":"ask"',
    "7",
    "[]",
    "null",
    "{}",
    '{"op":"fly"}',
    '{"op":["ask"]}',
    '{"op":"ask"}',
    '{"op":"ask","run":5}',
    '{"op":"finish","run":null}',
    '{"op":"ask","run":"a","parent":["b"]}',
)

#: About a pool, where there is none.
_BEFORE_RESET: Final = ('{"op":"ask","run":"a"}', '{"op":"finish","run":"a"}')


def malformed_exchanges() -> Iterator[Exchange]:
    """To a port that has just started: before the first `reset`, and after it."""
    lines = [malformed_request(line) for line in (*_ALWAYS, *_BEFORE_RESET)]
    no_pools: list[Request] = [{"op": "reset", "cap": cap} for cap in BAD_CAPS]
    good: list[Request] = [{"op": "reset", "cap": 1}, {"op": "ask", "run": "b"}]
    later = [malformed_request(line) for line in _ALWAYS]
    return demanded([*lines, *no_pools, *good, *later, *no_pools, {"op": "finish", "run": "b"}])
