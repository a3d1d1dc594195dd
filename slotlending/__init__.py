"""Slot lending: bound the concurrency of a tree of tasks with one pool, without deadlock.

`Pool` is the rule itself, a deterministic state machine that waits for nothing; front ends wait and wake. That for
asyncio is `slotlending.aio`: ``from slotlending import aio``. The build permit is `slotlending.permit`, on asyncio
`slotlending.aio_permit`.
"""

from slotlending.errors import (
    BadCap,
    ComponentAbove,
    JobNotLeaf,
    NotAdmitted,
    NotHandedOver,
    NotKnown,
    NotWorking,
    ParentNotInFlight,
    Refused,
    RunKnown,
)
from slotlending.explain import Explanation, SlotWait, Wait, Waits
from slotlending.pool import Pool, Statistics
from slotlending.snapshot import Answer, Grant, RunState, Snapshot

__all__ = [
    "Answer",
    "BadCap",
    "ComponentAbove",
    "Explanation",
    "Grant",
    "JobNotLeaf",
    "NotAdmitted",
    "NotHandedOver",
    "NotKnown",
    "NotWorking",
    "ParentNotInFlight",
    "Pool",
    "Refused",
    "RunKnown",
    "RunState",
    "SlotWait",
    "Snapshot",
    "Statistics",
    "Wait",
    "Waits",
]
