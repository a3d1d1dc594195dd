"""What a port must take and what it must refuse as a request, apart from what the rules say of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slotcheck.checks.port.messages import BAD_CAPS, PROTOCOL, Hello, Request, malformed_request, reset_request
from slotcheck.checks.port.oracle import Exchange, demanded

__all__ = ["exchanges_of_requests"]

#: No requests: each is refused with ``bad_request``, and the port goes on.
_MALFORMED: Final = (
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

#: About a pool, where there is none yet.
_BEFORE_RESET: Final = ('{"op":"ask","run":"a"}', '{"op":"finish","run":"a"}')

#: Optional members may be null, unknown ones there, and hello may come again.
_UNUSUAL: Final[tuple[Request, ...]] = (
    {"op": "ask", "run": "c", "parent": None, "job": None},
    {"op": "ask", "run": "d", "parent": "b", "comment": {"op": "finish"}, "expect": {"granted": []}},
    {"op": "hello", "expect": {"protocol": PROTOCOL}},
)


def exchanges_of_requests(hello: Hello) -> Iterator[Exchange]:
    """A script for a port that has just started."""
    malformed = [malformed_request(line) for line in _MALFORMED]
    no_pools = [{"op": "reset", "cap": cap} for cap in BAD_CAPS]
    state: list[Request] = [{"op": "state"}] if "state" in hello.features else []
    first = next(iter(hello.orders.values()))
    nulls: Request = {"order": None, "tie": None, "relend": None}
    return demanded(
        [
            *malformed,
            *[malformed_request(line) for line in _BEFORE_RESET],
            *no_pools,
            {**nulls, **reset_request(1, first, False)},
            {"op": "ask", "run": "b"},
            *malformed,
            *no_pools,
            *state,
            *_UNUSUAL,
            *state,
            {"op": "finish", "run": "b"},
        ]
    )
