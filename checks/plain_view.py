"""A view as plain data, in the form of the port protocol, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcheck.checks.subject import view
from slotcheck.pymodel.rules import Permit, PermitState, Present, Run, State

__all__ = ["permits_again", "plain_view", "view_again"]


def plain_view(snapshot: Any, index: Mapping[str, int]) -> dict[str, Any]:
    """A view as plain data, in the form of the port protocol, runs in the order of the index."""
    state: State = view(snapshot)

    def place(run: Any) -> tuple[int, str]:
        return index.get(run.run, len(index)), run.run

    stacks = getattr(snapshot, "stacks", None)
    more: dict[str, Any] = {} if stacks is None else {"stacks": [list(stack) for stack in stacks]}
    if hasattr(snapshot, "permits"):
        more["permits"] = {
            permit.component: {"holder": permit.holder, "queue": list(permit.queue), "memo": permit.memo}
            for permit in sorted(snapshot.permits, key=lambda permit: str(permit.component))
        }
        more["present"] = {
            run.run: {
                "component": run.component,
                "key": run.key,
                "lineage": list(run.lineage),
                "parent": run.parent,
                "job": list(run.job),
                "working": run.working,
            }
            for run in sorted(snapshot.present, key=place)
        }
    return {
        "cap": state.cap,
        "taken": state.taken,
        "runs": {
            run.run: {
                "phase": run.phase,
                "token": run.token,
                "lent": run.lent,
                "level": run.level,
                "parent": run.parent,
                "job": list(run.job),
            }
            for run in sorted(state.runs, key=place)
        },
        "waiting": list(state.waiting),
        "children": {parent: list(children) for parent, children in sorted(state.children)},
        "lines": [{"node": list(node), "line": list(line)} for node, line in sorted(state.lines)],
        **more,
    }


def permits_again(plain: Mapping[str, Any], pool: State) -> PermitState:
    """The view with permits that a plain one is of; ``pool`` is that of its pool."""
    present = (
        Present(run=name, **{**run, "job": tuple(run["job"]), "lineage": tuple(run["lineage"])})
        for name, run in plain["present"].items()
    )
    permits = (
        Permit(component, one["holder"], tuple(one["queue"]), one["memo"])
        for component, one in plain["permits"].items()
    )
    return PermitState(pool, frozenset(present), frozenset(permits))


def view_again(plain: Mapping[str, Any], *, order: str, tie: str, relend: bool) -> State:
    """The common view that a plain one is of. What a pool is made with does not stand in it."""
    return State(
        plain["cap"],
        plain["taken"],
        frozenset(Run(run=name, **{**run, "job": tuple(run["job"])}) for name, run in plain["runs"].items()),
        tuple(plain["waiting"]),
        frozenset((parent, tuple(children)) for parent, children in plain["children"].items()),
        frozenset((tuple(line["node"]), tuple(line["line"])) for line in plain["lines"]),
        order,
        tie,
        relend,
    )
