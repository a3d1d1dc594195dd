"""The runs as a replay follows them, beside the explorer's bodies: two programs for one meaning."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from slotcheck.checks.cast import Cast
from slotcheck.checks.check import Part, ledger_for, parts_of
from slotcheck.checks.generated import generated_scenarios
from slotcheck.checks.generated_permits import permit_scenarios
from slotcheck.checks.permit_subject import seen, takes_permits
from slotcheck.checks.scenario import builtin_scenarios, read_scenario
from slotcheck.checks.scenario_text import scenario_text
from slotcheck.checks.subject import resolve_subject
from slotcheck.pymodel.workload import Workload

GENERATED = [*generated_scenarios(3), *permit_scenarios(2)]
SCENARIOS = [one for one in [*builtin_scenarios().values(), *GENERATED] if len(one.runs) <= 25]


def walk(part: Part, spec: str, seed: int) -> int:
    """A random walk on which both must agree at every step; how many there were."""
    workload = Workload(
        part.scenario, ledger_for(part, resolve_subject(spec)).calls, cap=part.cap, relend=part.relend, symmetry=False
    )
    cast = Cast(part.scenario, getattr(workload.calls.subject, "conduct", None))
    rng = random.Random(seed)
    state, steps = workload.initial()[0], 0
    while True:
        actions, here = workload.actions(state), seen(workload.snapshot(state))
        assert sorted(map(repr, cast.enabled(here))) == sorted(map(repr, actions))
        waits = {run: set(them) for run, them in cast.waits(here).items()}
        assert waits == {run: set(them) for run, them in workload.waits(state).items()}
        assert cast.goes_on(here) == workload.goes_on(state)
        assert bool(cast.unfinished()) != workload.finished(state)
        if not actions:
            return steps
        action = rng.choice(actions)
        call = workload.call_of(state, action)
        assert cast.call_of(action, here) == (None if call is None else (call.verb, *call.args))
        state = workload.next(state, action)
        declined = call is not None and call.reply.declined is not None
        cast.do(action, here, seen(workload.snapshot(state)), declined=declined)
        steps += 1


@pytest.mark.parametrize("spec", ["pool", "rule:retake", "rule:help", "rule:refuse"])
def test_the_cast_can_do_what_the_bodies_can(spec: str) -> None:
    subject = resolve_subject(spec)
    parts = [
        part
        for part in parts_of(SCENARIOS)
        if (spec == "pool" or not part.relend) and (takes_permits(subject) or not part.scenario.permits)
    ]
    assert sum(walk(part, spec, seed=5) for part in parts) > 1_000


def test_a_scenario_written_in_the_notation_reads_back() -> None:
    for scenario in [*builtin_scenarios().values(), *GENERATED]:
        read = read_scenario(scenario_text(scenario), f"{scenario.name}.scenario")
        assert read == replace(scenario, runs=read.runs)
        assert sorted(read.runs, key=str) == sorted(scenario.runs, key=str)  # the tree is written parents first
