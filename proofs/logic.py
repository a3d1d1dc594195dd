"""First-order logic over uninterpreted sorts and integers: the language of the relation, the invariant, the lemmas.

One formula has three readers: `smtlib.py` writes it for the solvers, `evaluate.py` computes it in a finite structure in
plain Python, `finite.py` spells its quantifiers out over a few elements. So what is proved, what is compared with the
code and what a counterexample is judged by are the same formula, not three translations by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = [
    "BOOL",
    "FALSE",
    "INT",
    "TRUE",
    "Expr",
    "Sort",
    "Symbol",
    "all_of",
    "any_of",
    "at_most",
    "constant",
    "each",
    "iff",
    "implies",
    "ite",
    "less",
    "no",
    "number",
    "plus",
    "primed",
    "rewrite",
    "same",
    "some",
    "symbols_of",
    "variable",
    "without",
]


@dataclass(frozen=True, slots=True)
class Sort:
    """A kind of thing. All but `BOOL` and `INT` are uninterpreted: any number of elements, nothing else known."""

    name: str


BOOL, INT = Sort("Bool"), Sort("Int")


@dataclass(frozen=True)
class Expr:
    """A term or formula: an operation on parts. Compared by identity of form, so equal text is an equal Expr."""

    op: str
    sort: Sort
    args: tuple[Expr, ...] = ()
    #: The name of a variable, or the digits of a number.
    name: str = ""
    symbol: Symbol | None = None
    #: The variables that a quantifier binds.
    binders: tuple[Expr, ...] = ()

    def __and__(self, other: Expr) -> Expr:
        return all_of(self, other)

    def __or__(self, other: Expr) -> Expr:
        return any_of(self, other)

    def __invert__(self) -> Expr:
        return Expr("not", BOOL, (self,))

    @cached_property
    def free(self) -> frozenset[str]:
        """The names of the variables that no quantifier inside binds."""
        if self.op == "variable":
            return frozenset((self.name,))
        found = frozenset().union(*(arg.free for arg in self.args)) if self.args else frozenset[str]()
        return found - {binder.name for binder in self.binders}


@dataclass(frozen=True)
class Symbol:
    """A relation, function or constant. Without arguments it is a constant.

    ``meaning`` says what it stands for. A symbol that is not ``rigid`` belongs to a state and has a twin in the next.
    """

    name: str
    domain: tuple[Sort, ...]
    sort: Sort
    meaning: str = ""
    rigid: bool = False

    def __call__(self, *args: Expr) -> Expr:
        if tuple(arg.sort for arg in args) != self.domain:
            raise TypeError(
                f"{self.name} takes {[sort.name for sort in self.domain]}, not {[a.sort.name for a in args]}"
            )
        return Expr("apply", self.sort, args, symbol=self)

    @cached_property
    def next(self) -> Symbol:
        """The same thing in the next state."""
        return self if self.rigid else Symbol(f"{self.name}_next", self.domain, self.sort, self.meaning, True)

    @cached_property
    def variables(self) -> tuple[Expr, ...]:
        """The variables in which an update of it is written: x, y for the first and second run, z for a slot, ..."""
        taken: dict[Sort, int] = {}
        made = []
        for sort in self.domain:
            at = taken.get(sort, 0)
            taken[sort] = at + 1
            made.append(variable(_LETTERS.get(sort.name, f"{sort.name.lower()}_")[at], sort))
        return tuple(made)


_LETTERS = {"Run": "xy", "Slot": "zv", "Job": "jk", "Component": "kl"}

TRUE, FALSE = Expr("true", BOOL), Expr("false", BOOL)


def variable(name: str, sort: Sort) -> Expr:
    """A variable, bound by a quantifier, by an action (its parameter) or by an update."""
    return Expr("variable", sort, name=name)


def constant(name: str, sort: Sort, meaning: str = "") -> Expr:
    """A rigid constant, already applied."""
    return Symbol(name, (), sort, meaning, rigid=True)()


def number(value: int) -> Expr:
    """An integer."""
    return Expr("number", INT, name=str(value))


def all_of(*parts: Expr) -> Expr:
    """And."""
    flat = [inner for part in parts for inner in (part.args if part.op == "and" else (part,)) if inner.op != "true"]
    return flat[0] if len(flat) == 1 else Expr("and", BOOL, tuple(flat)) if flat else TRUE


def any_of(*parts: Expr) -> Expr:
    """Or."""
    flat = [inner for part in parts for inner in (part.args if part.op == "or" else (part,)) if inner.op != "false"]
    return flat[0] if len(flat) == 1 else Expr("or", BOOL, tuple(flat)) if flat else FALSE


def implies(left: Expr, right: Expr) -> Expr:
    """If left, then right."""
    return Expr("implies", BOOL, (left, right))


def iff(left: Expr, right: Expr) -> Expr:
    """Both or neither."""
    return Expr("iff", BOOL, (left, right))


def same(left: Expr, right: Expr) -> Expr:
    """Equal: the same run, slot or number."""
    if left.sort != right.sort:
        raise TypeError(f"{left.sort.name} is never equal to {right.sort.name}")
    return iff(left, right) if left.sort == BOOL else Expr("same", BOOL, (left, right))


def less(left: Expr, right: Expr) -> Expr:
    """left < right."""
    return Expr("less", BOOL, (left, right))


def at_most(left: Expr, right: Expr) -> Expr:
    """left <= right."""
    return Expr("at_most", BOOL, (left, right))


def plus(left: Expr, right: int) -> Expr:
    """left + right."""
    return Expr("plus", INT, (left, number(right)))


def ite(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """The one or the other, by a condition."""
    return Expr("ite", then.sort, (condition, then, otherwise))


def each(*variables: Expr) -> Callable[[Expr], Expr]:
    """For all of them: ``each(x, y)(body)``."""
    return lambda body: Expr("forall", BOOL, (body,), binders=variables)


def some(*variables: Expr) -> Callable[[Expr], Expr]:
    """For at least one: ``some(x)(body)``."""
    return lambda body: Expr("exists", BOOL, (body,), binders=variables)


def no(*variables: Expr) -> Callable[[Expr], Expr]:
    """For none: ``no(x)(body)``."""
    return lambda body: each(*variables)(~body)


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with every outermost part replaced for which ``change`` gives something else than None."""
    changed = change(expr)
    if changed is not None:
        return changed
    if not expr.args:
        return expr
    args = tuple(rewrite(arg, change) for arg in expr.args)
    return expr if args == expr.args else Expr(expr.op, expr.sort, args, expr.name, expr.symbol, expr.binders)


