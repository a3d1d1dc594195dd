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
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, TypeAlias

from slotcheck.pymodel.rules import RULES, Refusal, Rule, Run, State
from slotcheck.pymodel.subject import Reply

__all__ = [
    "AnySubject",
    "ClassSubject",
    "METHODS",
    "RuleSubject",
    "SubjectError",
    "import_class",
    "is_plain",
    "resolve_subject",
    "takes",
    "view",
]

_TOKENS = ("pool", "loan")

METHODS = ("ask", "try_ask", "finish", "cancel", "resize", "snapshot", "restore")


class SubjectError(ValueError):
    """The subject cannot be checked: not found, not importable, or short of a method or a field."""


class Answered(NamedTuple):
    """What a call was answered."""

    granted: tuple[tuple[str, str], ...] = ()
    relent: tuple[str, ...] = ()
    #: The code of a refusal, or what it raised instead.
    refused: str | None = None
    raised: BaseException | None = None
    #: With permits: who was handed one, and what a resume came to.
    handed: tuple[str, ...] = ()
    came_to: str | None = None


def view(snapshot: Any) -> State:
    """The common view of a snapshot: its nine fields by name, and nothing else that it may hold."""
    if is_plain(snapshot):
        return snapshot  # type: ignore[no-any-return]  # a NamedTuple of the same layout is equal to a State
    runs = frozenset(Run(*(getattr(run, name) for name in Run._fields)) for run in snapshot.runs)
    fields = {name: getattr(snapshot, name) for name in State._fields if name != "runs"}
    for name in ("children", "lines"):
        fields[name] = frozenset((key, tuple(items)) for key, items in fields[name])
    return State(runs=runs, **{**fields, "waiting": tuple(fields["waiting"])})


def is_plain(snapshot: Any) -> bool:
    """Whether a snapshot is the view and nothing more, so that what looks the same is the same."""
    return getattr(snapshot, "_fields", None) == State._fields and all(
        getattr(run, "_fields", None) == Run._fields for run in snapshot.runs
    )


class ClassSubject:
    """A class with the methods of `slotlending.Pool`. Each call is made on an object restored from a snapshot."""

    def __init__(self, name: str, cls: Any, **options: str) -> None:
        self.name = name
        self.cls = cls
        self.options = options
        #: Whether it is of this project, so that its snapshots are known to be of the right form.
        self.ours = cls.__module__.partition(".")[0] in ("slotlending", "slotcheck")
        #: Whether it can be asked what a job holds.
        self.tells_held = callable(getattr(cls, "held", None))
        #: Whether its snapshots are the view and nothing more. Judged on one with a lender, a borrower and a waiter.
        self.plain = self._looks_plain()

    def _looks_plain(self) -> bool:
        try:
            pool = self.new(1, relend=False)
            for run, parent in (("a", None), ("b", "a"), ("c", "a")):
                pool.ask(run, parent)
            return is_plain(pool.snapshot())
        except KeyboardInterrupt:
            raise
        except BaseException:
            return False  # the check will show why

    def made_with(self, **options: str) -> ClassSubject:
        """The subject whose pools are made with these options instead."""
        other = copy(self)
        other.options = options
        return other

    def new(self, cap: Any, *, relend: bool, **more: str) -> Any:
        """A new pool of this class."""
        options: dict[str, Any] = {**self.options, **more}
        if relend:
            options["relend"] = True
        return self.cls(cap, **options)

    def initial(self, cap: int, *, relend: bool) -> Any:
        """The snapshot of a new pool.

        Raises:
            SubjectError: it is not of the form of a snapshot.
        """
        snapshot = self.new(cap, relend=relend).snapshot()
        if not self.ours:
            try:
                _judge_form(snapshot)
            except (AttributeError, ValueError) as error:
                raise SubjectError(f"{self.name}, a new pool: {error}") from error
        return snapshot

    def call(self, snapshot: Any, verb: str, *args: Any) -> Reply:
        """What a call leads to."""
        try:
            pool = self.cls.restore(snapshot)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Reply(None, raised=error)
        return self.call_live(pool, verb, *args)

    def call_live(self, pool: Any, verb: str, *args: Any) -> Reply:
        """The same on a pool that lives on."""
        answered = self._answer(pool, verb, args)
        try:
            after = pool.snapshot()
            hash(after)
            if not self.ours:
                _judge_form(after)
            held = self._held(pool, after) if self.tells_held else ()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Reply(None, raised=answered.raised or error)
        granted, relent, refused, raised, handed, came_to = answered
        return Reply(after, granted, relent, refused, raised, held, None, handed, came_to)

    def _answer(self, pool: Any, verb: str, args: Sequence[Any]) -> Answered:
        """Make one call. Whatever the subject does, this returns: granted, relent, the code of a refusal, or what it
        raised instead (an answer of the wrong form counts as that, and so does an attempt to exit).
        """
        try:
            granted, relent, handed, came_to = self._read(getattr(pool, verb)(*args))
            grants = tuple([(run, token) for run, token in granted])
            for run, token in grants:
                if token not in _TOKENS:
                    raise ValueError(f"granted ({run!r}, {token!r}): a token is 'pool' or 'loan'")
            return Answered(grants, tuple(relent), None, None, tuple(handed), came_to)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            code = getattr(error, "code", None)
            return Answered(refused=code) if isinstance(code, str) else Answered(raised=error)

    def _read(self, answer: Any) -> tuple[Any, Any, Any, str | None]:
        """The parts of an answer: granted, relent, and with permits who was handed one and what a resume came to."""
        granted, relent = answer
        return granted, relent, (), None

    def unchanged(self, snapshot: Any, calls: Iterable[tuple[tuple[Any, ...], str | None]]) -> str | None:
        """Make calls that must change nothing: refused with the code given, or (None) answered with nothing granted.

        Returns None if all were, else what went wrong. They are made on one pool, and one by one if that fails.
        """
        calls = list(calls)
        if self._first_fault(snapshot, calls) is None:
            return None
        return next((fault for call in calls if (fault := self._first_fault(snapshot, [call]))), None)

    def _first_fault(self, snapshot: Any, calls: Sequence[tuple[tuple[Any, ...], str | None]]) -> str | None:
        try:
            pool = self.cls.restore(snapshot)
            for (verb, *args), code in calls:
                fault = _fault(verb, args, code, self._answer(pool, verb, args))
                if fault is not None:
                    return fault
            changed = pool.snapshot() != snapshot
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return f"a pool cannot be restored and snapshot: {type(error).__name__}: {error}"
        told = ", ".join(f"{verb}({', '.join(map(repr, args))})" for (verb, *args), _ in calls)
        return f"{told} must change nothing, but did" if changed else None

    def _held(self, pool: Any, snapshot: Any) -> tuple[tuple[tuple[str, ...], int], ...]:
        jobs = {run.job[:depth] for run in snapshot.runs for depth in range(1, len(run.job) + 1)}
        held = tuple([(job, pool.held(job)) for job in sorted(jobs)])
        for job, slots in held:
            if type(slots) is not int:
                raise TypeError(f"held({job!r}) is {slots!r}, which is no number of slots")
        return held


