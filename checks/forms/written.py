"""What became of the forms of a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["WrittenTrace"]


@dataclass
class WrittenTrace:
    """What became of the forms of one trace."""

    invariant: str
    #: The files that were written, by form; and why others were not.
    files: dict[str, list[str]] = field(default_factory=dict)
    not_written: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"invariant": self.invariant, "files": self.files, "not_written": self.not_written}
