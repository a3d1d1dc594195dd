"""What stands in the file of a trace: its facts, and its states with permits and without."""

from __future__ import annotations

from slotcheck.checks.forms.itf_values import (
    Kind,
    boolean,
    integer,
    listing,
    mapping,
    optional,
    record,
    setting,
    text,
    tupled,
)

__all__ = ["META", "STATE", "STATE_WITH_PERMITS"]

_RUN = record(phase=text, token=text, lent=boolean, level=integer, parent=optional(text), job=listing(text))
_WAIT = record(kind=text, name=text, enders=listing(text))
_ARGUMENTS: dict[str, Kind] = {
    "run": optional(text),
    "parent": optional(text),
    "job": optional(listing(text)),
    "cap": optional(integer),
    "no_cap": optional(text),
}
_ANSWER: dict[str, Kind] = {
    "granted": listing(tupled(text, text)),
    "relent": listing(text),
    "refused": optional(text),
    "declined": optional(text),
    "raised": optional(text),
    "held": listing(tupled(listing(text), integer)),
}
_VARIABLES: dict[str, Kind] = {
    "cap": integer,
    "taken": integer,
    "runs": mapping(_RUN),
    "waiting": listing(text),
    "children": mapping(listing(text)),
    "lines": listing(record(node=listing(text), line=listing(text))),
    "stacks": optional(listing(listing(text))),
    "progress": mapping(text),
    "locks": mapping(record(inside=listing(text), queue=listing(text))),
    "events": setting(text),
    "waits": mapping(listing(_WAIT)),
    "called": optional(record(verb=text, arguments=record(**_ARGUMENTS), answer=record(**_ANSWER))),
}
STATE = record(**_VARIABLES)
_PRESENT = record(
    component=optional(text),
    key=optional(text),
    lineage=listing(text),
    parent=optional(text),
    job=listing(text),
    working=boolean,
)
#: With permits; a record that lacks a field is none, so that there are two kinds of state.
STATE_WITH_PERMITS = record(
    **{
        **_VARIABLES,
        "permits": mapping(record(holder=optional(text), queue=listing(text), memo=optional(text))),
        "present": mapping(_PRESENT),
        "called": optional(
            record(
                verb=text,
                arguments=record(
                    **_ARGUMENTS, component=optional(text), key=optional(text), lineage=optional(listing(text))
                ),
                answer=record(**_ANSWER, handed=listing(text), came_to=optional(text)),
            )
        ),
    }
)
META = record(
    subject=text, scenario=text, cap=integer, relend=boolean, order=text, tie=text, invariant=text, message=text
)
