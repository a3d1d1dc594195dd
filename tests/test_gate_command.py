"""`slotcheck gate` on small projects: its options, what it depends on, what changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from processes import runs, wait_until

from slotcheck.checks import gate_command as command
from slotcheck.checks.cli import main
from slotcheck.checks.gate.changes import changes_since
from slotcheck.checks.gate.project import ProjectError, read_project
from slotcheck.checks.gate.run import Runner
from slotcheck.checks.mutants import FAULTY, places

ROOT = Path(__file__).parent.parent


def gate(*args: str) -> Result:
    return CliRunner().invoke(main, ["gate", *args])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which every piece holds, and notes beside the folder that it ran."""
    fake = (
        f"import json, sys; open({str(_notes(tmp_path))!r}, 'a').write(sys.argv[1] + '\\n'); "
        "print(json.dumps({'verdict': 'holds', 'covered': {'things': 1}, 'violations': [], 'parts': [{'name': 'a'}]}))"
    )

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "Runner", partial(Runner, program=(sys.executable, "-c", fake)))
    monkeypatch.setattr(command, "against_pins", lambda *_: [])
    return tmp_path


def _notes(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-ran")


def ran(folder: Path) -> list[str]:
    """The commands run since this was last asked, sorted: some run at the same time."""
    file = _notes(folder)
    told = sorted(file.read_text().split()) if file.exists() else []
    file.unlink(missing_ok=True)
    return told


def test_a_gate_runs_each_piece_once_and_then_answers_from_what_was_kept(project: Path) -> None:
    first = gate()
    assert first.exit_code == 0, first.output
    assert ran(project) == ["asyncio", "check", "mutants", "prove", "tlc"]
    again = gate()
    assert again.exit_code == 0
    assert ran(project) == []
    assert "verdict: holds (lane default; 5 pieces; all from cache)" in again.output
    assert gate("--no-cache").exit_code == 0
    assert len(ran(project)) == 5


def test_only_and_skip_stand_in_the_verdict_line(project: Path) -> None:
    told = gate("--only", "check").output
    assert "holds (lane default; 1 piece; skipped: mutants, asyncio, tlc, prove)" in told
    assert "skipped: tlc" in gate("--skip", "tlc").output
    everything = gate("--only", "check", "--skip", "check")
    assert everything.exit_code == 3
    assert "undetermined: nothing was checked" in everything.output


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--only", "tcl"), "this lane has no piece 'tcl'; did you mean tlc?"),
        (("--lane", "slow"), "'slow' is not one of"),
        (("--base", "none.json"), "none.json"),
        (("--junit", "no/where.xml"), "'no' is no folder"),
    ],
)
def test_bad_input_is_refused(project: Path, args: tuple[str, ...], told: str) -> None:
    result = gate(*args)
    assert result.exit_code == 2
    assert told in result.output
    assert "Traceback" not in result.output


def test_a_base_that_is_no_report_is_refused(project: Path) -> None:
    (project / "base.json").write_text('{"verdict": "holds"}')
    assert "base.json is no report" in gate("--base", "base.json").output
    assert gate("--report", "r.json").exit_code == 0
    assert gate("--base", "r.json", "--no-timing").exit_code == 0


def test_all_forms_are_written_and_a_summary_is_added_to(project: Path) -> None:
    (project / "summary.md").write_text("before\n")
    args = ("--junit", "j.xml", "--sarif", "s.sarif", "--report", "r.json", "--summary", "summary.md")
    assert gate(*args).exit_code == 0
    assert (project / "summary.md").read_text().startswith("before\n## ")
    assert json.loads((project / "r.json").read_text())["verdict"] == "holds"
    assert json.loads((project / "s.sarif").read_text())["version"] == "2.1.0"
    assert "<testsuites" in (project / "j.xml").read_text()


def test_what_is_kept_is_not_seen_by_git(project: Path) -> None:
    gate()
    assert (project / ".slotcheck" / ".gitignore").read_text() == "*\n"


