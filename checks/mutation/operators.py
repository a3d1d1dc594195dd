"""A change that `cosmic-ray` lacks: a statement is left out. Found through the entry point of this project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Keyword, search_ancestor

__all__ = ["DeleteStatement", "Provider"]

_Position = tuple[tuple[int, int], tuple[int, int]]

#: Statements that do something: calls, assignments, `del`, `return`, `raise`.
_STATEMENTS = ("expr_stmt", "atom_expr", "del_stmt", "return_stmt", "raise_stmt", "power")


class DeleteStatement(Operator):  # type: ignore[misc]  # the library is not typed
    """Replaces a statement inside a function by ``pass``."""

    def mutation_positions(self, node: Any) -> Iterator[_Position]:
        """Its position, if it is such a statement."""
        if _is_statement(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """``pass`` in its place."""
        return Keyword("pass", node.start_pos, prefix=node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        """For the library's own tests of operators."""
        return (Example("def f(x):\n    x.go()\n    return x\n", "def f(x):\n    pass\n    return x\n"),)


def _is_statement(node: Any) -> bool:
    if node.type not in _STATEMENTS or node.parent is None or node.parent.type != "simple_stmt":
        return False
    if node.type == "expr_stmt" and node.children[1].type == "annassign" and len(node.children[1].children) == 2:
        return False  # a declaration without a value does nothing
    return search_ancestor(node, "funcdef") is not None


class Provider:
    """What the entry point names."""

    def __iter__(self) -> Iterator[str]:
        return iter(_OPERATORS)

    def __getitem__(self, name: str) -> type[Operator]:
        return _OPERATORS[name]


_OPERATORS: dict[str, type[Operator]] = {"DeleteStatement": DeleteStatement}
