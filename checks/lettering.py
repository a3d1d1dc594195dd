"""Text in a picture: made safe for XML, cut to what fits, and measured, whatever a name holds."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from html import escape

__all__ = ["CHARACTER", "clean", "nth", "safe", "short", "width", "wrapped"]

#: The width of a character of 12 pixels, rather too much.
CHARACTER = 7.0


def clean(text: object, most: int = 200) -> str:
    """One line of text: nothing in it that XML forbids, or that could turn or break what stands beside it."""
    return _cleaned(str(text)[: most + 1], most)


@lru_cache(maxsize=10_000)  # the same names, over and over
def _cleaned(kept: str, most: int) -> str:
    kept = "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(char)[0] == "C" else char for char in kept)
    kept = "".join(" " if unicodedata.category(char)[0] == "Z" else char for char in kept)
    return kept if len(kept) <= most else kept[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def short(text: object, most: int) -> str:
    """The same, no wider than so many characters of ordinary width."""
    kept = clean(text, most)
    while width(kept) > most:
        kept = kept.removesuffix("\N{HORIZONTAL ELLIPSIS}")[:-1] + "\N{HORIZONTAL ELLIPSIS}"
    return kept


def safe(text: object, most: int = 200) -> str:
    """One line of text, escaped for XML and HTML, attributes included."""
    return escape(clean(text, most), quote=True)


def width(text: str) -> float:
    """How many characters of ordinary width it is as wide as."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1.65 if char in "WMmw@%" else 1.0 for char in text)


def wrapped(words: Iterable[str], pixels: int) -> list[str]:
    """The words in lines of text of 12 pixels that are no wider than told, if no word is."""
    lines = [""]
    for word in words:
        if lines[-1] and (width(lines[-1]) + 1 + width(word)) * CHARACTER > pixels:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def nth(place: int) -> str:
    """A place in a queue: 1st, 2nd, ..."""
    ending = "th" if 10 <= place % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"