def test_a_subject_that_cannot_be_checked_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = gate("--lane", "quick", "--only", "check", "--subject", "no_such_module:Pool")
    assert result.exit_code == 2
    assert "no_such_module" in result.output


def test_what_is_asked_to_end_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(
        "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)\n"
    )
    command = (sys.executable, "-m", "slotcheck.checks.entry", "gate", "--subject", "my:Pool", "--format", "json")
    gate = subprocess.Popen([*command, "--only", "check", "--report", "r.json"], cwd=tmp_path, stdout=subprocess.PIPE)
    try:
        pid = tmp_path / "pid"
        wait_until(lambda: pid.exists() and bool(pid.read_text()))
        gate.terminate()
        out, _ = gate.communicate(timeout=60)
    finally:
        gate.kill()
    assert gate.returncode == 3
    report = json.loads(out)
    assert report == json.loads((tmp_path / "r.json").read_text())
    assert "ended by SIGTERM" in report["undetermined"]
    assert "not reached: check" in report["line"]
    wait_until(lambda: not runs(int(pid.read_text())))


def test_a_faulty_class_of_ones_own_is_red_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    leaky = (
        "from slotlending import Pool\n\nclass Leaky(Pool):\n    def _forget(self, state):\n        self._taken += 1\n"
    )
    (tmp_path / "my.py").write_text(f"{leaky}        super()._forget(state)\n")
    result = gate("--lane", "quick", "--only", "check", "--subject", "my:Leaky", "--sarif", "s.sarif", "--traces", "t")
    assert result.exit_code == 1, result.output
    found = json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]
    place = found[0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "my.py", "uriBaseId": "PROJECT"}, "region": {"startLine": 4}}
    assert list((tmp_path / "t" / "check").glob("*.html"))


# -- what changed ------------------------------------------------------------------------------------------------


def git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q")
    (project / "port").mkdir()
    (project / "port" / "main.py").write_text("one\ntwo\nthree\nfour\n")
    (project / "pyproject.toml").write_text(
        '[[tool.slotcheck.ports]]\nname = "mine"\nfolder = "port"\ncommand = "python main.py"\n'
    )
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return project


def test_since_a_revision_only_what_a_change_may_have_broken_is_run(repository: Path) -> None:
    (repository / "port" / "main.py").write_text("one\n2\nthree\nfour\n")
    result = gate("--changed-since", "HEAD", "--no-cache")
    assert result.exit_code == 0, result.output
    assert ran(repository) == ["port"]
    assert "unchanged since HEAD and not run: check, mutants, asyncio, tlc, prove" in " ".join(result.output.split())


def test_since_a_revision_everything_is_run_in_doubt(repository: Path) -> None:
    (repository / "setup.cfg").write_text("what this changes cannot be told")
    assert gate("--changed-since", "HEAD", "--no-cache").exit_code == 0
    assert len(ran(repository)) == 6
    result = gate("--changed-since", "no-such-revision", "--no-cache")
    assert "git cannot tell what changed since no-such-revision, so all is run" in result.output
    assert len(ran(repository)) == 6


def test_where_nothing_changed_and_nothing_is_kept_nothing_was_checked(repository: Path) -> None:
    result = gate("--changed-since", "HEAD", "--no-cache")
    assert result.exit_code == 3
    assert ran(repository) == []


def test_the_lines_of_a_change_and_those_beside_lines_that_are_gone(repository: Path) -> None:
    (repository / "port" / "main.py").write_text("one\n2\nthree\n")
    changes = changes_since(repository, "HEAD")
    assert changes is not None
    assert changes.files == (repository / "port" / "main.py",)
    assert changes.lines == {"port/main.py": frozenset({2, 3, 4})}


