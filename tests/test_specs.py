"""The specifications say the same words as the code, and the manifest knows every configuration."""

from __future__ import annotations

import re

import pytest

from slotcheck.checks.invariants import CALLS, STATES
from slotcheck.checks.judge import ALL_INVARIANTS
from slotcheck.checks.meaning import INVARIANTS
from slotcheck.checks.permit_invariants import OF_PERMIT_CALLS, OF_PERMIT_VIEWS, OF_RUNS
from slotcheck.checks.permit_witnesses import PERMIT_WITNESSES
from slotcheck.checks.tlc.config import Definitions, judge_config, read_config, read_definitions
from slotcheck.checks.tlc.instance import Instance, name_of, verb_of
from slotcheck.checks.tlc.manifest import SPECS, read_manifest
from slotcheck.checks.witnesses import WITNESSES
from slotcheck.pymodel.rules import Permit, Present, Run, State
from slotcheck.pymodel.workload import BODY_STEPS, ENVIRONMENT_ACTS
from slotlending import snapshot

MODULES = sorted(path.stem for path in SPECS.glob("*.tla"))
CONFIGS = sorted(path.stem for path in SPECS.glob("*.cfg"))
DESIGNS = ("HoldSlot", "ReleaseAtFirstChild", "PerLevel", "Helping")
WRONG_PERMITS = ("PermitFirst", "SkipsMemo")

#: Steps of bodies that are written out: the specification has the default body alone.
WRITTEN_OUT = {"work", "set", "take", "drop", "raise"}

#: Invariants that are about an answer, which the specification has not.
NOT_SAID = {"GrantsTold", "Answers"}

WITNESS_NAMES = {
    "executing = cap": "NeverExecutingIsCap",
    "in flight = cap x levels": "NeverInFlightIsCapTimesLevels",
    "a level full": "NeverALevelFull",
    "the most in flight": "NeverTheMostInFlight",
    "a chain of three": "NeverAChainOfThree",
    "a parked slot": "NeverParked",
    "a cascade of two": "NeverACascadeOfTwo",
    "a wait in two queues": "NeverAWaitInTwoQueues",
    "a wait below a lender": "NeverAWaitBelowALender",
    "two grants in one step": "NeverTwoGrants",
    "a relend": "NeverARelend",
    "a grant cancelled before it resumes": "NeverAGrantCancelled",
    "every run finished": "NeverEveryRunFinished",
}
OF_JOBS = {"a job that holds two": "NeverAJobHoldsTwo", "jobs with unequal shares": "NeverUnequalShares"}
OF_PERMITS = {
    "a permit dropped to ask for a slot": "NeverDropsAndAsks",
    "a run behind a holder": "NeverBehindAHolder",
    "a permit handed on": "NeverHandedOn",
    "a queued run cancelled": "NeverAQueuedRunCancelled",
    "a body under its permit": "NeverABodyUnderItsPermit",
    "a memo cleared": "NeverAMemoCleared",
    "a run answered by the memo": "NeverAnswered",
    "a permit cancelled before its run resumes": "NeverAPermitCancelled",
    "two runs in one permit's queue": "NeverTwoInAQueue",
    "a run enters beside another while a slot is free": "NeverBesideAFreeSlot",
    "a run queued with a slot": "NeverASlotSits",
}
#: That the last slot is handed out, "executing = cap" shows too.
WITNESSES_NOT_SAID = {"the last slot handed out"}


@pytest.fixture(scope="module")
def lending() -> Definitions:
    return read_definitions(SPECS, "SlotLending")


def _names(definitions: Definitions, *of: str) -> set[str]:
    return {word for name in of for word in re.findall(r"\b([A-Z]\w*)\(", definitions.bodies[name])}


def test_actions_have_the_names_of_the_verbs(lending: Definitions) -> None:
    assert _names(lending, "BodyStep") == {name_of(verb) for verb in BODY_STEPS if verb not in WRITTEN_OUT}
    # Where runs need no permits a failure is an early end.
    assert _names(lending, "Environment") == {name_of(verb) for verb in ENVIRONMENT_ACTS if verb != "fail"}
    permits = read_definitions(SPECS, "BuildPermit")
    assert _names(permits, "BodyStep") == _names(lending, "BodyStep")
    assert _names(permits, "Environment") == {name_of(verb) for verb in ENVIRONMENT_ACTS}
    for verb in (*BODY_STEPS, *ENVIRONMENT_ACTS):
        assert verb_of(name_of(verb)) == verb


@pytest.mark.parametrize("design", DESIGNS)
def test_other_designs_have_the_same_body_steps(design: str, lending: Definitions) -> None:
    assert _names(read_definitions(SPECS, design), "Next") == _names(lending, "BodyStep")


def test_the_pool_has_the_fields_and_the_words_of_the_code(lending: Definitions) -> None:
    fields = set(re.findall(r"(\w+) +\|->", lending.bodies["EmptyPool"])) - {"Here", "Nodes"}
    # A run's job and what is fixed at construction are the scenario's; what a job holds is kept, as the pool keeps it.
    assert fields == {*State._fields, *Run._fields, "held"} - {"runs", "run", "job", "order", "tie", "relend"}
    words = set(re.findall(r'"(\w+)"', lending.bodies["PoolOK"]))
    of_code = {snapshot.WAITING, snapshot.IN_FLIGHT, snapshot.PARKED, snapshot.NONE, snapshot.POOL, snapshot.LOAN}
    assert words == {*of_code, "unknown"}


