"""Which lines of a subject made a step: where a reviewer should look.

The call is made once more on a restored pool, and the lines of the subject's own file that it runs are noted.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from slotcheck.checks.subject import AnySubject, ClassSubject

__all__ = ["Location", "lines_of_step"]

_MOST = 1_000  # lines noted; a step that runs more goes round


class Location(NamedTuple):
    """Lines of one file.

    Attributes:
        file: its path, as Python has it.
        line: where the method begins that the step entered first in this file.
        function: the name of that method.
        lines: every line of the file that the step ran, once each, in the order in which they were first run.
    """

    file: str
    line: int
    function: str
    lines: tuple[int, ...]


def lines_of_step(subject: AnySubject, snapshot: Any, verb: str, args: Sequence[Any]) -> Location | None:
    """The lines of the class's own file that a call runs; None where there is no such file, or none of it is run.

    Args:
        snapshot: the state before the step.
    """
    if not isinstance(subject, ClassSubject):
        return None
    try:
        file = inspect.getsourcefile(subject.cls)
    except TypeError:
        return None
    if file is None:
        return None
    try:
        pool = subject.cls.restore(snapshot)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    entered: list[CodeType] = []
    lines: dict[int, None] = {}

    def follow(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return follow if event == "call" else None
        if event == "call":
            entered.append(frame.f_code)
        elif event == "line" and len(lines) < _MOST:
            lines[frame.f_lineno] = None
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        subject.call_live(pool, verb, *args)
    finally:
        sys.settrace(before)
    # The snapshot taken after the call runs lines of the file too, but of no interest: they end the list.
    if not entered:
        return None
    first = entered[0]
    return Location(file, first.co_firstlineno, getattr(first, "co_qualname", first.co_name), tuple(lines))
