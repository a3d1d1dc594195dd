"""Permits under `slotcheck check`: what is explored, what is caught, what is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slotcheck.checks.check import Part, Settings, check, check_part, ledger_for, parts_of
from slotcheck.checks.cli import main
from slotcheck.checks.generated_permits import permit_scenarios
from slotcheck.checks.permit_subject import PermitRuleSubject, PermitSubject
from slotcheck.checks.subject import ClassSubject, RuleSubject, SubjectError, resolve_subject
from slotcheck.pymodel.rules import RULES, BuildPermit, PermitOutcome, PermitState, Rule
from slotcheck.pymodel.rules import permit as of_permits
from slotcheck.pymodel.scenario import RunSpec, Scenario
from slotlending import Pool

POOL = resolve_subject("pool")


def builds(runs: int, *, key: str | None = None, children: bool = False) -> Scenario:
    specs = []
    for number in range(runs):
        specs.append(RunSpec(f"u{number}", component="App", key=key))
        if children:
            specs.append(RunSpec(f"x{number}", f"u{number}"))
    return Scenario("builds", tuple(specs))


# -- the row of the engine that overlapping updates hung in ------------------------------------------------------


class SlotBeside(BuildPermit):
    """A run that enters beside another one asks for a slot all the same."""

    def enter(
        self,
        state: PermitState,
        run: str,
        component: Any,
        key: Any = None,
        parent: Any = None,
        job: Any = None,
        lineage: Any = None,
    ) -> PermitOutcome:
        draft = of_permits._Draft(self.rule, state)
        asked, draft.present[run] = draft.judge(run, component, key, parent, job, lineage)
        draft.take(asked)
        return draft.done()


def overlapping(rule: Rule, updates: int, cap: int, *, beside: bool) -> list[str]:
    subject = PermitRuleSubject(RuleSubject(rule))
    if beside:
        subject.permits = SlotBeside(rule)
    part = Part(builds(updates, key="v1", children=True), cap, False)
    return sorted({trace.invariant for trace in check_part(part, subject).traces} & {"NoDeadlockWithPermits"})


@pytest.mark.parametrize(("updates", "cap"), [(2, 1), (3, 2), (2, 2), (3, 3)])
def test_overlapping_updates_hang_iff_they_are_more_than_slots_and_take_one_each(updates: int, cap: int) -> None:
    hung = overlapping(RULES["release"], updates, cap, beside=True)
    assert hung == ["NoDeadlockWithPermits"] * (updates > cap)
    assert not overlapping(RULES["release"], updates, cap, beside=False)
    assert not overlapping(RULES["lend"], updates, cap, beside=True)
    assert check_part(Part(builds(updates, key="v1", children=True), cap, False), POOL).verdict == "holds"


# -- slots that sit in a permit's queue --------------------------------------------------------------------------


@pytest.mark.parametrize(("runs", "cap"), [(2, 2), (3, 1), (3, 2), (4, 2)])
def test_how_many_slots_sit_in_a_permits_queue(runs: int, cap: int) -> None:
    without_key = check_part(Part(builds(runs), cap, False), POOL)
    assert without_key.most_queued_with_slot == min(cap, runs - 2)
    assert check_part(Part(builds(runs, key="v1"), cap, False), POOL).most_queued_with_slot == 0


# -- what is generated -------------------------------------------------------------------------------------------


def test_every_choice_of_components_is_there_once() -> None:
    two = list(permit_scenarios(2))
    assert {scenario.name for scenario in two if scenario.name.endswith("one key plain")} == {
        "a b a:S b:S one key plain",
        "a(b) a:S b:S one key plain",
    }
    three = [one for one in permit_scenarios(3) if one.name.endswith("no key plain") and len(one.runs) == 3]
    # of a b c: SS-, SSS; SST is T beside two of S
    assert [one.name for one in three if one.tree == "a b c"] == [
        "a b c b:S c:S no key plain",
        "a b c a:S b:S c:S no key plain",
        "a b c a:S b:S c:T no key plain",
    ]
    circles = [one for one in permit_scenarios(4) if len(one.runs) == 4 and one.caps == (1,)]
    assert any(one.name.startswith("a(b) c(d) a:S b:T c:T d:S") for one in circles)


def test_up_to_two_runs_all_holds_on_the_rule_and_on_what_ships() -> None:
    for subject in ("pool", "rule:lend"):
        report = check(parts_of(permit_scenarios(2)), Settings(subject))
        assert report.verdict.value == "holds"
        assert not report.missing


def test_a_circle_of_mounts_is_promised_nothing_and_one_slot_keeps_it_from_happening() -> None:
    (circle,) = [
        one
        for one in permit_scenarios(4)
        if one.name.startswith("a(b) c(d) a:S b:T c:T d:S one key") and one.name.endswith("plain")
    ]
    assert check_part(Part(circle, 1, False), POOL).verdict == "holds"
    assert check_part(Part(circle, 2, False), POOL).diagnoses == ["cycle a b c d"]


# -- subjects ----------------------------------------------------------------------------------------------------


class TheirPool:
    """A pool of somebody else's: the calls of a pool, and nothing more."""

    def __init__(self, cap: int, **options: Any) -> None:
        self._pool = Pool(cap, **options)

    def __getattr__(self, name: str) -> Any:
        if name in ("ask", "try_ask", "finish", "cancel", "resize", "snapshot"):
            return getattr(self._pool, name)
        raise AttributeError(name)

    @classmethod
    def restore(cls, snapshot: Any) -> TheirPool:
        pool = cls(1)
        pool._pool = Pool.restore(snapshot)
        return pool


