"""A running port as something to put questions to: requests in, answers out, in batches where it can."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

from slotcheck.checks.port.messages import Answer, AnswerError, Hello, Request, line_of, read_hello
from slotcheck.checks.port.process import PortFaultError, PortProcess

__all__ = ["CHUNK", "AnyPort", "Port", "wrong_type"]

#: So many requests are sent before the first answer is looked at.
CHUNK = 400

_BATCH = 100  # requests in one; the answers must fit into one line
_NOT_IN_A_BATCH = ("malformed", "hello")


def wrong_type(error: AnswerError, request: Request, answer: Answer) -> PortFaultError:
    """An answer that is not of its request's form, as a fault."""
    return PortFaultError("wrong type", str(error), sent=line_of(request)[:2_000], received=json.dumps(answer)[:200])


class AnyPort(Protocol):
    """What a session needs of a port: `Port`, or one that runs in this process."""

    @property
    def hello(self) -> Hello:
        """What it says of itself."""

    def exchange(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """The answers to requests, in their order. Raises PortFaultError where it does not keep to the protocol."""

    def end(self) -> None:
        """Let it end by itself. Raises PortFaultError if it does not."""

    def kill(self) -> None:
        """End it at once."""


class Port:
    """One running port that has said hello. To be closed with `end` or `kill`.

    Args:
        command: the program and its arguments.
        timeout: seconds for one answer (of a batch too), and to end.
        one_by_one: whether to send a request only when the one before is answered, so that a fault is at the right one.

    Raises:
        StartError: it cannot be started.
        PortFaultError: it does not keep to the protocol.
    """

    def __init__(self, command: Sequence[str], timeout: float, *, one_by_one: bool = False) -> None:
        self._process = PortProcess(command, timeout)
        self._one_by_one = one_by_one
        try:
            self.hello = self._say_hello()
        except BaseException:
            self._process.kill()
            raise
        self._batches = "batch" in self.hello.features and not one_by_one

    def _say_hello(self) -> Hello:
        request = {"op": "hello"}
        (answer,) = self._process.exchange([line_of(request)])
        try:
            return read_hello(answer)
        except AnswerError as error:
            raise wrong_type(error, request, answer) from None

    def exchange(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """The answers to requests, in their order.

        Raises:
            PortFaultError: the port does not keep to the protocol.
        """
        if self._one_by_one:
            for request in requests:
                (answer,) = self._process.exchange([line_of(request)])
                yield answer
            return
        if not self._batches or any(request["op"] in _NOT_IN_A_BATCH for request in requests):
            for some in _parts(requests, CHUNK):
                answers = self._process.exchange([line_of(request) for request in some])
                yield from answers
            return
        for some in _parts(requests, CHUNK):
            batches = [{"op": "batch", "ops": ops} for ops in _parts(some, _BATCH)]
            for batch, answers in zip(batches, self._process.exchange(list(map(line_of, batches))), strict=True):
                if not isinstance(answers, list) or len(answers) != len(batch["ops"]):
                    told = f"a batch of {len(batch['ops'])} is answered with an array of as many answers"
                    raise wrong_type(AnswerError(told), batch, answers)
                yield from answers

    def end(self) -> None:
        """Let it end by itself.

        Raises:
            PortFaultError: it does not.
        """
        self._process.end()

    def kill(self) -> None:
        """End it at once, with all its process group."""
        self._process.kill()


def _parts(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    items = iter(items)  # type: ignore[assignment]
    while part := list(islice(items, size)):
        yield part
