"""The documents: every program in them runs, and every command of them says what is shown."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from slotcheck.checks import check
from slotcheck.checks.cli import main
from slotcheck.checks.command import BAD_INPUT, EXIT_CODES
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.subject import ClassSubject
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.rules import Rule

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
OF_PROGRAMS = [path for path in DOCS if path.name not in ("scenarios.md", "subjects.md")]
_BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LIKE = "..."


def blocks(path: Path) -> list[tuple[str, str]]:
    return _BLOCK.findall(path.read_text(encoding="utf-8"))


def programs() -> Iterator[tuple[str, str, str]]:
    """Each program of the documents, and what it prints."""
    for path in OF_PROGRAMS:
        found = blocks(path)
        for number, (language, text) in enumerate(found):
            if language == "python":
                following = found[number + 1] if number + 1 < len(found) else ("", "")
                yield f"{path.name}-{number}", text, following[1] if following[0] == "text" else ""


def commands() -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what it prints: dots stand for lines left out, or for the end of one."""
    for path in OF_PROGRAMS:
        for language, text in blocks(path):
            if language == "console":
                for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                    line, _, output = command.partition("\n")
                    yield line, output


def like(lines: list[str], wanted: list[str]) -> bool:
    """Whether these are the lines told, of which one may leave out its end."""
    return len(lines) == len(wanted) and all(
        line.startswith(told.removesuffix(_LIKE)) if told.endswith(f" {_LIKE}") else line == told
        for line, told in zip(lines, wanted, strict=True)
    )


def shows(output: str, told: str) -> str | None:
    """Which lines of what is told are not in the output, in this order; None if all are."""
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    at = 0
    pieces = re.split(rf"^{re.escape(_LIKE)}$\n?", told, flags=re.MULTILINE)
    for number, piece in enumerate(pieces):
        wanted = [line.rstrip() for line in piece.rstrip().splitlines()]
        last = number == len(pieces) - 1
        if number == 0:
            starts = [0]
        elif last and wanted:
            starts = [len(lines) - len(wanted)]
        else:
            starts = list(range(at, len(lines) - len(wanted) + 1))
        found = next(
            (start for start in starts if start >= at and like(lines[start : start + len(wanted)], wanted)), None
        )
        if found is None:
            return piece
        at = found + len(wanted)
        if last and wanted and at != len(lines):
            return f"and nothing after {piece}"
    return None


_play = check.play_histories
_played: dict[str, object] = {}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The long random histories of the pool that ships are the same for every command: play them once."""

    def play(subject: ClassSubject, reference: Rule) -> object:
        if subject.name != "pool":
            return _play(subject, reference)
        assert not subject.options
        if subject.name not in _played:
            _played[subject.name] = _play(subject, reference)
        return _played[subject.name]

    monkeypatch.setattr(check, "play_histories", play)


@pytest.mark.parametrize(("name", "program", "told"), list(programs()), ids=[name for name, *_ in programs()])
def test_every_program_prints_what_is_shown(name: str, program: str, told: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, name, "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == told


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("command", "told"), list(commands()), ids=[command for command, _ in commands()])
def test_every_command_prints_what_is_shown(command: str, told: str) -> None:
    name, *arguments = shlex.split(command)
    assert name == "slotcheck"
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code in (0, 1), result.output
    assert (result.exit_code == 1) == ("verdict: violated" in told)
    assert told
    missing = shows(result.stdout, told)
    assert missing is None, f"not shown:\n{missing}\nin:\n{result.stdout}"


def test_lines_that_are_left_out_hide_no_difference() -> None:
    output = "a\nb\nc\nd\n"
    for told in ("a\nb\nc\nd\n", "a\n...\nd\n", "...\nb\nc\n...\n", "...\nd\n", "a\n...\n"):
        assert shows(output, told) is None, told
    assert shows("a  b c\n", "a  b ...\n") is None
    assert shows("a  b c\n", "a  c ...\n") is not None
    for told in ("a\nb\nc\n", "b\n...\n", "...\nc\nb\n...\n", "...\nc\n", "a\n...\nx\n"):
        assert shows(output, told) is not None, told


def test_every_command_that_is_named_exists() -> None:
    assert isinstance(main, click.Group)
    for path in [ROOT / "README.md", *DOCS]:
        for command in re.findall(r"`slotcheck ([a-z]+)", path.read_text(encoding="utf-8")):
            assert command in main.list_commands(click.Context(main)), f"{path.name}: {command}"


def test_every_link_leads_somewhere() -> None:
    for path in [ROOT / "README.md", *DOCS]:
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]*)(?:#[^)]*)?\)", text):
            if target and "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]*)\)", text):
            headings = re.findall(r"^#+ (.*)$", ((path.parent / target) if target else path).read_text(), re.MULTILINE)
            names = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in names, f"{path.name}: {target}#{anchor}"


def test_the_counts_of_a_check_are_those_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    counts = re.findall(
        r"\d+,\d{3}(?:,\d{3})*(?= states| that stand|, and every)|(?<=stand for )[\d,]*\d",
        (ROOT / "docs" / "lending.md").read_text(encoding="utf-8"),
    )
    assert len(counts) == 2
    for count in counts:
        assert count in readme, count


def test_the_glossary_has_every_invariant_in_its_words() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    table = text.partition("## Invariants")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (.*) \|$", table, re.MULTILINE)
    assert dict(rows[1:]) == ALL_INVARIANTS
    assert [name for name, _ in rows[1:]] == list(ALL_INVARIANTS)


def test_the_glossary_has_the_exit_codes() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| (\d) \|", text, re.MULTILINE)
    codes = {"holds": Verdict.HOLDS, "violated": Verdict.VIOLATED, "undetermined": Verdict.UNDETERMINED}
    assert {name: int(code) for name, code in rows} == {
        "bad input": BAD_INPUT,
        **{name: EXIT_CODES[verdict] for name, verdict in codes.items()},
    }
