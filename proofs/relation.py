"""The transition relation of lending: what one step of a pool does, as formulas over two states.

An `Action` has parameters, a guard over the state before, and for every symbol that changes its value after, in terms
of the state before. So the relation of an action is ``there are parameters such that the guard holds and every symbol
of the next state is what its update says``; symbols without an update stay as they are. Each branch of a rule is an
action of its own: "finish-loan-to-next-child" says what happened, not only what was called.

The give-back cascade (R4) is one step, without recursion, thanks to levels: when a run on slot s ends, the runs that
are done with are those on s that lie deeper than the nearest open run above; all of these but the one that ends are
parked. If nobody above is open, they are all the runs on s, and s comes back to the pool.

A cap that is lowered below what is taken leaves slots that are *over* it: out, but no longer of the cap. While there is
one, a pool slot that comes back goes to nobody (R8). Which of the taken slots are over is a ghost, and when one of the
others comes back first, the two change places: only numbers count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from slotcheck.proofs.action import Action
from slotcheck.proofs.logic import (
    BOOL,
    TRUE,
    Expr,
    Symbol,
    each,
    implies,
    ite,
    less,
    no,
    number,
    plus,
    same,
    some,
    variable,
    without,
)
from slotcheck.proofs.vocabulary import (
    RUN,
    SLOT,
    X,
    Y,
    Z,
    admitted,
    arrived,
    before,
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
    none_free,
    none_over,
    none_waits,
    over,
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

__all__ = ["ACTIONS", "INIT", "forgets"]


#: A new pool: nobody is known, nothing is taken, and the cap is at least 1 (R1).
INIT: Mapping[str, Expr] = {
    "nobody waits": no(X)(waiting(X)),
    "nobody is in flight": no(X)(in_flight(X)),
    "nobody is parked": no(X)(parked(X)),
    "nobody has a pool slot": no(X)(pool(X)),
    "nobody has a loan": no(X)(loan(X)),
    "nobody lends": no(X)(lent(X)),
    "nobody has a parent": no(X)(child(X)),
    "nobody has arrived": no(X, Y)(arrived(X, Y)),
    "nobody was admitted": no(X, Y)(admitted(X, Y)),
    "no slot is taken": no(Z)(taken(Z)),
    "the cap is at least 1": some(Z)(in_cap(Z)),
    "no level was asked": same(levels(), number(0)),
}

R, P, W, C, L = (variable(name, RUN) for name in ("run", "above", "next", "relent", "lender"))
S, T, OVER = (variable(name, SLOT) for name in ("place", "other_place", "over_place"))
BELOW = variable("below", BOOL)


def _with(symbol: Symbol, at: Expr, value: Expr, now: Expr | None = None) -> Expr:
    """The symbol's value after an assignment at one element."""
    (var,) = symbol.variables
    now = symbol(var) if now is None else now
    if symbol.sort == BOOL:
        return now | same(var, at) if value is TRUE else now & ~same(var, at)
    return ite(same(var, at), value, now)


def _gets_last(run: Expr, sibling: Callable[[Expr], Expr]) -> Expr:
    """The run stands last in the order of admission of those that are ``sibling`` to it."""
    return same(Y, run) & ~same(X, run) & sibling(X)


# -- ask (R2) ----------------------------------------------------------------------------------------------------


def _enters(run: Expr, above: Expr, below: Expr) -> dict[Symbol, Expr]:
    """What every ask does: the run has its parent, if any, and its level."""
    own = ite(below, plus(level(above), 1), number(1))
    return {
        child: child(X) | (same(X, run) & below),
        parent: ite(same(X, run) & below, above, parent(X)),
        level: ite(same(X, run), own, level(X)),
        levels: ite(less(levels(), own), own, levels()),
    }


