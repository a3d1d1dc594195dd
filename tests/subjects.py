"""Subjects for the tests of the check: sound, short of something, or faulty in a way of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from slotlending import Answer, Pool, RunState, Snapshot
from slotlending.permit import Permit, Permits, Present


class Sound(Pool):
    """A correct class of somebody else's."""


class WithoutCancel:
    """Short of methods."""

    def __init__(self, cap: int) -> None: ...

    ask = try_ask = finish = resize = snapshot = restore = lambda self: None


@dataclass
class _Unhashable:
    cap: int = 1
    taken: int = 0
    runs: frozenset[Any] = frozenset()
    waiting: tuple[str, ...] = ()
    children: frozenset[Any] = frozenset()
    lines: frozenset[Any] = frozenset()
    order: str = "fifo"
    tie: str = "served"
    relend: bool = False


class UnhashableSnapshot(Pool):
    """Its snapshots cannot be told apart by a set."""

    def snapshot(self) -> Any:
        return _Unhashable()


class ShortSnapshot(Pool):
    """Its snapshots do not tell who waits."""

    def snapshot(self) -> Any:
        return super().snapshot()[:3]


class FailsToStart(Pool):
    """Its constructor raises."""

    def __init__(self, cap: int, **options: Any) -> None:
        raise RuntimeError("no database")


@dataclass(frozen=True)
class Record:
    """A snapshot of another make, with a field more than the view."""

    cap: int
    taken: int
    runs: frozenset[Any]
    waiting: tuple[str, ...]
    children: frozenset[Any]
    lines: frozenset[Any]
    order: str
    tie: str
    relend: bool
    grants: int


class CountsGrants(Pool):
    """Correct, with more in its snapshots than the view: how many grants there were."""

    _grants = 0

    def ask(self, *args: Any, **named: Any) -> Answer:
        answer = super().ask(*args, **named)
        self._grants = min(self._grants + len(answer.granted), 5)
        return answer

    def snapshot(self) -> Any:
        return Record(*super().snapshot(), grants=self._grants)

    @classmethod
    def restore(cls, snapshot: Any) -> CountsGrants:
        plain = Snapshot(*(getattr(snapshot, field.name) for field in fields(snapshot) if field.name != "grants"))
        pool = super().restore(plain)
        assert isinstance(pool, CountsGrants)
        pool._grants = snapshot.grants
        return pool


class FailsThirdGrant(CountsGrants):
    """Raises in the middle: only where siblings are told apart does it get there."""

    def ask(self, *args: Any, **named: Any) -> Answer:
        if self._grants == 2:
            raise ZeroDivisionError("third time unlucky")
        return super().ask(*args, **named)


class Refuses(Pool):
    """Refuses a call that the rules allow."""

    def cancel(self, run: Any) -> Answer:
        from slotlending import NotKnown

        raise NotKnown(run, "never heard of it")


class Exits(Pool):
    """Ends the process politely in the middle."""

    def finish(self, run: Any) -> Answer:
        raise SystemExit(0)


class ExitsHard(Pool):
    """Ends the process without a word."""

    def finish(self, run: Any) -> Answer:
        os._exit(0)


class AnswersBadly(Pool):
    """Grants that are not pairs."""

    def ask(self, *args: Any, **named: Any) -> Any:
        return (("a",),), ()


class CannotRestore(Pool):
    """Restores only empty pools."""

    @classmethod
    def restore(cls, snapshot: Any) -> Pool:
        if snapshot.runs:
            raise OSError("disk full")
        return super().restore(snapshot)


class WithoutRelend(Pool):
    """Takes only a cap."""

    def __init__(self, cap: int) -> None:
        super().__init__(cap)


class _Noted(NamedTuple):
    run: str
    phase: str
    token: str
    lent: bool
    level: int
    parent: str | None
    job: tuple[str, ...]
    note: int


class NotesInRuns(Pool):
    """Correct, with a field more in its run records."""

    def snapshot(self) -> Any:
        plain = super().snapshot()
        return plain._replace(runs=frozenset(_Noted(*run, note=0) for run in plain.runs))

    @classmethod
    def restore(cls, snapshot: Any) -> Pool:
        runs = frozenset(RunState(*run[:-1]) for run in snapshot.runs)
        return super().restore(snapshot._replace(runs=runs))


class Prints(Pool):
    """Talks all the time."""

    def finish(self, run: Any) -> Answer:
        print("finishing", run)
        return super().finish(run)


class Hangs(Pool):
    """A call that never returns."""

    def finish(self, run: Any) -> Answer:
        while True:
            pass


class IgnoresRelend(Pool):
    """Takes relend and forgets it."""

    def __init__(self, cap: int, *, relend: bool = False) -> None:
        super().__init__(cap)


class WrongToken(Pool):
    """Says lent where it should say loan."""

    def ask(self, *args: Any, **named: Any) -> Any:
        granted, relent = super().ask(*args, **named)
        return tuple((run, token.replace("loan", "lent")) for run, token in granted), relent


class WrongLevel(Pool):
    """A snapshot without levels."""

    def snapshot(self) -> Any:
        plain = super().snapshot()
        return plain._replace(runs=frozenset(run._replace(level=None) for run in plain.runs))


class HeldIsNone(Pool):
    """Tells nothing of what a job holds."""

    def held(self, job: Any) -> Any:
        super().held(job)


class _Half(NamedTuple):
    pool: Snapshot
    present: frozenset[Present]
    permits: frozenset[Permit]


class HalfASnapshot(Permits):
    """Permits whose snapshots have that of the pool, but not its fields."""

    def snapshot(self) -> Any:
        return _Half(*super().snapshot())


class WaitsForNobody(Pool):
    """Forgets a run that waits, but not that it waits."""

    def snapshot(self) -> Any:
        plain = super().snapshot()
        return plain._replace(runs=frozenset(run for run in plain.runs if run.phase != "waiting"))


class WithoutHeld:
    """Everything that is asked of a subject, and nothing more."""

    def __init__(self, cap: int, *, relend: bool = False) -> None:
        self._pool = Pool(cap, relend=relend)

    def ask(self, run: Any, parent: Any = None, job: Any = None) -> Any:
        return self._pool.ask(run, parent, job)

    def try_ask(self, run: Any, parent: Any = None, job: Any = None) -> Any:
        return self._pool.try_ask(run, parent, job)

    def finish(self, run: Any) -> Any:
        return self._pool.finish(run)

    def cancel(self, run: Any) -> Any:
        return self._pool.cancel(run)

    def resize(self, cap: Any) -> Any:
        return self._pool.resize(cap)

    def snapshot(self) -> Any:
        return self._pool.snapshot()

    @classmethod
    def restore(cls, snapshot: Any) -> WithoutHeld:
        made = cls(1)
        made._pool = Pool.restore(snapshot)
        return made


class RefusesNoJob(Pool):
    """Takes an empty job for none."""

    def ask(self, run: Any, parent: Any = None, job: Any = None) -> Answer:
        return super().ask(run, parent, job or None)
