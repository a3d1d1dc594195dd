"""Driving a port through exchanges, and what is wrong with the first answer that is not the one demanded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from slotcheck.checks.port.client import CHUNK, AnyPort, wrong_type
from slotcheck.checks.port.messages import Answer, AnswerError, Request, difference
from slotcheck.checks.port.oracle import Exchange, demanded
from slotcheck.checks.port.process import PortFaultError

__all__ = ["ANSWERS", "LOCKSTEP", "PROTOCOL", "REFUSED", "REPLAYS", "Fault", "OverTimeError", "Session", "since_reset"]

# What a port can violate: the names are those of the invariants, but for the last.
ANSWERS: Final = "Answers"
LOCKSTEP: Final = "Lockstep"
REFUSED: Final = "Refused"
REPLAYS: Final = "Replays"
PROTOCOL: Final = "Protocol"

#: So many of the last requests to a process are remembered, to find out what a fault needs.
_REMEMBERED = 20_000


class OverTimeError(Exception):
    """The time for the whole check is over."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with one answer."""

    invariant: str
    message: str
    #: The requests to the process so far, as far as remembered, with the one that was answered wrongly as the last.
    requests: tuple[Request, ...]
    answer: Answer = None
    #: The breach of the protocol, where it is one.
    breach: PortFaultError | None = None
    #: Whether a new process showed it, sent these requests one by one.
    alone: bool = False


class Session:
    """A port that is driven from one script to the next, and started anew when it has died.

    Args:
        start: starts a port; told whether it is to be sent one request at a time.
        deadline: by `time.monotonic`, when the whole check must be over.
    """

    def __init__(self, start: Callable[[bool], AnyPort], deadline: float | None = None) -> None:
        self._start = start
        self.deadline = deadline
        #: Fields of `state` that were not shown.
        self.hidden: set[str] = set()
        self._judge = _Judge(self.hidden)
        #: Requests answered.
        self.messages = 0
        self._port: AnyPort | None = None
        self._sent: list[Request] = []

    def port(self, *, one_by_one: bool = False) -> AnyPort:
        """The running port.

        Raises:
            StartError, PortFaultError: it cannot be started, or does not say hello as it should.
        """
        if self._port is None:
            self._port = self._start(one_by_one)
            self._sent = []
        return self._port

    def look_at_the_clock(self) -> None:
        """Raises OverTimeError if the deadline is over."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OverTimeError

    def play(self, exchanges: Iterable[Exchange], done: Callable[[], None] | None = None) -> Fault | None:
        """Send requests and compare the answers, up to the first that is not as demanded.

        Args:
            done: called after each answer that is.

        Raises:
            OverTimeError: the deadline is over.
        """
        exchanges = iter(exchanges)
        while chunk := list(islice(exchanges, CHUNK)):
            self.look_at_the_clock()
            fault = self._play(chunk, done)
            if fault is not None:
                return fault
            if len(self._sent) > 2 * _REMEMBERED:
                del self._sent[:-_REMEMBERED]
        return None

    def _play(self, chunk: Sequence[Exchange], done: Callable[[], None] | None) -> Fault | None:
        requests = [exchange.request for exchange in chunk]
        before, at = len(self._sent), 0
        try:
            port = self.port()
            self._sent += requests
            for exchange, answer in zip(chunk, port.exchange(requests), strict=True):
                wrong = self._judge.wrong(exchange, answer)
                if wrong is not None:
                    return Fault(*wrong, tuple(self._sent[: before + at + 1]), answer)
                at += 1
                self.messages += 1
                if done is not None:
                    done()
        except PortFaultError as breach:
            sent = tuple(self._sent)
            self.stop()
            return self._located(breach, sent)
        return None

    def _located(self, breach: PortFaultError, sent: tuple[Request, ...]) -> Fault:
        """A breach with the request that it comes at, which is not known if more were sent at once."""
        for requests in (since_reset(sent[:-CHUNK]) + sent[-CHUNK:], sent):
            fault = self.fresh(requests)
            if fault is not None:
                return fault
        return Fault(PROTOCOL, str(breach), sent, breach=breach)

    def fresh(self, requests: Sequence[Request]) -> Fault | None:
        """What a new process does wrong with these requests, each sent when the one before is answered."""
        session = Session(self._start)
        sent: list[Request] = []
        try:
            port = session.port(one_by_one=True)
            for exchange in demanded(requests):
                sent.append(exchange.request)
                (answer,) = port.exchange([exchange.request])
                wrong = session._judge.wrong(exchange, answer)
                if wrong is not None:
                    return Fault(*wrong, tuple(sent), answer, alone=True)
        except PortFaultError as breach:
            return Fault(PROTOCOL, str(breach), tuple(sent), breach=breach, alone=True)
        finally:
            session.stop()
        return None

    def again(self, requests: Sequence[Request]) -> Fault | None:
        """What the running process does wrong with these requests, the first of which is a `reset`."""
        kept, self._sent = self._sent, []
        try:
            return self.play(demanded(requests))
        finally:
            self._sent = kept

    def stop(self) -> None:
        """End the running port at once."""
        if self._port is not None:
            self._port.kill()
            self._port = None
            self._sent = []

    def end(self) -> Fault | None:
        """Let the running port end by itself; what is wrong with how it does."""
        if self._port is None:
            return None
        port, self._port = self._port, None
        try:
            port.end()
        except PortFaultError as breach:
            return Fault(PROTOCOL, str(breach), (), breach=breach)
        return None


def since_reset(requests: Sequence[Request]) -> tuple[Request, ...]:
    """The requests from the last `reset` on that made a pool; all, if there is none."""
    for at in range(len(requests) - 1, -1, -1):
        request = requests[at]
        if request["op"] == "reset" and type(request.get("cap")) is int and request["cap"] >= 1:
            return tuple(requests[at:])
    return tuple(requests)


class _Judge:
    """Compares answers, one after the other."""

    def __init__(self, hidden: set[str]) -> None:
        self._hidden = hidden
        self._refused = False  # whether the last call was to be refused

    def wrong(self, exchange: Exchange, answer: Answer) -> tuple[str, str] | None:
        """The invariant that an answer violates, and how; None if it is as demanded.

        Raises:
            PortFaultError: it is not of its request's form.
        """
        request, expected = exchange
        try:
            told = difference(request, expected, answer, self._hidden)
        except AnswerError as error:
            raise wrong_type(error, request, answer) from None
        if request["op"] != "state":
            self._refused = "error" in expected
        if told is None:
            return None
        if request["op"] == "state" and self._refused:
            return REFUSED, f"after a refused call, which must change nothing, {told}"
        if "error" in expected:
            return REFUSED, told
        return ANSWERS if "error" in answer else LOCKSTEP, told
