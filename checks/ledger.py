"""What is wrong with each view and each call of a subject: found once, however many states and scenarios share them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from slotcheck.checks.conformance import calls_without_effect, lockstep
from slotcheck.checks.facts import Facts
from slotcheck.checks.invariants import CALLS, STATES, Happening
from slotcheck.checks.permit_invariants import OF_PERMIT_CALLS, OF_PERMIT_VIEWS, PermitFacts, permit_lockstep
from slotcheck.checks.permit_invariants import calls_without_effect as permit_calls_without_effect
from slotcheck.checks.permit_subject import PermitRuleSubject, PermitSubject, permit_view
from slotcheck.checks.permit_witnesses import PERMIT_WITNESSES
from slotcheck.checks.subject import AnySubject, view
from slotcheck.checks.witnesses import OF_CALLS
from slotcheck.pymodel.rules import BuildPermit, Rule
from slotcheck.pymodel.subject import Call, Calls

__all__ = ["Ledger"]


class Ledger:
    """The judgements of one subject on runs of these names.

    Args:
        subject: who decides about slots.
        reference: the rule to keep in lockstep with; None for a subject that follows another rule.
        names: the runs that a refused call can name.
        only: judge no other invariants of views and calls than these; None: all.
    """

    def __init__(
        self,
        subject: AnySubject,
        reference: Rule | None,
        names: Sequence[str],
        *,
        only: Collection[str] | None = None,
    ) -> None:
        self.subject = subject
        self.reference = reference
        self.calls = Calls(subject)
        self._names = tuple(names)
        self._permits = isinstance(subject, PermitSubject | PermitRuleSubject)
        of_views = (*(one for one in STATES if one.of_view), *(OF_PERMIT_VIEWS if self._permits else ()))
        of_calls = (*CALLS, *(OF_PERMIT_CALLS if self._permits else ()))
        wanted = [*(invariant.name for invariant in (*of_views, *of_calls)), "Refused"] if only is None else only
        self._of_views = [invariant for invariant in of_views if invariant.name in wanted]
        self._of_calls = [invariant for invariant in of_calls if invariant.name in wanted]
        self._tries_refusals = "Refused" in wanted
        self._facts: list[Facts] = []
        self._bad_views: list[dict[str, str] | None] = []
        #: How many different views and calls have been judged.
        self.views_judged = 0
        self.calls_judged = 0

    def facts(self, pool: int) -> Facts:
        """What can be read off the subject's state of this number."""
        while len(self._facts) <= pool:
            snapshot = self.calls.snapshots[len(self._facts)]
            self._facts.append(PermitFacts(permit_view(snapshot)) if self._permits else Facts(view(snapshot)))
        return self._facts[pool]

    def happening(self, call: Call) -> Happening:
        """A call and the views before and after it."""
        return Happening(self.facts(call.source), call, self.facts(call.target))

    def bad_view(self, pool: int) -> dict[str, str]:
        """What is wrong with the subject's state of this number, by invariant."""
        while len(self._bad_views) <= pool:
            self._bad_views.append(None)
        bad = self._bad_views[pool]
        if bad is None:
            self.views_judged += 1
            facts = self.facts(pool)
            found = {
                invariant.name: _tried(lambda: invariant.check(facts))  # noqa: B023
                for invariant in self._of_views
            }
            if self._tries_refusals:
                if isinstance(facts, PermitFacts):
                    without_effect = permit_calls_without_effect(facts, self._names)
                else:
                    without_effect = calls_without_effect(facts, self._names)
                found["Refused"] = self.subject.unchanged(self.calls.snapshots[pool], without_effect)
            bad = self._bad_views[pool] = {name: message for name, message in found.items() if message is not None}
        return bad

    def bad_call(self, call: Call) -> dict[str, str]:
        """What is wrong with a call, by invariant."""
        if call.judged is None:
            self.calls_judged += 1
            happening = self.happening(call)
            found = {invariant.name: _tried(lambda: invariant.check(happening)) for invariant in self._of_calls}  # noqa: B023
            # The reference cannot go on from a view that the rules never come to.
            if self.reference is not None and not self.bad_view(call.source).keys() - {"Refused"}:
                found["Lockstep"] = _tried(lambda: self._lockstep(call))
            call.judged = {name: message for name, message in found.items() if message is not None}
        return call.judged

    def shows(self, call: Call) -> tuple[str, ...]:
        """What the call is a witness of."""
        if call.shows is None:
            happening = self.happening(call)
            of_calls = (*OF_CALLS, *(PERMIT_WITNESSES if self._permits else ()))
            call.shows = tuple(witness.name for witness in of_calls if witness.check(happening))
        return call.shows

    def _lockstep(self, call: Call) -> str | None:
        assert self.reference is not None
        before, after = self.facts(call.source), self.facts(call.target)
        if isinstance(before, PermitFacts) and isinstance(after, PermitFacts):
            return permit_lockstep(BuildPermit(self.reference), before, call, after)
        return lockstep(self.reference, self.facts(call.source).state, call, self.facts(call.target).state)


def _tried(check: Callable[[], str | None]) -> str | None:
    """A faulty subject's views can be such that a check, or the reference, cannot make sense of them."""
    try:
        return check()
    except Exception as error:
        return f"the views before and after make no sense: {type(error).__name__}: {error}"
