"""What a picture of a trace tells, whatever the trace came from: its frames, and the words around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slotcheck.pymodel.rules import StackState, State
from slotcheck.pymodel.scenario import RunSpec

__all__ = ["Frame", "Story"]


@dataclass(frozen=True)
class Frame:
    """One state of a trace, and the event that led to it."""

    #: In words; at the start what there is at the start.
    event: str
    view: State | StackState
    #: The run whose step it was; None at the start and for what happens to the pool.
    acting: str | None = None
    #: Runs of the forest that have ended.
    ended: frozenset[str] = frozenset()
    #: What else there is, a line each: locks and who is in them, events that are set.
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    """A trace to be shown."""

    #: What is wrong, in a line, and what that means, in a sentence; what was found here.
    heading: str
    sentence: str
    message: str
    #: The start, then what each event led to.
    frames: Sequence[Frame]
    #: Which of them shows what is wrong. If any follow, they go round for ever, from this frame back to this one.
    bad: int
    #: The runs that fix where everything stands, parents before children.
    forest: tuple[RunSpec, ...] = ()
    #: What was checked, by name: subject, scenario, cap, versions.
    facts: tuple[tuple[str, str], ...] = ()
    #: Commands that show it again.
    replay: tuple[str, ...] = ()
    #: Runs each of which waits for the next, and the last for the first; and each such wait in words, in this order,
    #: then what else keeps everything from going on.
    circle: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.bad < len(self.frames):
            raise ValueError(f"frame {self.bad} of {len(self.frames)} cannot be the one that shows what is wrong")
