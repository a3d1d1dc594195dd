"""What the commands of the command line share: their exit codes, their errors, their progress bar."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from slotcheck.checks.terminal import console
from slotcheck.pymodel.result import Verdict
from slotcheck.pymodel.rules.order import ORDERS

__all__ = ["BAD_INPUT", "EXIT_CODES", "ORDER_HELP", "BadInput", "Commands", "progress"]

BAD_INPUT = 2
ORDER_HELP = f"The order to make pools with: {', '.join(ORDERS)}."
EXIT_CODES = {Verdict.HOLDS: 0, Verdict.VIOLATED: 1, Verdict.UNDETERMINED: 3}


class BadInput(click.ClickException):
    """Something the user gave cannot be used: exit code 2."""

    exit_code = BAD_INPUT

    def show(self, file: object = None) -> None:
        click.echo(f"slotcheck: {self.message}", err=True)


class Commands(click.Group):
    """Commands of which each ends with a verdict: no other way out may look like one.

    Args:
        modules: of each command the module of this package that it is in, which is imported when it is used.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **named: Any) -> None:
        super().__init__(*args, **named)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None if there is none."""
        if cmd_name not in self._modules:
            return None
        module = importlib.import_module(f"slotcheck.checks.{self._modules[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("slotcheck: interrupted, so undetermined", err=True)
        except (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit, BrokenPipeError):
            raise
        except Exception:
            traceback.print_exc()
            click.echo("slotcheck: failed itself, so undetermined: this is no verdict on the subject", err=True)
        sys.exit(EXIT_CODES[Verdict.UNDETERMINED])


class Tell(Protocol):
    """Who is told how many are done, and of how many where that was not known at first."""

    def __call__(self, done: int, of: int | None = None) -> None: ...


@contextmanager
def progress(title: str, total: int) -> Iterator[tuple[Tell, Callable[[int, int, int], None]]]:
    """A progress bar on a terminal, silence otherwise.

    Yields whom to tell how many are done, and whom to tell, within one, how many states, edges and states to expand.
    """
    to = console(stderr=True)
    if not to.is_terminal:
        yield (lambda done, of=None: None), (lambda states, edges, frontier: None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=to, transient=True) as bar:
        task = bar.add_task(title, total=total or None)

        def within(states: int, edges: int, frontier: int) -> None:
            bar.update(task, description=f"{title}: {states:,} states, {edges:,} edges, {frontier:,} to expand")

        yield (lambda done, of=None: bar.update(task, completed=done, total=of)), within