_FORMS: Mapping[str, type] = {
    "cap": int,
    "taken": int,
    "runs": Collection,
    "waiting": tuple,
    "children": Collection,
    "lines": Collection,
    "order": str,
    "tie": str,
    "relend": bool,
}


def _judge_form(snapshot: Any) -> None:
    """Raise a ValueError that names the first field of a snapshot that is not of the form of `slotlending.Snapshot`."""
    for name, form in _FORMS.items():
        if not isinstance(getattr(snapshot, name), form):
            raise ValueError(f"snapshot: {name} is {getattr(snapshot, name)!r}, not of type {form.__name__}")
    for run in snapshot.runs:
        if run.phase not in ("waiting", "in_flight", "parked"):
            raise ValueError(f"snapshot: phase of {run.run!r} is {run.phase!r}, not waiting, in_flight or parked")
        if run.token not in ("none", *_TOKENS):
            raise ValueError(f"snapshot: token of {run.run!r} is {run.token!r}, not none, pool or loan")
        if not isinstance(run.level, int) or run.level < 1:
            raise ValueError(f"snapshot: level of {run.run!r} is {run.level!r}, not an integer >= 1")
        if not isinstance(run.job, tuple):
            raise ValueError(f"snapshot: job of {run.run!r} is {run.job!r}, not a tuple of names")
    known = {run.run for run in snapshot.runs}
    for run in snapshot.waiting:
        if run not in known:
            raise ValueError(f"snapshot: waiting names {run!r}, which is no run")


def _fault(verb: str, args: Sequence[Any], code: str | None, answered: Answered) -> str | None:
    """What is wrong with how a call was answered that must be refused with this code, or (None) grant nothing."""
    granted, relent, refused, raised = answered[:4]
    told = f"{verb}({', '.join(map(repr, args))})"
    must = f"must be refused with {code}" if code is not None else "has nothing to grant"
    if raised is not None:
        return f"{told} {must}, but raised {type(raised).__name__}: {raised}"
    if refused != code:
        return f"{told} {must}, but was " + (
            f"refused with {refused}" if refused else f"answered {granted!r}, {relent!r}"
        )
    if granted or relent:
        return f"{told} {must}, but was answered {granted!r}, {relent!r}"
    return None


