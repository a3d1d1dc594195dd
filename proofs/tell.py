"""A counterexample to induction, or any other instance, in words: what holds of which run and slot."""

from __future__ import annotations

from collections.abc import Iterator

from slotcheck.proofs.evaluate import Value
from slotcheck.proofs.finite import Instance, next_values
from slotcheck.proofs.logic import BOOL, INT, Sort, Symbol, symbols_of
from slotcheck.proofs.obligation import Obligation

__all__ = ["told_counterexample"]


def told_counterexample(obligation: Obligation, found: Instance) -> list[str]:
    """The state before, the parameters of the step, and what it changes, line by line."""
    used = set(found.structure.values)
    symbols = [symbol for symbol in _symbols(obligation) if symbol.name in used]
    lines = ["before:"]
    lines += [f"  {line}" for symbol in symbols for line in _told(symbol, found.structure.values[symbol.name])]
    if obligation.constants:
        given = [f"{var.name} = {_element(var.sort, found.parameters[var.name])}" for var in obligation.constants]
        lines.append(f"with {', '.join(given)}")
    if obligation.definitions:
        lines.append("after:")
        after = next_values(obligation.definitions, found)
        changed = [
            symbol for symbol in obligation.definitions if after[symbol.name] != found.structure.values[symbol.name]
        ]
        lines += [f"  {line}" for symbol in changed for line in _told(symbol, after[symbol.name])]
    return [*lines, f"but not: {obligation.meaning}"]


def _symbols(obligation: Obligation) -> list[Symbol]:
    told = [*obligation.hypotheses.values(), *obligation.definitions.values(), obligation.goal]
    symbols = dict.fromkeys((*obligation.definitions, *symbols_of(told)))
    return sorted(symbols, key=lambda symbol: (symbol.rigid, len(symbol.domain)))


def _told(symbol: Symbol, value: Value) -> Iterator[str]:
    if not symbol.domain:
        yield f"{symbol.name} = {_element(symbol.sort, value)}"
        return
    places: list[tuple[tuple[int, ...], Value]] = [((at,), inner) for at, inner in enumerate(value)]
    if len(symbol.domain) == 2:
        places = [((at, other), inner) for at, row in enumerate(value) for other, inner in enumerate(row)]
    named = [
        (", ".join(_element(sort, at) for sort, at in zip(symbol.domain, place, strict=True)), inner)
        for place, inner in places
    ]
    if symbol.sort == BOOL:
        true = [f"({place})" if "," in place else place for place, inner in named if inner]
        yield f"{symbol.name}: {' '.join(true) or 'none'}"
    else:
        yield f"{symbol.name}: {' '.join(f'{place}={_element(symbol.sort, inner)}' for place, inner in named)}"


def _element(sort: Sort, value: Value) -> str:
    if sort == BOOL:
        return "yes" if value else "no"
    return str(value) if sort == INT else f"{sort.name.lower()}{value}"