def _asks() -> list[Action]:
    unknown = {"the id is not known": ~known(R)}
    lender = {
        "the parent is in flight": implies(BELOW, in_flight(P)),
        "the parent's slot is lent": implies(BELOW, lent(P)),
    }
    return [
        Action(
            "ask-on-loan",
            ("ask", "try_ask"),
            "R2.1: the parent's slot is unlent, so the run works on it from now on",
            (R, P),
            {**unknown, "the parent is in flight": in_flight(P), "the parent's slot is unlent": ~lent(P)},
            {
                **_enters(R, P, TRUE),
                in_flight: _with(in_flight, R, TRUE),
                loan: _with(loan, R, TRUE),
                lent: _with(lent, P, TRUE),
                borrower: _with(borrower, P, R),
                slot: _with(slot, R, slot(P)),
                tip: _with(tip, slot(P), R),
                admitted: admitted(X, Y) | _gets_last(R, lambda x: holds(x) & child_of(x, P)),
            },
        ),
        Action(
            "ask-on-pool-slot",
            ("ask", "try_ask"),
            "R2.2: no parent, or its slot is lent; a pool slot is free, and the run takes it",
            (R, P, BELOW, S),
            {**unknown, **lender, "a pool slot is free": free(S)},
            {
                **_enters(R, P, BELOW),
                in_flight: _with(in_flight, R, TRUE),
                pool: _with(pool, R, TRUE),
                taken: _with(taken, S, TRUE),
                slot: _with(slot, R, S),
                tip: _with(tip, S, R),
                top: _with(top, S, R),
                admitted: admitted(X, Y) | (BELOW & _gets_last(R, lambda x: holds(x) & child_of(x, P))),
            },
        ),
        Action(
            "ask-waits",
            ("ask",),
            "R2.3: neither slot is to be had; the run waits in two queues at once, last in both",
            (R, P, BELOW),
            {**unknown, **lender, "no pool slot is free": none_free},
            {
                **_enters(R, P, BELOW),
                waiting: _with(waiting, R, TRUE),
                arrived: arrived(X, Y) | _gets_last(R, waiting),
            },
        ),
    ]


# -- a pool slot goes somewhere (R4, R6, R8) ---------------------------------------------------------------------


def _is_next() -> dict[str, Expr]:
    """W is the waiter whom the order of R6 picks, whatever order it is."""
    least = each(X)(implies(waiting(X), same(X, W) | before(W, X)))
    return {"the run waits": waiting(W), "the order picks it": least}


def _leaves_queues(run: Expr) -> dict[Symbol, Expr]:
    return {
        waiting: waiting(X) & ~same(X, run),
        arrived: arrived(X, Y) & ~same(X, run) & ~same(Y, run),
    }


@dataclass(frozen=True)
class _Fate:
    """What becomes of a pool slot that is there to be handed out."""

    name: str
    meaning: str
    parameters: tuple[Expr, ...]
    guard: Mapping[str, Expr]


#: A slot that comes back goes to the waiter that the order picks, else it is free; while one is over the cap, it goes.
_NEXT = _Fate("to-waiter", "R4, R6", (W,), {"no slot is over the cap": none_over, **_is_next()})
_FREE = _Fate("free", "R4", (), {"no slot is over the cap": none_over, "nobody waits": none_waits})
_GONE = _Fate("gone", "R8: taken >= cap still", (OVER,), {"a slot is over the cap": over(OVER)})


def _fate_of(place: Expr, fate: _Fate) -> dict[str, Expr]:
    """When this slot can have this fate. If it is over the cap itself, it is the one that goes."""
    own = {"it is this slot if this one is": implies(over(place), same(OVER, place))} if fate is _GONE else {}
    return {**fate.guard, **own}


def _comes_back(place: Expr, fate: _Fate, base: Mapping[Symbol, Expr]) -> dict[Symbol, Expr]:
    """The updates when this slot comes back to the pool, on top of what else the step does (``base``).

    A waiter that is served takes the very slot that came back. Its parent is what the rest of the step leaves it: a
    child of the run that ends has lost it.
    """

    def now(symbol: Symbol) -> Expr:
        return base.get(symbol, symbol(*symbol.variables))

    if fate is _GONE:
        moved = ite(same(OVER, place), in_cap(Z), (in_cap(Z) & ~same(Z, place)) | same(Z, OVER))
        return {**base, taken: now(taken) & ~same(Z, place), in_cap: moved}
    if fate is _FREE:
        return {**base, taken: now(taken) & ~same(Z, place)}
    return {**base, **_takes(W, place, base)}


