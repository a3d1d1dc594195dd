"""A port as one who answers the calls of a trace, so that what is told of it is what it was seen to do."""

from __future__ import annotations

from typing import Any

from slotcheck.checks.port.client import AnyPort
from slotcheck.checks.port.messages import (
    Answer,
    AnswerError,
    Order,
    Request,
    difference,
    request_of,
    reset_request,
    state_answer,
)
from slotcheck.checks.port.oracle import LEND, Oracle
from slotcheck.checks.port.process import PortFaultError
from slotcheck.pymodel.rules import Rule, Run, State
from slotcheck.pymodel.subject import Reply

__all__ = ["PortPlayer"]


class PortPlayer:
    """A `Player` of checks/replay.py. What a port does not show of its state is taken to be as it must be.

    Args:
        port: the port, on which nothing else goes on meanwhile.
        order: to make pools with.
        relend: the same.
    """

    #: With what every answer is compared.
    reference: Rule | None = LEND

    def __init__(self, port: AnyPort, order: Order, relend: bool) -> None:
        self._port = port
        self._order = order
        self._relend = relend
        self._oracle = Oracle()

    def new(self, cap: Any) -> Reply:
        """A new pool; where that is refused, the old one."""
        return self._reply(reset_request(cap, self._order, self._relend))

    def call(self, verb: str, *args: Any) -> Reply:
        """Make a call."""
        return self._reply(request_of((verb, *args)))

    def restore(self) -> Any:
        """Nobody can: the protocol has no such request, and no trace of a port has such a step."""
        raise NotImplementedError

    def _reply(self, request: Request) -> Reply:
        expected = self._oracle.answer(request)
        state = self._oracle.state
        try:
            (answer,) = self._port.exchange([request])
            difference(request, expected, answer, set())  # is it of its form?
            if state is not None and "state" in self._port.hello.features:
                state = self._shown(state)
        except (PortFaultError, AnswerError) as error:
            return Reply(None, raised=error)
        if "error" in answer:
            return Reply(state, refused=answer["error"]["code"])
        granted = tuple((grant["run"], grant["token"]) for grant in answer["granted"])
        return Reply(state, granted, tuple(answer["relent"]))

    def _shown(self, state: State) -> State:
        """The state as the port shows it."""
        request: Request = {"op": "state"}
        (answer,) = self._port.exchange([request])
        difference(request, state_answer(state), answer, set())
        known = {run.run: run for run in state.runs}
        told: dict[str, Any] = {name: answer[name] for name in ("cap", "taken") if answer[name] is not None}
        if answer["runs"] is not None:
            told["runs"] = frozenset(_run(name, fields, known.get(name)) for name, fields in answer["runs"].items())
        if answer["waiting"] is not None:
            told["waiting"] = tuple(answer["waiting"])
        if answer["children"] is not None:
            told["children"] = frozenset((run, tuple(below)) for run, below in answer["children"].items() if below)
        if answer["lines"] is not None:
            told["lines"] = frozenset(
                (tuple(one["node"]), tuple(one["line"])) for one in answer["lines"] if one["line"]
            )
        return state._replace(**told)


def _run(name: str, shown: dict[str, Answer], known: Run | None) -> Run:
    run = known if known is not None else Run(name, "waiting", "none", False, 1, None, (name,))
    told = {key: shown[key] for key in ("phase", "token", "lent", "level") if shown[key] is not None}
    if "parent" in shown:
        told["parent"] = shown["parent"]
    if shown["job"] is not None:
        told["job"] = tuple(shown["job"])
    return run._replace(**told)
