"""The levels of the check of a port: which scripts it is driven through.

*vectors*: the conformance vectors (vectors.py) that its features allow. *edges*: every edge of the graphs of all trees
and forests of up to so many runs. *random*: long random histories, under every order, with ids that are asked again,
jobs of any depth, and names that a port must not read anything into.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slotcheck.checks.generated import forests
from slotcheck.checks.port.graph import Family, build
from slotcheck.checks.port.messages import (
    ORDER_FEATURES,
    Call,
    Hello,
    Order,
    Request,
    needs_of,
    request_of,
    reset_request,
)
from slotcheck.checks.port.oracle import LEND, Exchange, Oracle
from slotcheck.checks.port.vectors import SETS, exchanges_of
from slotcheck.checks.port.walk import Walk, Walked
from slotcheck.pymodel.rules import State
from slotcheck.pymodel.scenario import RunSpec

__all__ = ["EDGES", "LEVELS", "RANDOM", "VECTORS", "Part", "families", "parts_of"]

VECTORS: Final = "vectors"
EDGES: Final = "edges"
RANDOM: Final = "random"
LEVELS: Final = (VECTORS, EDGES, RANDOM)

# Forests of several roots, and children that ask after their parent's end, have many more states.
_ROOTS = 3
_RUNS_OF_FORESTS = 5
_RUNS_OF_LATE = 4

_CALLS_OF_A_HISTORY = 250

#: Names for random histories. A port must not read anything into one, whatever its language does with such a word.
_NAMES = ("a", "b", "c", "d", "e", "__proto__", "constructor", "null", "0", 'q"\\', "\u00e9 \U0001f9f5")
_JOBS: tuple[tuple[str, ...], ...] = (
    ("p",), ("p", "x"), ("p", "y"), ("p", "x", "1"), ("p", "x", "2"), ("q", "x", "1"), ("q", "__proto__"), ("a",),
    ("a", "x"), (),
)  # fmt: skip
_BAD_CAPS: Final = (0, -1, 1.5, True, "2", None)


@dataclass(frozen=True)
class Part:
    """One script of a level."""

    level: str
    name: str
    #: What it is made of: a graph that is built when its turn comes, or what is left of the fields.
    family: Family | None = None
    #: Of a random history.
    options: tuple[Order, bool] | None = None
    seed: int = 0

    def walked(self, hello: Hello) -> tuple[int, int, int, Iterator[Walked]]:
        """Its states and edges, the edges that these stand for, and the exchanges."""
        if self.family is not None:
            graph = build(LEND, self.family)
            return len(graph.states), graph.count, graph.full_edges, iter(Walk(graph))
        if self.options is not None:
            script = (Walked(one, None) for one in _history(hello, *self.options, self.seed))
        else:
            script = (Walked(one, None) for one in exchanges_of(self.name))
        return 0, 0, 0, script


def parts_of(
    level: str, hello: Hello, *, runs: int, caps: Sequence[int], seed: int, histories: int
) -> Iterator[Part]:
    """The parts of a level that the features of a port allow, the smallest first."""
    if level == VECTORS:
        for name, vectors in SETS.items():
            if vectors.needs <= hello.features:
                yield Part(level, name)
    elif level == EDGES:
        for family in families(hello, runs, caps):
            yield Part(level, family.name, family=family)
    else:
        for number in range(histories):
            for name, order in hello.orders.items():
                for relend in (False, True) if "relend" in hello.features else (False,):
                    told = f"{name}{', relend' if relend else ''}, history {number + 1}"
                    yield Part(level, told, options=(order, relend), seed=seed + number)


# -- edges -------------------------------------------------------------------------------------------------------


def families(hello: Hello, runs: int, caps: Sequence[int]) -> Iterator[Family]:
    """What the graphs are of: all trees of up to so many runs; forests, late children and nested jobs up to fewer."""
    orders = list(hello.orders.values())
    features = hello.features
    relends = (False, True) if "relend" in features else (False,)
    of_caps = [tuple(caps)] if "resize" in features else [(cap,) for cap in caps]
    for size in range(1, runs + 1):
        for specs in forests(size, roots=_ROOTS):
            roots = [spec.name for spec in specs if spec.parent is None]
            several = len(roots) > 1
            if several and size > _RUNS_OF_FORESTS:
                continue
            for order in orders if several else orders[:1]:
                for relend in relends:
                    for some in of_caps:
                        family = Family(specs, order, relend, some, features)
                        yield family
                        if "jobs" not in features:
                            continue
                        if size <= _RUNS_OF_LATE and len(roots) < size:
                            yield family._replace(late=True)
                        if several and order.order == "fewest_held":
                            yield family._replace(jobs=_nested(specs, roots))


def _nested(specs: Sequence[RunSpec], roots: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Jobs of two names: the first two roots share the first one."""
    return {root: ("g" if at < 2 else "h", root) for at, root in enumerate(roots)}


# -- random ------------------------------------------------------------------------------------------------------


def _history(hello: Hello, order: Order, relend: bool, seed: int) -> Iterator[Exchange]:
    """A long random life of one pool: mostly calls that do something, sometimes any."""
    rng = random.Random(f"{order} {relend} {seed}")
    names = list(_NAMES)
    rng.shuffle(names)  # so that the order of ids says nothing
    oracle = Oracle()

    def said(request: Request) -> Exchange:
        return Exchange(request, oracle.answer(request))

    yield said(reset_request(rng.choice((1, 1, 2, 2, 3, 4)), order, relend))
    shows = "state" in hello.features
    made = 0
    while made < _CALLS_OF_A_HISTORY:
        assert oracle.state is not None
        request = request_of(_draw(rng, names, oracle.state)) if rng.random() > 0.01 else _bad_reset(rng)
        if not needs_of(request) - set(ORDER_FEATURES) <= hello.features:
            continue
        made += 1
        yield said(request)
        if shows:
            yield said({"op": "state"})


def _bad_reset(rng: random.Random) -> Request:
    return {"op": "reset", "cap": rng.choice(_BAD_CAPS)}


def _draw(rng: random.Random, names: Sequence[str], before: State) -> Call:
    verb = rng.choices(("ask", "try_ask", "finish", "cancel", "resize"), (46, 6, 26, 9, 7))[0]
    if verb == "resize":
        return verb, rng.choice((1, 1, 2, 2, 3, 4, before.cap, *_BAD_CAPS[:3], rng.choice(_BAD_CAPS)))
    by_phase: dict[str, list[str]] = {"unknown": list(names), "waiting": [], "in_flight": [], "parked": []}
    for run in sorted(before.runs, key=lambda run: names.index(run.run)):
        by_phase[run.phase].append(run.run)
        by_phase["unknown"].remove(run.run)
    anybody = rng.random() < 0.15
    if verb in ("ask", "try_ask"):
        asks = names if anybody or not by_phase["unknown"] else by_phase["unknown"]
        # Few parents, so that siblings wait for one another.
        parents = names if anybody else [*by_phase["in_flight"][:2] * 2, *by_phase["in_flight"], None]
        return verb, rng.choice(asks), rng.choice(parents), rng.choice((None,) * 9 + _JOBS)
    # Now and then a waiting run is told to finish, which is refused.
    known = by_phase["in_flight"] * (1 if verb == "cancel" else 4) + by_phase["waiting"]
    return verb, rng.choice(names if anybody or not known else known)
