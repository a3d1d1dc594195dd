"""Graphs compared edge for edge: equal where the statements agree, and a wrong guard in any one of them is caught."""

from __future__ import annotations

import tempfile
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tlc_models import expected, small

from slotcheck.checks import mutants
from slotcheck.checks.subject import ClassSubject, RuleSubject
from slotcheck.checks.tlc.graph import Graph, GraphComparison, GraphFormError, compare_graphs, explored, read_dot
from slotcheck.checks.tlc.instance import Instance
from slotcheck.checks.tlc.report import tlc_as_json, tlc_as_text
from slotcheck.checks.tlc.run import run_config
from slotcheck.checks.tlc.suite import SPECIFICATION, TlcReport, check_specs, subjects_for
from slotcheck.checks.tlc.tool import find_tool
from slotcheck.pymodel.explore import Verdict
from slotcheck.pymodel.rules import Lend
from slotcheck.pymodel.rules.state import Draft, RunId
from slotcheck.pymodel.subject import Subject

STATES, EDGES, FIRST = 345, 1154, 3  # of the scenarios of MCSmall

# One wrong guard each.
WRONG_SPECS = {
    "takes a slot too many": ("ELSE IF p.taken < p.cap THEN", "ELSE IF p.taken <= p.cap THEN"),
    "relends when it must not": ("scenario.relend /\\ back", "~scenario.relend /\\ back"),
    "ends the cascade at once": ('IF p.phase[lender] = "parked" THEN', "IF FALSE THEN"),
}


class AsksThePoolFirst(Lend):
    """A wrong guard in a copy of the rule: a free pool slot before the parent's."""

    def _admit(self, draft: Draft, run: RunId) -> bool:
        return self._take(draft, run) or super()._admit(draft, run)


def told_as_text(report: TlcReport) -> str:
    to = Console(width=200, file=StringIO(), color_system=None)
    to.print(tlc_as_text(report, None))
    assert isinstance(to.file, StringIO)
    return to.file.getvalue()


@cache
def report_of(name: str) -> TlcReport:
    """The specification as it ships, or a wrong one by name, compared with the rule and the pool."""
    must = expected("MCSmall", distinct=STATES, generated=EDGES + FIRST, depth=13, graph="lend")
    with tempfile.TemporaryDirectory() as folder:
        specs = small(Path(folder) / "specs", replace=WRONG_SPECS.get(name))
        return check_specs(find_tool(), specs, [must], seconds=120, jobs=1)


@pytest.fixture(scope="module")
def of_spec(tmp_path_factory: pytest.TempPathFactory) -> dict[Instance, Graph]:
    """The graph of the specification as it ships."""
    folder = tmp_path_factory.mktemp("graph")
    run = run_config(find_tool(), small(folder / "specs"), "MCSmall", "MCSmall", seconds=120, graph_to=folder)
    assert run.graph is not None
    return read_dot(run.graph)


def with_(of_spec: dict[Instance, Graph], name: str, subject: Subject) -> GraphComparison:
    """The specification beside one subject."""
    return compare_graphs(
        "MCSmall", {SPECIFICATION: of_spec, name: {each: explored(each, subject) for each in of_spec}}
    )


def test_the_three_statements_have_the_same_graph() -> None:
    report = report_of("as it ships")
    (part,) = report.parts
    assert (report.verdict, part.why) == (Verdict.HOLDS, [])
    assert part.graph is not None
    assert part.graph.states == dict.fromkeys((SPECIFICATION, "rule:lend", "pool"), STATES)
    assert part.graph.edges == dict.fromkeys((SPECIFICATION, "rule:lend", "pool"), EDGES)
    assert tlc_as_json(report, None)["covered"]["configurations_that_hold"] == 1
    assert told_as_text(report).splitlines()[-2:] == [
        f"checked: 1 configuration, {STATES} states, 1 of 1 graph equal",
        "verdict: holds",
    ]


@pytest.mark.parametrize("name", WRONG_SPECS)
def test_a_wrong_guard_in_the_specification_is_caught(name: str) -> None:
    report = report_of(name)
    (part,) = report.parts
    assert report.verdict is Verdict.VIOLATED
    assert part.graph is not None
    assert not part.graph.equal
    assert part.graph.difference is not None
    assert "rule:lend and pool: " in part.graph.difference  # the two that agree stand together
    assert part.graph.path
    (violation,) = tlc_as_json(report, None)["violations"]
    assert violation["invariant"] == "Graphs"
    assert violation["scenario"] == part.graph.scenario
    trace = violation["trace"]
    assert [tuple(action) for action in trace["actions"]] == list(part.graph.path)
    assert len(trace["events"]) == len(trace["actions"])
    assert trace["events"][0].startswith("ask a -> ")
    assert trace["message"] == part.graph.difference
    text = told_as_text(report)
    assert trace["events"][0] in text
    assert "('" not in text  # no raw tuples


def test_a_step_that_the_abstract_pool_has_not_is_no_refinement(tmp_path: Path) -> None:
    wrong = WRONG_SPECS["takes a slot too many"]
    specs = small(tmp_path / "specs", replace=wrong, more="PROPERTY RefinesSlotPool\n")
    run = run_config(find_tool(), specs, "MCSmall", "MCSmall", seconds=120)
    # TLC names a line of SlotPool; whose property that is, is found out.
    assert (run.outcome.result, run.outcome.told) == ("violated", "RefinesSlotPool")
    assert run.outcome.steps[-1] == "Ask"


