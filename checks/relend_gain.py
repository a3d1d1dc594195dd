"""What relend (R13) gains: makespans with it off and on, over caps and depths, and where it gains nothing.

Without it a slot idles when a lender has it back, no child of the lender waits, and another child of it runs on a pool
slot. So it can gain only where a parent's child on loan ends before its sibling on a pool slot, while something waits
for a slot that this parent cannot lend to.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from slotcheck.pymodel.scenario import RunSpec, Scenario
from slotcheck.pymodel.simulate import simulate
from slotlending.pool import Pool

__all__ = ["CAPS", "DEPTHS", "Gain", "RandomGain", "comb_gains", "combs", "no_gains", "random_forest", "random_gains"]

CAPS = (1, 2, 4, 8)
DEPTHS = (2, 3, 4, 6, 8)
_COMBS = 8
_TREES = 40
_RUNS = 60
_SEED = 20_261_130


class Gain(NamedTuple):
    """One forest at one cap."""

    what: str
    cap: int
    depth: int
    off_ms: int
    on_ms: int

    @property
    def percent(self) -> float:
        """By how much the makespan is shorter with relend."""
        return 100 * (self.off_ms - self.on_ms) / self.off_ms


class RandomGain(NamedTuple):
    """Many random forests at one cap, of at most so many levels."""

    cap: int
    depth: int
    trees: int
    mean_percent: float
    best_percent: float
    worst_percent: float
    #: How many ended sooner, at the same time, later.
    sooner: int
    same: int
    later: int


def combs(count: int, depth: int, *, tooth_first: bool = True) -> Scenario:
    """So many combs: a spine of so many levels, with one leaf (a tooth) beside the spine on each level below the first.

    Each node asks for its tooth first, which so gets its slot on loan, or for the next of its spine.
    """
    runs = []
    for comb in range(count):
        above = f"c{comb}_1"
        runs.append(RunSpec(above))
        for level in range(2, depth + 1):
            spine, tooth = RunSpec(f"c{comb}_{level}", above), RunSpec(f"t{comb}_{level}", above)
            runs += [tooth, spine] if tooth_first else [spine, tooth]
            above = spine.name
    return Scenario(f"{count} combs of {depth} levels", tuple(runs))


def random_forest(seed: int, depth: int, runs: int = _RUNS) -> Scenario:
    """A forest of so many runs on at most so many levels: each new run below a random one, or a root (one in ten).

    Leaves work for 1 to 20 ms.
    """
    rng = random.Random(seed)
    levels = [1]
    made = [RunSpec("n0", work_ms=rng.randint(1, 20))]
    for number in range(1, runs):
        above = rng.choice([at for at, level in enumerate(levels) if level < depth])
        root = rng.random() < 0.1
        levels.append(1 if root else levels[above] + 1)
        made.append(RunSpec(f"n{number}", None if root else made[above].name, work_ms=rng.randint(1, 20)))
    return Scenario(f"random forest, seed {seed}", tuple(made))


def comb_gains(caps: Sequence[int] = CAPS, depths: Sequence[int] = DEPTHS) -> list[Gain]:
    """Eight combs at every cap and depth."""
    return [_gain(f"{_COMBS} combs", combs(_COMBS, depth), cap, depth) for cap in caps for depth in depths]


def random_gains(
    caps: Sequence[int] = CAPS, depths: Sequence[int] = DEPTHS, trees: int = _TREES
) -> Iterator[RandomGain]:
    """Random forests at every cap and depth; those of one depth are the same at every cap."""
    for cap in caps:
        for depth in depths:
            gains = [_gain("", random_forest(_SEED + tree, depth), cap, depth) for tree in range(trees)]
            percents = [gain.percent for gain in gains]
            sooner, later = sum(one > 0 for one in percents), sum(one < 0 for one in percents)
            counts = sooner, trees - sooner - later, later
            yield RandomGain(cap, depth, trees, fmean(percents), max(percents), min(percents), *counts)


def no_gains() -> list[Gain]:
    """Shapes in which it gains nothing, each with its reason."""
    chain = Scenario("chain", tuple(RunSpec(f"c{at}", f"c{at - 1}" if at else None) for at in range(8)))
    fan = Scenario("fan-out", (RunSpec("r"), *(RunSpec(f"f{at}", "r", work_ms=1 + 7 * at % 20) for at in range(40))))
    full = _full_tree(3, 3)
    return [
        _gain("a chain: no siblings", chain, 4, 8),
        _gain("one parent with 40 children: nobody else waits", fan, 4, 2),
        _gain("a full tree of equal leaves: siblings end together", full, 4, 3),
        _gain("combs whose spine asks first: the spine is the loan", combs(_COMBS, 6, tooth_first=False), 4, 6),
        _gain("one comb, more slots than runs: nobody waits", combs(1, 6), 12, 6),
        _gain("cap 1: no sibling ever has a pool slot", combs(_COMBS, 6), 1, 6),
    ]


def _full_tree(levels: int, branches: int) -> Scenario:
    names = ["r"]
    runs = [RunSpec("r")]
    for _ in range(levels - 1):
        below = [(f"{name}_{child}", name) for name in names for child in range(branches)]
        runs += [RunSpec(name, parent) for name, parent in below]
        names = [name for name, _ in below]
    return Scenario("full tree", tuple(runs))


def _gain(what: str, scenario: Scenario, cap: int, depth: int) -> Gain:
    off, on = (simulate(scenario, Pool(cap, relend=relend)).end_ms for relend in (False, True))
    return Gain(what, cap, depth, off, on)
