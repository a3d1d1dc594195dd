"""Worst cases of overtaking: what is promised, found by the search, and found again by trying every path."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from slotcheck.checks.cli import main
from slotcheck.checks.fairness import Claim, Streams, claims, worst_overtaking
from slotcheck.checks.subject import resolve_subject
from slotlending import Pool

CLAIMS = [claim for claim in claims() if sum(runs for _, runs in claim.streams.jobs) <= 5]


def worst(claim: Claim, subject: str = "pool") -> Any:
    return worst_overtaking(resolve_subject(subject, order=claim.order, tie=claim.tie), claim)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.order} {claim.tie} {claim.streams.told}")
def test_the_worst_case_is_what_is_promised_by_the_pool_and_by_the_rule(claim: Claim) -> None:
    found = worst(claim)
    assert found.kept is not False
    assert worst(claim, "rule:lend") == found


def streams(cap: int, *jobs: tuple[str, int]) -> Streams:
    return Streams(tuple(((name,), runs) for name, runs in jobs), cap)


@pytest.mark.parametrize(
    ("order", "tie", "grants"),
    [("fewest_held", "served", 2), ("fewest_held", "oldest", 3), ("fifo", None, 3), ("round_robin", None, 2)],
)
def test_the_heaviest_path_is_the_one_that_trying_all_paths_finds(order: str, tie: str | None, grants: int) -> None:
    claim = Claim(order, tie, streams(1, ("t", 1), ("a", 3), ("b", 1)), True, grants)
    found = worst(claim)
    assert found.kept
    assert by_trying(claim) == grants
    assert replayed(claim, found.witness.before + found.witness.during) == grants


def test_a_circle_can_be_gone_round_as_often_as_one_likes() -> None:
    claim = Claim("fewest_held", "served", streams(2, ("t", 2), ("a", 2)), False, None)
    way = worst(claim).witness
    assert way.circle
    assert replayed(claim, way.before + way.during + way.circle * 7) == 7 * replayed(claim, way.before + way.circle)


def test_a_faulty_order_has_another_worst_case() -> None:
    fair = next(claim for claim in CLAIMS if claim.order == "round_robin")
    assert worst(fair).kept
    assert worst(fair, "slotcheck.checks.mutants:KeepsItsTurn").kept is False
    claim = Claim("fewest_held", "served", streams(1, ("t", 1), ("a", 2), ("b", 1)), True, 2)
    assert worst(claim).kept
    assert worst(claim, "slotcheck.checks.mutants:ServesNewestFirst").grants is None


def call(pool: Pool, claim: Claim, step: str) -> list[str]:
    """Make a step; the runs that got a pool slot."""
    verb, run = step.partition(":")[0].split()
    jobs = {job[-1]: job for job, _ in claim.streams.jobs}
    answer = pool.ask(run, None, jobs[run[:-1]]) if verb == "ask" else pool.finish(run)
    return [run for run, token in answer.granted if token == "pool"]


def new(claim: Claim) -> Pool:
    return Pool(claim.streams.cap, order=claim.order, tie=claim.tie or "served")


def replayed(claim: Claim, steps: tuple[str, ...]) -> int:
    """How many slots go to others between the start of the last wait of t and its end, or the last step."""
    pool, counted, waits = new(claim), 0, False
    for step in steps:
        got = call(pool, claim, step)
        waited, waits = waits, any(str(run).startswith("t") for run in pool.snapshot().waiting)
        counted = counted + len([run for run in got if run[0] != "t"]) if waited else 0
    return counted


def by_trying(claim: Claim) -> int:
    """The most slots that go to others while t waits, over every sequence of steps, without circles or groups."""
    runs = [f"{job[-1]}{number + 1}" for job, count in claim.streams.jobs for number in range(count)]
    best: dict[Any, int] = {}
    seen: set[Any] = set()

    def steps(snapshot: Any) -> list[tuple[Any, list[str]]]:
        known = {run.run: run.phase for run in snapshot.runs}
        found = []
        for run in runs:
            verb = "ask" if run not in known else "finish" if known[run] == "in_flight" else ""
            if verb:
                pool = Pool.restore(snapshot)
                found.append((pool, call(pool, claim, f"{verb} {run}")))
        return [(pool.snapshot(), got) for pool, got in found]

    def rounds(snapshot: Any) -> None:
        if snapshot in seen:
            return
        seen.add(snapshot)
        for after, _ in steps(snapshot):
            rounds(after)

    rounds(new(claim).snapshot())
    waiting = [one for one in seen if "t1" in one.waiting]
    best = dict.fromkeys(waiting, 0)
    for _ in range(len(waiting)):  # relax until nothing changes: longest paths, one edge longer each time
        changed = False
        for one in waiting:
            for after, got in steps(one):
                longer = len([run for run in got if run != "t1"]) + best.get(after, 0)
                if longer > best[one]:
                    best[one], changed = longer, True
        if not changed:
            break
    return max(best.values())


def run(*args: str) -> Any:
    return CliRunner().invoke(main, ["fairness", *args])


def test_the_command_tells_worst_cases_and_ways_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotcheck.checks.fairness_command.claims", lambda: iter(CLAIMS[-4:]))
    text = run("--no-timing")
    assert text.exit_code == 0
    assert "without bound" in text.output
    assert "round and round" in text.output
    assert run("--no-timing").output == text.output
    told = json.loads(run("--format", "json", "--no-timing").output)
    assert (told["verdict"], told["covered"]["spaces"]) == ("holds", 4)
    faulty = run("--format", "json", "--subject", "slotcheck.checks.mutants:ServesNewestFirst")
    assert faulty.exit_code in (0, 1)


@pytest.mark.parametrize(
    ("subject", "said"), [("rule:nope", "no rule 'nope'"), ("rule:refuse", "under rule:refuse no job ever waits")]
)
def test_bad_input_ends_with_2_and_one_line(subject: str, said: str) -> None:
    result = run("--subject", subject)
    assert result.exit_code == 2
    assert said in result.output
    assert result.output.count("\n") == 1
