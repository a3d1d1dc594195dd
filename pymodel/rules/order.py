"""R6 by its definition: which waiter gets a freed pool slot, and what becomes of the lines.

An order is its name, with a parameter after a colon where it has one: ``fewest_held``, ``fifo``, ``round_robin``,
``strict_priority:NAME,...`` (by the names of jobs, at each node of their tree) or ``fixed_share:N`` (of slots a job).
"""

from __future__ import annotations

from collections.abc import Sequence

from slotcheck.pymodel.rules.state import Draft, Job, RunId

__all__ = ["ORDERS", "has_room", "join", "judge", "leave", "limits", "names_jobs", "pick"]

ORDERS = ("fewest_held", "fifo", "round_robin", "strict_priority:NAME,...", "fixed_share:N")


def judge(order: str) -> None:
    """Raise a ValueError that says what is wrong if there is no such order."""
    kind, colon, parameter = str(order).partition(":")
    if kind == "strict_priority":
        names = parameter.split(",")
        if "" in names or len(names) != len(set(names)):
            raise ValueError(f"strict_priority takes different names of jobs, as in strict_priority:a,b; not {order!r}")
    elif kind == "fixed_share":
        if not (parameter.isascii() and parameter.isdecimal() and len(parameter) <= 9 and int(parameter) >= 1):
            raise ValueError(f"fixed_share takes a number of slots >= 1, as in fixed_share:4; not {order!r}")
    elif colon or order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}")


def limits(order: str) -> bool:
    """Whether a slot may stay free while runs wait."""
    return order.startswith("fixed_share")


def names_jobs(order: str) -> bool:
    """Whether it matters what a job is called."""
    return order.startswith("strict_priority")


def has_room(draft: Draft, run: RunId) -> bool:
    """Whether the run's job may take a pool slot more."""
    return not limits(draft.order) or draft.held(draft.runs[run].job) < int(draft.order.partition(":")[2])


def pick(draft: Draft, among: Sequence[RunId] | None = None) -> RunId | None:
    """The waiter whom the next pool slot goes to, of all or of some (in order of arrival); None if it is nobody's."""
    waiting = draft.waiting if among is None else among
    if draft.order == "fifo" or limits(draft.order):
        return next((run for run in waiting if has_room(draft, run)), None)
    if not waiting:
        return None
    node: Job = ()
    while True:
        below = [draft.runs[run].job for run in waiting if draft.runs[run].job[: len(node)] == node]
        if node in below:
            return next(run for run in waiting if draft.runs[run].job == node)
        children = {job[: len(node) + 1] for job in below}
        node = min(children, key=lambda child: (_rank(draft, child), _place(draft, child)))


def join(draft: Draft, run: RunId) -> None:
    """The run starts to wait."""
    draft.waiting.append(run)
    if _has_lines(draft):
        for node, name in _steps(draft.runs[run].job):
            line = draft.lines.setdefault(node, [])
            if name not in line:
                line.append(name)


def leave(draft: Draft, run: RunId, *, pool_slot: bool) -> None:
    """The run, still known, waits no longer: it got a pool slot, or something else ended its wait."""
    draft.waiting.remove(run)
    if _has_lines(draft):
        for node, name in _steps(draft.runs[run].job):
            line = draft.lines[node]
            child = (*node, name)
            others = any(draft.runs[other].job[: len(child)] == child for other in draft.waiting)
            if pool_slot or not others:
                line.remove(name)
            if pool_slot and others:
                line.append(name)
            if not line:
                del draft.lines[node]


def _has_lines(draft: Draft) -> bool:
    return draft.order == "round_robin" or (draft.order == "fewest_held" and draft.tie == "served")


def _rank(draft: Draft, child: Job) -> int:
    """What counts before the place."""
    if draft.order == "fewest_held":
        return draft.held(child)
    if draft.order == "round_robin":
        return 0
    names = draft.order.partition(":")[2].split(",")
    return names.index(child[-1]) if child[-1] in names else len(names)


def _place(draft: Draft, child: Job) -> int:
    if _has_lines(draft):
        return draft.lines[child[:-1]].index(child[-1])
    return next(at for at, run in enumerate(draft.waiting) if draft.runs[run].job[: len(child)] == child)


def _steps(job: Job) -> list[tuple[Job, str]]:
    """From the root down: every node above the job, and the name of its child on the way."""
    return [(job[:depth], job[depth]) for depth in range(len(job))]
