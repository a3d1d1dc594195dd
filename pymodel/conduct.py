"""What a rule makes a run do between its own steps: give its slot back at a wait, ask for it again, run other work.

Under holding, releasing and lending a run that waits does nothing else. Under the rules here it makes calls of its own,
or cannot go on although its body could; `ConductedBodies` puts that on top of what the bodies say.
"""

from __future__ import annotations

from typing import NamedTuple

from slotcheck.pymodel.bodies import RESUMED, Action, Bodies, Known, WorkloadState
from slotcheck.pymodel.scenario import Scenario

__all__ = ["Conduct", "ConductedBodies"]


class Conduct(NamedTuple):
    """What a rule makes a run do. All off: nothing but its body's steps."""

    #: It gives its slot back where it waits for a run, and asks for one again when the wait is over.
    gives_back: bool = False
    #: While it waits for a run, and nothing runs on top of it, its worker runs queued runs on top of it.
    helps: bool = False
    #: It goes on only while nothing runs on top of it.
    stacked: bool = False
    #: Its slot is one of its level, so those of other levels are no use to it.
    by_level: bool = False

    @property
    def acts(self) -> bool:
        """Whether what a run does is more or less than its body says."""
        return self.gives_back or self.helps or self.stacked


class ConductedBodies(Bodies):
    """Bodies under a rule with a conduct, with steps ``("give_back", run)``, ``("retake", run)``, ``("help", run)``.

    Only waits for runs count, since a pool hears of no others: a run keeps its slot, or its worker, where it waits for
    an event, a lock, or with blocking spawn for a child's admission.
    """

    def __init__(self, scenario: Scenario, conduct: Conduct) -> None:
        super().__init__(scenario)
        self.conduct = conduct

    def steps(self, state: WorkloadState, known: Known) -> list[Action]:
        """The body steps that are enabled, those that the rule adds last."""
        conduct = self.conduct
        steps: list[Action] = []
        ready: set[int] = set()
        for action in super().steps(state, known):
            at = self._who(state, action)
            if at is not None:
                ready.add(at)
                if not self._may_go_on(known, at):
                    continue
            steps.append(action)
        someone_waits = any(run.phase == "waiting" for run in known.values())
        for at, name in enumerate(self.names):
            if state.progress[at] < RESUMED:
                continue
            run = known[name]
            if at in ready:
                if conduct.gives_back and run.token == "none" and run.phase == "in_flight":
                    steps.append(("retake", name))
            elif run.token != "none" and not run.lent and self._waits_for_a_run(state, known, at):
                if conduct.gives_back:
                    steps.append(("give_back", name))
                elif conduct.helps and someone_waits:
                    steps.append(("help", name))
        return steps

    def can_finish(self, state: WorkloadState, known: Known, at: int) -> bool:
        """As `Bodies.can_finish`; a run that may not go on cannot."""
        return super().can_finish(state, known, at) and self._may_go_on(known, at)

    def _may_go_on(self, known: Known, at: int) -> bool:
        run = known[self.names[at]]
        return not ((self.conduct.stacked and run.lent) or (self.conduct.gives_back and run.token == "none"))

    def _who(self, state: WorkloadState, action: Action) -> int | None:
        """Whose step it is, of the runs that have resumed: for an ask, the parent whose body asks."""
        at = self.scenario.index[action[1]]
        if action[0] == "ask":
            parent = self.parents[at]
            spec = self.scenario.runs[at]
            return None if parent is None or spec.late or spec.live else parent
        return at if state.progress[at] >= RESUMED else None

    def _waits_for_a_run(self, state: WorkloadState, known: Known, at: int) -> bool:
        _, _, blocked = self.look_ahead(state, known, at)
        return any(kind == "run" for kind, _, _ in blocked)
