"""A rule that lives on: one state, written over call by call, with the calls of a pool.

What `simulate` drives in place of a pool. A pure rule copies its whole state at every call, which a simulation of some
thousand runs cannot pay; here the same code of the same rule works on one draft.
"""

from __future__ import annotations

from slotcheck.pymodel.rules import Outcome, Refusal, Rule
from slotcheck.pymodel.rules.state import Job, LiveDraft, RunId

__all__ = ["LiveRule"]


class LiveRule:
    """A pool under a rule of the reference model.

    Args:
        rule: what a parent does with its slot; one that must know the levels has been told them (`Rule.declared`).
        cap: how many slots.
        order, tie, relend: as for every pool.
    """

    def __init__(
        self, rule: Rule, cap: int, *, order: str = "fewest_held", tie: str = "served", relend: bool = False
    ) -> None:
        self.rule = rule
        self._draft = LiveDraft(rule.initial(cap, order=order, tie=tie, relend=relend))

    def ask(self, run: RunId, parent: RunId | None = None, job: Job | None = None) -> Outcome | None:
        """R2; None where the rule declines the run for good."""
        try:
            return self.rule.ask(self._draft, run, parent, job)
        except Refusal as refusal:
            if refusal.code in self.rule.declines:
                return None
            raise

    def finish(self, run: RunId) -> Outcome:
        """R3."""
        return self.rule.finish(self._draft, run)

    def make(self, verb: str, run: RunId) -> Outcome:
        """A call that the rule's conduct makes a run do: ``give_back``, ``retake`` or ``help``."""
        outcome: Outcome = getattr(self.rule, verb)(self._draft, run)
        return outcome

    def held(self, job: Job) -> int:
        """Pool slots charged to this job and those below it."""
        return self._draft.held(job)

    def waits(self) -> bool:
        """Whether anybody waits for a first slot."""
        return any(self._draft.runs[run].phase == "waiting" for run in self._draft.waiting)

    def lent(self, run: RunId) -> bool:
        """Whether the run's slot is lent, or something runs on top of it."""
        return self._draft.runs[run].lent
