"""Cutting a script at which a port fails down to one each line of which is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from slotcheck.checks.port.drive import ANSWERS, LOCKSTEP, REPLAYS, Fault, Session, since_reset
from slotcheck.checks.port.messages import Request

__all__ = ["Smallest", "smallest"]

Requests: TypeAlias = tuple[Request, ...]

# Scripts tried at most: where each may take a whole time-out or a new process, few.
_TRIES: Final = 3_000
_TRIES_WITH_A_NEW_PROCESS: Final = 60
_TRIES_WITH_A_TIMEOUT: Final = 4
_FEW: Final = 30  # requests: then pairs of them are tried
_SLOW: Final = frozenset({"hangs", "half a line", "closes its output"})


_NOT_AGAIN: Final = "the same requests to a new process do not show it: the port does not do the same every time"
_ONLY_IN_A_BATCH: Final = "each of these requests alone is answered as it must be: it is the batch that is not"


class Smallest(NamedTuple):
    """A script, and the fault that a port shows at the last line of it."""

    requests: Requests
    fault: Fault
    #: What a reader has to know about it; "" if nothing.
    remark: str = ""


def smallest(session: Session, fault: Fault, *, shows: bool) -> Smallest:
    """The smallest script found that shows a fault of the same kind to a new process.

    Args:
        shows: whether the port has `state`.
    """
    if fault.breach is not None:
        if not fault.requests:
            return Smallest((), fault)  # it came before the first of them
        if not fault.alone:
            batch = fault.breach.sent.startswith('{"op":"batch"')
            return Smallest(since_reset(fault.requests), fault, _ONLY_IN_A_BATCH if batch else _NOT_AGAIN)
        slow = fault.breach.kind in _SLOW
        found = _cut(_Still(fault, session.fresh, _TRIES_WITH_A_TIMEOUT if slow else _TRIES_WITH_A_NEW_PROCESS), fault)
        return Smallest(found.requests, found)
    still = _Still(fault, session.again, _TRIES)
    again = still(since_reset(fault.requests))
    if again is not None:
        again = _last_of(still, again)
        if shows:
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
        if fault is None or _kind(fault) != self._kind:
            return None
        # What a port writes unasked may come before the first of them is sent, and then says nothing of them.
        return fault if fault.requests else None


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
    """Without what is not needed: requests, runs, pairs of requests, members of requests, as long as that goes on."""
    fault = _without_pieces(still, fault)
    size = -1
    while size != _size(fault.requests):
        size = _size(fault.requests)
        for change in (_without_a_run, _without_a_pair, _plainer_requests, _plainer_reset, _lower_caps, _short_names):
            while (changed := next(filter(None, map(still, change(fault.requests))), None)) is not None:
                fault = changed
        fault = _without_pieces(still, fault)
    return fault


def _size(requests: Requests) -> int:
    return sum(map(len, requests))


def _without_pieces(still: _Still, fault: Fault) -> Fault:
    size = max(len(fault.requests) // 2, 1)
    while True:
        cut = False
        first = int(fault.requests[0]["op"] == "reset")  # what makes the pool stays
        end = len(fault.requests) - 1  # the last request is the one that is answered wrongly
        while end > first:
            start = max(end - size, first)
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


def _without_a_run(requests: Requests) -> Iterator[Requests]:
    """Without all that names one of the runs; the last request stays."""
    last = requests[-1]
    for run in dict.fromkeys(request["run"] for request in requests if "run" in request):
        if run not in (last.get("run"), last.get("parent")):
            yield tuple(one for one in requests if run not in (one.get("run"), one.get("parent")))


def _without_a_pair(requests: Requests) -> Iterator[Requests]:
    """Without two of the requests between the first and the last, where these are few."""
    if len(requests) <= _FEW:
        for one, other in combinations(range(1, len(requests) - 1), 2):
            yield tuple(request for at, request in enumerate(requests) if at not in (one, other))


def _plainer_requests(requests: Requests) -> Iterator[Requests]:
    """With one request that has no job, or no parent, or that is an ask and no try."""
    for at, request in enumerate(requests):
        for name in ("job", "parent"):
            if name in request:
                without = {key: value for key, value in request.items() if key != name}
                yield (*requests[:at], without, *requests[at + 1 :])
        if request["op"] == "try_ask":
            yield (*requests[:at], {**request, "op": "ask"}, *requests[at + 1 :])


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
