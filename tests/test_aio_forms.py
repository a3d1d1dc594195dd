"""The forms of what the check of an asyncio port finds: a program that shows it again, on the faulty port only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from slotcheck.checks.aio_check import AioTrace, Ways, check_program
from slotcheck.checks.aio_programs import programs_of
from slotcheck.checks.aio_suite import resolve_port
from slotcheck.checks.cli import main
from slotcheck.checks.forms.aio_forms import aio_program, write_aio_traces


def found(name: str, invariant: str) -> AioTrace:
    port = resolve_port(f"slotcheck.checks.mutants:{name}")
    for runs in (1, 2):
        for program in programs_of(runs):
            for trace in check_program(program, port, Ways()).traces:
                if trace.invariant == invariant:
                    return trace
    raise AssertionError(f"{invariant} is not violated")


def ends_with(program: str, port: str) -> int:
    source = program.replace("subject = 'slotcheck.checks.mutants:", f"subject = {port!r}  # '")
    with pytest.raises(SystemExit) as ended:
        exec(compile(source, "<program>", "exec"), {})
    return int(str(ended.value.code))


@pytest.mark.parametrize(
    ("name", "invariant"), [("KeepsSlotOnError", "NoSlotLost"), ("DropsCancelledGrant", "NoSlotLost")]
)
def test_a_program_shows_it_on_the_faulty_port_and_not_on_the_real_one(
    name: str, invariant: str, tmp_path: Path
) -> None:
    trace = found(name, invariant)
    (outcome,) = write_aio_traces([("fault", trace)], tmp_path)
    assert not outcome.not_written
    assert {path.name for path in tmp_path.iterdir()} == {"fault.txt", "fault.md", "fault_asyncio.py"}
    program = (tmp_path / "fault_asyncio.py").read_text()
    assert program == aio_program(trace)
    assert ends_with(program, f"slotcheck.checks.mutants:{name}") == 1
    assert ends_with(program, "aio") == 0
    text = (tmp_path / "fault.txt").read_text()
    assert f"{invariant} is violated by slotcheck.checks.mutants:{name}" in text
    assert (tmp_path / "fault.md").read_text() == f"```\n{text}```\n"


def test_what_no_run_of_the_program_shows_is_not_written(tmp_path: Path) -> None:
    trace = found("NoThreadCheck", "OthersRefused")
    (outcome,) = write_aio_traces([("fault", trace)], tmp_path)
    assert outcome.not_written["asyncio"] == "OthersRefused is not seen in a single run of the program"
    assert not list(tmp_path.iterdir())


def test_the_command_writes_them(tmp_path: Path) -> None:
    args = ["asyncio", "--subject", "slotcheck.checks.mutants:KeepsSlotOnError", "--runs", "1", "--no-trees"]
    result = CliRunner().invoke(main, [*args, "--jobs", "1", "--format", "json", "--traces", str(tmp_path)])
    told = json.loads(result.output)
    assert result.exit_code == 1
    assert "program" not in told["violations"][0]["trace"]
    files = {name for one in told["traces"] for names in one["files"].values() for name in names}
    assert {path.name for path in tmp_path.iterdir()} == files
    assert "NoSlotLost_asyncio.py" in files
