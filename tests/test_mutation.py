"""Systematic mutation: what is made, what judges it, and that a green table means what it says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

import slotlending
from slotcheck.checks import mutate_command
from slotcheck.checks.cli import main
from slotcheck.checks.gate.lanes import DEEP, inputs_of, pieces_of
from slotcheck.checks.gate.project import Project
from slotcheck.checks.mutation import report as report_module
from slotcheck.checks.mutation import session as session_module
from slotcheck.checks.mutation.killer import MODULES, UNIT_TESTS, Seen, run_tests
from slotcheck.checks.mutation.mutation import Mutation, Outcome, equivalents, with_equivalents
from slotcheck.checks.mutation.report import MutationReport, mutation_as_json, mutation_as_text
from slotcheck.checks.mutation.session import MutationError, Session
from slotcheck.checks.terminal import console
from slotcheck.pymodel.result import Verdict

pytest.importorskip("cosmic_ray")

TESTS = Path(__file__).parent
PACKAGE = Path(slotlending.__file__).parent

#: A package of one module that adds, and a killer that sees whether it does, in the killer's own words.
MODULE = "def add(a, b):\n    return a + b\n\n\ndef log(text):\n    print(text)\n"
KILLER = """
import json, sys
sys.stdout, out = sys.stderr, sys.stdout
from slotlending import pool
text = open(pool.__file__).read()
if "a // b" in text:
    raise SystemExit("the killer itself fails")
seen = pool.add(2, 3) != 5 if "a * b" not in text else True
print(json.dumps({"by": "sums" if seen else None, "what": "2 + 3" if seen else "", "hangs": False}), file=out)
sys.exit(int(seen))
"""

#: Before a killer: its third call, which judges the second mutation, goes on until whoever started it has ended.
STUCK = """
import os, time
with open({calls!r}, "a+") as calls:
    calls.write(".")
    calls.seek(0)
    third, parent = len(calls.read()) == 3, os.getppid()
while third and os.getppid() == parent:
    time.sleep(0.02)
if third:
    os._exit(2)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = tmp_path / "slotlending"
    made.mkdir()
    (made / "__init__.py").write_text("")
    (made / "pool.py").write_text(MODULE)
    return made


def session(package: Path, killer: str = KILLER) -> Session:
    return Session("pool", package.parent / "sessions", None, package, (sys.executable, "-c", killer))


def test_every_change_is_judged_by_what_the_killer_says(package: Path) -> None:
    mine = session(package)
    mine.run()
    mutations, left_out = mine.mutations()
    outcomes = {one.after or "nothing": one for one in mutations}
    assert outcomes["return a - b"].outcome is Outcome.KILLED
    assert (outcomes["return a - b"].by, outcomes["return a - b"].told) == ("sums", "2 + 3")
    assert outcomes["return a - b"].before == "return a + b"
    assert (outcomes["return a - b"].function, outcomes["return a - b"].line) == ("add", 2)
    left = [one for one in mutations if one.operator == "slotcheck/DeleteStatement"]
    assert [(one.before, one.outcome) for one in left] == [
        ("return a + b", Outcome.KILLED),
        ("print(text)", Outcome.SURVIVED),
    ]
    assert outcomes["return a // b"].outcome is Outcome.FAILED
    assert left_out == 0
    assert (package.parent / "sessions" / ".gitignore").read_text() == "*\n"


def test_a_session_that_was_stopped_goes_on_and_one_of_another_package_begins_anew(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "_PROGRESS", 0.02)
    stop = Event()
    calls = package.parent / "calls"

    def stops(done: int, all_: int) -> None:
        if len(calls.read_text()) == 3:
            stop.set()

    stuck = STUCK.format(calls=str(calls)) + KILLER
    first = session(package, stuck)
    first.run(stops, stop)
    outcomes = [one.outcome for one in first.mutations()[0]]
    assert len(outcomes) - outcomes.count(Outcome.PENDING) == 1
    seen: list[tuple[int, int]] = []
    again = session(package, stuck)
    assert again.begun
    again.run(lambda done, all_: seen.append((done, all_)))
    assert Outcome.PENDING not in {one.outcome for one in again.mutations()[0]}
    assert seen[-1] == (len(outcomes), len(outcomes))
    # The package as it is, each mutation once, and the one that was being judged when it was stopped once more.
    assert len(calls.read_text()) == 1 + len(outcomes) + 1
    (package / "pool.py").write_text(MODULE.replace("text", "line"))
    assert not session(package, stuck).begun


