"""Releasing: a parent gives its slot back for good when it asks for its first child."""

from __future__ import annotations

from slotcheck.pymodel.rules.rule import Rule
from slotcheck.pymodel.rules.state import Draft, Run, RunId

__all__ = ["Release"]


class Release(Rule):
    """Deadlock-free, and at most cap runs hold a slot; but nothing bounds the runs in flight."""

    name = "release"

    def _admit(self, draft: Draft, run: RunId) -> bool:
        parent = draft.runs[run].parent
        if parent is not None and draft.runs[parent].token == "pool":
            # The slot goes to whoever has waited for one before the child gets its turn: nothing barges.
            draft.runs[parent] = draft.runs[parent]._replace(token="none")
            draft.taken -= 1
            self._serve(draft)
        return self._take(draft, run)

    def _end(self, draft: Draft, run: Run) -> None:
        self._orphan(draft, run.run)
        draft.forget(run.run)
        if run.token == "pool":
            draft.taken -= 1
            self._serve(draft)