def test_a_scenario_has_the_fields_that_are_read(lending: Definitions) -> None:
    fields = set(re.findall(r"s\.(\w+) \\in", lending.bodies["ScenarioOK"]))
    assert fields == {*Instance._fields, "most"}


def test_invariants_have_the_names_of_the_rules(lending: Definitions) -> None:
    known = {*ALL_INVARIANTS, *INVARIANTS, "NoDeadlock", "AllFinish", "EndedHoldsNoSlot"}
    ours = _said("SlotLending")
    assert ours <= known
    assert ours >= {each.name for each in (*STATES, *CALLS)} - NOT_SAID - {"HeldMatches"}
    assert ours >= {"NoDeadlock", "AllFinish"}
    fair = _said("FairAdmission")
    assert fair - known == {"LinesMatch", "OvertakenOnce", "OvertakenByOlder", "FirstCome"}
    assert fair >= {each.name for each in (*STATES, *CALLS)} - NOT_SAID
    permits = _said("BuildPermit")
    assert permits <= known
    assert permits >= {each.name for each in (*OF_PERMIT_VIEWS, *OF_RUNS, *OF_PERMIT_CALLS)}
    assert permits >= {"NoDeadlockWithPermits", "AllFinish"}


def _said(module: str) -> set[str]:
    """The properties that the configurations of a module name, witnesses and those of the module's own aside."""
    configs = [read_config((SPECS / f"{name}.cfg").read_text()) for name in CONFIGS if name.startswith(f"MC{module}")]
    said = {name for config in configs for name in (*config.invariants, *config.properties)}
    return {name for name in said if not name.startswith("Never")} - {"TypeOK", "RefinesSlotPool"}


def test_the_permits_have_the_fields_of_the_rule() -> None:
    definitions = read_definitions(SPECS, "BuildPermit")
    fields = set(re.findall(r"(\w+) +\|->", definitions.bodies["NoPermits"])) - {"Numbers", "Here"}
    assert fields - {"under"} == {*Permit._fields} - {"component"}  # there is one of each component
    assert "parent" in Present._fields  # which is whom it asks under; a pool's parent is whose slot it may borrow


def test_every_witness_has_a_configuration_that_must_fail() -> None:
    manifest = read_manifest(SPECS)
    said = {"SlotLending": WITNESS_NAMES, "FairAdmission": OF_JOBS, "BuildPermit": OF_PERMITS}
    known = {witness.name for witness in (*WITNESSES, *PERMIT_WITNESSES)}
    assert known == WITNESSES_NOT_SAID.union(*said.values())
    for module, names in said.items():
        for name in names.values():
            assert manifest[f"MC{module}{name}"].property == name


@pytest.mark.parametrize("design", [*DESIGNS, *WRONG_PERMITS])
def test_every_other_design_has_a_configuration_that_must_fail(design: str) -> None:
    failing = [each for each in read_manifest(SPECS).values() if each.module == f"MC{design}" and each.property]
    assert "default" in [each.tier for each in failing]


def test_the_manifest_knows_every_configuration() -> None:
    manifest = read_manifest(SPECS)
    assert sorted(manifest) == CONFIGS
    for each in manifest.values():
        assert each.module in MODULES
        assert each.name.startswith(each.module)
        assert each.distinct
        assert each.generated
        assert each.about


@pytest.mark.parametrize("name", CONFIGS)
def test_every_configuration_checks_what_it_names(name: str) -> None:
    expected = read_manifest(SPECS)[name]
    config = read_config((SPECS / f"{name}.cfg").read_text())
    judge_config(config, read_definitions(SPECS, expected.module))
    if expected.property is not None:  # so that what is violated cannot be mistaken
        assert (*config.invariants, *config.properties) == (expected.property,)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_a_page_and_bounds_are_in_models(name: str) -> None:
    text = (SPECS / f"{name}.tla").read_text()
    assert max(map(len, text.splitlines())) <= 90
    assert text.startswith("-" * 10)
    if name.startswith("MC"):
        return
    assert len(text.splitlines()) <= 200
    assert "MC" not in text
    assert not re.search(r"<<\d", text)  # no tree


def test_liveness_is_by_itself_and_fair_to_body_steps_alone(lending: Definitions) -> None:
    config = read_config((SPECS / "MCSlotLendingLiveness.cfg").read_text())
    assert (config.invariants, config.properties) == ((), ("AllFinish",))
    assert re.findall(r"[WS]F_\w+\((\w+)\)", lending.bodies[config.specification]) == ["BodyStep"]


def test_liveness_without_fairness_must_fail(lending: Definitions) -> None:
    fair, unfair = (read_config((SPECS / f"MCSlotLending{name}.cfg").read_text()) for name in ("Liveness", "Unfair"))
    assert unfair == fair._replace(specification="Spec")
    assert not re.search(r"[WS]F_", lending.bodies["Spec"])
    expected = read_manifest(SPECS)["MCSlotLendingUnfair"]
    assert (expected.property, expected.tier) == ("AllFinish", "default")