# -- what the project says ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool.slotcheck", "pyproject.toml: "),
        ("[tool]\nslotcheck = 3", "[tool.slotcheck] is no table"),
        ("[tool.slotcheck]\nsubjekt = 'a:B'", "'subjekt' is not known; there are subject, "),
        ("[tool.slotcheck]\nsubject = 3", "subject is 3, not of type str"),
        ("[tool.slotcheck]\nrelend = 'maybe'", "relend is 'maybe', not off, on or both"),
        ("[tool.slotcheck]\nports = [3]", "3 is no table"),
        ("[[tool.slotcheck.ports]]\nname = 'a'", "a port has a command"),
        ("[[tool.slotcheck.ports]]\nname = 'a'\ncommand = '\"'", "are no commands"),
        ("[[tool.slotcheck.ports]]\nname = 'a'\ncommand = ' '", "a command is empty"),
        ("[[tool.slotcheck.ports]]\nname = 'a'\ncommand = 'b'\nbuild = [1]", "are no commands"),
        ("[[tool.slotcheck.ports]]\nname = 'a'\ncommand = 'b'\nfolder = 'none'", "there is no folder 'none'"),
        ("[[tool.slotcheck.ports]]\nname = 'a'\ncommand = 'b'\n" * 2, "two are named 'a'"),
    ],
)
def test_a_project_that_says_what_the_gate_does_not_know_is_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ProjectError) as refused:
        read_project(tmp_path)
    assert told in str(refused.value)


def test_a_port_whose_tool_is_missing_says_so(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.slotcheck.ports]]\nname = "a"\nbuild = ["no-such-tool"]\ncommand = "out/port"\n'
        '[[tool.slotcheck.ports]]\nname = "b"\ncommand = "no-such-port"\n'
        '[[tool.slotcheck.ports]]\nname = "c"\ncommand = "python port.py"\n'
    )
    absent = [port.absent() for port in read_project(tmp_path).ports]
    assert absent == ["no-such-tool is not here", "no-such-port is not here", None]


def test_this_project_puts_all_its_ports_under_the_gate() -> None:
    ports = {port.name for port in read_project(ROOT).ports}
    assert ports == {"python", *(folder.parent.name for folder in (ROOT / "ports").glob("*/README.md"))} - {
        "vectors",
        "errgroup",
    }


def test_the_gate_imports_no_solver_and_no_graphs() -> None:
    program = (
        "import sys; import slotcheck.checks.gate_command; "
        "print([name for name in ('z3', 'cvc5', 'networkx', 'jinja2') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert said.stdout.strip() == "[]"


# -- faulty subjects ---------------------------------------------------------------------------------------------


def test_every_faulty_subject_has_a_place_where_it_is_caught() -> None:
    assert list(places()) == list(FAULTY)
    assert len(FAULTY) >= 30


@pytest.mark.parametrize("name", ["LosesWakeUp", "PicksByName", "HandsOutTwice", "GivesBackTwice", "AcceptsCapOfZero"])
def test_a_faulty_subject_is_caught_where_it_is_named(name: str) -> None:
    result = CliRunner().invoke(main, ["mutants", "--named", name, "--format", "json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["parts"][0]["message"] == places()[name].message


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"message": "another"}, "failed, but for another reason: b wait"), ({"scenario": "a plain"}, "not caught")],
)
def test_a_faulty_subject_that_fails_elsewhere_or_otherwise_is_not_caught_and_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], told: str
) -> None:
    kept = {**places(), "LosesWakeUp": places()["LosesWakeUp"]._replace(**changed)}  # type: ignore[arg-type]
    monkeypatch.setattr("slotcheck.checks.mutants.catching.places", lambda: kept)
    result = CliRunner().invoke(main, ["mutants", "--named", "LosesWakeUp", "LendsTwice", "--format", "json"])
    assert result.exit_code == 1
    report = json.loads(result.output)
    assert report["covered"] == {"mutants": 1, "caught": 0}
    assert told in report["violations"][0]["message"]


def test_named_takes_no_runs() -> None:
    result = CliRunner().invoke(main, ["mutants", "--named", "--runs", "3"])
    assert result.exit_code == 2
    assert "so it takes no --runs" in result.output
