"""The four ports and the errgroup programs: each is built, runs its own tests, and is checked as a user would check it.

A port whose toolchain is not here is skipped, and the reason says so. With SLOTCHECK_ALL_PORTS set in the environment,
as CI sets it, that is a failure.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from slotcheck.checks.port.check import PortReport, PortSettings, check_port
from slotcheck.pymodel.explore import Verdict

ROOT = Path(__file__).parent.parent
PORTS = ROOT / "ports"
ROW = re.compile(r"^\| `(\w+)` \| (R\d+.*) \| (vectors|edges|random) \| (\d+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Built:
    """What is made of one folder of `ports`, with the commands of its README.

    Attributes:
        name: of the folder.
        tools: programs that must be here.
        test: commands that build it and run its own tests, the conformance vectors among them.
        lints: commands that must find nothing, by the program each needs; run where that is here.
        port: starts the port; a path is in the folder.
        faulty: starts the port that has faults.
    """

    name: str
    tools: tuple[str, ...]
    test: tuple[str, ...]
    port: tuple[str, ...] = ()
    faulty: tuple[str, ...] = ()
    lints: tuple[tuple[str, str], ...] = ()

    @property
    def folder(self) -> Path:
        return PORTS / self.name

    def command(self, words: Sequence[str]) -> list[str]:
        """The words, with what lies in the folder by its whole path."""
        return [str(self.folder / word) if (self.folder / word).exists() else word for word in words]


_JAVA = ("java", "-jar", "target/slotlending-port.jar")
_NODE = ("node", "dist/src/main.js")
_RUST = "cargo build -q --locked --release"
FOLDERS = {
    one.name: one
    for one in (
        Built(
            "rust",
            ("cargo",),
            (
                _RUST,
                f"{_RUST} --features faults --target-dir target/faults",
                "cargo test -q --locked --release",
            ),
            ("target/release/slotlending-port",),
            ("target/faults/release/slotlending-port",),
            (
                ("rustfmt", "cargo fmt --check"),
                ("cargo-clippy", "cargo clippy -q --locked --release --all-targets --all-features -- -D warnings"),
            ),
        ),
        Built(
            "go",
            ("go",),
            (
                "go build -o bin/slotlending-port ./cmd/slotlending-port",
                "go build -tags faults -o bin/faulty-port ./cmd/slotlending-port",
                "go vet ./...",
                "go test ./...",
            ),
            ("bin/slotlending-port",),
            ("bin/faulty-port",),
            (("gofmt", "gofmt -l ."),),
        ),
        Built("java", ("java", "mvn"), ("mvn -q -B -ntp package",), _JAVA, _JAVA),
        Built("typescript", ("node", "npm"), ("npm ci --no-audit --no-fund", "npm test"), _NODE, _NODE),
        Built(
            "errgroup",
            ("go",),
            ("go vet ./...", "go build -o bin/nested ./nested", "go build -o bin/trygo ./trygo"),
            lints=(("gofmt", "gofmt -l ."),),
        ),
    )
}
LANGUAGES = [name for name, one in FOLDERS.items() if one.port]


def faults(name: str) -> list[tuple[str, str, int]]:
    """The faults of a port by its README: name, the level that finds it, and the lines of the script."""
    return [
        (fault, level, int(lines)) for fault, _, level, lines in ROW.findall((PORTS / name / "README.md").read_text())
    ]


def built(name: str, shared: Path) -> Built:
    """The folder once it is built and its own tests have passed, in this process or another one of this session."""
    one = FOLDERS[name]
    need(one)
    done = shared / f"port-{name}-built"
    with (shared / f"port-{name}-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            for command in one.test:
                run(one, command)
            done.touch()
    return one


def need(one: Built) -> None:
    """Skip, or with SLOTCHECK_ALL_PORTS fail, where the tools of a folder are not here."""
    missing = [tool for tool in one.tools if shutil.which(tool) is None]
    if missing:
        told = f"ports/{one.name} is not checked: {' and '.join(missing)} not found"
        if os.environ.get("SLOTCHECK_ALL_PORTS"):
            pytest.fail(told)
        pytest.skip(told)


def run(one: Built, command: str) -> str:
    """What a command prints that must succeed."""
    words = command.split()
    result = subprocess.run(words, cwd=one.folder, capture_output=True, text=True, check=False, timeout=400)
    assert result.returncode == 0, f"{command}:\n{result.stdout[-4000:]}{result.stderr[-4000:]}"
    return result.stdout


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all processes of this session share, and no other session."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


def check(one: Built, words: tuple[str, ...], **settings: object) -> PortReport:
    return check_port(one.command(words), PortSettings(**settings))  # type: ignore[arg-type]


def test_a_port_without_its_tools_is_skipped_with_a_word_and_fails_where_all_are_demanded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = Built("cobol", ("sh", "no-such-compiler"), ())
    monkeypatch.delenv("SLOTCHECK_ALL_PORTS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="ports/cobol is not checked: no-such-compiler not found"):
        need(one)
    monkeypatch.setenv("SLOTCHECK_ALL_PORTS", "1")
    with pytest.raises(pytest.fail.Exception, match="ports/cobol is not checked: no-such-compiler not found"):
        need(one)


@pytest.mark.parametrize("name", FOLDERS)
def test_it_builds_and_passes_its_own_tests(name: str, shared: Path) -> None:
    built(name, shared)


@pytest.mark.parametrize("name", [name for name, one in FOLDERS.items() if one.lints])
def test_its_lints_find_nothing(name: str, shared: Path) -> None:
    """The compilers of Java and TypeScript find what they find in the build, where a warning is a failure."""
    one = built(name, shared)
    for tool, command in one.lints:
        if shutil.which(tool) is not None:
            assert run(one, command) == "", command


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_port_takes_every_edge_of_small_trees_and_the_vectors(name: str, shared: Path) -> None:
    one = built(name, shared)
    report = check(one, one.port, runs=2, histories=1)
    assert report.verdict is Verdict.HOLDS, report.violation
    edges = [part for part in report.parts if part.level == "edges"]
    assert sum(part.covered for part in edges) == sum(part.edges for part in edges) > 2000
    assert not report.not_claimed
    assert not report.hidden


@pytest.mark.parametrize(
    ("name", "fault", "level", "lines"), [(name, *row) for name in LANGUAGES for row in faults(name)]
)
def test_each_fault_is_found_as_the_readme_says(
    name: str, fault: str, level: str, lines: int, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = built(name, shared)
    monkeypatch.setenv("SLOTLENDING_FAULT", fault)
    report = check(one, one.faulty, levels=(level,))
    assert report.verdict is Verdict.VIOLATED
    assert report.violation is not None
    assert len(report.violation.requests) <= lines  # fewer, once the smallest script is found smaller


@pytest.mark.parametrize("name", [name for name in LANGUAGES if FOLDERS[name].faulty != FOLDERS[name].port])
def test_the_port_with_its_faults_off_does_what_the_rules_say(name: str, shared: Path) -> None:
    one = built(name, shared)
    assert check(one, one.faulty, levels=("random",), histories=1).verdict is Verdict.HOLDS


def test_every_port_has_five_faults_or_more() -> None:
    assert {name: len(faults(name)) >= 5 for name in LANGUAGES} == dict.fromkeys(LANGUAGES, True)


def goroutines(output: str) -> list[str]:
    """The stacks of a Go program that has ended in a fatal error."""
    return [stack for stack in output.split("\n\n") if stack.startswith("goroutine ")]


@pytest.mark.parametrize("limit", [1, 2])
def test_go_within_go_is_stuck_with_all_that_the_limit_admits_waiting_for_room(limit: int, shared: Path) -> None:
    """Judged by the Go runtime, which sees that no goroutine can go on: nothing here waits for a time to pass."""
    program = built("errgroup", shared).folder / "bin" / "nested"
    result = subprocess.run([program, f"-limit={limit}"], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 2
    assert result.stderr.startswith("fatal error: all goroutines are asleep - deadlock!")
    assert result.stdout == ""
    admitted = [stack for stack in goroutines(result.stderr) if "created by golang.org/x/sync/errgroup" in stack]
    assert len(admitted) == limit
    assert all("[chan send]" in stack and "errgroup.(*Group).Go(" in stack for stack in admitted)


@pytest.mark.parametrize(("name", "limit"), [("nested", 7), ("trygo", 1), ("trygo", 2)])
def test_with_room_for_all_parents_or_with_an_inline_child_it_ends(name: str, limit: int, shared: Path) -> None:
    program = built("errgroup", shared).folder / "bin" / name
    result = subprocess.run([program, f"-limit={limit}"], capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stdout) == (0, "finished: 15 of 15 nodes\n")
