"""A trace as a script for a port: JSON Lines of the port protocol, each request with the answer that the rules demand.

A port ignores the members that it does not know, ``expect`` among them, so the file can be piped into it as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from slotcheck.checks.forms.by_the_rules import Due, by_the_rules
from slotcheck.checks.forms.form import Form, Making, NotWrittenError
from slotcheck.checks.player import LivePlayer, Player
from slotcheck.checks.subject import resolve_subject, view
from slotcheck.checks.trace import MadeCall, Trace, plain_view
from slotcheck.pymodel.subject import Reply

__all__ = ["PORT", "answer", "request"]


def request(call: MadeCall, trace: Trace) -> dict[str, Any]:
    """A call as a request of the protocol."""
    if call.verb in ("new", "resize"):
        told: dict[str, Any] = {"op": "reset" if call.verb == "new" else "resize", "cap": call.args[0]}
        return told | (_options(trace) if call.verb == "new" else {})
    run, parent, job = (*call.args, None, None)[:3]
    told = {"op": call.verb, "run": run}
    if parent is not None:
        told["parent"] = parent
    if job is not None:
        told["job"] = list(job)
    return told


def answer(reply: Reply) -> dict[str, Any]:
    """An answer as the protocol has it. A crash is no answer that any request expects."""
    if reply.raised is not None:
        return {"error": {"code": f"crashed: {type(reply.raised).__name__}"}}
    if reply.refused is not None or reply.declined is not None:
        return {"error": {"code": reply.refused or reply.declined}}
    granted = [{"run": run, "token": token} for run, token in reply.granted]
    return {"granted": granted, "relent": list(reply.relent)}


def _options(trace: Trace) -> dict[str, Any]:
    return {"order": trace.order, "tie": trace.tie, "relend": trace.relend}


def _make(making: Making) -> dict[str, str]:
    if making.trace.permits:
        raise NotWrittenError("it has permits, and the port protocol has none")
    if making.trace.again:
        raise NotWrittenError("a script ends, and cannot show what goes on for ever")
    lines = _lines(making.trace)
    return {f"{making.stem}.jsonl": "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)}


def _lines(trace: Trace) -> Iterator[dict[str, Any]]:
    nothing: dict[str, Any] = {"granted": [], "relent": []}
    yield {"op": "reset", "cap": trace.cap, **_options(trace), "expect": nothing}
    for due in by_the_rules(trace):
        if due.call is None:
            raise NotWrittenError("the port protocol has no request that restores a pool from its snapshot")
        yield {**request(due.call, trace), "expect": _due(due)}
        yield {"op": "state", "expect": plain_view(due.state, {})}


def _due(due: Due) -> dict[str, Any]:
    if due.outcome is None:
        return {"error": {"code": due.code}}
    return answer(Reply(None, due.outcome.granted, due.outcome.relent))


def _check(making: Making, files: dict[str, str]) -> None:
    """The subject gives another answer than is expected somewhere; the pool that ships gives all that are."""
    (script,) = files.values()
    requests = [json.loads(line) for line in script.splitlines()]
    trace = making.trace
    ships = _first_difference(requests, LivePlayer(resolve_subject("pool"), trace))
    if ships is not None:
        raise NotWrittenError(f"the pool that ships answers line {ships} otherwise too")
    if _first_difference(requests, LivePlayer(making.subject, trace, restores=making.replayed.restored)) is None:
        raise NotWrittenError("the subject gives all the answers that the rules demand: the protocol does not show it")


def _first_difference(requests: list[dict[str, Any]], player: Player) -> int | None:
    """The number of the first line that is answered otherwise."""
    here: Any = None
    for number, line in enumerate(requests, 1):
        verb = line["op"]
        if verb == "state":
            if plain_view(here, {}) != line["expect"]:
                return number
            continue
        if verb == "reset":
            reply = player.new(line["cap"])
        elif verb == "resize":
            reply = player.call(verb, line["cap"])
        elif verb in ("ask", "try_ask"):
            job = line.get("job")
            reply = player.call(verb, line["run"], line.get("parent"), None if job is None else tuple(job))
        else:
            reply = player.call(verb, line["run"])
        if answer(reply) != line["expect"]:
            return number
        here = view(reply.snapshot) if reply.snapshot is not None else here
    return None


PORT = Form("port", "a JSON Lines script for a port", _make, _check)
