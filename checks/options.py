"""Options and arguments that several commands take: one meaning, one limit and one refusal for each."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from slotcheck.checks.command import BadInput

__all__ = [
    "MOST_CAP",
    "OUT_FILE",
    "OUT_FOLDER",
    "CapType",
    "OutFile",
    "Seconds",
    "cap_option",
    "form_option",
    "no_timing_option",
    "not_beside",
    "only_with",
]

#: The largest cap that can be given: no tree has as many runs, and the port protocol's numbers go no further.
MOST_CAP = 1_000_000

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


class OutFolder(click.Path):
    """A folder to write to, made if it is not there."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click does, but an empty name does not mean the folder that one stands in."""
        if value == "":
            self.fail("an empty name is no folder", param, ctx)
        return super().convert(value, param, ctx)


class OutFile(click.Path):
    """A file to write, over one that is there.

    Args:
        suffix: what its name must end with, since what is written is of that kind.
    """

    def __init__(self, suffix: str = "") -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._suffix = suffix

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click does, but a name that is empty, of another kind, or in no folder is refused."""
        if value == "":
            self.fail("an empty name is no file", param, ctx)
        if not str(value).endswith(self._suffix):
            self.fail(f"{str(value)!r} does not end with {self._suffix}", param, ctx)
        if not Path(value).parent.is_dir():  # told now, and not when all is done
            self.fail(f"{str(Path(value).parent)!r} is no folder", param, ctx)
        return super().convert(value, param, ctx)


class CapType(click.ParamType):  # type: ignore[type-arg]  # older ones take none
    """A cap: an integer from 1 to `MOST_CAP`."""

    name = "cap"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number.

        Raises:
            click.BadParameter: it is none.
        """
        try:
            cap = int(value) if len(str(value)) <= 20 else 0  # longer ones are no caps, whatever they say
        except ValueError:
            cap = 0
        if not 1 <= cap <= MOST_CAP:
            told = str(value) if len(str(value)) <= 20 else f"{str(value)[:10]}..."
            self.fail(f"{told}: a cap is an integer from 1 to {MOST_CAP:,}", param, ctx)
        return cap


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A number of seconds, 0 or more, or more than 0."""

    name = "seconds"

    def __init__(self, *, positive: bool = False) -> None:
        self._positive = positive

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number.

        Raises:
            click.BadParameter: it is none, or not finite.
        """
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not math.isfinite(seconds) or seconds < 0 or (self._positive and not seconds):
            told = "more than 0" if self._positive else "0 or more"
            self.fail(f"{value}: a number of seconds is {told}", param, ctx)
        return seconds


OUT_FOLDER = OutFolder()
OUT_FILE = OutFile()


def cap_option(told: str) -> Decorator:
    """``--cap``, as often as one likes."""
    return click.option("--cap", "caps", type=CapType(), multiple=True, metavar="CAP", help=told)


form_option: Decorator = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)

no_timing_option: Decorator = click.option(
    "--no-timing", is_flag=True, help="Leave the timing out: the same input gives the same bytes."
)


def not_beside(which: str, *allowed: str) -> None:
    """Refuse options that would do nothing beside another: an option that is given and ignored misleads.

    Args:
        which: the option that they are beside, as ``--orders``.
        allowed: the parameters that say something there, by the names of the function's arguments.

    Raises:
        BadInput: another one was given.
    """
    for name, told in _given().items():
        if name not in allowed and told != which:
            raise BadInput(f"{told} does nothing beside {which}")


def only_with(which: str, is_there: bool, *names: str) -> None:
    """Refuse options that say something only with another one.

    Args:
        which: that one, as ``--search walk``.
        is_there: whether it was chosen.
        names: the parameters that need it, by the names of the function's arguments.

    Raises:
        BadInput: one was given without it.
    """
    for name, told in _given().items():
        if name in names and not is_there:
            raise BadInput(f"{told} does nothing without {which}")


def _given() -> dict[str, str]:
    """What stands on the command line, by the name of the function's argument: as it is written there."""
    context = click.get_current_context()
    return {
        str(param.name): param.opts[0] if isinstance(param, click.Option) else str(param.metavar)
        for param in context.command.params
        if context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    }
