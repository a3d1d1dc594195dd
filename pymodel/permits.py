"""Bodies of runs that need a permit: what they wait for, and when they go on.

What happens between a run's slot and its body is the subject's to say; here is only what the run sees of it. It enters,
resumes once it was handed its permit, and the call that it makes then tells whether it is over, works, or has to wait
again.
"""

from __future__ import annotations

from typing import Any

from slotcheck.pymodel.bodies import ASKED, ENDED, RESUMED, Bodies, Known, Wait, WorkloadState
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.subject import Call, Calls

__all__ = ["PermitBodies"]


class PermitBodies(Bodies):
    """The bodies of a scenario some of whose runs need a permit.

    Args:
        scenario: what happens.
        calls: the subject's states, which tell of the permits.
    """

    def __init__(self, scenario: Scenario, calls: Calls) -> None:
        super().__init__(scenario)
        self._calls = calls

    def entry(self, at: int, parent: int | None, job: tuple[str, ...] | None) -> tuple[Any, ...]:
        """The call with which a run begins."""
        spec, lineage = self.scenario.runs[at], self.scenario.lineage[self.names[at]]
        above = None if parent is None else self.names[parent]
        # Under its mounter its lineage can be told from that; else the front end has to say it.
        told = None if parent is not None and parent == self.mounters[at] else lineage
        return "enter", spec.name, spec.component, spec.key, above, job, told

    def may_resume(self, state: WorkloadState, known: Known, at: int) -> bool:
        """A run of a component goes on once it was handed its permit, unless it waits for a slot all the same."""
        component, name = self.scenario.runs[at].component, self.names[at]
        if component is None:
            return super().may_resume(state, known, at)
        waits = name in known and known[name].phase == "waiting"
        return self._holder(state, component) == name and not waits

    def resumed(self, call: Call) -> int:
        """The progress of a run after its call to resume."""
        present = self._calls.present[call.target].get(call.args[0])
        return ENDED if present is None else RESUMED if present.working else ASKED

    def waits(self, state: WorkloadState, known: Known) -> dict[str, list[Wait]]:
        """As `Bodies.waits`, and who queues on a permit: kind "permit"."""
        waits = super().waits(state, known)
        for component, permit in self._calls.permits[state.pool].items():
            for run in permit.queue:
                holders = () if permit.holder is None else (permit.holder,)
                waits.setdefault(run, []).append(("permit", component, holders))
        return waits

    def _holder(self, state: WorkloadState, component: str) -> str | None:
        permit = self._calls.permits[state.pool].get(component)
        return None if permit is None else permit.holder
