"""What a systematic mutation found: the table, and the JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.mutation.mutation import Identity, Mutation, Outcome, equivalents, with_equivalents
from slotcheck.checks.mutation.session import LEFT_OUT
from slotcheck.checks.terminal import versions
from slotcheck.pymodel.result import Verdict

__all__ = ["MutationReport", "mutation_as_json", "mutation_as_text"]

_SEEN = (Outcome.KILLED, Outcome.HANGS)
_UNKNOWN = (Outcome.PENDING, Outcome.FAILED)
_STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNDETERMINED: "bold yellow"}


@dataclass
class MutationReport:
    """All mutations of some modules.

    Attributes:
        left_out: how many changes of a kind that says nothing were not made.
        stopped: why it ended before its end.
        missing: why it could not be run at all.
    """

    modules: Sequence[str]
    mutations: list[Mutation] = field(default_factory=list)
    left_out: int = 0
    stopped: str | None = None
    missing: list[str] = field(default_factory=list)

    def add(self, mutations: Sequence[Mutation], left_out: int) -> None:
        """What a session came to."""
        self.mutations += with_equivalents(mutations, equivalents())
        self.left_out += left_out

    def of(self, *outcomes: Outcome, module: str | None = None) -> list[Mutation]:
        """Those with one of these outcomes."""
        return [one for one in self.mutations if one.outcome in outcomes and module in (None, one.module)]

    @property
    def stale(self) -> list[Identity]:
        """What is listed as equivalent, and is not: it was killed, or there is no such mutation (any more)."""
        if self.of(*_UNKNOWN) or self.why_undetermined:
            return []
        found = {one.identity for one in self.of(Outcome.EQUIVALENT)}
        return [one for one in equivalents() if one[0] in self.modules and one not in found]

    @property
    def why_undetermined(self) -> list[str]:
        """All that keeps the verdict from being known, survivors aside."""
        why = [*self.missing, *([self.stopped] if self.stopped else [])]
        if pending := self.of(Outcome.PENDING):
            why.append(f"{len(pending):,} of {len(self.mutations):,} mutations were not judged: run it again to go on")
        why += [f"{_where(one)}: what was to judge it failed itself: {one.told}" for one in self.of(Outcome.FAILED)]
        if not self.mutations and not why:
            why.append("nothing was checked")
        return why

    @property
    def verdict(self) -> Verdict:
        """Violated if one survived, or the list of equivalent ones is wrong."""
        if self.of(Outcome.SURVIVED) or self.stale:
            return Verdict.VIOLATED
        return Verdict.UNDETERMINED if self.why_undetermined else Verdict.HOLDS

    def killed_by(self, modules: Collection[str]) -> Counter[str]:
        """How many each check was the first to see."""
        return Counter(str(one.by) for one in self.of(*_SEEN) if one.module in modules)

    def score(self, module: str | None = None) -> float:
        """The share of those killed among those that somebody could see, from 0 to 1."""
        killed, all_ = len(self.of(*_SEEN, module=module)), len(self.of(*_SEEN, Outcome.SURVIVED, module=module))
        return killed / all_ if all_ else 0.0


def mutation_as_text(report: MutationReport) -> RenderableType:
    """For a terminal or a file."""
    table = Table(box=None, pad_edge=False)
    table.add_column("module")
    for name in ("mutations", "killed", "hang", "equivalent", "survived", "not judged", "score"):
        table.add_column(name, justify="right")
    for module in report.modules:
        mine = [len(report.of(one, module=module)) for one in (*_SEEN, Outcome.EQUIVALENT, Outcome.SURVIVED)]
        mine.append(len(report.of(*_UNKNOWN, module=module)))
        all_ = sum(one.module == module for one in report.mutations)
        table.add_row(f"{module}.py", f"{all_:,}", *map("{:,}".format, mine), f"{report.score(module):.1%}")
    first = Table(box=None, pad_edge=False)
    first.add_column("first seen by")
    for module in report.modules:
        first.add_column(f"{module}.py", justify="right")
    for check in report.killed_by(report.modules):
        first.add_row(check, *(f"{report.killed_by([module])[check]:,}" for module in report.modules))
    blocks: list[RenderableType] = [table, "", first, ""]
    blocks += [Text(f"left out: {report.left_out:,} changes of a kind that says nothing"), ""]
    for one in report.of(Outcome.SURVIVED):
        blocks += [Text(f"survived: {_where(one)}", style="bold red"), Text(_diff(one)), ""]
    for identity in report.stale:
        blocks.append(Text(f"listed as equivalent, and is not: {_listed(identity)}", style="bold red"))
    blocks += [Text(f"undetermined: {why}", style="yellow") for why in report.why_undetermined]
    told = f"{report.verdict.value} ({report.score():.1%} of those that somebody could see are killed)"
    blocks.append(Text.assemble("verdict: ", (told, _STYLES[report.verdict])))
    return Group(*blocks)


def mutation_as_json(report: MutationReport) -> dict[str, Any]:
    """One object."""
    return {
        "verdict": report.verdict.value,
        "covered": {
            "mutations": len(report.mutations),
            "killed": len(report.of(*_SEEN)),
            "equivalent": len(report.of(Outcome.EQUIVALENT)),
            "survived": len(report.of(Outcome.SURVIVED)),
            "left_out": report.left_out,
            "first_seen_by": dict(report.killed_by(report.modules)),
        },
        "violations": [
            *[
                {"scenario": _where(one), "invariant": "Killed", "message": _diff(one), "trace": None}
                for one in report.of(Outcome.SURVIVED)
            ],
            *[
                {
                    "scenario": f"{identity[0]}.py, {identity[1]}",
                    "invariant": "Equivalent",
                    "message": f"listed as equivalent, and is not: {_listed(identity)}",
                    "trace": None,
                }
                for identity in report.stale
            ],
        ],
        "undetermined": report.why_undetermined,
        "parts": [{"name": _where(one), "verdict": one.outcome.value, **one.as_dict()} for one in report.mutations],
        "left_out": dict(LEFT_OUT),
        "versions": versions(),
    }


def _where(one: Mutation) -> str:
    return f"{one.module}.py:{one.line}" + (f", in {one.function}" if one.function else "")


def _diff(one: Mutation) -> str:
    lines = [*(f"- {line}" for line in one.before.splitlines()), *(f"+ {line}" for line in one.after.splitlines())]
    return "\n".join(lines)


def _listed(identity: Identity) -> str:
    module, function, before, after, which = identity
    return f"{module}.py, {function}: {before!r} to {after!r}" + (f", the {which}th such" if which > 1 else "")
