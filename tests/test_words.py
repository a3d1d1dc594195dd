"""One word per idea: the statements of the design use the same names for fields, phases, tokens, calls and codes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

import slotlending
from slotcheck.checks.conformance import calls_without_effect
from slotcheck.checks.facts import Facts
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.meaning import INVARIANTS, RULES
from slotcheck.checks.subject import METHODS
from slotcheck.checks.witnesses import WITNESSES
from slotcheck.pymodel import rules
from slotcheck.pymodel.workload import RULE_STEPS
from slotlending import errors, snapshot

#: The source of each module of the rules, by its name.
SOURCE = {
    name: inspect.getsource(importlib.import_module(f"{rules.__name__}.{name}"))
    for _, name, _ in pkgutil.iter_modules(rules.__path__)
}
CODES = {"bad_cap", "run_known", "parent_not_in_flight", "job_not_leaf", "not_admitted", "not_known"}
OF_PERMITS = {"component_above", "not_handed_over", "not_working"}
ALL = pytest.mark.parametrize("rule", rules.RULES.values(), ids=rules.RULES.keys())


def test_the_pool_and_the_rules_give_the_same_view() -> None:
    assert slotlending.Snapshot._fields == rules.State._fields
    assert slotlending.RunState._fields == rules.Run._fields
    assert rules.StackState._fields == (*rules.State._fields, "stacks")


def test_the_pool_and_the_rules_say_the_same_words() -> None:
    said: set[object] = set()
    pool = slotlending.Pool(1)
    pool.ask("r")
    pool.ask("a", "r")
    pool.ask("b", "r")
    pool.ask("c", "a")
    pool.finish("a")
    lend = rules.Lend()
    state = lend.initial(1)
    for call in (("ask", "r"), ("ask", "a", "r"), ("ask", "b", "r"), ("ask", "c", "a"), ("finish", "a")):
        state = getattr(lend, call[0])(state, *call[1:]).state
    assert pool.snapshot() == state
    for run in state.runs:
        said |= {run.phase, run.token}
    words = {snapshot.WAITING, snapshot.IN_FLIGHT, snapshot.PARKED, snapshot.NONE, snapshot.POOL, snapshot.LOAN}
    assert said == words


@pytest.mark.parametrize("method", ["ask", "try_ask", "finish", "cancel", "resize"])
def test_the_calls_take_the_same_arguments(method: str) -> None:
    of_pool = list(inspect.signature(getattr(slotlending.Pool, method)).parameters)
    of_rule = list(inspect.signature(getattr(rules.Rule, method)).parameters)
    assert of_pool == [name for name in of_rule if name != "state"]
    assert method in METHODS


@ALL
def test_a_rule_adds_the_calls_that_it_makes_runs_do(rule: rules.Rule) -> None:
    conduct = rule.conduct
    wanted = [("give_back", conduct.gives_back), ("retake", conduct.gives_back), ("help", conduct.helps)]
    assert {verb for verb, _ in wanted} == set(RULE_STEPS)
    for verb, does in wanted:
        assert hasattr(rule, verb) or not does
        if hasattr(rule, verb):
            assert list(inspect.signature(getattr(rule, verb)).parameters) == ["state", "run"]


@ALL
def test_a_rule_that_stacks_runs_shows_the_stacks(rule: rules.Rule) -> None:
    assert isinstance(rule.initial(1), rules.StackState if rule.conduct.stacked else rules.State)


def test_the_phase_that_only_retaking_knows() -> None:
    retake = rules.Retake()
    state = retake.give_back(retake.ask(retake.initial(1), "r").state, "r").state
    state = retake.retake(retake.ask(state, "w").state, "r").state
    known = {run.run: (run.phase, run.token) for run in state.runs}
    assert known == {"r": ("retaking", snapshot.NONE), "w": (snapshot.IN_FLIGHT, snapshot.POOL)}


def test_the_codes_that_a_rule_refuses_with_beyond_those_of_the_pool() -> None:
    codes = {name: set(re.findall(r'Refusal\("(\w+)"', source)) for name, source in SOURCE.items()}
    assert codes["rule"] == CODES
    assert {name: more for name in codes if (more := codes[name] - CODES)} == {
        "per_level": {"too_deep"},
        "permit": OF_PERMITS,
        "refuse": {"full", "too_deep"},
    }
    assert rules.Refuse.declines == codes["refuse"]


def test_every_code_of_a_refusal_is_one_of_the_rules() -> None:
    codes = {error.code for error in vars(errors).values() if inspect.isclass(error) and hasattr(error, "code")}
    assert codes == CODES | OF_PERMITS
    lend = rules.Lend()
    state = lend.ask(lend.ask(lend.initial(1), "r").state, "a", "r").state
    state = lend.finish(lend.ask(state, "w").state, "r").state  # r is parked, a has its slot, w waits
    tried = calls_without_effect(Facts(state), ["r", "a", "w", "x"])
    assert {code for _, code in tried} == {*CODES, None}


def test_what_is_judged_is_what_scenarios_can_name() -> None:
    beyond = {"Lockstep", "Replays"}  # about a subject, not about slots: no rule is expected to fail them
    assert set(ALL_INVARIANTS) - beyond <= set(INVARIANTS)
    assert {witness.invariant for witness in WITNESSES} <= set(ALL_INVARIANTS)


def test_every_rule_that_there_is_can_be_expected_of() -> None:
    assert {*rules.RULES, "lend+relend"} == set(RULES)
    assert {name: rule.name for name, rule in rules.RULES.items()} == {name: name for name in rules.RULES}


def test_the_rules_do_not_know_the_pool() -> None:
    assert {"state", "order", "rule", "lend", "help"} <= set(SOURCE)
    assert not [name for name, source in SOURCE.items() if "slotlending" in source]
