"""R6 by its definition: which waiter gets a freed pool slot, and what becomes of the lines."""

from __future__ import annotations

from collections.abc import Sequence

from slotcheck.pymodel.rules.state import Draft, Job, RunId

__all__ = ["join", "leave", "pick"]


def pick(draft: Draft, among: Sequence[RunId] | None = None) -> RunId:
    """The waiter whom the next pool slot goes to, of all or of some (in order of arrival)."""
    waiting = draft.waiting if among is None else among
    if draft.order == "fifo":
        return waiting[0]
    node: Job = ()
    while True:
        below = [draft.runs[run].job for run in waiting if draft.runs[run].job[: len(node)] == node]
        if node in below:
            return next(run for run in waiting if draft.runs[run].job == node)
        children = {job[: len(node) + 1] for job in below}
        node = min(children, key=lambda child: (draft.held(child), _place(draft, child)))


def join(draft: Draft, run: RunId) -> None:
    """The run starts to wait."""
    draft.waiting.append(run)
    if draft.order == "fewest_held" and draft.tie == "served":
        for node, name in _steps(draft.runs[run].job):
            line = draft.lines.setdefault(node, [])
            if name not in line:
                line.append(name)


def leave(draft: Draft, run: RunId, *, pool_slot: bool) -> None:
    """The run, still known, waits no longer: it got a pool slot, or something else ended its wait."""
    draft.waiting.remove(run)
    if draft.order == "fewest_held" and draft.tie == "served":
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


def _place(draft: Draft, child: Job) -> int:
    if draft.tie == "served":
        return draft.lines[child[:-1]].index(child[-1])
    return next(at for at, run in enumerate(draft.waiting) if draft.runs[run].job[: len(child)] == child)


def _steps(job: Job) -> list[tuple[Job, str]]:
    """From the root down: every node above the job, and the name of its child on the way."""
    return [(job[:depth], job[depth]) for depth in range(len(job))]
