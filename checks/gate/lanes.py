"""The lanes: which pieces a gate has, and how far each goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slotcheck.checks.gate.inputs import Group, Inputs, suite_groups
from slotcheck.checks.gate.piece import Piece
from slotcheck.checks.gate.project import Port, Project

__all__ = ["DEEP", "DEFAULT", "LANES", "QUICK", "inputs_of", "pieces_of"]

QUICK, DEFAULT, DEEP = "quick", "default", "deep"
LANES = (QUICK, DEFAULT, DEEP)

_FOREVER = 24 * 3600.0  # seconds: what a piece of the deep lane may take


def pieces_of(lane: str, project: Project) -> list[Piece]:
    """The pieces of a lane for a project, in the order in which they run: the likeliest to fail first."""
    return list({QUICK: _quick, DEFAULT: _default, DEEP: _deep}[lane](project))


def inputs_of(project: Project) -> Inputs:
    """All that the pieces may depend on."""
    groups = suite_groups()
    ours = [root for group in groups for root in group.roots]
    if not project.ours:
        # What a user's class imports is not known, so anything in its folder may matter.
        groups.append(Group("subject", (project.folder,), without=tuple(ours), by_git=True))
    for port in project.ports:
        groups.append(Group(f"port:{port.name}", (port.folder,), by_git=True))
    return Inputs(groups)


def _quick(project: Project) -> Iterator[Piece]:
    yield _check(project, "3", expected=4)
    yield _mutants("quick", expected=3)


def _default(project: Project) -> Iterator[Piece]:
    yield _check(project, "5", expected=26)
    yield Piece(
        "mutants",
        "faulty pools, permits and ports are caught, each by the invariant it is named for",
        ("mutants", "--named", *_JSON),
        ("suite", "pool", "tools"),
        expected=10,
    )
    if project.ours:
        yield Piece(
            "asyncio", "the asyncio port", ("asyncio", "--runs", "2", *_JSON), ("suite", "pool", "tools"), expected=4
        )
    yield Piece(
        "tlc",
        "the TLA+ specifications, and that their graphs are those of rule and pool",
        ("tlc", *_JSON),
        ("suite", "pool", "specs", "tools"),
        expected=15,
    )
    yield Piece(
        "prove",
        "every cap and every tree, and that the relation is what the pool does",
        ("prove", *_JSON),
        ("suite", "pool", "proofs", "tools"),
        expected=15,
    )
    for port in project.ports:
        yield _port(port, "vectors")


def _deep(project: Project) -> Iterator[Piece]:
    yield from _default(project)


_JSON = ("--format", "json")


def _check(project: Project, runs: str, *, expected: float) -> Piece:
    options = [
        f"--{name}={value}" for name in ("order", "tie", "relend") if (value := getattr(project, name)) is not None
    ]
    subject = () if project.ours else ("--subject", project.subject)
    return Piece(
        "check",
        f"every interleaving of forests of up to {runs} runs and of the scenarios, every invariant",
        ("check", "--runs", runs, *subject, *options, *_JSON),
        ("suite", "pool", "tools", *(() if project.ours else ("subject",))),
        expected=expected,
    )


def _mutants(lane: str, *, expected: float) -> Piece:
    return Piece("mutants", "", ("mutants", "--named", *_JSON), ("suite", "pool", "tools"), expected=expected)


def _port(port: Port, level: str) -> Piece:
    return Piece(
        f"port:{port.name}",
        f"the port {port.name}: the {level}",
        ("port", "--level", level, *_JSON, "--", *_started(port)),
        ("suite", "tools", f"port:{port.name}"),
        expected=3,
        build=port.build,
        folder=str(port.folder),
        absent=port.absent(),
    )


def _started(port: Port) -> tuple[str, ...]:
    """The command as seen from the project's folder."""
    program, *rest = port.command
    inside = port.folder / program
    return (str(inside) if inside.exists() or "/" in program else program, *rest)


_ = Path
