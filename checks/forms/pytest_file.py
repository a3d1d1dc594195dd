"""A trace as a pytest file: it imports the subject and nothing else, makes the calls of the trace, and asserts."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from slotcheck.checks.facts import most_in_flight
from slotcheck.checks.forms import judges, permit_judges
from slotcheck.checks.forms.by_the_rules import Due, by_the_rules
from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.forms.program import comment, template
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.permit_subject import PermitSubject
from slotcheck.checks.subject import ClassSubject
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import MadeCall, Trace, seen_of
from slotcheck.pymodel.rules import PermitState

__all__ = ["PYTEST", "REAL", "class_of", "import_lines", "literal", "options", "sources_of", "version_of"]

_SECONDS = 60  # for a test of a few calls
_DEADLOCKS = ("NoDeadlock", "NoDeadlockWithPermits", "AllFinish")
#: What a right pool would have answered, or would look like.
_BY_THE_RULES = ("Lockstep", "FewestHeldFirst", "MemoTrue", "NoDoubleWork", "PermitFirstCome", "EnterTakesNoSlot")
_JUDGES = {**judges.JUDGES, **permit_judges.PERMIT_JUDGES}
REAL = "slotlending:Pool"
_REAL_PERMITS = "slotlending.permit:Permits"

# Without types: their sources are copied.
as_view: Callable[[Any], dict[str, Any]] = judges.as_view
as_permit_view: Callable[[Any], dict[str, Any]] = permit_judges.as_permit_view


class Classes(NamedTuple):
    """The classes that a test makes its pool of, as ``package.module:Class``."""

    pool: str
    #: The permits that stand on it; None where runs need none.
    permits: str | None = None


def _make(making: Making) -> dict[str, str]:
    return {f"test_{_identifier(making.stem)}.py": _written(making, _classes(making))}


def _classes(making: Making) -> Classes:
    """Of permits that are the subject the pool is the one that ships, and the other way round."""
    spec = class_of(making)
    if isinstance(making.subject, PermitSubject):
        return Classes(REAL, spec)
    if not making.trace.permits:
        return Classes(spec)
    assert isinstance(making.subject, ClassSubject)
    lacking = [name for name in ("judge", "state") if not hasattr(making.subject.cls, name)]
    if lacking:
        raise NotWrittenError(f"permits stand on a pool that has {' and '.join(lacking)}, and {spec} does not")
    return Classes(spec, _REAL_PERMITS)


def class_of(making: Making) -> str:
    """The subject's class as ``package.module:Class``."""
    if not isinstance(making.subject, ClassSubject):
        raise NotWrittenError(f"{making.subject.name} is a rule of the model, and no class to import")
    return REAL if making.subject.name == "pool" else making.subject.name


def _written(making: Making, classes: Classes) -> str:
    trace = making.trace
    body = [*_calls(making), *_judgement(making)]
    return template("test.py.jinja").render(
        heading=comment(f"{trace.invariant} is violated by {trace.subject} in {trace.name}"),
        sentence=comment(ALL_INVARIANTS.get(trace.invariant, "")),
        message=comment(trace.message),
        version=comment(version_of(trace)),
        steps=len(trace.steps),
        imports="\n".join(_imports(classes)),
        of_pool="pool has" if classes.permits is None else "pool or its permits have",
        sources=sources_of("\n".join(body)),
        name=_snake(trace.invariant),
        new=_new(trace),
        body=body,
    )


def _imports(classes: Classes) -> Iterator[str]:
    lines = [import_lines(classes.pool)]
    if classes.permits is not None:
        lines.append(import_lines(classes.permits, "Permits"))
    # Imports first, then the names that need a line of their own.
    yield from sorted(lines, key=lambda line: "\n" in line)


def import_lines(spec: str, alias: str = "Pool") -> str:
    """The import of a class under another name."""
    module, _, name = spec.partition(":")
    outer, *inner = name.split(".")
    if not inner:
        return f"from {module} import {outer}" + (f" as {alias}" if outer != alias else "")
    return f"from {module} import {outer}\n\n{alias} = {name}"


def version_of(trace: Trace) -> str:
    """The version that found the trace."""
    return (versions() if trace.versions is None else trace.versions).get("slotcheck", "?")


def sources_of(program: str) -> list[str]:
    """The functions that a program calls, to be copied into it."""
    there_are = {**vars(judges), **vars(permit_judges)}
    called = [judge for name, judge in there_are.items() if inspect.isfunction(judge) and f"{name}(" in program]
    return [inspect.getsource(judge).rstrip() + "\n" for judge in called]


def _new(trace: Trace) -> str:
    pool = f"Pool({', '.join([str(trace.cap), *options(trace)])})"
    return f"Permits({pool})" if trace.permits else pool


def _restored(trace: Trace) -> str:
    return f"{'Permits' if trace.permits else 'Pool'}.restore(pool.snapshot())"