def test_a_pool_of_somebody_elses_is_checked_under_the_permits_that_ship() -> None:
    for part in parts_of(permit_scenarios(2)):
        ours = check_part(part, POOL)
        theirs = check_part(part, ClassSubject("theirs", TheirPool))
        assert (theirs.verdict, theirs.states, theirs.edges) == ("holds", ours.states, ours.edges)


def test_permits_are_as_good_as_nothing_to_runs_that_need_none() -> None:
    part = parts_of([Scenario("x", (RunSpec("a"), RunSpec("b", "a"), RunSpec("c", "a"), RunSpec("d")))], caps=[1, 2])[1]
    assert isinstance(POOL, ClassSubject)
    under, plain = check_part(part, PermitSubject(POOL)), check_part(part, POOL, settings=Settings(symmetry=False))
    assert (under.verdict, under.states, under.edges) == (plain.verdict, plain.states, plain.edges)


def test_permits_stand_on_no_rule_that_acts_by_itself() -> None:
    part = parts_of([builds(2)])[0]
    for name in ("retake", "help", "refuse"):
        with pytest.raises(SubjectError, match="permits do not stand on"):
            ledger_for(part, resolve_subject(f"rule:{name}"))


def cli(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["check", "--no-timing", *args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.output


def test_the_command_takes_permits_of_ones_own() -> None:
    code, told = cli("shared-component-under-two-parents", "--subject", "slotcheck.checks.mutants:SkipsMemoCheck")
    assert code == 1
    assert "NoDoubleWork is violated by slotcheck.checks.mutants:SkipsMemoCheck" in told
    assert "permit of Shared: held by" in told


def test_the_command_counts_slots_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    file = tmp_path / "three.scenario"
    file.write_text("cap: 2\ntree: a b c\ncomponent S: a b c\n")
    code, told = cli(str(file), "--format", "json", "--subject", "rule:lend")
    covered = json.loads(told)
    assert code == 0
    assert covered["covered"]["most_slots_queued_on_permits"] == 1
    assert covered["parts"][0]["most_queued_with_slot"] == 1
    code, told = cli(str(file), "--subject", "rule:help")
    assert code == 3
    assert "1 parts in which runs need permits were left out" in told
    assert "undetermined: nothing was checked" in told


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--permit-runs", "1"), "1 is not in the range"),
        (("--permit-runs", "x"), "'x' is not a valid integer"),
        (("--subject", "slotlending.permit:Present"), "lacks"),
        (("--subject", "subjects:HalfASnapshot"), "a new pool: '_Half' object has no attribute 'cap'"),
    ],
)
def test_bad_input_is_said_in_a_line(args: tuple[str, ...], told: str) -> None:
    code, output = cli("chain-of-21-one-slot", *args)
    assert code == 2
    assert told in output


def test_the_command_generates_as_many_runs_as_asked() -> None:
    args = ("--permit-runs", "2", "--jobs", "1", "--format", "json", "--subject", "rule:lend")
    code, told = cli("shared-component-under-two-parents", *args)
    assert code == 0
    assert json.loads(told)["covered"]["scenarios"] == 1 + len(list(permit_scenarios(2)))
