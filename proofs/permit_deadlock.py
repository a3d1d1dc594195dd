"""R9: permits and slots together do not deadlock, where the mount relation has no circle.

What `permit.py` shows is taken as hypothesis here, beside the invariant of lending. That the mount relation has no
circle is stated as a `rank` that grows from a component to those it mounts. The argument: take
the holder of a permit whose component has the greatest rank, and the deepest run in flight at or below it. If that
run is queued on a permit, that permit's holder has a greater rank. If it waits for somebody below who is in flight, or
queued, that one is deeper, or its permit's holder has a greater rank. If it waits for somebody who waits for a slot,
that one's parent has lent its slot, and the run at the end of that chain is below the holder, in flight, and deeper.
If nobody is queued at all, NoDeadlock's own argument holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slotcheck.proofs.claims import INVARIANT, above, waits_for
from slotcheck.proofs.logic import BOOL, INT, Expr, Symbol, at_most, each, implies, less, no, same, some, variable
from slotcheck.proofs.obligation import Obligation
from slotcheck.proofs.permit import COMPONENT, PERMIT_CONJUNCTS, component, permit, queued
from slotcheck.proofs.vocabulary import (
    RUN,
    X,
    Y,
    child,
    in_flight,
    lent,
    level,
    parent,
    slot,
    tip,
    waiting,
)

__all__ = ["ABOVE", "PERMITS", "STUCK", "acyclic", "no_deadlock_with_permits"]

rank = Symbol("rank", (COMPONENT,), INT, "grows from a component to those that it mounts", rigid=True)
has_component = Symbol("has_component", (RUN,), BOOL, "it is a run of a component", rigid=True)

_H, _D, _LOWER = variable("holder", RUN), variable("deepest", RUN), variable("lower", RUN)


def _below(run: Expr, top: Expr) -> Expr:
    return same(run, top) | above(top, run)


PERMITS: Mapping[str, Expr] = {
    "PermitOrder": no(X)(permit(X) & waiting(X)),
    "PermitExclusive": PERMIT_CONJUNCTS["PermitExclusive"].formula,
    "NoPermitLost": PERMIT_CONJUNCTS["NoPermitLost"].formula,
    "OnePlace": each(X)(~(queued(X) & permit(X)) & ~(queued(X) & waiting(X))),
    "only runs of a component queue or hold": each(X)(implies(queued(X) | permit(X), has_component(X))),
}
ABOVE: Mapping[str, Expr] = {
    "above the child is its parent, and who is above that": each(X, Y)(
        implies(above(X, Y), child(Y) & (same(parent(Y), X) | above(X, parent(Y))))
    ),
    "a parent is above its child": each(Y)(implies(child(Y), above(parent(Y), Y))),
    "above goes through": each(X, Y, _LOWER)(implies(above(X, Y) & above(Y, _LOWER), above(X, _LOWER))),
    "above is higher (lemma)": each(X, Y)(implies(above(X, Y), less(level(X), level(Y)))),
}
_TIP_BELOW = each(X)(implies(lent(X), above(X, tip(slot(X)))))

#: R9's hypothesis on mounts, S mounts T: the ranks show that the mount relation has no circle. That parents are among
#: the mounters (so above in the parent relation is above in the lineage) is part of it.
acyclic = each(X, Y)(
    implies(above(X, Y) & has_component(X) & has_component(Y), less(rank(component(X)), rank(component(Y))))
)

_unfinished = waiting(Y) | in_flight(Y) | queued(Y)


def _stuck(run: Expr) -> Expr:
    """It has a slot, and is queued on a permit or waits for somebody."""
    return in_flight(run) & (queued(run) | some(Y)(waits_for(run, Y)))


_WAITS: Mapping[str, Expr] = {
    "runs wait for unfinished runs below them": each(X, Y)(implies(waits_for(X, Y), above(X, Y) & _unfinished)),
}
_HOLDERS_ADMITTED: Mapping[str, Expr] = {
    "who holds a permit has a slot (or it could drop the permit)": each(X)(implies(permit(X), in_flight(X))),
}
#: Nobody can go on: who is in flight is stuck, and no holder is without a slot, as that one could drop its permit.
STUCK: Mapping[str, Expr] = {
    **_WAITS,
    **_HOLDERS_ADMITTED,
    "who is in flight is stuck": each(X)(implies(in_flight(X), _stuck(X))),
    "somebody is in flight": some(X)(in_flight(X)),
}


def no_deadlock_with_permits() -> Iterator[Obligation]:
    """Some run can go on, if the mount relation has no circle."""
    yield Obligation(
        "NoDeadlockWithPermits/chain-goes-down",
        "by induction up a chain: a lender is above the run at the end of its chain",
        {
            **INVARIANT,
            **ABOVE,
            "true below it on the chain": each(X)(
                implies(lent(X) & same(slot(X), slot(_LOWER)) & less(level(_LOWER), level(X)), above(X, tip(slot(X))))
            ),
        },
        implies(lent(_LOWER), above(_LOWER, tip(slot(_LOWER)))),
        (_LOWER,),
    )
    chains = {
        name: INVARIANT[name] for name in ("OnePhase", "ParentHolds", "LevelBelowParent", "NoWaitBesideUnlentParent")
    }
    chains["a chain ends in flight and deeper (NoDeadlock/chain-ends-in-flight)"] = each(X)(
        implies(lent(X), in_flight(tip(slot(X))) & less(level(X), level(tip(slot(X)))))
    )
    common = {**chains, **PERMITS, **ABOVE, "a lender is above its chain's end (lemma)": _TIP_BELOW}
    yield Obligation(
        "NoDeadlockWithPermits/holder-of-greatest-rank-can-step",
        "if somebody holds a permit: the deepest run in flight at or below the holder of greatest rank can step",
        {
            **common,
            "mounts have no circle": acyclic,
            **_WAITS,
            **_HOLDERS_ADMITTED,
            "this one holds a permit": permit(_H),
            "no holder has a greater rank": each(X)(
                implies(permit(X), at_most(rank(component(X)), rank(component(_H))))
            ),
            "this one is in flight, at or below it": in_flight(_D) & _below(_D, _H),
            "and no deeper one is": each(X)(implies(in_flight(X) & _below(X, _H), at_most(level(X), level(_D)))),
        },
        ~_stuck(_D),
        (_H, _D),
    )
    yield Obligation(
        "NoDeadlockWithPermits/nobody-holds",
        "if nobody holds a permit, so that nobody is queued: the deepest run in flight can step",
        {
            **chains,
            **PERMITS,
            **_WAITS,
            "above is higher (lemma)": ABOVE["above is higher (lemma)"],
            "who has somebody above is a child": each(X, Y)(implies(above(X, Y), child(Y))),
            "nobody holds a permit": no(X)(permit(X)),
            "this one is in flight": in_flight(_D),
            "and no deeper one is": each(X)(implies(in_flight(X), at_most(level(X), level(_D)))),
        },
        ~_stuck(_D),
        (_D,),
    )
    yield Obligation(
        "NoDeadlockWithPermits/nobody-in-flight",
        "and if nobody is in flight, nobody waits or is queued either",
        {**INVARIANT, **PERMITS, **_HOLDERS_ADMITTED, "nobody is in flight": no(X)(in_flight(X))},
        no(X)(waiting(X) | queued(X) | permit(X)),
    )