def _takes(run: Expr, place: Expr, base: Mapping[Symbol, Expr]) -> dict[Symbol, Expr]:
    """A waiting run gets a pool slot: it leaves both queues, and is the last admitted of its parent's children."""

    def now(symbol: Symbol, x: Expr = X) -> Expr:
        held = base.get(symbol, symbol(*symbol.variables))
        return held if x is X else without(held, {X.name: x})

    has_slot = now(pool) | now(loan)
    sibling = has_slot & now(child) & now(child, run) & same(parent(X), parent(run))
    return {
        **_leaves_queues(run),
        in_flight: now(in_flight) | same(X, run),
        pool: now(pool) | same(X, run),
        slot: ite(same(X, run), place, now(slot)),
        tip: ite(same(Z, place), run, base.get(tip, tip(Z))),
        top: ite(same(Z, place), run, top(Z)),
        admitted: base.get(admitted, admitted(X, Y)) | _gets_last(run, lambda _: sibling),
    }


# -- finish and cancel (R3, R4, R5, R13) -------------------------------------------------------------------------


def _ends() -> list[Action]:
    ending = ("finish", "cancel")
    mine = slot(R)
    admitted_run = {"the run is in flight": in_flight(R)}
    unlent = {**admitted_run, "its slot is unlent": ~lent(R)}
    keeps_parent = child(X) & ~(same(parent(X), R) & ~loan(X))
    actions = [
        Action(
            "finish-parks",
            ending,
            "R3: its slot is lent, so it stays with the loan; all its children but the borrower lose their parent",
            (R,),
            {**admitted_run, "its slot is lent": lent(R)},
            {
                in_flight: in_flight(X) & ~same(X, R),
                parked: _with(parked, R, TRUE),
                child: keeps_parent,
                admitted: admitted(X, Y) & ~same(parent(X), R),
            },
        )
    ]
    # Nobody above is open: the whole chain is done with, and its slot comes back.
    done = holds(X) & same(slot(X), mine)
    others_parked = each(X)(implies(done & ~same(X, R), parked(X)))
    for fate in (_NEXT, _FREE, _GONE):
        actions.append(
            Action(
                f"finish-slot-{fate.name}",
                ending,
                f"R4 ({fate.meaning}): every lender above is parked, so the slot goes back to where it came from",
                (R, *fate.parameters),
                {**unlent, "every other run of its chain is parked": others_parked, **_fate_of(mine, fate)},
                _comes_back(mine, fate, forgets(done)),
            )
        )
    # The nearest open run above has its slot back.
    done = holds(X) & same(slot(X), mine) & less(level(L), level(X))
    nearest = {
        "the lender is another run": ~same(L, R),
        "the lender is in flight": in_flight(L),
        "the lender is on the same slot": same(slot(L), mine),
        "every run between is parked": each(X)(implies(done & ~same(X, R), parked(X))),
    }
    back = forgets(done)
    children_wait = waiting(X) & child_of(X, L)
    no_child_waits = {"no child of the lender waits": no(X)(children_wait)}
    on_pool_slots = holds(X) & ~done & child_of(X, L)
    idle = implies(relend(), no(X)(on_pool_slots))
    actions.append(
        Action(
            "finish-loan-to-lender",
            ending,
            "R4: the loan goes back, no child of the lender waits and none is to be relent: it holds the slot unlent",
            (R, L),
            {**unlent, **nearest, **no_child_waits, "no child is to be relent": idle},
            {**back, lent: back[lent] & ~same(X, L), tip: _with(tip, mine, L)},
        )
    )
    longest = each(X)(implies(children_wait, same(X, W) | arrived(W, X)))
    sibling = holds(X) & ~done & child_of(X, L)
    actions.append(
        Action(
            "finish-loan-to-next-child",
            ending,
            "R4: an open lender hands the slot to its longest-waiting child, in the same step",
            (R, L, W),
            {**unlent, **nearest, "a child waits": waiting(W) & child_of(W, L), "it has waited longest": longest},
            {
                **back,
                **_leaves_queues(W),
                in_flight: back[in_flight] | same(X, W),
                loan: back[loan] | same(X, W),
                borrower: _with(borrower, L, W),
                slot: _with(slot, W, mine),
                tip: _with(tip, mine, W),
                admitted: back[admitted] | _gets_last(W, lambda _: sibling),
            },
        )
    )
    first = each(X)(implies(on_pool_slots, same(X, C) | admitted(C, X)))
    of_relent = same(slot(X), slot(C)) & holds(X)
    joined = {
        **back,
        pool: back[pool] & ~same(X, C),
        loan: back[loan] | same(X, C),
        borrower: _with(borrower, L, C),
        slot: ite(of_relent, mine, slot(X)),
        tip: _with(tip, mine, tip(slot(C))),
    }
    for fate in (_NEXT, _FREE, _GONE):
        actions.append(
            Action(
                f"finish-relends-slot-{fate.name}",
                ending,
                f"R13 ({fate.meaning}): the child admitted first gives its pool slot back and goes on, on loan",
                (R, L, C, *fate.parameters),
                {
                    **unlent,
                    **nearest,
                    **no_child_waits,
                    "relend is on": relend(),
                    "a child has a pool slot": without_x(on_pool_slots, C),
                    "it was admitted first": first,
                    **_fate_of(slot(C), fate),
                },
                _comes_back(slot(C), fate, joined),
            )
        )
    return actions


