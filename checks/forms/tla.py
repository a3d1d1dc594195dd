"""A trace as a TLA+ module that TLC refuses at the step where the subject does otherwise than the specification."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from slotcheck.checks.facts import most_in_flight
from slotcheck.checks.forms.by_the_rules import by_the_rules
from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.forms.program import comment, template
from slotcheck.checks.tlc.config import ConfigError
from slotcheck.checks.tlc.instance import name_of
from slotcheck.checks.tlc.run import run_config
from slotcheck.checks.tlc.tool import ToolMissingError, find_tool
from slotcheck.checks.trace import Trace, plain_view
from slotcheck.pymodel.scenario import Scenario

__all__ = ["TLA"]

_ACTIONS = ("ask", "resume", "finish", "cancel", "finish early", "ask late", "resize")
_ACTIONS_WITH_PERMITS = (*_ACTIONS, "fail")
_SECONDS = 120.0
#: Of the pool's record in the specification, what a view tells too.
_FIELDS = ("cap", "taken", "phase", "token", "lent", "level", "parent", "waiting", "children")
_UNKNOWN = {"phase": "unknown", "token": "none", "lent": False, "level": 0, "parent": None}
_ROOT_NODE = 1


def _make(making: Making) -> dict[str, str]:
    trace, module = making.trace, _module(making.stem)
    play = _play(trace)
    number = {run.name: at for at, run in enumerate(play.runs, 1)}
    steps = []
    for step in trace.steps:
        verb, of = step.action[0], step.action[1]
        shown = of if verb == "resize" else number[of]
        steps.append(
            {
                "action": name_of(verb),
                "of": shown,
                "event": comment(step.event),
                "pool": _record(_pool(step.after.view, number)),
                "permits": _record(_permits(step.after.view, play, number)) if trace.permits else "",
            }
        )
    text = template("trace.tla.jinja").render(
        module=module,
        heading=comment(f"{trace.invariant} is violated by {trace.subject} in {trace.name}"),
        message=comment(trace.message),
        refused=_refused_at(trace, number),
        names=list(number),
        caps=sorted({trace.cap, *(act.cap for act in play.environment if act.cap is not None)}),
        scenario=_record(_scenario(trace, play, number)),
        steps=steps,
        spec="BuildPermit" if trace.permits else "SlotLending",
        permits=trace.permits,
        actions=[name_of(verb) for verb in _actions(trace)],
        fields=_FIELDS,
    )
    return {f"{module}.tla": text, f"{module}.cfg": template("trace.cfg.jinja").render()}


def _actions(trace: Trace) -> tuple[str, ...]:
    return _ACTIONS_WITH_PERMITS if trace.permits else _ACTIONS


def _module(stem: str) -> str:
    return f"Trace_{re.sub('[^A-Za-z0-9]', '_', stem)}"


def _play(trace: Trace) -> Scenario:
    """The scenario, if the specification can have one like it."""
    play = trace.play
    if play is None:
        raise NotWrittenError("a history of calls has no scenario, which the specification needs")
    if trace.again:
        raise NotWrittenError("what goes on for ever is not one behaviour of finitely many steps")
    if any(run.live or run.job for run in play.runs):
        raise NotWrittenError("the specification knows no live runs and no jobs of their own")
    if trace.permits and not play.permits:
        raise NotWrittenError("it has permits, which no run of the scenario needs")
    if play.script or play.blocking_spawn or any(run.body is not None or run.late for run in play.runs):
        raise NotWrittenError(
            "the specification knows default bodies only: no body, script, late run or blocking spawn"
        )
    for at, step in enumerate(trace.steps, 1):
        if step.action[0] not in _actions(trace):
            raise NotWrittenError(f"step {at}: the specification has no step for {step.action[0]!r}")
    return play


def _scenario(trace: Trace, play: Scenario, number: Mapping[str, int]) -> dict[str, Any]:
    verbs = {act.verb for act in play.environment}
    roots = [run.name for run in play.runs if run.parent is None]
    job: dict[str, int] = {}
    for run in play.runs:
        job[run.name] = job[run.parent] if run.parent is not None else _ROOT_NODE + 1 + roots.index(run.name)
    component, key = _numbered(run.component for run in play.runs), _numbered(run.key for run in play.runs)
    return {
        "parent": tuple(0 if run.parent is None else number[run.parent] for run in play.runs),
        "cap": trace.cap,
        "order": trace.order,
        "tie": trace.tie,
        "jobs": (0, *(_ROOT_NODE for _ in roots)),
        "job": tuple(job[run.name] for run in play.runs),
        "relend": trace.relend,
        "cancel": "cancel" in verbs,
        "early": "finish" in verbs,
        "late": play.late_children,
        "fail": "fail" in verbs,
        "component": tuple(component[run.component] for run in play.runs),
        "key": tuple(key[run.key] for run in play.runs),
        "resizes": play.resizes if "resize" in verbs else 0,
        "most": most_in_flight(play.runs, trace.cap),
    }


def _pool(view: Mapping[str, Any], number: Mapping[str, int]) -> dict[str, Any]:
    """A view as the pool's record."""
    strangers = view["runs"].keys() - number.keys()
    if strangers:
        raise NotWrittenError(f"the pool knows runs that the scenario does not have: {', '.join(sorted(strangers))}")
    runs = [view["runs"].get(name, _UNKNOWN) for name in number]
    pool = {field: tuple(run[field] for run in runs) for field in ("phase", "token", "lent", "level")}
    return {
        "cap": view["cap"],
        "taken": view["taken"],
        **pool,
        "parent": tuple(number.get(run["parent"], 0) for run in runs),
        "waiting": tuple(number[name] for name in view["waiting"] if name in number),
        "children": tuple(tuple(number[child] for child in view["children"].get(name, ())) for name in number),
    }


