"""What GitHub runs: the action's script, and that nothing it uses can move."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

#: Stands for the command: notes its arguments, and writes a report with the verdict that is wanted.
FAKE = """#!{python}
import json, os, sys
args = sys.argv[1:]
print(json.dumps(args), file=open("ran", "a"))
code = int(os.environ["CODE"])
if code != 2:
    verdict = {{0: "holds", 1: "violated", 3: "undetermined"}}[code]
    open(args[args.index("--report") + 1], "w").write(json.dumps({{"verdict": verdict}}))
sys.exit(code)
"""


def action() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return read


def script() -> str:
    (step,) = (step for step in action()["runs"]["steps"] if step.get("id") == "gate")
    return str(step["run"])


def gate(folder: Path, code: int = 0, **inputs: str) -> tuple[int, dict[str, str], list[str]]:
    """Run the step in a folder; its exit code, its outputs, and the arguments of the command."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    fake = tools / "slotcheck"
    fake.write_text(FAKE.format(python=sys.executable))
    fake.chmod(0o755)
    output, ran = folder / "output", folder / "ran"
    output.write_text("")
    ran.unlink(missing_ok=True)
    given = {"LANE": "default", "SUBJECT": "", "SINCE": "", "BASE": "", "SKIP": "", "EVENT": "pull_request", **inputs}
    where = {"RUNNER_TEMP": "temp", "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    path = f"{tools}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {**given, **where, "PATH": path, "CODE": str(code)}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    told = dict(line.split("=", 1) for line in output.read_text().splitlines())
    (args,) = (json.loads(line) for line in ran.read_text().splitlines())
    return done.returncode, told, args


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


@needs_bash
@pytest.mark.parametrize(
    ("code", "verdict"), [(0, "holds"), (1, "violated"), (2, "bad input"), (3, "undetermined")], ids=str
)
def test_the_step_ends_as_the_gate_does_and_tells_its_verdict(tmp_path: Path, code: int, verdict: str) -> None:
    ended, told, _ = gate(tmp_path, code)
    assert (ended, told["verdict"], told["reports"]) == (code, verdict, "temp/slotcheck")


@needs_bash
def test_inputs_become_options_and_are_never_run(tmp_path: Path) -> None:
    hostile = "my:Pool; touch hacked $(touch hacked) `touch hacked`"
    _, _, args = gate(tmp_path, SUBJECT=hostile, SINCE="origin/main", SKIP="tlc prove", LANE="deep")
    assert args[args.index("--subject") + 1] == hostile
    assert args[args.index("--changed-since") + 1] == "origin/main"
    assert [args[at + 1] for at, arg in enumerate(args) if arg == "--skip"] == ["tlc", "prove"]
    assert args[:3] == ["gate", "--lane", "deep"]
    assert not (tmp_path / "hacked").exists()
    assert "${{" not in script()


@needs_bash
def test_a_pull_request_is_compared_with_what_was_pushed_last(tmp_path: Path) -> None:
    kept = ".slotcheck/base-default.json"
    assert "--base" not in gate(tmp_path)[2]
    assert not (tmp_path / kept).exists()
    gate(tmp_path, EVENT="push")
    assert json.loads((tmp_path / kept).read_text()) == {"verdict": "holds"}
    args = gate(tmp_path, 1)[2]
    assert args[args.index("--base") + 1] == kept
    assert json.loads((tmp_path / kept).read_text()) == {"verdict": "holds"}
    args = gate(tmp_path, BASE="other.json")[2]
    assert args[args.index("--base") + 1] == "other.json"


def uses(told: Any) -> Iterator[str]:
    """Every action that is used, at any depth."""
    if isinstance(told, dict):
        for key, inside in told.items():
            if key == "uses":
                yield inside
            else:
                yield from uses(inside)
    elif isinstance(told, list):
        for inside in told:
            yield from uses(inside)


@pytest.mark.parametrize("file", [ROOT / "action.yml", *WORKFLOWS], ids=lambda file: file.name)
def test_what_is_used_is_pinned_to_a_commit(file: Path) -> None:
    found = list(uses(yaml.safe_load(file.read_text())))
    assert found
    for one in found:
        assert one == "./" or re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", one), one


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_may_do_no_more_than_it_has_to(file: Path) -> None:
    told = yaml.safe_load(file.read_text())
    assert told["permissions"] == {"contents": "read"}
    for job in told["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert set(job.get("permissions", {})) <= {"contents", "security-events"}


def test_every_input_of_the_action_has_a_description_and_is_used() -> None:
    text = (ROOT / "action.yml").read_text()
    for name, told in action()["inputs"].items():
        assert told["description"]
        assert f"inputs.{name} }}}}" in text, name
