"""The walk through a fault in docs/ports.md: the program, what is said of it, the change, and what is said then."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from port_programs import ROOT

from slotcheck.checks.cli import main

TEXT = (ROOT / "docs" / "ports.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def said_of(program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / "first_attempt.py").write_text(program, encoding="utf-8")
    (folder / "python").symlink_to(sys.executable)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(folder))
    (command,) = re.findall(r"`slotcheck (port [^`]*first_attempt\.py)`", TEXT)
    return CliRunner().invoke(main, command.split()).stdout


def test_the_fault_is_found_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = blocks("py")
    assert said_of(program, tmp_path, monkeypatch) == blocks("text")[0]


def test_the_change_mends_it_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, change = blocks("py")
    wrong = re.search(
        r"        elif self\.runs\[run\]\.lent:\n            self\.finish.*?self\.serve\(\)\n", program, re.DOTALL
    )
    assert wrong is not None
    assert said_of(program.replace(wrong[0], change), tmp_path, monkeypatch) == blocks("text")[1]
