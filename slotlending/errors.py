"""The refusals of the rules, one class each, and below them the misuses that a front end refuses.

Every call that the rules refuse raises a `Refused`, carries the rule's code and the offending value, and leaves the
pool as it was. The codes are those of the port protocol, so a refusal reads the same in every language. A `Misuse` is
about the front end, not about slots, so it has no code: a call from the wrong place, or on a block that is not open.
It leaves the pool as it was, too.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AlreadyEntered",
    "BadCap",
    "ComponentAbove",
    "GroupNotOpen",
    "JobNotLeaf",
    "Misuse",
    "NoRun",
    "NoRunningLoop",
    "NotAdmitted",
    "NotHandedOver",
    "NotKnown",
    "NotWorking",
    "ParentNotInFlight",
    "Refused",
    "RunKnown",
    "WrongLoop",
    "WrongThread",
]


class Refused(Exception):
    """A call that the rules refuse. ``code`` names the rule's answer, ``value`` is what was offered."""

    code: ClassVar[str]

    def __init__(self, value: object, message: str) -> None:
        super().__init__(f"{self.code}: {message}")
        self.value = value
        self.message = message

    def __reduce__(self) -> tuple[type[Refused], tuple[object, str]]:
        return type(self), (self.value, self.message)


class BadCap(Refused, ValueError):
    """R1, R8: a cap is an integer of at least 1."""

    code = "bad_cap"


class RunKnown(Refused):
    """R2: the pool still knows a run of this id (waiting, in flight or parked)."""

    code = "run_known"


class ParentNotInFlight(Refused):
    """R2: only a run in flight can be a parent; afterwards its children ask without one, naming its job."""

    code = "parent_not_in_flight"


class JobNotLeaf(Refused):
    """R2: runs belong to leaf jobs, so no job with a known run may lie above or below another."""

    code = "job_not_leaf"


class NotAdmitted(Refused):
    """R3: a run that still waits cannot finish; it can be cancelled."""

    code = "not_admitted"


class NotKnown(Refused, LookupError):
    """R3, R5: never asked, finished, cancelled or parked (a parked run has finished)."""

    code = "not_known"


class ComponentAbove(Refused):
    """R9: a run that mounted this one, directly or through others, is of the same component."""

    code = "component_above"


class NotHandedOver(Refused):
    """R9: only a run that was handed its permit, and has not resumed, can resume."""

    code = "not_handed_over"


class NotWorking(Refused):
    """R9: a run of a component finishes or fails while its body is on; before that it can be cancelled."""

    code = "not_working"


class Misuse(RuntimeError):
    """A call that a front end cannot take from where it was made."""


class WrongThread(Misuse):
    """The pool belongs to a loop of another thread."""


class WrongLoop(Misuse):
    """The pool belongs to another event loop, which is still there or has left runs behind."""


class NoRunningLoop(Misuse):
    """The call was made where no event loop runs."""


class GroupNotOpen(Misuse):
    """A child was started in a group that has not been entered, is ending, or is over."""


class AlreadyEntered(Misuse):
    """A block was entered that can be entered once."""


class NoRun(Misuse, LookupError):
    """The caller is inside no run."""
