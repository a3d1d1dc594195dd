"""``slotcheck mutate``."""

from __future__ import annotations

import json
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import click

from slotcheck.checks.command import EXIT_CODES, BadInput, progress
from slotcheck.checks.gate.store import FOLDER
from slotcheck.checks.mutation.killer import MODULES
from slotcheck.checks.mutation.report import MutationReport, mutation_as_json, mutation_as_text
from slotcheck.checks.mutation.session import MutationError, Session, tool_is_missing
from slotcheck.checks.options import OUT_FOLDER, form_option
from slotcheck.checks.terminal import console

__all__ = ["mutate_command"]


@click.command("mutate")
@click.argument("modules", nargs=-1, metavar="[MODULE]...")
@click.option(
    "--folder",
    type=OUT_FOLDER,
    default=Path(FOLDER) / "mutation",
    show_default=True,
    help="Where sessions are kept, to go on from.",
)
@click.option(
    "--tests",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="The unit tests of this project, to set on what the checks do not see (default: tests, in a checkout).",
)
@click.option("--no-tests", is_flag=True, help="Let the checks alone decide.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Modules at a time.")
@form_option
def mutate_command(
    modules: tuple[str, ...], folder: Path, tests: Path | None, no_tests: bool, jobs: int, form: str
) -> None:
    """Make every small change to the code that decides about slots: a check must see each.

    MODULE is one of slotlending: pool, order, other_orders, permit; without any, all of them. It takes an hour; ended
    before, it goes on from there.

    Exit codes: 0 every change is seen, or listed with the reason why nobody could; 1 one survived, or the list is
    wrong; 3 undetermined.
    """
    for module in modules:
        if module not in MODULES:
            raise BadInput(f"no module {module!r} to mutate; there are {', '.join(MODULES)}")
    if tests is not None and no_tests:
        raise BadInput("--tests and --no-tests: one or the other")
    if tests is None and not no_tests and all((Path("tests") / f"{one}.py").exists() for one in MODULES["pool"]):
        tests = Path("tests")
    chosen = list(dict.fromkeys(modules)) or list(MODULES)
    report = MutationReport(chosen)
    missing = tool_is_missing()
    if missing is not None:
        report.missing.append(missing)
    else:
        _run(report, [Session(module, folder, tests) for module in chosen], jobs)
    if form == "json":
        click.echo(json.dumps(mutation_as_json(report), indent=1))
    else:
        console().print(mutation_as_text(report))
    sys.exit(EXIT_CODES[report.verdict])


def _run(report: MutationReport, sessions: list[Session], jobs: int) -> None:
    stop = Event()
    counts: dict[str, tuple[int, int]] = {}
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with progress("mutating", 0) as (tell, _), ThreadPoolExecutor(jobs) as threads:

            def one(session: Session) -> str | None:
                def told(done: int, all_: int) -> None:
                    counts[session.module] = (done, all_)
                    tell(*map(sum, zip(*counts.values(), strict=True)))

                if stop.is_set():
                    return None
                try:
                    session.run(told, stop)
                except MutationError as error:
                    return str(error)
                return None

            report.missing += [told for told in threads.map(one, sessions) if told is not None]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stop.is_set():
        report.stopped = "interrupted"
    for session in sessions:
        if session.begun:
            report.add(*session.mutations())
