"""What an explorer needs to know of a system, and what it is asked to judge.

Three verbs describe a system (`initial`, `actions`, `next`), five kinds of `Property` say what should be true of it,
and a `Path` is what an answer looks like: a list of actions that anyone can replay. Nothing here knows about slots.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Kind", "NotDeterministicError", "Path", "Property", "TransitionSystem"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


class TransitionSystem(Protocol[S, A]):
    """A system with finitely many actions in every state, each leading to exactly one next state.

    States are hashable and are equal iff they cannot be told apart. The same state always gives the same actions in
    the same order, and the same next states.
    """

    #: Whether `key`, `weight` and `degree` merge states. If not, nobody asks them: a state is its own key.
    merges: bool

    def initial(self) -> Iterable[S]:
        """The states it can start in."""

    def actions(self, state: S) -> Sequence[A]:
        """What can happen in this state."""

    def next(self, state: S, action: A) -> S:
        """The state that this action leads to."""

    def is_body_step(self, action: A) -> bool:
        """Whether the system does this by itself, so that it must happen some time if it stays possible.

        False for acts of the environment: they may never happen, so they rescue nobody from a deadlock.
        """

    def key(self, state: S) -> Hashable:
        """States of equal key are explored once: the state itself, or what is left of it under a symmetry."""

    def weight(self, state: S) -> int:
        """How many states have this state's key."""

    def degree(self, state: S) -> int:
        """How many actions there are, with those that `actions` leaves out because another one stands for them."""


class Kind(enum.Enum):
    """When a property is judged."""

    #: On every state.
    STATE = "state"
    #: On every edge, edges into known states included.
    STEP = "step"
    #: On every state in which no body step is enabled.
    END = "end"
    #: A witness: some state or edge must show it, else the search says nothing about what it stands for.
    SOMETIMES = "sometimes"
    #: A goal: no behaviour that is fair to body steps goes round for ever without coming (back) to a state that shows
    #: it. Behaviours that end outside it are for an END property to judge.
    EVENTUALLY = "eventually"


@dataclass(frozen=True)
class Property:
    """A named claim, or several that are judged in one go. Build one with the class methods."""

    #: The name, or for claims judged together what the names begin with in a report of the search itself.
    name: str
    kind: Kind
    check: Callable[..., Any]
    on_steps: bool = False
    #: The witnesses that a check for several of them looks out for.
    names: tuple[str, ...] = ()

    @classmethod
    def state(cls, name: str, check: Callable[[Any], str | None]) -> Property:
        """``check(state)`` returns None where the claim holds, else a sentence that says why it does not."""
        return cls(name, Kind.STATE, lambda state: _named(name, check(state)))

    @classmethod
    def step(cls, name: str, check: Callable[[Any, Any, Any], str | None]) -> Property:
        """The same for ``check(state, action, next_state)``."""
        return cls(name, Kind.STEP, lambda *step: _named(name, check(*step)), on_steps=True)

    @classmethod
    def end(cls, name: str, check: Callable[[Any], str | None]) -> Property:
        """The same for ``check(state)`` where no body step is enabled."""
        return cls(name, Kind.END, lambda state: _named(name, check(state)))

    @classmethod
    def states(cls, name: str, check: Callable[[Any], Mapping[str, str] | None]) -> Property:
        """Several claims: ``check(state)`` returns a sentence for each that does not hold, by name."""
        return cls(name, Kind.STATE, check)

    @classmethod
    def steps(cls, name: str, check: Callable[[Any, Any, Any], Mapping[str, str] | None]) -> Property:
        """The same for ``check(state, action, next_state)``."""
        return cls(name, Kind.STEP, check, on_steps=True)

    @classmethod
    def ends(cls, name: str, check: Callable[[Any], Mapping[str, str] | None]) -> Property:
        """The same for ``check(state)`` where no body step is enabled."""
        return cls(name, Kind.END, check)

    @classmethod
    def sometimes(cls, name: str, check: Callable[[Any], bool]) -> Property:
        """``check(state)`` returns whether the state is a witness."""
        return cls.witnesses((name,), lambda state: (name,) if check(state) else ())

    @classmethod
    def sometimes_step(cls, name: str, check: Callable[[Any, Any, Any], bool]) -> Property:
        """The same for ``check(state, action, next_state)``."""
        return cls.step_witnesses((name,), lambda *step: (name,) if check(*step) else ())

    @classmethod
    def witnesses(cls, names: Iterable[str], check: Callable[[Any], Collection[str]]) -> Property:
        """Several witnesses: ``check(state)`` returns the names of those that the state is."""
        return cls("witnesses", Kind.SOMETIMES, check, names=tuple(names))

    @classmethod
    def step_witnesses(cls, names: Iterable[str], check: Callable[[Any, Any, Any], Collection[str]]) -> Property:
        """The same for ``check(state, action, next_state)``."""
        return cls("step witnesses", Kind.SOMETIMES, check, on_steps=True, names=tuple(names))

    @classmethod
    def eventually(cls, name: str, check: Callable[[Any], bool]) -> Property:
        """``check(state)`` returns whether the state is in the goal. A behaviour that ends is not judged by this."""
        return cls(name, Kind.EVENTUALLY, check)


def _named(name: str, message: str | None) -> Mapping[str, str] | None:
    return None if message is None else {name: message}


class NotDeterministicError(RuntimeError):
    """The same actions led to another place: the system keeps state that its states do not show."""


@dataclass(frozen=True)
class Path(Generic[S, A]):
    """An initial state and the actions taken from it."""

    start: S
    actions: tuple[A, ...]

    def __len__(self) -> int:
        return len(self.actions)

    def states(self, system: TransitionSystem[S, A]) -> list[S]:
        """Replay: all states on the way, the start first, so one more than there are actions.

        Raises:
            NotDeterministicError: an action is not enabled where it was when the path was found.
        """
        states = [self.start]
        for at, action in enumerate(self.actions):
            if action not in system.actions(states[-1]):
                raise NotDeterministicError(
                    f"step {at + 1} of {len(self.actions)}, {action!r}, is not enabled when the path is replayed: "
                    "actions() or next() depends on something that is not in the state (hidden state, a clock, "
                    "randomness, the order of a set)"
                )
            states.append(system.next(states[-1], action))
        return states
