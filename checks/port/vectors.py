"""The conformance vectors: what a port must answer, as files that need nothing of this suite to be run.

A file is a script of requests, one a line, each with the answer demanded under ``expect``. Each of the sets below
covers every edge of the graphs that it is said to be of, by one shortest walk for each graph, and asks for the state
once in every state. They are the same every time: a file is never written by hand.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

from slotcheck.checks.generated import forests
from slotcheck.checks.port.graph import Family, build, with_nested_jobs, with_shared_jobs
from slotcheck.checks.port.histories import history
from slotcheck.checks.port.messages import ORDER_FEATURES, PROTOCOL
from slotcheck.checks.port.oracle import LEND, Exchange
from slotcheck.checks.port.walk import Walk

__all__ = ["SETS", "VERSION", "Covered", "VectorSet", "exchanges_of", "lines_of", "write_vectors"]

#: Of the form of the files and of what they hold.
VERSION: Final = 1

_CALLS_TO_A_STATE: Final = 40  # in histories, where each is long

_EVERYTHING: Final = frozenset({"try_ask", "cancel", "resize", "relend", "jobs", *ORDER_FEATURES})


@dataclass(frozen=True)
class VectorSet:
    """One file."""

    about: str
    #: The features that a port must have for it. One without `state` leaves those lines out.
    needs: frozenset[str]
    #: Of which trees or forests, and with which caps, in words.
    trees: str
    caps: str
    families: tuple[Family, ...] = ()
    #: Whether the calls that change nothing are made in every state.
    still: bool = False
    #: Random histories: their seeds.
    histories: tuple[int, ...] = ()


class Covered(NamedTuple):
    """What a file covers."""

    name: str
    about: str
    needs: tuple[str, ...]
    #: The trees or forests, and the caps, in words.
    trees: str
    caps: str
    graphs: int
    states: int
    edges: int
    lines: int
    bytes: int


def _families(
    runs: int, needs: frozenset[str], caps: Sequence[tuple[int, ...]], *, roots: range = range(1, 4), **more: Any
) -> tuple[Family, ...]:
    """Graphs of all forests of up to so many runs, for each of these tuples of caps."""
    order = next(order for name, order in ORDER_FEATURES.items() if name in needs)
    return tuple(
        Family(specs, order, "relend" in needs, some, needs | {"state"}, **more)
        for size in range(1, runs + 1)
        for specs in forests(size, roots=roots[-1])
        if sum(spec.parent is None for spec in specs) in roots
        for some in caps
    )


def _sets() -> dict[str, VectorSet]:
    several, trees = range(2, 4), range(1, 2)

    def of(about: str, needs: str, runs: int, caps: Sequence[tuple[int, ...]], **more: Any) -> VectorSet:
        features = frozenset(needs.split())
        still = more.pop("still", False)
        roots = more.get("roots", range(1, 4))
        kind = "trees" if roots == trees else "forests of 2 or 3 trees, with" if roots == several else "forests"
        of_caps = ", ".join(" to ".join(map(str, dict.fromkeys((some[0], some[-1])))) for some in caps)
        families = _families(runs, features, caps, **more)
        return VectorSet(about, features, f"{kind} up to {runs} runs", of_caps, families, still)

    refused = "served try_ask cancel resize jobs"
    return {
        "ask-finish": of("ask and finish", "served", 4, [(1,), (2,)]),
        "cancel": of("cancel, of waiting and of admitted runs", "served cancel", 3, [(1,), (2,)]),
        "resize": of("resize", "served cancel resize", 3, [(1, 2, 3)]),
        "relend": of("relend", "served cancel relend", 4, [(2,)], roots=trees),
        "late": of("children that ask after their parent's end", "served jobs", 3, [(1,), (2,)], late=True),
        "fifo": of("ask and finish under fifo", "fifo", 4, [(1,), (2,)], roots=several),
        **{f"{name}-jobs": _of_order(name) for name in ORDER_FEATURES},
        "refused": of("every refused call in every state", refused, 3, [(1, 2)], still=True),
        "histories": VectorSet("random histories with everything", _EVERYTHING, "9 runs", "1 to 4", histories=(1,)),
    }


def _of_order(name: str) -> VectorSet:
    """What tells one order from the others: runs of few jobs that wait for one another's slots."""
    needs = frozenset({name, "jobs"})
    families = [
        family
        for caps in ((1,), (2,))
        for family in (
            *with_shared_jobs(ORDER_FEATURES[name], False, caps, needs | {"state"}),
            *map(with_nested_jobs, _families(3, needs, [caps], roots=range(2, 4))),
        )
    ]
    return VectorSet(
        f"who is served, under {name}", needs, "4 runs in 2 or 3 jobs; nested jobs", "1, 2", tuple(families)
    )


