"""The check of an asyncio port: every small program, every task cancelled before every callback.

`play` runs one program once; `check_program` runs it again and again, each time with something else done to it before
some callback: a task cancelled, a pair of tasks, the cap changed. After every callback the port's core and the bodies
are judged, and in the end how everything ended. The loop is under control of the test (aio_loop.py), so a program
always takes the same steps, and what was found is found again.
"""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from slotcheck.checks.aio_callers import judge_callers
from slotcheck.checks.aio_loop import StepLoop
from slotcheck.checks.aio_outcome import judge_outcome
from slotcheck.checks.aio_programs import Port, Program, Stage

__all__ = ["Act", "AioTrace", "Played", "ProgramResult", "Ways", "check_program", "check_programs", "play"]

_MORE_STEPS = 2_000  # callbacks that a program of a few runs never needs: one that takes them goes on for ever


class Act(NamedTuple):
    """What is done before a callback: the task of this number is cancelled, or the cap is changed."""

    step: int
    verb: str  # "cancel" or "resize"
    #: The number of the task, in the order in which the loop made them; or the cap.
    what: int


class Played(NamedTuple):
    """One run of a program."""

    #: The callbacks that it took.
    steps: int
    #: For each of them, from the last act on, the numbers of the tasks that lived before it.
    alive: list[tuple[int, ...]]
    #: What is wrong, by invariant, and after which callback that was seen.
    faults: dict[str, tuple[str, int]]
    #: What happened, in words and with the callback in which it did, if that was wanted; and what was done to it.
    events: list[tuple[int, str]]
    acts: list[str]
    #: What was seen of what must be seen.
    witnessed: set[str]
    #: States of the core that were judged, and what the bodies counted.
    states: int
    most_executing: int
    most_in_flight: int


@dataclass(frozen=True)
class AioTrace:
    """One run of one program, up to its end, in which something is wrong."""

    subject: str
    #: The program: its forest, its form and what is out of the ordinary.
    scenario: str
    tree: str
    cap: int
    relend: bool
    form: str
    invariant: str
    message: str
    #: What was done to it, and before which callback, in words.
    acts: tuple[str, ...]
    #: What happened, in words.
    events: tuple[str, ...]
    #: What runs, and what was done to it: enough to play it again.
    program: Program
    done: tuple[Act, ...] = ()

    def __len__(self) -> int:
        return len(self.events)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: value for name, value in asdict(self).items() if name not in ("program", "done")}


@dataclass
class ProgramResult:
    """What running one program in every way found."""

    program: Program
    #: Callbacks of the program alone; of all its runs.
    steps: int = 0
    callbacks: int = 0
    #: Runs of it with one cancel, with two acts, and with one resize.
    cancels: int = 0
    pairs: int = 0
    resizes: int = 0
    #: States of the core that were judged.
    states: int = 0
    most_executing: int = 0
    most_in_flight: int = 0
    witnessed: set[str] = field(default_factory=set)
    traces: list[AioTrace] = field(default_factory=list)


def play(program: Program, port: Port, acts: Sequence[Act] = (), *, record: bool = False, tell: bool = False) -> Played:
    """Run a program once, and do to it what the acts say.

    Args:
        program: what runs.
        port: what it runs on.
        acts: by step.
        record: whether to find out which tasks live before each callback, from the last act on.
        tell: whether to keep what happens in words.
    """
    loop = StepLoop(eager=program.eager)  # type: ignore[abstract]  # what it lacks raises when it is called
    to_do = list(acts)
    last = to_do[-1].step if to_do else 0
    cancelled: list[asyncio.Task[Any]] = []
    told: list[str] = []
    alive: list[tuple[int, ...]] = []
    with loop.running():
        stage = Stage(program, port, loop, reads=not acts, tell=tell)
        watch = stage.watch
        made = loop.made
        while not loop.idle():
            while to_do and to_do[0].step <= loop.steps:
                told.append(_do(to_do.pop(0), stage, cancelled))
            if record and loop.steps >= last:
                alive.append(tuple([number for number, one in enumerate(made) if not one.task.done()]))
            loop.step()
            watch.look()
            if loop.steps > _MORE_STEPS:
                watch.fault("NoTaskLeft", f"the program goes on after {_MORE_STEPS} callbacks")
                break
        watch.drained()
        if all(one.task.done() for one in made):
            judge_outcome(stage, cancelled)
        steps, faults, events = loop.steps, dict(watch.faults), list(watch.events)
        watch.stop()
        _clear(loop)
    counts = watch.states, watch.most_executing, watch.most_in_flight
    return Played(steps, alive, faults, events, told, watch.witnessed, *counts)


def _do(act: Act, stage: Stage, cancelled: list[asyncio.Task[Any]]) -> str:
    watch = stage.watch
    when = f"before callback {watch.loop.steps + 1}"
    if act.verb == "resize":
        try:
            stage.pool.resize(act.what)
            watch.resized(act.what)
        except Exception as error:
            watch.fault("ErrorsDelivered", f"resize({act.what}) raised {type(error).__name__}: {error}")
        return f"cap := {act.what} {when}"
    task = watch.loop.made[act.what].task
    told = f"cancel the task of {task.get_name()} {when}"
    watch.say(told)
    if not task.done():
        cancelled.append(task)
        task.cancel()
    return told