def test_what_is_kept_of_other_tests_or_of_what_they_import_says_nothing(tmp_path: Path, package: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    project = Project(tmp_path)
    (mutate,) = (piece for piece in pieces_of(DEEP, project) if piece.name == "mutate")

    def kept_as() -> tuple[Path, str]:
        mine = Session("pool", tmp_path / "sessions", tests, package)
        return mine._folder, inputs_of(project).key(mutate.command, mutate.needs)

    seen = [kept_as()]
    for name in ("test_pool.py", "history.py"):
        (tests / name).write_text("")
        seen.append(kept_as())
    (tests / "test_docs.py").write_text("")  # about no module that is mutated
    assert kept_as() == seen[-1]
    for before, after in pairwise(seen):
        assert before[0] != after[0]
        assert before[1] != after[1]


def test_a_module_that_does_not_pass_as_it_is_is_no_session(package: Path) -> None:
    (package / "pool.py").write_text(MODULE.replace("+", "-"))
    mine = session(package)
    with pytest.raises(MutationError, match="does not pass"):
        mine.run()
    assert not mine.begun


def test_a_statement_is_left_out_within_functions_only() -> None:
    from cosmic_ray.mutating import mutate_code

    from slotcheck.checks.mutation.operators import DeleteStatement

    code = '"""Text."""\nx = 1\n\ndef f():\n    """Text."""\n    y: int\n    z: int = 2\n    del z\n'
    made = [mutate_code(code, DeleteStatement(), at) for at in range(3)]
    assert made[0].endswith("y: int\n    pass\n    del z\n")
    assert made[1].endswith("z: int = 2\n    pass\n")
    assert made[2] is None


# -- the killer --------------------------------------------------------------------------------------------------


#: The killer, with a twentieth of the time that its checks have.
IMPATIENT = """
import sys
from slotcheck.checks.mutation import killer, sight
usual = sight.checks_of
sight.checks_of = lambda module: [check._replace(seconds=check.seconds / 20) for check in usual(module)]
sys.exit(killer.main(*sys.argv[1:]))
"""


def kill(tmp_path: Path, module: str, before: str, after: str, *, command: Sequence[str] = ()) -> tuple[int, Any]:
    """Exit code and words of the killer on a copy of the package with one change."""
    copy = tmp_path / "slotlending"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copy / f"{module}.py").read_text()
    assert before in text
    (copy / f"{module}.py").write_text(text.replace(before, after, 1))
    command = command or [sys.executable, "-P", "-m", "slotcheck.checks.mutation.killer", module]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1]
    return done.returncode, json.loads(last) if last.startswith("{") else done.stdout


@pytest.mark.parametrize(
    ("module", "before", "after", "by"),
    [
        ("pool", "import", "imqort", "import"),
        ("pool", "return self._serve() if self._arrivals else _NOTHING", "return _NOTHING", "forests of 2 runs"),
        ("permit", "def enter(", "def entre(", "permits of 2 runs"),
    ],
)
def test_a_faulty_module_is_seen_by_the_cheapest_check_that_can(
    tmp_path: Path, module: str, before: str, after: str, by: str
) -> None:
    code, seen = kill(tmp_path, module, before, after)
    assert (code, seen["by"], seen["hangs"]) == (1, by, False)


def test_a_module_that_hangs_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", IMPATIENT, "pool"]
    code, seen = kill(tmp_path, "pool", "self._taken += 1", "while True: pass", command=command)
    assert (code, seen["by"], seen["hangs"]) == (1, "forests of 2 runs", True)


def test_what_only_the_unit_tests_can_see_they_see_in_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "slotlending"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    files = [TESTS / "test_errors.py"]
    assert run_tests(files, TESTS.parent) is None
    (copy / "errors.py").write_text(
        (copy / "errors.py").read_text().replace('"cap_refused"', '"cap"').replace("code", "kode")
    )
    seen = run_tests(files, TESTS.parent)
    assert seen is not None
    assert seen.by == UNIT_TESTS
    with pytest.raises(RuntimeError, match="pytest ended with exit code"):
        run_tests([TESTS / "none.py"], TESTS.parent)


def test_all_that_decides_is_mutated_and_has_tests() -> None:
    assert {f"{module}.py" for module in MODULES} <= {file.name for file in PACKAGE.glob("*.py")}
    for names in MODULES.values():
        for name in names:
            assert (TESTS / f"{name}.py").exists()


# -- the verdict -------------------------------------------------------------------------------------------------


def made(outcome: Outcome, after: str = "b", **more: Any) -> Mutation:
    return Mutation("pool", "f", 3, "core/AddNot", "a", after, outcome, "forests of 2 runs", **more)