def _numbered(names: Iterable[str | None]) -> dict[str | None, int]:
    """Names by number, from 1; 0 for none."""
    return {None: 0, **{name: at for at, name in enumerate(sorted({name for name in names if name is not None}), 1)}}


def _permits(view: Mapping[str, Any], play: Scenario, number: Mapping[str, int]) -> dict[str, Any]:
    """What a view has of permits, as of the specification's record of them: one of each component."""
    keys = _numbered(run.key for run in play.runs)
    components = sorted({run.component for run in play.runs if run.component is not None})
    nobody = {"holder": None, "queue": (), "memo": None}
    permits = [view["permits"].get(component, nobody) for component in components]
    return {
        "holder": tuple(number.get(permit["holder"], 0) for permit in permits),
        "queue": tuple(tuple(number.get(run, 0) for run in permit["queue"]) for permit in permits),
        "memo": tuple(keys.get(permit["memo"], len(keys)) for permit in permits),  # a key of nobody is none of theirs
    }


def _record(value: Any) -> str:
    """A value in TLA+."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        if not re.fullmatch(r"\w*", value, flags=re.ASCII):
            raise NotWrittenError(f"{value[:40]!a} cannot be written in TLA+")
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"<<{', '.join(map(_record, value))}>>"
    return f"[{', '.join(f'{name} |-> {_record(item)}' for name, item in value.items())}]"


def _refused_at(trace: Trace, number: Mapping[str, int]) -> int:
    """The first step after which the subject's pool, or its permits, are others than by the rules."""
    for due in by_the_rules(trace):
        rules, found = plain_view(due.state, {}), trace.steps[due.step - 1].after.view
        pools = _pool(rules, number), _pool(found, number)
        permits = [_permits(view, _play(trace), number) if trace.permits else {} for view in (rules, found)]
        if pools[0] != pools[1] or permits[0] != permits[1]:
            return due.step
    raise NotWrittenError(
        "TLC accepts it: the fault is in an answer, or hidden, and the specification speaks of neither"
    )


def _check(making: Making, files: dict[str, str]) -> None:
    """TLC refuses just the step that it should."""
    try:
        tool = find_tool()
    except ToolMissingError as error:
        raise NotWrittenError(f"it cannot be run: {error}") from error
    trace, module = making.trace, _module(making.stem)
    with tempfile.TemporaryDirectory(prefix="slotcheck-") as name:
        folder = Path(name)
        with resources.as_file(resources.files("slotcheck.specs")) as specs:
            for path in specs.glob("*.tla"):
                shutil.copy(path, folder)
        for file, text in files.items():
            (folder / file).write_text(text, "utf-8")
        try:
            outcome = run_config(tool, folder, module, module, seconds=_SECONDS).outcome
        except ConfigError as error:
            raise NotWrittenError(f"TLC does not run it: {error}") from error
    if outcome.result != "violated" or outcome.told != "TraceFits":
        told = f"{outcome.result} {outcome.told}".strip()
        raise NotWrittenError(f"TLC does not refuse it: {told[:300]}")
    number = {run.name: at for at, run in enumerate(_play(trace).runs, 1)}
    due, refused = _refused_at(trace, number), len(outcome.states) - 1
    if refused != due:
        raise NotWrittenError(
            f"TLC refuses step {refused} and not step {due}, which is where by the rules it looks otherwise"
        )


TLA = Form(
    "tla", "a TLA+ module that TLC refuses where the subject does otherwise than the specification", _make, _check
)
