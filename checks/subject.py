"""What can be checked: the pool that ships, a rule of the reference model, or any Python class.

A class is checked as ``package.module:Class``. It is made as ``Class(cap)`` (with ``relend=True``, ``order=...`` or
``tie=...`` only where a check needs them) and has the methods of `slotlending.Pool`: ``ask``, ``try_ask``, ``finish``,
``cancel``, ``resize``, ``snapshot`` and the class method ``restore``. A refusal is an exception with a string ``code``.
Its snapshots have the fields of `slotlending.Snapshot` and are hashable; one with more fields may keep more state, and
then nothing is taken to be interchangeable. A method ``held(job)``, if there, is checked too.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from slotcheck.pymodel.rules import RULES, Refusal, Rule, Run, State
from slotcheck.pymodel.subject import Reply

__all__ = ["AnySubject", "ClassSubject", "METHODS", "RuleSubject", "SubjectError", "resolve_subject", "view"]

METHODS = ("ask", "try_ask", "finish", "cancel", "resize", "snapshot", "restore")


class SubjectError(ValueError):
    """The subject cannot be checked: not found, not importable, or short of a method or a field."""


def view(snapshot: Any) -> State:
    """The common view of a snapshot: its nine fields, and nothing else it may hold."""
    if isinstance(snapshot, tuple) and len(snapshot) == len(State._fields):
        return snapshot  # type: ignore[return-value]  # a NamedTuple of the same layout is equal to a State
    runs = frozenset(Run(*(getattr(run, name) for name in Run._fields)) for run in snapshot.runs)
    fields = {name: getattr(snapshot, name) for name in State._fields if name != "runs"}
    return State(runs=runs, **fields)


class ClassSubject:
    """A class with the methods of `slotlending.Pool`. Each call is made on an object restored from a snapshot."""

    def __init__(self, name: str, cls: Any, **options: str) -> None:
        self.name = name
        self.cls = cls
        self.options = options
        #: Whether it can be asked what a job holds.
        self.tells_held = callable(getattr(cls, "held", None))
        #: Whether a snapshot is the view and nothing more, so that what looks the same is the same.
        self.plain = len(_fields(self.new(1, relend=False).snapshot())) == len(State._fields)

    def new(self, cap: Any, *, relend: bool) -> Any:
        """A new pool of this class."""
        options: dict[str, Any] = dict(self.options)
        if relend:
            options["relend"] = True
        return self.cls(cap, **options)

    def initial(self, cap: int, *, relend: bool) -> Any:
        """The snapshot of a new pool."""
        return self.new(cap, relend=relend).snapshot()

    def call(self, snapshot: Any, verb: str, *args: Any) -> Reply:
        """What a call leads to."""
        return self.call_live(self.cls.restore(snapshot), verb, *args)

    def call_live(self, pool: Any, verb: str, *args: Any) -> Reply:
        """The same on a pool that lives on."""
        refused, raised, granted, relent = None, None, (), ()
        try:
            answer = getattr(pool, verb)(*args)
            granted, relent = answer
        except Exception as error:
            code = getattr(error, "code", None)
            if isinstance(code, str):
                refused = code
            else:
                raised = error
        try:
            after = pool.snapshot()
            hash(after)
            held = self._held(pool, after) if self.tells_held else ()
        except Exception as error:
            return Reply(None, raised=raised or error)
        return Reply(after, _pairs(granted), tuple(relent), refused, raised, held)

    def unchanged(self, snapshot: Any, calls: Iterable[tuple[tuple[Any, ...], str | None]]) -> str | None:
        """Make calls that must change nothing: refused with the code given, or (None) answered with nothing granted.

        Returns None if all were, else what went wrong. They are made on one pool, and one by one if that fails.
        """
        calls = list(calls)
        if self._first_fault(snapshot, calls) is None:
            return None
        return next((fault for call in calls if (fault := self._first_fault(snapshot, [call]))), None)

    def _first_fault(self, snapshot: Any, calls: Sequence[tuple[tuple[Any, ...], str | None]]) -> str | None:
        pool = self.cls.restore(snapshot)
        for (verb, *args), code in calls:
            told = f"{verb}({', '.join(map(repr, args))})"
            try:
                granted, relent = getattr(pool, verb)(*args)
            except Exception as error:
                got = getattr(error, "code", None)
                if code is None:
                    return f"{told} has nothing to grant, but raised {type(error).__name__}: {error}"
                if got != code:
                    return f"{told} must be refused with {code}, but raised {type(error).__name__}: {error}"
            else:
                if code is not None:
                    return f"{told} must be refused with {code}, but was answered {granted!r}, {relent!r}"
                if granted or relent:
                    return f"{told} has nothing to grant, but was answered {granted!r}, {relent!r}"
        if pool.snapshot() != snapshot:
            return f"{', '.join(f'{call[0]}{call[1:]!r}' for call, _ in calls)} must change nothing, but did"
        return None

    def _held(self, pool: Any, snapshot: Any) -> tuple[tuple[tuple[str, ...], int], ...]:
        jobs = {run.job[:depth] for run in snapshot.runs for depth in range(1, len(run.job) + 1)}
        return tuple([(job, pool.held(job)) for job in sorted(jobs)])


class RuleSubject:
    """A rule of the reference model."""

    plain = True
    tells_held = False

    def __init__(self, rule: Rule, **options: str) -> None:
        self.name = f"rule:{rule.name}"
        self.rule = rule
        self.options = options

    def initial(self, cap: int, *, relend: bool) -> State:
        """The state of a new pool."""
        return self.rule.initial(cap, relend=relend, **self.options)

    def call(self, snapshot: Any, verb: str, *args: Any) -> Reply:
        """What a call leads to."""
        try:
            outcome = getattr(self.rule, verb)(snapshot, *args)
        except Refusal as refusal:
            return Reply(snapshot, refused=refusal.code)
        return Reply(outcome.state, outcome.granted, outcome.relent)

    def unchanged(self, snapshot: Any, calls: Iterable[tuple[tuple[Any, ...], str | None]]) -> str | None:
        """As `ClassSubject.unchanged`."""
        for (verb, *args), code in calls:
            reply = self.call(snapshot, verb, *args)
            if reply.refused != code or reply.granted or reply.relent or reply.snapshot != snapshot:
                return f"{verb}({', '.join(map(repr, args))}) must give {code or 'nothing'}, but gave {reply[1:4]!r}"
        return None


AnySubject: TypeAlias = ClassSubject | RuleSubject


def resolve_subject(spec: str, *, order: str | None = None, tie: str | None = None) -> AnySubject:
    """The subject that a word on the command line means: ``pool``, ``rule:NAME`` or ``package.module:Class``.

    Raises:
        SubjectError: there is none, or it cannot be checked; the message says why.
    """
    options = {key: value for key, value in (("order", order), ("tie", tie)) if value is not None}
    if spec == "pool":
        spec = "slotlending:Pool"
    kind, _, name = spec.partition(":")
    if kind == "rule":
        if name not in RULES:
            raise SubjectError(f"no rule {name!r}: there are {', '.join(sorted(RULES))}")
        return RuleSubject(RULES[name], **options)
    if not kind or not name:
        raise SubjectError(f"{spec!r} names no subject: use pool, rule:NAME or package.module:Class")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does: users check classes of the folder they stand in
    try:
        module = importlib.import_module(kind)
    except Exception as error:
        raise SubjectError(f"cannot import {kind!r}: {type(error).__name__}: {error}") from error
    cls: Any = module
    for part in name.split("."):
        if not hasattr(cls, part):
            raise SubjectError(f"{kind!r} has no {name!r}")
        cls = getattr(cls, part)
    missing = [method for method in METHODS if not callable(getattr(cls, method, None))]
    if missing:
        raise SubjectError(f"{spec} lacks {', '.join(missing)}: a subject has {', '.join(METHODS)}")
    return _tried(spec, cls, options)


def _tried(spec: str, cls: Any, options: dict[str, str]) -> ClassSubject:
    """The class as a subject, once a first pool of it has been seen to work."""
    try:
        subject = ClassSubject("pool" if spec == "slotlending:Pool" else spec, cls, **options)
        snapshot = subject.initial(1, relend=False)
    except Exception as error:
        shown = ", ".join(["1", *[f"{key}={value!r}" for key, value in options.items()]])
        raise SubjectError(f"{spec}({shown}).snapshot() raised {type(error).__name__}: {error}") from error
    lacking = [name for name in State._fields if not hasattr(snapshot, name)]
    if lacking:
        raise SubjectError(f"a snapshot of {spec} lacks {', '.join(lacking)}: it has {', '.join(State._fields)}")
    try:
        hash(snapshot)
        cls.restore(snapshot).snapshot()
    except Exception as error:
        raise SubjectError(f"a snapshot of {spec} cannot be hashed and restored: {error}") from error
    return subject


def _fields(snapshot: Any) -> Sequence[str]:
    names = getattr(snapshot, "_fields", None) or getattr(snapshot, "__dataclass_fields__", None)
    return tuple(names) if names else ("?",)


def _pairs(granted: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    return tuple([(run, token) for run, token in granted])
