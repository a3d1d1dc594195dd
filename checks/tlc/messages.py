"""What TLC says with ``-tool``: framed messages, each with a code and a severity."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["BUG", "ERROR", "INFORMATION", "STATE", "WARNING", "Message", "read_messages"]

INFORMATION, ERROR, BUG, WARNING, STATE = 0, 1, 2, 3, 4  # severities

_MESSAGE = re.compile(r"^@!@!@STARTMSG (\d+):(\d+) @!@!@\n(.*?)^@!@!@ENDMSG \1 @!@!@$", re.MULTILINE | re.DOTALL)


class Message(NamedTuple):
    """One message."""

    code: int
    severity: int
    text: str


def read_messages(output: str) -> list[Message]:
    """The messages in a run's output, in order. What stands outside of them, the parser's chatter, is left out."""
    return [Message(int(code), int(severity), text.strip("\n")) for code, severity, text in _MESSAGE.findall(output)]