def primed(expr: Expr, only: Iterable[Symbol] | None = None) -> Expr:
    """The same said of the next state (of some symbols only, if told)."""
    chosen = None if only is None else set(only)

    def change(part: Expr) -> Expr | None:
        if part.op != "apply" or part.symbol is None or part.symbol.rigid:
            return None
        args = tuple(rewrite(arg, change) for arg in part.args)
        return (part.symbol.next if chosen is None or part.symbol in chosen else part.symbol)(*args)

    return rewrite(expr, change)


def without(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with free variables replaced. No quantifier may bind a name that a value uses."""
    if not expr.free & values.keys():
        return expr

    def change(part: Expr) -> Expr | None:
        if part.op == "variable":
            return values.get(part.name, part)
        if part.binders:
            inner = {name: value for name, value in values.items() if name not in {b.name for b in part.binders}}
            body = without(part.args[0], inner)
            return Expr(part.op, part.sort, (body,), binders=part.binders)
        return None

    return rewrite(expr, change)


def symbols_of(exprs: Sequence[Expr]) -> list[Symbol]:
    """The symbols that occur, in order of first occurrence."""
    found: dict[Symbol, None] = {}

    def look(expr: Expr) -> None:
        for arg in expr.args:
            look(arg)
        if expr.symbol is not None:
            found.setdefault(expr.symbol)

    for expr in exprs:
        look(expr)
    return list(found)
