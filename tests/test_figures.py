"""The figures of the documents: those committed are those that the pool gives now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from slotcheck.checks.figures import all_drawn, write_figures

FOLDER = Path(__file__).parent.parent / "docs" / "figures"


def test_the_committed_figures_are_up_to_date() -> None:
    again = "run python -m slotcheck.checks.figures docs/figures"
    figures = all_drawn()
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(figures), again
    for name, svg in figures.items():
        assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == svg, f"{name}: {again}"


def test_every_figure_is_in_a_document_and_every_picture_of_a_document_exists() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.parent.glob("*.md"))
    for name in all_drawn():
        assert f"](figures/{name}.svg)" in text, name


def test_the_command_writes_them(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "slotcheck.checks.figures", str(tmp_path / "new"))
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert [Path(line) for line in result.stdout.splitlines()] == write_figures(tmp_path / "new")
    assert subprocess.run(command[:-1], capture_output=True, check=False).returncode == 1
