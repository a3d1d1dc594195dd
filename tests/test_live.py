"""Live runs (R10): whose slot they borrow decides whether anything hangs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from slotcheck.checks.check import Part, check_part
from slotcheck.checks.scenario import builtin_scenarios
from slotcheck.checks.subject import resolve_subject
from slotcheck.pymodel.scenario import Act, Op, RunSpec, Scenario

POOL = resolve_subject("pool")


def nested(parents: int, lender: str) -> Scenario:
    """So many runs that each wait for a nested live run, which borrows as told."""
    specs: list[RunSpec] = []
    for number in range(parents):
        waits = (Op("wait", f"y{number}"),)
        specs += [RunSpec(f"p{number}", body=waits), RunSpec(f"y{number}", f"p{number}", live=lender)]
    return Scenario("nested", tuple(specs))


@pytest.mark.parametrize("parents", [1, 2, 3])
def test_a_nested_live_run_of_a_closed_lender_hangs_at_as_many_slots_as_parents(parents: int) -> None:
    for cap in range(1, parents + 2):
        closed = check_part(Part(nested(parents, "nobody"), cap, False), POOL)
        assert bool(closed.diagnoses) is (parents >= cap)
        if parents == 1 == cap:
            assert closed.diagnoses == ["cycle p0 y0"]
        assert check_part(Part(nested(parents, "waiter"), cap, False), POOL).verdict == "holds"


def family(mounter: str, waiting: tuple[str, ...]) -> Scenario:
    """p is given two live components, whose runs are x and y; who waits for whom is told as ``px``."""
    bodies = {
        name: tuple(Op("wait" if name == "p" else "await", whom) for whom in "xy" if name + whom in waiting)
        for name in "px"
    }
    return Scenario(
        "family",
        (
            RunSpec("p", body=bodies["p"]),
            RunSpec("x", "p", bodies["x"], live="waiter"),
            RunSpec("y", "p", live="waiter", mounter=None if mounter == "p" else mounter),
            RunSpec("s"),
        ),
    )


@pytest.mark.parametrize("acts", [(), (Act("cancel"),), (Act("finish"), Act("fail"))], ids=["plain", "cancel", "early"])
def test_under_the_nearest_run_that_waits_nothing_hangs(acts: tuple[Act, ...]) -> None:
    seen = 0
    for mounter, *waits in product("px", *[(False, True)] * 3):
        waiting = tuple(who for who, does in zip(("px", "py", "xy"), waits, strict=True) if does)
        if "xy" in waiting and (mounter == "p" or ("py" in waiting and acts)):
            continue  # x comes to wait when y may have asked; p goes on waiting for y, which x has lost
        scenario = replace(family(mounter, waiting), environment=acts)
        for cap in (1, 2):
            result = check_part(Part(scenario, cap, False), POOL)
            assert result.verdict == "holds", (mounter, waiting, cap, result.traces)
            seen += 1
    assert seen == (24 if not acts else 20)


def test_a_run_that_comes_to_wait_for_what_has_asked_already_is_not_above_it() -> None:
    result = check_part(Part(family("p", ("xy",)), 1, False), POOL)
    assert "cycle x y" in result.diagnoses


def test_each_simple_reading_hangs_where_the_rule_does_not() -> None:
    scenarios = builtin_scenarios()
    for hangs, lender in (
        ("live-run-borrows-past-who-waits", "given"),
        ("live-run-borrows-from-mounter-only", "mounter"),
        ("live-cycle-borrows-from-nobody", "nobody"),
        ("nested-live-closed-lender", "nobody"),
    ):
        scenario = scenarios[hangs]
        assert lender in {run.live for run in scenario.runs}
        cured = replace(
            scenario, diagnoses=(), runs=tuple(replace(run, live=run.live and "waiter") for run in scenario.runs)
        )
        for cap in scenario.caps:
            assert check_part(Part(scenario, cap, False), POOL).diagnoses
            assert check_part(Part(cured, cap, False), POOL).verdict == "holds"


def test_a_run_that_has_ended_or_was_never_admitted_lends_to_nobody() -> None:
    # Without a wait the mounter lends while it is in flight; then the run uses the pool.
    scenario = Scenario("x", (RunSpec("u", body=()), RunSpec("c", "u", live="waiter"), RunSpec("s")))
    result = check_part(Part(scenario, 1, False), POOL)
    assert result.verdict == "holds"
