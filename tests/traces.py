"""Traces for the tests of their forms: of faulty pools, of rules, and with names that nobody would give."""

from __future__ import annotations

from functools import cache
from typing import Any

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.forms.form import Making
from slotcheck.checks.forms.registry import making_of, subject_of
from slotcheck.checks.mutants import MUTANTS, LendsTwice, catch
from slotcheck.checks.scenario import read_scenario
from slotcheck.checks.subject import AnySubject, ClassSubject, RuleSubject
from slotcheck.checks.trace import Trace, trace_of_bad_cap, trace_of_calls
from slotcheck.pymodel.rules import Help, Outcome
from slotcheck.pymodel.rules.state import RunId
from slotcheck.pymodel.subject import Reply

#: Names that would end, break or turn what they stand in.
HOSTILE = (
    "<script>alert(1)</script>",
    "a\nb\r\n\t\0",
    "end",
    '"""\'\\"',
    "x" * 3_000,
    "\u202eright to left\u2066",
    "#59;;%%{init}%% ->> y: z",
    "``` `` {{ x }} {% raw %} ${y}",
    "*) ==== \\* TRUE",
    "\ud800",
)


#: For faulty pools a scenario in which they show.
SHOWS = {
    "AcceptsCapOfZero": "",
    "AdmitsOneTooFew": "cap: 2\ntree: a b",
    "ChangesOnRefusal": "cap: 1\ntree: a",
    "CrashesOnCancelledWaiter": "cap: 1\ntree: a(b c)\nenvironment: cancel *",
    "GrantNotTold": "cap: 1\ntree: a b",
    "HandsOutAboveCap": "cap: 2\ntree: a b c\nenvironment: cap := 1",
    "HeldDrifts": "cap: 1\ntree: a(b)\nenvironment: cancel *",
    "KeepsHiddenState": "cap: 1\ntree: a b c d",
    "LendsToNewest": "cap: 1\ntree: a(b c d)\nenvironment: cancel *",
    "LendsTwice": "cap: 1\ntree: a(b c)",
    "ReleasesAtFirstChild": "cap: 1\ntree: a(b)\nenvironment: cancel *",
    "ResizeForgetsQueue": "cap: 1\ntree: a b\nenvironment: cap := 2",
    "ServesNewestFirst": "cap: 1\ntree: a b c",
    "WaitsInOneQueue": "cap: 1\ntree: a(b c)",
}


@cache
def of_mutant(name: str) -> Trace:
    """The shortest trace of a faulty pool in its scenario."""
    mutant = MUTANTS[name]
    subject = ClassSubject(f"slotcheck.checks.mutants:{name}", mutant)
    if SHOWS[name]:
        return of(SHOWS[name], subject, mutant.caught_by)
    trace = trace_of_bad_cap(subject)
    assert trace is not None
    return trace


@cache
def of_permits(name: str) -> Trace:
    """The smallest trace of faulty permits."""
    (caught,) = catch([name], 3)
    assert isinstance(caught.trace, Trace)
    return caught.trace


@cache
def of_history() -> Trace:
    """Calls without a scenario: `try_ask` never grants."""
    subject = ClassSubject("slotcheck.checks.mutants:TryAskNeverGrants", MUTANTS["TryAskNeverGrants"])
    pool = subject.new(1, relend=False)
    start = pool.snapshot()
    calls = [("ask", "r", None, ("p", "x")), ("finish", "r"), ("finish", "r"), ("try_ask", "s", None, None)]
    made: list[tuple[tuple[Any, ...], Reply | None]] = [(call, subject.call_live(pool, *call)) for call in calls]
    made.insert(2, (("restore",), None))
    told = "try_ask('s') should grant s (pool), but granted nobody"
    return trace_of_calls(subject.name, "a history", made, "Lockstep", told, start=start, cap=1, relend=False)


class HelpsNobody(Help):
    """A worker that waits goes on looking for work, and takes none."""

    def help(self, state: Any, run: RunId) -> Outcome:
        return Outcome(state, (), ())


HELPS_NOBODY = RuleSubject(HelpsNobody())


def of(text: str, subject: AnySubject, invariant: str) -> Trace:
    """The first trace of a subject in a scenario to this invariant."""
    (part,) = parts_of([read_scenario(text, "here")])
    traces = check_part(part, subject).traces
    return next(trace for trace in traces if trace.invariant == invariant)


def going_round() -> Trace:
    """A behaviour that never ends."""
    return of("cap: 1\ntree: a(b)", HELPS_NOBODY, "AllFinish")


def making(trace: Trace, stem: str = "trace") -> Making:
    """What its forms are made of."""
    return making_of(trace, subject_of(trace), stem)


def hostile() -> Trace:
    """A history of a pool that lends twice, with hostile names everywhere."""
    subject = ClassSubject("slotcheck.checks.mutants:LendsTwice", LendsTwice)
    pool = subject.new(1, relend=False)
    start = pool.snapshot()
    lender, *waiters, one, two = HOSTILE
    asks = [(lender, None), *((run, None) for run in waiters), (one, lender), (two, lender)]
    calls = [("ask", run, parent, None) for run, parent in asks]
    made = [(call, subject.call_live(pool, *call)) for call in calls]
    return trace_of_calls(
        subject.name, HOSTILE[0], made, "LevelWithinCap", HOSTILE[3], start=start, cap=1, relend=False
    )
