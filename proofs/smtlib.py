"""Formulas as SMT-LIB 2 text: the form in which every solver gets them, and in which they are exported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotcheck.proofs.logic import BOOL, INT, Expr, Sort, Symbol, symbols_of

__all__ = ["assertion", "declaration", "declarations", "definition", "text", "values"]

_OPS = {"and": "and", "or": "or", "not": "not", "implies": "=>", "iff": "=", "same": "=", "less": "<", "at_most": "<=",
        "plus": "+", "ite": "ite", "forall": "forall", "exists": "exists"}  # fmt: skip


def text(expr: Expr) -> str:
    """A term or formula."""
    if expr.op in ("variable", "number"):
        return expr.name
    if expr.op in ("true", "false"):
        return expr.op
    parts = " ".join([text(arg) for arg in expr.args])
    if expr.symbol is not None:
        return f"({expr.symbol.name} {parts})" if parts else expr.symbol.name
    if expr.binders:
        bound = " ".join(f"({var.name} {var.sort.name})" for var in expr.binders)
        return f"({_OPS[expr.op]} ({bound}) {parts})"
    return f"({_OPS[expr.op]} {parts})"


def assertion(expr: Expr, name: str = "") -> str:
    """One line that asserts a formula, after a comment that says what it is."""
    return f"; {name}\n(assert {text(expr)})\n" if name else f"(assert {text(expr)})\n"


def declarations(
    exprs: Sequence[Expr],
    variables: Sequence[Expr] = (),
    besides: tuple[Sequence[Expr], Sequence[Expr]] = ((), ()),
) -> str:
    """Declare what occurs: sorts, symbols, and variables that are free (each is a constant then).

    What occurs in ``besides`` is declared already.
    """
    symbols = symbols_of(exprs)
    sorts = [sort for sort in _sorts(symbols, variables) if sort not in _sorts(symbols_of(besides[0]), besides[1])]
    lines = [f"(declare-sort {sort.name} 0)" for sort in sorts]
    lines += [declaration(symbol) for symbol in symbols]
    lines += [f"(declare-const {var.name} {var.sort.name})" for var in variables]
    return "".join(f"{line}\n" for line in lines)


def _sorts(symbols: Sequence[Symbol], variables: Sequence[Expr]) -> list[Sort]:
    found = [sort for symbol in symbols for sort in (*symbol.domain, symbol.sort)] + [var.sort for var in variables]
    return [sort for sort in dict.fromkeys(found) if sort not in (BOOL, INT)]


def declaration(symbol: Symbol) -> str:
    """Declare one symbol."""
    domain = " ".join(sort.name for sort in symbol.domain)
    return f"(declare-fun {symbol.name} ({domain}) {symbol.sort.name})"


def definition(symbol: Symbol, update: Expr) -> str:
    """What a symbol is in the next state, as a macro."""
    variables = " ".join(f"({var.name} {var.sort.name})" for var in symbol.variables)
    return f"(define-fun {symbol.next.name} ({variables}) {symbol.sort.name} {text(update)})\n"


def values(answer: str) -> list[str]:
    """The values in the answer to a ``get-value``, as text, in the order asked for."""
    tokens = answer.replace("(", " ( ").replace(")", " ) ").split()
    at = 0

    def read() -> Any:
        nonlocal at
        token = tokens[at]
        at += 1
        if token != "(":
            return token
        items = []
        while tokens[at] != ")":
            items.append(read())
        at += 1
        return items

    told = []
    for pair in read():
        value = pair[1]
        told.append(str(-int(str(value[1]))) if isinstance(value, list) else str(value))
    return told
