"""The forms of a trace: each shows the fault on the faulty pool and none on the real one, whatever the names are."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from traces import HELPS_NOBODY, HOSTILE, SHOWS, going_round, hostile, making, of, of_history, of_mutant

from slotcheck.checks.cli import main
from slotcheck.checks.forms import tla
from slotcheck.checks.forms.by_the_rules import by_the_rules
from slotcheck.checks.forms.form import Making, NotWrittenError
from slotcheck.checks.forms.itf import write_trace
from slotcheck.checks.forms.registry import FORMS, making_of, written_form
from slotcheck.checks.subject import ClassSubject, resolve_subject
from slotcheck.checks.tlc.tool import ToolMissingError
from slotcheck.checks.trace import Trace, plain_view
from slotcheck.checks.wait_circle import wait_circle

LENDS_TWICE = "slotcheck.checks.mutants:LendsTwice"
QUICK = [name for name in FORMS if name not in ("pytest", "tla", "asyncio")]  # those that start no process


def text_of(form: str, trace: Trace) -> str:
    return next(iter(written_form(FORMS[form], making(trace)).values()))


def called(source: str, pool: str) -> str | None:
    """What the test in a pytest file says about a pool: None if it passes."""
    source = re.sub(
        r"^from \S+ import .*$",
        f"from {pool.partition(':')[0]} import {pool.partition(':')[2]} as Pool",
        source,
        flags=re.M,
    )
    names: dict[str, Any] = {}
    exec(compile(source, "<test>", "exec"), names)
    (test,) = [value for name, value in names.items() if name.startswith("test_")]
    try:
        test()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("name", SHOWS)
def test_every_form_is_read_back(name: str) -> None:
    trace = of_mutant(name)
    for form in QUICK:
        if (form, name) == ("port", "HeldDrifts"):
            with pytest.raises(NotWrittenError, match="the protocol does not show it"):
                text_of(form, trace)
        else:
            assert text_of(form, trace) == text_of(form, trace)


@pytest.mark.parametrize("name", SHOWS)
def test_a_test_made_of_a_trace_fails_on_the_faulty_pool_and_passes_on_the_real_one(name: str) -> None:
    (source,) = FORMS["pytest"].make(making(of_mutant(name))).values()
    assert called(source, f"slotcheck.checks.mutants:{name}") is not None
    assert called(source, "slotlending:Pool") is None


def test_pytest_itself_sees_it_fail_and_pass() -> None:
    source = text_of("pytest", of_mutant("LendsTwice"))  # runs pytest on the faulty pool and on the real one
    assert "from slotcheck.checks.mutants import LendsTwice as Pool" in source
    assert "def test_level_within_cap():" in source
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(imports) == 1


def test_a_test_that_a_right_pool_fails_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def level_within_cap(_):\n    return 'no'\n"
    monkeypatch.setattr("slotcheck.checks.forms.pytest_file.sources_of", lambda _: [source])
    with pytest.raises(NotWrittenError, match="the pool that ships does not pass it"):
        text_of("pytest", of_mutant("LendsTwice"))


def test_a_form_that_shows_another_thing_is_not_written() -> None:
    made = making(of_mutant("LendsTwice"))
    for name in QUICK:
        files = FORMS[name].make(made)
        spoilt = {file: text.replace("ask", "axe").replace("LevelWithinCap", "X") for file, text in files.items()}
        with pytest.raises((NotWrittenError, ValueError, AttributeError)):
            FORMS[name].check(made, spoilt)


def test_a_script_that_the_subject_answers_as_the_rules_do_is_not_written() -> None:
    made = making(of_mutant("LendsTwice"))
    with pytest.raises(NotWrittenError, match="all the answers that the rules demand"):
        FORMS["port"].check(made._replace(subject=resolve_subject("pool")), FORMS["port"].make(made))


def test_a_script_is_one_request_a_line_with_what_is_expected() -> None:
    lines = [json.loads(line) for line in text_of("port", of_mutant("LendsTwice")).splitlines()]
    assert [line["op"] for line in lines] == ["reset", *["ask", "state"] * 3]
    assert lines[-2]["expect"] == {"granted": [], "relent": []}  # c must wait
    assert lines[-1]["expect"]["waiting"] == ["c"]


def test_a_program_on_asyncio_shows_it() -> None:
    source = text_of("asyncio", of_mutant("LendsTwice"))  # runs it with the faulty pool and with the real one
    assert "ask('c', 'a', None)" in source
    made = making(of_mutant("LendsTwice"))
    with pytest.raises(NotWrittenError, match="only a class derived from it"):
        FORMS["asyncio"].make(made._replace(subject=ClassSubject("x:Stranger", Stranger)))
    with pytest.raises(NotWrittenError, match="no runs that could be tasks"):
        FORMS["asyncio"].make(making(of_history()))


class Stranger:
    """Has nothing of the pool that ships."""


@pytest.mark.parametrize("name", [name for name in SHOWS if name not in ("AcceptsCapOfZero", "ChangesOnRefusal")])
def test_a_program_or_a_module_is_made_of_each(name: str) -> None:
    made = making(of_mutant(name))
    if name != "KeepsHiddenState":
        (source,) = FORMS["asyncio"].make(made).values()
        ast.parse(source)
    if name not in ("GrantNotTold", "HeldDrifts"):
        module, config = FORMS["tla"].make(made).values()
        assert module.isascii()
        assert "TraceFits" in config


def test_tlc_refuses_the_step_where_the_rules_have_another_pool() -> None:
    assert "Trace_trace" in text_of("tla", of_mutant("ResizeForgetsQueue"))


def test_tlc_accepts_what_a_right_pool_does() -> None:
    made = making(of_mutant("LendsTwice"))
    files = FORMS["tla"].make(made)
    right = {name: text.replace(shown(made.trace), shown(by_the_rules_of(made.trace))) for name, text in files.items()}
    assert right != files
    with pytest.raises(NotWrittenError, match="TLC does not refuse it: holds"):
        FORMS["tla"].check(made, right)


def shown(trace: Trace) -> str:
    """The last pool of a module."""
    number = {run.name: at for at, run in enumerate(trace.play.runs, 1)} if trace.play is not None else {}
    return tla._record(tla._pool(trace.after, number))


def by_the_rules_of(trace: Trace) -> Trace:
    """The trace with the last view as the rules have it."""
    view = plain_view(by_the_rules(trace)[-1].state, {})
    last = trace.steps[-1]
    return replace(trace, steps=(*trace.steps[:-1], replace(last, after=replace(last.after, view=view))))


def test_what_the_specification_cannot_say_is_no_module() -> None:
    for trace, told in (
        (of_history(), "no scenario"),
        (of_mutant("ChangesOnRefusal"), "no step for 'call'"),
        (of_mutant("GrantNotTold"), "TLC accepts it"),
        (
            of("cap: 1\ntree: a(b c)\nbody a: +b; +c; &*", resolve_subject(LENDS_TWICE), "LevelWithinCap"),
            "default bodies",
        ),
    ):
        with pytest.raises(NotWrittenError, match=told):
            FORMS["tla"].make(making(trace))


def test_without_java_no_module_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ToolMissingError("there is no Java")

    monkeypatch.setattr("slotcheck.checks.forms.tla.find_tool", missing)
    with pytest.raises(NotWrittenError, match="it cannot be run: there is no Java"):
        text_of("tla", of_mutant("LendsTwice"))


def test_what_only_a_rule_does_is_no_form_of_a_pool() -> None:
    made = making_of(going_round(), HELPS_NOBODY, "trace")
    for form, told in (("pytest", "no class to import"), ("port", "goes on for ever")):
        with pytest.raises(NotWrittenError, match=told):
            FORMS[form].make(made)
    for form in ("text", "markdown", "mermaid", "html", "svg", "itf"):
        assert "for ever" in next(iter(written_form(FORMS[form], made).values())) or form in ("svg", "itf")


def test_a_history_has_every_form() -> None:
    (source,) = FORMS["pytest"].make(making(of_history())).values()
    assert called(source, "slotcheck.checks.mutants:TryAskNeverGrants") is not None
    assert called(source, "slotlending:Pool") is None
    for form in QUICK:
        if form == "port":
            with pytest.raises(NotWrittenError, match="no request that restores"):
                text_of(form, of_history())
        else:
            assert text_of(form, of_history())


# -- hostile names -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """Every form of a trace with names that nobody would give."""
    made = making(hostile())
    (test,) = FORMS["pytest"].make(made).values()
    return {"pytest": test, **{name: next(iter(written_form(FORMS[name], made).values())) for name in QUICK}}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)


def strange(text: str) -> Iterator[str]:
    """Characters that could turn, end or hide what stands beside them."""
    return (char for char in text if char != "\n" and (ord(char) < 32 or char in "\u202e\u2066\x7f\ud800"))


def test_hostile_names_are_text_in_every_form(written: dict[str, str]) -> None:
    for name, text in written.items():
        assert not list(strange(text)), name
        assert text.encode("utf-8")
    reader = Tags()
    reader.feed(written["html"])
    assert reader.tags.count("script") == Tags_of_a_plain_page().count("script")
    assert "alert" not in " ".join(re.findall(r"<script[^>]*>", written["html"]))
    ElementTree.fromstring(written["svg"])


def Tags_of_a_plain_page() -> list[str]:  # noqa: N802
    reader = Tags()
    reader.feed(text_of("html", of_mutant("LendsTwice")))
    return reader.tags


def test_hostile_names_break_no_markdown(written: dict[str, str]) -> None:
    inside, fence = False, ""
    for line in written["markdown"].splitlines():
        ticks = re.match(r"`{3,}", line)
        if ticks and not inside:
            inside, fence = True, ticks[0]
        elif inside and line == fence:
            inside = False
        elif not inside:
            bare = re.sub(r"(`+).*?[^`]\1(?!`)", "", line)
            assert "<" not in bare.replace("<=", ""), line
    assert not inside


def test_hostile_names_break_no_diagram(written: dict[str, str]) -> None:
    lines = written["mermaid"].splitlines()
    assert lines[0] == "sequenceDiagram"
    form = r"  (accTitle: |participant \w+ as |\w+-?->>\w+: |Note over \w+: )[A-Za-z0-9 _.,()'=#;-]*"
    for line in lines[1:]:
        assert re.fullmatch(form, line), line
        assert not re.search(r"(?<![A-Za-z])end(?![A-Za-z])", line)
        assert all(re.match(r"#[0-9]+;", line[at:]) for at, char in enumerate(line) if char == "#")


def test_hostile_names_break_no_program(written: dict[str, str]) -> None:
    assert written["pytest"].isascii()
    ast.parse(written["pytest"])
    assert called(written["pytest"], "slotcheck.checks.mutants:LendsTwice") is not None
    assert called(written["pytest"], "slotlending:Pool") is None


def test_long_names_are_cut_in_what_a_person_reads(written: dict[str, str]) -> None:
    for form in ("text", "markdown", "mermaid"):
        assert max(map(len, written[form].splitlines())) < 5_000, form
    assert len(HOSTILE[4]) == 3_000


# -- a deadlock, told once ---------------------------------------------------------------------------------------


def test_a_deadlock_is_told_as_one_circle() -> None:
    circle = wait_circle(of("cap: 1\ntree: a(b)", resolve_subject("rule:hold"), "NoDeadlock"))
    assert circle is not None
    assert circle.runs == ("a", "b")
    assert circle.waits == ("a waits for b to end", "b waits for a slot, and a holds one")
    assert circle.slots == ("a holds a pool slot, unlent", "b waits for a slot; the slot of its parent a is unlent")
    assert circle.freed == (
        "b asked in step 3 (ask b under a): lending it the slot of a, which holds it unlent, would free them all",
    )


def test_who_lent_to_whom_is_told() -> None:
    text = "cap: 1\ntree: r(a b)\nbody r: +a; +b; &a; &b\nbody a: ~b; w"
    circle = wait_circle(of(text, resolve_subject("pool"), "Diagnosis"))
    assert circle is not None
    assert circle.waits == ("a waits for b to end", "b waits for a slot, and a holds one")
    assert circle.slots == (
        "a holds the slot of r on loan, unlent",
        "b waits for a slot; the slot of its parent r is lent",
    )
    assert circle.freed == ("b asked in step 4 (ask b under r): a slot for it would free them all",)


def test_what_is_no_deadlock_has_no_circle() -> None:
    assert wait_circle(of_mutant("LendsTwice")) is None
    assert wait_circle(going_round()) is None
    trace = replace(of_mutant("LendsTwice"), invariant="NoDeadlock")
    assert wait_circle(trace) is None


# -- commands ----------------------------------------------------------------------------------------------------


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def test_show_writes_a_form_to_the_terminal_or_to_files(tmp_path: Path) -> None:
    file = tmp_path / "a bug.itf.json"
    file.write_text(write_trace(of_mutant("LendsTwice")))
    result = run("show", str(file))
    assert (result.exit_code, "4. ask c under a" in result.output) == (0, True)
    assert "to replay: slotcheck replay a_bug.itf.json" in result.output
    result = run("show", str(file), "--as", "port", "--to", str(tmp_path / "new" / "folder"))
    assert result.exit_code == 0
    assert (tmp_path / "new" / "folder" / "a_bug.jsonl").read_text() == run("show", str(file), "--as", "port").output
    result = run("show", str(file), "--to", str(file))
    assert (result.exit_code, "is a file" in result.output) == (2, True)


def test_what_does_not_show_the_violation_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "bug.itf.json"
    file.write_text(write_trace(of_mutant("LendsTwice")))
    result = run("show", str(file), "--subject", "pool")
    assert result.exit_code == 3
    assert "not written as text: replayed on pool, it does not show the violation: step 4" in result.output


def test_check_writes_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FORMS, "tla")  # takes seconds each
    folder = tmp_path / "traces"
    args = ("check", "walk-files-chunks", "--cap", "1", "--subject", "rule:hold", "--no-timing", "--format", "json")
    result = run(*args, "--jobs", "1", "--traces", str(folder))
    assert result.exit_code == 1
    told = {one["invariant"]: one for one in json.loads(result.output)["traces"]}
    assert told["NoDeadlock"]["files"]["itf"] == ["NoDeadlock.itf.json"]
    assert "no class to import" in told["NoDeadlock"]["not_written"]["pytest"]
    files = {name for one in told.values() for names in one["files"].values() for name in names}
    assert {path.name for path in folder.iterdir()} == files
    assert run("replay", str(folder / "NoDeadlock.itf.json")).exit_code == 1
    (tmp_path / "file").write_text("")
    result = run("check", "--runs", "1", "--traces", str(tmp_path / "file"))
    assert (result.exit_code, "is a file" in result.output) == (2, True)


def test_mutants_write_every_form_or_tell_why_not(tmp_path: Path) -> None:
    result = run("mutants", "AcceptsCapOfZero", "--traces", str(tmp_path))
    assert result.exit_code == 0
    assert {path.name for path in (tmp_path / "AcceptsCapOfZero").iterdir()} >= {"Refused.itf.json", "test_Refused.py"}
    assert "Refused" in result.output
    assert isinstance(making(of_mutant("AcceptsCapOfZero")), Making)
