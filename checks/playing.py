"""Scenarios played on a virtual clock, on any subject: a live pool of a class, or a rule that lives on."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple

from slotcheck.checks.scenario import builtin_scenarios, read_scenario, resolve
from slotcheck.checks.subject import AnySubject, ClassSubject, SubjectError, resolve_subject
from slotcheck.pymodel.live import LiveRule
from slotcheck.pymodel.scenario import Scenario
from slotcheck.pymodel.simulate import simulate
from slotcheck.pymodel.timeline import Simulated

__all__ = ["Play", "play", "timed_scenario", "workloads"]


class Play(NamedTuple):
    """One scenario, played once."""

    #: The subject, with its order where one was given.
    name: str
    cap: int
    found: Simulated


def play(
    scenario: Scenario,
    subject: str,
    cap: int,
    *,
    order: str | None = None,
    tie: str | None = None,
    relend: bool = False,
) -> Play:
    """Play a scenario on a subject: ``pool``, ``rule:NAME`` or ``package.module:Class``.

    Raises:
        SubjectError: there is no such subject, or it cannot be made with these options.
        ValueError: the scenario has a script.
    """
    found = resolve_subject(subject, order=order, tie=tie)
    name = " ".join([found.name, *(part for part in (order, tie) if part), *(["relend"] if relend else [])])
    return Play(name, cap, _simulated(scenario, found, cap, relend))


def _simulated(scenario: Scenario, subject: AnySubject, cap: int, relend: bool) -> Simulated:
    if isinstance(subject, ClassSubject):
        try:
            return simulate(scenario, subject.new(cap, relend=relend))
        except Exception as error:
            if subject.name == "pool":
                raise
            raise SubjectError(f"{subject.name} cannot be simulated: {type(error).__name__}: {error}") from error
    options: dict[str, Any] = subject.options
    rule = subject.rule.declared(scenario.levels)
    return simulate(scenario, LiveRule(rule, cap, relend=relend, **options), rule.conduct)


def workloads() -> Mapping[str, Scenario]:
    """The timed scenarios that ship, by name. Too many runs to explore: they are for simulations only."""
    folder = resources.files("slotcheck.checks") / "workloads"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".scenario")), key=lambda file: file.name)
    found = [read_scenario(file.read_text("utf-8"), file.name) for file in files]
    return {scenario.name: scenario for scenario in found}


def timed_scenario(name: str) -> Scenario:
    """The workload or scenario of this name, or the one in the file of this path.

    Raises:
        UnknownScenarioError, ScenarioError: as `resolve`.
    """
    timed = workloads()
    if name in timed and name not in builtin_scenarios():
        return timed[name]
    return resolve([name])[0]
