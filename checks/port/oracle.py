"""The reference rule behind the protocol: what the answer to every request has to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from slotcheck.checks.port.messages import (
    PROTOCOL,
    Answer,
    Call,
    Request,
    answer_by_rule,
    answer_of,
    order_of,
    refusal_of,
    state_answer,
)
from slotcheck.pymodel.rules import RULES, Refusal, Rule, State

__all__ = ["LEND", "Exchange", "Oracle", "demanded"]

LEND: Rule = RULES["lend"]


class Exchange(NamedTuple):
    """A request, and the answer that the rules demand."""

    request: Request
    expected: Answer


class Oracle:
    """Answers `reset`, the calls, and `state`, one after the other, as a port must."""

    def __init__(self) -> None:
        #: The pool; None before the first `reset`.
        self.state: State | None = None

    def answer(self, request: Request) -> Answer:
        """The answer that the rules demand."""
        op = request["op"]
        if op == "hello":
            return {"protocol": PROTOCOL}
        if op == "reset":
            order = order_of(request)
            cap: Any = request.get("cap")
            try:
                self.state = LEND.initial(cap, order=order.order, tie=order.tie, relend=bool(request.get("relend")))
            except Refusal as refusal:
                return refusal_of(refusal.code)
            return answer_of()
        if self.state is None or op == "malformed":
            return refusal_of("bad_request")
        if op == "state":
            return state_answer(self.state)
        answer, self.state = answer_by_rule(LEND, self.state, call_of(request))
        return answer


def call_of(request: Request) -> Call:
    """A request as the call that it makes."""
    op = request["op"]
    if op == "resize":
        return op, request["cap"]
    if op in ("ask", "try_ask"):
        job = request.get("job")
        return op, request["run"], request.get("parent"), None if job is None else tuple(job)
    return op, request["run"]


def demanded(requests: Iterable[Request]) -> Iterator[Exchange]:
    """Each request with the answer that it must get, from a port that has just started."""
    oracle = Oracle()
    for request in requests:
        yield Exchange(request, oracle.answer(request))
