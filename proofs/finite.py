"""Finite instances: the same formulas over a few runs and slots, every quantifier spelled out.

Over uninterpreted sorts a solver that cannot prove something often cannot say why not either. Over four runs and two
slots it always can: it gives a state, and everything in that state can be computed in plain Python. So a failed
obligation is posed again here, and its *counterexample to induction* is believed only once Python agrees that all
hypotheses are true in it and the goal is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from slotcheck.proofs import smtlib
from slotcheck.proofs.evaluate import Structure, Value, compile_formula, table_of
from slotcheck.proofs.logic import BOOL, INT, Expr, Sort, Symbol, all_of, any_of, symbols_of, without
from slotcheck.proofs.obligation import Obligation
from slotcheck.proofs.solve import fresh

__all__ = ["Instance", "NotAnInstanceError", "are_true_of", "counterexample", "instance_of", "next_values", "refutes"]


class NotAnInstanceError(AssertionError):
    """A solver gave a model that plain Python does not find to be one: solver or translation is wrong."""


@dataclass(frozen=True)
class Instance:
    """A finite structure and values for the free variables."""

    structure: Structure
    parameters: Mapping[str, Value]


def instance_of(
    formulas: Sequence[Expr],
    sizes: Mapping[Sort, int],
    constants: Sequence[Expr] = (),
    *,
    also: Sequence[Symbol] = (),
    definitions: Mapping[Symbol, Expr] | None = None,
    seconds: float = 20.0,
    solver: str = "z3",
) -> Instance | None:
    """A structure of these sizes in which all formulas are true; None if there is none. ``also``: symbols to tell too.

    Raises:
        TimeoutError: the solver did not find out in time.
    """
    definitions = definitions or {}
    defined = {symbol.next for symbol in definitions}
    bodies = list(definitions.values())
    symbols = [symbol for symbol in dict.fromkeys((*symbols_of([*formulas, *bodies]), *also)) if symbol not in defined]
    session = fresh(solver, seconds)
    lines = [_sort(sort, size) for sort, size in sizes.items()]
    lines += [smtlib.declaration(symbol) for symbol in symbols]
    lines += [f"(declare-const {var.name} {var.sort.name})" for var in constants]
    lines += [smtlib.definition(symbol, _ground(body, _key(sizes))) for symbol, body in definitions.items()]
    lines += [_asserted(formula, _key(sizes)) for formula in formulas]
    said = session.tell("\n".join(lines) + "\n(check-sat)\n").partition(" ")[0]
    if said == "unsat":
        return None
    if said != "sat":
        raise TimeoutError(f"a finite instance of {len(formulas)} formulas: {said}")
    places = {symbol: _places(symbol, sizes) for symbol in symbols}
    asked = [_applied(symbol, place) for symbol in symbols for place in places[symbol]]
    asked += [var.name for var in constants]
    told = iter(smtlib.values(session.tell(f"(get-value ({' '.join(asked)}))")))
    counts = {sort.name: size for sort, size in sizes.items()}
    structure = Structure(counts)
    for symbol in symbols:
        found = {place: _value(symbol.sort, next(told)) for place in places[symbol]}
        structure.values[symbol.name] = table_of(symbol, counts, lambda *place, found=found: found[place])
    return Instance(structure, {var.name: _value(var.sort, next(told)) for var in constants})


def counterexample(
    obligation: Obligation, sizes: Sequence[Mapping[Sort, int]], also: Sequence[Symbol] = (), seconds: float = 20.0
) -> Instance | None:
    """The first counterexample on instances of these sizes, judged in plain Python; None if there is none.

    Raises:
        NotAnInstanceError: Python finds a hypothesis false in it, or the goal true.
    """
    formulas = [*obligation.hypotheses.values(), ~obligation.goal]
    for size in sizes:
        found = instance_of(
            formulas, size, obligation.constants, also=also, definitions=obligation.definitions, seconds=seconds
        )
        if found is not None:
            wrong = refutes(obligation, found)
            if wrong is not None:
                raise NotAnInstanceError(f"{obligation.name}: {wrong}")
            return found
    return None


def refutes(obligation: Obligation, found: Instance) -> str | None:
    """Judge in plain Python whether this refutes the obligation: None if so, else what is wrong with it."""
    names = tuple(sorted(found.parameters))
    for name, formula in obligation.hypotheses.items():
        if not compile_formula(formula, names)(found.structure, **found.parameters):
            return f"the hypothesis {name!r} is false in it"
    after = next_values(obligation.definitions, found)
    both = found.structure.joined(found.structure.after(after))
    if compile_formula(obligation.goal, names)(both, **found.parameters):
        return "the goal is true in it"
    return None


def next_values(definitions: Mapping[Symbol, Expr], found: Instance) -> dict[str, Value]:
    """What each symbol is after the step, computed in plain Python."""
    values = {}
    for symbol, update in definitions.items():
        names = tuple(sorted({*found.parameters, *(var.name for var in symbol.variables)}))
        compiled = compile_formula(update, names)

        def value(*place: int, symbol: Symbol = symbol, compiled: object = compiled) -> Value:
            at = {var.name: element for var, element in zip(symbol.variables, place, strict=True)}
            return compiled(found.structure, **{**found.parameters, **at})  # type: ignore[operator]

        values[symbol.name] = table_of(symbol, found.structure.sizes, value)
    return values


# -- over a few elements -----------------------------------------------------------------------------------------


def _key(sizes: Mapping[Sort, int]) -> tuple[tuple[Sort, int], ...]:
    return tuple(sizes.items())


@cache
def _asserted(formula: Expr, sizes: tuple[tuple[Sort, int], ...]) -> str:
    return smtlib.assertion(_ground(formula, sizes))


def _ground(formula: Expr, sizes: tuple[tuple[Sort, int], ...]) -> Expr:
    """The formula with every quantifier spelled out."""
    if not formula.args:
        return formula
    args = tuple(_ground(arg, sizes) for arg in formula.args)
    if not formula.binders:
        return Expr(formula.op, formula.sort, args, formula.name, formula.symbol)
    of = dict(sizes)
    choices = product(*[range(of[var.sort]) for var in formula.binders])
    names = [var.name for var in formula.binders]
    cases = [
        without(
            args[0],
            {name: _element(var.sort, at) for name, var, at in zip(names, formula.binders, choice, strict=True)},
        )
        for choice in choices
    ]
    return all_of(*cases) if formula.op == "forall" else any_of(*cases)


@cache
def _element(sort: Sort, at: int) -> Expr:
    return Symbol(f"{sort.name}_{at}", (), sort, rigid=True)()


def _sort(sort: Sort, size: int) -> str:
    return f"(declare-datatypes (({sort.name} 0)) (({' '.join(f'({sort.name}_{at})' for at in range(size))})))"


def _places(symbol: Symbol, sizes: Mapping[Sort, int]) -> list[tuple[int, ...]]:
    return list(product(*[range(sizes[sort]) for sort in symbol.domain]))


def _applied(symbol: Symbol, place: tuple[int, ...]) -> str:
    args = " ".join(f"{sort.name}_{at}" for sort, at in zip(symbol.domain, place, strict=True))
    return f"({symbol.name} {args})" if args else symbol.name


def _value(sort: Sort, told: str) -> Value:
    if sort == BOOL:
        return told == "true"
    return int(told) if sort == INT else int(told.rpartition("_")[2])


def are_true_of(
    formulas: Sequence[Expr], structure: Structure, constants: Sequence[Expr], *, solver: str, seconds: float
) -> bool:
    """Whether a solver finds values for the constants with which all formulas are true in a given structure.

    Raises:
        TimeoutError: the solver did not find out in time.
    """
    symbols = symbols_of(formulas)
    sorts = dict.fromkeys(sort for symbol in symbols for sort in (*symbol.domain, symbol.sort))
    sizes = {sort: structure.sizes[sort.name] for sort in sorts if sort not in (BOOL, INT)}
    lines = [_sort(sort, size) for sort, size in sizes.items()]
    for symbol in symbols:
        lines.append(smtlib.declaration(symbol))
        for place in _places(symbol, sizes):
            value = structure.values[symbol.name]
            for at in place:
                value = value[at]
            lines.append(f"(assert (= {_applied(symbol, place)} {_literal(symbol.sort, value)}))")
    lines += [f"(declare-const {var.name} {var.sort.name})" for var in constants]
    lines += [_asserted(formula, _key(sizes)) for formula in formulas]
    said = fresh(solver, seconds).tell("\n".join(lines) + "\n(check-sat)\n").partition(" ")[0]
    if said not in ("sat", "unsat"):
        raise TimeoutError(f"formulas in a given structure: {said}")
    return said == "sat"


def _literal(sort: Sort, value: Value) -> str:
    if sort == BOOL:
        return "true" if value else "false"
    return f"{value}" if sort == INT else f"{sort.name}_{value}"
