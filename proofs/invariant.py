"""The inductive invariant of lending: what is true of a new pool and kept by every step, whatever the cap and the tree.

Each conjunct has a name, a meaning and the reason why it is there. The reason is under test: ``needed`` names an
obligation that is no longer true once this conjunct is dropped (`slotcheck prove` shows a counterexample). Those
without one follow from the others in every *finite* state: a chain has two ends, so what is said of the one can be told
from the other by walking along it. `slotcheck prove` checks that on finite instances. They are kept because first-order
logic cannot walk along a chain: over any number of runs the solvers do not find them, and need them for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slotcheck.proofs.logic import Expr, at_most, each, iff, implies, number, plus, same, some, variable
from slotcheck.proofs.vocabulary import (
    RUN,
    V,
    X,
    Y,
    Z,
    admitted,
    arrived,
    borrower,
    child,
    child_of,
    free,
    holds,
    in_cap,
    in_flight,
    known,
    lent,
    level,
    levels,
    loan,
    parent,
    parked,
    pool,
    relend,
    slot,
    taken,
    tip,
    top,
    waiting,
)

__all__ = ["CONJUNCTS", "Conjunct"]

W = variable("w", RUN)


@dataclass(frozen=True)
class Conjunct:
    """One part of the invariant.

    Attributes:
        name: what it is about.
        formula: what it says.
        meaning: the same in words.
        reason: why the proof needs it.
        needed: an obligation that fails without it, as its two parts; None if it follows from the others.
    """

    name: str
    formula: Expr
    meaning: str
    reason: str
    needed: tuple[str, str] | None = None


_ALL = (
    Conjunct(
        "OnePhase",
        each(X)(~(waiting(X) & in_flight(X)) & ~(waiting(X) & parked(X)) & ~(in_flight(X) & parked(X))),
        "a run is at most one of waiting, in flight and parked",
        "a run that is served stops waiting, and one that ends stops being in flight: without this it could be both",
        ("finish-slot-to-waiter", "OneToken"),
    ),
    Conjunct(
        "SlotWhileAdmitted",
        each(X)(iff(holds(X), in_flight(X) | parked(X))),
        "a run has a slot if and only if it is in flight or parked",
        "a slot is given to nobody else and lost by nobody else, so counting holders counts runs in flight",
        ("ask-on-loan", "SlotIsTaken"),
    ),
    Conjunct(
        "OneToken",
        each(X)(~(pool(X) & loan(X))),
        "a token is a pool slot or a loan, never both",
        "what ends by its token must know to whom the slot goes back",
    ),
    Conjunct(
        "LenderHasSlot",
        each(X)(implies(lent(X), holds(X))),
        "only a run that has a slot can have lent it",
        "a run that is granted a slot starts with it unlent",
    ),
    Conjunct(
        "ParkedHasLent",
        each(X)(implies(parked(X), lent(X))),
        "a parked run's slot is lent",
        "so the last run of a chain is in flight: it can work, and the cascade starts there",
        ("NoDeadlock", "chain-ends-in-flight"),
    ),
    Conjunct(
        "ParentHolds",
        each(X)(implies(child(X), in_flight(parent(X)) | (parked(parent(X)) & loan(X)))),
        "a parent is in flight, or parked with its slot on loan to this very child",
        "a child that waits or has a pool slot loses its parent when that ends: no run that is over ever lends a slot",
        ("ask-on-loan", "LevelBelowParent"),
    ),
    Conjunct(
        "ChildIsKnown",
        each(X)(implies(child(X), known(X))),
        "a run that has a parent is known",
        "an id that was forgotten and is asked again starts without a past",
        ("ask-on-pool-slot", "LevelBelowParent"),
    ),
    Conjunct(
        "LevelBelowParent",
        each(X)(implies(child(X), same(level(X), plus(level(parent(X)), 1)))),
        "a child stands one level below its parent",
        "chains go strictly down, so levels tell the runs of one chain apart",
        ("finish-loan-to-lender", "LoanFromParent"),
    ),
    Conjunct(
        "LevelInRange",
        each(X)(implies(known(X), at_most(number(1), level(X)) & at_most(level(X), levels()))),
        "a known run's level is between 1 and the greatest level asked so far",
        "InFlightWithinCapTimesLevels counts pairs of a slot and a level",
        ("InFlightWithinCapTimesLevels", "in-range"),
    ),
    Conjunct(
        "LoanFromParent",
        each(X)(
            implies(
                loan(X),
                child(X) & lent(parent(X)) & same(slot(parent(X)), slot(X)) & same(borrower(parent(X)), X),
            )
        ),
        "a run on loan has a parent that lent its slot to it, and both are on the same slot",
        "a loan goes back to a run that waits for it; one lender has one borrower",
        ("OneChainPerSlot", "lender-above"),
    ),
    Conjunct(
        "LentToBorrower",
        each(X)(implies(lent(X), loan(borrower(X)) & child_of(borrower(X), X))),
        "a lent slot is on loan to a child of the lender",
        "a chain has no gap: when all runs below the nearest open lender go, nobody below is left lending to nobody",
    ),
    Conjunct(
        "SlotIsTaken",
        each(X)(implies(holds(X), taken(slot(X)))),
        "a run that has a slot is on one that is out",
        "a slot that is handed out as free is on nobody's chain",
        ("ask-on-pool-slot", "OneTop"),
    ),
    Conjunct(
        "SlotHasTop",
        each(Z)(implies(taken(Z), pool(top(Z)) & same(slot(top(Z)), Z))),
        "every taken slot was taken from the pool by a run that still has that token",
        "NoSlotLeak: no slot is out without a run that answers for it",
    ),
    Conjunct(
        "OneTop",
        each(X)(implies(pool(X), same(top(slot(X)), X))),
        "two runs with pool tokens are on different slots",
        "NoSlotLeak: no slot is answered for twice",
    ),
    Conjunct(
        "SlotHasTip",
        each(Z)(implies(taken(Z), holds(tip(Z)) & ~lent(tip(Z)) & same(slot(tip(Z)), Z))),
        "on every taken slot some run holds it unlent",
        "so somebody can always go on; UnlentWithinCap has its lower half from this",
    ),
    Conjunct(
        "OneTip",
        each(X)(implies(holds(X) & ~lent(X), same(tip(slot(X)), X))),
        "two runs that hold a slot unlent are on different slots",
        "UnlentWithinCap: executing <= cap",
    ),
    Conjunct(
        "OnePerLevel",
        each(X, Y)(implies(holds(X) & holds(Y) & same(slot(X), slot(Y)) & same(level(X), level(Y)), same(X, Y))),
        "two runs on one slot are on different levels",
        "LevelWithinCap; and it is what makes the cascade, told by levels, the chain itself",
    ),
    Conjunct(
        "TipIsDeepest",
        each(X)(implies(holds(X), at_most(level(X), level(tip(slot(X)))))),
        "the run that holds a slot unlent is the deepest on it",
        "a child that gets the loan is deeper than all others on the slot",
    ),
    Conjunct(
        "TopIsHighest",
        each(X)(implies(holds(X), at_most(level(top(slot(X))), level(X)))),
        "the run with the pool token is the highest on its slot",
        "when two chains join end to end (R13), all of the lower one is deeper than all of the upper one; "
        "and a cascade that ends below an open run never takes the pool token with it",
    ),
    Conjunct(
        "NoWaitBesideUnlentParent",
        each(X)(implies(waiting(X) & child(X), lent(parent(X)))),
        "no run waits while its own open parent's slot is unlent",
        "the first half of NoLostWakeUp (R7)",
        ("NoLostWakeUp", "parent"),
    ),
    Conjunct(
        "NoWaitBesideFreeSlot",
        each(X, Z)(implies(waiting(X), ~free(Z))),
        "no run waits while a pool slot is free",
        "the second half of NoLostWakeUp (R7); and a slot that comes back can serve one waiter at most",
        ("NoDeadlock", "somebody-in-flight"),
    ),
    Conjunct(
        "OverOnlyWhenFull",
        each(Z, V)(implies(free(Z) & taken(V), in_cap(V))),
        "while a slot is free, every taken slot is of the cap",
        "so a slot is free exactly while fewer are taken than the cap, however it was lowered",
        ("CapRespected", "ask-on-pool-slot"),
    ),
    Conjunct(
        "CapAtLeastOne",
        some(Z)(in_cap(Z)),
        "the cap is at least 1",
        "NoDeadlock: with nobody in flight a slot is free, so nobody waits",
        ("NoDeadlock", "somebody-in-flight"),
    ),
    Conjunct(
        "NoIdleBesideHolder",
        implies(relend(), each(X)(implies(holds(X) & child(X), lent(parent(X))))),
        "with relend, a run whose child has a slot has lent its own",
        "RelendLeavesNoIdle (R13)",
        ("RelendLeavesNoIdle", "lent"),
    ),
    Conjunct(
        "ArrivalsAreInLine",
        each(X, Y)(implies(arrived(X, Y), waiting(X) & waiting(Y) & ~arrived(Y, X)))
        & each(X, Y)(implies(waiting(X) & waiting(Y), arrived(X, Y) | arrived(Y, X) | same(X, Y))),
        "of two waiting runs exactly one has waited longer",
        "the longest-waiting child is one run: the loan goes to it and to nobody else",
        ("OneChoice", "longest-waiting-child"),
    ),
    Conjunct(
        "ArrivalsAreTransitive",
        each(X, Y, W)(implies(arrived(X, Y) & arrived(Y, W), arrived(X, W))),
        "waiting longer goes through",
        "the waiting runs stand in a line, so among finitely many one has waited longest",
        ("OneChoice", "three-waiting"),
    ),
    Conjunct(
        "AdmissionsAreInLine",
        each(X, Y)(
            implies(
                admitted(X, Y),
                holds(X) & holds(Y) & child(X) & child_of(Y, parent(X)) & ~admitted(Y, X),
            )
        )
        & each(X, Y)(
            implies(
                holds(X) & holds(Y) & child(X) & child_of(Y, parent(X)),
                admitted(X, Y) | admitted(Y, X) | same(X, Y),
            )
        ),
        "of two children of one run that have a slot exactly one was admitted first",
        "the child to be relent is one run (R13)",
        ("OneChoice", "first-admitted-child"),
    ),
    Conjunct(
        "AdmissionsAreTransitive",
        each(X, Y, W)(implies(admitted(X, Y) & admitted(Y, W), admitted(X, W))),
        "being admitted earlier goes through",
        "the children with a slot stand in a line, so among finitely many one was admitted first",
        ("OneChoice", "three-admitted"),
    ),
)

#: The conjuncts by name.
CONJUNCTS: Mapping[str, Conjunct] = {conjunct.name: conjunct for conjunct in _ALL}
