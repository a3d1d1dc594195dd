"""Things that exist: states and short histories that a solver finds and plain Python replays.

A proof that something cannot go wrong says little if it could not go wrong anywhere. So the other designs are shown to
fail by an instance, not by the absence of a proof, and so are permits taken in the wrong order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slotcheck.proofs.action import Action
from slotcheck.proofs.evaluate import Structure, compile_formula, compile_step
from slotcheck.proofs.finite import Instance, NotAnInstanceError, instance_of
from slotcheck.proofs.logic import Expr, Sort, Symbol, rewrite, symbols_of, variable, without

__all__ = ["Existence", "find"]


@dataclass(frozen=True, eq=False)
class Existence:
    """A state, or a history from a start, that is claimed to exist.

    Attributes:
        name: what it shows.
        meaning: the same in words.
        sizes: how many elements of each sort are enough.
        start: what is true first.
        steps: what happens then, one after another.
        end: what is true at last.
        constants: runs and slots that the end speaks of.
    """

    name: str
    meaning: str
    sizes: Mapping[Sort, int]
    start: Mapping[str, Expr]
    steps: Sequence[Action] = ()
    end: Mapping[str, Expr] = field(default_factory=dict)
    constants: tuple[Expr, ...] = ()


def find(claim: Existence, solver: str, seconds: float) -> Instance | None:
    """An instance, replayed in plain Python; None if the solver finds that there is none of this size.

    Raises:
        NotAnInstanceError: Python does not find it to be one.
        TimeoutError: the solver did not find out in time.
    """
    formulas = [_at(formula, {}) for formula in claim.start.values()]
    versions: dict[Symbol, Symbol] = {}
    definitions: dict[Symbol, Expr] = {}
    parameters: list[Expr] = list(claim.constants)
    for at, step in enumerate(claim.steps, 1):
        own = {parameter.name: variable(f"{parameter.name}_{at}", parameter.sort) for parameter in step.parameters}
        parameters += own.values()
        formulas += [_at(without(condition, own), versions) for condition in step.guard.values()]
        after = {
            symbol: Symbol(f"{symbol.name}_{at}", symbol.domain, symbol.sort, rigid=True) for symbol in step.updates
        }
        definitions |= {after[symbol]: _at(without(update, own), versions) for symbol, update in step.updates.items()}
        versions = {**versions, **after}
    formulas += [_at(formula, versions) for formula in claim.end.values()]
    found = instance_of(
        formulas,
        claim.sizes,
        parameters,
        definitions=definitions,
        seconds=seconds,
        solver=solver,
        also=_all_symbols(claim),
    )
    if found is not None:
        _replay(claim, found)
    return found


def _at(formula: Expr, versions: Mapping[Symbol, Symbol]) -> Expr:
    """The formula about a later state of a history."""

    def change(part: Expr) -> Expr | None:
        if part.symbol is None or part.symbol not in versions:
            return None
        return versions[part.symbol](*[rewrite(arg, change) for arg in part.args])

    return rewrite(formula, change)


def _all_symbols(claim: Existence) -> list[Symbol]:
    told = [*claim.start.values(), *claim.end.values()]
    for step in claim.steps:
        told += [*step.guard.values(), *step.updates.values(), *[key(*key.variables) for key in step.updates]]
    return symbols_of(told)


def _replay(claim: Existence, found: Instance) -> None:
    state = found.structure
    _judge(claim, claim.start, state, found, "at first")
    for at, step in enumerate(claim.steps, 1):
        given = {parameter.name: found.parameters[f"{parameter.name}_{at}"] for parameter in step.parameters}
        ways = list(compile_step(step.parameters, list(step.guard.values()), step.updates)(state, given))
        if len(ways) != 1:
            raise NotAnInstanceError(f"{claim.name}: step {at}, {step.name}, is not possible there")
        state = state.after(ways[0][1])
    _judge(claim, claim.end, state, found, "at last")


def _judge(claim: Existence, formulas: Mapping[str, Expr], state: Structure, found: Instance, when: str) -> None:
    for name, formula in formulas.items():
        names = tuple(sorted(formula.free))
        if not compile_formula(formula, names)(state, **{key: found.parameters[key] for key in names}):
            raise NotAnInstanceError(f"{claim.name}: {name!r} is false {when}")
