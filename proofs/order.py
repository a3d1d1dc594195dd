"""R6 at one node of the job tree: the choice holds least, and with `served` a starved job is overtaken at most once.

``Job`` stands for the children of one node, however many there are. A job here *stands* in the line of its node while a
run waits at or below it. One of them, ``mine``, has begun to wait and holds nothing. The claim: until it is served or
holds something, each sibling is served at most once before it, and only those that stood in the line before it are.
With the tie-break `oldest` to stand before is to have the older run waiting, and only the first half of the argument is
left (`overtaker-stands-before`): whoever is served before mine has waited longer.

For a job deep in the tree the claim is used at every node on the way down from the root, each time for the child on
that way: that is why its ancestors must hold nothing either. What happens to slots, runs and loans is left open: any
sibling may join, leave, take or give back slots at any time. So this holds under every history of a pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slotcheck.proofs.action import Action
from slotcheck.proofs.invariant import Conjunct
from slotcheck.proofs.logic import (
    BOOL,
    INT,
    Expr,
    Sort,
    Symbol,
    any_of,
    at_most,
    each,
    iff,
    implies,
    ite,
    less,
    number,
    plus,
    same,
    variable,
    without,
)
from slotcheck.proofs.obligation import Obligation, keeps

__all__ = ["JOB", "ORDER_ACTIONS", "ORDER_CONJUNCTS", "order_obligations"]

JOB = Sort("Job")

stands = Symbol("stands", (JOB,), BOOL, "a run waits at or below the job, so it stands in its node's line")
ahead = Symbol("ahead", (JOB, JOB), BOOL, "both stand in the line, the first before the second")
held = Symbol("held", (JOB,), INT, "pool slots charged to runs at or below the job")
passed = Symbol("passed", (JOB,), INT, "how often the job was served since mine began to wait (a ghost)")
was_ahead = Symbol("was_ahead", (JOB,), BOOL, "the job stood in the line when mine joined it (a ghost)", rigid=True)
mine = Symbol("mine", (), JOB, "the job that the claim is about", rigid=True)()

J, K = ahead.variables
L = variable("other", JOB)
T = variable("served", JOB)

_CONJUNCTS = (
    Conjunct(
        "LineIsALine",
        each(J, K)(implies(ahead(J, K), stands(J) & stands(K) & ~ahead(K, J)))
        & each(J, K)(implies(stands(J) & stands(K), ahead(J, K) | ahead(K, J) | same(J, K)))
        & each(J, K, L)(implies(ahead(J, K) & ahead(K, L), ahead(J, L))),
        "of two jobs in the line one stands before the other, and so on through the line",
        "the place is a tie-break: it must never leave two choices",
    ),
    Conjunct(
        "HeldNotNegative",
        each(J)(at_most(number(0), held(J))),
        "no job holds fewer than no slots",
        "who is preferred to a job that holds nothing must hold nothing too, and stand before it",
    ),
    Conjunct(
        "MineWaits",
        stands(mine) & same(held(mine), number(0)),
        "mine waits and holds nothing",
        "the hypothesis of the claim; every step here keeps it, as steps that end it are not looked at",
    ),
    Conjunct(
        "AheadWereAhead",
        each(J)(implies(ahead(J, mine), was_ahead(J) & same(passed(J), number(0)))),
        "who still stands before mine stood there from the start and was not served since",
        "a job goes behind mine when it is served, and joins behind mine when it comes back",
    ),
    Conjunct(
        "PassedAtMostOnce",
        each(J)(at_most(number(0), passed(J)) & at_most(passed(J), number(1)))
        & each(J)(implies(~was_ahead(J), same(passed(J), number(0)))),
        "each sibling was served at most once, and one that came later never",
        "the claim itself",
    ),
)  # fmt: skip

#: What is kept while mine waits and holds nothing, by name.
ORDER_CONJUNCTS: Mapping[str, Conjunct] = {conjunct.name: conjunct for conjunct in _CONJUNCTS}

_PICKED = {
    "it stands in the line": stands(T),
    "it has the least (held, place)": each(J)(
        implies(stands(J), any_of(less(held(T), held(J)), same(held(T), held(J)) & any_of(same(T, J), ahead(T, J))))
    ),
}
_NOT_MINE = {"it is another one": ~same(T, mine)}
_OUT = {stands: stands(J) & ~same(J, T), ahead: ahead(J, K) & ~same(J, T) & ~same(K, T)}
_LAST = (ahead(J, K) & ~same(J, T) & ~same(K, T)) | (stands(J) & ~same(J, T) & same(K, T))
_ONE_MORE = {held: ite(same(J, T), plus(held(J), 1), held(J))}
_PASSES = {**_ONE_MORE, passed: ite(same(J, T), plus(passed(J), 1), passed(J))}

#: What can happen at one node while mine waits and holds nothing.
ORDER_ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action(
            "served-others-wait",
            (),
            "a run below gets a pool slot, others there still wait: the job goes to the end of the line",
            (T,),
            {**_PICKED, **_NOT_MINE},
            {**_PASSES, ahead: _LAST},
        ),
        Action(
            "served-none-waits",
            (),
            "the last waiting run below gets a pool slot: the job leaves the line",
            (T,),
            {**_PICKED, **_NOT_MINE},
            {**_PASSES, **_OUT},
        ),
        Action(
            "joins-line",
            (),
            "the first run below starts to wait: the job joins at the end",
            (T,),
            {"it is not in the line": ~stands(T)},
            {stands: stands(J) | same(J, T), ahead: ahead(J, K) | (stands(J) & ~same(J, T) & same(K, T))},
        ),
        Action(
            "leaves-line",
            (),
            "the last waiting run below is cancelled or gets a loan: the job leaves the line",
            (T,),
            {**_NOT_MINE, "it stands in the line": stands(T)},
            _OUT,
        ),
        Action(
            "takes-free-slot",
            (),
            "a run below takes a free pool slot at its ask",
            (T,),
            _NOT_MINE,
            _ONE_MORE,
        ),
        Action(
            "gives-slot-back",
            (),
            "a pool slot charged to a run below comes back",
            (T,),
            {"it holds one": less(number(0), held(T))},
            {held: ite(same(J, T), plus(held(J), -1), held(J))},
        ),
    )
}

_BEGINS: Mapping[str, Expr] = {
    "the line is one": ORDER_CONJUNCTS["LineIsALine"].formula,
    "holdings are counts": ORDER_CONJUNCTS["HeldNotNegative"].formula,
    "mine joins last": stands(mine) & each(J)(~ahead(mine, J)),
    "mine holds nothing": same(held(mine), number(0)),
    "who is ahead is noted": each(J)(iff(was_ahead(J), ahead(J, mine))),
    "nobody has passed yet": each(J)(same(passed(J), number(0))),
}


def order_obligations(actions: Mapping[str, Action] = ORDER_ACTIONS) -> Iterator[Obligation]:
    """The claims about the order, for any number of jobs."""
    picked = {name: said for name, said in actions["served-others-wait"].guard.items() if name not in _NOT_MINE}
    line = {name: ORDER_CONJUNCTS[name].formula for name in ("LineIsALine", "HeldNotNegative")}
    yield Obligation(
        "FewestHeldFirst/chosen-holds-least",
        "among the siblings with a waiting run none holds less than the chosen one",
        {**line, **picked},
        each(J)(implies(stands(J), at_most(held(T), held(J)))),
        (T,),
    )
    yield Obligation(
        "FewestHeldFirst/overtaker-stands-before",
        "who is served while mine waits and holds nothing holds nothing too, and stands before mine",
        {**line, **picked, **_NOT_MINE, "MineWaits": ORDER_CONJUNCTS["MineWaits"].formula},
        ahead(T, mine) & same(held(T), number(0)),
        (T,),
    )
    other = {f"{name} (the other)": _said_of_other(formula) for name, formula in picked.items()}
    yield Obligation(
        "FewestHeldFirst/one-choice",
        "there is one choice",
        {**line, **picked, **other},
        same(T, L),
        (T, L),
    )
    for conjunct in _CONJUNCTS:
        yield Obligation(
            f"OvertakenOnce/begins/{conjunct.name}",
            f"when mine begins to wait, {conjunct.meaning}",
            _BEGINS,
            conjunct.formula,
        )
    for action in actions.values():
        for made in keeps(action, _CONJUNCTS, ORDER_CONJUNCTS):
            yield Obligation(
                f"OvertakenOnce/{made.name}", made.meaning, made.hypotheses, made.goal, made.constants, made.definitions
            )


def _said_of_other(formula: Expr) -> Expr:
    return without(formula, {T.name: L})
