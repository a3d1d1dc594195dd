"""Cutting a script at which a port fails down to one each line of which is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from slotcheck.checks.port.drive import ANSWERS, LOCKSTEP, REPLAYS, Fault, Session, since_reset
from slotcheck.checks.port.messages import Request

__all__ = ["Smallest", "smallest"]

Requests: TypeAlias = tuple[Request, ...]

# Scripts tried at most: where each may take a whole time-out or a new process, few.
_TRIES: Final = 3_000
_TRIES_WITH_A_NEW_PROCESS: Final = 60
_TRIES_WITH_A_TIMEOUT: Final = 4
_SLOW: Final = frozenset({"hangs", "half a line", "closes its output"})


_NOT_AGAIN: Final = "the same requests to a new process do not show it: the port does not do the same every time"


class Smallest(NamedTuple):
    """A script, and the fault that a port shows at the last line of it."""

    requests: Requests
    fault: Fault
    #: What a reader has to know about it; "" if nothing.
    remark: str = ""


def smallest(session: Session, fault: Fault) -> Smallest:
    """The smallest script found that shows a fault of the same kind to a new process."""
    if fault.breach is not None:
        if not fault.alone:
            return Smallest(since_reset(fault.requests), fault, _NOT_AGAIN)
        slow = fault.breach.kind in _SLOW
        found = _cut(_Still(fault, session.fresh, _TRIES_WITH_A_TIMEOUT if slow else _TRIES_WITH_A_NEW_PROCESS), fault)
        return Smallest(found.requests, found)
    still = _Still(fault, session.again, _TRIES)
    again = still(since_reset(fault.requests))
    if again is not None:
        again = _last_of(still, again)
        if "state" in session.port().hello.features:
            again = still(_with_states(again.requests)) or again
        alone = session.fresh(_cut(still, again).requests)
        if alone is not None and _kind(alone) == _kind(fault):
            return Smallest(alone.requests, alone)
    return _with_all(session, fault)


def _with_all(session: Session, fault: Fault) -> Smallest:
    """A wrong answer that the requests since the last `reset` do not bring about in a new process."""
    still = _Still(fault, session.fresh, _TRIES_WITH_A_NEW_PROCESS)
    found = still(fault.requests)
    if found is None:
        return Smallest(since_reset(fault.requests), fault, _NOT_AGAIN)
    found = _cut(still, found)
    if sum(request["op"] == "reset" for request in found.requests) < 2:
        return Smallest(found.requests, found)
    told = f"what came before the last reset is needed, so something outlives a reset: {found.message}"
    return Smallest(found.requests, replace(found, invariant=REPLAYS, message=told))


class _Still:
    """Whether a script still shows a fault of the same kind, as long as tries are left."""

    def __init__(self, fault: Fault, play: Callable[[Requests], Fault | None], tries: int) -> None:
        self._kind = _kind(fault)
        self._play = play
        self._tries = tries

    def __call__(self, requests: Sequence[Request]) -> Fault | None:
        if self._tries <= 0:
            return None
        self._tries -= 1
        fault = self._play(tuple(requests))
        return fault if fault is not None and _kind(fault) == self._kind else None


def _kind(fault: Fault) -> tuple[str, str]:
    """A wrong answer to a call that the rules allow is one kind, be it a refusal or not."""
    invariant = LOCKSTEP if fault.invariant == ANSWERS else fault.invariant
    return invariant, "" if fault.breach is None else fault.breach.kind


def _with_states(requests: Sequence[Request]) -> Requests:
    """With the state asked for after every call, so that a fault shows as soon as it can be seen."""
    calls = [request for request in requests if request["op"] != "state"]
    return tuple([one for call in calls for one in (call, {"op": "state"})])


def _last_of(still: _Still, fault: Fault) -> Fault:
    """With the last requests only: as few as show it, of 8, 16, 32, ..."""
    requests, count = fault.requests, 8
    while count < len(requests):
        shorter = still((requests[0], *requests[-count:]))
        if shorter is not None:
            return shorter
        count *= 2
    return fault


def _cut(still: _Still, fault: Fault) -> Fault:
    """Without the requests that are not needed: in pieces of half, a quarter, ... of them, down to one by one."""
    if len(fault.requests) < 2:
        return fault
    fault = _without_pieces(still, fault)
    for change in (_plainer_reset, _lower_caps, _short_names):
        while (changed := next(filter(None, map(still, change(fault.requests))), None)) is not None:
            fault = changed
    return _without_pieces(still, fault)


def _without_pieces(still: _Still, fault: Fault) -> Fault:
    size = max(len(fault.requests) // 2, 1)
    while True:
        cut = False
        end = len(fault.requests) - 1  # the last request is the one that is answered wrongly
        while end > 1:
            start = max(end - size, 1)
            requests = fault.requests
            shorter = still(requests[:start] + requests[end:])
            if shorter is not None:
                fault, cut = shorter, True
                end = min(start, len(fault.requests) - 1)
            else:
                end = start
        if size == 1 and not cut:
            return fault
        size = max(size // 2, 1)


def _plainer_reset(requests: Requests) -> Iterator[Requests]:
    """Without the options of its pool, all and one by one."""
    first = requests[0]
    options = [name for name in ("relend", "tie", "order") if name in first]
    for without in [options] * (len(options) > 1) + [[name] for name in options]:
        yield ({name: value for name, value in first.items() if name not in without}, *requests[1:])


def _lower_caps(requests: Requests) -> Iterator[Requests]:
    cap = requests[0].get("cap")
    if type(cap) is int:
        for lower in range(1, min(cap, 4)):
            yield ({**requests[0], "cap": lower}, *requests[1:])


def _short_names(requests: Requests) -> Iterator[Requests]:
    """Runs called a, b, c, ... as they come."""
    names: dict[str, str] = {}
    for request in requests:
        for name in ("run", "parent"):
            called = request.get(name)
            if called is not None and called not in names:
                names[called] = chr(ord("a") + len(names)) if len(names) < 26 else f"r{len(names)}"

    def named(request: Request) -> Request:
        changed: Request = {name: names[request[name]] for name in ("run", "parent") if request.get(name) is not None}
        if request.get("job"):
            changed["job"] = [names.get(name, name) for name in request["job"]]
        return {**request, **changed}

    if any(old != new for old, new in names.items()):
        yield tuple(map(named, requests))
