"""Generated scenarios of the build permit: all small forests, and every way to give their runs components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

from slotcheck.checks.diagnosis import mounts_in_a_circle
from slotcheck.checks.generated import Environment, forests
from slotcheck.checks.tree_text import tree_text
from slotcheck.pymodel.scenario import Act, RunSpec, Scenario

__all__ = ["PERMIT_ENVIRONMENTS", "permit_scenarios"]

_CAPS = (1, 2)
_NAMES = "STUVW"
#: How the runs of one component are given keys: all the same one, none, or the first of each another one.
_KEYS = ("one key", "no key", "two keys")

PERMIT_ENVIRONMENTS = (
    Environment("plain"),
    Environment("cancel", (Act("cancel"),)),
    Environment("fail", (Act("fail"),)),
    Environment("early", (Act("finish"),), late_children=True),
)


def permit_scenarios(runs: int, *, plain_runs: int = 0) -> Iterator[Scenario]:
    """All forests of up to so many runs, two or more of them of one component, under every environment; with one more
    argument those of up to so many runs too, where nothing happens from outside. The smallest first.

    Where components mount each other in a circle only a cap of 1
    promises that they end, so only that is looked at.
    """
    for size in range(2, max(runs, plain_runs) + 1):
        for trees in forests(size):
            for labelled in _labelled(trees):
                for keys in _KEYS:
                    yield from _under_every_environment(_keyed(labelled, keys), keys, plain_only=size > runs)


def _keyed(labelled: tuple[RunSpec, ...], keys: str) -> tuple[RunSpec, ...]:
    if keys == "no key":
        return labelled
    given: list[RunSpec] = []
    for run in labelled:
        first = all(run.component != other.component for other in given)
        key = "v1" if first and keys == "two keys" else "v2"
        given.append(run if run.component is None else replace(run, key=key))
    return tuple(given)


def _under_every_environment(specs: tuple[RunSpec, ...], keys: str, *, plain_only: bool) -> Iterator[Scenario]:
    told = tree_text(specs)
    components = " ".join(f"{run.name}:{run.component}" for run in specs if run.component is not None)
    for environment in PERMIT_ENVIRONMENTS[: 1 if plain_only else None]:
        scenario = Scenario(
            f"{told} {components} {keys} {environment.name}",
            specs,
            caps=_CAPS,
            environment=environment.acts,
            late_children=environment.late_children,
            tree=told,
        )
        yield replace(scenario, caps=_CAPS[:1]) if mounts_in_a_circle(scenario) else scenario


def _labelled(trees: tuple[RunSpec, ...]) -> Iterator[tuple[RunSpec, ...]]:
    """Every way to give the runs components, or none, at least one component to two of them; no two ways that differ by
    the names of the components or by an exchange of equal subtrees.
    """
    seen: set[Any] = set()
    for labels in _labels(len(trees)):
        given = [label for label in labels if label is not None]
        if all(given.count(label) < 2 for label in given):
            continue
        used = sorted(set(given))
        forms = (
            _form(trees, [None if label is None else new[used.index(label)] for label in labels])
            for new in permutations(used)
        )
        form = min(forms)
        if form not in seen:
            seen.add(form)
            yield tuple(
                replace(run, component=None if label is None else _NAMES[label])
                for run, label in zip(trees, labels, strict=True)
            )


def _labels(runs: int) -> Iterator[tuple[int | None, ...]]:
    """Components by number, a new one never before all smaller ones."""

    def grow(labels: tuple[int | None, ...], used: int) -> Iterator[tuple[int | None, ...]]:
        if len(labels) == runs:
            yield labels
            return
        for label in (None, *range(used + 1)):
            yield from grow((*labels, label), max(used, used if label is None else label + 1))

    yield from grow((), 0)


def _form(trees: tuple[RunSpec, ...], labels: list[int | None]) -> Any:
    """The labelled forest, siblings sorted."""
    below: dict[str | None, list[Any]] = {None: [], **{run.name: [] for run in trees}}
    for run, label in reversed(list(zip(trees, labels, strict=True))):
        below[run.parent].append((-1 if label is None else label, tuple(sorted(below[run.name]))))
    return tuple(sorted(below[None]))
