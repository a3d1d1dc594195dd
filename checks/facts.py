"""What can be read off one view of a pool: the things the invariants speak of, each found once by its definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from slotcheck.checks.paths import heaviest_paths
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.scenario import RunSpec, Scenario

__all__ = ["BrokenChainError", "Facts", "most_in_flight", "most_of"]


class BrokenChainError(Exception):
    """A pool slot's chain of loans is not one chain; the message says where it breaks."""


class Facts:
    """One view, read."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.runs: Mapping[str, Run] = {run.run: run for run in state.runs}
        #: Runs admitted and not finished.
        self.in_flight: list[Run] = []
        #: Runs that finished while their slot was lent.
        self.parked: list[Run] = []
        #: Runs that have a slot, lent or not; those that have it unlent, so can be at work; those with a pool slot.
        self.holders: list[Run] = []
        self.unlent: list[Run] = []
        self.heads: list[Run] = []
        for run in state.runs:
            if run.phase in ("in_flight", "retaking"):
                self.in_flight.append(run)
            elif run.phase == "parked":
                self.parked.append(run)
            if run.token != "none":
                self.holders.append(run)
                if not run.lent:
                    self.unlent.append(run)
                if run.token == "pool":
                    self.heads.append(run)

    @cached_property
    def borrowers(self) -> Mapping[str, list[Run]]:
        """For each lender the runs on loan from it (one, if all is well)."""
        borrowers: dict[str, list[Run]] = {}
        for run in self.state.runs:
            if run.token == "loan" and run.parent is not None:
                borrowers.setdefault(run.parent, []).append(run)
        return borrowers

    @cached_property
    def per_level(self) -> Counter[int]:
        """How many runs are in flight on each level."""
        return Counter(run.level for run in self.in_flight)

    @cached_property
    def chains(self) -> list[list[Run]]:
        """For each pool slot: the run that took it, its borrower, that run's borrower, and so on.

        Raises:
            BrokenChainError: a loan leads nowhere, to two runs, or not downwards.
        """
        chains = []
        for head in self.heads:
            chain = [head]
            while chain[-1].lent:
                lender = chain[-1]
                to = self.borrowers.get(lender.run, [])
                if len(to) != 1:
                    named = " and ".join(sorted(run.run for run in to)) or "nobody"
                    raise BrokenChainError(f"the slot of {lender.run} is lent to {named}")
                if to[0].level <= lender.level:
                    raise BrokenChainError(f"{to[0].run} borrows from {lender.run}, which is not above it")
                chain.append(to[0])
            chains.append(chain)
        return chains

    def held(self, job: tuple[str, ...]) -> int:
        """Pool slots of runs whose job lies at or below this one, by definition."""
        return sum(run.job[: len(job)] == job for run in self.heads)


def most_in_flight(runs: Sequence[RunSpec], cap: int) -> int:
    """The number of runs on the ``cap`` longest vertex-disjoint downward paths of a forest."""
    return sum(path.size for path in heaviest_paths(runs, {run.name: 1 for run in runs}, cap))


def most_of(scenario: Scenario, cap: int) -> int:
    """The same of a scenario, live runs below those that mounted them; a number that they cannot exceed where one may
    borrow from a run that is not above it, so that the tree tells nothing.
    """
    return most_in_flight(scenario.mounted, cap) if scenario.lent_from_above else len(scenario.runs)
