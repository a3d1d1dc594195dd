"""The project as others get it: clean, typed, and a wheel that takes no name of theirs."""

from __future__ import annotations

import ast
import doctest
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("slotlending", "slotcheck.pymodel", "slotcheck.proofs", "slotcheck.checks")

MY_POOL = """
from slotlending import Pool as Theirs

class Correct(Theirs):
    pass

class Leaky(Theirs):
    def _forget(self, state):
        if state.token == "pool":
            self._taken += 1
        super()._forget(state)
"""


def run(*command: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout.split("\0")
    for name in names:
        if name and (ROOT / name).is_file():
            (folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "src" / name)
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
    built = run(*pip, "-w", str(folder), str(folder / "src"))
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content in a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_code_is_clean() -> None:
    for command in (("check",), ("format", "--check")):
        result = run(sys.executable, "-m", "ruff", *command, ".")
        assert result.returncode == 0, result.stdout


def test_the_wheel_brings_only_two_top_level_names(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"slotlending", "slotcheck"}
    assert "slotcheck/__init__.py" not in names  # a namespace, so that more can join it
    folders = (ROOT / "checks" / "scenarios", ROOT / "checks" / "workloads")
    scenarios = {path.name for folder in folders for path in folder.glob("*.scenario")}
    assert scenarios
    assert {name.split("/")[-1] for name in names if name.endswith(".scenario")} == scenarios
    assert "slotcheck/checks/scenario.lark" in names
    templates = {path.name for path in (ROOT / "checks" / "forms" / "templates").iterdir()}
    assert {name.split("/")[-1] for name in names if "/forms/templates/" in name} == templates
    assert {"slotcheck/checks/port/vectors.md", "slotcheck/checks/port/vectors.schema.json"} <= set(names)
    assert {f"{package.replace('.', '/')}/py.typed" for package in PACKAGES} <= set(names)
    modules = {
        path.relative_to(ROOT) for folder in ("pymodel", "checks", "proofs") for path in (ROOT / folder).rglob("*.py")
    }
    assert {f"slotcheck/{path.as_posix()}" for path in modules} <= set(names)


def test_what_is_installed_passes_strict_type_checks(installed: Path, tmp_path: Path) -> None:
    flags = [flag for package in PACKAGES for flag in ("-p", package)]
    result = run(
        sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *flags,
        cwd=tmp_path, MYPYPATH=str(installed),
    )  # fmt: skip
    assert result.returncode == 0, result.stdout


def test_a_class_of_ones_own_is_checked_beside_folders_of_the_same_names(installed: Path, tmp_path: Path) -> None:
    for name in ("checks", "specs", "pymodel"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('the wrong one')\n")
    (tmp_path / "my.py").write_text(MY_POOL)
    check = (sys.executable, "-m", "slotcheck.checks.entry", "check", "--runs", "2", "--subject")
    # A folder on the path is found before the editable install of the checkout.
    correct = run(*check, "my:Correct", cwd=tmp_path, PYTHONPATH=str(installed))
    assert (correct.returncode, correct.stderr) == (0, "")
    leaky = run(*check, "my:Leaky", cwd=tmp_path, PYTHONPATH=str(installed))
    assert leaky.returncode == 1
    assert "NoSlotLeak" in leaky.stdout


def test_the_core_has_no_dependencies_and_no_input_or_output() -> None:
    core = {"__future__", "collections", "heapq", "typing", "slotlending"}
    for path in (ROOT / "slotlending").glob("*.py"):
        allowed = sys.stdlib_module_names | core if path.name.startswith("aio") else core
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.partition(".")[0] in allowed, f"{path.name} imports {name}"


def test_flow_goes_one_way() -> None:
    def imports(folder: str) -> set[str]:
        text = "\n".join(path.read_text() for path in (ROOT / folder).rglob("*.py"))
        return set(re.findall(r"^\s*(?:from|import) (slotlending|slotcheck\.[a-z]+)", text, re.MULTILINE))

    assert imports("slotlending") == {"slotlending"}
    assert imports("pymodel") == {"slotcheck.pymodel"}
    assert imports("proofs") == {"slotcheck.proofs"}


def test_the_commands_of_the_readme_exist() -> None:
    text = (ROOT / "README.md").read_text()
    told = run(sys.executable, "-m", "slotcheck.checks.entry", "--help").stdout
    named = set(re.findall(r"`slotcheck ([a-z]+)\b", text))
    assert named
    for command in named:
        assert f"  {command} " in told, command


def test_the_example_of_the_readme_is_true() -> None:
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False) == (0, 7)


def test_the_asyncio_program_of_the_readme_runs() -> None:
    (program,) = re.findall(r"```python\n(import asyncio.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    result = run(sys.executable, "-c", program + "\nprint(pool)")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("<aio.Pool 0 of 8 taken, 0 in flight, 0 waiting")


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = re.findall(r"^python3 -m venv .*pytest -n auto$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert command in (ROOT / ".ci" / "run").read_text()
