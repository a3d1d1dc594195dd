"""The figures of the documents, made by running the pool that ships: ``python -m slotcheck.checks.figures FOLDER``.

A figure is a tree and the calls that lead to the state it shows. It cannot say what the pool does not do. Two more are
of rules that it is compared with: their race, and a counterexample.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.drawing import drawing
from slotcheck.checks.forms.page import still
from slotcheck.checks.forms.story import story_of
from slotcheck.checks.race import race
from slotcheck.checks.race_drawing import race_drawing
from slotcheck.checks.scenario import builtin_scenarios, read_scenario
from slotcheck.checks.subject import resolve_subject, view
from slotcheck.pymodel.scenario import RunSpec
from slotlending import Pool

__all__ = ["FIGURES", "Figure", "all_drawn", "drawn", "write_figures"]


@dataclass(frozen=True)
class Figure:
    """One state of one pool. ``calls`` are ``ask a`` (under its parent in the tree), ``finish a``, ``cancel a``."""

    name: str
    title: str
    #: The scenario that ships whose tree it is, and the cap.
    scenario: str
    cap: int
    calls: tuple[str, ...]
    relend: bool = False

    @property
    def runs(self) -> tuple[RunSpec, ...]:
        """The tree."""
        return builtin_scenarios()[self.scenario].runs


def _story(scenario: str, cap: int, *steps: tuple[str, str, str], relend: bool = False) -> list[Figure]:
    """Figures that follow one another: of each its name, its title, and the calls since the one before."""
    figures: list[Figure] = []
    calls: tuple[str, ...] = ()
    for name, title, more in steps:
        calls += tuple(call.strip() for call in more.split(";"))
        figures.append(Figure(name, title, scenario, cap, calls, relend))
    return figures


_BOTH_CHILDREN = ("ask p", "ask a", "ask b", "ask o", "finish a")

FIGURES: tuple[Figure, ...] = (
    *_story(
        "walk-files-chunks",
        2,
        ("walk-1", "The walk lends its slot to file a; file b has a pool slot; file c waits",
         "ask walk; ask a; ask b; ask c"),
        ("walk-2", "Both files lend to their first chunk", "ask a1; ask a2; ask b1; ask b2"),
        ("walk-3", "A loan that comes back goes to the next chunk of the same file", "finish a1"),
        ("walk-4", "File a has ended: the walk's slot goes on to file c", "finish a2; finish a"),
        ("walk-5", "File b has ended: its pool slot goes to chunk c2, which waited in both queues",
         "ask c1; ask c2; finish b1; finish b2; finish b"),
    ),
    *_story(
        "parent-ends-while-lending",
        1,
        ("parked-1", "p lends its slot to c", "ask p; ask c"),
        ("parked-2", "p has ended: its slot stays parked with c, and o waits", "finish p; ask o"),
        ("parked-3", "c has ended: the slot went through p to o", "finish c"),
    ),
    Figure("idle", "Without relend p keeps its slot unlent while it waits for b, and o queues",
           "two-queues-grant-once", 2, _BOTH_CHILDREN),
    Figure("relend", "With relend p lends to b, and the pool slot of b goes to o",
           "two-queues-grant-once", 2, _BOTH_CHILDREN, relend=True),
)  # fmt: skip


def drawn(figure: Figure) -> str:
    """The figure as SVG."""
    parents = {run.name: run.parent for run in figure.runs}
    pool = Pool(figure.cap, relend=figure.relend)
    asked = set()
    for call in figure.calls:
        verb, run = call.split()
        if verb == "ask":
            pool.ask(run, parents[run])
            asked.add(run)
        elif verb == "finish":
            pool.finish(run)
        else:
            pool.cancel(run)
    state = view(pool.snapshot())
    return drawing(state, figure.runs, ended=asked - {run.run for run in state.runs}, title=figure.title)


def all_drawn() -> dict[str, str]:
    """Every figure of the documents as SVG, by name."""
    more = {"race": race_drawing(race()), "deadlock": _deadlock()}
    return {**{figure.name: drawn(figure) for figure in FIGURES}, **more}


def _deadlock() -> str:
    """The last step of the counterexample that shows that holding a slot deadlocks."""
    (part,) = parts_of([read_scenario("cap: 2\ntree: walk(a(a1 a2) b)", "a small walk")])
    traces = check_part(part, resolve_subject("rule:hold")).traces
    return still(story_of(next(trace for trace in traces if trace.invariant == "NoDeadlock")))


def write_figures(folder: Path) -> list[Path]:
    """Write each figure to a file of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, svg in all_drawn().items():
        paths.append(folder / f"{name}.svg")
        paths[-1].write_text(svg, encoding="utf-8", newline="\n")
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m slotcheck.checks.figures FOLDER")
    for path in write_figures(Path(sys.argv[1])):
        print(path)
