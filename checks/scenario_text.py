"""Scenarios written in their notation: what ``checks/scenario.py`` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.scenario import Act, Op, RunSpec, Scenario

__all__ = ["scenario_text"]

_RELEND = {(False,): "off", (True,): "on", (False, True): "both"}
_USUAL = RunSpec("")
_BEFORE = {"spawn": "+", "wait": "&", "await": "~", "need": "?", "set": "!"}


def scenario_text(scenario: Scenario) -> str:
    """The scenario in the notation. Reading it back gives the same one, but for its name and the order of its runs
    (parents stand before their children, as the tree is written).
    """
    return "\n".join(f"{key}: {value}" for key, value in _lines(scenario) if value) + "\n"


def _lines(scenario: Scenario) -> Iterator[tuple[str, str]]:
    yield "title", " ".join(scenario.title.split())
    yield "source", " ".join(scenario.source.split())
    yield "cap", " ".join(map(str, scenario.caps))
    yield "tree", tree_text(scenario.runs)
    for run in scenario.runs:
        if run.body is not None:
            yield f"body {run.name}", "; ".join(map(_op, run.body))
    for gate, places in scenario.gates.items():
        yield f"gate {gate}", str(places)
    if scenario.blocking_spawn:
        yield "spawn", "blocks"
    yield from _of_runs(scenario)
    yield "late", " ".join(run.name for run in scenario.runs if run.late)
    if scenario.late_children:
        yield "late children", "yes"
    yield "environment", "; ".join(_acts(scenario.environment))
    if scenario.resizes != 2:
        yield "resizes", str(scenario.resizes)
    yield "script", "; ".join(map(_pinned, scenario.script))
    if scenario.relend != (False,):
        yield "relend", _RELEND[tuple(sorted(set(scenario.relend)))]
    for rule, outcomes in scenario.expect.items():
        yield f"expect {rule}", ", ".join(" ".join(outcome) for outcome in outcomes)
    for reason in scenario.diagnoses:
        yield "diagnosis", " ".join(reason)


def _of_runs(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for run in scenario.runs:
        if run.job is not None:
            yield f"job {run.name}", "/".join(run.job)
        if run.at_ms != _USUAL.at_ms:
            yield f"at {run.name}", str(run.at_ms)
        if run.work_ms != _USUAL.work_ms:
            yield f"work {run.name}", str(run.work_ms)
        if run.component is not None:
            yield f"component {run.component}", run.name
        if run.key is not None:
            yield f"key {run.key}", run.name
        if run.live is not None:
            yield f"live {run.name}", run.live
        if run.mounter is not None:
            yield f"mounts {run.mounter}", run.name


def _op(op: Op) -> str:
    if op.verb in ("spawn all", "wait all"):
        return f"{_BEFORE[op.verb.removesuffix(' all')]}*"
    if op.verb in ("take", "drop"):
        return f"{op.name}.{op.verb}"
    if op.verb == "work":
        return "w"
    return f"{_BEFORE[op.verb]}{op.name}" if op.verb in _BEFORE else op.verb


def _acts(acts: Iterable[Act]) -> Iterator[str]:
    for resizes, group in groupby(acts, key=lambda act: act.verb == "resize"):
        if resizes:
            yield f"cap := {' '.join(str(act.cap) for act in group)}"
        else:
            yield from (f"{act.verb} {act.run or '*'}" for act in group)


def _pinned(act: Act) -> str:
    if act.verb == "resize":
        return f"cap := {act.cap}"
    return f"{act.verb} {act.run}" + (f" when {act.when}" if act.when else "")
