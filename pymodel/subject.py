"""Whatever decides about slots, seen from a workload: a thing with snapshots that answers calls.

`Calls` remembers every call made in every state, so that a subject is asked, and judged, once about each however many
states of a workload share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

__all__ = ["Call", "Calls", "Reply", "Subject"]


class Reply(NamedTuple):
    """What a subject says to one call.

    After a refusal or a crash the snapshot is what the subject left behind: None where it cannot even say.
    """

    snapshot: Any
    granted: tuple[tuple[str, str], ...] = ()
    relent: tuple[str, ...] = ()
    #: The code of a refusal.
    refused: str | None = None
    #: Any other exception.
    raised: BaseException | None = None
    #: What each job holds, as the subject counts it, where it can be asked.
    held: tuple[tuple[tuple[str, ...], int], ...] = ()
    #: The code with which the run was declined for good (by a rule that makes nobody wait, or because it would be a
    #: component below itself); nothing else has changed.
    declined: str | None = None
    #: With permits: who was handed one, and what a resume came to.
    handed: tuple[str, ...] = ()
    came_to: str | None = None


class Subject(Protocol):
    """Whatever decides about slots. Snapshots have the fields of SEMANTICS 2.

    One that makes runs do more than their bodies say has a ``conduct`` (conduct.py).
    """

    name: str

    def initial(self, cap: int, *, relend: bool) -> Any:
        """The snapshot of a new pool."""

    def call(self, snapshot: Any, verb: str, *args: Any) -> Reply:
        """What a call leads to: ``ask`` and ``try_ask`` (run, parent, job), ``finish``, ``cancel``, ``resize``.

        With permits also ``enter`` (run, component, key, parent, job, lineage), ``resume`` and ``fail``.
        """


@dataclass(eq=False, slots=True)
class Call:
    """One call in one state of the subject, and what it led to. The same object wherever it is met again."""

    source: int
    verb: str
    args: tuple[Any, ...]
    reply: Reply
    target: int
    #: What a judge found wrong with it, by name; None as long as nobody has looked.
    judged: dict[str, str] | None = None
    #: What a judge found it to be a witness of; None as long as nobody has looked.
    shows: tuple[str, ...] | None = None


class Calls:
    """The subject's states, numbered as they are found, and every call that was made."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.snapshots: list[Any] = []
        #: For each snapshot its known runs by id.
        self.runs: list[dict[str, Any]] = []
        #: With permits, for each snapshot the runs that are present, by id, and the permits by component.
        self.present: list[dict[str, Any]] = []
        self.permits: list[dict[str, Any]] = []
        self._numbers: dict[Any, int] = {}
        self._made = 0
        self._calls: list[dict[tuple[Any, ...], Call]] = []

    def number(self, snapshot: Any) -> int:
        """The number of a snapshot, a new one if it was never seen."""
        found = self._numbers.get(snapshot)
        if found is None:
            found = self._numbers[snapshot] = len(self.snapshots)
            self.snapshots.append(snapshot)
            self.runs.append({run.run: run for run in snapshot.runs})
            self.present.append({run.run: run for run in getattr(snapshot, "present", ())})
            self.permits.append({permit.component: permit for permit in getattr(snapshot, "permits", ())})
            self._calls.append({})
        return found

    def call(self, source: int, *call: Any) -> Call:
        """Make a call in a state, or recall what it led to."""
        made = self._calls[source].get(call)
        if made is None:
            verb, *args = call
            reply = self.subject.call(self.snapshots[source], verb, *args)
            target = source if reply.snapshot is None else self.number(reply.snapshot)
            made = Call(source, verb, tuple(args), reply, target)
            self._made += 1
            self._calls[source][call] = made
        return made

    def __iter__(self) -> Iterator[Call]:
        for made in self._calls:
            yield from made.values()

    def __len__(self) -> int:
        return self._made
