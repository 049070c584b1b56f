"""Spectra as tensors: brought to one grid with their errors, and the measures of level that networks take of them.

A `Stack` holds flux and inverse variance only. A bad pixel has flux 0 and inverse variance 0 in it, whatever
stood there before, so that nothing behind it can see what a bad pixel held.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.ndimage import median_filter
from torch import Tensor
from torch.nn import functional

from specvi_baselines.networks.settings import Grid
from specvi_benchmark.features import prepare
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum

LEAST_COVERED = 0.5
"""Share of a pixel of the grid that good pixels must fill."""

LEAST_SEEN = 0.05
"""Share of the grid that a spectrum must fill to be vetted."""

SAME_PIXEL = 0.02
"""A spectrum whose pixels lie this close to those of the grid, in pixels, is not resampled."""

LEAST_IVAR = 1e-8
"""Times the median inverse variance: a good pixel that knows less knows nothing."""

GAP, NEIGHBOURS = 3.0, 11
"""A step this many times the median of those around it is a gap: pixels that a file leaves out, as if they were masked."""

COARSEST = 0.01
"""Share of its wavelength that a pixel may reach over: what lies farther apart is points, with nothing known between
them. Gaia's, the coarsest survey spectra, are 0.6 % wide at most."""

_TINY = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Spectra on one grid: ``(n, pixels)`` float32 each. ``ivar`` is 0, and ``flux`` 0, where nothing is known.

    Flux is in units of the spectrum's median size, and the inverse variance accordingly.
    """

    flux: Tensor
    ivar: Tensor

    def __len__(self) -> int:
        return int(self.flux.shape[0])

    def seen(self) -> Tensor:
        """Return ``(n,)`` the share of the grid that each spectrum fills."""
        return (self.ivar > 0).float().mean(dim=1)


def stack(spectra: Sequence[Spectrum], grid: Grid) -> Stack:
    """Bring spectra of any survey, length and range to one grid."""
    wavelength = grid.wavelength_AA
    edges = edges_of(wavelength)
    flux = np.zeros((len(spectra), grid.pixels), dtype=np.float32)
    ivar = np.zeros_like(flux)
    for row, spectrum in enumerate(spectra):
        flux[row], ivar[row] = to_grid(spectrum, wavelength, edges)
    flux[ivar == 0] = 0.0  # an inverse variance that single precision can't hold
    return Stack(torch.from_numpy(flux), torch.from_numpy(ivar))


def to_grid(
    spectrum: Spectrum, wavelength_AA: FloatArray, edges_AA: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return flux and inverse variance on a grid, ``(pixels,)`` each, in units of the median size of the flux.

    Flux is averaged over each pixel of the grid, weighted by overlap, over good pixels alone; the variance of
    the mean follows, with the information of a source pixel shared out in proportion where two pixels of the
    grid share it (so that no information is made by resampling). Where there are no errors, the scatter of
    neighbouring pixels stands in (`specvi_benchmark.features.prepare`). Pixels that are not `Spectrum.usable` are
    bad, and so are those that know next to nothing (`LEAST_IVAR`): sums run over the whole spectrum, and one variance
    of 1e20 would leave no digit for those behind it.
    """
    flux, variance, good = _bounded(spectrum)
    first = int(np.searchsorted(spectrum.wavelength_AA, edges_AA[0]))
    own = spectrum.wavelength_AA[first : first + wavelength_AA.size]
    if own.size == wavelength_AA.size and _same(own, wavelength_AA):
        here = slice(first, first + own.size)
        found, ivar = flux[here], np.where(good[here], 1 / np.where(good[here], variance[here], 1), 0.0)
    else:
        found, ivar = _resampled(spectrum.wavelength_AA, flux, variance, good, edges_AA)
    size = np.abs(found[ivar > 0])
    scale = float(np.median(size) or size.max() or 1.0) if size.size else 1.0
    return found / scale, ivar * scale**2


