"""The reader of scenarios: what it reads, and every way in which it says that it cannot."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotcheck.checks.notation import _NAMES, _parser
from slotcheck.checks.scenario import (
    RULES,
    ScenarioError,
    UnknownScenarioError,
    builtin_scenarios,
    load_scenario,
    read_scenario,
    resolve,
    tree_text,
)
from slotcheck.pymodel.scenario import Act, Op, RunSpec

# The same examples in every run.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=40)
fixed = settings.get_profile("fixed")

#: A head with a tree for the lines below it: they start in line 3.
HEAD = "cap: 1\ntree: r(a(x) b) s\n"
KEYS = (
    "title, source, cap, tree, body, gate, spawn, late, environment, resizes, script, relend, expect, diagnosis, "
    "job, at, work, component, key, live, mounts"
)
STEP = "a step (+child, &child, ~run, ?event, !event, LOCK.take, LOCK.drop, w or raise)"
ONE_OR_MORE = "an integer of 1 or more"
OUTCOME = "'holds', 'diagnosed', 'refused', an invariant's name, 'cycle' or 'never'"

FULL = """\
# Everything that can be said.
title: two trees; a gate (#2486)
  and more
source: a report
cap: 1 2
  3
tree: r(a(x)    # the first child
  , b(y1..y3)) s
spawn: blocks
late: y3

body r: +a; &a
  +b; &b;
body x y1..y2: ~s; L.take; w; L.drop; ?go
body s: +*; &*; !go; raise
gate L: 2
late children: yes
environment: cancel a; finish *; cap := 1 3
resizes: 3
script:
  ask r                      # one act a line,
  cancel x when granted; resume x   # or several
  cap := 3
relend: both
expect hold: NoDeadlock, cycle b y1 s, never go,
  AllFinish
expect refuse: refused
expect lend: diagnosed
expect lend+relend: holds
diagnosis: cycle a x y1
diagnosis: never go
"""


def error_of(text: str, file: str = "f.scenario") -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        read_scenario(text, file)
    return caught.value


# -- what is read ----------------------------------------------------------------------------------------------------


def test_everything_that_can_be_said() -> None:
    scenario = read_scenario(FULL, "some/folder/two-trees.scenario")
    leaf = (Op("await", "s"), Op("take", "L"), Op("work"), Op("drop", "L"), Op("need", "go"))
    assert scenario.name == "two-trees"
    assert scenario.title == "two trees; a gate (#2486) and more"
    assert scenario.source == "a report"
    assert scenario.caps == (1, 2, 3)
    assert scenario.tree == "r(a(x) b(y1..y3)) s"
    assert scenario.runs == (
        RunSpec("r", None, (Op("spawn", "a"), Op("wait", "a"), Op("spawn", "b"), Op("wait", "b"))),
        RunSpec("a", "r"),
        RunSpec("x", "a", leaf),
        RunSpec("b", "r"),
        RunSpec("y1", "b", leaf),
        RunSpec("y2", "b", leaf),
        RunSpec("y3", "b", late=True),
        RunSpec("s", None, (Op("spawn all"), Op("wait all"), Op("set", "go"), Op("raise"))),
    )
    assert scenario.blocking_spawn
    assert scenario.late_children
    assert scenario.gates == {"L": 2}
    assert scenario.environment == (
        Act("cancel", "a"),
        Act("finish"),
        Act("resize", cap=1),
        Act("resize", cap=3),
    )
    assert scenario.resizes == 3
    assert scenario.script == (
        Act("ask", "r"),
        Act("cancel", "x", when="granted"),
        Act("resume", "x"),
        Act("resize", cap=3),
    )
    assert scenario.relend == (False, True)
    assert scenario.expect == {
        "hold": (("NoDeadlock",), ("cycle", "b", "y1", "s"), ("never", "go"), ("AllFinish",)),
        "refuse": (("refused",),),
        "lend": (("diagnosed",),),
        "lend+relend": (("holds",),),
    }
    assert scenario.diagnoses == (("cycle", "a", "x", "y1"), ("never", "go"))


def test_what_is_not_said_is_the_default() -> None:
    scenario = read_scenario("tree: r\ncap: 2", "plain.scenario")
    assert scenario.runs == (RunSpec("r"),)
    assert scenario.plain
    assert (scenario.relend, scenario.resizes, scenario.title, scenario.late_children) == ((False,), 2, "", False)


@pytest.mark.parametrize(
    "text",
    [
        FULL.replace("\n", "\r\n"),
        FULL.replace("\n", "\r"),
        "\ufeff" + FULL,
        FULL.rstrip("\n"),
        f"\n\n{FULL}\n  \n# end",
    ],
    ids=["crlf", "cr", "byte-order-mark", "no-last-line-break", "blank-lines-around"],
)
def test_line_breaks_and_blank_lines_do_not_matter(text: str) -> None:
    assert read_scenario(text, "f.scenario") == read_scenario(FULL, "f.scenario")


def test_words_of_the_notation_can_be_names_of_runs() -> None:
    text = """\
cap: 1
tree: cap(when never) w(raise children) cycle diagnosed
body cap: +when; &when; w.take; w; w.drop
body w: ~cap; ?take; !drop; +raise
environment: cancel cap
script: cancel when when waiting; finish w
expect lend: cycle cycle diagnosed, cycle never cap
diagnosis: cycle never cap
late: children
"""
    scenario = read_scenario(text, "f.scenario")
    assert scenario.runs[0].body == (
        Op("spawn", "when"),
        Op("wait", "when"),
        Op("take", "w"),
        Op("work"),
        Op("drop", "w"),
    )
    assert scenario.script[0] == Act("cancel", "when", when="waiting")
    assert scenario.diagnoses == (("cycle", "never", "cap"),)
    assert scenario.expect == {"lend": (("cycle", "cycle", "diagnosed"), ("cycle", "never", "cap"))}


def test_an_event_may_be_set_or_needed_by_nobody_else() -> None:
    read_scenario(f"{HEAD}body a: ?e\nbody b: !f", "f.scenario")


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "expected"),
    [
        # the file
        ("", 1, 1, "the file is empty", "a scenario, such as 'cap: 1' and 'tree: r(a b)'"),
        ("# nothing\n\n  # here\n", 1, 1, "the file is empty", "a scenario, such as 'cap: 1' and 'tree: r(a b)'"),
        ("tree: r\n\n", 1, 8, "there is no 'cap' line", "a line such as 'cap: 1'"),
        ("cap: 1", 1, 7, "there is no 'tree' line", "a line such as 'tree: r(a b)'"),
        (HEAD + "cap: 2", 3, 1, "'cap' stands twice; it is in line 1 already", ""),
        (HEAD + "late children: no\nlate children: no", 4, 1,
         "'late children' stands twice; it is in line 3 already", ""),
        (HEAD + "envronment: x", 3, 1, "unknown key 'envronment' (did you mean environment?)", f"one of {KEYS}"),
        (HEAD + "caps: 2", 3, 1, "unknown key 'caps' (did you mean cap?)", f"one of {KEYS}"),
        (HEAD + "$$$", 3, 1, "unknown key '$'", f"one of {KEYS}"),
        (HEAD + "cap 1", 3, 5, "unexpected '1'", "':'"),
        ("cap: 1\n  tree: r", 2, 7, "unexpected ':' (an indented line goes on with the one above)",
         "a number or end of line"),
        (HEAD + "title:\n", 3, 7, "unexpected end of line", "text"),
        *((HEAD + f"{key}: r", 3, 1, f"'{key}' is not read yet", "")
          for key in ("jobs", "weight", "weights", "crash")),
        # jobs and times
        (HEAD + "job r", 3, 6, "unexpected end of line", "':'"),
        (HEAD + "job q: app", 3, 5, "unknown run 'q'", "a run of the tree"),
        (HEAD + "job r: app/", 3, 12, "unexpected end of line", "a job's name"),
        (HEAD + "job r: app\njob r: q", 4, 5, "run r has a job already", ""),
        (HEAD + "job x: r/x", 2, 11, "job r/x of x lies below job r of r", "runs in leaf jobs only"),
        (HEAD + "at s: -5", 3, 7, "'-5' is not a time", "a whole number of ms, 0 or more"),
        (HEAD + "at x: 5", 3, 4, "run x asks when its parent does so for it", "a run without a parent"),
        (HEAD + "at s: 5\nat s: 6", 4, 4, "run s has a time in a line 'at' already", ""),
        (HEAD + "work x: 1.5", 3, 9, "'1.5' is not a time", "a whole number of ms, 0 or more"),
        (HEAD + "work x: 5\nwork r x: 0", 4, 8, "run x has a time in a line 'work' already", ""),
        # caps
        *((f"cap: {cap}\ntree: r", 1, 6, f"'{cap}' is not a cap", ONE_OR_MORE)
          for cap in ("0", "-1", "1.5", "2.0", "nan", "true", "+1", "1e3", "\u0663", "9" * 10)),
        ("cap: 1 2 0\ntree: r", 1, 10, "'0' is not a cap", ONE_OR_MORE),
        ("cap: 1 2 1\ntree: r", 1, 10, "cap 1 stands twice", ""),
        ("cap:\ntree: r", 1, 5, "unexpected end of line", "a number"),
        ("cap: 1, 2\ntree: r", 1, 7, "unexpected ','", "a number or end of line"),
        # trees
        ("cap: 1\ntree: r(a(r))", 2, 11, "run r is below itself", ""),
        ("cap: 1\ntree: r(r)", 2, 9, "run r is below itself", ""),
        ("cap: 1\ntree: r(a a)", 2, 11, "run a is named twice; first at 2:9", ""),
        ("cap: 1\ntree: r(a)\n  s(a)", 3, 5, "run a is named twice; first at 2:9", ""),
        ("cap: 1\ntree: x2 x1..x3", 2, 10, "run x2 is named twice; first at 2:7", ""),
        ("cap: 1\ntree: r(a(b)", 2, 8, "this bracket is never closed", "')'"),
        ("cap: 1\ntree: r(a(b   # oh\n# no", 2, 10, "this bracket is never closed", "')'"),
        ("cap: 1\ntree: r(", 2, 8, "this bracket is never closed", "')'"),
        ("tree: r(a\ncap: 1", 1, 8, "this bracket is never closed", "')'"),
        ("cap: 1\ntree: r)", 2, 8, "unexpected ')'", "end of line"),
        ("cap: 1\ntree: r()", 2, 9, "unexpected ')'", "a run's name"),
        ("cap: 1\ntree: r a.b", 2, 10, "unexpected '.b'", "'(', a run's name or end of line"),
        ("cap: 1\ntree: r(a; b)", 2, 10, "unexpected ';'", "'(', ')' or a run's name"),
        ("cap: 1\ntree: 2", 2, 7, "unexpected '2'", "a run's name"),
        ("cap: 1\ntree: r(\x07)", 2, 9, "unexpected '\\x07'", "a run's name"),
        ("cap: 1\ntree: x1..x3(y)", 2, 13, "unexpected '('", "a run's name or end of line"),
        *((f"cap: 1\ntree: r({name})", 2, 9, f"the range '{name}' does not count",
           "the same name with two numbers, such as x1..x8") for name in ("x1..y2", "x..y", "x01..x08")),
        ("cap: 1\ntree: x3..x1", 2, 7, "the range 'x3..x1' counts down", "x1..x3"),
        ("cap: 1\ntree: x1..x999999999", 2, 7, "more than 100,000 runs", ""),
        # bodies
        (HEAD + "body q: w", 3, 6, "unknown run 'q'", "a run of the tree"),
        ("cap: 1\ntree: file\nbody flie: w", 3, 6, "unknown run 'flie' (did you mean file?)", "a run of the tree"),
        (HEAD + "body : w", 3, 6, "unexpected ':'", "a run's name"),
        (HEAD + "body r:", 3, 8, "unexpected end of line", STEP),
        (HEAD + "body r: foo", 3, 9, "unexpected 'foo'", STEP),
        (HEAD + "body r: w; ; w", 3, 12, "unexpected ';'", f"{STEP} or end of line"),
        (HEAD + "body r: +a b", 3, 12, "unexpected 'b'", "';' or end of line"),
        (HEAD + "body r: w\nbody a r: w", 4, 8, "run r has a body already, in line 3", ""),
        (HEAD + "body r: +x", 3, 10, "x is not a child of r", "a child of r"),
        (HEAD + "body x: +r", 3, 10, "r is not a child of x", ""),
        (HEAD + "body r s: +a", 3, 12, "a is not a child of s", ""),
        (HEAD + "body r: +a; +a", 3, 14, "r asks for a twice", ""),
        (HEAD + "body r: +a; +*", 3, 14, "r asks for a twice", ""),
        (HEAD + "body r: +*; +b", 3, 14, "r asks for b twice", ""),
        (HEAD + "body r: &x", 3, 10, "x is not a child of r", "a child of r"),
        (HEAD + "body r: &a; +a", 3, 10, "r waits for a before asking for it", ""),
        (HEAD + "body r: ~a", 3, 10, "a is a child of r", "'&a'"),
        (HEAD + "body r: ~r", 3, 10, "run r cannot wait for itself", ""),
        (HEAD + "body a b: w; ~b", 3, 15, "run b cannot wait for itself", ""),
        (HEAD + "body r: ~q", 3, 10, "unknown run 'q'", "a run of the tree"),
        (HEAD + "body r: ~*", 3, 10, "unexpected '*'", "a run's name"),
        (HEAD + "body r: L.drop", 3, 9, "L.drop without L.take before it", ""),
        (HEAD + "body r: L.take; L.drop; L.drop", 3, 25, "L.drop without L.take before it", ""),
        (HEAD + "body r: M.take; L.drop", 3, 17, "L.drop without L.take before it", ""),
        (HEAD + "body r: L.grab", 3, 10, "unexpected '.grab'", "'.take' or '.drop'"),
        (HEAD + "body r: raise; w", 3, 16, "nothing is done after 'raise'", "end of line"),
        (HEAD + "late: a b\nbody r: +a", 4, 10, "a is late: it asks after the end of r", ""),
        (HEAD + "body r: +a; &a\nlate: a", 3, 10, "a is late: it asks after the end of r", ""),
        # the rest
        (HEAD + "late: r", 3, 7, "run r has no parent whose end it could come after", "a child"),
        (HEAD + "late: a q", 3, 9, "unknown run 'q'", "a run of the tree"),
        (HEAD + "late: a b a", 3, 11, "run a is late already", ""),
        (HEAD + "late children: perhaps", 3, 16, "unexpected 'perhaps'", "'yes' or 'no'"),
        (HEAD + "spawn: maybe", 3, 8, "unexpected 'maybe'", "'blocks' or 'free'"),
        (HEAD + "spawn: free free", 3, 13, "unexpected 'free'", "end of line"),
        (HEAD + "relend: perhaps", 3, 9, "unexpected 'perhaps'", "'off', 'on' or 'both'"),
        (HEAD + "resizes: 0", 3, 10, "'0' is not a number of resizes", ONE_OR_MORE),
        (HEAD + "gate G: 0\nbody r: G.take", 3, 9, "'0' is not a number of places at a gate", ONE_OR_MORE),
        (HEAD + "gate G: many\nbody r: G.take", 3, 9, "'many' is not a number of places at a gate", ONE_OR_MORE),
        (HEAD + "gate G: 2\ngate G: 2\nbody r: G.take", 4, 6, "gate G stands twice", ""),
        (HEAD + "gate G: 2\nbody r: g.take", 3, 6, "no body takes gate G", ""),
        (HEAD + "gate : 2", 3, 6, "unexpected ':'", "a gate's name"),
        (HEAD + "environment: cancel q", 3, 21, "unknown run 'q'", "a run of the tree"),
        (HEAD + "environment: ask r", 3, 14, "unexpected 'ask'", "'cap :=', 'cancel', 'finish' or 'fail'"),
        (HEAD + "environment: crash r", 3, 14, "'crash' is not read yet", ""),
        (HEAD + "environment: cap := 2 0", 3, 23, "'0' is not a cap", ONE_OR_MORE),
        (HEAD + "environment: cap := 2 2", 3, 23, "cap 2 stands twice", ""),
        (HEAD + "environment: cap = 2", 3, 18, "unexpected '='", "':='"),
        (HEAD + "environment: cancel r when granted", 3, 23, "unexpected 'when'", "';' or end of line"),
        (HEAD + "script: ask q", 3, 13, "unknown run 'q'", "a run of the tree"),
        (HEAD + "script: go r", 3, 9, "unexpected 'go'", "'cap :=', 'ask', 'resume', 'cancel', 'finish' or 'fail'"),
        (HEAD + "script: crash r", 3, 9, "'crash' is not read yet", ""),
        (HEAD + "script: cancel *", 3, 16, "unexpected '*'", "a run's name"),
        (HEAD + "script: cap := 1 2", 3, 18, "unexpected '2'", "';', 'when' or end of line"),
        (HEAD + "script:\n  cap := 1.5", 4, 10, "'1.5' is not a cap", ONE_OR_MORE),
        (HEAD + "script: ask r when granted", 3, 15, "'when' makes no sense with 'ask'", "';' or end of line"),
        (HEAD + "script: resume r when granted", 3, 18, "'when' makes no sense with 'resume'", "';' or end of line"),
        (HEAD + "script: cap := 3 when granted", 3, 18, "'when' makes no sense with 'cap'", "';' or end of line"),
        (HEAD + "script: finish r when waiting", 3, 23, "a run that is waiting cannot finish",
         "'granted' or 'resumed'"),
        (HEAD + "script: cancel r when late", 3, 23, "unexpected 'late'", "'waiting', 'granted' or 'resumed'"),
        (HEAD + "expect lent: holds", 3, 8, "unknown rule 'lent' (did you mean lend?)", f"one of {', '.join(RULES)}"),
        (HEAD + "expect lend: NoDeadlok", 3, 14, "unknown outcome 'NoDeadlok' (did you mean NoDeadlock?)", OUTCOME),
        (HEAD + "expect lend: ?", 3, 14, "unexpected '?'", OUTCOME),
        (HEAD + "expect lend: AllFinish,", 3, 24, "unexpected end of line", OUTCOME),
        (HEAD + "expect lend: AllFinish NoDeadlock", 3, 24, "unexpected 'NoDeadlock'", "',' or end of line"),
        (HEAD + "expect lend: NoDeadlock; AllFinish", 3, 24, "unexpected ';'", "',' or end of line"),
        (HEAD + "expect lend: cycle", 3, 19, "unexpected end of line", "a run's name"),
        (HEAD + "expect lend: NoDeadlock, cycle a q", 3, 34, "unknown run 'q'", "a run of the tree"),
        (HEAD + "expect lend: cycle a b a", 3, 24, "run a stands twice in the circle", ""),
        (HEAD + "expect lend: never e", 3, 20, "no body needs event e", "a step '?e' in some body"),
        (HEAD + "expect lend: refused, refused", 3, 23, "outcome 'refused' stands twice", ""),
        (HEAD + "expect lend: cycle a b x, cycle x a b", 3, 27, "outcome 'cycle x a b' stands twice", ""),
        (HEAD + "body a: ?e\nexpect lend: never e, never e", 4, 23, "outcome 'never e' stands twice", ""),
        (HEAD + "expect lend: holds, NoDeadlock", 3, 21,
         "'holds' stands alone: nothing else is found where all is well", ""),
        (HEAD + "expect lend: NoDeadlock, holds", 3, 26,
         "'holds' stands alone: nothing else is found where all is well", ""),
        (HEAD + "expect lend: diagnosed", 3, 14, "'diagnosed', but no 'diagnosis' line says what is found",
         "such a line"),
        (HEAD + "expect lend: holds\nexpect lend: NoDeadlock", 4, 8, "rule lend stands twice", ""),
        (HEAD + "expect: holds", 3, 7, "unexpected ':'", "a rule's name"),
        (HEAD + "diagnosis: circle a b", 3, 12, "unexpected 'circle'", "'cycle' or 'never'"),
        (HEAD + "diagnosis: cycle", 3, 17, "unexpected end of line", "a run's name"),
        (HEAD + "diagnosis: cycle a q", 3, 20, "unknown run 'q'", "a run of the tree"),
        (HEAD + "diagnosis: cycle a b a", 3, 22, "run a stands twice in the circle", ""),
        (HEAD + "diagnosis: never e", 3, 18, "no body needs event e", "a step '?e' in some body"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(text: str, line: int, column: int, message: str, expected: str) -> None:
    error = error_of(text)
    assert (error.line, error.column, error.message, error.expected) == (line, column, message, expected)


def test_an_error_reads_as_a_line_an_excerpt_and_a_caret() -> None:
    error = error_of("cap: 1\ntree: r(a\tb $)", "folder/x.scenario")
    assert str(error) == (
        "folder/x.scenario:2:13: unexpected '$'; expected '(', ')' or a run's name\ntree: r(a\tb $)\n         \t  ^"
    )
    assert (
        str(error_of(""))
        == "f.scenario:1:1: the file is empty; expected a scenario, such as 'cap: 1' and 'tree: r(a b)'"
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_only_the_part_of_a_long_line_around_the_place_is_shown() -> None:
    error = error_of(f"cap: 1\ntree: {'r' * 5000} $ {'s' * 5000}")
    shown, caret = error.excerpt.split("\n")
    assert len(shown) == 120
    assert shown[caret.index("^")] == "$"


def test_nothing_of_a_file_can_move_the_cursor() -> None:
    assert "\x1b" not in str(error_of("cap: 1\ntree: r(\x1b[2J)"))


def test_every_terminal_that_can_be_expected_has_a_name_in_plain_words() -> None:
    named = {terminal.name for terminal in _parser().terminals} - {"_CONTINUED", "COMMENT", "_SPACE"}
    assert {name for name in named - set(_NAMES) if not name.startswith("K_")} == set()


# -- size ------------------------------------------------------------------------------------------------------------


def test_trees_may_be_deeper_than_the_stack() -> None:
    depth = 10_000
    text = "".join(f"n{at}(" for at in range(depth)) + "leaf" + ")" * depth
    scenario = read_scenario(f"cap: 1\ntree: {text}", "deep.scenario")
    assert scenario.tree == text
    assert scenario.runs[-1] == RunSpec("leaf", f"n{depth - 1}")


def test_brackets_may_be_left_open_deeper_than_the_stack() -> None:
    error = error_of("cap: 1\ntree: " + "".join(f"n{at}(" for at in range(10_000)))
    assert error.message == "this bracket is never closed"


def test_a_text_longer_than_the_limit_is_refused_unread() -> None:
    assert error_of("x" * 1_000_001).message == "longer than 1,000,000 characters"


@pytest.mark.parametrize("text", ["\n" * 100_000 + "$", HEAD + " " * 100_000 + "$", HEAD + "# \n" * 30_000 + "  $"])
def test_long_runs_of_blanks_take_no_time(text: str) -> None:
    error_of(text)


# -- files and names -------------------------------------------------------------------------------------------------


def test_a_file_is_named_by_its_stem(tmp_path: Path) -> None:
    path = tmp_path / "two-parents.scenario"
    path.write_text(HEAD, "utf-8")
    assert load_scenario(path).name == "two-parents"
    assert resolve([str(path), "wide-root-one-slot"])[0] == load_scenario(path)


def test_a_file_that_is_not_utf_8_is_refused_at_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin.scenario"
    path.write_bytes("cap: 1\ntitle: é ".encode() + b"\xe9\ntree: r")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    error = caught.value
    assert (error.line, error.column, error.message) == (2, 10, "byte 0xe9 is not UTF-8")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path)
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(Path("nul\0.scenario"))
    (tmp_path / "big.scenario").write_bytes(b"#" * 1_000_001)
    with pytest.raises(ScenarioError, match="longer than 1,000,000 bytes"):
        load_scenario(tmp_path / "big.scenario")


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownScenarioError) as caught:
        resolve(["wide-root-one-slot", "wide-root-two-slots"])
    assert caught.value.name == "wide-root-two-slots"
    assert caught.value.nearest[:2] == ("wide-root-four-slots", "wide-root-one-slot")
    assert str(caught.value).startswith("no scenario named 'wide-root-two-slots'; nearest: wide-root-four-slots, ")


@pytest.mark.parametrize("name", ["", "no/such/wide-root-one-slot.scenario", "nul\0.scenario", "..", "pyproject.toml"])
def test_what_is_neither_a_name_nor_a_scenario_file_is_refused(name: str) -> None:
    with pytest.raises(UnknownScenarioError):
        resolve([name])


def test_the_built_in_scenarios_say_all_that_a_named_scenario_should() -> None:
    scenarios = builtin_scenarios()
    assert list(scenarios) == sorted(scenarios)
    assert len(scenarios) >= 10
    for name, scenario in scenarios.items():
        assert scenario.name == name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert scenario.title
        assert scenario.source
        assert {"hold", "release", "lend", "lend+relend"} <= set(scenario.expect)
        assert read_scenario(f"cap: 1\ntree: {scenario.tree}", name).tree == scenario.tree


def test_the_built_in_scenarios_cannot_be_spoilt_by_a_caller() -> None:
    builtin_scenarios().clear()
    assert builtin_scenarios()


# -- round trips -----------------------------------------------------------------------------------------------------


_POOL = [f"{stem}{number}" for stem in "xy" for number in range(12)] + ["a", "B", "_", "x01", "a_b", "take", "x1y"]


@st.composite
def forests(draw: st.DrawFn) -> tuple[RunSpec, ...]:
    """Runs with parents before children, children of one parent in any order of names, many of them numbered."""
    names = draw(st.permutations(_POOL))[: draw(st.integers(1, 20))]
    if draw(st.booleans()):
        names.sort()
    parents = [draw(st.integers(-1, at - 1)) for at in range(len(names))]
    return tuple(
        RunSpec(name, names[parent] if parent >= 0 else None) for name, parent in zip(names, parents, strict=True)
    )


@fixed
@given(forests())
def test_a_forest_written_and_read_is_the_same_forest(runs: tuple[RunSpec, ...]) -> None:
    text = tree_text(runs)
    scenario = read_scenario(f"cap: 1\ntree: {text}", "f.scenario")
    assert sorted(scenario.runs, key=lambda run: run.name) == sorted(runs, key=lambda run: run.name)
    for parent in [None, *(run.name for run in runs)]:
        order = [run.name for run in runs if run.parent == parent]
        assert [run.name for run in scenario.runs if run.parent == parent] == order
    assert scenario.tree == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("r(x1 x2 x3)", "r(x1..x3)"),
        ("r(x1,x2)", "r(x1 x2)"),
        ("x1..x2", "x1 x2"),
        ("r ( a(b ) ,c )s", "r(a(b) c) s"),
        ("r(x1..x3 x4(y) x5..x7)", "r(x1..x3 x4(y) x5..x7)"),
        ("r(x8..x11 x01 x02 x03)", "r(x8..x11 x01 x02 x03)"),
        ("r(x3 x2 x1)", "r(x3 x2 x1)"),
        ("r(x0..x2 y3)", "r(x0..x2 y3)"),
    ],
)
def test_trees_are_written_in_one_way(text: str, canonical: str) -> None:
    assert read_scenario(f"cap: 1\ntree: {text}", "f.scenario").tree == canonical


def _refused(text: str) -> ScenarioError | None:
    """The error that a text is refused with; None if it is read. Any other exception goes through."""
    try:
        read_scenario(text, "f.scenario")
    except ScenarioError as error:
        return error
    return None


def _read(text: str) -> None:
    """A text is read, or refused at a place that it has and in plain words."""
    error = _refused(text)
    if error is None:
        return
    unified = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    assert 1 <= error.column <= len(f"{unified}\n".split("\n")[error.line - 1]) + 1
    # No name of a terminal gets out; LOCK.take is a word of the notation.
    assert not re.search(r"\b_?[A-Z]{2,}\b", error.expected.replace("LOCK.", ""))


@fixed
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    _read(text)


@fixed
@given(st.text(alphabet=":;()+&~?!*.#,= \n\trabxLw019cpte"))
def test_any_text_of_the_notations_signs_is_read_or_refused(text: str) -> None:
    _read(f"cap: 1\ntree: r(a b)\n{text}")


_WORDS = [*re.findall(r"[A-Za-z_0-9]+|\s+|\S", FULL), "\n", "\n  ", "when", "q", "0", "*", ":", ";", "(", ")"]


@settings(fixed, max_examples=60)
@given(st.integers(0, len(FULL)), st.integers(0, 12), st.lists(st.sampled_from(_WORDS), max_size=3))
def test_a_scenario_with_a_piece_replaced_is_read_or_refused(at: int, length: int, words: list[str]) -> None:
    _read(FULL[:at] + "".join(words) + FULL[at + length :])


def test_jobs_and_times() -> None:
    jobs_and_times = "job r b: app/big\njob s1..s3: app/s\nat s2: 5\nwork x: 40"
    scenario = read_scenario(f"cap: 2\ntree: r(a b(x)) s1..s3\n{jobs_and_times}", "t")
    jobs = dict.fromkeys(("r", "a", "b", "x"), ("app", "big")) | dict.fromkeys(("s1", "s2", "s3"), ("app", "s"))
    assert scenario.jobs == jobs
    assert [run.job for run in scenario.runs] == [("app", "big"), None, ("app", "big"), None, *[("app", "s")] * 3]
    assert [run.at_ms for run in scenario.runs] == [0, 0, 0, 0, 0, 5, 0]
    assert [run.work_ms for run in scenario.runs] == [10, 10, 10, 40, 10, 10, 10]
    assert not scenario.plain