def test_a_wrong_guard_in_the_rule_is_caught(of_spec: dict[Instance, Graph]) -> None:
    found = with_(of_spec, "rule", RuleSubject(AsksThePoolFirst(), order="fifo"))
    assert not found.equal
    # The shortest path: a child gets a pool slot, where its parent's is unlent and one of the pool is free.
    assert found.path == (("ask", "a"), ("resume", "a"), ("resize", 2))
    assert found.difference is not None
    assert found.difference.startswith("then ask b: specification: ")
    assert "token of b = loan" in found.difference
    assert "rule: taken = 2, token of b = pool" in found.difference
    assert "token of a" not in found.difference  # in which they do not differ


@pytest.mark.parametrize(
    "pool",
    [
        mutants.LeaksCancelledGrant,
        mutants.LosesWakeUp,
        mutants.ReturnsLoanToPool,
        mutants.CascadeStopsShort,
        mutants.LendsTwice,
        mutants.AdmitsOneTooFew,
        mutants.RelendNotDone,
        mutants.RelendKeepsPoolSlot,
        mutants.ResizeForgetsQueue,
    ],
)
def test_a_wrong_guard_in_the_pool_is_caught(of_spec: dict[Instance, Graph], pool: type) -> None:
    found = with_(of_spec, "pool", ClassSubject("pool", pool, order="fifo"))
    assert not found.equal
    assert found.scenario is not None


def test_two_acts_that_lead_to_the_same_state_are_two_edges(of_spec: dict[Instance, Graph]) -> None:
    both = [
        row
        for graph in of_spec.values()
        for row in graph.edges.values()
        if ("finish", "d") in row and row.get(("cancel", "d")) == row["finish", "d"]
    ]
    assert both


def test_a_correct_subject_is_not_caught(of_spec: dict[Instance, Graph]) -> None:
    for name, subject in subjects_for("lend").items():
        assert with_(of_spec, name, subject).equal


def test_a_first_difference_is_found_by_a_shortest_path() -> None:
    instance = Instance((0,), 1, False, False, False, False, 0)

    def graph(**edges: dict[str, str]) -> Graph:
        keys = {name: ((name,),) for name in "abcd"}
        return Graph(
            keys["a"],
            {keys[state]: {(verb, "x"): keys[to] for verb, to in row.items()} for state, row in edges.items()},
        )

    whole = graph(a={"ask": "b", "resume": "c"}, b={"finish": "d"}, c={"finish": "d"}, d={})
    short = graph(a={"ask": "b", "resume": "c"}, b={"finish": "d"}, c={}, d={})
    astray = graph(a={"ask": "b", "resume": "c"}, b={"finish": "d"}, c={"finish": "b"}, d={})
    found = compare_graphs("toy", {"one": {instance: whole}, "two": {instance: short}, "three": {instance: whole}})
    assert found.path == (("resume", "x"),)
    assert found.difference == "then finish x: one and three: it may happen; two: no such step"
    found = compare_graphs("toy", {"one": {instance: whole}, "two": {instance: astray}})
    assert found.difference == "then finish x: one: progress of a = d; two: progress of a = b"
    found = compare_graphs("toy", {"one": {instance: whole}, "two": {}})
    assert found.difference == "not in two"
    assert compare_graphs("toy", {"one": {instance: whole}, "two": {instance: whole}}).equal
    assert not compare_graphs("toy", {"one": {}, "two": {}}).equal  # nothing was compared


def test_a_dump_that_is_not_understood_is_refused(tmp_path: Path) -> None:
    dump = tmp_path / "x.dot"
    state = "/\\\\ scenario = [ parent |-> <<0>>, cap |-> 1, relend |-> FALSE, cancel |-> FALSE, early |-> FALSE,"
    state += ' late |-> FALSE, resizes |-> 0 ]\\n/\\\\ pool = [ cap |-> 1, taken |-> 0, phase |-> <<\\"unknown\\">>,'
    state += ' token |-> <<\\"none\\">>, lent |-> <<FALSE>>, level |-> <<0>>, parent |-> <<0>>, waiting |-> <<>>,'
    state += " children |-> <<<<>>>>, held |-> <<0, 0>>, lines |-> <<<<>>, <<>>>> ]\\n/\\\\ levels = 0\\n"
    state += '/\\\\ resizes = 0\\n/\\\\ progress = <<\\"idle\\">>'
    dump.write_text(f'1 [label="{state}",style = filled]\n1 -> 1 [label="Ask",color="black"];\n')
    with pytest.raises(GraphFormError, match="nobody can tell whom"):
        read_dot(dump)
    dump.write_text(f'1 [label="{state}",style = filled]\n1 -> 2 [label="Ask",color="black"];\n')
    with pytest.raises(GraphFormError, match="not in the graph"):
        read_dot(dump)
    dump.write_text(f'1 [label="{state}",style = filled]\n1 -> one [label="Ask"];\n')
    with pytest.raises(GraphFormError, match="not understood"):
        read_dot(dump)
    dump.write_text(f'1 [label="{state}",style = filled]\n')
    ((instance, graph),) = read_dot(dump).items()
    assert (instance.parent, len(graph.edges), graph.size) == ((0,), 1, 0)