def _clear(loop: StepLoop) -> None:
    """End what a faulty port has left, so that it does not disturb the next run."""
    for _ in range(3):
        for made in loop.alive():
            made.task.cancel()
        steps = 0
        while loop.step() and steps < _MORE_STEPS:
            steps += 1
    loop.close()


class Ways(NamedTuple):
    """What is done to a program, beside running it alone."""

    #: Whether every task is cancelled before every callback; and whether every two such cancels are tried too.
    cancels: bool = True
    pairs: bool = False
    #: Whether the cap is changed before every callback.
    resizes: bool = True


def check_program(program: Program, port: Port, ways: Ways = Ways()) -> ProgramResult:  # noqa: B008  # never changed
    """Run a program alone, and in these ways."""
    (result,) = check_programs([(program, ways)], port)
    return result


def check_programs(programs: Sequence[tuple[Program, Ways]], port: Port) -> list[ProgramResult]:
    """`check_program` for several programs: faster, since garbage is collected once."""
    checks = [_Checking(program, port, ways) for program, ways in programs]
    gc.freeze()  # what is there now stays: to look for garbage in it takes longer than to run a program
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for check in checks:
                check.all()
            gc.collect()  # that a coroutine was never awaited is told when it is collected
            if told:
                for check in checks:
                    check.find_warned(told)
            for check in checks:
                check.tell()
            gc.collect()
    finally:
        gc.unfreeze()
    return [check.result for check in checks]


class _Checking:
    def __init__(self, program: Program, port: Port, ways: Ways) -> None:
        self.program = program
        self.port = port
        self.ways = ways
        self.result = ProgramResult(program)
        #: For each invariant that is violated the smallest way to see it: fewest acts, then fewest callbacks.
        self.found: dict[str, tuple[int, int, tuple[Act, ...]]] = {}
        self.done: list[tuple[Act, ...]] = []
        #: Messages of faults that no run of the program has.
        self.beside: dict[str, str] = {}

    def all(self) -> None:
        """Run it in every way."""
        program, result, pairs = self.program, self.result, self.ways.pairs and not self.program.base
        alone = self.run((), record=self.ways.cancels)
        result.steps = alone.steps
        result.most_executing, result.most_in_flight = alone.most_executing, alone.most_in_flight
        singles = [(act, self.run((act,), record=pairs)) for act in _cancels(alone.alive, 0)]
        result.cancels += len(singles)
        if program.cap == len(program.runs) == 1 and not (program.raises or program.resize):
            refused = judge_callers(self.port)  # about no program: once for each form is enough
            if refused is not None:
                self.found["OthersRefused"] = 0, 0, ()
                self.beside["OthersRefused"] = refused
        if self.ways.resizes and self.program.raises is None and self.program.resize is None:
            for act in _resizes(self.program.cap, alone.steps):
                self.run((act,))
                result.resizes += 1
        if pairs:
            for first, played in singles:
                for second in _cancels(played.alive, first.step):
                    if second.step > first.step or second.what > first.what:
                        self.run((first, second))
                        result.pairs += 1

    def run(self, acts: tuple[Act, ...], *, record: bool = False) -> Played:
        played = play(self.program, self.port, acts, record=record)
        self.done.append(acts)
        self.result.callbacks += played.steps
        self.result.states += played.states
        self.result.witnessed |= played.witnessed
        for invariant, (_, step) in played.faults.items():
            way = len(acts), step, acts
            if invariant not in self.found or way < self.found[invariant]:
                self.found[invariant] = way
        return played

    def tell(self) -> None:
        """Go the smallest ways again, this time in words."""
        program = self.program
        for invariant, (_, _, acts) in self.found.items():
            played = play(program, self.port, acts, tell=True)
            message, step = played.faults.get(invariant, (self.beside.get(invariant, ""), played.steps))
            events = tuple(event for at, event in played.events if at <= step)
            told = _trace(self.port, program, invariant, message, played.acts, events)
            self.result.traces.append(replace(told, done=acts))

    def find_warned(self, told: list[warnings.WarningMessage]) -> None:
        """Find out which of the runs gives a warning, if one of this program does."""
        if "NothingHidden" in self.found:
            return
        for acts in self.done:
            gc.collect()
            told.clear()
            played = play(self.program, self.port, acts)
            gc.collect()
            if told:
                self.found["NothingHidden"] = len(acts), played.steps, acts
                self.beside["NothingHidden"] = f"a warning: {told[0].message}"
                return


def _trace(
    port: Port, program: Program, invariant: str, message: str, acts: Sequence[str], events: tuple[str, ...]
) -> AioTrace:
    return AioTrace(
        subject=port.name,
        scenario=program.name,
        tree=program.tree,
        cap=program.cap,
        relend=program.relend,
        form=program.form,
        invariant=invariant,
        message=message,
        acts=tuple(acts),
        events=events,
        program=program,
    )


def _cancels(alive: Sequence[tuple[int, ...]], begin: int) -> Iterator[Act]:
    for step, tasks in enumerate(alive, begin):
        for task in tasks:
            yield Act(step, "cancel", task)


def _resizes(cap: int, steps: int) -> Iterator[Act]:
    for step in range(steps):
        for other in {1, cap + 1} - {cap}:
            yield Act(step, "resize", other)
