"""Long random histories for ports: one pool's life, with ids asked again, jobs of any depth, refused calls between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from slotcheck.checks.histories import draw_call
from slotcheck.checks.port.messages import BAD_CAPS, ORDER_FEATURES, Order, Request, needs_of, request_of, reset_request
from slotcheck.checks.port.oracle import Exchange, Oracle

__all__ = ["history"]

_CALLS = 250

#: Names for runs. A port must read nothing into one, whatever its language does with such a word.
_NAMES: Final = ("a", "b", "r1", "constructor", "__proto__", "null", "0", 'q"\\', "\u00e9 \U0001f9f5")

_SHARE_OF_BAD_CAPS: Final = 0.02


def history(features: frozenset[str], order: Order, relend: bool, seed: int) -> Iterator[Exchange]:
    """A life of one pool: mostly calls that do something, sometimes any; after each the state, if it can be asked for.

    The same for the same arguments.
    """
    rng = random.Random(f"{' '.join(order)} {relend} {seed}")
    names = list(_NAMES)
    rng.shuffle(names)  # so that the order of ids says nothing
    oracle = Oracle()
    requests = 0
    request = reset_request(rng.choice((1, 1, 2, 2, 3, 4)), order, relend)
    while True:
        yield Exchange(request, oracle.answer(request))
        if "state" in features:
            asked: Request = {"op": "state"}
            yield Exchange(asked, oracle.answer(asked))
        if requests == _CALLS:
            return
        requests += 1
        request = _draw(rng, names, features, oracle)


def _draw(rng: random.Random, names: list[str], features: frozenset[str], oracle: Oracle) -> Request:
    """A request that a port with these features can be sent."""
    assert oracle.state is not None
    while True:
        if rng.random() < _SHARE_OF_BAD_CAPS:
            request: Request = {"op": rng.choice(("reset", "resize")), "cap": rng.choice(BAD_CAPS)}
        else:
            request = request_of(draw_call(rng, names, oracle.state))
        if needs_of(request) - set(ORDER_FEATURES) <= features:
            return request
