"""What a port does wrong, told: as a trace, and as a script to pipe into it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from slotcheck.checks.forms.form import Making, NotWrittenError
from slotcheck.checks.forms.registry import FORMS, written_form
from slotcheck.checks.forms.written import WrittenTrace
from slotcheck.checks.player import Player
from slotcheck.checks.port.client import AnyPort
from slotcheck.checks.port.drive import LOCKSTEP, REPLAYS
from slotcheck.checks.port.messages import Call, Request, line_of, order_of
from slotcheck.checks.port.oracle import Oracle, call_of
from slotcheck.checks.port.player import PortPlayer
from slotcheck.checks.port.process import PortFaultError, StartError
from slotcheck.checks.port.smallest import Smallest
from slotcheck.checks.replay import replay
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.trace import Trace, trace_of_calls

__all__ = ["exchange_of", "script_of", "trace_of_port", "write_forms"]

_CALLS = ("ask", "try_ask", "finish", "cancel", "resize")
_SCRIPT, _OF_A_CLASS = "port", "pytest"  # forms


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


def trace_of_port(start: Callable[[bool], AnyPort], found: Smallest) -> Trace | None:
    """The script as a trace of calls, made by a port that is started for it.

    None where it is no trace: there are lines that are no requests, or several pools, or no answer.
    """
    calls = _calls(found)
    if calls is None:
        return None
    try:
        port = start(True)
    except (StartError, PortFaultError):
        return None
    try:
        player = _player(port, found.requests[0])
        first = player.new(found.requests[0]["cap"]).snapshot
        made = []
        for call in calls:
            reply = player.new(call[1]) if call[0] == "new" else player.call(*call)
            if reply.raised is not None:
                return None
            made.append((call, reply))
    finally:
        port.kill()
    return trace_of_calls(
        f"port {port.hello.name}",
        "a script of requests",
        made,
        found.fault.invariant,
        found.fault.message,
        start=first,
        cap=first.cap,
        relend=first.relend,
    )


def _calls(found: Smallest) -> list[Call] | None:
    """The calls of a script that makes one pool, then calls it; a refused `reset` among them is one more, ``new``."""
    if found.fault.breach is not None or found.fault.invariant == REPLAYS or len(found.requests) < 2:
        return None
    first, *rest = found.requests
    if first["op"] != "reset" or "error" in Oracle().answer(first):
        return None
    calls: list[Call] = []
    for request in rest:
        if request["op"] == "reset" and "error" in Oracle().answer(request):
            calls.append(("new", request["cap"]))
        elif request["op"] in _CALLS:
            calls.append(call_of(request))
        elif request["op"] != "state":
            return None
    return calls


def _player(port: AnyPort, reset: Request) -> PortPlayer:
    return PortPlayer(port, order_of(reset), bool(reset.get("relend")))


def write_forms(
    start: Callable[[bool], AnyPort], found: Smallest, trace: Trace, folder: Path, stem: str
) -> WrittenTrace:
    """Write the trace in every form that a port's can have, replayed on the port first, to a folder that there is.

    The script is that of `script_of`.

    Raises:
        OSError: a file cannot be written.
    """
    outcome = WrittenTrace(trace.invariant)
    ports: list[AnyPort] = []

    def player(restores: bool) -> Player:
        ports.append(start(True))
        return _player(ports[-1], found.requests[0])

    try:
        replayed = replay(trace, player)
        if not replayed.accepted:  # a refusal by a name that no scenario has: the same to the reference
            trace = replace(trace, invariant=LOCKSTEP)
            replayed = replay(trace, player)
    finally:
        for port in ports:
            port.kill()
    files = {_SCRIPT: {f"{stem}.jsonl": "".join(f"{line}\n" for line in script_of(found))}}
    # No form that is made here looks at the subject: the trace is of a port, which is none of `slotcheck check`.
    making = Making(trace, resolve_subject("rule:lend"), replayed, stem)
    for form in FORMS.values():
        try:
            if form.name == _OF_A_CLASS:
                raise NotWrittenError("a port is no class that a test could import")
            if not replayed.accepted:
                raise NotWrittenError(f"replayed on the port, it does not show the violation: {replayed.message}")
            if form.name != _SCRIPT:
                files[form.name] = written_form(form, making)
        except NotWrittenError as error:
            outcome.not_written[form.name] = str(error)
    for name, made in files.items():
        outcome.not_written.pop(name, None)
        for file, text in made.items():
            (folder / file).write_text(text, "utf-8")
        outcome.files[name] = list(made)
    return outcome
