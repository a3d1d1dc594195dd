"""One figure of a bench, and its target."""

from __future__ import annotations

import operator
from typing import NamedTuple

__all__ = ["Figure"]


class Figure(NamedTuple):
    """One measurement."""

    what: str
    #: None where it was not measured, as the unit says.
    value: float | None
    unit: str
    #: What it should be, as ``>= 100000``, ``<= 1`` or ``== 1``; empty if there is no target.
    target: str = ""
    #: What it stands on: counts that say how much was done.
    counts: dict[str, int] = {}  # noqa: RUF012  # never changed

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one, or unmeasured."""
        if not self.target or self.value is None:
            return None
        sign, bound = self.target.split()
        compare = {">=": operator.ge, "<=": operator.le, "==": operator.eq}[sign]
        return bool(compare(self.value, float(bound)))
