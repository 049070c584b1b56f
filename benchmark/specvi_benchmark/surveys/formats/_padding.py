"""Stretches that a file fills with one number because there are no data."""

import numpy as np

from specvi_benchmark.spectrum import BoolArray, FloatArray

MIN_RUN = 5
"""Pixels. The shortest filled stretch met in STELIB, Pickles, CALSPEC and the SDSS templates is 5 long;
clipped or rounded noise gives runs of zeros up to 4 (the Vanden Berk quasar) and repeats up to 4."""

CONTINUUM = 1.0
"""The value that a normalised spectrum may rightly repeat up to its ends."""


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
