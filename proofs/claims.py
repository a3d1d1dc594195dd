"""What follows from the invariant: the named claims of SEMANTICS 4 that speak of lending alone, for every cap and tree.

A bound is stated as an injection: "executing <= cap" is that two runs that hold a slot unlent are on different slots,
and all these slots are taken. From there to a number is one step that has nothing to do with lending: a set that goes
one to one into another has at most as many elements. That step is posed too, for a few slots (``.../counted-...``);
and on every state of the compared graphs the bounds are counted beside the conjuncts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from slotcheck.proofs.action import Action
from slotcheck.proofs.invariant import CONJUNCTS
from slotcheck.proofs.logic import (
    BOOL,
    TRUE,
    Expr,
    Symbol,
    all_of,
    any_of,
    at_most,
    each,
    iff,
    implies,
    less,
    no,
    number,
    plus,
    primed,
    same,
    variable,
)
from slotcheck.proofs.obligation import Obligation
from slotcheck.proofs.relation import ACTIONS
from slotcheck.proofs.vocabulary import (
    RUN,
    SLOT,
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
    none_over,
    parent,
    pool,
    relend,
    slot,
    taken,
    tip,
    top,
    waiting,
)

__all__ = ["INVARIANT", "above", "claims", "no_deadlock", "waits_for"]

#: The invariant as hypotheses.
INVARIANT: Mapping[str, Expr] = {name: conjunct.formula for name, conjunct in CONJUNCTS.items()}

_LENDER = variable("lender", RUN)


def _follows(name: str, meaning: str, goal: Expr) -> Obligation:
    return Obligation(name, meaning, INVARIANT, goal)


def _executes(run: Expr) -> Expr:
    return holds(run) & ~lent(run)


def _bounds() -> Iterator[Obligation]:
    one_slot = same(slot(X), slot(Y))
    yield _follows(
        "UnlentWithinCap/one-per-slot",
        "two runs that hold an unlent slot are on different slots: at most as many as are taken",
        each(X, Y)(implies(_executes(X) & _executes(Y) & one_slot, same(X, Y))),
    )
    yield _follows(
        "UnlentWithinCap/on-a-taken-slot",
        "and these slots are taken",
        each(X)(implies(_executes(X), taken(slot(X)))),
    )
    yield _follows(
        "UnlentWithinCap/every-taken-slot",
        "every taken slot is held unlent by some run: at least as many as are taken",
        each(Z)(implies(taken(Z), _executes(tip(Z)) & same(slot(tip(Z)), Z))),
    )
    yield _follows(
        "LevelWithinCap/one-per-slot",
        "two runs in flight on one level are on different slots, which are taken",
        each(X, Y)(
            implies(
                in_flight(X) & in_flight(Y) & same(level(X), level(Y)),
                taken(slot(X)) & implies(one_slot, same(X, Y)),
            )
        ),
    )
    yield _follows(
        "InFlightWithinCapTimesLevels/one-per-slot-and-level",
        "two runs in flight differ in their slot or in their level",
        each(X, Y)(implies(in_flight(X) & in_flight(Y) & one_slot & same(level(X), level(Y)), same(X, Y))),
    )
    yield _follows(
        "InFlightWithinCapTimesLevels/in-range",
        "the slot is a taken one, and the level one of those asked so far",
        each(X)(implies(in_flight(X), taken(slot(X)) & at_most(number(1), level(X)) & at_most(level(X), levels()))),
    )


def _structure() -> Iterator[Obligation]:
    yield _follows(
        "OneChainPerSlot/one-first-run",
        "a slot's chain starts at the one run that took it from the pool",
        each(X, Y)(implies(pool(X) & pool(Y) & same(slot(X), slot(Y)), same(X, Y))),
    )
    yield _follows(
        "OneChainPerSlot/borrower-below",
        "a lender's borrower is its child, one level deeper, on the same slot",
        each(X)(
            implies(
                lent(X),
                loan(borrower(X))
                & child_of(borrower(X), X)
                & same(level(borrower(X)), plus(level(X), 1))
                & same(slot(borrower(X)), slot(X)),
            )
        ),
    )
    yield _follows(
        "OneChainPerSlot/one-borrower",
        "a run lends to one child at a time",
        each(X, Y)(implies(loan(X) & loan(Y) & same(parent(X), parent(Y)), same(X, Y))),
    )
    yield _follows(
        "OneChainPerSlot/lender-above",
        "a run on loan has its lender above it, on the same slot, with that slot lent",
        each(X)(implies(loan(X), child(X) & lent(parent(X)) & same(slot(parent(X)), slot(X)))),
    )
    yield _follows(
        "OneChainPerSlot/one-last-run",
        "and ends at the one run that holds it unlent, the deepest",
        each(X)(
            implies(
                holds(X),
                implies(~same(X, tip(slot(X))), lent(X) & less(level(X), level(tip(slot(X))))) & ~lent(tip(slot(X))),
            )
        ),
    )
    yield _follows(
        "NoSlotLeak/answered-for",
        "every taken slot is some known run's pool slot",
        each(Z)(implies(taken(Z), pool(top(Z)) & known(top(Z)) & same(slot(top(Z)), Z))),
    )
    yield _follows(
        "NoSlotLeak/answered-for-once",
        "every pool token stands for a taken slot, and no two for the same",
        each(X, Y)(implies(pool(X) & pool(Y), taken(slot(X)) & implies(same(slot(X), slot(Y)), same(X, Y)))),
    )
    yield _follows(
        "NoSlotLeak/nobody-known",
        "when no run is known, no slot is taken",
        implies(no(X)(known(X)), no(Z)(taken(Z))),
    )
    yield _follows(
        "RelendLeavesNoIdle/lent",
        "with relend, no unlent holder has a child that holds a slot",
        implies(relend(), no(X)(holds(X) & child(X) & _executes(parent(X)))),
    )
    yield _follows(
        "NoLostWakeUp/pool",
        "no run waits while a pool slot is free",
        no(X, Z)(waiting(X) & free(Z)),
    )
    yield _follows(
        "NoLostWakeUp/parent",
        "no run waits while its own open parent's slot is unlent",
        no(X)(waiting(X) & child(X) & in_flight(parent(X)) & ~lent(parent(X))),
    )
    queue = [waiting(run) & child_of(run, _LENDER) for run in (X, Y)]
    longest = [
        each(Y2)(implies(waiting(Y2) & child_of(Y2, _LENDER), same(run, Y2) | arrived(run, Y2))) for run in (X, Y)
    ]
    yield Obligation(
        "OneChoice/longest-waiting-child",
        "a loan that comes back has one child to go to",
        INVARIANT,
        each(X, Y)(implies(all_of(*queue, *longest), same(X, Y))),
        (_LENDER,),
    )
    line = [holds(run) & child_of(run, _LENDER) for run in (X, Y)]
    first = [each(Y2)(implies(holds(Y2) & child_of(Y2, _LENDER), same(run, Y2) | admitted(run, Y2))) for run in (X, Y)]
    yield Obligation(
        "OneChoice/first-admitted-child",
        "one child is first in line to be relent",
        INVARIANT,
        each(X, Y)(implies(all_of(*line, *first), same(X, Y))),
        (_LENDER,),
    )
    yield _follows(
        "OneChoice/three-waiting",
        "of three waiting runs one has waited longer than the two others",
        each(X, Y, Y2)(implies(waiting(X) & waiting(Y) & waiting(Y2), _one_is_first(arrived))),
    )
    siblings = all_of(*[holds(run) & child_of(run, parent(X)) for run in (X, Y, Y2)])
    yield _follows(
        "OneChoice/three-admitted",
        "of three children with a slot one was admitted before the two others",
        each(X, Y, Y2)(implies(siblings, _one_is_first(admitted))),
    )


Y2 = variable("w", RUN)


def _one_is_first(earlier: Symbol) -> Expr:
    """Of x, y and w, different runs or not, one is before those that are another."""
    return any_of(
        *[all_of(*[same(first, other) | earlier(first, other) for other in (X, Y, Y2)]) for first in (X, Y, Y2)]
    )


# -- what a step does to the cap ---------------------------------------------------------------------------------


def _steps(actions: Mapping[str, Action]) -> Iterator[Obligation]:
    for action in actions.values():
        hypotheses = {**INVARIANT, **{f"{action.name}: {name}": formula for name, formula in action.guard.items()}}

        def after(
            claim: str, meaning: str, goal: Expr, action: Action = action, hypotheses: Mapping[str, Expr] = hypotheses
        ) -> Obligation:
            return Obligation(f"{claim}/{action.name}", meaning, hypotheses, goal, action.parameters, action.updates)

        if pool in action.updates:
            handed_out = primed(pool(X), action.updates) & ~pool(X)
            yield after(
                "CapRespected",
                "if a pool slot is handed out, then every taken slot is of the cap after it",
                each(X)(implies(handed_out, primed(none_over, action.updates))),
            )
        if action.name != "lower-taken-slot" and (taken in action.updates or in_cap in action.updates):
            yield after(
                "TakenWithinCap",
                "unless the cap is lowered below what is taken, taken <= cap stays true",
                implies(none_over, primed(none_over, action.updates)),
            )
        if in_flight in action.updates:
            run = action.parameters[0]
            others = ~same(X, run) if run.sort == RUN else TRUE
            yield after(
                "OnlyItsOwnEnd",
                "no run in flight is ended by the end of another one",
                each(X)(implies(in_flight(X) & others, primed(in_flight(X), action.updates))),
            )
        if in_cap in action.updates:
            yield after("CapKept", *_cap_after(action))


def _cap_after(action: Action) -> tuple[str, Expr]:
    """What a step may do to the slots of the cap: their number goes up or down by one, or stays."""
    now, then = in_cap(Z), primed(in_cap(Z), action.updates)
    place = next(iter(action.parameters))
    if place.sort == SLOT:
        raised = action.name.startswith("raise")
        word = "more" if raised else "fewer"
        at = in_cap(place), primed(in_cap(place), action.updates)
        change = ~at[0] & at[1] if raised else at[0] & ~at[1]
        return f"the cap has exactly one slot {word}", change & each(Z)(implies(~same(Z, place), iff(now, then)))
    over = next(parameter for parameter in action.parameters if parameter.sort == SLOT)
    left = taken(Z) & ~primed(taken(Z), action.updates)  # the slot that came back
    swapped = each(Z)(
        implies(left & ~same(Z, over), in_cap(Z) & ~then & ~in_cap(over) & primed(in_cap(over), action.updates))
        & implies(~left & ~same(Z, over), iff(now, then))
        & implies(left & same(Z, over), iff(now, then))
    )
    return "the cap keeps its number of slots: none changes, or two change places", swapped


# -- from injections to numbers ----------------------------------------------------------------------------------

_COUNTED = ((1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (1, 3))  # slots, levels


def _counting() -> Iterator[Obligation]:
    for slots, deep in _COUNTED:
        places = [variable(f"place_{at}", SLOT) for at in range(slots)]
        runs = [variable(f"run_{at}", RUN) for at in range(slots * deep + 1)]
        hypotheses = {
            "these are all taken slots": each(Z)(implies(taken(Z), any_of(*[same(Z, place) for place in places]))),
            "one run for each slot and level": each(X, Y)(
                implies(in_flight(X) & in_flight(Y) & same(slot(X), slot(Y)) & same(level(X), level(Y)), same(X, Y))
            ),
            "on a taken slot and a level": each(X)(
                implies(in_flight(X), taken(slot(X)) & at_most(number(1), level(X)) & at_most(level(X), number(deep)))
            ),
        }
        distinct = all_of(*[~same(one, other) for one, other in combinations(runs, 2)])
        yield Obligation(
            f"InFlightWithinCapTimesLevels/counted-{slots}-slots-{deep}-levels",
            f"no {len(runs)} runs are in flight on {slots} slots and {deep} levels",
            hypotheses,
            ~all_of(distinct, *[in_flight(run) for run in runs]),
            (*places, *runs),
        )


# -- no deadlock -------------------------------------------------------------------------------------------------

waits_for = Symbol(
    "waits_for", (RUN, RUN), BOOL, "the first run, in flight, goes on only once the second has ended", True
)
above = Symbol("above", (RUN, RUN), BOOL, "the first run is above the second in the parent relation", True)
_DEEPEST = variable("deepest", RUN)

_ABOVE_IS = {
    "above is the parent, or above it": each(X, Y)(
        iff(above(X, Y), child(Y) & (same(parent(Y), X) | above(X, parent(Y))))
    )
}
_ABOVE = {
    **_ABOVE_IS,
    "above is higher (lemma)": each(X, Y)(implies(above(X, Y), less(level(X), level(Y)))),
}


def no_deadlock() -> Iterator[Obligation]:
    """While any run is unfinished, some run can take a step, whatever has been parked.

    A run in flight that is not waiting for another run can go on: resume, ask, work, finish. The hypothesis is that a
    run waits only for runs below it in the parent relation. Look at the deepest run in flight. What it waits for is
    deeper, so not in flight, so waiting for a slot; that run's parent has lent its own (NoLostWakeUp), and at the end
    of the parent's chain stands a run that holds the slot unlent, in flight and deeper still: a contradiction. There is
    a deepest run in flight, as levels are bounded; and with nobody in flight, nobody waits.
    """
    yield _follows(
        "NoDeadlock/chain-ends-in-flight",
        "where a slot is lent, the run at the end of its chain is in flight, deeper, and holds it unlent",
        each(X)(implies(lent(X), in_flight(tip(slot(X))) & ~lent(tip(slot(X))) & less(level(X), level(tip(slot(X)))))),
    )
    yield _follows(
        "NoDeadlock/somebody-in-flight",
        "if nobody is in flight, nobody waits and nobody is parked: all have ended",
        implies(no(X)(in_flight(X)), no(X)(known(X))),
    )
    lower = variable("lower", RUN)
    yield Obligation(
        "NoDeadlock/above-is-higher",
        "by induction down the parent relation: who is above stands on a lower level number",
        {
            **INVARIANT,
            **_ABOVE_IS,
            "true one step up": implies(
                child(lower), each(X)(implies(above(X, parent(lower)), less(level(X), level(parent(lower)))))
            ),
        },
        each(X)(implies(above(X, lower), less(level(X), level(lower)))),
        (lower,),
    )
    yield Obligation(
        "NoDeadlock/deepest-run-can-step",
        "the deepest run in flight waits for nobody",
        {
            **INVARIANT,
            **_ABOVE,
            "runs wait for unfinished runs below them": each(X, Y)(
                implies(in_flight(X) & waits_for(X, Y), above(X, Y) & (waiting(Y) | in_flight(Y)))
            ),
            "this run is in flight": in_flight(_DEEPEST),
            "and no deeper one is": each(X)(implies(in_flight(X), at_most(level(X), level(_DEEPEST)))),
        },
        no(Y)(waits_for(_DEEPEST, Y)),
        (_DEEPEST,),
    )


def claims(actions: Mapping[str, Action] = ACTIONS) -> list[Obligation]:
    """All of them."""
    return [*_bounds(), *_counting(), *_structure(), *_steps(actions), *no_deadlock()]
