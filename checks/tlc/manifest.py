"""What TLC must find in each configuration that ships: ``specs/manifest.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from slotcheck.checks.tlc.config import ConfigError
from slotcheck.checks.tlc.outcome import FAILED, VIOLATED, Outcome

__all__ = ["MANIFEST", "SPECS", "Expected", "chosen", "differences", "read_manifest"]

#: The folder of the specifications that ship.
SPECS = Path(__file__).resolve().parents[2] / "specs"
MANIFEST = "manifest.json"

DEFAULT, DEEP = "default", "deep"


class Expected(NamedTuple):
    """What must come out of one configuration."""

    name: str
    module: str
    #: "holds" or "violated".
    result: str
    #: What is violated; None where it holds.
    property: str | None
    distinct: int
    generated: int
    #: 0 where TLC does not say, as after a violation of liveness.
    depth: int
    #: "default" or "deep": whether it is run unless it is asked for.
    tier: str
    #: The rule whose graph must be the same, edge for edge; None where no graph is compared.
    graph: str | None
    #: In one sentence, what for.
    about: str


def read_manifest(specs: Path) -> dict[str, Expected]:
    """The manifest of a folder of specifications, by name.

    Raises:
        ConfigError: it cannot be read, lacks something, or expects what cannot be.
    """
    path = specs / MANIFEST
    try:
        told: dict[str, dict[str, Any]] = json.loads(path.read_text())["configs"]
        found = {name: Expected(name, **fields) for name, fields in told.items()}
    except (OSError, json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"cannot read {path.name}: {type(error).__name__}: {error}") from error
    for each in found.values():
        if (each.result == VIOLATED) != (each.property is not None) or each.tier not in (DEFAULT, DEEP):
            raise ConfigError(f"{path.name}: {each.name} expects {each.result}, {each.property}, {each.tier}")
    return found


def chosen(manifest: dict[str, Expected], names: Sequence[str], *, deep: bool) -> list[Expected]:
    """The configurations named, or all of a tier; those that take longest first.

    Raises:
        ConfigError: one is named that is not there.
    """
    for name in names:
        if name not in manifest:
            raise ConfigError(f"no configuration {name!r}: there are {', '.join(sorted(manifest))}")
    picked = [each for each in manifest.values() if (each.name in names if names else deep or each.tier == DEFAULT)]
    return sorted(picked, key=lambda each: (-each.distinct, each.name))


def differences(expected: Expected, outcome: Outcome, *, known_tlc: bool = True) -> list[str]:
    """In what a run that did not fail differs from what is expected.

    How many states are generated on the way is pinned for one TLC only: another one's own business.
    """
    assert outcome.result != FAILED
    told = []
    if outcome.result != expected.result:
        shown = f"{outcome.told} is violated" if outcome.result == VIOLATED else "nothing is violated"
        must = f"{expected.property} to be violated" if expected.result == VIOLATED else "all to hold"
        return [f"expected {must}, but {shown}"]
    if outcome.result == VIOLATED and outcome.told != expected.property:
        return [f"expected {expected.property} to be violated, but it is {outcome.told}"]
    for name in ("distinct", "generated", "depth") if known_tlc else ("distinct", "depth"):
        should, does = getattr(expected, name), getattr(outcome, name)
        if should != does:
            told.append(f"{name}: {does:,} instead of {should:,}")
    return told
