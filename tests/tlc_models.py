"""Specifications for the tests of the wrapper of TLC: written into a folder, run there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from slotcheck.checks.tlc.manifest import SPECS, Expected
from slotcheck.checks.tlc.run import Run, run_config
from slotcheck.checks.tlc.tool import Tool, find_tool

COUNTER = """---- MODULE Counter ----
EXTENDS Naturals, Sequences
VARIABLES x
Init == x = 0
Inc == x < 3 /\\ x' = x + 1
Zero == x = 3 /\\ x' = 0
Next == Inc \\/ Zero
Spec == Init /\\ [][Next]_x
FairSpec == Spec /\\ WF_x(Inc)
NoStart == x = 0 /\\ x > 5 /\\ [][Next]_x
Grows == x = 0 /\\ [][x' = x + 1]_x
Swells == x = 0 /\\ [][x' = [n \\in 1 .. 3000000 |-> n]]_x

Within == x \\in 0 .. 3
Small == x < 2
Nothing == 1 + 1 = 2
Fails == IF x = 2 THEN x = "two" ELSE TRUE
NotZero == x # 0
Up == [][x' > x]_x
Settles == <>[](x = 3)
Sets == {x} # {}
Whatever == [][TRUE]_x
FromOne == (x = 1) /\\ [][x' \\in 0 .. 3]_x
====
"""

#: A scenario that has every act, small enough for a graph in a second.
SMALL = """---- MODULE MCSmall ----
EXTENDS SlotLending, MCTrees
MCScenarios == Family({Fork}, {2}, {TRUE}, WithAll) \\cup Family({Pair}, {1}, {FALSE}, Resized(1, Plain))
  \\cup Family({TwoChains}, {1}, {FALSE}, Plain)
====
"""
#: The same under fewest held first, over job trees of two levels with children of other jobs.
SMALL_JOBS = """---- MODULE MCSmall ----
EXTENDS MCFairAdmission
MCSmallScenarios == Shared({PairJobs}, {1}, {FALSE}, WithCancel, AllOrders)
  \\cup Shared({Mixed}, {1}, {FALSE}, Plain, FairOrders)
  \\cup Shared({Backlog}, {1}, {FALSE}, Plain, AllOrders)
  \\cup Shared({Backlog}, {2}, {FALSE}, Plain, {ByServed})
====
"""
#: And of permits: two updates of one component with every act, a run mounted by two, a component below itself.
SMALL_PERMITS = """---- MODULE MCSmall ----
EXTENDS MCBuildPermit
MCSmallScenarios == Keyed({Overlap}, {1}, {FALSE}, WithEverything)
  \\cup Keyed({BesideIt}, {1}, {FALSE}, Plain) \\cup Keyed({Overlaps}, {2}, {FALSE}, Plain)
  \\cup Keyed({Below2}, {1}, {FALSE}, Plain)
  \\cup {Built(Two, <<1, 1>>, <<1, 2>>, 1, FALSE, WithFail)}
====
"""
SMALL_CONFIG = """SPECIFICATION Spec
CONSTANTS
  Runs <- MCRuns
  Caps <- MCCaps
  Scenarios <- MCScenarios
INVARIANT TypeOK
"""


def counter(folder: Path, config: str, module: str = COUNTER) -> Path:
    """A folder with the module Counter and the configuration Counter."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Counter.tla").write_text(module)
    (folder / "Counter.cfg").write_text(config)
    return folder


def run_counter(folder: Path, config: str, *, module: str = COUNTER, tool: Tool | None = None, **options: Any) -> Run:
    """Run the module Counter with a configuration."""
    specs = counter(folder, config, module)
    return run_config(tool or find_tool(), specs, "Counter", "Counter", **{"seconds": 120.0, **options})


def small(
    folder: Path,
    *,
    replace: tuple[str, str] | None = None,
    of: str = "SlotLending",
    model: str = SMALL,
    more: str = "",
) -> Path:
    """A folder with the specifications that ship and the model MCSmall, with more in its configuration if wanted, and
    one text in one of the modules replaced.
    """
    shutil.copytree(SPECS, folder, ignore=shutil.ignore_patterns("*.cfg", "*.json", "*.py", "__pycache__"))
    (folder / "MCSmall.tla").write_text(model)
    scenarios = "MCScenarios" if model == SMALL else "MCSmallScenarios"
    (folder / "MCSmall.cfg").write_text(SMALL_CONFIG.replace("MCScenarios", scenarios) + more)
    if replace is not None:
        text = (folder / f"{of}.tla").read_text()
        assert text.count(replace[0]) == 1
        (folder / f"{of}.tla").write_text(text.replace(*replace))
    return folder


def expected(name: str = "Counter", **fields: Any) -> Expected:
    """What a manifest would say."""
    told = {"result": "holds", "property": None, "distinct": 4, "generated": 5, "depth": 4, "tier": "default"}
    return Expected(**{"name": name, "module": name, "graph": None, "about": "", **told, **fields})
