"""The subject in lockstep with the reference rule: on every call the same answer in the same order and the same view.

Since the views are equal before every call, it is enough to compare call by call: the reference starts from the
subject's own view. What the rules refuse is tried in every state, and must change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotcheck.checks.facts import Facts
from slotcheck.checks.subject import AnySubject
from slotcheck.pymodel.rules import Refusal, Rule, State
from slotcheck.pymodel.subject import Call

__all__ = ["BAD_CAPS", "STRANGER", "calls_without_effect", "difference", "lockstep", "refuses_bad_caps"]

#: What is no cap (R1, R8): 0, below 0, not a number, a fraction, a float, a bool, a string, nothing.
BAD_CAPS: tuple[Any, ...] = (0, -1, float("nan"), 1.5, 2.0, True, "2", None)

STRANGER = "~"  # an id that no scenario has


def lockstep(reference: Rule, before: State, call: Call, after: State) -> str | None:
    """What the subject did otherwise than the reference; None if nothing."""
    reply = call.reply
    try:
        expected = getattr(reference, call.verb)(before, *call.args)
    except Refusal as refusal:
        if reply.refused != refusal.code:
            return f"the rules refuse {told(call)} with {refusal.code}; the subject answered {_answer(reply)}"
        return difference(before, after)
    if reply.refused is not None or reply.raised is not None:
        return None  # told by Answers
    if reply.granted != expected.granted:
        return f"{told(call)} should grant {_grants(expected.granted)}, but granted {_grants(reply.granted)}"
    if reply.relent != expected.relent:
        return f"{told(call)} should relend {list(expected.relent)}, but relent {list(reply.relent)}"
    return difference(expected.state, after)


def difference(expected: State, found: State) -> str | None:
    """The first field in which two views differ, in words; None if they are equal."""
    if expected == found:
        return None
    for name in State._fields:
        should, does = getattr(expected, name), getattr(found, name)
        if should == does:
            continue
        if name == "runs":
            should_by, does_by = ({run.run: run for run in runs} for runs in (should, does))
            for run in sorted({*should_by, *does_by}):
                if should_by.get(run) != does_by.get(run):
                    return f"run {run} should be {_run(should_by.get(run))}, but is {_run(does_by.get(run))}"
        if isinstance(should, frozenset):
            return f"{name} should be {sorted(should, key=repr)}, but is {sorted(does, key=repr)}"
        return f"{name} should be {should!r}, but is {does!r}"
    raise AssertionError("unequal views with equal fields")


def calls_without_effect(facts: Facts, names: Sequence[str]) -> list[tuple[tuple[Any, ...], str | None]]:
    """Calls that must change nothing in this state: with the code they are refused with, or None if they are answered
    and grant nothing (a ``try_ask`` that would have to wait).
    """
    runs, state = facts.runs, facts.state
    calls: list[tuple[tuple[Any, ...], str | None]] = []
    for name in (*names, STRANGER):
        run = runs.get(name)
        if run is None:
            calls.append((("finish", name), "not_known"))
            calls.append((("cancel", name), "not_known"))
            if name != STRANGER:
                calls.append((("ask", STRANGER, name, None), "parent_not_in_flight"))
            continue
        calls.append((("ask", name, None, None), "run_known"))
        calls.append((("try_ask", name, STRANGER, None), "run_known"))  # judged before the parent
        if run.phase == "waiting":
            calls.append((("finish", name), "not_admitted"))
        elif run.phase == "parked":
            calls.append((("finish", name), "not_known"))
            calls.append((("cancel", name), "not_known"))
        if run.phase != "in_flight":
            calls.append((("ask", STRANGER, name, None), "parent_not_in_flight"))
            calls.append((("try_ask", STRANGER, name, ()), "parent_not_in_flight"))  # judged before the job
            continue
        calls.append((("ask", STRANGER, name, ()), "job_not_leaf"))
        if run.lent and state.taken >= state.cap:
            calls.append((("try_ask", STRANGER, name, None), None))
    for job in sorted({run.job for run in state.runs}):
        calls.append((("ask", STRANGER, None, (*job, "below")), "job_not_leaf"))
        if len(job) > 1:
            calls.append((("try_ask", STRANGER, None, job[:-1]), "job_not_leaf"))
    calls.append((("ask", STRANGER, None, ()), "job_not_leaf"))
    if state.taken >= state.cap:
        calls.append((("try_ask", STRANGER, None, None), None))
    calls += [(("resize", cap), "bad_cap") for cap in (0, True)]
    return calls


def refuses_bad_caps(subject: AnySubject) -> str | None:
    """R1 and R8 for every kind of bad cap: refused with ``bad_cap`` when made and when resized; else which is not."""
    for cap in BAD_CAPS:
        try:
            subject.initial(cap, relend=False)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if getattr(error, "code", None) != "bad_cap":
                return f"a new pool of cap {cap!r} must be refused with bad_cap, but raised {error!r}"
        else:
            return f"a new pool of cap {cap!r} must be refused with bad_cap, but was made"
    return subject.unchanged(subject.initial(1, relend=False), [(("resize", cap), "bad_cap") for cap in BAD_CAPS])


def told(call: Call) -> str:
    """The call, as one would write it."""
    args = [repr(arg) for arg in call.args if arg is not None]
    if call.verb == "enter":
        run, component, *more = call.args
        named = zip(("key", "parent", "job", "lineage"), more, strict=False)
        args = [repr(run), repr(component), *(f"{name}={value!r}" for name, value in named if value is not None)]
    return f"{call.verb}({', '.join(args)})"


def _answer(reply: Any) -> str:
    if reply.raised is not None:
        return f"{type(reply.raised).__name__}: {reply.raised}"
    return f"with {reply.refused}" if reply.refused else f"{_grants(reply.granted)}"


def _grants(granted: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{run} ({token})" for run, token in granted) or "nobody"


def _run(run: Any) -> str:
    if run is None:
        return "not known"
    return ", ".join(f"{name} {value!r}" for name, value in zip(run._fields, run, strict=True) if name != "run")
