"""The invariants, bound to a workload as the properties that an explorer judges."""

from __future__ import annotations

from collections.abc import Mapping

from slotcheck.checks.diagnosis import Stuck, names, stuck
from slotcheck.checks.facts import most_of
from slotcheck.checks.invariants import CALLS, STATES, Situation
from slotcheck.checks.ledger import Ledger
from slotcheck.checks.permit_invariants import OF_PERMIT_CALLS, OF_PERMIT_VIEWS, OF_RUNS, PermitFacts, RunsNow
from slotcheck.checks.witnesses import ALL_WITNESSES, GRANT_CANCELLED, OF_STATES
from slotcheck.checks.wording import have_not_ended
from slotcheck.pymodel.bodies import ENDED, RESUMED
from slotcheck.pymodel.explore import Result
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
    **{invariant.name: invariant.sentence for invariant in (*OF_PERMIT_VIEWS, *OF_RUNS, *OF_PERMIT_CALLS)},
    "NoDeadlockWithPermits": "NoDeadlock, where runs need permits and components do not mount each other in a circle",
}


class Judge:
    """The judges of one workload.

    Args:
        workload: what is explored.
        ledger: what is known of the subject, whose calls the workload makes.
    """

    def __init__(self, workload: Workload, ledger: Ledger) -> None:
        self.workload = workload
        self.ledger = ledger
        self._unseen = list(OF_STATES)
        #: The circles found outside NoDeadlock's hypothesis, by their name.
        self.diagnoses: dict[str, Stuck] = {}
        self._diagnosed = 0  # ends outside that hypothesis
        #: The most runs seen in flight at once, and how many there can be.
        self.most_seen = 0
        self.most = most_of(workload.scenario, workload.cap)
        #: The most slots seen at once that runs sat on while they queued on a permit.
        self.most_queued_with_slot = 0
        self._deadlock = "NoDeadlockWithPermits" if workload.scenario.permits else "NoDeadlock"

    def judged(self, result: Result[WorkloadState, Action], *, calls: int, views: int) -> dict[str, int]:
        """How much each invariant was judged on: states, ends, or so many new calls or views. 0: it was not judged."""
        states = result.states
        judged = {invariant.name: views if invariant.of_view else states for invariant in STATES}
        judged |= {invariant.name: calls for invariant in CALLS}
        judged["Refused"] = views
        judged["RelendLeavesNoIdle"] = views if self.workload.relend else 0
        judged["HeldMatches"] = calls if self.ledger.subject.tells_held else 0
        judged["Lockstep"] = calls if self.ledger.reference is not None else 0
        judged["Diagnosis"] = len(self.diagnoses)
        judged[self._deadlock] = result.ends - self._diagnosed
        if self.workload.scenario.permits:
            judged |= {invariant.name: views for invariant in OF_PERMIT_VIEWS}
            judged |= {invariant.name: states for invariant in OF_RUNS}
            judged |= {invariant.name: calls for invariant in OF_PERMIT_CALLS}
        # What gets stuck in waits that lending does not promise to meet does not end, so there is nothing to judge.
        judged["AllFinish"] = 0 if self.diagnoses else states
        return judged

    def properties(self) -> list[Property]:
        """All that is judged."""
        properties = [Property.states("states", self._bad_state), Property.steps("calls", self._bad_step)]
        properties.append(Property.ends("stuck", self._stuck))
        properties.append(Property.eventually("AllFinish", self.workload.finished))
        if self.workload.scenario.script:
            properties.append(Property.sometimes(SCRIPT_DONE, self.workload.script_done))
        properties.append(Property.witnesses([witness.name for witness in OF_STATES], self._state_shows))
        of_steps = [witness.name for witness in ALL_WITNESSES if witness not in OF_STATES]
        properties.append(Property.step_witnesses(of_steps, self._step_shows))
        return properties

    # -- invariants ----------------------------------------------------------------------------------------------

    def _bad_state(self, state: WorkloadState) -> Mapping[str, str]:
        bad = self.ledger.bad_view(state.pool)
        situation = self._situation(state)
        found = [(invariant.name, invariant.check(situation)) for invariant in STATES if not invariant.of_view]
        if isinstance(situation.facts, PermitFacts):
            sit = len(situation.facts.queued_with_slot)
            self.most_queued_with_slot = max(self.most_queued_with_slot, sit)
            now = self._runs_now(situation.facts, state)
            found += [(one.name, one.check(now)) for one in OF_RUNS]
        more = {name: message for name, message in found if message is not None}
        return {**bad, **more} if more else bad

    def _runs_now(self, facts: PermitFacts, state: WorkloadState) -> RunsNow:
        at = list(zip(self.workload.scenario.runs, state.progress, strict=True))
        on = [spec for spec, progress in at if progress >= RESUMED]
        return RunsNow(facts, on, [spec.name for spec, progress in at if progress == ENDED])

    def _situation(self, state: WorkloadState) -> Situation:
        facts = self.ledger.facts(state.pool)
        return Situation(facts, self.workload.scenario, self.workload.cap, state.levels, state.resizes, self.most)

    def _bad_step(self, state: WorkloadState, action: Action, _: WorkloadState) -> Mapping[str, str] | None:
        call = self.workload.call_of(state, action)
        return None if call is None else self.ledger.bad_call(call)

    def _stuck(self, state: WorkloadState) -> Mapping[str, str] | None:
        found = stuck(self.workload, self.ledger.facts(state.pool), state)
        if found is None:
            return None
        told = "; ".join(found.told) or "nothing tells why"
        if found.promised:
            unfinished = have_not_ended(self.workload.bodies.unfinished(state))
            message = f"nothing goes on, and {unfinished}: {told}"
            return {self._deadlock: message, "AllFinish": message}
        self.diagnoses.setdefault(found.name, found)
        self._diagnosed += 1
        named = self.workload.scenario.diagnoses
        if found.reasons and all(any(names(one, reason) for one in named) for reason in found.reasons):
            return None
        return {"Diagnosis": f"nothing goes on ({found.name}), which the scenario does not name: {told}"}

    # -- witnesses -----------------------------------------------------------------------------------------------

    def _state_shows(self, state: WorkloadState) -> list[str]:
        situation = self._situation(state)
        seen = [witness for witness in self._unseen if witness.check(situation)]
        if seen:
            self._unseen = [witness for witness in self._unseen if witness not in seen]
        self.most_seen = max(self.most_seen, len(situation.facts.in_flight))
        return [witness.name for witness in seen]

    def _step_shows(self, state: WorkloadState, action: Action, _: WorkloadState) -> tuple[str, ...]:
        call = self.workload.call_of(state, action)
        if call is None:
            return ()
        shows = self.ledger.shows(call)
        if action[0] == "cancel" and self.workload.granted_not_resumed(state, action[1]):
            return (*shows, GRANT_CANCELLED)
        return shows
