"""Plots of simulations and of figures over a grid. Needs matplotlib: ``pip install slotcheck[plot]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotcheck.checks.playing import Play
from slotcheck.pymodel.timeline import Steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "PlotError", "judge_path", "plot_grid", "plot_held", "save"]

FORMATS = (".png", ".svg")
_MOST_JOBS = 7  # drawn apart; more colours cannot be told from each other
#: Told apart by people who see colours differently too (Okabe and Ito), in this order.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_OTHERS = "#BBBBBB"


class PlotError(ValueError):
    """A plot cannot be drawn or saved; the message says why."""


def _figure(rows: int, columns: int = 1, *, width: float = 8.0, height: float = 2.2) -> tuple[Figure, Any]:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotError("a plot needs matplotlib: pip install 'slotcheck[plot]'") from error
    matplotlib.rcParams["svg.hashsalt"] = "slotcheck"  # the same picture has the same bytes
    matplotlib.rcParams["svg.fonttype"] = "none"
    figure = Figure(figsize=(width, 0.7 + height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharex="col")


def plot_held(plays: Sequence[Play], title: str) -> Figure:
    """The pool slots held per job over time, a row for each play, on one time axis."""
    figure, axes = _figure(len(plays))
    end = max((play.found.end_ms for play in plays), default=0) or 1
    for row, play in enumerate(plays):
        axis = axes[row][0]
        jobs = _shown(play.found.held)
        times = sorted({0, end, *(time for _, steps in jobs for one in steps for time in one.times_ms if time <= end)})
        layers = [[sum(one.at(time) for one in steps) for time in times] for _, steps in jobs]
        colours = [_OTHERS if name.startswith("other ") else _COLOURS[at] for at, (name, _) in enumerate(jobs)]
        if layers:
            stacked = axis.stackplot(times, layers, step="post", colors=colours, labels=[name for name, _ in jobs])
            for layer in stacked:
                layer.set_linewidth(0)
        axis.axhline(play.cap, color="black", linewidth=0.8, linestyle=":")
        axis.set_ylim(0, max(play.cap, *(sum(column) for column in zip(*layers, strict=True))) * 1.08)
        axis.set_xlim(0, end)
        stuck = f", stuck: {len(play.found.stuck)} runs never end" if play.found.stuck else ""
        axis.set_title(f"{play.name}, cap {play.cap}: {play.found.end_ms:,} ms{stuck}", fontsize=9, loc="left")
        axis.set_ylabel("slots held", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.yaxis.get_major_locator().set_params(integer=True)
    axes[-1][0].set_xlabel("ms", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), fontsize=8, frameon=False)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


def _shown(held: Mapping[tuple[str, ...], Steps]) -> list[tuple[str, list[Steps]]]:
    """The jobs to draw apart, those with the most slot time, and all others as one."""
    jobs = sorted(held)
    if len(jobs) > _MOST_JOBS:
        end = 1 + max((steps.times_ms[-1] for steps in held.values() if steps.times_ms), default=0)
        most = sorted(jobs, key=lambda job: (-held[job].area(end), job))[: _MOST_JOBS - 1]
        jobs = [job for job in jobs if job in most]
    shown = [("/".join(job), [held[job]]) for job in jobs]
    others = [steps for job, steps in held.items() if job not in jobs]
    return [*shown, (f"other jobs ({len(others)})", others)] if others else shown


def plot_grid(
    title: str, across: str, up: str, curves: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]]
) -> Figure:
    """One panel for each outer name, in it one curve for each inner name."""
    figure, axes = _figure(1, len(curves), width=4.2 * len(curves), height=3.0)
    for at, (panel, lines) in enumerate(curves.items()):
        axis = axes[0][at]
        for colour, (name, points) in zip(_COLOURS, lines.items(), strict=False):
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1.2, color=colour, label=name)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_title(panel, fontsize=9, loc="left")
        axis.set_xlabel(across, fontsize=8)
        axis.set_ylabel(up, fontsize=8)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=7, frameon=False)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


def judge_path(path: str) -> None:
    """Raise a `PlotError` if a plot cannot have this name: to be called before long work."""
    if Path(path).suffix.lower() not in FORMATS:
        raise PlotError(f"{path}: a plot is a file that ends in {' or '.join(FORMATS)}")


def save(figure: Figure, path: str) -> None:
    """Write the figure as PNG or SVG, by the name's ending.

    Raises:
        PlotError: the ending is another one, or the file cannot be written.
    """
    judge_path(path)
    ending = Path(path).suffix.lower()
    try:
        figure.savefig(path, dpi=150, metadata={"Date": None} if ending == ".svg" else {"Software": None})
    except OSError as error:
        raise PlotError(f"{path}: {error.strerror or error}") from error
