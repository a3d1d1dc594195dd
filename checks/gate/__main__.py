"""``python -m slotcheck.checks.gate REPORT... > checks/gate/pins.json``: the counts of green gates, one report a lane.

To be run on purpose, when scenarios, specifications or proofs are new; read the difference.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from slotcheck.checks.gate.base import PINNED, read_base
from slotcheck.checks.gate.piece import facts_of

_pins = {}
for _file in sys.argv[1:]:
    _base = read_base(Path(_file))
    _pins[_base["lane"]] = {
        piece: {name: facts[name] for name in PINNED[piece]}
        for piece, covered in _base["covered"].items()
        if piece in PINNED and (facts := dict(facts_of(covered)))
    }
print(json.dumps(_pins, indent=1))