#: The files by name.
SETS: Final[Mapping[str, VectorSet]] = _sets()


def exchanges_of(vectors: VectorSet) -> Iterator[Exchange]:
    """Its requests with the answers demanded."""
    for family in vectors.families:
        for walked in Walk(build(LEND, family), every_state=False, still=vectors.still):
            yield walked.exchange
    for seed in vectors.histories:
        for order in ORDER_FEATURES.values():
            for relend in (False, True):
                for number, exchange in enumerate(history(vectors.needs | {"state"}, order, relend, seed)):
                    if number % 2 == 0 or number % _CALLS_TO_A_STATE == 1:
                        yield exchange


def lines_of(vectors: VectorSet) -> Iterator[str]:
    """The lines of its file."""
    hello: dict[str, Any] = {"op": "hello", "expect": {"protocol": PROTOCOL}}
    yield _line({**hello, "vectors": VERSION, "about": vectors.about, "needs": sorted(vectors.needs)})
    for request, expected in exchanges_of(vectors):
        yield _line({**request, "expect": expected})


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def write_vectors(folder: Path, *, over_others: bool = False) -> list[Covered]:
    """Write all files, their schema, and a README for authors of ports.

    Args:
        over_others: write over files there that say something else.

    Raises:
        FileExistsError: such a file is there, and nothing was written.
        OSError: the folder cannot be written to.
    """
    texts, written = {}, []
    for name, vectors in SETS.items():
        texts[f"{name}.jsonl"] = text = "".join(lines_of(vectors))
        written.append(_covered(name, vectors, text))
    here = resources.files(__package__)
    texts["vectors.schema.json"] = (here / "vectors.schema.json").read_text(encoding="utf-8")
    texts["README.md"] = (here / "vectors.md").read_text(encoding="utf-8").replace("{table}", _table(written))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        file = folder / name
        if not over_others and file.exists() and file.read_bytes() != text.encode():
            raise FileExistsError(errno.EEXIST, "is there", str(file))
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return written


def _covered(name: str, vectors: VectorSet, text: str) -> Covered:
    graphs = [build(LEND, family) for family in vectors.families]
    edges = sum(sum(map(len, graph.edges)) + vectors.still * sum(map(len, graph.still)) for graph in graphs)
    states = sum(len(graph.states) for graph in graphs)
    needs = tuple(sorted(vectors.needs))
    size = text.count("\n"), len(text.encode())
    return Covered(name, vectors.about, needs, vectors.trees, vectors.caps, len(graphs), states, edges, *size)


def _table(written: Sequence[Covered]) -> str:
    rows = ["| file | about | of | caps | needs | graphs | states | edges | lines |", f"|{'---|' * 9}"]
    for one in written:
        counts = " | ".join(f"{count:,}" if count else "" for count in (one.graphs, one.states, one.edges, one.lines))
        needs = ", ".join(f"`{need}`" for need in one.needs)
        rows.append(f"| `{one.name}.jsonl` | {one.about} | {one.trees} | {one.caps} | {needs} | {counts} |")
    return "\n".join(rows)
