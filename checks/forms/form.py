"""What a form of a trace is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from slotcheck.checks.replay import Replayed
from slotcheck.checks.subject import AnySubject
from slotcheck.checks.trace import Trace

__all__ = ["Form", "Making", "NotWrittenError"]


class NotWrittenError(Exception):
    """A form cannot be made of this trace, or cannot be replayed here; the message says why."""


class Making(NamedTuple):
    """What a form is made of."""

    trace: Trace
    #: Whom the trace is of, or was replayed on.
    subject: AnySubject
    #: How that went.
    replayed: Replayed
    #: The name of its files, without a suffix: letters, digits, ``_`` and ``-``.
    stem: str


class Form(NamedTuple):
    """One form.

    ``make`` gives its files by name, the first of them the form itself. ``check`` replays it, or reads it back, and
    sees that it shows the violation. Both raise `NotWrittenError`.
    """

    name: str
    about: str
    make: Callable[[Making], dict[str, str]]
    check: Callable[[Making, dict[str, str]], None]
