"""``slotcheck prove``."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import click

from slotcheck.checks.command import EXIT_CODES, BadInput, progress
from slotcheck.checks.options import OUT_FOLDER, Seconds, form_option, no_timing_option
from slotcheck.checks.prove import DEEP_RUNS, RUNS, Found, chosen_names, everything, overall, prove, units
from slotcheck.checks.prove_report import line, prove_as_json, prove_as_text
from slotcheck.checks.terminal import console
from slotcheck.proofs.catalogue import obligations
from slotcheck.proofs.obligation import script
from slotcheck.proofs.solve import SOLVERS

__all__ = ["prove_command"]

_TIMEOUT = 20.0  # seconds for one query; the slowest takes under one on a quiet machine


@click.command("prove")
@click.argument("names", nargs=-1, metavar="[OBLIGATION]...")
@click.option("--solver", type=click.Choice(["z3", "cvc5", "both"]), default="both", show_default=True)
@click.option(
    "--timeout",
    type=Seconds(positive=True),
    metavar="S",
    default=_TIMEOUT,
    show_default=True,
    help="Seconds for one query.",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes to use (default: one a core).")
@click.option("--deep", is_flag=True, help=f"Compare relation and code on forests of {DEEP_RUNS} runs too: minutes.")
@click.option("--runs", type=click.IntRange(RUNS, 8), metavar="N", help="With --deep: on forests of up to N runs.")
@click.option(
    "--smtlib",
    type=OUT_FOLDER,
    metavar="DIR",
    help="Also write each obligation as a file.",
)
@form_option
@no_timing_option
def prove_command(
    names: tuple[str, ...],
    solver: str,
    timeout: float,
    jobs: int | None,
    deep: bool,
    runs: int | None,
    smtlib: Path | None,
    form: str,
    no_timing: bool,
) -> None:
    """Prove lending for every cap and every tree, and show that the proof is about the code.

    An OBLIGATION is the name of one, a part of its name (`OneTip`, `finish-parks`, `NoDeadlock`), a pattern with
    wildcards, or a kind (`wrong`, `code`, ...; `wrong/lends-twice` also tells its counterexample). Without any, all is
    shown: the invariant and what follows from it by both solvers, wrong relations, and the comparison with the pool.

    Exit codes: 0 all proved; 1 something refuted; 3 undetermined: a time-out, or the solvers disagree.
    """
    if runs is not None and not deep:
        raise BadInput(f"--runs {runs}: only with --deep")
    runs = (runs or DEEP_RUNS) if deep else RUNS
    chosen, unknown = chosen_names(names, runs)
    if unknown:
        every = [name for of_kind in everything(runs).values() for name in of_kind]
        parts = sorted({*every, *(part for name in every for part in name.split("/"))})
        near = difflib.get_close_matches(unknown[0], parts, 3, 0.4)
        raise BadInput(f"nothing is named {unknown[0]!r}" + (f"; did you mean {', '.join(near)}?" if near else ""))
    if smtlib is not None:
        _write(smtlib, chosen["obligations"])
    solvers = tuple(SOLVERS) if solver == "both" else (solver,)
    work = units(chosen, solvers)
    started = time.monotonic()
    found: list[Found] = []
    out = console()
    total = sum(map(len, chosen.values()))
    # On a terminal the lines are the progress: a bar among them would only be in their way.
    lines_show = form == "text" and out.is_terminal
    with nullcontext(((lambda done: None), None)) if lines_show else progress("proving", total) as (tell, _):
        for parts_ in prove(work, jobs=jobs or os.cpu_count() or 1, seconds=timeout, runs=runs):
            found += parts_
            tell(len(found))
            if form == "text":
                for one in parts_:
                    out.print(line(one, timing=not no_timing), soft_wrap=True)
    seconds = None if no_timing else time.monotonic() - started
    if form == "json":
        click.echo(json.dumps(prove_as_json(found, seconds, solvers), indent=1))
    else:
        out.print(prove_as_text(found, seconds, shown=bool(names)))
    sys.exit(EXIT_CODES[overall(found)])


def _write(folder: Path, names: list[str]) -> None:
    """One file for each obligation, of which any solver says unsat if it can prove it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / f"{re.sub('[^A-Za-z0-9-]+', '_', name)}.smt2").write_text(script(obligations()[name]))
    except OSError as error:
        raise BadInput(f"--smtlib {folder}: {error.strerror}") from error
