"""``slotcheck replay``: does a trace still show its violation?"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slotcheck.checks.command import EXIT_CODES, BadInput
from slotcheck.checks.forms.itf import TraceError, load_trace
from slotcheck.checks.forms.registry import subject_of
from slotcheck.checks.lettering import clean
from slotcheck.checks.options import form_option
from slotcheck.checks.player import player_of
from slotcheck.checks.replay import Replayed, replay
from slotcheck.checks.subject import SubjectError
from slotcheck.checks.terminal import console, versions
from slotcheck.checks.trace import Trace
from slotcheck.pymodel.explore import Verdict

__all__ = ["replay_command"]

_LINE = 2_000  # characters
_STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.UNDETERMINED: "bold yellow"}


@click.command("replay")
@click.argument("trace", type=click.Path(path_type=Path), metavar="TRACE")
@click.option("--subject", metavar="SUBJECT", help="Replay it on this subject, instead of the one that it names.")
@form_option
def replay_command(trace: Path, subject: str | None, form: str) -> None:
    """Replay a trace: make its calls again, compare every answer and every view, judge its invariant.

    TRACE is a file NAME.itf.json, as `slotcheck check --traces DIR` writes them. The module of the subject that it
    names is imported, unless another subject is given.

    Exit codes: 1 the invariant is still violated; 0 it is not: the subject does otherwise, and where is told; 2 bad
    input; 3 the trace does not apply: a step of it is not enabled, so it is of another scenario or version.
    """
    try:
        loaded = load_trace(trace)
        with redirect_stdout(sys.stderr):  # what a subject prints must not get into the report
            on = subject_of(loaded, subject)
            found = replay(loaded, player_of(loaded, on))
    except (TraceError, SubjectError) as error:
        raise BadInput(str(error)) from error
    if form == "json":
        click.echo(json.dumps(_as_json(loaded, on.name, found), indent=1))
    else:
        console().print(_as_text(loaded, on.name, found))
    sys.exit(EXIT_CODES[found.verdict])


def _as_json(trace: Trace, subject: str, found: Replayed) -> dict[str, Any]:
    violated = found.verdict is Verdict.VIOLATED
    violation = {
        "scenario": trace.name,
        "invariant": trace.invariant,
        "message": found.message,
        "trace": trace.as_dict(),
    }
    return {
        "verdict": found.verdict.value,
        "subject": subject,
        "accepted": found.accepted,
        "message": found.message,
        "first_step_that_does_not_fit": found.step,
        "enabled_instead": list(found.enabled),
        "restored_before_each_call": found.restored,
        "covered": {"traces": 1, "steps": len(trace.steps) + len(trace.again)},
        "violations": [violation] if violated else [],
        "undetermined": [found.message] if found.verdict is Verdict.UNDETERMINED else [],
        "parts": [{"name": trace.name, "verdict": found.verdict.value}],
        "versions": versions(),
    }


def _as_text(trace: Trace, subject: str, found: Replayed) -> RenderableType:
    lines = [Text(clean(f"slotcheck replay: {trace.invariant} in {trace.name}, on {subject}", _LINE), style="bold")]
    lines.append(Text(f"{'accepted' if found.accepted else 'rejected'}: {clean(found.message, _LINE)}"))
    if found.enabled:
        lines.append(Text(clean(f"enabled instead: {'; '.join(found.enabled)}", _LINE)))
    if found.restored:
        lines.append(Text("only on a pool that is restored from its snapshot before each call, as a search does"))
    lines.append(Text.assemble("verdict: ", (found.verdict.value, _STYLES[found.verdict])))
    return Group(*lines)
