"""Which lines of a subject made the bad step of a trace: where a reviewer should look.

The calls of the trace are made once more on a pool, and the lines of the subject's own file that the last one runs are
noted; where it runs none there, those of the nearest class that it inherits from.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

from slotcheck.checks.player import LivePlayer
from slotcheck.checks.subject import ClassSubject, SubjectError, resolve_subject
from slotcheck.checks.trace import RESTORE, Trace

__all__ = ["Location", "location_of"]

_MOST = 1_000  # lines noted; a step that runs more goes round


class Location(NamedTuple):
    """Lines of one file.

    Attributes:
        file: its path, as Python has it.
        line: where the method begins that the step entered first in this file.
        function: the name of that method.
        lines: the lines of the file that the step ran, once each, in the order in which they were first run.
    """

    file: str
    line: int
    function: str
    lines: tuple[int, ...]


def location_of(trace: Trace) -> Location | None:
    """Where the last call of a trace went in the subject's code; None if it is no class, or not to be found."""
    at = max((at for at, step in enumerate(trace.steps) if step.call is not None), default=None)
    if at is None:
        return None
    try:
        subject = resolve_subject(trace.subject)
    except SubjectError:
        return None
    if not isinstance(subject, ClassSubject):
        return None
    try:
        files = [file for cls in subject.cls.__mro__ if cls is not object and (file := inspect.getsourcefile(cls))]
        player = LivePlayer(subject, trace)
        player.new(trace.cap)
        for step in trace.steps[:at]:
            if step.action[0] == RESTORE:
                player.restore()
            elif step.call is not None:
                player.call(step.call.verb, *step.call.args)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    last = trace.steps[at].call
    return None if last is None else _followed(files, lambda: player.call(last.verb, *last.args))


def _followed(files: Sequence[str], call: Callable[[], object]) -> Location | None:
    """The lines that a call runs of the first of these files that it enters at all, up to where the first method that
    it enters returns.
    """
    entered: dict[str, FrameType] = {}
    lines: dict[str, dict[int, None]] = {file: {} for file in files}
    over = False
    outermost: FrameType | None = None

    def follow(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal over, outermost
        file = frame.f_code.co_filename
        if over or file not in lines or frame.f_code.co_name == "restore":
            return None
        if event == "call":
            outermost = outermost or frame
            entered.setdefault(file, frame)
        elif event == "line" and len(lines[file]) < _MOST:
            lines[file][frame.f_lineno] = None
        elif event == "return" and frame is outermost:
            over = True
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        call()
    finally:
        sys.settrace(before)
    for file in files:
        if file in entered:
            code = entered[file].f_code
            name = getattr(code, "co_qualname", code.co_name)
            return Location(file, code.co_firstlineno, name, tuple(lines[file]))
    return None
