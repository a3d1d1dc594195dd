"""The levels of the check of a port: which scripts it is driven through.

*vectors*: the conformance vectors (vectors.py) that its features allow. *edges*: every edge of the graphs of all trees
and forests of up to so many runs. *random*: long random histories, under every order, with ids that are asked again,
jobs of any depth, and names that a port must not read anything into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Final, NamedTuple

from slotcheck.checks.generated import forests
from slotcheck.checks.port.graph import Family, build, with_nested_jobs, with_shared_jobs
from slotcheck.checks.port.histories import history
from slotcheck.checks.port.messages import Hello, Order
from slotcheck.checks.port.oracle import LEND, Exchange
from slotcheck.checks.port.requests import exchanges_of_requests
from slotcheck.checks.port.vectors import SETS, VectorSet, exchanges_of
from slotcheck.checks.port.walk import Walk, Walked
from slotcheck.pymodel.scenario import RunSpec

__all__ = ["EDGES", "LEVELS", "RANDOM", "REQUESTS", "VECTORS", "Part", "Script", "families", "parts_of"]

VECTORS: Final = "vectors"
EDGES: Final = "edges"
RANDOM: Final = "random"
REQUESTS: Final = "requests"
#: Those that can be chosen, in their order. After them every port is sent what is no request.
LEVELS: Final = (VECTORS, EDGES, RANDOM)

# Forests of several trees, and children that ask after their parent's end, have many more states.
_ROOTS = 3
_RUNS_OF_FORESTS = 5
_RUNS_OF_LATE = 4
_RUNS_OF_SHARED = 4
_FEWER_OF_LATE = 1

#: The smallest forest in which orders differ where no run can be asked in a job: a(b c d) e.
_COMPETING = tuple(RunSpec(name, "a" if name in "bcd" else None) for name in "abcde")


class Part(NamedTuple):
    """One script of a level."""

    level: str
    name: str
    #: Makes the script, when its turn comes, and now and then calls what it is given.
    script: Callable[[Callable[[], None]], Script]


class Script(NamedTuple):
    """What a port is driven through."""

    walked: Iterable[Walked]
    #: Of a graph: its states, its edges (refused calls too), and the edges that all stand for.
    states: int = 0
    edges: int = 0
    full_edges: int = 0


def parts_of(level: str, hello: Hello, *, runs: int, caps: Sequence[int], seed: int, histories: int) -> Iterator[Part]:
    """The parts of a level that the features of a port allow, the smallest first."""
    if level == REQUESTS:
        yield Part(level, "their forms", lambda _: _plain(exchanges_of_requests(hello)))
    elif level == VECTORS:
        for name, vectors in SETS.items():
            if vectors.needs <= hello.features:
                yield Part(level, name, partial(_of_vectors, vectors, hello))
    elif level == EDGES:
        for family in families(hello, runs, caps):
            yield Part(level, family.name, partial(_of_graph, family))
    else:
        relends = (False, True) if "relend" in hello.features else (False,)
        for number in range(histories):
            for (name, order), relend in product(hello.orders.items(), relends):
                told = f"{name}{', relend' if relend else ''}, seed {seed + number}"
                yield Part(level, told, partial(_of_history, hello, order, relend, seed + number))


def _plain(exchanges: Iterable[Exchange]) -> Script:
    return Script(Walked(exchange, None) for exchange in exchanges)


def _of_vectors(vectors: VectorSet, hello: Hello, _: Callable[[], None]) -> Script:
    shows = "state" in hello.features
    return _plain(exchange for exchange in exchanges_of(vectors) if shows or exchange.request["op"] != "state")


def _of_graph(family: Family, tick: Callable[[], None]) -> Script:
    graph = build(LEND, family, tick)
    return Script(Walk(graph), len(graph.states), graph.count, graph.full_edges)


def _of_history(hello: Hello, order: Order, relend: bool, seed: int, _: Callable[[], None]) -> Script:
    return _plain(history(hello.features, order, relend, seed))


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
                        if size <= min(_RUNS_OF_LATE, runs - _FEWER_OF_LATE) and len(roots) < size:
                            yield family._replace(late=True)
                        if several and order.order == "fewest_held":
                            yield with_nested_jobs(family)
        if size == _RUNS_OF_SHARED:
            for order, relend, some in product(orders, relends, of_caps):
                if "jobs" in features:
                    yield from with_shared_jobs(order, relend, some, features)
                elif runs == size:  # later it comes of itself
                    yield Family(_COMPETING, order, relend, some, features)
