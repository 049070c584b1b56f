"""Numbers that a file writes where there are no data: filled stretches, and values that mean "missing"."""

import numpy as np

from specvi_benchmark.spectrum import BoolArray, FloatArray
from specvi_benchmark.surveys.formats._values import UNKNOWN_NUMBERS

MIN_RUN = 5
"""Pixels. The shortest filled stretch met in STELIB, Pickles, CALSPEC and the SDSS templates is 5 long;
clipped or rounded noise gives runs of zeros up to 4 (the Vanden Berk quasar) and repeats up to 4."""

CONTINUUM = 1.0
"""The value that a normalised spectrum may rightly repeat up to its ends."""

FARTHEST = 1e10
"""Times the median: no spectrum spans that, but 1e30, 1e38 and 9.9e99, which stand for "no value", do."""

FAINTEST_MAG = 90.0
"""Magnitudes of this size stand for "no value" too: 99, 99.99, -99."""


def missing(values: FloatArray, *, magnitudes: bool = False) -> BoolArray:
    """Return where a number means that there is none: -9999 and -999 exactly, and what lies absurdly far off.

    Parameters
    ----------
    values
        ``(n,)``, as stored: fluxes or errors, or magnitudes.
    magnitudes
        Whether they are magnitudes.
    """
    size = np.abs(values)
    if magnitudes:
        return size >= FAINTEST_MAG
    usual = size[np.isfinite(size) & (size > 0)]
    far = size > FARTHEST * np.median(usual) if usual.size else np.zeros(values.shape, np.bool_)
    bad: BoolArray = np.isin(values, tuple(UNKNOWN_NUMBERS)) | far
    return bad


def filled(flux: FloatArray) -> BoolArray:
    """Return where flux is a filling and no measurement.

    Runs of at least `MIN_RUN` exact zeros, and at either end runs of one repeated value other than 1.
    A spectrum that is one value throughout is left alone.

    Parameters
    ----------
    flux
        ``(n,)``, as stored, for spectra without errors (where there are errors, they tell).
    """
    bad = np.zeros(flux.shape, dtype=np.bool_)
    if flux.size < 2:
        return bad
    edges = np.flatnonzero(np.diff(flux) != 0) + 1
    starts, ends = np.r_[0, edges], np.r_[edges, flux.size]
    if starts.size == 1:
        return bad
    for start, end in zip(starts[long := ends - starts >= MIN_RUN], ends[long], strict=True):
        at_an_end = start == 0 or end == flux.size
        if flux[start] == 0 or (at_an_end and flux[start] != CONTINUUM):
            bad[start:end] = True
    return bad
