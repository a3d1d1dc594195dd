"""R9: slot before permit. No run waits for a slot while holding a permit, and together they do not deadlock.

Two parts. The first is a relation of its own, for one run's way through slot and permit (enter, slot granted, permit
handed on, memo answered or not, cancel), with an invariant: PermitOrder, PermitExclusive, NoPermitLost. About slots it
knows only that one may be granted to whoever waits for one.

The second takes these as hypotheses, beside the invariant of lending, and shows that some run can go on. It needs the
mount relation to have no circle, stated as a `rank` that grows from a component to those it mounts. The argument: take
the holder of a permit whose component has the greatest rank, and the deepest run in flight at or below it. If that
run is queued on a permit, that permit's holder has a greater rank. If it waits for somebody below who is in flight, or
queued, that one is deeper, or its permit's holder has a greater rank. If it waits for somebody who waits for a slot,
that one's parent has lent its slot, and the run at the end of that chain is below the holder, in flight, and deeper.
If nobody is queued at all, NoDeadlock's own argument holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slotcheck.proofs.action import Action
from slotcheck.proofs.claims import INVARIANT, above, waits_for
from slotcheck.proofs.invariant import Conjunct
from slotcheck.proofs.logic import (
    BOOL,
    INT,
    Expr,
    Sort,
    Symbol,
    at_most,
    each,
    implies,
    ite,
    less,
    no,
    same,
    some,
    variable,
)
from slotcheck.proofs.obligation import Obligation, keeps
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

__all__ = [
    "ABOVE",
    "COMPONENT",
    "PERMITS",
    "PERMIT_ACTIONS",
    "PERMIT_CONJUNCTS",
    "STUCK",
    "acyclic",
    "holds_permit",
    "permit_obligations",
    "permit_order",
]

COMPONENT = Sort("Component")

present = Symbol("present", (RUN,), BOOL, "the run has entered and is not over")
wants_slot = Symbol("wants_slot", (RUN,), BOOL, "it waits for a slot")
has_slot = Symbol("has_slot", (RUN,), BOOL, "it has one")
queued = Symbol("queued", (RUN,), BOOL, "it queues on its component's permit")
holds_permit = permit = Symbol("permit", (RUN,), BOOL, "it holds its component's permit")
component = Symbol("component", (RUN,), COMPONENT, "the component that it is a run of", rigid=True)
keeper = Symbol("keeper", (COMPONENT,), RUN, "who holds the component's permit, if anybody does (a ghost)")
ahead = Symbol("queued_before", (RUN, RUN), BOOL, "who of two queued runs queued first", rigid=True)

C = keeper.variables[0]
R, N = variable("run", RUN), variable("heir", RUN)

_CONJUNCTS = (
    Conjunct(
        "PermitOrder",
        no(X)(wants_slot(X) & permit(X)),
        "no run waits for a slot while holding a permit",
        "the claim: else a slot's holder could queue on that permit, and both would wait",
    ),
    Conjunct(
        "PermitExclusive",
        each(X)(implies(permit(X), same(keeper(component(X)), X))),
        "a component's permit has one holder",
        "the runs of a component work one after another",
    ),
    Conjunct(
        "NoPermitLost",
        each(X)(implies(queued(X), permit(keeper(component(X))) & same(component(keeper(component(X))), component(X)))),
        "no run queues on a free permit",
        "NoDeadlockWithPermits goes from a queued run to the one it queues behind",
    ),
    Conjunct(
        "HolderPresent",
        each(X)(implies(permit(X) | queued(X) | wants_slot(X) | has_slot(X), present(X))),
        "who holds, queues, or waits for or has a slot is present",
        "a run that enters has no past",
    ),
    Conjunct(
        "OnePlace",
        each(X)(~(queued(X) & permit(X)) & ~(queued(X) & wants_slot(X)) & ~(wants_slot(X) & has_slot(X))),
        "a run does not queue on what it holds, nor while it waits for a slot",
        "slot first, then permit, then work: one after another",
    ),
)

#: The invariant of permits, by name.
PERMIT_CONJUNCTS: Mapping[str, Conjunct] = {conjunct.name: conjunct for conjunct in _CONJUNCTS}

_own = component(R)


def _is_free(place: Expr) -> Expr:
    return no(X)(permit(X) & same(component(X), place))


def _others(run: Expr) -> Expr:
    return some(X)(present(X) & ~same(X, run) & same(component(X), component(run)))


def _set(symbol: Symbol, run: Expr, to: bool) -> Expr:
    return symbol(X) | same(X, run) if to else symbol(X) & ~same(X, run)


def _takes(run: Expr) -> dict[Symbol, Expr]:
    return {permit: _set(permit, run, True), keeper: ite(same(C, component(run)), run, keeper(C))}


_FREE = {"the permit is free": _is_free(_own)}
_BUSY = {"the permit is held": ~_is_free(_own)}
_HEIR = {
    "the heir is queued on this permit": queued(N) & same(component(N), _own),
    "it queued first": each(X)(implies(queued(X) & same(component(X), _own), same(X, N) | ahead(N, X))),
}
_NO_HEIR = {"nobody is queued on this permit": no(X)(queued(X) & same(component(X), _own))}
_HANDED = {
    permit: (permit(X) & ~same(X, R)) | same(X, N),
    queued: queued(X) & ~same(X, N),
    keeper: ite(same(C, _own), N, keeper(C)),
}
_DROPPED = {permit: _set(permit, R, False)}
_GONE = {present: _set(present, R, False), has_slot: _set(has_slot, R, False)}
_ENTERS = {"it has not entered": ~present(R)}
_HOLDS = {"it holds the permit": permit(R)}
_NO_SLOT = {"it has no slot": ~has_slot(R)}

#: A run's way through slot and permit, by name.
PERMIT_ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action(
            "enter-beside-another",
            (),
            "another run of the component is present: take no slot, queue on the permit",
            (R,),
            {**_ENTERS, "another one is present": _others(R), **_BUSY},
            {present: _set(present, R, True), queued: _set(queued, R, True)},
        ),
        Action(
            "enter-beside-another-takes-permit",
            (),
            "the same while the permit is free: queueing on a free permit takes it",
            (R,),
            {**_ENTERS, "another one is present": _others(R), **_FREE},
            {present: _set(present, R, True), **_takes(R)},
        ),
        Action(
            "enter-alone-waits",
            (),
            "nobody of the component is present: ask for a slot, and wait for it",
            (R,),
            {**_ENTERS, "nobody else is present": ~_others(R)},
            {present: _set(present, R, True), wants_slot: _set(wants_slot, R, True)},
        ),
        Action(
            "enter-alone-admitted",
            (),
            "nobody of the component is present, so its permit is free: a slot, then the permit",
            (R,),
            {**_ENTERS, "nobody else is present": ~_others(R)},
            {present: _set(present, R, True), has_slot: _set(has_slot, R, True), **_takes(R)},
        ),
        Action(
            "slot-granted-queues",
            (),
            "once the slot is granted, queue on the permit",
            (R,),
            {"it waits for a slot": wants_slot(R), **_BUSY},
            {wants_slot: _set(wants_slot, R, False), has_slot: _set(has_slot, R, True), queued: _set(queued, R, True)},
        ),
        Action(
            "slot-granted-takes-permit",
            (),
            "queueing on a free permit takes it",
            (R,),
            {"it waits for a slot": wants_slot(R), **_FREE},
            {wants_slot: _set(wants_slot, R, False), has_slot: _set(has_slot, R, True), **_takes(R)},
        ),
        Action(
            "ends-hands-on",
            (),
            "answered, done, failed or cancelled: the permit goes to the run that queued first, in the same step",
            (R, N),
            {**_HOLDS, **_HEIR},
            {**_HANDED, **_GONE},
        ),
        Action(
            "ends-drops",
            (),
            "the same with nobody queued",
            (R,),
            {**_HOLDS, **_NO_HEIR},
            {**_DROPPED, **_GONE},
        ),
        Action(
            "asks-hands-on",
            (),
            "not answered and without a slot: in one step drop the permit and ask for a slot; it waits",
            (R, N),
            {**_HOLDS, **_NO_SLOT, **_HEIR},
            {**_HANDED, wants_slot: _set(wants_slot, R, True)},
        ),
        Action(
            "asks-drops",
            (),
            "the same with nobody queued",
            (R,),
            {**_HOLDS, **_NO_SLOT, **_NO_HEIR},
            {**_DROPPED, wants_slot: _set(wants_slot, R, True)},
        ),
        Action(
            "asks-admitted-queues",
            (),
            "the same with a slot to be had at once: it queues again, behind the heir that has the permit now",
            (R, N),
            {**_HOLDS, **_NO_SLOT, **_HEIR},
            {
                **_HANDED,
                has_slot: _set(has_slot, R, True),
                queued: (queued(X) & ~same(X, N)) | same(X, R),
            },
        ),
        Action(
            "asks-admitted-takes-permit",
            (),
            "the same with nobody queued: it has the permit again at once",
            (R,),
            {**_HOLDS, **_NO_SLOT, **_NO_HEIR},
            {has_slot: _set(has_slot, R, True)},
        ),
        Action(
            "cancelled-without-permit",
            (),
            "a run that waits for a slot or queues leaves, and gives up its slot if it has one",
            (R,),
            {"it waits for a slot or queues": wants_slot(R) | queued(R)},
            {wants_slot: _set(wants_slot, R, False), queued: _set(queued, R, False), **_GONE},
        ),
    )
}

_NEW: Mapping[str, Expr] = {"nobody has entered": no(X)(present(X)), **{
    f"no {symbol.name}": no(X)(symbol(X)) for symbol in (wants_slot, has_slot, queued, permit)
}}  # fmt: skip


def permit_order(actions: Mapping[str, Action] = PERMIT_ACTIONS) -> Iterator[Obligation]:
    """PermitOrder and what it rests on, by induction."""
    for conjunct in _CONJUNCTS:
        yield Obligation(f"Permit/init/{conjunct.name}", f"at first {conjunct.meaning}", _NEW, conjunct.formula)
    for action in actions.values():
        for made in keeps(action, _CONJUNCTS, PERMIT_CONJUNCTS):
            yield Obligation(
                f"Permit/{made.name}", made.meaning, made.hypotheses, made.goal, made.constants, made.definitions
            )


# -- no deadlock with permits ------------------------------------------------------------------------------------

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


def permit_obligations() -> Iterator[Obligation]:
    """All that is claimed of permits."""
    yield from permit_order()
    yield from no_deadlock_with_permits()
