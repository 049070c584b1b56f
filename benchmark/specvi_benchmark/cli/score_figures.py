"""Figures of `specvi score` as SVG: the same results give the same bytes."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from specvi_benchmark.files import write_bytes
from specvi_benchmark.runs.beyond import Beyond
from specvi_benchmark.scoring.answers import TaskAnswers
from specvi_benchmark.scoring.beyond import ProbabilityScore
from specvi_benchmark.scoring.beyond_survey import task_rows
from specvi_benchmark.scoring.deferral import deferral_curve
from specvi_benchmark.scoring.prevalence import Rates, purity_at, rate_draws
from specvi_benchmark.scoring.probability import precision_recall

_STYLE: Any = {
    "svg.hashsalt": "specvi",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
# Okabe & Ito's colours, which colour-blind readers tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
_PREVALENCES = np.geomspace(1e-4, 0.5, 120)
_RESAMPLES = 2000
_PANEL_INCH = 3.2
_MOST_IN_A_ROW = 3

Draw = Callable[[Axes, int], None]


def write_figures(folder: Path, beyond: Beyond) -> list[Path]:
    """Draw what there is: purity against prevalence and precision–recall always, the others with P(YES)."""
    with_p = [place for place, found in enumerate(beyond.probabilities) if found.versions]
    every = list(range(len(beyond.tasks)))
    figures: dict[str, tuple[list[int], Draw]] = {
        "reliability": (with_p, lambda axes, place: _reliability(axes, beyond, place)),
        "deferral": (with_p, lambda axes, place: _deferral(axes, beyond, place)),
        "purity-prevalence": (every, lambda axes, place: _purity(axes, beyond, place)),
        "precision-recall": (every, lambda axes, place: _precision_recall(axes, beyond, place)),
    }
    written = []
    for name, (places, draw) in figures.items():
        if places:
            path = folder / f"{name}.svg"
            write_bytes(path, _svg(beyond, places, draw))
            written.append(path)
    return written


def _svg(beyond: Beyond, places: list[int], draw: Draw) -> bytes:
    """Return one figure with a panel a task."""
    with mpl.rc_context(_STYLE):
        columns = min(len(places), _MOST_IN_A_ROW)
        rows = -(-len(places) // columns)
        figure = Figure(figsize=(_PANEL_INCH * columns, _PANEL_INCH * rows), layout="constrained")
        FigureCanvasSVG(figure)
        for number, place in enumerate(places):
            axes = figure.add_subplot(rows, columns, number + 1)
            group = beyond.tasks[place].group
            axes.set_title(f"{group.task} ({group.track})")
            draw(axes, place)
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def _reliability(axes: Axes, beyond: Beyond, place: int) -> None:
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for colour, made in zip(_COLOURS, beyond.sections.probability[place].versions, strict=False):
        _bins(axes, made, colour)
    axes.set(xlabel="P(YES), mean of bin", ylabel="share that is YES", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.legend(frameon=False)


def _bins(axes: Axes, made: ProbabilityScore, colour: str) -> None:
    mean = np.array([row.mean_p for row in made.bins])
    share, low, high = (
        np.array([getattr(row.positive_share, name) for row in made.bins], dtype=float)
        for name in ("value", "low", "high")
    )
    bars = np.stack([share - low, high - share])
    axes.errorbar(
        mean,
        share,
        bars,
        fmt="o-",
        color=colour,
        markersize=3,
        linewidth=1,
        elinewidth=0.6,
        label=made.version,
    )


def _deferral(axes: Axes, beyond: Beyond, place: int) -> None:
    task = beyond.tasks[place]
    p = beyond.probabilities[place].versions["raw"]
    curve = deferral_curve(task.positive, task.called_yes, task.confidence(p))
    at = np.union1d(curve.deferred, np.linspace(curve.deferred[0], 1, 200))
    there = curve.at(at)
    axes.plot(at, there.purity, color=_COLOURS[0], label="purity")
    axes.plot(at, there.machine_purity, color=_COLOURS[0], linestyle=":", label="purity, machine's part")
    axes.plot(at, there.completeness, color=_COLOURS[1], label="completeness")
    if curve.deferred[0] > 0:
        axes.axvspan(0, curve.deferred[0], color="0.9", label="non-answers")
    axes.set(xlabel="share deferred to people", ylabel="of the catalogue", xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(frameon=False, loc="lower right")


def _purity(axes: Axes, beyond: Beyond, place: int) -> None:
    task = beyond.tasks[place]
    rates = rate_draws(task_rows([task]), queue_counts=False, resamples=_RESAMPLES)
    point = [float(purity_at(rates.point, share)[0]) for share in _PREVALENCES]
    drawn = np.stack([purity_at(Rates(*rates.drawn), share)[:, 0] for share in _PREVALENCES])
    if not np.isnan(drawn).all(axis=1).any():
        low, high = np.nanquantile(drawn, [0.025, 0.975], axis=1)
        axes.fill_between(_PREVALENCES, low, high, color=_COLOURS[0], alpha=0.2, linewidth=0)
    axes.plot(_PREVALENCES, point, color=_COLOURS[0])
    axes.axvline(float(task.positive.mean()), color="0.6", linewidth=1, label="this set")
    if beyond.sections.prevalence is not None:
        axes.axvline(beyond.sections.prevalence, color=_COLOURS[1], linewidth=1, label="stated")
    axes.set(xscale="log", xlabel="share of members", ylabel="purity of YES", ylim=(0, 1.02))
    axes.legend(frameon=False, loc="center left")


def _precision_recall(axes: Axes, beyond: Beyond, place: int) -> None:
    task = beyond.tasks[place]
    _iso_f1(axes)
    if beyond.probabilities[place].versions:
        known = task.has_p
        _, precision, recall = precision_recall(task.positive[known], task.p_yes[known])
        axes.step(recall, precision, where="pre", color=_COLOURS[0], label="by P(YES)")
    if (point := _own_answers(task)) is not None:
        axes.plot(*point, "o", color=_COLOURS[1], label="its own YES")
    axes.set(xlabel="completeness", ylabel="purity", xlim=(0, 1.02), ylim=(0, 1.02))
    axes.legend(frameon=False, loc="lower left")


def _iso_f1(axes: Axes) -> None:
    """Draw lines of equal F1: purity = F·recall / (2·recall − F)."""
    for f1 in (0.2, 0.4, 0.6, 0.8):
        recall = np.linspace(f1 / (2 - f1), 1, 60)
        axes.plot(recall, f1 * recall / (2 * recall - f1), color="0.85", linewidth=0.8)
        axes.annotate(f"F1 {f1:g}", (1, f1 / (2 - f1)), ha="right", va="bottom", fontsize=7, color="0.5")


def _own_answers(task: TaskAnswers) -> tuple[float, float] | None:
    """Return completeness and purity of the system's YES; None where either is undefined."""
    if not task.called_yes.any() or not task.positive.any():
        return None
    return float(task.called_yes[task.positive].mean()), float(task.positive[task.called_yes].mean())
