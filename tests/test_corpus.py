"""The named scenarios as a whole: where they come from, what is still missing, and that they bite."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from slotcheck.checks.check import check_part, parts_of
from slotcheck.checks.conformance import refuses_bad_caps
from slotcheck.checks.mutants import MUTANTS
from slotcheck.checks.scenario import builtin_scenarios
from slotcheck.checks.subject import ClassSubject

FOLDER = resources.files("slotcheck.checks") / "scenarios"

#: The entries of the bug corpus.
NUMBERS = {
    "C": """
        01 02 04 05 08 10 12 13 14 15 17 18 20 22 23 25 26 28 29 31 32 35 36 38 39 41 42 43 44 47 48 50 51 54 55 56 58
        60 61 63 65 66 67 69 71 73 74 76 77 79 81 82 83 84 86 88
    """,
    "S": "1 4 5 7",
}
ENTRIES = {kind + number for kind, numbers in NUMBERS.items() for number in numbers.split()}


def in_sources() -> set[str]:
    """The entries that some scenario's source names."""
    return {entry for one in builtin_scenarios().values() for entry in re.findall(r"\b[CS]\d+\b", one.source)}


def pending() -> dict[str, str]:
    """The entries that no scenario says yet, each with its row."""
    rows = (FOLDER / "PENDING.md").read_text("utf-8").splitlines()
    return {row.split("|")[1].strip(): row for row in rows if re.match(r"\| [CS]\d+ \|", row)}


def test_every_entry_of_the_corpus_is_a_scenario_or_pending() -> None:
    assert len(ENTRIES) == 60
    assert in_sources() | set(pending()) == ENTRIES
    assert not in_sources() & set(pending())
    assert len(in_sources()) >= 48


def test_every_report_has_its_address() -> None:
    address = re.compile(r"https://github\.com/\S+/(issues|pull)/\d+")
    for scenario in builtin_scenarios().values():
        assert address.search(scenario.source) or not re.search(r"\bC\d+\b", scenario.source), scenario.name
    for entry, row in pending().items():
        assert address.search(row) or entry.startswith("S")


def named_faulty_pools() -> list[tuple[str, str]]:
    """The faulty pools that a scenario's comments say make its mistake."""
    texts = {name: (FOLDER / f"{name}.scenario").read_text("utf-8") for name in builtin_scenarios()}
    words = {name: set(re.findall(r"\w+", text)) for name, text in texts.items()}
    return [(name, pool) for name, said in words.items() for pool in MUTANTS if pool in said]


def test_many_scenarios_name_the_faulty_pool_that_they_are_about() -> None:
    assert len(named_faulty_pools()) >= 15


@pytest.mark.parametrize(("name", "pool"), named_faulty_pools())
def test_a_faulty_pool_that_a_scenario_names_is_caught_by_it(name: str, pool: str) -> None:
    subject = ClassSubject(f"slotcheck.checks.mutants:{pool}", MUTANTS[pool])
    results = (check_part(part, subject) for part in parts_of([builtin_scenarios()[name]]))
    assert refuses_bad_caps(subject) or any(result.traces for result in results)
