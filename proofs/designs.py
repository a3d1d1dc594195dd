"""What goes wrong elsewhere, as instances: hold's deadlock, release's growth, permits the other way round.

Hold is lending without loans. Release gives a parent's slot back for good when it asks for its first child. Both are
histories from a new pool, for several caps. The two about permits are states: everything that R9 promises is true in
them but the one thing that the name says, and nobody can go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from slotcheck.proofs.action import Action
from slotcheck.proofs.claims import INVARIANT
from slotcheck.proofs.existence import Existence
from slotcheck.proofs.logic import TRUE, all_of, each, implies, ite, number, same, some, variable, without
from slotcheck.proofs.permit import COMPONENT, holds_permit
from slotcheck.proofs.permit_deadlock import ABOVE, PERMITS, STUCK, acyclic
from slotcheck.proofs.relation import ACTIONS, INIT
from slotcheck.proofs.vocabulary import (
    RUN,
    SLOT,
    X,
    Y,
    Z,
    arrived,
    child_of,
    in_cap,
    in_flight,
    level,
    levels,
    none_free,
    pool,
    slot,
    taken,
    tip,
    top,
    waiting,
)

__all__ = ["HOLD_TAKES", "HOLD_WAITS", "RELEASES", "existences"]

#: A plain semaphore: lending without loans, so a child asks the pool and nobody else.
HOLD_TAKES = ACTIONS["ask-on-pool-slot"].lacking("the parent's slot is lent")
HOLD_WAITS = ACTIONS["ask-waits"].lacking("the parent's slot is lent")


def _hold() -> Iterator[Existence]:
    for cap in (1, 2, 3):
        parents = [variable(f"root_{at}", RUN) for at in range(cap)]
        asking = [same(variable(f"run_{at}", RUN), run) for at, run in enumerate(parents, 1)]
        spawning = [same(variable(f"above_{at}", RUN), run) for at, run in enumerate(parents, cap + 1)]
        yield Existence(
            f"HoldDeadlocks/cap-{cap}",
            "under hold, parents hold all slots, and each waits for a child that waits for a slot",
            {RUN: 2 * cap, SLOT: cap},
            {
                **INIT,
                "all slots are of the cap": each(Z)(in_cap(Z)),
                "the roots ask one after another": all_of(*asking),
                "then each asks for a child": all_of(*spawning),
            },
            [HOLD_TAKES] * cap + [HOLD_WAITS] * cap,
            {
                "somebody is in flight": some(X)(in_flight(X)),
                "who is in flight has a child that waits": each(X)(
                    implies(in_flight(X), some(Y)(child_of(Y, X) & waiting(Y)))
                ),
                "no slot is free": none_free,
            },
            tuple(parents),
        )


_R, _P, _W = (variable(name, RUN) for name in ("run", "above", "next"))
_asks = ACTIONS["ask-waits"]

#: Release: the slot goes to the run that has waited longest before the child gets its turn (nothing barges).
RELEASES = Action(
    "ask-releases-slot",
    ("ask",),
    "the parent gives its slot back for good; who has waited longest gets it, and the child waits",
    (_R, _P, _W),
    {
        "the id is not known": _asks.guard["the id is not known"],
        "the parent is in flight": in_flight(_P),
        "it has its slot still": pool(_P),
        "a run waits": waiting(_W),
        "it has waited longest": each(X)(implies(waiting(X), same(X, _W) | arrived(_W, X))),
    },
    {
        **{
            symbol: without(update, {"below": TRUE})
            for symbol, update in _asks.updates.items()
            if symbol not in (waiting, arrived)
        },
        waiting: (waiting(X) & ~same(X, _W)) | same(X, _R),
        arrived: (arrived(X, Y) & ~same(X, _W) & ~same(Y, _W)) | (waiting(X) & ~same(X, _W) & same(Y, _R)),
        in_flight: in_flight(X) | same(X, _W),
        pool: (pool(X) & ~same(X, _P)) | same(X, _W),
        slot: ite(same(X, _W), slot(_P), slot(X)),
        tip: ite(same(Z, slot(_P)), _W, tip(Z)),
        top: ite(same(Z, slot(_P)), _W, top(Z)),
    },
)


def _release() -> Iterator[Existence]:
    for many in (3, 4, 5):
        runs = [variable(f"root_{at}", RUN) for at in range(many)]
        asking = [same(variable(f"run_{at}", RUN), run) for at, run in enumerate(runs, 1)]
        handing = [
            same(variable(f"above_{many + at}", RUN), runs[at - 1]) & same(variable(f"next_{many + at}", RUN), runs[at])
            for at in range(1, many)
        ]
        yield Existence(
            f"ReleaseGrows/{many}-in-flight",
            f"under release, {many} runs of one level are in flight on one slot and two levels",
            {RUN: 2 * many - 1, SLOT: 1},
            {
                **INIT,
                "all slots are of the cap": each(Z)(in_cap(Z)),
                "the roots ask one after another": all_of(*asking),
                "each asks for a child, and hands its slot to the next": all_of(*handing),
            },
            [HOLD_TAKES, *[HOLD_WAITS] * (many - 1), *[RELEASES] * (many - 1)],
            {
                "the runs are different": all_of(*[~same(one, other) for one, other in combinations(runs, 2)]),
                "all are in flight, on one level": all_of(
                    *[in_flight(run) & same(level(run), number(1)) for run in runs]
                ),
                "two levels were asked": same(levels(), number(2)),
                "the slot is taken": each(Z)(taken(Z)),
            },
            tuple(runs),
        )


def _permits() -> Iterator[Existence]:
    permit_first = {name: formula for name, formula in PERMITS.items() if name != "PermitOrder"}
    stuck = {name: formula for name, formula in STUCK.items() if not name.startswith("who holds a permit")}
    yield Existence(
        "PermitFirstDeadlocks/one-slot",
        "permit before slot: a run that has the only slot queues on the permit of one that waits for a slot",
        {RUN: 2, SLOT: 1, COMPONENT: 1},
        {
            **INVARIANT,
            **permit_first,
            **ABOVE,
            "mounts have no circle": acyclic,
            **stuck,
            "who holds a permit is in flight or waits for a slot": each(X)(
                implies(holds_permit(X), in_flight(X) | waiting(X))
            ),
            "a holder waits for a slot": some(X)(holds_permit(X) & waiting(X)),
        },
    )
    yield Existence(
        "MountCircleDeadlocks/two-slots",
        "two components that mount each other: each holder waits for a run that queues on the other's permit",
        {RUN: 4, SLOT: 2, COMPONENT: 2},
        {**INVARIANT, **PERMITS, **ABOVE, **STUCK},
    )


def existences() -> list[Existence]:
    """All of them."""
    return [*_hold(), *_release(), *_permits()]
