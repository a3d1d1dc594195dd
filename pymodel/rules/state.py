"""The state that every rule works on, and the draft in which a rule writes the next one.

The fields and their words are those of SEMANTICS 2 and of the port protocol. Nothing is kept that can be counted or
looked up: what a job holds, who the borrower is, which children wait are all found by their definition, slowly and
plainly. That is what makes this the oracle.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

__all__ = ["Draft", "Job", "LiveDraft", "Outcome", "Refusal", "Run", "RunId", "StackState", "State", "drafted"]

RunId: TypeAlias = str
Job: TypeAlias = tuple[str, ...]


class Run(NamedTuple):
    """One known run; see SEMANTICS 2."""

    run: RunId
    phase: str
    token: str
    lent: bool
    level: int
    parent: RunId | None
    job: Job


class State(NamedTuple):
    """A pool's whole state; see SEMANTICS 2."""

    cap: int
    taken: int
    runs: frozenset[Run]
    waiting: tuple[RunId, ...]
    children: frozenset[tuple[RunId, tuple[RunId, ...]]]
    lines: frozenset[tuple[Job, tuple[str, ...]]]
    order: str
    tie: str
    relend: bool


class StackState(NamedTuple):
    """The state under a rule whose slots are workers that run one run on top of another.

    A run under another one counts as having lent its slot; the one on top has it as a loan, child or not.
    """

    cap: int
    taken: int
    runs: frozenset[Run]
    waiting: tuple[RunId, ...]
    children: frozenset[tuple[RunId, tuple[RunId, ...]]]
    lines: frozenset[tuple[Job, tuple[str, ...]]]
    order: str
    tie: str
    relend: bool
    #: For each worker at work its runs from the bottom up: only the last one can go on. The longest at work first.
    stacks: tuple[tuple[RunId, ...], ...]


class Outcome(NamedTuple):
    """What one call led to: the next state, who got a slot and as what, whose pool slot became a loan."""

    state: Any
    granted: tuple[tuple[RunId, str], ...]
    relent: tuple[RunId, ...]


class Refusal(Exception):
    """A call that the rules refuse, with the code of SEMANTICS."""

    def __init__(self, code: str, value: object) -> None:
        super().__init__(f"{code}: {value!r}")
        self.code = code
        self.value = value


class Draft:
    """The next state, being written."""

    def __init__(self, state: State | StackState) -> None:
        self.cap, self.taken, runs, waiting, children, lines, self.order, self.tie, self.relend = state[:9]
        self.runs = {run.run: run for run in runs}
        self.waiting = list(waiting)
        #: For each run with children that have a slot: these, by admission.
        self.children = {parent: list(admitted) for parent, admitted in children}
        self.lines = {node: list(line) for node, line in lines}
        self.stacks = [list(stack) for stack in state.stacks] if isinstance(state, StackState) else None
        self.granted: list[tuple[RunId, str]] = []
        self.relent: list[RunId] = []

    def done(self) -> Outcome:
        """The finished state and answer."""
        state = State(
            self.cap,
            self.taken,
            frozenset(self.runs.values()),
            tuple(self.waiting),
            frozenset((parent, tuple(admitted)) for parent, admitted in self.children.items() if admitted),
            frozenset((node, tuple(line)) for node, line in self.lines.items()),
            self.order,
            self.tie,
            self.relend,
        )
        if self.stacks is not None:
            stacked = StackState(*state, tuple(tuple(stack) for stack in self.stacks))
            return Outcome(stacked, tuple(self.granted), tuple(self.relent))
        return Outcome(state, tuple(self.granted), tuple(self.relent))

    def known_children(self, parent: RunId) -> list[Run]:
        """The known runs that have this parent."""
        return [run for run in self.runs.values() if run.parent == parent]

    def held(self, job: Job) -> int:
        """Pool slots of runs whose job lies at or below this one."""
        return sum(run.token == "pool" and run.job[: len(job)] == job for run in self.runs.values())

    def forget(self, run: RunId) -> Run:
        """The run is known no longer."""
        gone = self.runs.pop(run)
        self.children.pop(run, None)
        for admitted in self.children.values():
            if run in admitted:
                admitted.remove(run)
        return gone

    def admit(self, run: RunId, token: str) -> None:
        """The run has a slot from now on, as this token."""
        admitted = self.runs[run]._replace(phase="in_flight", token=token)
        self.runs[run] = admitted
        if admitted.parent is not None and run not in self.children.get(admitted.parent, []):
            self.children.setdefault(admitted.parent, []).append(run)
        self.granted.append((run, token))


class LiveDraft(Draft):
    """A state that is written over call by call instead of being copied: for long simulations, see ``live.py``."""

    def done(self) -> Outcome:
        """The answer; the state is this very draft, which goes on."""
        granted, relent = tuple(self.granted), tuple(self.relent)
        self.granted, self.relent = [], []
        return Outcome(self, granted, relent)


def drafted(state: State | StackState | LiveDraft) -> Draft:
    """The draft in which a call writes the state that follows this one."""
    return state if isinstance(state, LiveDraft) else Draft(state)
