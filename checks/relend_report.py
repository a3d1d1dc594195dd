"""The tables and the plot of ``slotcheck compare --relend``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotcheck.checks.plots import plot_grid
from slotcheck.checks.relend_gain import Gain, RandomGain, comb_gains, no_gains, random_gains
from slotcheck.checks.terminal import versions
from slotcheck.pymodel.explore import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RelendGains", "relend_as_json", "relend_as_text", "relend_gains", "relend_plot"]


class RelendGains(NamedTuple):
    """All that is known of what relend gains."""

    combs: Sequence[Gain]
    random: Sequence[RandomGain]
    none: Sequence[Gain]

    @property
    def verdict(self) -> Verdict:
        """Violated if it gains, or loses, in a shape where it should do nothing."""
        return Verdict.VIOLATED if any(gain.off_ms != gain.on_ms for gain in self.none) else Verdict.HOLDS


def relend_gains() -> RelendGains:
    """Simulate everything."""
    return RelendGains(comb_gains(), list(random_gains()), no_gains())


def relend_as_text(gains: RelendGains) -> RenderableType:
    """Three tables."""
    combs = _table("cap", "levels", "off, ms", "on, ms", "gain")
    for gain in gains.combs:
        combs.add_row(str(gain.cap), str(gain.depth), str(gain.off_ms), str(gain.on_ms), f"{gain.percent:.1f} %")
    forests = _table("cap", "levels <=", "mean gain", "best", "worst", "sooner", "same", "later")
    for one in gains.random:
        percents = [f"{percent:.1f} %" for percent in (one.mean_percent, one.best_percent, one.worst_percent)]
        forests.add_row(str(one.cap), str(one.depth), *percents, str(one.sooner), str(one.same), str(one.later))
    none = _table("", "cap", "off, ms", "on, ms")
    for gain in gains.none:
        none.add_row(gain.what, str(gain.cap), str(gain.off_ms), str(gain.on_ms))
    trees = gains.random[0].trees if gains.random else 0
    return Group(
        Text("8 combs that ask for the tooth first: makespan with relend off and on", style="bold"), combs, Text(),
        Text(f"{trees} random forests of 60 runs, leaves of 1 to 20 ms", style="bold"), forests, Text(),
        Text("where it gains nothing", style="bold"), none, Text(),
        Text(f"verdict: {gains.verdict.value}"),
    )  # fmt: skip


def relend_as_json(gains: RelendGains) -> dict[str, Any]:
    """One object."""
    return {
        "verdict": gains.verdict.value,
        "covered": {"combs": len(gains.combs), "random forests": sum(one.trees for one in gains.random)},
        "violations": [
            {
                "scenario": gain.what,
                "invariant": "RelendGainsNothing",
                "message": f"cap {gain.cap}: {gain.off_ms} ms off, {gain.on_ms} ms on",
                "trace": None,
            }
            for gain in gains.none
            if gain.off_ms != gain.on_ms
        ],
        "parts": [
            *({"kind": "comb", **gain._asdict(), "percent": round(gain.percent, 3)} for gain in gains.combs),
            *(
                {"kind": "random", **{key: _rounded(value) for key, value in one._asdict().items()}}
                for one in gains.random
            ),
            *({"kind": "none", **gain._asdict()} for gain in gains.none),
        ],
        "versions": versions(),
    }


def relend_plot(gains: RelendGains) -> Figure:
    """Gain over levels, a curve for each cap: combs, random forests."""
    combs: dict[str, list[tuple[int, float]]] = {}
    for gain in gains.combs:
        combs.setdefault(f"cap {gain.cap}", []).append((gain.depth, gain.percent))
    forests: dict[str, list[tuple[int, float]]] = {}
    for one in gains.random:
        forests.setdefault(f"cap {one.cap}", []).append((one.depth, one.mean_percent))
    panels = {"8 combs, tooth first": combs, "random forests, mean": forests}
    return plot_grid("What relend gains in makespan", "levels", "gain, %", panels)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    return table


def _rounded(value: float) -> float:
    return round(value, 3)
