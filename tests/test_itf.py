"""The file of a trace: what is written reads back, by itf-py too, and what is no trace is refused in words."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import itf_py
import pytest
from traces import going_round, hostile, of, of_history, of_mutant

from slotcheck.checks.forms.itf import MOST_STEPS, TraceError, load_trace, read_trace, write_trace
from slotcheck.checks.subject import resolve_subject
from slotcheck.checks.terminal import versions
from slotcheck.checks.trace import Trace

LOCKS = "cap: 1\ntree: a(b)\nbody a: L.take; !e; +b; &b\nbody b: L.take; L.drop"


NAMES = pytest.mark.parametrize(
    "name",
    [
        "loan",
        "resize",
        "no scenario",
        "a call that no body makes",
        "a new pool",
        "a circle, and stacks",
        "locks and events",
        "hostile names",
    ],
)


@cache
def traces() -> dict[str, Trace]:
    return {
        "loan": of_mutant("LendsTwice"),
        "resize": of_mutant("ResizeForgetsQueue"),
        "no scenario": of_history(),
        "a call that no body makes": of_mutant("ChangesOnRefusal"),
        "a new pool": of_mutant("AcceptsCapOfZero"),
        "a circle, and stacks": going_round(),
        "locks and events": of(LOCKS, resolve_subject("pool"), "Diagnosis"),
        "hostile names": hostile(),
    }


@NAMES
def test_a_trace_reads_back(name: str) -> None:
    trace = traces()[name]
    written = write_trace(trace)
    assert read_trace(written) == replace(trace, versions=versions())
    assert write_trace(read_trace(written)) == written
    assert written.isascii()


@NAMES
def test_itf_py_reads_it(name: str) -> None:
    trace = traces()[name]
    read = itf_py.trace_from_json(json.loads(write_trace(trace)))
    assert len(read.states) == len(trace.steps) + len(trace.again) + 1
    assert read.states[-1].values["taken"] == (trace.again or trace.steps)[-1].after.view["taken"]
    assert read.loop == (len(trace.steps) if trace.again else None)
    assert read.meta["invariant"] == trace.invariant
    for state, step in zip(read.states[1:], trace.steps, strict=False):
        assert state.values["mbt::actionTaken"] == step.action[0]
        if step.action[0] == "ask":
            assert state.values["mbt::nondetPicks"].run.value == step.run


def changed(change: Callable[[Any], Any]) -> str:
    """A good file with something done to it."""
    found = json.loads(write_trace(of_mutant("LendsTwice")))
    other = copy.deepcopy(found)
    result = change(other)
    return json.dumps(result if isinstance(result, list) and result == [1] else other)


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a list": (lambda _: [1], "not an ITF trace"),
    "another tool's": (lambda file: file["#meta"].clear(), "not one of slotcheck"),
    "a later format": (lambda file: file["#meta"].update({"format-version": 2}), "version 2 (written by slotcheck"),
    "no states": (lambda file: file["states"].clear(), "there is none"),
    "a missing variable": (lambda file: file["states"][1].pop("taken"), "states[1]: there is no 'taken'"),
    "a wrong type": (lambda file: file["states"][1].update(taken="1"), "states[1].taken: expected an integer"),
    "a bool for an integer": (lambda file: file["states"][1].update(cap=True), "states[1].cap: expected an integer"),
    "an endless integer": (
        lambda file: file["states"][1].update(cap={"#bigint": "9" * 5_000}),
        "states[1].cap: expected an integer",
    ),
    "an unknown action": (
        lambda file: file["states"][1].update({"mbt::actionTaken": "explode"}),
        "step 1: unknown action 'explode'",
    ),
    "an unknown run": (
        lambda file: file["states"][1]["mbt::nondetPicks"]["run"].update(value="zz"),
        "step 1: unknown run 'zz'",
    ),
    "a run that is missing": (
        lambda file: file["states"][2]["progress"]["#map"].pop(),
        "states[2].progress: run 'c' is missing",
    ),
    "a run twice": (
        lambda file: file["states"][2]["progress"]["#map"].append(["a", "idle"]),
        "the key 'a' stands twice",
    ),
    "an unknown word": (lambda file: file["states"][2]["progress"]["#map"][0].__setitem__(1, "dreams"), "not 'dreams'"),
    "no scenario that can be read": (lambda file: file["#meta"].update(notation="tree: ("), "#meta.notation:1"),
    "a loop to nowhere": (lambda file: file.update(loop=99), "there is no state 99"),
    "no event": (lambda file: file["states"][1]["#meta"].clear(), "step 1: #meta.event: expected a string"),
    "no picks": (lambda file: file["states"][1].update({"mbt::nondetPicks": 3}), "mbt::nondetPicks has no run"),
    "a call that no pool has": (
        lambda file: file["states"][1]["called"]["#set"][0].update(verb="launch"),
        "there is no call 'launch'",
    ),
    "a cap that is none": (lambda file: file["#meta"].update(cap=0), "#meta.cap: a cap is an integer from 1 to"),
    "an endless cap": (lambda file: file["#meta"].update(cap=10**30), "#meta.cap: a cap is an integer from 1 to"),
    "no such order": (lambda file: file["#meta"].update(order="nope"), "#meta.order: order is one of"),
    "no such tie": (lambda file: file["#meta"].update(tie="nope"), "#meta.tie: one of served, oldest, not 'nope'"),
    "no subject": (lambda file: file["#meta"].update(subject=""), "#meta.subject: there is none"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_trace_is_refused_in_words(name: str) -> None:
    change, told = BAD[name]
    with pytest.raises(TraceError) as error:
        read_trace(changed(change))
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_a_file_that_is_cut_off_says_so() -> None:
    written = write_trace(of_mutant("LendsTwice"))
    for length in range(len(written) // 2, len(written) // 2 + 200):  # wherever in a value
        with pytest.raises(TraceError, match="is it cut off"):
            read_trace(written[:length])
    for text in ("", "{", "[" * 100_000, "nonsense", '{"states": ' + "9" * 10_000):
        with pytest.raises(TraceError, match="not JSON"):
            read_trace(text)


def test_too_long_a_trace_is_refused_before_it_is_read() -> None:
    found = json.loads(write_trace(of_mutant("LendsTwice")))
    found["states"] = [{}] * 1_000_001
    with pytest.raises(TraceError, match=f"1,000,000 steps; at most {MOST_STEPS:,} are read"):
        read_trace(json.dumps(found))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TraceError, match=r"nowhere\.itf\.json: cannot be read: No such file"):
        load_trace(tmp_path / "nowhere.itf.json")
    with pytest.raises(TraceError, match="cannot be read"):
        load_trace(tmp_path)
    (tmp_path / "latin").write_bytes(b"\xff\xfe")
    with pytest.raises(TraceError, match="not UTF-8"):
        load_trace(tmp_path / "latin")
    monkeypatch.setattr("slotcheck.checks.forms.itf._MOST_BYTES", 10)
    (tmp_path / "long").write_text("x" * 100)
    with pytest.raises(TraceError, match="longer than"):
        load_trace(tmp_path / "long")
