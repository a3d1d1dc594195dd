"""Everything that is claimed, in the order in which it is told, each under a name that says what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from slotcheck.proofs.claims import claims
from slotcheck.proofs.invariant import CONJUNCTS
from slotcheck.proofs.logic import FALSE
from slotcheck.proofs.obligation import Obligation, inductive, keeps
from slotcheck.proofs.order import order_obligations
from slotcheck.proofs.permit import permit_order
from slotcheck.proofs.permit_deadlock import no_deadlock_with_permits
from slotcheck.proofs.relation import ACTIONS

__all__ = ["consequences", "needs", "obligations", "possibilities"]


@cache
def obligations() -> Mapping[str, Obligation]:
    """What is to be proved, by name: the invariant, what follows from it, the order, the permits."""
    made = [*inductive(), *claims(), *order_obligations(), *permit_order(), *no_deadlock_with_permits()]
    found = {obligation.name: obligation for obligation in made}
    if len(found) != len(made):
        raise AssertionError("two obligations of one name")
    return found


@cache
def possibilities() -> Mapping[str, Obligation]:
    """For every set of hypotheses the obligation that *must fail*: that they cannot be true together.

    Hypotheses that contradict each other prove everything. Those of a step are the invariant and its guard, so this is
    also where every step is seen to be possible in some state of the invariant.
    """
    found: dict[str, Obligation] = {}
    seen: set[int] = set()
    for obligation in obligations().values():
        if id(obligation.hypotheses) in seen or obligation.goal in obligation.hypotheses.values():
            continue
        seen.add(id(obligation.hypotheses))
        first = obligation.name.split("/")
        name = obligation.name if first[0] not in ACTIONS else first[0]
        found[name] = Obligation(
            name, "the hypotheses can be true together", obligation.hypotheses, FALSE, obligation.constants
        )
    return found


@cache
def needs() -> Mapping[str, Obligation]:
    """For every conjunct that is needed the obligation that *must fail* once it is dropped from the hypotheses."""
    return dict(_needs())


def _needs() -> Iterator[tuple[str, Obligation]]:
    for name, conjunct in CONJUNCTS.items():
        if conjunct.needed is None:
            continue
        step, kept = conjunct.needed
        assumed = {other: formula for other, formula in CONJUNCTS.items() if other != name}
        if step in ACTIONS:
            yield name, keeps(ACTIONS[step], [CONJUNCTS[kept]], assumed)[0]
            continue
        whole = obligations()[f"{step}/{kept}"]
        lacking = {key: formula for key, formula in whole.hypotheses.items() if key != name}
        yield name, Obligation(whole.name, whole.meaning, lacking, whole.goal, whole.constants, whole.definitions)


@cache
def consequences() -> Mapping[str, Obligation]:
    """For every other conjunct the obligation that it follows from the rest, which is true of finite instances."""
    return {
        name: Obligation(
            name,
            f"it follows from the others that {conjunct.meaning}",
            {other: kept.formula for other, kept in CONJUNCTS.items() if other != name},
            conjunct.formula,
        )
        for name, conjunct in CONJUNCTS.items()
        if conjunct.needed is None
    }
