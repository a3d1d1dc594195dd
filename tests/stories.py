"""Stories that tests of the pictures tell: of real traces, and of frames made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

from traces import of

from slotcheck.checks.forms.story import Frame, Story
from slotcheck.checks.subject import resolve_subject, view
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.scenario import RunSpec
from slotlending import Pool

HOSTILE = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "<!--", "a&b\"c'd", "]]>", "new\nline\ttab",
    "\x00\x1b[31m", "\ud800", "\u202ereversed", "x" * 10_000, "\u4e2d\u6587" * 30, "", "e\u0301\u0301", "{{ 7 * 7 }}",
    "javascript:alert(1)", "\u2028", "-->", "${alert(1)}", "\\u003c/script>",
]  # fmt: skip


def violation(subject: str, tree: str, invariant: str, *, cap: int = 1) -> Trace:
    """The trace to this invariant; the tree may be followed by more lines of a scenario."""
    return of(f"cap: {cap}\ntree: {tree}", resolve_subject(subject), invariant)


def frames(count: int, forest: Sequence[RunSpec], cap: int) -> Iterator[Frame]:
    """What a real pool does with these runs: all ask, then all finish, parents first and the next time children first,
    and so on; then some wait, lend or are parked at any time."""
    pool, ended = Pool(cap), set[str]()
    parents = {run.name: run.parent for run in forest}
    asks, ends = [(pool.ask, run) for run in parents], [(pool.finish, run) for run in parents]
    acts = cycle([*asks, *ends, *asks, *reversed(ends)])
    while count:
        act, run = next(acts)
        phase = {known.run: known.phase for known in pool.snapshot().runs}
        if act == pool.ask and run not in phase:
            above = parents[run]
            pool.ask(run, above if above is not None and phase.get(above) == "in_flight" else None)
            ended.discard(run)
        elif act == pool.finish and phase.get(run) == "in_flight":
            pool.finish(run)
            ended.add(run)
        else:
            continue
        count -= 1
        yield Frame(f"{act.__name__} {run}", view(pool.snapshot()), run, frozenset(ended))


def hostile(*names: str) -> Story:
    """A story in which everything that can be a name or a text is one of these."""
    name = names[0]
    all_of_them = " ".join(names)
    forest = (RunSpec("r" + name), *(RunSpec(other, "r" + name) for other in names))
    pool = Pool(1)
    shown = [Frame(name, view(pool.snapshot()), more=names)]
    for spec in forest:
        pool.ask(spec.name, spec.parent)
        told = f"ask {spec.name} -> {all_of_them}"
        shown.append(Frame(told, view(pool.snapshot()), spec.name, frozenset([name]), (spec.name, all_of_them)))
    return Story(
        name, all_of_them, all_of_them, shown, len(shown) - 1, forest, tuple(zip(names, names, strict=True)), names,
        names, tuple(f"{one} waits for {all_of_them}" for one in names),
    )  # fmt: skip
