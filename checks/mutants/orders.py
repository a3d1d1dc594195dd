"""Pools with a mistake in one of the orders that fewest held first is compared with."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from slotcheck.checks.mutants.pools import Mutant
from slotlending.jobs import Job, JobNode
from slotlending.other_orders import ROUND_ROBIN, FixedShare, RoundRobin, StrictPriority

__all__ = ["MUTANTS"]


class KeepsItsTurn(Mutant):
    mistake = "under round-robin a job that was served stays first in the line, and is served again"
    caught_by = "Lockstep"
    in_histories = True

    class Order(RoundRobin):
        def leave(self, run: Hashable, node: JobNode, *, granted: bool) -> None:
            super().leave(run, node, granted=False)

    def _set_up(self, cap: int, order: str, tie: str, relend: bool) -> None:
        super()._set_up(cap, order, tie, relend)
        if order == ROUND_ROBIN:
            self._order = self.Order(self._jobs)


class PriorityInverted(Mutant):
    mistake = "under strict priority the list of names is read from its end"
    caught_by = "Lockstep"
    in_histories = True

    def _set_up(self, cap: int, order: str, tie: str, relend: bool) -> None:
        super()._set_up(cap, order, tie, relend)
        if isinstance(self._order, StrictPriority):
            self._order = StrictPriority(self._jobs, reversed(order.partition(":")[2].split(",")))


class PriorityAtTheTopOnly(Mutant):
    mistake = "strict priority is asked of the first name of a job's path only"
    caught_by = "Lockstep"
    in_histories = True

    class Order(StrictPriority):
        def _key(self, node: JobNode) -> Any:
            return super()._key(node) if len(node.path) == 1 else (0, node.place)

    def _set_up(self, cap: int, order: str, tie: str, relend: bool) -> None:
        super()._set_up(cap, order, tie, relend)
        if isinstance(self._order, StrictPriority):
            self._order = self.Order(self._jobs, order.partition(":")[2].split(","))


class ShareOverrun(Mutant):
    mistake = "under a fixed share a run that finds a slot free takes it, whatever its job holds"
    caught_by = "Lockstep"
    in_histories = True

    def _may_take(self, job: Job) -> bool:
        return True


class ShareStaysUsed(Mutant):
    mistake = "a job that has had its fixed share is not put back in the line when a slot of it comes back"
    caught_by = "Lockstep"
    in_histories = True

    class Order(FixedShare):
        def charge(self, node: JobNode, slots: int) -> None:
            if slots < 0:
                node.charge(slots)
            else:
                super().charge(node, slots)

    def _set_up(self, cap: int, order: str, tie: str, relend: bool) -> None:
        super()._set_up(cap, order, tie, relend)
        if isinstance(self._order, FixedShare):
            self._order = self.Order(int(order.partition(":")[2]))


#: All faulty pools by name: those of pools.py, then these.
MUTANTS: dict[str, type[Mutant]] = {mutant.__name__: mutant for mutant in Mutant.__subclasses__()}
