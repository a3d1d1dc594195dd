"""The invariants, bound to a workload as the properties that an explorer judges.

Whatever speaks of a view alone is judged once per view, and whatever speaks of a call once per call, however many
states of the workload share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from slotcheck.checks.conformance import calls_without_effect, lockstep
from slotcheck.checks.diagnosis import Stuck, stuck
from slotcheck.checks.facts import Facts, most_in_flight
from slotcheck.checks.invariants import CALLS, STATES, Happening, Situation
from slotcheck.checks.subject import AnySubject, view
from slotcheck.checks.witnesses import Witness
from slotcheck.pymodel.explore import Result
from slotcheck.pymodel.rules import Rule
from slotcheck.pymodel.subject import Call
from slotcheck.pymodel.system import Property
from slotcheck.pymodel.workload import Action, Workload, WorkloadState

__all__ = ["ALL_INVARIANTS", "SCRIPT_DONE", "Judge"]

SCRIPT_DONE = "the script's end"  # what a search must come to, or the script never happened

#: Every invariant that a check judges, and its sentence.
ALL_INVARIANTS: dict[str, str] = {
    **{invariant.name: invariant.sentence for invariant in (*STATES, *CALLS)},
    "Refused": "every call that the rules refuse gets the right code and changes nothing",
    "Lockstep": "every call gives what the reference rule gives: the same answer in the same order, the same view",
    "Replays": "a pool that lives on does what one restored from its snapshot does",
    "NoDeadlock": "while every wait is for something below it, some body step is enabled until all runs have finished",
    "Diagnosis": "where a wait is for something else, nothing goes on just as the scenario names it",
    "AllFinish": "under fairness of body steps every behaviour ends with all runs finished",
}


class Judge:
    """The judges of one workload.

    Args:
        workload: what is explored.
        subject: who decides about slots in it.
        reference: the rule to keep in lockstep with; None for a subject that follows another rule.
        witnesses: those to look out for.
    """

    def __init__(
        self, workload: Workload, subject: AnySubject, reference: Rule | None, witnesses: Iterable[Witness]
    ) -> None:
        self.workload = workload
        self.subject = subject
        self.reference = reference
        self._witnesses = tuple(witnesses)
        self._facts: list[Facts] = []
        self._bad_views: list[dict[str, str] | None] = []
        #: The circles found outside NoDeadlock's hypothesis, by their name.
        self.diagnoses: dict[str, Stuck] = {}
        #: The most runs seen in flight at once, and how many there can be.
        self.most_seen = 0
        self.most = most_in_flight(workload.scenario.runs, workload.cap)

    def judged(self, result: Result[WorkloadState, Action]) -> dict[str, int]:
        """How much each invariant was judged on: states, different views, calls or ends. 0: it was not judged."""
        states, calls, views = result.states, len(self.workload.calls), len(self.workload.calls.snapshots)
        judged = {invariant.name: views if invariant.of_view else states for invariant in STATES}
        judged |= {invariant.name: calls for invariant in CALLS}
        judged["Refused"] = views
        judged["RelendLeavesNoIdle"] = views if self.workload.relend else 0
        judged["HeldMatches"] = calls if self.subject.tells_held else 0
        judged["Lockstep"] = calls if self.reference is not None else 0
        judged["Diagnosis"] = len(self.diagnoses)
        judged["NoDeadlock"] = result.ends
        judged["AllFinish"] = states
        return judged

    def facts(self, pool: int) -> Facts:
        """What can be read off the subject's state of this number."""
        while len(self._facts) <= pool:
            self._facts.append(Facts(view(self.workload.calls.snapshots[len(self._facts)])))
        return self._facts[pool]

    def properties(self) -> list[Property]:
        """All that is judged."""
        properties = [Property.states("states", self._bad_state), Property.steps("calls", self._bad_step)]
        properties.append(Property.ends("stuck", self._stuck))
        properties.append(Property.eventually("AllFinish", self.workload.finished))
        if self.workload.scenario.script:
            properties.append(Property.sometimes(SCRIPT_DONE, self.workload.script_done))
        return properties + [self._witness(witness) for witness in self._witnesses]

    # -- invariants ----------------------------------------------------------------------------------------------

    def _bad_state(self, state: WorkloadState) -> Mapping[str, str]:
        bad = self._bad_view(state.pool)
        situation = self._situation(state)
        found = [(invariant.name, invariant.check(situation)) for invariant in STATES if not invariant.of_view]
        more = {name: message for name, message in found if message is not None}
        return {**bad, **more} if more else bad

    def _bad_view(self, pool: int) -> dict[str, str]:
        """What is wrong with the subject's state of this number, by invariant: found once."""
        while len(self._bad_views) <= pool:
            self._bad_views.append(None)
        bad = self._bad_views[pool]
        if bad is None:
            facts = self.facts(pool)
            found = {
                invariant.name: _tried(lambda: invariant.check(facts))  # noqa: B023
                for invariant in STATES
                if invariant.of_view
            }
            calls = calls_without_effect(facts, self.workload.names)
            found["Refused"] = self.subject.unchanged(self.workload.calls.snapshots[pool], calls)
            bad = self._bad_views[pool] = {name: message for name, message in found.items() if message is not None}
        return bad

    def _situation(self, state: WorkloadState) -> Situation:
        facts = self.facts(state.pool)
        self.most_seen = max(self.most_seen, len(facts.in_flight))
        return Situation(facts, self.workload.scenario, self.workload.cap, state.levels, state.resizes, self.most)

    def _happening(self, call: Call) -> Happening:
        return Happening(self.facts(call.source), call, self.facts(call.target))

    def _bad_step(self, state: WorkloadState, action: Action, _: WorkloadState) -> Mapping[str, str] | None:
        call = self.workload.call_of(state, action)
        return None if call is None else self._bad_call(call)

    def _bad_call(self, call: Call) -> dict[str, str]:
        """What is wrong with a call, by invariant: found once."""
        if call.judged is None:
            happening = self._happening(call)
            found = {invariant.name: _tried(lambda: invariant.check(happening)) for invariant in CALLS}  # noqa: B023
            if self.reference is not None and not self._bad_view(call.source).keys() - {"Refused"}:
                found["Lockstep"] = _tried(lambda: self._lockstep(call))
            call.judged = {name: message for name, message in found.items() if message is not None}
        return call.judged

    def _lockstep(self, call: Call) -> str | None:
        assert self.reference is not None
        return lockstep(self.reference, self.facts(call.source).state, call, self.facts(call.target).state)

    def _stuck(self, state: WorkloadState) -> Mapping[str, str] | None:
        found = stuck(self.workload, self.facts(state.pool), state)
        if found is None:
            return None
        told = "; ".join(found.told) or "nothing tells why"
        unfinished = ", ".join(self.workload.bodies.unfinished(state))
        if found.promised:
            message = f"nothing goes on, and {unfinished} have not ended: {told}"
            return {"NoDeadlock": message, "AllFinish": message}
        self.diagnoses.setdefault(found.name, found)
        if any(found.matches(diagnosis) for diagnosis in self.workload.scenario.diagnoses):
            return None
        return {"Diagnosis": f"nothing goes on ({found.name}), which the scenario does not name: {told}"}

    # -- witnesses -----------------------------------------------------------------------------------------------

    def _witness(self, witness: Witness) -> Property:
        check = witness.check
        if check is None:
            return Property.sometimes_step(witness.name, self._grant_cancelled)
        if not witness.on_calls:
            return Property.sometimes(witness.name, lambda state: check(self._situation(state)))

        def on_call(state: WorkloadState, action: Action, _: WorkloadState) -> bool:
            call = self.workload.call_of(state, action)
            return call is not None and check(self._happening(call))

        return Property.sometimes_step(witness.name, on_call)

    def _grant_cancelled(self, state: WorkloadState, action: Action, _: WorkloadState) -> bool:
        return action[0] == "cancel" and self.workload.granted_not_resumed(state, action[1])


def _tried(check: Callable[[], str | None]) -> str | None:
    """A faulty subject's views can be such that a check, or the reference, cannot make sense of them."""
    try:
        return check()
    except Exception as error:
        return f"the views before and after make no sense: {type(error).__name__}: {error}"
