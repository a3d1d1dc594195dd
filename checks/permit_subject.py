"""What is checked where runs need permits: `slotlending.permit.Permits` on the subject's pool, or R9 on the rule.

The subject of a check decides about slots. Where a scenario has components, the permits that ship stand on it, so a
user's pool is checked under permits too. Permits of one's own (a class ``package.module:Class`` with the methods of
`Permits`) are checked on the pool that ships.
"""

from __future__ import annotations

from typing import Any

from slotcheck.checks.subject import METHODS, AnySubject, ClassSubject, RuleSubject, SubjectError, view
from slotcheck.pymodel.rules import BuildPermit, Permit, PermitState, Present, Refusal, State
from slotcheck.pymodel.subject import Reply
from slotlending.permit import Permits
from slotlending.pool import Pool

__all__ = [
    "PERMIT_METHODS",
    "PermitRuleSubject",
    "PermitSubject",
    "permit_view",
    "permits_of_class",
    "seen",
    "takes_permits",
    "with_permits",
]

PERMIT_METHODS = (*METHODS, "enter", "resume", "fail")

#: The run would be below its own component: whoever mounts it is told, and goes on without it.
_DECLINED = "component_above"


def permit_view(snapshot: Any) -> PermitState:
    """The common view of a snapshot of permits."""
    present = frozenset(Present(*(getattr(run, name) for name in Present._fields)) for run in snapshot.present)
    permits = frozenset(Permit(*(getattr(one, name) for name in Permit._fields)) for one in snapshot.permits)
    return PermitState(view(snapshot.pool), present, permits)


def seen(snapshot: Any) -> State | PermitState:
    """The common view of any snapshot, with permits where it has them."""
    return permit_view(snapshot) if hasattr(snapshot, "permits") else view(snapshot)


class _Judging:
    """A user's pool, with the two questions that permits ask beside making calls: slow, and told by its snapshots."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def state(self, run: Any) -> Any:
        return next((known for known in self._pool.snapshot().runs if known.run == run), None)

    def judge(self, run: Any, parent: Any = None, job: Any = None) -> Any:
        trial = type(self._pool).restore(self._pool.snapshot())
        trial.ask(run, parent, job)  # raises what it refuses
        return next(known.job for known in trial.snapshot().runs if known.run == run)


class _Maker:
    """Makes and restores permits on pools of one class: what `ClassSubject` takes for a class."""

    def __init__(self, permits: Any, pool: Any) -> None:
        self._permits, self._pool = permits, pool
        self._told = hasattr(pool, "judge") and hasattr(pool, "state")
        ours = permits.__module__.partition(".")[0] in ("slotlending", "slotcheck")
        self.__module__ = pool.__module__ if ours else permits.__module__
        if hasattr(pool, "held"):
            self.held = pool.held

    def __call__(self, cap: Any, **options: Any) -> Any:
        return self._permits(self._of(self._pool(cap, **options)))

    def restore(self, snapshot: Any) -> Any:
        return self._permits.restore(snapshot, lambda of_pool: self._of(self._pool.restore(of_pool)))

    def _of(self, pool: Any) -> Any:
        return pool if self._told else _Judging(pool)


class PermitSubject(ClassSubject):
    """A class of permits on a class of pools. Each call is made on an object restored from a snapshot."""

    def __init__(self, pool: ClassSubject, permits: Any = Permits, name: str | None = None) -> None:
        super().__init__(name or pool.name, _Maker(permits, pool.cls), **pool.options)
        self.plain = False  # nothing is taken to be interchangeable

    def call_live(self, pool: Any, verb: str, *args: Any) -> Reply:
        """What a call leads to, on permits that live on."""
        reply = super().call_live(pool, verb, *args)
        if reply.refused == _DECLINED:
            return Reply(reply.snapshot, held=reply.held, declined=_DECLINED)
        return reply

    def _read(self, answer: Any) -> tuple[Any, Any, Any, str | None]:
        granted, relent, handed, came_to = answer
        return granted, relent, handed, came_to


class PermitRuleSubject(RuleSubject):
    """R9 on a rule of the reference model."""

    def __init__(self, of: RuleSubject) -> None:
        super().__init__(of.rule, **of.options)
        self.permits = BuildPermit(of.rule)
        self.plain = False

    def declared(self, levels: int) -> PermitRuleSubject:
        """The subject for trees of so many levels, where the rule must know that ahead."""
        declared = super().declared(levels)
        return self if declared is self else PermitRuleSubject(declared)

    def initial(self, cap: int, *, relend: bool) -> Any:
        """The state of a new pool, nobody present."""
        return self.permits.initial(cap, relend=relend, **self.options)

    def call(self, snapshot: Any, verb: str, *args: Any) -> Reply:
        """What a call leads to."""
        try:
            outcome = getattr(self.permits, verb)(snapshot, *args)
        except Refusal as refusal:
            if refusal.code == _DECLINED or refusal.code in self.rule.declines:
                return Reply(snapshot, declined=refusal.code)
            return Reply(snapshot, refused=refusal.code)
        return Reply(outcome.state, outcome.granted, outcome.relent, handed=outcome.handed, came_to=outcome.came_to)


def takes_permits(subject: AnySubject) -> bool:
    """Whether permits can stand on the subject: not on a rule that makes runs do more than their bodies say, or that
    answers no where lending lets a run wait.
    """
    return not isinstance(subject, RuleSubject) or not (subject.conduct.acts or subject.rule.declines)


def with_permits(subject: AnySubject) -> PermitSubject | PermitRuleSubject:
    """The subject, with permits on top of it.

    Raises:
        SubjectError: they cannot stand on it.
    """
    if not takes_permits(subject):
        raise SubjectError(f"{subject.name}: permits do not stand on a rule that acts between a run's own steps")
    if isinstance(subject, PermitSubject | PermitRuleSubject):
        return subject
    return PermitRuleSubject(subject) if isinstance(subject, RuleSubject) else PermitSubject(subject)


def permits_of_class(spec: str, cls: Any, options: dict[str, str]) -> PermitSubject:
    """Permits of one's own, on the pool that ships.

    Raises:
        SubjectError: they lack a method, or cannot be made.
    """
    missing = [method for method in PERMIT_METHODS if not callable(getattr(cls, method, None))]
    if missing:
        raise SubjectError(f"{spec} lacks {', '.join(missing)}: permits have {', '.join(PERMIT_METHODS)}")
    subject = PermitSubject(ClassSubject("pool", Pool, **options), cls, spec)
    try:
        snapshot = subject.initial(1, relend=False)
        hash(snapshot)
        permit_view(snapshot)
        subject.cls.restore(snapshot).snapshot()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SubjectError(
            f"{spec} cannot be made from a pool and restored: {type(error).__name__}: {error}"
        ) from error
    return subject
