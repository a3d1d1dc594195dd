"""R9 for one run: its way through slot and permit, and what the memo says.

A relation of its own (enter, slot granted, permit handed on, memo answered or not, body begun and ended, cancel), with
an invariant: PermitOrder, PermitExclusive, NoPermitLost, WorksUnderPermit, MemoTrue, NoDoubleWork. About slots it knows
only that one may be granted to whoever waits for one. `permit_deadlock.py` goes on from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slotcheck.proofs.action import Action
from slotcheck.proofs.invariant import Conjunct
from slotcheck.proofs.logic import (
    BOOL,
    Expr,
    Sort,
    Symbol,
    each,
    implies,
    ite,
    no,
    same,
    some,
    variable,
)
from slotcheck.proofs.obligation import Obligation, keeps
from slotcheck.proofs.vocabulary import RUN, X

__all__ = [
    "COMPONENT",
    "KEY",
    "PERMIT_ACTIONS",
    "PERMIT_CONJUNCTS",
    "PERMIT_STATE",
    "component",
    "holds_permit",
    "permit_order",
    "stored",
]

COMPONENT, KEY = Sort("Component"), Sort("Key")

present = Symbol("present", (RUN,), BOOL, "the run has entered and is not over")
wants_slot = Symbol("wants_slot", (RUN,), BOOL, "it waits for a slot")
has_slot = Symbol("has_slot", (RUN,), BOOL, "it has one")
queued = Symbol("queued", (RUN,), BOOL, "it queues on its component's permit")
holds_permit = permit = Symbol("permit", (RUN,), BOOL, "it holds its component's permit")
component = Symbol("component", (RUN,), COMPONENT, "the component that it is a run of", rigid=True)
keeper = Symbol("keeper", (COMPONENT,), RUN, "who holds the component's permit, if anybody does (a ghost)")
ahead = Symbol("queued_before", (RUN, RUN), BOOL, "who of two queued runs queued first", rigid=True)

working = Symbol("working", (RUN,), BOOL, "its body is on")
key = Symbol("key", (RUN,), KEY, "what a memo can answer it by, if it has a key", rigid=True)
keyed = Symbol("keyed", (RUN,), BOOL, "it has a key", rigid=True)
stored = Symbol("stored", (COMPONENT,), BOOL, "the component has a memo")
memo = Symbol("memo", (COMPONENT,), KEY, "which is this key")
made_any = Symbol("made_any", (COMPONENT,), BOOL, "its last body that ended well had a key (a ghost)")
made = Symbol("made", (COMPONENT,), KEY, "which was this one (a ghost)")

#: What changes; ghosts (keeper, made_any, made) included.
PERMIT_STATE = (present, wants_slot, has_slot, queued, permit, keeper, working, stored, memo, made_any, made)

C = keeper.variables[0]
R, N = variable("run", RUN), variable("heir", RUN)
WELL = variable("well", BOOL)


def _answers(run: Expr) -> Expr:
    return keyed(run) & stored(component(run)) & same(memo(component(run)), key(run))


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
    Conjunct(
        "WorksUnderPermit",
        each(X)(implies(working(X), permit(X) & has_slot(X))),
        "a body works only with its permit and a slot",
        "so that nobody else of the component begins, ends or stores meanwhile",
    ),
    Conjunct(
        "MemoTrue",
        each(C)(implies(stored(C), made_any(C) & same(memo(C), made(C)))),
        "a stored memo is the key of the component's last body that ended well",
        "what it answers is there",
    ),
    Conjunct(
        "NoDoubleWork",
        no(X)(working(X) & _answers(X)),
        "no body works while the memo answers it",
        "it was not so when the body began, and nobody else can store meanwhile",
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
_GONE = {symbol: _set(symbol, R, False) for symbol in (present, has_slot, working)}
_ENTERS = {"it has not entered": ~present(R)}
_HOLDS = {"it holds the permit": permit(R)}
_NO_SLOT = {"it has no slot": ~has_slot(R)}

_HANDED_OVER = {**_HOLDS, "its body is not on": ~working(R)}
_NOT_ANSWERED = {"the memo does not answer it": ~_answers(R)}
_FORGETS = {stored: stored(C) & ~same(C, _own)}
_REMEMBERS = {
    stored: (stored(C) & ~same(C, _own)) | (same(C, _own) & WELL & keyed(R)),
    memo: ite(same(C, _own), key(R), memo(C)),
    made_any: (made_any(C) & ~(same(C, _own) & WELL)) | (same(C, _own) & WELL & keyed(R)),
    made: ite(same(C, _own) & WELL, key(R), made(C)),
}


def _leaves(
    name: str,
    verbs: tuple[str, ...],
    meaning: str,
    guard: Mapping[str, Expr],
    memos: Mapping[Symbol, Expr],
    more: tuple[Expr, ...] = (),
) -> tuple[Action, Action]:
    """A holder is over: the permit goes to the run that queued first, in the same step, or is free."""
    return (
        Action(
            f"{name}-hands-on",
            verbs,
            f"{meaning}; the permit goes to the run that queued first, in the same step",
            (R, N, *more),
            {**guard, **_HEIR},
            {**_HANDED, **_GONE, **memos},
        ),
        Action(
            f"{name}-drops",
            verbs,
            f"{meaning}; nobody is queued",
            (R, *more),
            {**guard, **_NO_HEIR},
            {**_DROPPED, **_GONE, **memos},
        ),
    )


#: A run's way through slot and permit, by name.
PERMIT_ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action(
            "enter-beside-another",
            ("enter",),
            "another run of the component is present: take no slot, queue on the permit",
            (R,),
            {**_ENTERS, "another one is present": _others(R), **_BUSY},
            {present: _set(present, R, True), queued: _set(queued, R, True)},
        ),
        Action(
            "enter-beside-another-takes-permit",
            ("enter",),
            "the same while the permit is free: queueing on a free permit takes it",
            (R,),
            {**_ENTERS, "another one is present": _others(R), **_FREE},
            {present: _set(present, R, True), **_takes(R)},
        ),
        Action(
            "enter-alone-waits",
            ("enter",),
            "nobody of the component is present: ask for a slot, and wait for it",
            (R,),
            {**_ENTERS, "nobody else is present": ~_others(R)},
            {present: _set(present, R, True), wants_slot: _set(wants_slot, R, True)},
        ),
        Action(
            "enter-alone-admitted",
            ("enter",),
            "nobody of the component is present, so its permit is free: a slot, then the permit",
            (R,),
            {**_ENTERS, "nobody else is present": ~_others(R)},
            {present: _set(present, R, True), has_slot: _set(has_slot, R, True), **_takes(R)},
        ),
        Action(
            "slot-granted-queues",
            ("granted",),
            "once the slot is granted, queue on the permit",
            (R,),
            {"it waits for a slot": wants_slot(R), **_BUSY},
            {wants_slot: _set(wants_slot, R, False), has_slot: _set(has_slot, R, True), queued: _set(queued, R, True)},
        ),
        Action(
            "slot-granted-takes-permit",
            ("granted",),
            "queueing on a free permit takes it",
            (R,),
            {"it waits for a slot": wants_slot(R), **_FREE},
            {wants_slot: _set(wants_slot, R, False), has_slot: _set(has_slot, R, True), **_takes(R)},
        ),
        *_leaves(
            "answered",
            ("resume",),
            "the memo answers it: it is over",
            {**_HANDED_OVER, "the memo answers it": _answers(R)},
            {},
        ),
        Action(
            "works",
            ("resume",),
            "the memo does not answer it, and it has a slot: its body begins",
            (R,),
            {**_HANDED_OVER, **_NOT_ANSWERED, "it has a slot": has_slot(R)},
            {working: _set(working, R, True)},
        ),
        *_leaves(
            "ends",
            ("finish", "fail"),
            "its body has ended: well, and its key is the memo; or not, and there is none",
            {**_HOLDS, "its body is on": working(R)},
            _REMEMBERS,
            (WELL,),
        ),
        *_leaves(
            "cancelled",
            ("cancel",),
            "it holds the permit, working or not: it drops it, and clears the memo",
            _HOLDS,
            _FORGETS,
        ),
        Action(
            "asks-hands-on",
            ("resume",),
            "not answered and without a slot: in one step drop the permit and ask for a slot; it waits",
            (R, N),
            {**_HANDED_OVER, **_NOT_ANSWERED, **_NO_SLOT, **_HEIR},
            {**_HANDED, wants_slot: _set(wants_slot, R, True)},
        ),
        Action(
            "asks-drops",
            ("resume",),
            "the same with nobody queued",
            (R,),
            {**_HANDED_OVER, **_NOT_ANSWERED, **_NO_SLOT, **_NO_HEIR},
            {**_DROPPED, wants_slot: _set(wants_slot, R, True)},
        ),
        Action(
            "asks-admitted-queues",
            ("resume",),
            "the same with a slot to be had at once: it queues again, behind the heir that has the permit now",
            (R, N),
            {**_HANDED_OVER, **_NOT_ANSWERED, **_NO_SLOT, **_HEIR},
            {
                **_HANDED,
                has_slot: _set(has_slot, R, True),
                queued: (queued(X) & ~same(X, N)) | same(X, R),
            },
        ),
        Action(
            "asks-admitted-takes-permit",
            ("resume",),
            "the same with nobody queued: it has the permit again at once",
            (R,),
            {**_HANDED_OVER, **_NOT_ANSWERED, **_NO_SLOT, **_NO_HEIR},
            {has_slot: _set(has_slot, R, True)},
        ),
        Action(
            "cancelled-without-permit",
            ("cancel",),
            "a run that waits for a slot or queues leaves, and gives up its slot if it has one",
            (R,),
            {"it waits for a slot or queues": wants_slot(R) | queued(R)},
            {wants_slot: _set(wants_slot, R, False), queued: _set(queued, R, False), **_GONE},
        ),
    )
}

_NEW: Mapping[str, Expr] = {"nobody has entered": no(X)(present(X)), **{
    f"no {symbol.name}": no(X)(symbol(X)) for symbol in (wants_slot, has_slot, queued, permit, working)
}, "no memo": no(C)(stored(C))}  # fmt: skip


def permit_order(actions: Mapping[str, Action] = PERMIT_ACTIONS) -> Iterator[Obligation]:
    """PermitOrder and what it rests on, by induction."""
    for conjunct in _CONJUNCTS:
        yield Obligation(f"Permit/init/{conjunct.name}", f"at first {conjunct.meaning}", _NEW, conjunct.formula)
    for action in actions.values():
        for made in keeps(action, _CONJUNCTS, PERMIT_CONJUNCTS):
            yield Obligation(
                f"Permit/{made.name}", made.meaning, made.hypotheses, made.goal, made.constants, made.definitions
            )
