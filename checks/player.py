"""Who answers the calls of a replay: a subject on a pool that lives on, or is restored before each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from slotcheck.checks.permit_subject import with_permits
from slotcheck.checks.subject import AnySubject, ClassSubject
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.rules import RULES, Rule
from slotcheck.pymodel.subject import Reply

__all__ = ["LivePlayer", "Player", "player_of"]


class Player(Protocol):
    """Who answers the calls of a replay."""

    #: The rule to compare every answer with; None for a subject that follows another rule.
    reference: Rule | None

    def new(self, cap: Any) -> Reply:
        """A new pool in the place of the old one."""

    def call(self, verb: str, *args: Any) -> Reply:
        """Make a call."""

    def restore(self) -> Any:
        """Put a pool restored from its snapshot in the pool's place; the snapshot afterwards."""


class LivePlayer:
    """A subject of `slotcheck check`, with permits on it where the runs of the trace need them.

    Args:
        subject: the subject.
        trace: of whose pool the options are.
        restores: whether the pool is replaced by one restored from its snapshot before each call.

    Raises:
        SubjectError: permits cannot stand on it.
    """

    def __init__(self, subject: AnySubject, trace: Trace, *, restores: bool = False) -> None:
        levels = 1 if trace.play is None else trace.play.levels
        if trace.permits:
            subject = with_permits(subject)
        self.subject = subject if isinstance(subject, ClassSubject) else subject.declared(levels)
        self.reference = RULES["lend"] if isinstance(subject, ClassSubject) else None
        self.conduct = getattr(subject, "conduct", None)
        self._wanted = {"order": trace.order, "tie": trace.tie}
        self._relend = trace.relend
        self._restores = restores
        self._pool: Any = None  # of a class: the pool; of a rule: its state

    def new(self, cap: Any) -> Reply:
        """Made with the order and tie of the trace only where its own are others."""
        try:
            snapshot = self._made(cap, {})
            options = {name: value for name, value in self._wanted.items() if getattr(snapshot, name, value) != value}
            return Reply(self._made(cap, options) if options else snapshot)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            code = getattr(error, "code", None)
            return Reply(None, refused=code) if isinstance(code, str) else Reply(None, raised=error)

    def _made(self, cap: Any, options: dict[str, str]) -> Any:
        if isinstance(self.subject, ClassSubject):
            self._pool = self.subject.new(cap, relend=self._relend, **options)
            return self._pool.snapshot()
        made = self.subject.made_with(**{**self.subject.options, **options})
        self._pool = made.initial(cap, relend=self._relend)
        return self._pool

    def call(self, verb: str, *args: Any) -> Reply:
        """On the pool that lives on, or on one just restored."""
        if not isinstance(self.subject, ClassSubject):
            reply = self.subject.call(self._pool, verb, *args)
            self._pool = reply.snapshot
            return reply
        if self._restores:
            self.restore()
        return self.subject.call_live(self._pool, verb, *args)

    def restore(self) -> Any:
        if isinstance(self.subject, ClassSubject):
            self._pool = self.subject.cls.restore(self._pool.snapshot())
            return self._pool.snapshot()
        return self._pool


def player_of(trace: Trace, subject: AnySubject) -> Callable[[bool], Player]:
    """What makes a player of a subject, one that restores or not."""
    return lambda restores: LivePlayer(subject, trace, restores=restores)
