"""What a picture of a pool shows: read off one view, run by run, and told in words. `drawing` draws it.

Faulty views are told as they are: no view makes it fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from slotcheck.checks.facts import Facts
from slotcheck.checks.layout import forest_of, placed
from slotcheck.checks.lettering import clean, nth, short
from slotcheck.pymodel.rules import Run, StackState, State
from slotcheck.pymodel.scenario import RunSpec

__all__ = ["Count", "Picture", "Seen", "in_words", "levels_of", "parents_of"]


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of the picture."""

    name: str
    #: As the pool knows it; None if it does not.
    run: Run | None
    #: Why it does not, where it does not: "ended", "not asked", or "no slot asked" of one that entered beside another
    #: run of its component.
    unknown: str
    #: Its place in the pool's queue, from 1; 0 if it is not there.
    place: int

    @property
    def kind(self) -> str:
        """The class of its outline."""
        phase = self.unknown if self.run is None else str(self.run.phase)
        return {
            "in_flight": "in-flight", "retaking": "waiting", "waiting": "waiting", "parked": "parked",
            "ended": "ended", "not asked": "not-asked", "no slot asked": "waiting",
        }.get(phase, "strange")  # fmt: skip

    @property
    def has_slot(self) -> bool:
        """Whether a disc stands on it."""
        return self.run is not None and self.run.token != "none"

    @property
    def word(self) -> str:
        """What stands below its name."""
        run = self.run
        if run is None:
            return self.unknown
        if run.phase == "waiting":
            return f"waiting, {nth(self.place)}" if self.place else "waiting"
        if run.phase == "retaking":
            return "waiting again"
        if run.phase != "in_flight":
            return short(run.phase, 14)
        slot = {"pool": "pool slot", "loan": "on loan", "none": "no slot"}.get(run.token, short(run.token, 8))
        return f"{slot}, lent" if run.lent else slot


class Count(NamedTuple):
    """A count against its bound."""

    what: str
    number: int
    bound: int
    #: The bound in words.
    words: str

    @property
    def beyond(self) -> bool:
        """Whether the bound is broken."""
        return self.number > self.bound

    @property
    def percent(self) -> int:
        """How much of the bound is reached, at most 100."""
        return 100 * min(max(self.number, 0), max(self.bound, 1)) // max(self.bound, 1)

    def __str__(self) -> str:
        return f"{self.what} {self.number} of {self.words}{', beyond it' if self.beyond else ''}"