def options(trace: Trace) -> Iterator[str]:
    if trace.order != "fewest_held":
        yield f"order={trace.order!a}"
    if trace.tie != "served":
        yield f"tie={trace.tie!a}"
    if trace.relend:
        yield "relend=True"


# -- the calls ---------------------------------------------------------------------------------------------------


def _calls(making: Making) -> Iterator[str]:
    trace = making.trace
    dues = {due.step: due for due in by_the_rules(trace)}
    last = max(dues, default=0)
    for number, step in enumerate(trace.steps, 1):
        yield f"# {number}. {comment(step.event)}"
        if number in dues and not (number == last and trace.invariant == "Refused"):
            yield from _call(making, dues[number], number == last)


def _call(making: Making, due: Due, is_last: bool) -> Iterator[str]:
    trace = making.trace
    if due.call is None or making.replayed.restored:
        yield f"pool = {_restored(trace)}"
    if due.call is None:
        return
    call = python_call(due.call)
    if due.code is not None and (is_last or due.code in (due.call.refused, due.call.declined)):
        yield f"assert refused(lambda: {call}) == {due.code!a}"
    elif due.code is not None:
        yield "try:"
        yield f"    {call}"
        yield "except Exception as refusal:"
        yield f"    assert getattr(refusal, 'code', None) == {due.code!a}, refusal"
        yield "    return  # a pool that goes by the rules went another way before, and refuses this"
    elif is_last:
        if trace.invariant in ("GrantsTold", "CapRespected"):
            yield "before = pool.snapshot()"
        yield f"{', '.join(_answer(trace))} = {call}"
    else:
        yield call


def _answer(trace: Trace) -> tuple[str, ...]:
    """What a call answers."""
    return ("granted", "relent", "handed", "came_to") if trace.permits else ("granted", "relent")


def python_call(call: MadeCall) -> str:
    """A call as Python, in ASCII whatever the names are."""
    args = list(call.args)
    while len(args) > 1 and args[-1] is None:
        args.pop()
    if call.verb == "new":
        return f"Pool({args[0]!a})"
    return f"pool.{call.verb}({', '.join(map(ascii, args))})"


# -- what must be so ---------------------------------------------------------------------------------------------


def _judgement(making: Making) -> Iterator[str]:
    """The assertions at the end, about ``granted`` and ``relent`` (of the last call) and the pool."""
    trace = making.trace
    name, snapshot = trace.invariant, "pool.snapshot()"
    dues = by_the_rules(trace)
    last = dues[-1] if dues else None
    if name == "Refused":
        yield from _must_refuse(trace, dues[-1], snapshot)
    elif name == "Answers":
        pass  # the call itself fails
    elif last is not None and last.call is not None and last.code not in (None, last.call.refused, last.call.declined):
        pass  # that the last call is refused has just been asserted, and what is so after it on the subject is not
    elif name == "Replays":
        yield from _must_replay(dues, trace)
    elif name in _BY_THE_RULES:
        yield from _must_answer(trace, dues[-1], snapshot)
    elif name in _DEADLOCKS and not trace.again:
        waits = {
            run: [ender for _, _, enders in them for ender in enders]
            for run, them in _waits(trace).items()
            if trace.moments[-1].progress.get(run) == "resumed"  # who queues on a permit tells its snapshot
        }
        yield f"waits = {literal(waits)}  # what each body waits for besides slots"
        judge = "somebody_goes_on_under_permits" if trace.permits else "somebody_goes_on"
        yield from _wrong(f"{judge}({snapshot}, waits)")
    elif name == "EndedHoldsNoSlot":
        yield from _wrong(f"ended_holds_no_slot({snapshot}, {sorted(trace.moments[-1].ended)!a})")
    elif name == "MaxInFlight":
        assert trace.play is not None
        most = most_in_flight(trace.play.runs, trace.cap)
        yield from _wrong(f"max_in_flight({snapshot}, {most})")
        if trace.after["waiting"]:
            yield from _wrong(f"all_on_longest_paths_are_admitted({snapshot})")
    elif name == "InFlightWithinCapTimesLevels":
        levels = max((run["level"] for moment in trace.moments for run in moment.view["runs"].values()), default=1)
        yield from _wrong(f"in_flight_within_cap_times_levels({snapshot}, {levels})")
        if not any(step.action[0] == "resize" for step in trace.steps):
            yield from _wrong(f"taken_within_cap({snapshot})")
    elif name == "CapRespected":
        yield from _wrong(f"cap_respected(granted, {snapshot})")
    elif name == "GrantsTold":
        yield from _wrong(f"grants_told(before, granted, relent, {snapshot})")
    elif name == "HeldMatches":
        yield from _wrong(f"held_matches({snapshot}, pool.held)")
    elif name in _JUDGES:
        yield from _wrong(f"{_JUDGES[name].__name__}({snapshot})")
    else:
        raise NotWrittenError(
            f"no test of a pool alone can show {name}" + (" that goes round for ever" * bool(trace.again))
        )