def judged(mutations: Sequence[Mutation], reasons: dict[Any, str], monkeypatch: pytest.MonkeyPatch) -> MutationReport:
    monkeypatch.setattr(report_module, "equivalents", lambda: reasons)
    report = MutationReport(["pool"])
    report.add(mutations, 0)
    return report


LISTED = {("pool", "f", "a", "c", 1): "nobody reads it"}


@pytest.mark.parametrize(
    ("outcomes", "reasons", "verdict", "told"),
    [
        ([Outcome.KILLED, Outcome.HANGS], {}, Verdict.HOLDS, "holds (100.0%"),
        ([Outcome.KILLED, Outcome.SURVIVED], {}, Verdict.VIOLATED, "survived: pool.py:3, in f\n- a\n+ c"),
        ([Outcome.KILLED, Outcome.SURVIVED], LISTED, Verdict.HOLDS, "holds (100.0%"),
        ([Outcome.KILLED, Outcome.KILLED], LISTED, Verdict.VIOLATED, "listed as equivalent, and is not: pool.py, f"),
        ([Outcome.KILLED], LISTED, Verdict.VIOLATED, "listed as equivalent, and is not: pool.py, f"),
        ([Outcome.KILLED, Outcome.PENDING], LISTED, Verdict.UNDETERMINED, "1 of 2 mutations were not judged"),
        ([Outcome.KILLED, Outcome.FAILED], {}, Verdict.UNDETERMINED, "what was to judge it failed itself"),
        ([], {}, Verdict.UNDETERMINED, "nothing was checked"),
    ],
)
def test_green_is_only_what_was_killed_or_is_listed_and_survives(
    outcomes: list[Outcome],
    reasons: dict[Any, str],
    verdict: Verdict,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = judged([made(one, after) for one, after in zip(outcomes, "bc", strict=False)], reasons, monkeypatch)
    assert report.verdict is verdict
    to = console()
    with to.capture() as printed:
        to.print(mutation_as_text(report))
    assert told in printed.get()
    as_json = mutation_as_json(report)
    assert as_json["verdict"] == verdict.value
    assert bool(as_json["violations"]) == (verdict is Verdict.VIOLATED)
    assert bool(as_json["undetermined"]) == (verdict is Verdict.UNDETERMINED)


def test_mutations_that_are_alike_are_told_apart_by_their_place() -> None:
    alike = [made(Outcome.SURVIVED, "c", told=""), Mutation("pool", "f", 9, "core/AddNot", "a", "c", Outcome.SURVIVED)]
    found = list(with_equivalents(alike, {("pool", "f", "a", "c", 2): "nobody reads it"}))
    assert [(one.line, one.which, one.outcome) for one in found] == [
        (3, 1, Outcome.SURVIVED),
        (9, 2, Outcome.EQUIVALENT),
    ]


def test_every_equivalent_has_a_reason_and_a_module_that_is_mutated_and_stands_once() -> None:
    listed = json.loads((TESTS.parent / "checks" / "mutation" / "equivalent.json").read_text())
    assert len(listed) == len(equivalents())
    for (module, *_), reason in equivalents().items():
        assert module in MODULES
        assert len(reason.split()) > 4, reason


# -- the command -------------------------------------------------------------------------------------------------


def test_without_the_tool_nothing_is_green(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutate_command, "tool_is_missing", lambda: "cosmic-ray is not installed: pip install")
    result = CliRunner().invoke(main, ["mutate", "--format", "json"])
    assert result.exit_code == 3
    assert json.loads(result.output)["undetermined"] == ["cosmic-ray is not installed: pip install"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["pol"], "no module 'pol' to mutate; there are pool, order, other_orders, permit"),
        (["--tests", ".", "--no-tests"], "--tests and --no-tests: one or the other"),
        (["--tests", "nowhere"], "'nowhere' does not exist"),
    ],
)
def test_bad_input_is_refused(args: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["mutate", *args])
    assert result.exit_code == 2
    assert told in result.output


def test_the_command_judges_the_sessions_that_it_runs(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(module: str, folder: Path, tests: Path | None) -> Session:
        assert tests is None
        return session(package, KILLER.replace("a // b", "no such text"))

    monkeypatch.setattr(mutate_command, "Session", fake)
    monkeypatch.setattr(report_module, "equivalents", dict)
    result = CliRunner().invoke(main, ["mutate", "pool", "--no-tests"])
    assert result.exit_code == 1, result.output
    assert "survived: pool.py:6, in log\n- print(text)\n+ pass" in result.output


def test_the_words_of_the_killer_are_those_that_the_session_reads() -> None:
    assert Seen(**json.loads(json.dumps(Seen("a", "b", hangs=True)._asdict()))) == Seen("a", "b", hangs=True)
