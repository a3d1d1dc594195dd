"""On a sample of edges: a solver says the same of the relation, formula by formula, as its evaluation in plain Python.

The comparison with the code evaluates the relation; the proofs give it to solvers. Here both get the same pair of
states, taken from graphs of the pool: as it is, which is a step, and with one thing spoilt, which is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from slotcheck.checks.generated import forests
from slotcheck.checks.relation_check import CAPS, structure_of, successors
from slotcheck.checks.relation_graph import edges_of
from slotcheck.checks.subject import resolve_subject
from slotcheck.proofs.action import Action, relation_of
from slotcheck.proofs.evaluate import Structure, compile_formula
from slotcheck.proofs.finite import are_true_of
from slotcheck.proofs.logic import BOOL, Expr
from slotcheck.proofs.relation import ACTIONS
from slotcheck.proofs.vocabulary import STATE

__all__ = ["Sample", "sample"]

_EACH = 2  # steps of each action


@dataclass
class Sample:
    """What was asked, and where the answers differ."""

    steps: Counter[str] = field(default_factory=Counter)
    spoilt: int = 0
    differences: list[str] = field(default_factory=list)


def sample(solver: str, seconds: float) -> Sample:
    """Ask a solver about a few edges of each action, and about the same with a wrong next state."""
    found = Sample()
    for action, before, after in _steps():
        found.steps[action.name] += 1
        formulas = _relation(action)
        wrong = _spoilt(after, found.spoilt)
        found.spoilt += 1
        for state in (after, wrong):
            pair = before.joined(state)
            evaluated = any(_holds(formulas, pair, choice) for choice in _choices(action, pair))
            solved = are_true_of(formulas, pair, action.parameters, solver=solver, seconds=seconds)
            if evaluated != solved or evaluated != (state is after):
                found.differences.append(f"{action.name}: evaluation says {evaluated}, {solver} says {solved}")
    return found


def _steps() -> Iterator[tuple[Action, Structure, Structure]]:
    """A few steps of each action, from graphs of the pool with relend on."""
    subject = resolve_subject("pool", order="fifo")
    taken: Counter[str] = Counter()
    for count in (2, 3):
        for forest in forests(count, roots=count):
            names = [spec.name for spec in forest]
            for edge in edges_of(subject, forest, CAPS, relend=True):
                if edge.verb == "resize":
                    verb = "raise" if edge.args[0] > edge.before.cap else "lower"
                    made = (verb, ()) if edge.args[0] != edge.before.cap else None
                else:
                    made = edge.verb, edge.args
                if made is None:
                    continue
                before = structure_of(edge.before, names, fifo=True)
                for name, after in successors(*made, before, names):
                    if taken[name] < _EACH:
                        taken[name] += 1
                        yield ACTIONS[name], before, after


@cache
def _relation(action: Action) -> list[Expr]:
    return relation_of(action)


def _holds(formulas: Sequence[Expr], pair: Structure, choice: Mapping[str, int | bool]) -> bool:
    names = tuple(sorted(choice))
    return all(compile_formula(formula, names)(pair, **choice) for formula in formulas)


def _choices(action: Action, pair: Structure) -> Iterator[dict[str, int | bool]]:
    choices: list[dict[str, int | bool]] = [{}]
    for var in action.parameters:
        values = (False, True) if var.sort == BOOL else range(pair.sizes[var.sort.name])
        choices = [{**choice, var.name: value} for choice in choices for value in values]
    yield from choices


def _spoilt(after: Structure, number: int) -> Structure:
    """The state with one relation turned round at its first element, another relation each time."""
    relations = [symbol for symbol in STATE if symbol.sort == BOOL and len(symbol.domain) == 1]
    symbol = relations[number % len(relations)]
    value = list(after.values[symbol.name])
    value[0] = not value[0]
    return after.after({symbol.name: value})