def _wrong(judged: str) -> Iterator[str]:
    yield f"wrong = {judged}"
    yield "assert wrong is None, wrong"


def _waits(trace: Trace) -> dict[str, Any]:
    return trace.moments[-1].waits


def _must_refuse(trace: Trace, due: Due, snapshot: str) -> Iterator[str]:
    assert due.call is not None
    yield f"before = {snapshot}"
    call = python_call(due.call)
    if due.code is None:
        yield f"assert tuple({call}) == {((), (), (), None)[: len(_answer(trace))]}"
    else:
        yield f"code = refused(lambda: {call})"
        yield f"assert code == {due.code!a}, f'answered with {{code}}'"
    yield f"assert {snapshot} == before, 'the call must change nothing'"


def _must_replay(dues: list[Due], trace: Trace) -> Iterator[str]:
    yield "lived = tuple(granted), tuple(relent), pool.snapshot()"
    yield f"pool = {_new(trace)}"
    yield "# The same once more, the pool restored from its snapshot before each call."
    calls = [due.call for due in dues if due.call is not None]
    for call in calls:
        yield f"pool = {_restored(trace)}"
        yield f"{', '.join(_answer(trace)) + ' = ' if call is calls[-1] else ''}{python_call(call)}"
    yield "restored = tuple(granted), tuple(relent), pool.snapshot()"
    yield "assert lived == restored, 'the pool keeps something outside its snapshot'"


def _must_answer(trace: Trace, due: Due, snapshot: str) -> Iterator[str]:
    """The answer by the rules, and of the view what is another there."""
    if due.outcome is None:
        return
    answer = _answer(trace)
    expected: dict[str, Any] = {name: getattr(due.outcome, name) for name in answer}
    found = seen_of(trace, trace.after)
    rules, seen = as_view(due.state), as_view(found)
    views = f"**as_view({snapshot})"
    if isinstance(due.state, PermitState):
        rules, seen = {**rules, **as_permit_view(due.state)}, {**seen, **as_permit_view(found)}
        views += f", **as_permit_view({snapshot})"
    expected |= {name: value for name, value in rules.items() if value != seen[name]}
    given = ", ".join(f"{name!r}: {name if name == 'came_to' else f'tuple({name})'}" for name in answer)
    yield f"expected = {literal(expected)}"
    yield f"found = {{{given}, {views}}}"
    yield from _wrong("as_expected(expected, found)")


def literal(value: Any) -> str:
    """As Python, in ASCII and in an order that is always the same."""
    if not isinstance(value, dict):
        return ascii(value)
    items = value.items() if "granted" in value else sorted(value.items(), key=lambda item: ascii(item[0]))
    return "{" + ", ".join(f"{key!a}: {literal(item)}" for key, item in items) + "}"


# -- running it --------------------------------------------------------------------------------------------------


def _check(making: Making, files: dict[str, str]) -> None:
    """pytest sees it fail on the subject, and pass on the pool that ships."""
    if importlib.util.find_spec("pytest") is None:
        raise NotWrittenError("pytest is not installed, so that it cannot be run")
    (fails,) = files.values()
    real = Classes(REAL, _REAL_PERMITS if making.trace.permits else None)
    outcomes = _pytest({"test_fault.py": fails, "test_real.py": _written(making, real)})
    if outcomes.get("test_real.py") != "PASSED":
        raise NotWrittenError(f"the pool that ships does not pass it: {outcomes.get('test_real.py', 'not run')}")
    if outcomes.get("test_fault.py") != "FAILED":
        raise NotWrittenError(f"it does not fail on the subject: {outcomes.get('test_fault.py', 'not run')}")


def _pytest(files: dict[str, str]) -> dict[str, str]:
    """How each of these files ended."""
    with tempfile.TemporaryDirectory(prefix="slotcheck-") as folder:
        for name, text in {**files, "pytest.ini": "[pytest]\n"}.items():
            Path(folder, name).write_text(text, "utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=line", "-p", "no:cacheprovider"]
        command += ["-c", str(Path(folder, "pytest.ini")), "--rootdir", folder, *(str(Path(folder, n)) for n in files)]
        path = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": path, "PYTEST_ADDOPTS": ""}
        try:
            ran = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise NotWrittenError(f"it does not end within {_SECONDS} s") from error
    found = re.findall(r"^(PASSED|FAILED|ERROR) (?:\S*/)?(test_\w+\.py)", ran.stdout, flags=re.MULTILINE)
    return {file: outcome for outcome, file in found}


def _identifier(told: str) -> str:
    return re.sub(r"\W", "_", told, flags=re.ASCII) or "trace"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _identifier(name)).lower()


PYTEST = Form("pytest", "a pytest file that fails on the subject and passes on a right pool", _make, _check)
