"""What the rules say to the calls of a trace: the answers that a test or a script made of it must demand."""

from __future__ import annotations

from typing import Any, NamedTuple

from slotcheck.checks.forms.form import NotWrittenError
from slotcheck.checks.trace import RESTORE, MadeCall, Trace
from slotcheck.pymodel.rules import RULES, BuildPermit, Outcome, PermitOutcome, PermitState, Refusal, Rule, State

__all__ = ["CALLS_OF_A_POOL", "Due", "by_the_rules"]

CALLS_OF_A_POOL = ("ask", "try_ask", "finish", "cancel", "resize", "new")
_CALLS_OF_PERMITS = (*CALLS_OF_A_POOL, "enter", "resume", "fail")


class Due(NamedTuple):
    """One call, and what is due to it."""

    #: The number of its step, and its event.
    step: int
    event: str
    #: None where the pool is replaced by one restored from its snapshot.
    call: MadeCall | None
    #: None where the rules refuse it, with the code.
    outcome: Outcome | PermitOutcome | None
    code: str | None
    #: The state afterwards, by the rules.
    state: State | PermitState


def by_the_rules(trace: Trace) -> list[Due]:
    """The calls of a trace, made under the reference rule from the start on.

    Raises:
        NotWrittenError: one of them is no call of a pool.
    """
    rule: Rule | BuildPermit = BuildPermit(RULES["lend"]) if trace.permits else RULES["lend"]
    calls = _CALLS_OF_PERMITS if trace.permits else CALLS_OF_A_POOL
    options = {"order": trace.order, "tie": trace.tie}
    state: Any = rule.initial(trace.cap, relend=trace.relend, **options)
    dues = []
    for number, step in enumerate(trace.steps, 1):
        call = step.call
        if call is None:
            if step.action == (RESTORE,):
                dues.append(Due(number, step.event, None, Outcome(state, (), ()), None, state))
            continue
        if call.verb not in calls:
            raise NotWrittenError(f"step {number}: {call.verb} is no call of a pool, but a step of the rule")
        outcome: Outcome | PermitOutcome | None = None
        code = None
        try:
            if call.verb == "new":
                outcome = Outcome(rule.initial(call.args[0], relend=trace.relend, **options), (), ())
            else:
                outcome = getattr(rule, call.verb)(state, *call.args)
        except Refusal as refusal:
            code = refusal.code
        state = state if outcome is None else outcome.state
        dues.append(Due(number, step.event, call, outcome, code, state))
    return dues
