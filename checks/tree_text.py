"""Trees written in the notation of scenarios."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slotcheck.pymodel.scenario import RunSpec

__all__ = ["numbered", "tree_text"]


def tree_text(runs: tuple[RunSpec, ...]) -> str:
    """The trees of these runs in the notation: children in brackets, three or more numbered leaves as a range.

    Reading it back gives the same runs with the same parents, children of one parent in the same order.
    """
    children: dict[str | None, list[str]] = {None: []}
    for run in runs:
        children[run.name] = []
    for run in runs:
        children[run.parent].append(run.name)
    parts: list[str] = []
    # A stack and not recursion: trees may be deeper than Python's stack. A string on it is a piece of the text.
    stack: list[Iterator[str] | str] = [_siblings(children, None)]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            parts.append(top)
            continue
        name = next(top, None)
        if name is None:
            continue
        if parts and parts[-1] != "(":
            parts.append(" ")
        parts.append(name)
        stack.append(top)
        if children.get(name):
            parts.append("(")
            stack += [")", _siblings(children, name)]
    return "".join(parts)


def _siblings(children: dict[str | None, list[str]], parent: str | None) -> Iterator[str]:
    """The children of one parent, leaves that count on by one taken together where they are three or more."""
    group: list[str] = []
    for name in [*children[parent], ""]:
        if group and (not name or children[name] or children[group[-1]] or not _follows(group[-1], name)):
            yield from [f"{group[0]}..{group[-1]}"] if len(group) > 2 else group
            group = []
        group.append(name)


def _follows(name: str, other: str) -> bool:
    """Whether a range counts from ``name`` straight on to ``other``."""
    one, two = numbered(name), numbered(other)
    return one is not None and two is not None and one[0] == two[0] and one[1] + 1 == two[1]


def numbered(name: str) -> tuple[str, int] | None:
    """A name's stem and number: ``("x", 12)`` for x12. Names with leading zeros do not count."""
    match = re.fullmatch(r"(.*[A-Za-z_])(0|[1-9][0-9]{0,8})", name)
    return (match[1], int(match[2])) if match else None
