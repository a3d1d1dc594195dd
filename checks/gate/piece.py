"""One piece of a gate: a command of the suite, what its result depends on, and what came of it."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slotcheck.pymodel.result import Verdict

__all__ = ["Piece", "PieceResult", "Source", "facts_of"]


@dataclass(frozen=True)
class Piece:
    """A command of the suite.

    Attributes:
        name: what ``--only`` and ``--skip`` call it; a piece of a group is named ``group:one``.
        about: what it answers, in a few words.
        command: the arguments of ``slotcheck``. The command prints one JSON object.
        needs: the groups of inputs (inputs.py) that its result depends on.
        limit: seconds after which it is ended and undetermined: many times what it takes.
        expected: seconds that it takes on two slow cores, for the first estimate of what is left.
        has_traces: whether the command takes ``--traces``.
        build: commands to run before it, for a port that is to be compiled.
        folder: where both run; None for the project's.
        absent: why it cannot be run here (a missing tool); it is undetermined then.
        users: whether it judges something of the user's, so that counts may differ from those that are pinned.
    """

    name: str
    about: str
    command: tuple[str, ...]
    needs: tuple[str, ...]
    limit: float = 600.0
    expected: float = 10.0
    has_traces: bool = False
    build: tuple[tuple[str, ...], ...] = ()
    folder: Path | None = None
    absent: str | None = None
    users: bool = False

    @property
    def group(self) -> str:
        """The group it belongs to; its own name if it stands alone."""
        return self.name.partition(":")[0]

    @property
    def kept_as(self) -> str:
        """What its result is kept as: lanes run pieces of one name with other arguments."""
        return f"{self.name}-{hashlib.sha256(repr(self.command).encode()).hexdigest()[:12]}"


class Source(enum.Enum):
    """Where a result comes from."""

    RUN = "run"
    CACHE = "cache"
    #: Left out by ``--only`` or ``--skip``.
    SKIPPED = "skipped"
    #: Left out since nothing that it depends on has changed since the revision named.
    UNCHANGED = "unchanged"
    #: Never started, since the gate was ended before its turn.
    NOT_REACHED = "not reached"


@dataclass
class PieceResult:
    """What came of a piece. For one that was left out only `source` says something."""

    piece: Piece
    source: Source
    verdict: Verdict | None = None
    #: The JSON object that the command printed; empty if there was none.
    report: Mapping[str, Any] = field(default_factory=dict)
    #: Why it is undetermined, or differs from what is pinned.
    why: list[str] = field(default_factory=list)
    seconds: float = 0.0
    #: The most memory that its process, or one it waited for, had in use: bytes.
    memory: int = 0
    #: What the command said where it refused its arguments, with exit code 2.
    refused: str | None = None

    @property
    def judged(self) -> bool:
        """Whether it has a verdict, of this run or kept from one with the same inputs."""
        return self.verdict is not None

    @property
    def violations(self) -> Sequence[Mapping[str, Any]]:
        """What is violated, as the command told it."""
        found = self.report.get("violations", ())
        return found if isinstance(found, list) else ()

    @property
    def facts(self) -> dict[str, int]:
        """What was covered, as numbers by name."""
        return dict(facts_of(self.report.get("covered", {})))


def facts_of(covered: Any, above: str = "") -> Iterator[tuple[str, int]]:
    """The integers of a tree of mappings, by their path: ``actions.ask``."""
    if isinstance(covered, Mapping):
        for name, inside in covered.items():
            yield from facts_of(inside, f"{above}.{name}" if above else str(name))
    elif isinstance(covered, int) and not isinstance(covered, bool) and above:
        yield above, covered
