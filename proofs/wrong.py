"""Wrong relations: lending with one mistake each, and the obligation that must fail for it.

A proof that cannot fail proves nothing. Every one of these is a mistake that somebody has made, or could: in code, or
in this relation (`cap-creeps-up` was found in it by the comparison with the code). Each is caught when its obligation
has a counterexample to induction that plain Python confirms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from slotcheck.proofs.action import Action
from slotcheck.proofs.claims import claims
from slotcheck.proofs.invariant import CONJUNCTS
from slotcheck.proofs.logic import Expr, Sort, Symbol, any_of, at_most, each, implies, ite, less, plus, same
from slotcheck.proofs.obligation import Obligation, keeps
from slotcheck.proofs.order import JOB, ORDER_ACTIONS, held, order_obligations, stands
from slotcheck.proofs.order import ahead as line_ahead
from slotcheck.proofs.permit import (
    COMPONENT,
    KEY,
    PERMIT_ACTIONS,
    component,
    holds_permit,
    permit_order,
    stored,
    working,
)
from slotcheck.proofs.relation import ACTIONS, forgets
from slotcheck.proofs.vocabulary import (
    RUN,
    SLOT,
    X,
    Z,
    holds,
    level,
    pool,
    slot,
    taken,
)

__all__ = ["SIZES", "WRONG", "Wrong"]

#: Finite instances to look for a counterexample in: a few runs, two slots.
SIZES: tuple[Mapping[Sort, int], ...] = (
    {RUN: 3, SLOT: 2, JOB: 3, COMPONENT: 2, KEY: 2},
    {RUN: 4, SLOT: 2, JOB: 4, COMPONENT: 2, KEY: 2},
    {RUN: 5, SLOT: 3, JOB: 5, COMPONENT: 2, KEY: 2},
)


@dataclass(frozen=True, eq=False)
class Wrong:
    """A relation with a mistake in one action.

    Attributes:
        name: of the mistake.
        mistake: what it does otherwise.
        action: the action with the mistake in it.
        caught_by: the obligation that must fail.
    """

    name: str
    mistake: str
    action: Action
    caught_by: str

    def obligation(self) -> Obligation:
        """The obligation that must fail, posed for the wrong action."""
        return next(made for made in self._posed() if made.name == self.caught_by)

    def _posed(self) -> Iterator[Obligation]:
        actions = {self.action.name: self.action}
        group = self.caught_by.partition("/")[0]
        if group == "Permit":
            yield from permit_order(actions)
        elif group in ("OvertakenOnce", "FewestHeldFirst"):
            yield from order_obligations(actions)
        elif group in ACTIONS:
            yield from keeps(self.action, list(CONJUNCTS.values()))
        else:
            yield from claims(actions)


def _lending(name: str, mistake: str, action: str, caught_by: str, change: Callable[[Action], Action]) -> Wrong:
    named = caught_by if "/" in caught_by else f"{action}/{caught_by}"
    return Wrong(name, mistake, change(ACTIONS[action]), named)


def _param(action: str, name: str) -> Expr:
    return next(parameter for parameter in ACTIONS[action].parameters if parameter.name == name)


_RUN = _param("finish-parks", "run")
_ABOVE = _param("ask-on-loan", "above")
_NEXT = _param("finish-slot-to-waiter", "next")
_PLACE = _param("lower-taken-slot", "place")
_MINE = slot(_RUN)
#: The cascade that takes the run and its lender, and no more.
_SHORT = holds(X) & same(slot(X), _MINE) & at_most(level(_RUN), plus(level(X), 1))


def _wrong() -> Iterable[Wrong]:
    yield _lending(
        "lends-twice",
        "the guard 'already lent' is missing: every child that asks gets the parent's slot",
        "ask-on-loan",
        "OnePerLevel",
        lambda action: action.lacking("the parent's slot is unlent"),
    )
    yield _lending(
        "parked-slot-released",
        "a run that finishes while its slot is lent gives it back to the pool at once",
        "finish-parks",
        "SlotIsTaken",
        lambda action: action.updating(taken=taken(Z) & ~(pool(_RUN) & same(Z, _MINE))),
    )
    yield _lending(
        "parked-slot-dropped",
        "a run that finishes while its slot is lent is forgotten, and its borrower with a loan from nobody",
        "finish-parks",
        "LoanFromParent",
        lambda action: action.updating(**_named(forgets(same(X, _RUN)))),
    )
    yield _lending(
        "loan-returned-to-pool",
        "a loan that ends goes to the pool, though its lender has the slot",
        "finish-loan-to-lender",
        "SlotIsTaken",
        lambda action: action.updating(taken=taken(Z) & ~same(Z, _MINE)),
    )
    yield _lending(
        "cascade-stops-short",
        "a slot that comes back through parked lenders frees the nearest and leaves those above it parked",
        "finish-slot-free",
        "LentToBorrower",
        lambda action: action.updating(**_named(forgets(_SHORT))),
    )
    yield _lending(
        "cascade-passes-open-lender",
        "the cascade goes on past a lender that is still in flight, and ends it",
        "finish-slot-free",
        "OnlyItsOwnEnd/finish-slot-free",
        lambda action: action.lacking("every other run of its chain is parked"),
    )
    yield _lending(
        "waiter-forgotten",
        "a pool slot that comes back is put down, and nobody looks at the queue",
        "finish-slot-free",
        "NoWaitBesideFreeSlot",
        lambda action: action.lacking("nobody waits"),
    )
    yield _lending(
        "waiting-child-forgotten",
        "a loan that comes back stays with the lender while a child waits for it",
        "finish-loan-to-lender",
        "NoWaitBesideUnlentParent",
        lambda action: action.lacking("no child of the lender waits"),
    )
    yield _lending(
        "stays-in-queue",
        "a waiter that is served stays in the queue",
        "finish-slot-to-waiter",
        "OnePhase",
        lambda action: action.updating(waiting=None),
    )
    yield _lending(
        "grant-above-cap",
        "after the cap was lowered, a slot that comes back is handed on all the same",
        "finish-slot-to-waiter",
        "CapRespected/finish-slot-to-waiter",
        lambda action: action.lacking("no slot is over the cap"),
    )
    yield _lending(
        "takes-taken-slot",
        "a run that asks takes a pool slot that is out",
        "ask-on-pool-slot",
        "OneTop",
        lambda action: action.lacking("a pool slot is free"),
    )
    yield _lending(
        "barges-past-lender",
        "a child waits though its parent's slot is unlent: it looks at the pool only",
        "ask-waits",
        "NoWaitBesideUnlentParent",
        lambda action: action.lacking("the parent's slot is lent"),
    )
    yield _lending(
        "level-of-parent",
        "a child is put on its parent's level",
        "ask-on-loan",
        "LevelBelowParent",
        lambda action: action.updating(level=ite(same(X, _RUN), level(_ABOVE), level(X))),
    )
    yield _lending(
        "orphans-keep-parent",
        "a run that ends while its slot is lent stays the parent of its waiting children",
        "finish-parks",
        "ParentHolds",
        lambda action: action.updating(child=None),
    )
    yield _lending(
        "relend-skipped",
        "with relend, a slot comes back to a lender whose child has a pool slot, and stays there",
        "finish-loan-to-lender",
        "NoIdleBesideHolder",
        lambda action: action.lacking("no child is to be relent"),
    )
    yield _lending(
        "relent-keeps-pool-token",
        "a relent child counts as holder of its pool slot still",
        "finish-relends-slot-free",
        "OneToken",
        lambda action: action.updating(pool=None),
    )
    yield _lending(
        "relent-slot-stays-out",
        "a relent child's pool slot does not go back to the pool",
        "finish-relends-slot-free",
        "SlotHasTop",
        lambda action: action.updating(taken=None),
    )
    yield _lending(
        "cancelled-stays-in-line",
        "a waiting run that is cancelled keeps its place in the queue",
        "cancel-waiting",
        "ArrivalsAreInLine",
        lambda action: action.updating(arrived=None),
    )
    yield _lending(
        "raise-serves-nobody",
        "raising the cap frees a slot while runs wait",
        "raise-slot-free",
        "NoWaitBesideFreeSlot",
        lambda action: action.lacking("nobody waits"),
    )
    yield _lending(
        "lowering-revokes",
        "lowering the cap takes a slot from the run that has it",
        "lower-taken-slot",
        "SlotIsTaken",
        lambda action: action.updating(taken=taken(Z) & ~same(Z, _PLACE)),
    )
    yield _lending(
        "lowers-to-nothing",
        "the last slot of the cap can go",
        "lower-free-slot",
        "CapAtLeastOne",
        lambda action: action.lacking("the cap stays at least 1"),
    )
    yield _lending(
        "cap-creeps-up",
        "with two slots over the cap, one comes back and the other is of the cap again: the cap has grown",
        "finish-slot-gone",
        "CapKept/finish-slot-gone",
        lambda action: action.lacking("it is this slot if this one is"),
    )
    served = ORDER_ACTIONS["served-others-wait"]
    yield Wrong(
        "keeps-place-when-served",
        "a job that is served keeps its place, as with `oldest`: it overtakes a starved one again and again",
        replace(served, updates=_but(served, line_ahead)),
        "OvertakenOnce/served-others-wait/AheadWereAhead",
    )
    (job,) = served.parameters
    (sibling,) = stands.variables
    fifo = each(sibling)(implies(stands(sibling), same(job, sibling) | line_ahead(job, sibling)))
    yield Wrong(
        "picks-by-place-alone",
        "the job first in line is served, whatever it holds",
        served.lacking("it has the least (held, place)", **{"it is first in line": fifo}),
        "FewestHeldFirst/chosen-holds-least",
    )
    least = each(sibling)(implies(stands(sibling), at_most(held(job), held(sibling))))
    yield Wrong(
        "ties-at-will",
        "of the jobs that hold least any is served, whatever its place: a starved one may wait for ever",
        served.lacking("it has the least (held, place)", **{"it holds least": least}),
        "OvertakenOnce/served-others-wait/PassedAtMostOnce",
    )
    last = each(sibling)(
        implies(
            stands(sibling),
            any_of(
                less(held(job), held(sibling)),
                same(held(job), held(sibling)) & any_of(same(job, sibling), line_ahead(sibling, job)),
            ),
        )
    )
    yield Wrong(
        "newest-first",
        "of the jobs that hold least the last in line is served: with `oldest`, the one that came last",
        served.lacking("it has the least (held, place)", **{"it has the least (held, last place)": last}),
        "FewestHeldFirst/overtaker-stands-before",
    )
    dropping = PERMIT_ACTIONS["asks-drops"]
    yield Wrong(
        "asks-with-permit",
        "a holder without a slot asks for one and keeps the permit",
        replace(dropping, updates=_but(dropping, holds_permit)),
        "Permit/asks-drops/PermitOrder",
    )
    yield Wrong(
        "permit-put-down",
        "a permit that is dropped while a run queues goes to nobody",
        PERMIT_ACTIONS["ends-drops"].lacking("nobody is queued on this permit"),
        "Permit/ends-drops/NoPermitLost",
    )
    works, ends, cancelled = (PERMIT_ACTIONS[name] for name in ("works", "ends-drops", "cancelled-drops"))
    yield Wrong(
        "skips-memo",
        "a holder does not look at the memo: it does again what is done",
        works.lacking("the memo does not answer it"),
        "Permit/works/NoDoubleWork",
    )
    yield Wrong(
        "works-without-slot",
        "a holder without a slot works at once, since it has the permit",
        works.lacking("it has a slot"),
        "Permit/works/WorksUnderPermit",
    )
    (place,) = stored.variables
    yield Wrong(
        "stores-on-failure",
        "a body that fails stores its key all the same",
        replace(ends, updates={**ends.updates, stored: stored(place) | same(place, component(ends.parameters[0]))}),
        "Permit/ends-drops/MemoTrue",
    )
    yield Wrong(
        "cancel-leaves-body",
        "a cancelled holder drops the permit, and its body goes on",
        replace(cancelled, updates=_but(cancelled, working)),
        "Permit/cancelled-drops/WorksUnderPermit",
    )


def _named(updates: Mapping[Symbol, Expr]) -> dict[str, Expr]:
    return {symbol.name: update for symbol, update in updates.items()}


def _but(action: Action, *left_out: Symbol) -> dict[Symbol, Expr]:
    """The updates of an action without some: these symbols stay as they are."""
    return {symbol: update for symbol, update in action.updates.items() if symbol not in left_out}


#: All of them, by name.
WRONG: Mapping[str, Wrong] = {wrong.name: wrong for wrong in _wrong()}
