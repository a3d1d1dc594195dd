"""The lanes: which pieces a gate has, and how far each goes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from slotcheck.checks.gate.inputs import Group, Inputs, suite_groups
from slotcheck.checks.gate.piece import Piece
from slotcheck.checks.gate.project import Port, Project
from slotcheck.checks.gate.versions import programs, sources_of
from slotcheck.checks.mutation.killer import MODULES, tests_about

__all__ = ["DEEP", "DEFAULT", "LANES", "QUICK", "inputs_of", "pieces_of"]

QUICK, DEFAULT, DEEP = "quick", "default", "deep"
LANES = (QUICK, DEFAULT, DEEP)

_FOREVER = 24 * 3600.0  # seconds: what a piece of the deep lane may take
_JSON = ("--format", "json")

#: Small scenarios, each of another trap: what the quick lane plays beside the smallest forests.
_TRAPS = (
    "cancelled-child-leaves-both-queues",
    "cancelled-waiter-wakes-nobody",
    "ending-and-returning-are-one-step",
    "grant-cancelled-before-it-resumes",
    "head-of-queue-asleep",
    "live-cycle-borrows-from-nobody",
    "loan-cancelled-before-it-resumes",
    "lowered-cap-drains",
    "parent-ends-while-lending",
    "raised-cap-serves-queue",
    "slot-back-wakes-queued-child",
    "slot-frees-while-own-child-works",
)

#: Faulty pools of which each breaks another invariant: what the quick lane sets on their checks.
_TEETH = (
    "LeaksCancelledGrant",
    "LosesWakeUp",
    "ForgetsWaitingChild",
    "WaitsInOneQueue",
    "ReleasesParkedTwice",
    "CascadeStopsShort",
    "LendsTwice",
    "HandsOutAboveCap",
    "ServesNewestFirst",
    "LendsToNewest",
    "RelendNotDone",
    "GrantNotTold",
    "HeldDrifts",
    "ChangesOnRefusal",
)


#: What the deep lane says of this project besides: name, what it answers, command, seconds.
_OURS = (
    (
        "asyncio:permit",
        "builds on asyncio, every task cancelled before every callback",
        "asyncio --subject slotlending.aio_permit:Pool --runs 3 --odd-runs 2 --pairs-runs 1 --no-trees",
        15.0,
    ),
    ("compare", "each scenario does under each design what is expected", "compare", 60.0),
    ("orders", "each order on the posts' workloads, beside their figures", "compare --orders", 20.0),
    ("relend", "what relend gains, and where it has nothing to gain", "compare --relend", 5.0),
    ("mutate", "every small change to pool, orders and permit is seen by a check", "mutate", 2400.0),
    ("fairness", "the worst number of slots to others before a waiting job gets one", "fairness", 5.0),
)


def pieces_of(lane: str, project: Project) -> list[Piece]:
    """The pieces of a lane for a project, in the order in which they run: the likeliest to fail first."""
    return list({QUICK: _quick, DEFAULT: _default, DEEP: _deep}[lane](project))


def inputs_of(project: Project) -> Inputs:
    """All that the pieces may depend on."""
    groups = suite_groups()
    if project.ours:  # what survives the checks is set on the unit tests
        groups.append(Group("tests", tuple(tests_about(MODULES, project.folder / "tests"))))
    if not project.ours:
        # What a user's class imports is not known, so anything that is edited may matter.
        subjects = [project.subject, *([] if project.asyncio is None else [project.asyncio])]
        roots = (project.folder, *sources_of(subjects, project.folder))
        suite = tuple(root for group in groups for root in group.roots)
        groups.append(Group("subject", roots, without=suite, by_git=True))
    for port in project.ports:
        groups.append(Group(f"port:{port.name}", (port.folder,), tuple(programs(port.programs())), by_git=True))
    return Inputs(groups)


def _quick(project: Project) -> Iterator[Piece]:
    yield _check(project, _TRAPS, runs=3, permit_runs=2, expected=4)
    yield _mutants(("--named", *_TEETH), expected=2)


def _default(project: Project) -> Iterator[Piece]:
    yield _check(project, (), runs=4, permit_runs=3, expected=14)
    yield _mutants(("--named",), expected=6)
    yield from _asyncio(project, ("--runs", "2"), expected=6)
    yield _tlc((), expected=15)
    yield _prove((), expected=15)
    for port in project.ports:
        yield _port(port, ("vectors",), "the vectors", expected=3)


def _deep(project: Project) -> Iterator[Piece]:
    yield _check(project, (), runs=6, permit_runs=4, expected=300, limit=_FOREVER)
    yield _mutants((), expected=60)
    yield from _asyncio(project, (), expected=120, limit=_FOREVER)
    yield _tlc(("--deep",), expected=600, limit=_FOREVER)
    yield _prove(("--deep",), expected=120, limit=_FOREVER)
    if project.ours:
        for name, about, command, expected in _OURS:
            needs = ("suite", "pool", "tools", *(("tests",) if name == "mutate" else ()))
            yield Piece(name, about, (*command.split(), *_JSON), needs, _FOREVER, expected)
    for port in project.ports:
        yield _port(
            port,
            ("vectors", "edges", "random"),
            "the vectors, every edge of the trees of up to 6 runs, random histories",
            more=("--runs", "6"),
            expected=240,
            limit=_FOREVER,
        )


def _check(
    project: Project,
    scenarios: Sequence[str],
    *,
    runs: int,
    permit_runs: int,
    expected: float,
    limit: float = Piece.limit,
) -> Piece:
    options = [
        f"--{name}={value}" for name in ("order", "tie", "relend") if (value := getattr(project, name)) is not None
    ]
    subject = () if project.ours else ("--subject", project.subject)
    played = "all scenarios" if not scenarios else f"{len(scenarios)} scenarios"
    return Piece(
        "check",
        f"every interleaving of the forests of up to {runs} runs and of {played}, every invariant, against the rules",
        ("check", *scenarios, "--runs", str(runs), "--permit-runs", str(permit_runs), *subject, *options, *_JSON),
        ("suite", "pool", "tools", *(() if project.ours else ("subject",))),
        limit,
        expected,
        has_traces=True,
        users=bool(subject or options),
    )


def _mutants(how: Sequence[str], *, expected: float) -> Piece:
    about = "faulty pools, permits and ports are caught, each by the invariant it is named for"
    return Piece("mutants", about, ("mutants", *how, *_JSON), ("suite", "pool", "tools"), expected=expected)


def _asyncio(project: Project, how: Sequence[str], *, expected: float, limit: float = Piece.limit) -> Iterator[Piece]:
    if project.asyncio is None and not project.ours:
        return
    subject = () if project.asyncio is None else ("--subject", project.asyncio)
    yield Piece(
        "asyncio",
        "the asyncio port, every task cancelled before every callback",
        ("asyncio", *how, *subject, *_JSON),
        ("suite", "pool", "tools", *(() if project.ours else ("subject",))),
        limit,
        expected,
        has_traces=True,
        users=project.asyncio is not None,
    )


def _tlc(how: Sequence[str], *, expected: float, limit: float = Piece.limit) -> Piece:
    about = "the TLA+ specifications, and that their graphs are those of rule and pool"
    return Piece("tlc", about, ("tlc", *how, *_JSON), ("suite", "pool", "specs", "tools"), limit, expected)


def _prove(how: Sequence[str], *, expected: float, limit: float = Piece.limit) -> Piece:
    about = "the invariant for every cap and every tree, and that its relation is what the pool does"
    return Piece("prove", about, ("prove", *how, *_JSON), ("suite", "pool", "proofs", "tools"), limit, expected)


def _port(
    port: Port,
    levels: Sequence[str],
    told: str,
    *,
    more: Sequence[str] = (),
    expected: float,
    limit: float = Piece.limit,
) -> Piece:
    asked = [word for level in levels for word in ("--level", level)]
    # "python" is the Python that runs the gate: another one may lack what the port imports.
    program, *rest = port.command
    command = (sys.executable if program == "python" else program, *rest)
    return Piece(
        f"port:{port.name}",
        f"the port {port.name}: {told}",
        ("port", *asked, *more, *_JSON, "--", *command),
        ("suite", "pool", "tools", f"port:{port.name}"),
        limit,
        expected,
        has_traces=True,
        build=port.build,
        folder=port.folder,
        absent=port.absent(),
    )
