"""What a state of a pool is, in logic: the words of SEMANTICS 2 as relations and functions over runs and slots.

``Run`` has an element for every id that a caller may ever give; ``Slot`` one for every slot that the pool may ever
have. Nothing is said of their number, so what is proved holds for every cap and every tree. Counting is left out on
purpose: "executing <= cap" is that no two unlent holders have the same slot.

Three functions (`slot`, `tip`, `top`) and one more (`borrower`) are *ghosts*: no pool keeps them. They name what exists
anyway (the slot at the start of a run's chain, the two ends of a chain, the child that a slot is lent to), so that
the invariant needs no "there is". `in_cap` is a ghost too: which slots the cap stands for. Only their number is real.
"""

from __future__ import annotations

from slotcheck.proofs.logic import BOOL, INT, Expr, Sort, Symbol, each, implies, no, same, variable

__all__ = [
    "GHOSTS",
    "RUN",
    "SLOT",
    "STATE",
    "V",
    "X",
    "Y",
    "Z",
    "admitted",
    "arrived",
    "before",
    "borrower",
    "child",
    "child_of",
    "free",
    "holds",
    "in_cap",
    "in_flight",
    "known",
    "lent",
    "level",
    "levels",
    "loan",
    "none_free",
    "none_over",
    "none_waits",
    "over",
    "parent",
    "parked",
    "pool",
    "relend",
    "slot",
    "taken",
    "tip",
    "top",
    "waiting",
]

RUN, SLOT = Sort("Run"), Sort("Slot")

waiting = Symbol("waiting", (RUN,), BOOL, "the run has asked and has no slot yet")
in_flight = Symbol("in_flight", (RUN,), BOOL, "the run is admitted and not finished")
parked = Symbol("parked", (RUN,), BOOL, "the run finished while its slot was lent")
pool = Symbol("pool", (RUN,), BOOL, "the run's token is a pool slot")
loan = Symbol("loan", (RUN,), BOOL, "the run's token is a loan: it works on its parent's slot")
lent = Symbol("lent", (RUN,), BOOL, "the run's slot is out on loan to a child")
child = Symbol("child", (RUN,), BOOL, "the run has a parent")
parent = Symbol("parent", (RUN,), RUN, "the run whose slot it may borrow, or borrows; says nothing unless `child`")
level = Symbol("level", (RUN,), INT, "1 without a parent, the parent's level + 1 otherwise; fixed at ask")
levels = Symbol("levels", (), INT, "the greatest level asked so far (0 before the first ask)")
arrived = Symbol("arrived", (RUN, RUN), BOOL, "both wait, and the first one has waited longer")
admitted = Symbol("admitted", (RUN, RUN), BOOL, "both have a slot and the same parent; the first was admitted earlier")
taken = Symbol("taken", (SLOT,), BOOL, "the slot is out")
in_cap = Symbol(
    "in_cap", (SLOT,), BOOL, "the slot is one of those that the cap stands for (a ghost; their number is cap)"
)
slot = Symbol("slot", (RUN,), SLOT, "the pool slot at the start of the run's chain (a ghost)")
tip = Symbol("tip", (SLOT,), RUN, "the last run of the slot's chain, which holds it unlent (a ghost)")
top = Symbol("top", (SLOT,), RUN, "the first run of the slot's chain, which took it from the pool (a ghost)")
borrower = Symbol("borrower", (RUN,), RUN, "the child that the run's slot is lent to (a ghost)")

#: Whether R13 is on, fixed when the pool is made.
relend = Symbol("relend", (), BOOL, "R13 is on", rigid=True)
#: R6 leaves open which order; this is any total order on the waiting runs, another one at every step.
before = Symbol("before", (RUN, RUN), BOOL, "the order of R6 at this step prefers the first run", rigid=True)

STATE = (
    waiting, in_flight, parked, pool, loan, lent, child, parent, level, levels, arrived, admitted, taken, in_cap,
    slot, tip, top, borrower,
)  # fmt: skip
GHOSTS = (in_cap, slot, tip, top, borrower)

X, Y = waiting.variables[0], arrived.variables[1]
Z = taken.variables[0]
V = variable("v", SLOT)


def known(run: Expr) -> Expr:
    """Waiting, in flight or parked; the pool remembers nothing else."""
    return waiting(run) | in_flight(run) | parked(run)


def holds(run: Expr) -> Expr:
    """The run has a slot, of the pool or on loan, lent or not."""
    return pool(run) | loan(run)


def child_of(run: Expr, above: Expr) -> Expr:
    """``above`` is the run's parent."""
    return child(run) & same(parent(run), above)


def free(place: Expr) -> Expr:
    """A slot that can be handed out: of the cap, and not out."""
    return in_cap(place) & ~taken(place)


def over(place: Expr) -> Expr:
    """A slot that is out and no longer of the cap, since the cap was lowered."""
    return taken(place) & ~in_cap(place)


none_waits = no(X)(waiting(X))
none_free = no(Z)(free(Z))
none_over = each(Z)(implies(taken(Z), in_cap(Z)))
