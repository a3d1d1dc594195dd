"""What a port does wrong, told: as a trace, and as a script to pipe into it."""

from __future__ import annotations

import json
from typing import Any

from slotcheck.checks.port.drive import REPLAYS
from slotcheck.checks.port.messages import Request, line_of
from slotcheck.checks.port.oracle import Oracle, call_of
from slotcheck.checks.port.smallest import Smallest
from slotcheck.checks.trace import Trace, trace_of_calls
from slotcheck.pymodel.rules import Run, State
from slotcheck.pymodel.subject import Reply

__all__ = ["exchange_of", "script_of", "trace_of_port"]

_CALLS = ("ask", "try_ask", "finish", "cancel", "resize")


def script_of(found: Smallest) -> list[str]:
    """The requests, each a line with the answer that it must get under ``expect``: a conformance vector."""
    oracle = Oracle()
    lines = []
    for request in found.requests:
        expected = oracle.answer(request)
        lines.append(line_of(request if request["op"] == "malformed" else {**request, "expect": expected}))
    return lines


def exchange_of(found: Smallest) -> tuple[str, str]:
    """The request that was answered wrongly and what came, as the lines that they were; a breach knows its own."""
    if found.fault.breach is not None:
        return found.fault.breach.sent, found.fault.breach.received
    return line_of(found.requests[-1]), json.dumps(found.fault.answer, separators=(",", ":"))


def trace_of_port(name: str, found: Smallest) -> Trace | None:
    """The script as a trace of calls. None where it is none: lines that are no requests, or more than one pool.

    Args:
        name: what the port calls itself.
    """
    requests = [request for request in found.requests if not _is_refused_reset(request)]
    if not requests or found.fault.invariant == REPLAYS or requests[0]["op"] != "reset":
        return None
    if any(request["op"] not in (*_CALLS, "state") for request in requests[1:]):
        return None
    oracle = Oracle()
    oracle.answer(requests[0])
    start = oracle.state
    assert start is not None
    calls: list[tuple[tuple[Any, ...], Reply]] = []
    for request in requests[1:]:
        if request["op"] == "state":
            continue
        answer = oracle.answer(request)
        assert oracle.state is not None
        calls.append((call_of(request), _reply(oracle.state, answer)))
    if calls:
        calls[-1] = calls[-1][0], _last_reply(found, requests[-1], calls[-1][1])
    return trace_of_calls(
        f"port {name}",
        "a script of requests",
        calls,
        found.fault.invariant,
        found.fault.message,
        start=start,
        cap=start.cap,
        relend=start.relend,
    )


def _is_refused_reset(request: Request) -> bool:
    return request["op"] == "reset" and "error" in Oracle().answer(request)


def _reply(after: State, answer: Any) -> Reply:
    if "error" in answer:
        return Reply(after, refused=answer["error"]["code"])
    return Reply(after, tuple((grant["run"], grant["token"]) for grant in answer["granted"]), tuple(answer["relent"]))


def _last_reply(found: Smallest, last: Request, demanded: Reply) -> Reply:
    """What the port answered to the last call, with the state that it showed, as far as it showed one."""
    fault = found.fault
    if fault.breach is not None:
        return Reply(demanded.snapshot, raised=fault.breach)
    if last["op"] != "state":
        return _reply(demanded.snapshot, fault.answer)
    return demanded._replace(snapshot=_shown(demanded.snapshot, fault.answer))


def _shown(after: State, answer: Any) -> State:
    """The state as the port shows it; what it does not show is as it should be."""
    known = {run.run: run for run in after.runs}
    runs = after.runs
    if answer["runs"] is not None:
        runs = frozenset(_run(name, told, known.get(name)) for name, told in answer["runs"].items())
    told = {name: answer[name] for name in ("cap", "taken") if answer[name] is not None}
    if answer["waiting"] is not None:
        told["waiting"] = tuple(answer["waiting"])
    if answer["children"] is not None:
        told["children"] = frozenset((run, tuple(below)) for run, below in answer["children"].items() if below)
    if answer["lines"] is not None:
        told["lines"] = frozenset((tuple(one["node"]), tuple(one["line"])) for one in answer["lines"] if one["line"])
    return after._replace(runs=runs, **told)


def _run(name: str, told: dict[str, Any], should: Run | None) -> Run:
    known = should if should is not None else Run(name, "waiting", "none", False, 1, None, (name,))
    fields = {key: value for key, value in told.items() if key in Run._fields and value is not None}
    if "parent" in told:
        fields["parent"] = told["parent"]
    if "job" in fields:
        fields["job"] = tuple(fields["job"])
    return known._replace(**fields)
