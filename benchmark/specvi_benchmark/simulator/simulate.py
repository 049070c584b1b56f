"""From a kind's name to a spectrum as a survey would publish it, with the truth of what was put in."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator.artefacts import Rates, Visit, all_artefacts
from specvi_benchmark.simulator.artefacts.sunlight import moonlight
from specvi_benchmark.simulator.continuum import extinction
from specvi_benchmark.simulator.instrument import expose, get_instrument, middle
from specvi_benchmark.simulator.kinds import KINDS, Kind
from specvi_benchmark.simulator.lattice import remainder, rest_window, star_grid
from specvi_benchmark.simulator.lines import SPEED_OF_LIGHT_KMS
from specvi_benchmark.spectrum import BoolArray, FloatArray

SIMULATOR_VERSION = 3
"""Raised by every change that changes a simulated number."""

STELLAR_SPREAD_KMS, FASTEST_STAR_KMS = 70.0, 350.0
"""Radial velocities of stars: standard deviation of a normal law, and where it is cut."""

_TRIES = 1000
_MOONLIT = 0.4  # share of visits with the moon up
_DARK_DEX, _MOON_DEX = (1.6, 2.3), (-0.5, 1.0)  # log10 of the sky's electrons a pixel; of moon over dark sky


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An object before the telescope, dust included.

    Attributes
    ----------
    kind
        Its name in `KINDS`.
    flux
        ``(8800,)`` F_λ in any unit, on `rest_AA`.
    redshift
        The true one.
    truth
        The parameters that were drawn.
    """

    kind: str
    flux: FloatArray
    redshift: float
    truth: dict[str, Any]

    @property
    def rest_AA(self) -> FloatArray:
        """Rest-frame vacuum wavelengths of `flux`."""
        return rest_window(self.redshift)

    @property
    def wavelength_AA(self) -> FloatArray:
        """Observed wavelengths of `flux`."""
        return self.rest_AA * (1 + self.redshift)


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """One visit: arrays as in a Spectrum, on the instrument's `wavelengths`, and what went wrong."""

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


def observe(
    source: Source,
    snr: float,
    rng: np.random.Generator,
    rates: Rates | None = None,
    instrument: str = "lamost",
) -> Observation:
    """Observe a source: line spread, pixels, noise and artefacts of an instrument.

    Two visits in five see moonlight in their sky. The noise is drawn before anything else, so that
    turning an artefact's dial leaves it as it was.

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
    instrument
        ``lamost``, ``sdss`` or ``desi``.

    Returns
    -------
    Flux in the survey's unit, rounded to a power of two well below the noise, so that the last bits do not
    depend on the machine that computed them.

    Raises
    ------
    UserError
        The signal to noise is not above 0, or there is no such instrument.
    """
    if not 0 < snr < np.inf:
        raise UserError("a signal to noise is above 0", where="observe", got=snr)
    rates = rates or _usual_rates()
    looking = get_instrument(instrument)
    noise = rng.standard_normal(looking.wavelength_AA.size)
    brightness, sky, moonlit, moon = rng.random(4)
    clean = looking.see(source.flux, remainder(source.redshift))
    clean *= 10 ** _between(looking.flux_dex, brightness) / clean.mean()
    visit = Visit(
        looking,
        clean,
        10 ** _between(_MOON_DEX, moon) * moonlight(instrument) if moonlit < _MOONLIT else None,
        lost=np.zeros(clean.size, dtype=np.bool_),
        flagged=np.zeros(clean.size, dtype=np.bool_),
        truth={"snr": snr, "instrument": instrument},
    )
    _spoil(visit, "light", rates, rng)
    exposure = expose(looking, visit.flux, snr, float(10 ** _between(_DARK_DEX, sky)), visit.moon)
    visit.sigma, visit.sky_unit = exposure.sigma, exposure.sky_unit
    visit.flux += noise * visit.sigma
    _spoil(visit, "detector", rates, rng)
    _spoil(visit, "calibration", rates, rng)
    return _published(visit)


@cache
def wavelengths(instrument: str = "lamost") -> FloatArray:
    """Return the wavelengths (vacuum Å) of every spectrum simulated for an instrument."""
    return get_instrument(instrument).wavelength_AA


def _draw(kind: Kind, rng: np.random.Generator) -> Source:
    if kind.redshifts is None:
        velocity = np.clip(rng.normal(0, STELLAR_SPREAD_KMS), -FASTEST_STAR_KMS, FASTEST_STAR_KMS)
        redshift = float(velocity) / SPEED_OF_LIGHT_KMS
    else:
        redshift = float(rng.uniform(*kind.redshifts))
    reddening = float(min(rng.exponential(0.12), 0.8))
    flux, truth = kind.make(rest_window(redshift), rng)
    # Whatever the redshift, light arrives on the stars' window to within a few samples, over which dust is alike.
    flux = flux * extinction(star_grid(), reddening)
    return Source(kind.name, flux, redshift, truth | {"redshift": redshift, "reddening_mag": reddening})


def _spoil(visit: Visit, stage: str, rates: Rates, rng: np.random.Generator) -> None:
    for artefact in all_artefacts().values():
        if artefact.stage == stage and rates[artefact.name] > 0:
            artefact.spoil(visit, rates[artefact.name], rng)


def _published(visit: Visit) -> Observation:
    step = 2.0 ** np.floor(np.log2(middle(visit.sigma[::8]) / 16))
    mask = visit.lost | visit.flagged
    flux = np.rint(visit.flux / step) * step
    ivar = _rounded(visit.sigma**-2)
    flux[visit.lost] = 0.0
    ivar[mask] = 0.0
    visit.truth["dead_share"] = float(visit.lost.mean())
    return Observation(flux, ivar, mask, visit.truth)


@cache
def _usual_rates() -> Rates:
    return Rates()


def _between(ends: tuple[float, float], share: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * float(share)


def _rounded(values: FloatArray) -> FloatArray:
    """Round to eight significant bits."""
    mantissa, exponent = np.frexp(values)
    rounded: FloatArray = np.ldexp(np.rint(mantissa * 256), exponent - 8)
    return rounded