class RuleSubject:
    """A rule of the reference model."""

    plain = True
    tells_held = False

    def __init__(self, rule: Rule, **options: str) -> None:
        self.name = f"rule:{rule.name}"
        self.rule = rule
        self.conduct = rule.conduct
        self.options = options

    def made_with(self, **options: str) -> RuleSubject:
        """The subject whose pools are made with these options instead."""
        other = copy(self)
        other.options = options
        return other

    def declared(self, levels: int) -> RuleSubject:
        """The subject for trees of so many levels, where the rule must know that ahead."""
        rule = self.rule.declared(levels)
        return self if rule is self.rule else RuleSubject(rule, **self.options)

    def initial(self, cap: int, *, relend: bool) -> Any:
        """The state of a new pool."""
        return self.rule.initial(cap, relend=relend, **self.options)

    def call(self, snapshot: Any, verb: str, *args: Any) -> Reply:
        """What a call leads to."""
        try:
            outcome = getattr(self.rule, verb)(snapshot, *args)
        except Refusal as refusal:
            if refusal.code in self.rule.declines:
                return Reply(snapshot, declined=refusal.code)
            return Reply(snapshot, refused=refusal.code)
        return Reply(outcome.state, outcome.granted, outcome.relent)

    def unchanged(self, snapshot: Any, calls: Iterable[tuple[tuple[Any, ...], str | None]]) -> str | None:
        """As `ClassSubject.unchanged`."""
        for (verb, *args), code in calls:
            reply = self.call(snapshot, verb, *args)
            refused = reply.refused or reply.declined
            fault = _fault(verb, args, code, Answered(reply.granted, reply.relent, refused, reply.raised))
            if fault is not None:
                return fault
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
        rule = RuleSubject(RULES[name], **options)
        try:
            rule.initial(1, relend=False)
        except ValueError as error:
            raise SubjectError(f"{spec}: {error}") from error
        return rule
    if not kind or not name:
        raise SubjectError(f"{spec!r} names no subject: use pool, rule:NAME or package.module:Class")
    cls = import_class(kind, name)[1]
    if callable(getattr(cls, "enter", None)):
        from slotcheck.checks.permit_subject import permits_of_class  # which stands on this module

        return permits_of_class(spec, cls, options)
    missing = [method for method in METHODS if not callable(getattr(cls, method, None))]
    if missing:
        raise SubjectError(f"{spec} lacks {', '.join(missing)}: a subject has {', '.join(METHODS)}")
    return _tried(spec, cls, options)


def import_class(module_name: str, name: str) -> tuple[Any, Any]:
    """The module of this name, found as `python -m` finds it, and the class (``Outer.Inner`` too) in it.

    Raises:
        SubjectError: there is none; the message says why.
    """
    if not all(part.isidentifier() for part in (*module_name.split("."), *name.split("."))):
        raise SubjectError(f"{f'{module_name}:{name}'!r} names no subject: use pool, rule:NAME or package.module:Class")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does: users check classes of the folder they stand in
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module that exits when imported too
        raise SubjectError(f"cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    cls: Any = module
    for part in name.split("."):
        if not hasattr(cls, part):
            raise SubjectError(f"{module_name!r} has no {name!r}")
        cls = getattr(cls, part)
    return module, cls


def _tried(spec: str, cls: Any, options: dict[str, str]) -> ClassSubject:
    """The class as a subject, once first pools of it have been seen to work."""
    shown = ", ".join(["1", *[f"{key}={value!r}" for key, value in options.items()]])
    try:
        snapshot = cls(1, **options).snapshot()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SubjectError(f"{spec}({shown}).snapshot() raised {type(error).__name__}: {error}") from error
    lacking = [name for name in State._fields if not hasattr(snapshot, name)]
    if len(lacking) == len(State._fields):
        told = f"an object with the fields {', '.join(State._fields)}"
        raise SubjectError(f"{spec}({shown}).snapshot() returned {snapshot!r}, not {told}")
    if lacking:
        told = f"a snapshot has the fields {', '.join(State._fields)}"
        raise SubjectError(f"a snapshot of {spec} lacks {', '.join(lacking)}: {told}")
    try:
        hash(snapshot)
        cls.restore(snapshot).snapshot()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SubjectError(f"a snapshot of {spec} cannot be hashed and restored: {error}") from error
    return ClassSubject("pool" if spec == "slotlending:Pool" else spec, cls, **options)


def takes(subject: AnySubject, **options: Any) -> bool:
    """Whether pools of this subject can be made with these options (``order``, ``tie``, ``relend``)."""
    try:
        maker = subject.cls if isinstance(subject, ClassSubject) else subject.rule.initial
        maker(1, **{**subject.options, **options})
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False
    return True
