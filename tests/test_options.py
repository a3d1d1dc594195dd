"""Options that several commands take: what they refuse, everywhere, in one line and with exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slotcheck.checks.cli import main
from slotcheck.checks.options import MOST_CAP


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def refused(result: Result, told: str) -> None:
    assert result.exit_code == 2, result.output
    assert told in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "command", [["check"], ["port"], ["compare"], ["simulate", "four-slots"], ["size", "four-slots"]]
)
@pytest.mark.parametrize("cap", ["0", "-1", "1.5", "x", "", str(MOST_CAP + 1), "9" * 5_000])
def test_a_cap_that_is_none_is_refused_by_every_command(command: list[str], cap: str) -> None:
    result = run(command[0], f"--cap={cap}", *command[1:], *(["--", "true"] if command == ["port"] else []))
    refused(result, "a cap is an integer from 1 to 1,000,000")
    assert len(result.output) < 1_000


@pytest.mark.parametrize("command", ["check", "compare", "asyncio", "port", "tlc"])
@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon", ""])
def test_seconds_that_are_none_are_refused_by_every_command(command: str, seconds: str) -> None:
    refused(
        run(command, f"--max-seconds={seconds}", *(["--", "true"] if command == "port" else [])), "number of seconds is"
    )


@pytest.mark.parametrize(
    "args",
    [
        ["vectors", ""],
        ["check", "--traces", ""],
        ["asyncio", "--traces", ""],
        ["mutants", "--traces", ""],
        ["port", "--traces", "", "--", "true"],
        ["show", "trace.itf.json", "--to", ""],
        ["prove", "--smtlib", ""],
        ["mutate", "--folder", ""],
        ["gate", "--cache", ""],
        ["gate", "--traces", ""],
    ],
)
def test_an_empty_name_is_not_the_folder_one_stands_in(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(run(*args), "an empty name is no folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["gate", "--junit", ""], "an empty name is no file"),
        (["gate", "--summary", "."], "is a directory"),
        (["race", "--svg", ""], "an empty name is no file"),
        (["race", "--svg", "a.png"], "'a.png' does not end with .svg"),
        (["port", "--script", "", "--", "true"], "an empty name is no file"),
        (["vectors", "file"], "is a file"),
    ],
)
def test_a_file_that_cannot_be_what_is_written_is_refused(
    args: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    refused(run(*args), told)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["compare", "--orders", "--cap", "3"], "--cap does nothing beside --orders"),
        (["compare", "--orders", "--max-seconds", "1"], "--max-seconds does nothing beside --orders"),
        (["compare", "--relend", "--runs", "3"], "--runs does nothing beside --relend"),
        (["compare", "--relend", "--jobs", "3"], "--jobs does nothing beside --relend"),
        (["check", "--walks", "3"], "--walks does nothing without --search walk"),
        (["check", "--seed", "3", "--search", "depth"], "--seed does nothing without --search walk"),
        (["port", "--level", "vectors", "--runs", "3", "--", "true"], "--runs does nothing without --level edges"),
        (["port", "--level", "edges", "--seed", "3", "--", "true"], "--seed does nothing without --level random"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(args: list[str], told: str) -> None:
    refused(run(*args), told)


def test_vectors_are_not_written_over_files_of_others(tmp_path: Path) -> None:
    mine = tmp_path / "README.md"
    mine.write_text("mine\n")
    refused(run("vectors", str(tmp_path)), "README.md is there and says something else; --force writes over it")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("README.md", "mine\n")]
    assert run("vectors", str(tmp_path), "--force").exit_code == 0
    assert mine.read_text() != "mine\n"
    assert run("vectors", str(tmp_path)).exit_code == 0  # over its own


def test_scenarios_as_json_say_what_they_are_of(tmp_path: Path) -> None:
    told = json.loads(run("scenarios", "--format", "json").output)
    assert told["covered"] == {"scenarios": len(told["parts"])}
    assert {"name", "title", "tree", "runs", "caps", "relend", "expect"} <= set(told["parts"][0])
    (one,) = json.loads(run("scenarios", "wide-root-four-slots", "--format", "json").output)["parts"]
    assert one["name"] == "wide-root-four-slots"
    refused(run("scenarios", "no-such"), "no-such")
