"""A trace as a program on the real asyncio port: a task for each run, the pool of the trace as the port's core.

The port decides nothing about slots, so what a pool does wrong it does wrong there too, as far as the port makes the
same calls: what is in the way of that is seen by running the program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slotcheck.checks.facts import most_in_flight
from slotcheck.checks.forms import judges
from slotcheck.checks.forms.by_the_rules import by_the_rules
from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.forms.program import comment, template
from slotcheck.checks.forms.pytest_file import REAL, class_of, import_lines, literal, options, sources_of, version_of
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.subject import ClassSubject
from slotcheck.checks.trace import Trace, state_of
from slotcheck.pymodel.scenario import Scenario
from slotlending import Pool

__all__ = ["ASYNCIO"]

_SECONDS = 30  # for a program of a few tasks

#: What the port does not let through: its core's answers, and pools that are made or restored.
_NOT_THERE = {
    "Refused": "the port makes no call that the rules refuse",
    "Replays": "the port restores no pool",
}
_VIEW = "named(pool.core.snapshot())"


def _make(making: Making) -> dict[str, str]:
    trace, subject = making.trace, making.subject
    if trace.play is None:
        raise NotWrittenError("a history of calls has no runs that could be tasks")
    if trace.permits:
        raise NotWrittenError("it has permits, and the tasks of the program ask for slots only")
    spec = class_of(making)
    if not isinstance(subject, ClassSubject) or not issubclass(subject.cls, Pool):
        raise NotWrittenError("the port's core is a slotlending.Pool: only a class derived from it can stand there")
    if reason := _NOT_THERE.get(trace.invariant):
        raise NotWrittenError(reason)
    if trace.again:
        raise NotWrittenError("a program that goes on for ever shows nothing")
    return {f"{making.stem}_asyncio.py": _written(trace, trace.play, spec)}


def _written(trace: Trace, play: Scenario, spec: str) -> str:
    judged = list(_judged(trace, play))
    text = "\n".join(judged)
    return template("asyncio.py.jinja").render(
        heading=comment(f"{trace.invariant} is violated by {trace.subject} in {trace.name}"),
        sentence=comment(ALL_INVARIANTS.get(trace.invariant, "")),
        message=comment(trace.message),
        version=comment(version_of(trace)),
        imports=import_lines(spec),
        sources=sources_of(f"{text} failed("),
        new=", ".join([str(trace.cap), *options(trace)]),
        body=list(_steps(trace, play)),
        judged=judged,
    )


def _steps(trace: Trace, play: Scenario) -> Iterator[str]:
    roots: dict[str, str] = {}
    for run in play.runs:
        roots[run.name] = run.name if run.parent is None else roots[run.parent]
    for number, step in enumerate(trace.steps, 1):
        yield f"# {number}. {comment(step.event)}"
        verb = step.action[0]
        if step.call is None:
            if verb == "resume":
                yield "await turns()"
            continue
        before = trace.moments[number - 1]
        granted = before.view["runs"].get(step.run, {}).get("phase") == "in_flight"
        if verb == "cancel" and granted and before.progress.get(str(step.run)) == "asked":
            yield "await asyncio.sleep(0)  # so that the grant is told, and not yet taken up"
        else:
            yield "await turns()"
        if step.call.verb == "resize":
            yield f"pool.resize({step.call.args[0]!a})"
        elif step.call.verb == "ask":
            run, parent, job = step.call.args
            given = job if job is not None else (roots[run],) if parent is None else None
            yield f"ask({run!a}, {parent!a}, {given!a})"
        elif verb == "cancel":
            yield f"tasks[{step.call.args[0]!a}].cancel()"
        else:
            yield f"ends[{step.call.args[0]!a}].set()"


def _judged(trace: Trace, play: Scenario) -> Iterator[str]:
    """What must be None in the end."""
    name = trace.invariant
    if name in ("NoDeadlock", "AllFinish"):
        waits = {run: [one for _, _, enders in them for one in enders] for run, them in trace.moments[-1].waits.items()}
        yield f"somebody_goes_on({_VIEW}, {literal(waits)})"
    elif name == "MaxInFlight":
        yield f"max_in_flight({_VIEW}, {most_in_flight(play.runs, trace.cap)})"
        if trace.after["waiting"]:
            yield f"all_on_longest_paths_are_admitted({_VIEW})"
    elif name == "InFlightWithinCapTimesLevels":
        yield f"in_flight_within_cap_times_levels({_VIEW}, {play.levels})"
    elif name == "CapRespected":
        yield f"taken_at_most({_VIEW}, {by_the_rules(trace)[-1].state.taken})"
    elif name == "HeldMatches":
        yield f"held_matches({_VIEW}, pool.held)"
    elif name == "GrantsTold":
        yield f"everybody_woken({_VIEW}, runs)"
    elif name in ("Lockstep", "FewestHeldFirst"):
        yield f"as_expected({literal(_expected(trace))}, as_view({_VIEW}))"
    elif name in judges.JUDGES:
        yield f"{judges.JUDGES[name].__name__}({_VIEW})"
    elif name != "Answers":  # that shows in a task
        raise NotWrittenError(f"no program shows {name}")


def _expected(trace: Trace) -> dict[str, Any]:
    """Of the view by the rules what is another on the subject."""
    as_view: Any = judges.as_view
    rules, seen = as_view(by_the_rules(trace)[-1].state), as_view(state_of(trace, trace.after))
    return {name: value for name, value in rules.items() if value != seen[name]}


def _check(making: Making, files: dict[str, str]) -> None:
    """Run, it tells the fault on the subject, and none on the pool that ships."""
    (faulty,) = files.values()
    assert making.trace.play is not None
    code, told = _run(_written(making.trace, making.trace.play, REAL))
    if code != 0:
        raise NotWrittenError(f"the pool that ships does not pass it: {told}")
    code, told = _run(faulty)
    if code != 1 or not told.startswith("violated: "):
        raise NotWrittenError("the port does not make the calls that show it" if code == 0 else f"it fails: {told}")


def _run(program: str) -> tuple[int, str]:
    """Its exit code, and the last line that it said."""
    with tempfile.TemporaryDirectory(prefix="slotcheck-") as folder:
        path = Path(folder, "program.py")
        path.write_text(program, "utf-8")
        search = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
        try:
            ran = subprocess.run(
                [sys.executable, str(path)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": search},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise NotWrittenError(f"it does not end within {_SECONDS} s") from error
    said = (ran.stdout.strip() or ran.stderr.strip()).splitlines() or ["it says nothing"]
    return ran.returncode, said[-1][:300]


ASYNCIO = Form("asyncio", "a program that shows it on the real asyncio port", _make, _check)