def without_x(formula: Expr, run: Expr) -> Expr:
    """A formula about x, said of another run."""
    return without(formula, {X.name: run})


def forgets(done: Expr) -> dict[Symbol, Expr]:
    """The runs of which ``done`` holds (of x) are forgotten, and what children they have lose their parent."""
    above_done = without_x(done, parent(X))
    return {
        in_flight: in_flight(X) & ~done,
        parked: parked(X) & ~done,
        pool: pool(X) & ~done,
        loan: loan(X) & ~done,
        lent: lent(X) & ~done,
        child: child(X) & ~done & ~above_done,
        admitted: admitted(X, Y) & ~done & ~without_x(done, Y) & ~above_done,
    }


def _cancels() -> list[Action]:
    return [
        Action(
            "cancel-waiting",
            ("cancel",),
            "R5: it leaves both queues, takes nothing, and is forgotten",
            (R,),
            {"the run waits": waiting(R)},
            {**_leaves_queues(R), child: child(X) & ~same(X, R)},
        )
    ]


# -- resize, one slot at a time (R8) -----------------------------------------------------------------------------


def _resizes() -> list[Action]:
    new = {"the slot is new": ~in_cap(S) & ~taken(S), "no slot is over the cap": none_over}
    other = {"the slot is of the cap": in_cap(S), "the cap stays at least 1": in_cap(T) & ~same(T, S)}
    raised = {in_cap: _with(in_cap, S, TRUE)}
    lowered = {in_cap: in_cap(Z) & ~same(Z, S)}
    return [
        Action(
            "raise-slot-to-waiter",
            ("resize",),
            "R8: raising serves a waiter in the same step",
            (S, W),
            {**new, **_is_next()},
            {**raised, taken: _with(taken, S, TRUE), **_takes(W, S, {})},
        ),
        Action("raise-slot-free", ("resize",), "R8: nobody waits", (S,), {**new, "nobody waits": none_waits}, raised),
        Action(
            "raise-slot-back",
            ("resize",),
            "R8: taken was above cap, so there is still none to hand out",
            (S,),
            {"the slot is over the cap": over(S)},
            raised,
        ),
        Action(
            "lower-free-slot",
            ("resize",),
            "R8: a slot that is not out is no longer of the cap",
            (S, T),
            {**other, "the slot is free": ~taken(S)},
            lowered,
        ),
        Action(
            "lower-taken-slot",
            ("resize",),
            "R8: lowering revokes nothing; what is out stays out",
            (S, T),
            {**other, "no pool slot is free": none_free},
            lowered,
        ),
    ]


#: Every kind of step, by name.
ACTIONS: Mapping[str, Action] = {action.name: action for action in (*_asks(), *_ends(), *_cancels(), *_resizes())}
