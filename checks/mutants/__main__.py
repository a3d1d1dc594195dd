"""``python -m slotcheck.checks.mutants > checks/mutants/named.json``: where each is caught, found anew.

To be run on purpose, when a faulty implementation is new or is caught elsewhere; read the difference.
"""

from __future__ import annotations

import json
import sys

from slotcheck.checks.mutants.catching import FAULTY, MUTANT_RUNS, catch, place_of

_found = list(catch(FAULTY, MUTANT_RUNS))
if _survived := [one.name for one in _found if not one.caught]:
    sys.exit(f"not caught: {', '.join(_survived)}")
print(json.dumps({one.name: place_of(one)._asdict() for one in _found}, indent=1, ensure_ascii=False))
