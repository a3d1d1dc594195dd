"""What a picture of a trace tells, whatever the trace came from: its frames, and the words around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import Moment, Trace, state_of
from slotcheck.checks.trace_lines import permit_lines
from slotcheck.checks.wait_circle import wait_circle
from slotcheck.pymodel.rules import StackState, State
from slotcheck.pymodel.scenario import RunSpec

__all__ = ["Frame", "Story", "story_of"]


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
    #: Where runs need permits, those that have entered and are not over.
    entered: frozenset[str] = frozenset()
    #: What else there is, a line each: permits, who holds them and who queues; locks and who is in them; events that
    #: are set.
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
    #: Runs each of which waits for the next, and the last for the first; each such wait in words, in this order; and
    #: what else is to be said of it.
    circle: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.bad < len(self.frames):
            raise ValueError(f"frame {self.bad} of {len(self.frames)} cannot be the one that shows what is wrong")


def story_of(trace: Trace, replay: Sequence[str] = ()) -> Story:
    """What a picture of a trace tells. ``replay``: commands that show it again."""
    circle = wait_circle(trace)
    return Story(
        heading=f"{trace.invariant} is violated by {trace.subject} in {trace.name}",
        sentence=ALL_INVARIANTS.get(trace.invariant, ""),
        message=trace.message if circle is None else "",  # the waits say the same
        frames=_Frames(trace),
        bad=len(trace.steps),
        forest=() if trace.play is None else trace.play.runs,
        facts=tuple(_facts(trace)),
        replay=tuple(replay),
        circle=() if circle is None else circle.runs,
        waits=() if circle is None else circle.waits,
        remarks=() if circle is None else (*circle.slots, *circle.freed),
    )


class _Frames(Sequence[Frame]):
    """The frames of a trace, each made when it is looked at: of a very long one few are."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._steps = (*trace.steps, *trace.again)

    def __len__(self) -> int:
        return 1 + len(self._steps)

    @overload
    def __getitem__(self, place: int) -> Frame: ...

    @overload
    def __getitem__(self, place: slice) -> list[Frame]: ...

    def __getitem__(self, place: int | slice) -> Frame | list[Frame]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        step = self._steps[place - 1] if place else None
        moment = self._trace.start if step is None else step.after
        return Frame(
            event="the start" if step is None else step.event,
            view=_view(self._trace, moment.view),
            acting=None if step is None else step.run,
            ended=frozenset(moment.ended),
            entered=frozenset(moment.view.get("present", ())),
            more=tuple(_more(moment)),
        )


def _view(trace: Trace, view: Mapping[str, Any]) -> State | StackState:
    state = state_of(trace, view)
    return StackState(*state, tuple(tuple(stack) for stack in view["stacks"])) if "stacks" in view else state


def _more(moment: Moment) -> list[str]:
    told = list(permit_lines(moment.view))
    for lock, where in moment.locks.items():
        queue = f"; queue: {', '.join(where['queue'])}" if where["queue"] else ""
        told.append(f"in {lock}: {', '.join(where['in']) or 'nobody'}{queue}")
    return told + ([f"events set: {', '.join(moment.events)}"] if moment.events else [])


def _facts(trace: Trace) -> list[tuple[str, str]]:
    found = trace.versions if trace.versions is not None else versions()
    facts = [
        ("subject", trace.subject),
        ("scenario", trace.scenario),
        ("tree", trace.tree),
        ("cap", str(trace.cap)),
        ("order", f"{trace.order}, {trace.tie}"),
        ("relend", "on" if trace.relend else "off"),
        ("versions", ", ".join(f"{name} {version}" for name, version in found.items())),
    ]
    return [(name, fact) for name, fact in facts if fact]
