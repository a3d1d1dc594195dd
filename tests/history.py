"""Histories of a rule, call by call, for tests that work them out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from slotcheck.pymodel.rules import Outcome, Refusal, Rule


class History:
    """One pool under a rule. Calls are told in words: ``ask c<a`` (under a), ``ask c@x/y`` (in a job), ``finish c``.

    Every call returns what it granted and relent, in one line: ``b:pool c:loan ~d``.
    """

    def __init__(self, rule: Rule, cap: int, **options: Any) -> None:
        self.rule = rule
        self.state: Any = rule.initial(cap, **options)

    def __call__(self, *calls: str) -> str:
        outcome = None
        for call in calls:
            outcome = self.outcome(call)
            self.state = outcome.state
        assert outcome is not None
        return " ".join([*map(":".join, outcome.granted), *[f"~{run}" for run in outcome.relent]])

    def outcome(self, call: str) -> Outcome:
        verb, what = call.split(" ", 1)
        if verb == "resize":
            return self.rule.resize(self.state, int(what))
        run, _, job = what.partition("@")
        run, _, parent = run.partition("<")
        if verb in ("ask", "try_ask"):
            asked = tuple(job.split("/")) if job else None
            return self._call(verb, run, parent or None, asked)
        return self._call(verb, run)

    def _call(self, verb: str, *args: Any) -> Outcome:
        outcome: Outcome = getattr(self.rule, verb)(self.state, *args)
        return outcome

    def refused(self, call: str) -> str:
        before = self.state
        with pytest.raises(Refusal) as caught:
            self.outcome(call)
        assert self.state == before
        return caught.value.code

    def phases(self) -> str:
        """``a:pool+lent b:loan c:waiting d:pool:parked e:none:retaking``, by name."""
        told = []
        for run in sorted(self.state.runs):
            word = run.phase if run.phase == "waiting" else run.token + "+lent" * run.lent
            told.append(f"{run.run}:{word}" + f":{run.phase}" * (run.phase in ("parked", "retaking")))
        return " ".join(told)

    def stacks(self) -> str:
        """``a>b c``: b runs on top of a, and c on a worker of its own."""
        return " ".join(map(">".join, self.state.stacks))

    def line(self, *node: str) -> str:
        return " ".join(dict(self.state.lines).get(node, ()))
