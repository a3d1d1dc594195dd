"""What a step is: parameters, a guard over the state before, and what each symbol that changes is after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from slotcheck.proofs.logic import BOOL, Expr, Symbol, all_of, each, iff, same
from slotcheck.proofs.vocabulary import STATE

__all__ = ["Action", "relation_of"]


@dataclass(frozen=True, eq=False)
class Action:
    """One kind of step.

    Attributes:
        name: the call and what came of it.
        verbs: the calls of a pool that can do it.
        meaning: which rule says so.
        parameters: the runs and slots that it is about. The first is the run that the call names, if it names one.
        guard: when it can happen, each condition with its name.
        updates: for each symbol that changes its next value, in the symbol's own variables.
    """

    name: str
    verbs: tuple[str, ...]
    meaning: str
    parameters: tuple[Expr, ...]
    guard: Mapping[str, Expr]
    updates: Mapping[Symbol, Expr]

    @property
    def condition(self) -> Expr:
        """The guard as one formula."""
        return all_of(*self.guard.values())

    def lacking(self, condition: str, **more: Expr) -> Action:
        """The same without a condition of the guard (or with others in its place): for wrong relations."""
        kept = {name: formula for name, formula in self.guard.items() if name != condition}
        if len(kept) == len(self.guard):
            raise KeyError(f"{self.name} has no condition {condition!r}")
        return replace(self, guard={**kept, **more})

    def updating(self, **updates: Expr | None) -> Action:
        """The same with other updates (None: the symbol stays as it is): for wrong relations."""
        symbols = {symbol.name: symbol for symbol in STATE}
        changed: dict[Symbol, Expr] = dict(self.updates)
        for name, update in updates.items():
            if update is None:
                del changed[symbols[name]]
            else:
                changed[symbols[name]] = update
        return replace(self, updates=changed)


def relation_of(action: Action) -> list[Expr]:
    """The relation for given parameters, condition by condition: the guard, then for every symbol its next value."""
    formulas = list(action.guard.values())
    for symbol in STATE:
        after = symbol.next(*symbol.variables)
        now = action.updates.get(symbol, symbol(*symbol.variables))
        formula = iff(after, now) if symbol.sort == BOOL else same(after, now)
        formulas.append(each(*symbol.variables)(formula) if symbol.variables else formula)
    return formulas
