"""What results kept depend on: in doubt, a change of it means that the check is run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from slotcheck.checks.gate.inputs import Group
from slotcheck.checks.gate.lanes import LANES, inputs_of, pieces_of
from slotcheck.checks.gate.project import Port, Project, read_project
from slotcheck.checks.gate.versions import programs, sources_of

ROOT = Path(__file__).parent.parent


def git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture(params=["git", "no git"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A project of one file."""
    made = tmp_path / "project"
    made.mkdir()
    (made / "my.py").write_text("class Pool: ...\n")
    if request.param == "git":
        git(made, "init", "-q")
        (made / ".gitignore").write_text("out/\n*.so\n.venv\nvenv\n")
    return made


def write(path: str, text: str = "changed\n") -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    return do


def link(folder: Path) -> None:
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "helper.py").write_text(str(len(list(folder.iterdir()))))
    (folder / "linked").symlink_to(elsewhere)
    (elsewhere / "round").symlink_to(elsewhere)


def nested_repository(folder: Path) -> None:
    write("vendored/helper.py")(folder)
    git(folder / "vendored", "init", "-q")


def gone(folder: Path) -> None:
    (folder / "my.py").unlink()


def environment(folder: Path) -> None:
    write("venv/pyvenv.cfg")(folder)
    write("venv/lib/other.py")(folder)


@pytest.mark.parametrize(
    "change",
    [
        write("my.py"),
        write("helper.py"),
        write("deep/er/helper.py"),
        write("data.json"),
        write("built.so"),
        write("out/generated.py"),
        write("out/built.so"),
        link,
        nested_repository,
        gone,
    ],
)
def test_what_a_class_may_be_made_of_matters(folder: Path, change: Callable[[Path], None]) -> None:
    before = Group("subject", (folder,), by_git=True)
    assert replace(before).fingerprint == before.fingerprint
    change(folder)
    assert replace(before).fingerprint != before.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        write("README.md"),
        write("__pycache__/my.pyc"),
        write("node_modules/a/index.js"),
        write(".slotcheck/check.json"),
        write("my.egg-info/PKG-INFO"),
        environment,
    ],
)
def test_what_tools_keep_and_what_is_only_read_does_not(folder: Path, change: Callable[[Path], None]) -> None:
    before = Group("subject", (folder,), by_git=True)
    assert before.fingerprint
    change(folder)
    assert replace(before).fingerprint == before.fingerprint


def test_of_what_git_ignores_only_what_can_be_imported_matters(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("out/\n")
    before = Group("subject", (tmp_path,), by_git=True)
    assert before.fingerprint
    write("out/log")(tmp_path)
    assert replace(before).fingerprint == before.fingerprint


def test_a_class_from_elsewhere_matters_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    write("mine_from_elsewhere/pool.py")(elsewhere)
    write("mine_from_elsewhere/__init__.py", "raise ImportError('nothing is imported to find it')")(elsewhere)
    assert sources_of(["mine_from_elsewhere.pool:Pool", "pool"], project) == sources_of([], project)
    monkeypatch.syspath_prepend(elsewhere)
    assert elsewhere / "mine_from_elsewhere" in sources_of(["mine_from_elsewhere.pool:Pool"], project)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(elsewhere), str(project)]))
    assert elsewhere in sources_of(["pool"], project)
    assert project not in sources_of(["pool"], project)
    assert sources_of(["no_such_module:Pool", "..:", ":"], project)


def test_what_is_edited_where_it_is_used_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "site" / "other-1.0.dist-info"
    write("METADATA", "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")(info)
    url = (tmp_path / "a folder").as_uri()
    write("direct_url.json", f'{{"url": "{url}", "dir_info": {{"editable": true}}}}')(info)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    assert tmp_path / "a folder" in sources_of([], tmp_path / "project")
    write("direct_url.json", f'{{"url": "{url}", "dir_info": {{}}}}')(info)
    assert tmp_path / "a folder" not in sources_of([], tmp_path / "project")


def test_another_version_of_a_program_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    none = list(programs(["cc"]))
    write("cc", "#!/bin/sh\n")(tmp_path)
    (tmp_path / "cc").chmod(0o755)
    first = list(programs(["cc"]))
    write("cc", "#!/bin/sh\nexit 1\n")(tmp_path)
    assert len({*none, *first, *programs(["cc"])}) == 3


def test_the_programs_of_a_port_are_those_that_build_and_run_it_and_lie_elsewhere() -> None:
    port = Port("a", ("out/port", "--fast"), (("make", "all"), ("/opt/cc",), ("python", "build.py"), ("make",)))
    assert port.programs() == ["make", "/opt/cc"]


def test_in_this_project_what_a_change_of_other_files_breaks_is_not_known_so_all_is_run() -> None:
    inputs = inputs_of(read_project(ROOT))
    others = [ROOT / "pyproject.toml", ROOT / "tests" / "test_gate.py", ROOT / "checks" / "gate" / "pins.json"]
    assert inputs.unknown([*others, ROOT / "slotlending" / "pool.py", ROOT / "README.md"]) == others


@pytest.mark.parametrize("lane", LANES)
def test_every_piece_of_a_lane_depends_on_groups_that_there_are(lane: str, tmp_path: Path) -> None:
    for project in (read_project(ROOT), Project(tmp_path, "my:Pool", "my:Port")):
        pieces, groups = pieces_of(lane, project), inputs_of(project).groups
        assert len({piece.name for piece in pieces}) == len(pieces)
        for piece in pieces:
            assert set(piece.needs) <= set(groups)
            assert "tools" in piece.needs
