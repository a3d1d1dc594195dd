"""Formulas in finite structures, computed in plain Python: no solver, nothing shared with one.

A formula is turned into the source of a Python function once and then costs about what hand-written code would. It is
what a solver's counterexample is judged by, and what compares the relation with the code on every edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from slotcheck.proofs.logic import BOOL, INT, Expr, Sort, Symbol, symbols_of

__all__ = ["Structure", "Value", "compile_formula", "compile_step", "holds_in", "table_of"]

Value = Any


@dataclass
class Structure:
    """A finite structure: how many elements each sort has, by its name (they are 0, 1, ...), and what each symbol is.

    A constant is a value, a function or relation of one argument a list, one of two arguments a list of lists.
    """

    sizes: Mapping[str, int]
    values: dict[str, Value] = field(default_factory=dict)

    def after(self, updates: Mapping[str, Value]) -> Structure:
        """The next state: what is updated anew, all else as it is."""
        return Structure(self.sizes, {**self.values, **updates})

    def joined(self, after: Structure) -> Structure:
        """This state and the next one in one structure, for formulas that speak of both."""
        return Structure(self.sizes, {**self.values, **{f"{name}_next": value for name, value in after.values.items()}})


def holds_in(formula: Expr, structure: Structure, **parameters: Value) -> bool:
    """Whether a formula is true, its free variables having these values."""
    return bool(compile_formula(formula, tuple(sorted(parameters)))(structure, **parameters))


@cache
def compile_formula(formula: Expr, parameters: tuple[str, ...] = ()) -> Callable[..., Value]:
    """The formula or term as a function of a structure and of its free variables."""
    lines = [f"def compiled(structure{''.join(f', {name}' for name in parameters)}):"]
    lines += _opening([formula])
    lines.append(f" return {_source(formula)}")
    return _made(lines)


def table_of(symbol: Symbol, sizes: Mapping[str, int], value: Callable[..., Value]) -> Value:
    """The value of a symbol, given element by element."""
    if not symbol.domain:
        return value()
    first = range(sizes[symbol.domain[0].name])
    if len(symbol.domain) == 1:
        return [value(x) for x in first]
    return [[value(x, y) for y in range(sizes[symbol.domain[1].name])] for x in first]


def compile_step(
    parameters: Sequence[Expr], guard: Sequence[Expr], updates: Mapping[Symbol, Expr]
) -> Callable[[Structure, Mapping[str, Value]], Iterator[tuple[dict[str, Value], dict[str, Value]]]]:
    """A step as a function: all ways to take it from a structure, as parameters and next values of what changes.

    Some parameters may be given; the others are tried one by one, each condition of the guard as soon as all that it
    speaks of is chosen.
    """
    lines = ["def compiled(structure, given):", *_opening([*guard, *updates.values()])]
    left, chosen, depth = list(guard), set[str](), 1

    def conditions() -> None:
        nonlocal depth
        for condition in [formula for formula in left if formula.free <= chosen]:
            left.remove(condition)
            lines.append(f"{' ' * depth}if {_source(condition)}:")
            depth += 1

    conditions()
    for parameter in parameters:
        name = parameter.name
        everything = "(False, True)" if parameter.sort == BOOL else f"range(n_{parameter.sort.name})"
        lines.append(f"{' ' * depth}for {name} in (given[{name!r}],) if {name!r} in given else {everything}:")
        depth += 1
        chosen.add(name)
        conditions()
    if left:
        raise ValueError(f"the guard speaks of what is no parameter: {[sorted(formula.free) for formula in left]}")
    told = ", ".join(f"{parameter.name!r}: {parameter.name}" for parameter in parameters)
    tables = ", ".join(f"{symbol.name!r}: {_table(symbol, update)}" for symbol, update in updates.items())
    lines.append(f"{' ' * depth}yield {{{told}}}, {{{tables}}}")
    return _made(lines)


def _table(symbol: Symbol, update: Expr) -> str:
    source = _source(update)
    for var in reversed(symbol.variables):
        source = f"[{source} for {var.name} in range(n_{var.sort.name})]"
    return source


def _made(lines: Sequence[str]) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    return cast("Callable[..., Any]", namespace["compiled"])


def _opening(formulas: Sequence[Expr]) -> list[str]:
    """Bind what the source speaks of: the sizes of sorts and the values of symbols."""
    sorts: dict[Sort, None] = {}

    def look(expr: Expr) -> None:
        for var in (*expr.binders, expr):
            sorts.setdefault(var.sort)
        for arg in expr.args:
            look(arg)
        if expr.symbol is not None:
            sorts.update(dict.fromkeys(expr.symbol.domain))

    for formula in formulas:
        look(formula)
    lines = [f" n_{sort.name} = sizes[{sort.name!r}]" for sort in sorts if sort not in (BOOL, INT)]
    lines += [f" v_{symbol.name} = values[{symbol.name!r}]" for symbol in symbols_of(formulas)]
    return [" sizes, values = structure.sizes, structure.values", *lines]


def _source(expr: Expr) -> str:
    args = [_source(arg) for arg in expr.args]
    match expr.op:
        case "variable" | "number":
            return expr.name
        case "true" | "false":
            return expr.op.capitalize()
        case "apply":
            assert expr.symbol is not None
            return f"v_{expr.symbol.name}" + "".join(f"[{arg}]" for arg in args)
        case "and" | "or":
            return f"({f' {expr.op} '.join(args)})"
        case "not":
            return f"(not {args[0]})"
        case "implies":
            return f"(not {args[0]} or {args[1]})"
        case "iff" | "same":
            return f"({args[0]} == {args[1]})"
        case "less":
            return f"({args[0]} < {args[1]})"
        case "at_most":
            return f"({args[0]} <= {args[1]})"
        case "plus":
            return f"({args[0]} + {args[1]})"
        case "ite":
            return f"({args[1]} if {args[0]} else {args[2]})"
        case "forall" | "exists":
            loops = "".join(f" for {var.name} in range(n_{var.sort.name})" for var in expr.binders)
            return f"{'all' if expr.op == 'forall' else 'any'}([{args[0]}{loops}])"
    raise AssertionError(expr.op)
