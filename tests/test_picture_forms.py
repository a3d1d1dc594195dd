"""The page and the picture as forms of a trace: what is written is read back, and what is wrong is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from stories import violation
from traces import going_round, making, of_history

from slotcheck.checks.cli import main
from slotcheck.checks.forms.form import Form, NotWrittenError
from slotcheck.checks.forms.itf import ITF
from slotcheck.checks.forms.picture import HTML, SVG, still_of

DEADLOCK = making(violation("rule:hold", "walk(a(a1) b)", "NoDeadlock", cap=2))


@pytest.mark.parametrize("form", [HTML, SVG], ids=lambda form: form.name)
def test_what_is_written_is_read_back(form: Form) -> None:
    parked = violation("slotcheck.checks.mutants:DropsParkedSlot", "p(c) o\nenvironment: finish p", "OneChainPerSlot")
    made = [DEADLOCK, making(parked), making(of_history())]
    # A subject of its own, which has no name to be found by.
    made.append(DEADLOCK._replace(trace=going_round()))
    for one in made:
        files = form.make(one)
        assert [Path(name).suffix for name in files] == [f".{form.name}"]
        form.check(one, files)


@pytest.mark.parametrize(
    ("form", "found", "put", "told"),
    [
        (HTML, r"ask b under walk", "ask c under walk", "the event of step"),
        (HTML, r"run waiting", "run parked", "the runs of step"),
        (HTML, r'"bad":\d+', '"bad":1', "not marked"),
        (SVG, "run in-flight", "run ended", "the runs of step 6"),
        (SVG, "NoDeadlock", "AllFinish", "NoDeadlock cannot be read back"),
    ],
)
def test_what_is_written_wrong_is_found(form: Form, found: str, put: str, told: str) -> None:
    ((name, written),) = form.make(DEADLOCK).items()
    wrong = re.sub(found, put, written)
    assert wrong != written
    with pytest.raises(NotWrittenError, match=told):
        form.check(DEADLOCK, {name: wrong})


def test_any_step_can_be_shown(tmp_path: Path) -> None:
    file = tmp_path / "it.itf.json"
    file.write_text(next(iter(ITF.make(DEADLOCK).values())), encoding="utf-8")
    last = len(DEADLOCK.trace.steps)
    for step in range(last + 1):
        result = CliRunner().invoke(main, ["show", str(file), "--as", "svg", "--step", str(step)])
        assert result.exit_code == 0, result.output
        assert f"step {step} of {last}: " in result.stdout
        assert result.stdout == next(iter(still_of(step).make(DEADLOCK).values()))
    shown = CliRunner().invoke(main, ["show", str(file), "--as", "svg", "--step", "2", "--to", str(tmp_path)])
    assert shown.stdout.strip() == str(tmp_path / "it-2.svg")
    for arguments, told in (
        (["--as", "svg", "--step", str(last + 1)], f"the trace has {last} steps"),
        (["--as", "html", "--step", "1"], "only --as svg shows one state"),
    ):
        refused = CliRunner().invoke(main, ["show", str(file), *arguments])
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert told in refused.stderr
