"""The solvers, each as a session that is told SMT-LIB 2 text and answers in text: Z3, and cvc5 as a second opinion.

Both get the very text that `slotcheck prove --smtlib` writes. Only *unsat* proves. *Unknown* (a time-out, or the solver
gave up) and *sat* do not; what a failure means is found out on finite instances (finite.py).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import cvc5  # type: ignore[import-untyped]
import z3  # type: ignore[import-untyped]

from slotcheck.proofs.logic import Expr
from slotcheck.proofs.obligation import Obligation, body, prelude

__all__ = ["SOLVERS", "Answer", "Session", "SolverFailedError", "answers", "fresh", "solver_versions"]


class SolverFailedError(RuntimeError):
    """A solver did not understand what it was told: a fault of the text, never a verdict."""


class Session(Protocol):
    """A solver that is told text. Every query has the same time limit."""

    def tell(self, text: str) -> str:
        """What it answers.

        Raises:
            SolverFailedError: it answers with an error.
        """

    def forget(self) -> None:
        """Start anew: nothing is declared or asserted any more."""


class Z3Session:
    """Z3 with its defaults."""

    def __init__(self, seconds: float) -> None:
        self._context = z3.Context()
        self._limit = f"(set-option :timeout {max(1, round(seconds * 1000))})"
        self.tell(self._limit)

    def forget(self) -> None:
        """See `Session`."""
        self.tell("(reset)")
        self.tell(self._limit)

    def tell(self, text: str) -> str:
        """See `Session`."""
        try:
            answer = z3.Z3_eval_smtlib2_string(self._context.ref(), text).strip()
        except z3.Z3Exception as error:
            raise SolverFailedError(f"Z3: {error}") from error
        if "(error" in answer:
            raise SolverFailedError(f"Z3: {answer}")
        return str(answer)


class Cvc5Session:
    """cvc5 with its defaults."""

    def __init__(self, seconds: float) -> None:
        self._limit = str(max(1, round(seconds * 1000)))
        self.forget()

    def forget(self) -> None:
        """See `Session`."""
        manager = cvc5.TermManager()
        self._solver = cvc5.Solver(manager)
        self._solver.setOption("incremental", "true")
        self._solver.setOption("produce-models", "true")
        self._solver.setOption("tlimit-per", self._limit)
        self._symbols = cvc5.SymbolManager(manager)
        self._parser = cvc5.InputParser(self._solver, self._symbols)
        self.tell("(set-logic ALL)")

    def tell(self, text: str) -> str:
        """See `Session`."""
        self._parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "slotcheck")
        answered: list[str] = []
        try:
            while not (command := self._parser.nextCommand()).isNull():
                answered.append(str(command.invoke(self._solver, self._symbols)).strip())
        except RuntimeError as error:
            raise SolverFailedError(f"cvc5: {error}") from error
        answer = "\n".join(line for line in answered if line and line != "success")
        if "(error" in answer:
            raise SolverFailedError(f"cvc5: {answer}")
        return answer


SOLVERS: dict[str, type[Z3Session] | type[Cvc5Session]] = {"z3": Z3Session, "cvc5": Cvc5Session}


@cache
def _kept(solver: str, seconds: float) -> Session:
    return SOLVERS[solver](seconds)


def fresh(solver: str, seconds: float) -> Session:
    """A session in which nothing is declared, for one question. Making one anew takes Z3 longer than most questions."""
    session = _kept(solver, seconds)
    session.forget()
    return session


@dataclass(frozen=True)
class Answer:
    """What a solver said to one obligation: "unsat" (proved), "sat" or "unknown"."""

    obligation: str
    said: str
    seconds: float


def answers(obligations: Sequence[Obligation], solver: str, seconds: float) -> Iterator[Answer]:
    """One query for each obligation, in their order, those with the same hypotheses in one session."""
    shared: dict[tuple[int, tuple[Expr, ...]], Session] = {}
    count = Counter((id(obligation.hypotheses), obligation.constants) for obligation in obligations)
    for obligation in obligations:
        started = time.perf_counter()
        key = id(obligation.hypotheses), obligation.constants
        if count[key] == 1:  # nobody shares it: not worth a session
            session = fresh(solver, seconds)
            session.tell(prelude(obligation))
        else:
            if key not in shared:
                shared[key] = SOLVERS[solver](seconds)
                shared[key].tell(prelude(obligation))
            session = shared[key]
        said = session.tell(f"(push 1)\n{body(obligation)}(check-sat)\n(pop 1)\n").partition(" ")[0]
        if said not in ("unsat", "sat", "unknown"):
            said = "unknown"
        yield Answer(obligation.name, said, time.perf_counter() - started)


def solver_versions() -> dict[str, str]:
    """The solvers that answer."""
    return {"z3": z3.get_version_string(), "cvc5": str(cvc5.__version__)}
