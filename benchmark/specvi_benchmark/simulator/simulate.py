"""From a kind's name to a spectrum as a survey would publish it, with the truth of what was put in."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import artefacts
from specvi_benchmark.simulator.artefacts import Rates
from specvi_benchmark.simulator.continuum import extinction
from specvi_benchmark.simulator.instrument import expose, fine_grid, pixel_grid, to_pixels
from specvi_benchmark.simulator.kinds import KINDS, Kind
from specvi_benchmark.simulator.lines import SPEED_OF_LIGHT_KMS
from specvi_benchmark.spectrum import BoolArray, FloatArray

SIMULATOR_VERSION = 1
"""Raised by every change that changes a simulated number."""

_FASTEST_KMS = 350.0
_TRIES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An object before the telescope: its light on `fine_grid` in the observed frame, dust and motion included.

    ``redshift`` is the true one; ``truth`` are the parameters that were drawn.
    """

    kind: str
    flux: FloatArray
    redshift: float
    truth: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """One visit: arrays as in a Spectrum, on `pixel_grid`, and what went wrong."""

    flux: FloatArray
    ivar: FloatArray
    mask: BoolArray
    truth: dict[str, Any]


def make_source(kind: str, rng: np.random.Generator, snr: float | None = None) -> Source:
    """Draw one object of a kind.

    Stars move with a normal spread of 70 km/s along the line of sight (at most 350) and have an
    E(B−V) from an exponential law of mean 0.12, at most 0.8.

    Parameters
    ----------
    kind
        A name of `KINDS`.
    rng
        Random numbers of this object.
    snr
        Draw until the object can be recognised at this median signal to noise; None takes the first.

    Raises
    ------
    UserError
        The kind is not known, or none of a thousand objects can be recognised.
    """
    if kind not in KINDS:
        raise UserError("no such kind of object", where="simulator", expected=", ".join(KINDS), got=kind)
    for _ in range(_TRIES):
        source = _draw(KINDS[kind], rng)
        if snr is None or KINDS[kind].decidable(source.truth, snr):
            return source
    raise UserError(f"no {kind} can be recognised at this signal to noise", where="simulator", got=snr)


def observe(source: Source, snr: float, rng: np.random.Generator, rates: Rates | None = None) -> Observation:
    """Observe a source with LAMOST's grid, resolution, noise and artefacts.

    Parameters
    ----------
    source
        From `make_source`.
    snr
        Median signal to noise per pixel, before artefacts; above 0.
    rng
        Random numbers of this visit.
    rates
        How often things go wrong; the default rates if None.

    Returns
    -------
    Flux in counts (a few hundred), rounded to a power of two well below the noise, so that the last bits do
    not depend on the machine that computed them.
    """
    rates = rates or Rates()
    clean, air = artefacts.through_air(to_pixels(source.flux), rng)
    clean = clean * (10 ** rng.uniform(1.8, 3.0) / np.median(clean))
    exposure = expose(clean, snr, float(10 ** rng.uniform(1.8, 2.7)))
    flux = clean + rng.normal(0, 1, clean.size) * exposure.sigma
    residue, sky = artefacts.sky_left(exposure, rates, rng)
    hits, flagged, rays = artefacts.cosmic_rays(exposure, rates, rng)
    flux, calibration = artefacts.miscalibrated(flux + residue + hits, rates, rng)
    dead, lost = artefacts.dead_pixels(rates, rng)
    mask = dead | flagged
    step = 2.0 ** np.floor(np.log2(np.median(exposure.sigma) / 16))
    return Observation(
        flux=np.where(dead, 0.0, np.round(flux / step) * step),
        ivar=np.where(mask, 0.0, _rounded(exposure.sigma**-2)),
        mask=mask,
        truth={"snr": snr, **air, **sky, **rays, **calibration, **lost},
    )


def _draw(kind: Kind, rng: np.random.Generator) -> Source:
    if kind.redshifts is None:
        redshift = float(np.clip(rng.normal(0, 70), -_FASTEST_KMS, _FASTEST_KMS)) / SPEED_OF_LIGHT_KMS
    else:
        redshift = float(rng.uniform(*kind.redshifts))
    reddening = float(min(rng.exponential(0.12), 0.8))
    flux, truth = kind.make(fine_grid() / (1 + redshift), rng)
    flux = flux * extinction(fine_grid(), reddening)
    return Source(kind.name, flux, redshift, truth | {"redshift": redshift, "reddening_mag": reddening})


def wavelengths() -> FloatArray:
    """Return the wavelengths (vacuum Å) of every simulated spectrum."""
    return pixel_grid()


def _rounded(values: FloatArray) -> FloatArray:
    """Round to eight significant bits."""
    mantissa, exponent = np.frexp(values)
    rounded: FloatArray = np.ldexp(np.round(mantissa * 256) / 256, exponent)
    return rounded
