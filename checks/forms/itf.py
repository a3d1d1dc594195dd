"""The file of a trace: ITF, the format in which model checkers exchange traces.

``NAME.itf.json`` holds all there is to a trace. ``#meta`` says what was checked and what fails, and has the scenario in
its notation; then come the states, each with the variables of `itf_kinds.STATE`, with the action that led to it
(``mbt::actionTaken``, its arguments in ``mbt::nondetPicks``), and with the call that the pool heard and its answer
(``called``, at most one). A behaviour that never ends has a ``loop``: from there to the last state, and so on.
Where runs need permits each state has those and the runs present too, and each call what it says of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.forms.itf_kinds import META, STATE, STATE_WITH_PERMITS
from slotcheck.checks.forms.itf_values import (
    Function,
    Maybe,
    TraceError,
    integer,
    text,
    to_itf,
)
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.notation import quoted
from slotcheck.checks.options import MOST_CAP
from slotcheck.checks.scenario import ScenarioError, read_scenario
from slotcheck.checks.scenario_text import scenario_text
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import CALL, RESTORE, MadeCall, Moment, Step, Trace
from slotcheck.pymodel.rules import order
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.workload import BODY_STEPS, ENVIRONMENT_ACTS, RULE_STEPS, Action
from slotlending.order import TIES

__all__ = ["FORMAT_VERSION", "ITF", "MOST_STEPS", "SUFFIX", "TraceError", "load_trace", "read_trace", "write_trace"]

SUFFIX = ".itf.json"
_FORMAT, FORMAT_VERSION = "slotcheck trace", 1

#: Longest trace, in steps, and longest file, in bytes, that are read: some seconds' work.
MOST_STEPS = 20_000
_MOST_BYTES = 64 * 2**20

_ACTIONS = (*BODY_STEPS, *RULE_STEPS, *ENVIRONMENT_ACTS)
_WITH_A_NAME = {"set": "event", "take": "lock", "drop": "lock"}
_OF_POOLS = ("resize", "new")  # calls with a cap and no run
_OF_PERMITS = ("enter", "resume", "fail")
_CALLS = ("ask", "try_ask", "finish", "cancel", *_OF_POOLS, *_OF_PERMITS, *RULE_STEPS)
_PROGRESS = ("idle", "asked", "resumed", "ended")


# -- writing -----------------------------------------------------------------------------------------------------


def write_trace(trace: Trace) -> str:
    """The trace as the text of its file. Reading it back gives an equal trace, but for the order of a scenario's runs.

    Raises:
        TypeError: a run is not named by a string, so that no file can name it.
    """
    meta = {
        "format": _FORMAT,
        "format-version": FORMAT_VERSION,
        "description": f"{trace.invariant} is violated by {trace.subject} in {trace.name}",
        "subject": trace.subject,
        "scenario": trace.scenario,
        "notation": None if trace.play is None else scenario_text(trace.play),
        "cap": trace.cap,
        "relend": trace.relend,
        "order": trace.order,
        "tie": trace.tie,
        "invariant": trace.invariant,
        "sentence": ALL_INVARIANTS.get(trace.invariant, ""),
        "message": trace.message,
        "versions": dict(versions() if trace.versions is None else trace.versions),
    }
    states = [_state(trace.start, None), *(_state(step.after, step) for step in (*trace.steps, *trace.again))]
    written: dict[str, Any] = {
        "#meta": meta,
        "vars": list(states[0]),
        "states": [{"#meta": {"index": at}, **state} for at, state in enumerate(states)],
    }
    for state, step in zip(written["states"][1:], (*trace.steps, *trace.again), strict=True):
        state["#meta"]["event"] = step.event
    if trace.again:
        written["loop"] = len(trace.steps)
    return json.dumps(written, separators=(",", ":")) + "\n"


def _state(moment: Moment, step: Step | None) -> dict[str, Any]:
    view = moment.view
    stacks = view.get("stacks")
    runs = {
        name: {**run, "parent": Maybe(run["parent"]), "job": list(run["job"])} for name, run in view["runs"].items()
    }
    locks = {name: {"inside": lock["in"], "queue": lock["queue"]} for name, lock in moment.locks.items()}
    waits = {
        run: [{"kind": kind, "name": name, "enders": list(enders)} for kind, name, enders in waits]
        for run, waits in moment.waits.items()
    }
    permits = "permits" in view
    called = None if step is None or step.call is None else _called(step.call, permits=permits)
    variables: dict[str, Any] = {
        "cap": view["cap"],
        "taken": view["taken"],
        "runs": Function(runs),
        "waiting": view["waiting"],
        "children": Function(view["children"]),
        "lines": view["lines"],
        "stacks": Maybe(stacks),
        "progress": Function(moment.progress),
        "locks": Function(locks),
        "events": frozenset(moment.events),
        "waits": Function(waits),
        **(_of_permits(view) if permits else {}),
        "called": Maybe(called),
        "mbt::actionTaken": "init" if step is None else step.action[0],
        "mbt::nondetPicks": {} if step is None else _picks(step.action),
    }
    return {name: to_itf(value) for name, value in variables.items()}


def _of_permits(view: Mapping[str, Any]) -> dict[str, Any]:
    permits = {
        component: {"holder": Maybe(one["holder"]), "queue": one["queue"], "memo": Maybe(one["memo"])}
        for component, one in view["permits"].items()
    }
    may_lack = ("component", "key", "parent")
    present = {
        run: {name: Maybe(value) if name in may_lack else value for name, value in known.items()}
        for run, known in view["present"].items()
    }
    return {"permits": Function(permits), "present": Function(present)}


def _called(call: MadeCall, *, permits: bool) -> dict[str, Any]:
    answer = {
        "granted": list(call.granted),
        "relent": list(call.relent),
        "refused": Maybe(call.refused),
        "declined": Maybe(call.declined),
        "raised": Maybe(call.raised),
        "held": [(list(job), held) for job, held in call.held],
    }
    arguments = _arguments(call.verb, call.args)
    if permits:
        answer |= {"handed": list(call.handed), "came_to": Maybe(call.came_to)}
        component, key, lineage = _entering(call)
        arguments |= {
            "component": Maybe(component),
            "key": Maybe(key),
            "lineage": Maybe(None if lineage is None else list(lineage)),
        }
    return {"verb": call.verb, "arguments": arguments, "answer": answer}


def _entering(call: MadeCall) -> tuple[Any, Any, Any]:
    """Component, key and lineage of a run that enters."""
    if call.verb != "enter":
        return None, None, None
    _, component, key, _, _, lineage = call.args
    return component, key, lineage


def _arguments(verb: str, args: tuple[Any, ...]) -> dict[str, Any]:
    """A cap that is none (0 is a number; True, a fraction, a string ...) is told in JSON."""
    first, parent, job = (args[0], *args[3:5]) if verb == "enter" else (*args, None, None)[:3]
    of_pool = verb in _OF_POOLS
    is_number = isinstance(first, int) and not isinstance(first, bool)
    return {
        "run": Maybe(None if of_pool else first),
        "parent": Maybe(parent),
        "job": Maybe(None if job is None else list(job)),
        "cap": Maybe(first if of_pool and is_number else None),
        "no_cap": Maybe(json.dumps(first) if of_pool and not is_number else None),
    }


def _picks(action: Action) -> dict[str, Any]:
    """The arguments of an action, each under its name. All are strings: itf-py takes no integer in a variant."""
    verb, *rest = action[1:] if action[0] == CALL else action
    if not rest:
        return {}
    picks = {"cap": str(rest[0])} if verb in _OF_POOLS else {"run": rest[0]}
    if verb in _WITH_A_NAME:
        picks[_WITH_A_NAME[verb]] = rest[1]
    return {name: {"tag": "Some", "value": value} for name, value in picks.items()}


# -- reading -----------------------------------------------------------------------------------------------------

_VIEW = ("cap", "taken", "runs", "waiting", "children", "lines")


def load_trace(path: Path) -> Trace:
    """The trace in a file.

    Raises:
        TraceError: the file cannot be opened, or holds no trace that can be used.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise TraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > _MOST_BYTES:
        raise TraceError(f"{path}: longer than {_MOST_BYTES // 2**20} MiB, which no trace of {MOST_STEPS:,} steps is")
    try:
        return read_trace(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: not UTF-8, so no trace ({error.reason} at byte {error.start})") from error
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error


def read_trace(written: str) -> Trace:
    """The trace that this text is.

    Raises:
        TraceError: it is none, or one that cannot be used; the message says where and why.
    """
    try:
        found = json.loads(written)
    except json.JSONDecodeError as error:
        text = written.rstrip()
        whole = text.endswith("}") and error.pos < len(text)  # it may be cut off behind a bracket that closes another
        cut = "" if whole else " (is it cut off?)"
        told = f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}{cut}"
        raise TraceError(told) from error
    except (RecursionError, ValueError) as error:  # ValueError: an integer of thousands of digits
        raise TraceError(f"not JSON that can be read: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("states"), list):
        raise TraceError("not an ITF trace: there is no list of states")
    meta = found.get("#meta")
    if not isinstance(meta, dict) or meta.get("format") != _FORMAT:
        raise TraceError(f"an ITF trace, but not one of slotcheck: #meta.format is not {_FORMAT!r}")
    if meta.get("format-version") != FORMAT_VERSION:
        told = f"{meta.get('format-version')!r:.20} ({_written_by(meta)}); this version reads {FORMAT_VERSION}"
        raise TraceError(f"a trace in another format: version {told}")
    if not found["states"]:
        raise TraceError("states: there is none")
    if len(found["states"]) > MOST_STEPS + 1:
        raise TraceError(f"{len(found['states']) - 1:,} steps; at most {MOST_STEPS:,} are read")
    return _trace(meta, found["states"], found.get("loop"))


def _written_by(meta: Mapping[str, Any]) -> str:
    by = meta.get("versions")
    version = by.get("slotcheck") if isinstance(by, dict) else None
    return f"written by slotcheck {version:.20}" if isinstance(version, str) else "it does not say by what"


def _trace(meta: Mapping[str, Any], states: list[Any], loop: Any) -> Trace:
    fields = META(meta, "#meta")
    if not fields["subject"]:
        raise TraceError("#meta.subject: there is none")
    _judge_making(fields)
    notation, by = meta.get("notation"), meta.get("versions", {})
    play = None
    if notation is not None:
        play = _scenario(text(notation, "#meta.notation"), fields["scenario"])
    if not isinstance(by, dict) or not all(isinstance(name, str) for name in by.values()):
        raise TraceError("#meta.versions: expected names with their versions")
    kind = STATE_WITH_PERMITS if isinstance(states[0], dict) and "permits" in states[0] else STATE
    read = [kind(state, f"states[{at}]") for at, state in enumerate(states)]
    moments = [_moment(state, play, f"states[{at}]") for at, state in enumerate(read)]
    steps = [_step(states[at], read[at], moments[at], play, f"step {at}") for at in range(1, len(states))]
    end = len(steps)
    if loop is not None:
        end = integer(loop, "loop")
        if not 0 <= end < len(states):
            raise TraceError(f"loop: there is no state {end}")
    return Trace(
        **fields,
        tree="" if play is None else play.tree,
        start=moments[0],
        steps=tuple(steps[:end]),
        again=tuple(steps[end:]),
        play=play,
        versions=by,
    )


def _judge_making(fields: Mapping[str, Any]) -> None:
    """How its pool is made must be one of the ways that there are."""
    if not 1 <= fields["cap"] <= MOST_CAP:
        raise TraceError(f"#meta.cap: a cap is an integer from 1 to {MOST_CAP:,}")
    if fields["tie"] not in TIES:
        raise TraceError(f"#meta.tie: one of {', '.join(TIES)}, not {quoted(fields['tie'])}")
    try:
        order.judge(fields["order"])
    except ValueError as error:
        raise TraceError(f"#meta.order: {error}") from error


def _scenario(notation: str, name: str) -> Scenario:
    try:
        return replace(read_scenario(notation, "#meta.notation"), name=name)
    except ScenarioError as error:
        raise TraceError(str(error).partition("\n")[0]) from error


def _moment(state: Mapping[str, Any], play: Scenario | None, where: str) -> Moment:
    view = {name: state[name] for name in _VIEW}
    if state["stacks"] is not None:
        view["stacks"] = state["stacks"]
    view |= {name: state[name] for name in ("permits", "present") if name in state}
    progress = state["progress"]
    if play is not None and progress.keys() != play.index.keys():
        raise _unknown(progress.keys() ^ play.index.keys(), play, f"{where}.progress")
    for run, word in progress.items():
        if word not in _PROGRESS:
            raise TraceError(f"{where}.progress of {quoted(run)}: expected {', '.join(_PROGRESS)}, not {quoted(word)}")
    locks = {name: {"in": lock["inside"], "queue": lock["queue"]} for name, lock in state["locks"].items()}
    waits = {
        run: tuple((wait["kind"], wait["name"], tuple(wait["enders"])) for wait in waits)
        for run, waits in state["waits"].items()
    }
    return Moment(view, progress, locks, state["events"], waits)


def _step(state: Any, read: Mapping[str, Any], after: Moment, play: Scenario | None, where: str) -> Step:
    verb = text(state.get("mbt::actionTaken"), f"{where}: mbt::actionTaken")
    picks = state.get("mbt::nondetPicks")
    event = state.get("#meta", {}).get("event") if isinstance(state.get("#meta", {}), dict) else None
    call = None if read["called"] is None else _read_call(read["called"], where)
    return Step(_action(verb, picks, call, play, where), text(event, f"{where}: #meta.event"), call, after)


def _read_call(called: Mapping[str, Any], where: str) -> MadeCall:
    verb, arguments, answer = called["verb"], called["arguments"], called["answer"]
    if verb not in _CALLS:
        raise TraceError(f"{where}: there is no call {quoted(verb)}")
    args: tuple[Any, ...] = (arguments["run"],)
    if verb in ("ask", "try_ask"):
        job = arguments["job"]
        args = (arguments["run"], arguments["parent"], None if job is None else tuple(job))
    elif verb == "enter":
        if "lineage" not in arguments:
            raise TraceError(f"{where}: a call of enter, but the states have no permits")
        job, lineage = (None if told is None else tuple(told) for told in (arguments["job"], arguments["lineage"]))
        args = (arguments["run"], arguments["component"], arguments["key"], arguments["parent"], job, lineage)
    elif verb in _OF_POOLS:
        args = (arguments["cap"],)
        if arguments["no_cap"] is not None:
            args = (_no_cap(arguments["no_cap"], where),)
    if args[0] is None and arguments["no_cap"] is None:
        raise TraceError(f"{where}: a call of {verb} without its {'cap' if verb in _OF_POOLS else 'run'}")
    for name in ("granted", "relent", "handed"):
        if name in answer:
            answer[name] = tuple(answer[name])
    answer = {**answer, "held": tuple((tuple(job), held) for job, held in answer["held"])}
    return MadeCall(verb, args, **answer)


def _no_cap(told: str, where: str) -> Any:
    try:
        value = json.loads(told[:100])
    except ValueError as error:
        raise TraceError(f"{where}: no_cap: not JSON") from error
    if isinstance(value, list | dict):
        raise TraceError(f"{where}: no_cap: expected a number, true, false, null or a string")
    return value


def _action(verb: str, picks: Any, call: MadeCall | None, play: Scenario | None, where: str) -> Action:
    if verb == RESTORE and play is None:
        return (RESTORE,)
    if verb == CALL or play is None:
        if call is None or (play is None and verb != call.verb and verb != CALL):
            raise TraceError(f"{where}: {quoted(verb)} is no call")
        return (CALL, call.verb, *call.args) if verb == CALL else (call.verb, *call.args)
    if verb not in _ACTIONS:
        raise TraceError(f"{where}: unknown action {quoted(verb)}")
    if verb == "resize":
        return verb, integer({"#bigint": _pick(picks, "cap", where)}, where)
    run = text(_pick(picks, "run", where), where)
    if run not in play.index:
        raise _unknown([run], play, where)
    if verb in _WITH_A_NAME:
        return verb, run, text(_pick(picks, _WITH_A_NAME[verb], where), where)
    return verb, run


def _pick(picks: Any, name: str, where: str) -> Any:
    pick = picks.get(name) if isinstance(picks, dict) else None
    if not isinstance(pick, dict) or "value" not in pick:
        raise TraceError(f"{where}: mbt::nondetPicks has no {name}")
    return pick["value"]


def _unknown(runs: Iterable[str], play: Scenario, where: str) -> TraceError:
    first = min(runs)
    if first in play.index:
        return TraceError(f"{where}: run {quoted(first)} is missing")
    return TraceError(f"{where}: unknown run {quoted(first)}; the scenario's tree is {play.tree[:80]}")


def _make(making: Making) -> dict[str, str]:
    try:
        return {f"{making.stem}{SUFFIX}": write_trace(making.trace)}
    except TypeError as error:
        raise NotWrittenError(f"a run is not named by a string: {error}") from error


def _check(making: Making, files: dict[str, str]) -> None:
    """Read back, by our reader and (where it is installed) by itf-py, it is the same trace."""
    (written,) = files.values()
    read = read_trace(written)
    if write_trace(read) != written:
        raise NotWrittenError("read back, it is another trace")
    try:
        import itf_py  # type: ignore[import-untyped]
    except ImportError:
        return
    if len(itf_py.trace_from_json(json.loads(written)).states) != len(making.trace.steps) + len(making.trace.again) + 1:
        raise NotWrittenError("itf-py reads another number of states")


ITF = Form("itf", "ITF JSON, the file of the trace itself, which `slotcheck replay` and `show` read", _make, _check)
