"""What a run of TLC found, judged by its messages alone: its exit code has been seen to be 0 after violations.

"holds" takes everything that a complete search says, and nothing else; "violated" takes exactly one message that names
a violation. Whatever is in between (a crash, memory that ran out, a false assumption, a warning, no state at all) is
"failed", with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from slotcheck.checks.tlc.config import Config, Definitions
from slotcheck.checks.tlc.messages import BUG, ERROR, STATE, WARNING, Message

__all__ = ["DEADLOCK", "FAILED", "HOLDS", "VIOLATED", "Outcome", "judge_output"]

HOLDS, VIOLATED, FAILED = "holds", "violated", "failed"

#: The name of TLC's own check for states without a step.
DEADLOCK = "Deadlock"

_VERSION, _SEARCH, _PARSED, _SUCCESS, _TOTALS, _DEPTH, _FINISHED = 2262, 2187, 2219, 2193, 2199, 2194, 2186
_NAMED = {  # messages that name what is violated
    2107: r"Invariant (.+) is violated by the initial state",
    2108: r"Property (.+) is violated by the initial state",
    2110: r"Invariant (.+) is violated",
    2112: r"Action property (.+) is violated",
}
_AT_START = (2107, 2108)
_DEADLOCK, _TEMPORAL = 2114, 2116
_TELLS_TRACE = (2121, 2264)  # "the behavior up to this point is", "the following behavior"
_BACK_TO = 2122
_SLOWER_COLLECTOR = 2401  # a warning about the collector, chosen on purpose


class Outcome(NamedTuple):
    """What one run found."""

    #: "holds", "violated" or "failed".
    result: str
    #: What is violated, or why the run failed.
    told: str = ""
    distinct: int = 0
    generated: int = 0
    #: 0 where TLC does not say.
    depth: int = 0
    version: str = ""
    #: A counterexample: its steps as TLC names them, and its states as TLC prints them.
    steps: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    #: For a behaviour that never ends: the place in `states` that it goes back to.
    back_to: int | None = None


def judge_output(
    messages: Sequence[Message],
    config: Config,
    definitions: Definitions,
    exit_code: int | None,
    tail: str = "",
) -> Outcome:
    """Judge what a run said. ``tail`` is the end of what it said besides, for a run that failed."""
    version = next((message.text for message in messages if message.code == _VERSION), "")
    distinct, generated, left = _totals(messages)
    depth = _number(messages, _DEPTH, r"graph search is (\d+)")
    counts = {"distinct": distinct, "generated": generated, "depth": depth, "version": version}

    def failed(why: str) -> Outcome:
        return Outcome(FAILED, why, **counts)  # type: ignore[arg-type]

    errors = [message for message in messages if message.severity in (ERROR, BUG) and message.code not in _TELLS_TRACE]
    violations = [message for message in errors if message.code in (*_NAMED, _DEADLOCK, _TEMPORAL)]
    others = [message for message in errors if message not in violations]
    warnings = [message for message in messages if message.severity == WARNING and message.code != _SLOWER_COLLECTOR]
    if others:
        return failed(f"TLC says ({others[0].code}): {_line(others[0].text)}")
    if warnings:
        return failed(f"TLC warns ({warnings[0].code}): {_line(warnings[0].text)}")
    if len(violations) > 1:
        return failed(f"{len(violations)} violations in one run: TLC was told to go on after the first")
    if not any(message.code == _SEARCH for message in messages):
        return failed(_line(tail) or "TLC began no search of all states")
    at_start = bool(violations) and violations[0].code in _AT_START
    if not any(message.code == _FINISHED for message in messages) or (left is None and not at_start):
        return failed(_line(tail) or "TLC ended without saying that it had finished")
    if violations:
        name = _violated(violations[0], config, definitions)
        if name is None:
            return failed(f"TLC says which kind of property is violated, not which: {_line(violations[0].text)}")
        steps, states, back_to = _trace(messages, violations[0])
        return Outcome(VIOLATED, name, **counts, steps=steps, states=states, back_to=back_to)  # type: ignore[arg-type]
    if exit_code != 0:
        return failed(f"TLC said nothing of an error, but ended with exit code {exit_code}")
    if sum(message.code == _SUCCESS for message in messages) != 1 or left != 0 or not depth:
        return failed("TLC does not say that it searched all states")
    if not distinct:
        return failed("there is no initial state, so nothing was checked")
    return Outcome(HOLDS, **counts)  # type: ignore[arg-type]


def _violated(message: Message, config: Config, definitions: Definitions) -> str | None:
    """The name of what a message says is violated."""
    if message.code == _DEADLOCK:
        return DEADLOCK
    if message.code == _TEMPORAL:
        return config.properties[0] if len(config.properties) == 1 else None
    found = re.match(_NAMED[message.code], message.text)
    if found is None:
        return None
    names = (*config.invariants, *config.properties)
    if found[1] in names:
        return found[1]
    place = re.match(r"line (\d+), .* of module (\w+)", found[1])  # a part of a property, as of a refinement
    if place is None:
        return None
    saying = [name for name in names if definitions.holds_place(name, place[2], int(place[1]))]
    return saying[0] if len(saying) == 1 else None


def _trace(messages: Sequence[Message], violation: Message) -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
    if violation.code in _AT_START:  # the state is in the message itself
        _, _, state = violation.text.partition("\n")
        return ("Initial predicate",), (state.strip(),), None
    steps: list[str] = []
    states: list[str] = []
    back_to = None
    for message in messages:
        if message.severity != STATE:
            continue
        first, _, state = message.text.partition("\n")
        if message.code == _BACK_TO:
            back_to = int(first.partition(":")[0]) - 1
            continue
        if first.strip().endswith("Stuttering"):
            back_to = len(states) - 1
            continue
        step = re.match(r"\d+: <(Initial predicate|\w+)", first)
        steps.append(step[1] if step else "?")
        states.append(state)
    return tuple(steps), tuple(states), back_to


def _totals(messages: Sequence[Message]) -> tuple[int, int, int | None]:
    found = None
    for message in messages:
        if message.code == _TOTALS:
            found = re.search(
                r"([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left", message.text
            )
    if found is None:
        return 0, 0, None
    generated, distinct, left = (int(number.replace(",", "")) for number in found.groups())
    return distinct, generated, left


def _number(messages: Sequence[Message], code: int, pattern: str) -> int:
    for message in messages:
        if message.code == code and (found := re.search(pattern, message.text)):
            return int(found[1])
    return 0


def _line(text: str) -> str:
    """A message in one line, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."