def _bounded(spectrum: Spectrum) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return flux, variance and which pixels are good, ``(n,)`` each, zero where they are not.

    In units of about the median size: a power of two, which costs no digit.
    """
    good = spectrum.usable
    flux, variance = np.zeros(good.size), np.zeros(good.size)
    if not good.any():
        return flux, variance, good
    known = prepare(spectrum)
    size = np.abs(known.flux)
    unit = np.exp2(np.floor(np.log2(np.median(size) or size.max() or 1.0)))
    flux[good] = known.flux / unit
    variance[good] = (known.sigma / unit) ** 2
    good &= variance <= float(np.median(variance[good])) / LEAST_IVAR
    return np.where(good, flux, 0.0), np.where(good, variance, 0.0), good


def edges_of(wavelength_AA: FloatArray) -> FloatArray:
    """Return ``(n + 1,)`` the borders between pixels, half way, and as far beyond at the ends."""
    middle = (wavelength_AA[1:] + wavelength_AA[:-1]) / 2
    first, last = 2 * wavelength_AA[0] - middle[0], 2 * wavelength_AA[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])


def _bordered(wavelength_AA: FloatArray, pixels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the borders between pixels, and ``(k, n)`` values of pixels with an empty one wherever some are left out."""
    borders, steps = edges_of(wavelength_AA), np.diff(wavelength_AA)
    widest = COARSEST * wavelength_AA
    borders[0] = max(borders[0], wavelength_AA[0] - widest[0] / 2)
    borders[-1] = min(borders[-1], wavelength_AA[-1] + widest[-1] / 2)
    usual = np.minimum(median_filter(steps, size=NEIGHBOURS, mode="nearest"), widest[:-1])
    gaps = np.flatnonzero(steps > np.minimum(GAP * usual, widest[:-1]))
    if not gaps.size:
        return borders, pixels
    borders[gaps + 1] = wavelength_AA[gaps] + usual[gaps] / 2
    borders = np.insert(borders, gaps + 2, wavelength_AA[gaps + 1] - usual[gaps] / 2)
    return borders, np.insert(pixels, gaps + 1, 0.0, axis=1)


def _same(own: FloatArray, wanted: FloatArray) -> bool:
    step = wanted[1] - wanted[0]  # the finest of a logarithmic grid
    return bool(np.abs(own - wanted).max() < SAME_PIXEL * step)


def _resampled(
    wavelength: FloatArray, flux: FloatArray, variance: FloatArray, good: BoolArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray]:
    own, (flux, variance, known) = _bordered(wavelength, np.stack([flux, variance, good]))
    width = np.diff(own)
    sums = np.zeros((3, own.size))
    np.cumsum(np.stack([width * known, width * flux, width**2 * variance]), axis=1, out=sums[:, 1:])
    covered, total, spread = (np.diff(np.interp(edges, own, one)) for one in sums)
    filled_enough = covered >= LEAST_COVERED * np.diff(edges)
    safe = np.where(filled_enough, covered, 1.0)
    found = np.where(filled_enough, total / safe, 0.0)
    # A grid finer than the source: each part of a source pixel carries the information of its share of it.
    return found, np.where(filled_enough & (spread > 0), safe**2 / np.where(spread > 0, spread, 1.0), 0.0)


def filled(flux: Tensor, good: Tensor) -> Tensor:
    """Return flux with straight lines over bad pixels, level beyond the ends; for networks that read no mask."""
    size = flux.shape[1]
    place = torch.arange(size, device=flux.device).expand_as(flux)
    before = torch.where(good, place, -1).cummax(dim=1).values
    after = torch.where(good, place, size).flip(1).cummin(dim=1).values.flip(1)
    left = torch.where(before < 0, after, before).clamp(max=size - 1)
    right = torch.where(after >= size, before, after).clamp(min=0)
    share = (place - left).to(flux.dtype) / (right - left).clamp(min=1)
    low, high = flux.gather(1, left), flux.gather(1, right)
    return torch.where(good, flux, low + (high - low) * share)


def continuum(flux: Tensor, good: Tensor, bin_pixels: int, window_bins: int) -> Tensor:
    """Return the running median of binned flux, on the pixels, ``(n, pixels)``; at least a tenth of its own mean.

    Bins average their good pixels; a bin without one takes the line between its neighbours.
    """
    size = flux.shape[1]
    total = in_groups(flux * good, bin_pixels).sum(dim=2)
    count = in_groups(good.to(flux.dtype), bin_pixels).sum(dim=2)
    binned = filled(total / count.clamp(min=1), count > 0)
    half = min(window_bins, binned.shape[1] - 1) // 2
    wide = functional.pad(binned[:, None], (half, half), mode="replicate")[:, 0]
    level = wide.unfold(1, 2 * half + 1, 1).median(dim=2).values
    smooth = functional.interpolate(
        level[:, None], scale_factor=bin_pixels, mode="linear", align_corners=False
    )
    floor = 0.1 * level.abs().mean(dim=1, keepdim=True) + _TINY
    return torch.maximum(smooth[:, 0, :size], floor)


def in_groups(values: Tensor, size: int) -> Tensor:
    """Return ``(n, groups, size)``: neighbouring pixels together, zeros after the last."""
    padded = functional.pad(values, (0, -values.shape[1] % size))
    return padded.reshape(len(values), -1, size)
