"""What programs made of a trace share: their templates and their comments."""

from __future__ import annotations

from functools import cache
from importlib import resources

from jinja2 import Environment, StrictUndefined, Template

from slotcheck.checks.lettering import clean

__all__ = ["comment", "template"]

_LINE = 110  # characters of a comment


@cache
def template(name: str) -> Template:
    """A template of a program."""
    text = (resources.files("slotcheck.checks.forms") / "templates" / name).read_text("utf-8")
    made = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return made.from_string(text)


def comment(told: str) -> str:
    """What can stand in a comment of one line, whatever it was: ASCII, and nothing that ends it."""
    return ascii(clean(told, _LINE))[1:-1].replace("\\'", "'")