class Picture:
    """One view, read. ``runs`` are those to be shown, in their order, and ``levels`` how many levels they have; those
    that have ``ended``; those that have ``entered`` and are not over, where runs need permits.
    """

    def __init__(
        self,
        view: State | StackState,
        runs: Iterable[str],
        levels: int,
        ended: Collection[str] = (),
        entered: Collection[str] = (),
    ) -> None:
        facts = Facts(view)  # type: ignore[arg-type]  # what stacks add makes no difference to it
        self.waiting = tuple(view.waiting)
        self.cap, self.taken = _whole(view.cap), _whole(view.taken)
        self.free = max(self.cap - self.taken, 0)
        #: Slots that are taken without a run that holds them unlent; less than 0 if more are held than taken.
        self.lost = self.taken - len(facts.unlent)
        self._executing, self._in_flight = len(facts.unlent), len(facts.in_flight)
        self._per_level = facts.per_level
        queue = {run: place for place, run in reversed(list(enumerate(view.waiting, start=1)))}
        known = {run.run: run for run in sorted(view.runs, key=repr)}  # the last one, if a faulty view has two
        unknown = {**dict.fromkeys(entered, "no slot asked"), **dict.fromkeys(ended, "ended")}
        self.runs = [Seen(name, known.get(name), unknown.get(name, "not asked"), queue.get(name, 0)) for name in runs]
        self.levels = max([levels, *(_whole(run.level) for run in known.values())])
        # Who has whose slot: as the loans say, or where slots are workers, the stacks.
        loans: Iterable[tuple[str | None, str]]
        if isinstance(view, StackState):
            loans = [loan for stack in view.stacks for loan in pairwise(stack)]
        else:
            loans = [(run.parent, run.run) for run in known.values() if run.token == "loan"]
        #: The lenders of each borrower (one, if all is well; None is nobody), and the borrowers of each lender.
        self.lenders: dict[str, list[str | None]] = {}
        self.borrowers: dict[str, list[str]] = {}
        for lender, borrower in loans:
            self.lenders.setdefault(borrower, []).append(lender)
            if lender is not None:
                self.borrowers.setdefault(lender, []).append(borrower)

    @property
    def counts(self) -> list[Count]:
        """The runs that hold a slot unlent, and those in flight; then what else is beyond its bound."""
        cap, taken = self.cap, self.taken
        levels = f"{self.levels} level{'s' * (self.levels != 1)}"
        counts = [
            Count("executing", self._executing, cap, f"cap {cap}"),
            Count("in flight", self._in_flight, cap * self.levels, f"{cap * self.levels} = cap {cap} x {levels}"),
        ]
        by_taken = taken * self.levels, f"{taken * self.levels} = taken {taken} x {levels}"
        more = [] if counts[1].beyond else [Count("in flight", self._in_flight, *by_taken)]
        for level, number in sorted(self._per_level.items(), key=repr):
            more.append(Count(f"on level {level} in flight", number, taken, f"taken {taken}"))
        return [*counts, *[count for count in more if count.beyond]]

    @property
    def pool(self) -> str:
        """The pool in words."""
        told = f"pool: {self.free} of {self.cap} slots free"
        if self.lost > 0:
            told += f", {self.lost} held by nobody"
        return told + (f", {-self.lost} held but not taken" if self.lost < 0 else "")

    def told(self, seen: Seen) -> str:
        """A sentence about one run."""
        run, name = seen.run, clean(seen.name)
        if run is None:
            told = {"ended": "has ended", "no slot asked": "has entered and has asked for no slot yet"}
            return f"{name}: {told.get(seen.unknown, 'has not asked')}."
        if run.phase == "waiting":
            return f"{name}: waiting" + (f", {nth(seen.place)} in the queue." if seen.place else ".")
        phase = {"in_flight": "in flight", "retaking": "waiting for a slot again"}.get(run.phase, clean(run.phase))
        if run.token == "none":
            return f"{name}: {phase}, without a slot."
        lenders = [clean(lender) for lender in self.lenders.get(seen.name, ()) if lender is not None]
        borrowers = [clean(borrower) for borrower in self.borrowers.get(seen.name, ())]
        slot = {"pool": "a pool slot", "loan": f"the slot of {' and '.join(lenders) or 'nobody'} on loan"}
        held = f"{name}: {phase}, with {slot.get(run.token, clean(run.token))}"
        return held + (f", lent to {' and '.join(borrowers) or 'nobody'}." if run.lent else ".")


def parents_of(forest: Sequence[RunSpec], views: Iterable[State | StackState]) -> dict[str, str | None]:
    """Every run and its parent: those of the forest in their order, then what else the views know."""
    parents: dict[str, str | None] = {spec.name: spec.parent for spec in forest}
    for view in views:
        for run in sorted((run for run in view.runs if run.run not in parents), key=repr):
            parents.setdefault(run.run, run.parent)
    return parents


def levels_of(parents: Mapping[str, str | None]) -> int:
    """The levels of the highest tree; 1 if there is none."""
    return max((spot.level + 1 for spot in placed(*forest_of(parents)).values()), default=1)


def in_words(
    view: State | StackState,
    forest: Sequence[RunSpec] = (),
    *,
    ended: Collection[str] = (),
    entered: Collection[str] = (),
) -> str:
    """What a picture of a view shows, as sentences."""
    parents = parents_of(forest, [view])
    picture = Picture(view, parents, levels_of(parents), ended, entered)
    told = [f"{picture.taken} of {picture.cap} slots taken, {picture.free} free."]
    told += [f"{count.what}: {count.number}, bound {count.words}." for count in picture.counts]
    told += [picture.told(seen) for seen in picture.runs]
    told.append(f"Queue: {', '.join(map(clean, picture.waiting)) or 'empty'}.")
    return " ".join(told)


def _whole(number: object) -> int:
    """A count, whatever a faulty view gives as one."""
    return number if isinstance(number, int) else 0
