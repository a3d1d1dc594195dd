"""One mutation, what became of it, and the list of those that nobody could see."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Identity", "Mutation", "Outcome", "equivalents", "with_equivalents"]


class Outcome(enum.Enum):
    """What became of a mutation."""

    KILLED = "killed"
    #: Killed for the time that it took.
    HANGS = "hangs"
    SURVIVED = "survived"
    #: It survived, and is listed with the reason why nobody could see it.
    EQUIVALENT = "equivalent"
    #: It was not judged yet.
    PENDING = "pending"
    #: What was to judge it failed itself.
    FAILED = "failed"


#: What names a mutation, wherever its line moves to: module, function, the lines taken out and put in, and which one of
#: those that are alike, from 1.
Identity = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Mutation:
    """One small change to one module.

    Attributes:
        function: the one that it is in, empty at the top of the module.
        before, after: the lines taken out and put in, without their indentation; empty while it is pending.
        by: the check that saw it, of those of sight.py, or "unit tests".
        told: what that check said; of an equivalent one the reason.
        which: which one of those that are alike in all of this.
    """

    module: str
    function: str
    line: int
    operator: str
    before: str = ""
    after: str = ""
    outcome: Outcome = Outcome.PENDING
    by: str | None = None
    told: str = ""
    which: int = 1

    @property
    def identity(self) -> Identity:
        """What names it in the list of equivalent ones."""
        return self.module, self.function, self.before, self.after, self.which

    def as_dict(self) -> dict[str, Any]:
        """For the JSON of a report."""
        return {**self.__dict__, "outcome": self.outcome.value}


@cache
def equivalents() -> Mapping[Identity, str]:
    """The mutations that change nothing that anybody could see, each with the reason."""
    listed = json.loads(files("slotcheck.checks.mutation").joinpath("equivalent.json").read_text(encoding="utf-8"))
    return {
        (one["module"], one["function"], one["before"], one["after"], one.get("which", 1)): one["reason"]
        for one in listed
    }


def with_equivalents(mutations: Iterable[Mutation], reasons: Mapping[Identity, str]) -> Iterator[Mutation]:
    """The same, those that are alike numbered, and those that survived and are listed told with their reason."""
    seen: dict[tuple[str, str, str, str], int] = {}
    for mutation in sorted(mutations, key=lambda one: (one.module, one.line, one.operator, one.after)):
        alike = mutation.identity[:4]
        seen[alike] = seen.get(alike, 0) + 1
        one = replace(mutation, which=seen[alike])
        if one.outcome is Outcome.SURVIVED and one.identity in reasons:
            one = replace(one, outcome=Outcome.EQUIVALENT, told=reasons[one.identity])
        yield one
