"""Draws a saliency: the spectrum coloured by what speaks for and against YES, with lines and deciding stretches."""

import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from specvi_baselines.networks.saliency import Saliency
from specvi_benchmark.features import choose_shift
from specvi_benchmark.lines import lines_between
from specvi_benchmark.probes.stretches import hidden_of, seen_stretches
from specvi_benchmark.vetting import Question

SMOOTH_PIXELS = 5
"""The attribution is drawn as a mean over so many pixels: single pixels carry noise."""


def draw(found: Saliency, question: Question) -> bytes:
    """Return a PNG: flux in the colours of the attribution above, the attribution itself below."""
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    strength = np.convolve(found.attribution, np.full(SMOOTH_PIXELS, 1 / SMOOTH_PIXELS), mode="same")
    largest = float(np.abs(strength).max()) or 1.0
    _flux(upper, found, strength / largest)
    lower.fill_between(found.wavelength_AA, strength, color="0.4", linewidth=0)
    lower.axhline(0, color="0.7", linewidth=0.6)
    lower.set(xlabel="wavelength, vacuum Å, observed frame", ylabel="attribution\n(logit a pixel)")
    stretches = seen_stretches(question)
    for axes in (upper, lower):
        for low, high in stretches[0] if stretches else ():
            axes.axvspan(low, high, color="#009E73", alpha=0.12, linewidth=0)
    _markers(upper, question)
    parts = [f"{question.task.class_name}? P(YES) {found.p_yes:.2f} at equal shares"]
    if found.decisive is not None:
        share = found.decisive
        parts.append(
            f"{share.share:.0%} of the attribution on deciding stretches (shaded, {share.width:.0%} of pixels)"
        )
    upper.set_title("; ".join(parts), fontsize=10)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110, metadata={"Software": None})
    return stream.getvalue()


def _flux(axes: Axes, found: Saliency, colour: np.ndarray) -> None:
    flux = np.where(found.known, found.flux, np.nan)
    points = np.stack([found.wavelength_AA, flux], axis=1)
    pieces = LineCollection(
        list(np.stack([points[:-1], points[1:]], axis=1)), cmap="coolwarm", linewidths=1.1
    )
    pieces.set_array(colour[:-1])
    pieces.set_clim(-1, 1)
    axes.add_collection(pieces)
    low, high = np.nanpercentile(flux, [0.2, 99.8])
    axes.set(
        xlim=(found.wavelength_AA[0], found.wavelength_AA[-1]),
        ylim=(low - 0.1 * (high - low), high + 0.5 * (high - low)),
        ylabel="flux / median (red: for YES, blue: against)",
    )


def _markers(axes: Axes, question: Question) -> None:
    """Mark the lines that stand in the task's deciding stretches, in the observed frame."""
    redshift = choose_shift(question.redshift, question.task.frame).redshift
    if question.task.frame == "observed":
        redshift = question.redshift or 0.0
    named = {
        name.strip() for one in hidden_of(question.task.key).decisive for name in one.features.split(",")
    }
    shown = axes.get_xlim()
    for line in lines_between(shown[0] / (1 + redshift), shown[1] / (1 + redshift)):
        if line.name in named:
            at = line.vacuum_AA * (1 + redshift)
            axes.axvline(at, ymin=0.78, ymax=0.82, color="0.2", linewidth=0.8)
            axes.text(at, 0.83, line.name, transform=axes.get_xaxis_transform(), rotation=90, fontsize=6.5, ha="center", va="bottom", clip_on=True)  # fmt: skip
