"""An obligation: one formula to show under named hypotheses, and its text for a solver.

It is discharged when a solver finds that the hypotheses and the negated goal cannot be true together, over any number
of runs and slots. Most have the form "from a state of the invariant, this step keeps that conjunct"; the next state
then stands in `definitions`, symbol by symbol, and the goal speaks of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slotcheck.proofs import smtlib
from slotcheck.proofs.action import Action
from slotcheck.proofs.invariant import CONJUNCTS, Conjunct
from slotcheck.proofs.logic import Expr, Symbol, primed, symbols_of
from slotcheck.proofs.relation import ACTIONS, INIT

__all__ = ["Obligation", "body", "inductive", "keeps", "prelude", "script", "starts"]


@dataclass(frozen=True, eq=False)
class Obligation:
    """One thing to prove.

    Attributes:
        name: ``step/conjunct`` or ``claim/part``.
        meaning: what it says, in words.
        hypotheses: what may be assumed, each with its name.
        goal: what is to be shown.
        constants: variables that stand for any value, the parameters of a step for one.
        definitions: what symbols are in the next state, in terms of this one.
    """

    name: str
    meaning: str
    hypotheses: Mapping[str, Expr]
    goal: Expr
    constants: tuple[Expr, ...] = ()
    definitions: Mapping[Symbol, Expr] = field(default_factory=dict)


def starts(conjunct: Conjunct) -> Obligation:
    """A conjunct is true of a new pool."""
    return Obligation(f"init/{conjunct.name}", f"in a new pool {conjunct.meaning}", INIT, conjunct.formula)


def keeps(
    action: Action, conjuncts: Sequence[Conjunct], assumed: Mapping[str, Conjunct] = CONJUNCTS
) -> list[Obligation]:
    """A step from a state of which all ``assumed`` are true keeps each of the conjuncts: one obligation each.

    Of a conjunct that speaks of nothing that the step changes, only itself is assumed.
    """
    hypotheses = {name: conjunct.formula for name, conjunct in assumed.items()}
    hypotheses |= {f"{action.name}: {name}": condition for name, condition in action.guard.items()}
    made = []
    for conjunct in conjuncts:
        goal = primed(conjunct.formula, action.updates)
        untouched = goal == conjunct.formula and conjunct.name in assumed  # nothing that it speaks of changes
        made.append(
            Obligation(
                f"{action.name}/{conjunct.name}",
                f"after {action.name}, {conjunct.meaning}",
                {conjunct.name: conjunct.formula} if untouched else hypotheses,
                goal,
                () if untouched else action.parameters,
                {} if untouched else action.updates,
            )
        )
    return made


def inductive(actions: Mapping[str, Action] = ACTIONS) -> list[Obligation]:
    """All obligations that make the invariant inductive: Init, then each step, each with every conjunct."""
    conjuncts = list(CONJUNCTS.values())
    return [starts(conjunct) for conjunct in conjuncts] + [
        obligation for action in actions.values() for obligation in keeps(action, conjuncts)
    ]


def prelude(obligation: Obligation) -> str:
    """The part of the text that obligations with the same hypotheses share."""
    hypotheses = obligation.hypotheses
    declared = smtlib.declarations([*hypotheses.values(), *_frame(obligation)], obligation.constants)
    return declared + "".join(smtlib.assertion(formula, name) for name, formula in hypotheses.items())


def body(obligation: Obligation) -> str:
    """The rest: those definitions that the goal speaks of, and the negated goal."""
    told = [*obligation.hypotheses.values(), *_frame(obligation)]
    known = set(symbols_of(told))
    spoken = symbols_of([obligation.goal])
    defined = {symbol.next: (symbol, update) for symbol, update in obligation.definitions.items()}
    lines = [smtlib.definition(defined[symbol][0], defined[symbol][1]) for symbol in spoken if symbol in defined]
    new = [symbol for symbol in spoken if symbol not in known and symbol not in defined]
    lines.append(
        smtlib.declarations([symbol(*symbol.variables) for symbol in new], besides=(told, obligation.constants))
    )
    return "".join(lines) + f"; not: {obligation.meaning}\n(assert (not {smtlib.text(obligation.goal)}))\n"


def script(obligation: Obligation) -> str:
    """The whole as a file of its own: unsat means proved."""
    head = f"; {obligation.name}: unsat means proved\n(set-logic ALL)\n"
    return f"{head}{prelude(obligation)}{body(obligation)}(check-sat)\n"


def _frame(obligation: Obligation) -> list[Expr]:
    return list(obligation.definitions.values())
