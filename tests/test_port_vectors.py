"""The conformance vectors: the files are the ones that are made, of the form told, right, and cover what they say."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from port_programs import ROOT, adapter

from slotcheck.checks.port.graph import build
from slotcheck.checks.port.messages import FEATURES, ORDER_FEATURES, needs_of
from slotcheck.checks.port.oracle import LEND
from slotcheck.checks.port.vectors import SETS, VectorSet, exchanges_of, lines_of, write_vectors
from slotcheck.checks.port.walk import Walk
from slotlending import Pool

FOLDER = ROOT / "ports" / "vectors"
FILES = sorted(FOLDER.glob("*.jsonl"))
NAMES = [path.stem for path in FILES]


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors") / "new"
    write_vectors(folder)
    return folder


def test_the_committed_files_are_the_ones_that_are_made(made: Path) -> None:
    assert sorted(path.name for path in made.iterdir()) == sorted(path.name for path in FOLDER.iterdir())
    for path in made.iterdir():
        assert path.read_bytes() == (FOLDER / path.name).read_bytes(), f"slotcheck vectors ports/vectors: {path.name}"
    assert sum(path.stat().st_size for path in made.iterdir()) < 1_300_000


def test_every_line_is_of_the_schema() -> None:
    schema = json.loads((FOLDER / "vectors.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    distinct = {line for path in FILES for line in path.read_text(encoding="utf-8").splitlines()}
    assert len(distinct) > 1_000
    for line in distinct:
        validator.validate(json.loads(line))
    for wrong in (
        {"op": "ask", "run": "a"},
        {"op": "ask", "expect": {"granted": [], "relent": []}},
        {"op": "finish", "run": "a", "expect": {"granted": [{"run": "a", "token": "none"}], "relent": []}},
        {"op": "finish", "run": "a", "expect": {"error": {"code": "no_such_code"}}},
        {"op": "fly", "expect": {"granted": [], "relent": []}},
        {"op": "state", "expect": {"cap": 1}},
    ):
        assert not validator.is_valid(wrong), wrong


@pytest.mark.parametrize("name", NAMES)
def test_the_pool_answers_every_line_as_demanded(name: str) -> None:
    port = adapter.Adapter(Pool)
    for number, line in enumerate(lines(name), 1):
        expected, answer = line["expect"], json.loads(json.dumps(port.answer(line)))
        if "error" in expected:
            assert answer["error"]["code"] == expected["error"]["code"], f"line {number}"
        elif line["op"] == "hello":
            assert answer["protocol"] == expected["protocol"]
        elif line["op"] == "state":
            answer["lines"].sort(key=lambda item: item["node"])
            assert answer == expected, f"line {number}"
        else:
            assert answer == expected, f"line {number}"


@pytest.mark.parametrize(("of", "has"), list(permutations(ORDER_FEATURES, 2)))
def test_a_port_with_another_order_fails_the_file_of_an_order(of: str, has: str) -> None:
    port = adapter.Adapter(Pool)
    order, tie = ORDER_FEATURES[has]
    for line in lines(f"{of}-jobs"):
        if line["op"] == "reset":
            line |= {"order": order, "tie": tie}
        if line["op"] in ("ask", "finish") and port.answer(line) != line["expect"]:
            return
    pytest.fail(f"{has} passes for {of}")


@pytest.mark.parametrize("name", NAMES)
def test_a_file_needs_what_it_says_and_no_more(name: str) -> None:
    hello, *rest = lines(name)
    assert hello["vectors"] == 1
    needs = set().union(*map(needs_of, rest)) - {"state"}
    assert needs == set(hello["needs"])
    assert needs <= set(FEATURES)


@pytest.mark.parametrize("name", [name for name in SETS if SETS[name].families])
def test_a_file_takes_every_edge_and_asks_for_every_state_once(name: str) -> None:
    vectors = SETS[name]
    states = 0
    for family in vectors.families:
        graph = build(LEND, family)
        walk = list(Walk(graph, every_state=False, still=vectors.still))
        edges = sum(map(len, graph.edges)) + vectors.still * sum(map(len, graph.still))
        assert sorted(walked.edge for walked in walk if walked.edge is not None) == list(range(edges))
        states += len(graph.states)
    assert sum(line["op"] == "state" for line in lines(name)) == states


def test_the_readme_tells_the_files(made: Path) -> None:
    text = (made / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `([a-z-]+)\.jsonl` \|.* ([\d,]+) \|$", text, re.MULTILINE)
    assert [(name, int(count.replace(",", ""))) for name, count in told] == [(name, len(lines(name))) for name in SETS]
    assert "{table}" not in text


def test_a_set_is_the_same_every_time() -> None:
    some = VectorSet("x", SETS["histories"].needs, "", "", histories=(3,))
    assert list(exchanges_of(some)) == list(exchanges_of(some))
    other = VectorSet("x", SETS["histories"].needs, "", "", histories=(4,))
    assert list(lines_of(some)) != list(lines_of(other))
