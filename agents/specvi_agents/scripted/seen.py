"""What one picture shows, measured: only pixels inside its window count, and each measurement is put into words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from specvi_agents.scripted.words import LIGHT_KMS, edge_words, in_emission, index_words, line_words
from specvi_benchmark.features import (
    EdgeMeasurement,
    LineMeasurement,
    Measurement,
    Prepared,
    Window,
    flux_ratio,
    measure_edge,
    measure_index,
    measure_line,
    prepare,
    window_mean,
)
from specvi_benchmark.lines import get_band, get_index, get_line
from specvi_benchmark.spectrum import FloatArray, Spectrum

MIN_POINTS = 8
"""Fewer good pixels show nothing that could be measured."""

ROUNDING_AA = 1e-6
"""A view's ends are pixels; dividing by 1 + z again may move them by a rounding error."""

PEAK_BIN_KMS, PEAK_BINS, PEAK_SIGMA = 140.0, 8, 3.0
"""Bins in which two peaks are told apart: two pixels of LAMOST, or an eighth of the line; and how sure it must be."""

EDGE_WIDTH_AA = {"C2": 40.0, "TiO": 25.0, "ZrO": 15.0, "CN": 25.0}
"""Stretch compared on either side of a head: so far a band keeps its depth, and the next head is farther."""

EDGE_GAP_AA = {"C2": 6.0, "TiO": 4.0, "ZrO": 4.0, "CN": 4.0}
"""Left out beside a head: half the blur of the instrument and the usual velocities; C2 heads are softer."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One view, ready to be measured.

    Attributes
    ----------
    window_AA
        What the view really shows, in the frame of the view.
    prepared
        Its good pixels, in that frame; None where there are too few, or where the view could not be had.
    notes
        Takes the words of every measurement, in order.
    """

    window_AA: Window
    prepared: Prepared | None
    notes: list[str] = field(default_factory=list)

    def line(
        self, name: str, half_width_kms: float, redshift: float = 0.0, *, quietly: bool = False
    ) -> LineMeasurement | None:
        """Measure a line of the line list, at rest or at a redshift; None where it can't be seen.

        ``quietly``: a second measurement of a line that was spoken of already.
        """
        centre_AA = get_line(name).vacuum_AA * (1 + redshift)
        line = None if self.prepared is None else measure_line(self.prepared, centre_AA, half_width_kms)
        if not quietly:
            self.notes.append(line_words(name, centre_AA if redshift else None, line))
        return line

    def core(self, name: str, half_width_kms: float) -> LineMeasurement | None:
        """Measure the core of a line against the trough it stands in; said only where it is in emission."""
        if self.prepared is None:
            return None
        line = measure_line(self.prepared, get_line(name).vacuum_AA, half_width_kms)
        if in_emission(line):
            self.notes.append(f"In its core, {line_words(name, None, line)}")
        return line

    def peaks_apart_kms(self, name: str, fwhm_kms: float) -> float | None:
        """Return how far the two peaks of an emission line are apart; None where a single peak explains it.

        The lowest of the bins between the highest on either side must be lower than both beyond doubt.
        """
        if self.prepared is None:
            return None
        velocity_kms = LIGHT_KMS * (self.prepared.wavelength_AA / get_line(name).vacuum_AA - 1)
        width_kms = max(PEAK_BIN_KMS, fwhm_kms / PEAK_BINS)
        flux, error, centre_kms = _binned(self.prepared, velocity_kms, width_kms, fwhm_kms)
        if flux.size < 5:
            return None
        valley = 1 + int(np.argmin(np.where(np.abs(centre_kms[1:-1]) < fwhm_kms / 2, flux[1:-1], np.inf)))
        left = int(np.argmax(flux[:valley]))
        right = valley + 1 + int(np.argmax(flux[valley + 1 :]))
        depths = [
            (flux[peak] - flux[valley]) / math.hypot(error[peak], error[valley]) for peak in (left, right)
        ]
        return float(centre_kms[right] - centre_kms[left]) if min(depths) >= PEAK_SIGMA else None

    def edge(self, name: str) -> EdgeMeasurement | None:
        """Measure the step at a band head of the band list; None where it can't be seen."""
        band = get_band(name)
        width, gap = EDGE_WIDTH_AA[band.species], EDGE_GAP_AA[band.species]
        edge = None if self.prepared is None else measure_edge(self.prepared, band.vacuum_AA, width, gap)
        self.notes.append(edge_words(band, edge))
        return edge

    def index(self, name: str) -> Measurement | None:
        """Measure an index of the index list, as ``PyHammer TiO5``; None where it can't be seen."""
        index = None if self.prepared is None else measure_index(self.prepared, get_index(name))
        self.notes.append(index_words(name.split(maxsplit=1)[1], index))
        return index

    def ratio(self, above: Sequence[Window], below: Sequence[Window]) -> Measurement | None:
        """Return the mean flux of some stretches over that of others, without a word; None where not seen."""
        return None if self.prepared is None else flux_ratio(self.prepared, above, below)

    def mean(self, window_AA: Window) -> Measurement | None:
        """Return the mean flux of a stretch, without a word; None where not seen."""
        return None if self.prepared is None else window_mean(self.prepared, window_AA)


def see(spectrum: Spectrum, redshift: float, windows_AA: Sequence[Window]) -> Prepared | None:
    """Return the good pixels inside the windows, shifted by ``redshift``; None where there are too few.

    The windows are in the shifted frame. Everything outside them is gone, the noise estimate included.
    """
    shifted_AA = spectrum.wavelength_AA / (1 + redshift)
    inside = np.zeros(shifted_AA.size, dtype=np.bool_)
    for low, high in windows_AA:
        inside |= (shifted_AA >= low - ROUNDING_AA) & (shifted_AA <= high + ROUNDING_AA)
    if np.count_nonzero(spectrum.usable & inside) < MIN_POINTS:
        return None
    shown = replace(
        spectrum,
        wavelength_AA=spectrum.wavelength_AA[inside],
        flux=spectrum.flux[inside],
        ivar=spectrum.ivar[inside],
        mask=spectrum.mask[inside],
    )
    return prepare(shown, redshift)


def _binned(
    prepared: Prepared, velocity_kms: FloatArray, width_kms: float, reach_kms: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean flux, its error and the middle of each bin within ``reach_kms`` of a line; empty bins are left out."""
    edges = np.arange(-reach_kms, reach_kms + width_kms / 2, width_kms)
    place = np.digitize(velocity_kms, edges) - 1
    inside = (place >= 0) & (place < edges.size - 1)
    count = np.bincount(place[inside], minlength=edges.size - 1)
    total = np.bincount(place[inside], prepared.flux[inside], edges.size - 1)
    variance = np.bincount(place[inside], prepared.sigma[inside] ** 2, edges.size - 1)
    full = count > 0
    middle = (edges[:-1] + edges[1:])[full] / 2
    return total[full] / count[full], np.sqrt(variance[full]) / count[full], middle
