"""What `slotcheck prove` found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.prove import PROVED, Found, good, overall
from slotcheck.checks.relation_check import Comparison
from slotcheck.checks.terminal import versions
from slotcheck.proofs.invariant import CONJUNCTS
from slotcheck.proofs.relation import ACTIONS
from slotcheck.proofs.solve import solver_versions

__all__ = ["line", "prove_as_json", "prove_as_text"]

#: Kinds that compare a relation with code.
_COMPARED = ("code", "permits")

_TITLES = {
    "exists": "shown to exist (a solver's instance, replayed in plain Python)",
    "possible": "hypotheses that can be true together, each step among them",
    "needed": "conjuncts that are needed: without it, this obligation has a counterexample",
    "implied": "conjuncts that follow from the others in finite states",
    "wrong": "wrong relations, each caught by the obligation named",
    "sample": "solver and evaluation agree",
    "code": "the relation and the code",
    "permits": "the permit relation and the code",
}


def line(found: Found, *, timing: bool = True) -> Text:
    """One printed line: what, and what each solver said in how many seconds."""

    def took(solver: str) -> str:
        return f" {found.seconds.get(solver, 0):.2f} s" if timing else ""

    seconds = "  ".join(f"{solver} {found.said.get(solver, '')}{took(solver)}" for solver in found.seconds)
    if found.kind in ("possible", "needed", "implied", "wrong"):
        seconds = f"{found.said.get('obligation', '')}{took('z3')}"
        if found.kind == "wrong":
            seconds = f"caught by {seconds}" if good(found) else f"SURVIVED {seconds}"
    if found.comparison is not None:
        seconds = _counted(found.comparison)
    word = found.verdict if found.kind != "wrong" else "caught" if good(found) else found.verdict
    shown = Text(f"{word:<12} {found.name}  {seconds}")
    if not good(found):
        shown.stylize("bold red")
        for told in found.told:
            shown.append(f"\n    {told}")
    return shown


def _counted(comparison: Comparison) -> str:
    return f"{comparison.states:,} states, {comparison.edges:,} edges, {comparison.refused:,} refused calls"


def prove_as_text(found: Sequence[Found], seconds: float | None, shown: bool) -> RenderableType:
    """The tables that stand under the lines. ``shown``: tell the counterexamples that were asked for, too."""
    lines: list[RenderableType] = []
    if shown:
        for one in found:
            if good(one) and one.told:
                lines += [Text(f"{one.kind}/{one.name}: {one.meaning}", style="bold")]
                lines += [Text(f"    {told}") for told in one.told]
                lines.append("")
    table = Table(box=None, pad_edge=False)
    for title in ("", "number", "as it should be", "seconds"):
        table.add_column(title, justify="left" if not title else "right")
    for title, of_kind in _by_kind(found):
        took: dict[str, float] = {}
        for one in of_kind:
            for solver, part in one.seconds.items():
                took[solver] = took.get(solver, 0) + part
        told = "" if seconds is None else ", ".join(f"{solver} {part:.1f}" for solver, part in took.items())
        table.add_row(title, f"{len(of_kind):,}", f"{sum(map(good, of_kind)):,}", told)
    lines.append(table)
    for kind in _COMPARED:
        whole = _whole(found, kind)
        if whole is not None:
            told = f"{_counted(whole)}; {whole.allowed:,} next states allowed by the relation"
            fired = ", ".join(f"{name} {count:,}" for name, count in sorted(whole.fired.items()))
            lines += ["", Text(f"{kind}: {told}"), Text(f"actions seen: {fired}")]
    verdict = overall(found)
    took_ = "" if seconds is None else f", {seconds:.1f} s"
    solvers = ", ".join(f"{name} {version}" for name, version in solver_versions().items())
    lines += ["", Text(f"verdict: {verdict.value} ({solvers}{took_})")]
    return Group(*lines)


def _by_kind(found: Sequence[Found]) -> Iterator[tuple[str, list[Found]]]:
    kinds = list(dict.fromkeys(one.kind for one in found))
    for kind in kinds:
        of_kind = [one for one in found if one.kind == kind]
        if kind != "obligations":
            yield _TITLES[kind], of_kind
            continue
        inductive = [one for one in of_kind if _is_inductive(one.name)]
        if inductive:
            yield f"the invariant: init and {len(ACTIONS)} steps, {len(CONJUNCTS)} conjuncts", inductive
        if len(inductive) < len(of_kind):
            yield "what follows, the order, the permits", [one for one in of_kind if not _is_inductive(one.name)]


def _is_inductive(name: str) -> bool:
    return name.partition("/")[0] in {"init", *ACTIONS}


def _whole(found: Sequence[Found], kind: str) -> Comparison | None:
    compared = [one.comparison for one in found if one.comparison is not None and one.kind == kind]
    if not compared:
        return None
    whole = Comparison()
    for comparison in compared:
        whole.add(comparison)
    return whole


def prove_as_json(found: Sequence[Found], seconds: float | None, solvers: Sequence[str]) -> dict[str, Any]:
    """One object. Whatever differs from run to run stands under ``timing``."""
    proved = [one for one in found if one.kind == "obligations"]
    covered: dict[str, Any] = {
        "solvers": list(solvers),
        "obligations": len(proved),
        "proved": {solver: sum(one.said.get(solver) == "unsat" for one in proved) for solver in solvers},
        "proved_by_all": sum(one.verdict == PROVED for one in proved),
        "steps": len(ACTIONS),
        "conjuncts": len(CONJUNCTS),
        **{
            kind: {"number": len(of_kind), "as_it_should_be": sum(map(good, of_kind))}
            for kind in ("exists", "possible", "needed", "implied", "wrong", "sample")
            if (of_kind := [one for one in found if one.kind == kind])
        },
    }
    covered |= {kind: _covered_by(whole) for kind in _COMPARED if (whole := _whole(found, kind)) is not None}
    told: dict[str, Any] = {
        "verdict": overall(found).value,
        "covered": covered,
        "violations": [{"scenario": None, "invariant": one.name, "trace": one.told} for one in found if not good(one)],
        "parts": [_part(one) for one in found],
        "versions": {**versions(), **solver_versions()},
    }
    if seconds is not None:
        told["timing"] = {
            "seconds": round(seconds, 3),
            "solvers": {solver: round(sum(one.seconds.get(solver, 0) for one in proved), 3) for solver in solvers},
            "parts": {
                f"{one.kind}/{one.name}": {solver: round(took, 4) for solver, took in one.seconds.items()}
                for one in found
            },
        }
    return told


def _covered_by(whole: Comparison) -> dict[str, Any]:
    return {
        "forests": whole.forests,
        "states": whole.states,
        "edges": whole.edges,
        "next_states_allowed": whole.allowed,
        "refused_calls": whole.refused,
        "calls_of_several_steps": whole.composed,
        "calls_that_change_nothing": whole.idle,
        "conjuncts_true": whole.conjuncts,
        "bounds_true_as_numbers": whole.bounds,
        "differences": len(whole.differences),
        "actions": dict(sorted(whole.fired.items())),
    }


def _part(one: Found) -> dict[str, Any]:
    part: dict[str, Any] = {
        "kind": one.kind,
        "name": one.name,
        "meaning": one.meaning,
        "verdict": one.verdict if one.kind != "wrong" else "caught" if good(one) else "survived",
    }
    if "obligation" in one.said:
        part["obligation"] = one.said["obligation"]
    else:
        part["said"] = dict(one.said)
    if one.kind == "wrong" or not good(one):
        part["told"] = one.told
    return part
