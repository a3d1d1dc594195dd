"""`slotcheck prove` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from slotcheck.checks.cli import main
from slotcheck.checks.prove import chosen_names, everything, units
from slotcheck.proofs.solve import SOLVERS

ROOT = Path(__file__).parent.parent


def prove(*args: str) -> Result:
    return CliRunner().invoke(main, ["prove", "--jobs", "1", *args])


def as_json(*args: str) -> Any:
    result = prove("--format", "json", *args)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_conjunct_is_proved_by_both_solvers_for_every_step() -> None:
    told = as_json("OneTip")
    assert told["verdict"] == "holds"
    assert told["covered"]["obligations"] == 19
    assert told["covered"]["proved"] == {"z3": 19, "cvc5": 19}
    assert {part["verdict"] for part in told["parts"] if part["kind"] == "obligations"} == {"proved"}
    assert told["violations"] == []
    assert set(told["timing"]["solvers"]) == {"z3", "cvc5"}
    assert {"z3", "cvc5", "slotcheck"} <= set(told["versions"])


def test_one_solver_is_enough_if_asked_for() -> None:
    told = as_json("NoDeadlock", "--solver", "cvc5")
    assert told["covered"]["solvers"] == ["cvc5"]
    assert told["covered"]["proved"] == {"cvc5": 4}


def test_the_text_has_a_line_for_each() -> None:
    result = prove("finish-parks/OneTip", "wrong/lends-twice")
    assert result.exit_code == 0
    assert re.search(r"^proved +finish-parks/OneTip +z3 unsat \d+\.\d\d s +cvc5 unsat", result.output, re.MULTILINE)
    assert re.search(r"^caught +lends-twice +caught by ask-on-loan/OnePerLevel", result.output, re.MULTILINE)
    assert "before:" in result.output  # what was asked for by name is told
    assert "verdict: holds" in result.output


def test_without_timing_the_same_bytes() -> None:
    args = ("NoSlotLeak", "wrong/lends-twice", "code/a(b), fifo", "--no-timing")
    for form in ("json", "text"):
        first, second = prove("--format", form, *args), prove("--format", form, *args)
        assert first.exit_code == 0
        assert first.output == second.output
        assert "timing" not in first.output


def test_the_code_can_be_compared_alone() -> None:
    code = as_json("code/a(b), fifo")["covered"]["code"]
    assert code["edges"] == code["next_states_allowed"] == 126
    assert code["differences"] == 0


def test_a_name_that_means_nothing_is_bad_input() -> None:
    result = prove("OneTipp")
    assert result.exit_code == 2
    assert "did you mean OneTip" in result.output


def test_the_obligations_are_written_as_smtlib(tmp_path: Path) -> None:
    assert prove("init/*", "NoDeadlock", "--solver", "z3", "--smtlib", str(tmp_path / "out")).exit_code == 0
    files = sorted((tmp_path / "out").glob("*.smt2"))
    assert len(files) == 32
    assert "NoDeadlock_deepest-run-can-step.smt2" in [file.name for file in files]
    for solver in SOLVERS:
        for file in files:
            text = file.read_text()
            assert text.startswith("; ")
            lines = text if solver == "z3" else text.replace("(set-logic ALL)\n", "")
            assert SOLVERS[solver](20.0).tell(lines) == "unsat"


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert prove("init", "--smtlib", str(tmp_path / "file" / "below")).exit_code == 2


def test_everything_is_shown_by_default() -> None:
    names, unknown = chosen_names((), 4)
    assert unknown == []
    assert names == everything(4)
    work = units(names, tuple(SOLVERS))
    for kind, of_kind in names.items():
        told = [name for unit in work if unit.kind == kind for name in unit.names]
        twice = kind in ("obligations", "exists", "sample")
        assert sorted(told) == sorted([*of_kind, *of_kind] if twice else of_kind)


@pytest.mark.parametrize("pattern", ["finish-*", "OneTip", "wrong", "wrong/*", "NoDeadlock", "code/a b*"])
def test_patterns_name_what_they_say(pattern: str) -> None:
    names, unknown = chosen_names((pattern,), 3)
    assert unknown == []
    assert any(names.values())


def test_the_commands_of_the_page_on_proofs_work() -> None:
    text = (ROOT / "docs" / "proofs.md").read_text()
    commands = re.findall(r"^slotcheck prove ?(.*?)(?:  #.*)?$", text, re.MULTILINE)
    assert commands
    for command in commands:
        given = [word.strip("'") for word in command.split() if not word.startswith("--")]
        wanted = [word for word in given if word not in ("json", "out", "z3", "cvc5")]
        assert chosen_names(wanted, 4)[1] == [], command


def test_deep_goes_to_as_many_runs_as_are_asked_for() -> None:
    chain_of_six = "a(b(c(d(e(f))))), fifo"
    assert chosen_names((chain_of_six,), 6)[1] == []
    assert chosen_names((chain_of_six,), 5)[1] == [chain_of_six]
    assert prove("--deep", "--runs", "6", "a b, fifo").exit_code == 0
    assert prove("--deep", chain_of_six).exit_code == 2
    alone = prove("--runs", "6")
    assert (alone.exit_code, "only with --deep" in alone.output) == (2, True)
