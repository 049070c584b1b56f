"""Is a claimed feature in the flux? Its significance at its own place against that at 200 sham places.

A place counts within 400 km/s, the motion of a star. Significances of each template width are centred and scaled by
what the shams show at that width, so that a spectrum full of structure asks for more; the largest over the widths
is the statistic, at the place and at every sham alike. A family, such as the Balmer lines, is tested as a pattern: the
same lines moved together. Found is what noise alone (its own errors) and structure (the shams) each explain with less
than p = 0.01.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.special import log_ndtr, ndtr, ndtri

from specvi_benchmark.evidence.claims import Kind
from specvi_benchmark.evidence.features import Feature, Place
from specvi_benchmark.evidence.maps import Binned, IntArray, Maps, bin_log, fit_width, line_maps, step_maps
from specvi_benchmark.lines import all_bands, all_lines
from specvi_benchmark.spectrum import BoolArray, FloatArray, Spectrum

MEASURE_VERSION = 2
"""Raised whenever the outcome of a test could change."""

SHAMS = 200
P_FOUND = 0.01
TOLERANCE_KMS = {"line": 400.0, "step": 250.0}
"""A feature counts so near to its place: the motion of a star, and for lines that of gas; CN 7065 is 470 km/s from TiO 7054."""

APART_KMS = 1500.0
"""A sham is so far from the true place."""

NEAR_KMS, BESIDE_WIDTHS, STRONG_SIGMA = 700.0, 1.5, 6.0
"""No sham lies so near to a line or head of the lists, nor, where that one is as significant as this, within so many
widths of the template more: a sham is a place where nothing is known to be."""

PROMINENCE_SIGMA = 5.0
"""A peak beside a higher one is of its own where the signal sinks by so much between them: more than noise makes it."""

WINDOW_WIDTHS, SIDELOBE = 2.2, 2.0
"""Within so many widths of a line, half the window of its fit, nothing opposite may be so many times as strong."""

CLOSE_KMS = 3000.0
"""Lines of a family that lie within so much of each other are asked for peaks of their own."""

LEAST_SHAMS = 50
"""A template width counts where so many of the shams can be fitted with it."""

RYDBERG_PER_AA = 1.0967758e-3
"""Of hydrogen."""

TELLURIC_AA = ((6862.0, 6950.0), (7590.0, 7710.0))
"""B and A band of O₂, vacuum, observed: too deep to test anything inside."""

Outcome = Literal["found", "not found", "not covered", "not testable"]


@dataclass(frozen=True, slots=True)
class Tested:
    """What the flux says of one feature.

    Attributes
    ----------
    outcome
        ``not testable``: no data there, the place lies in a telluric band, the spectrum has room for fewer than 200
        shams, or no source says what the feature looks like.
    p
        Larger of the two probabilities; None where not tested.
    significance
        Of the strongest template at the place, positive for what was claimed.
    height
        Its height over the continuum: emission positive; a step positive where the flux rises going redward.
    fwhm_kms
        Width of a line: of the Gaussian that fits best where it is found, else of the template; None for a band.
    is_opposite
        The opposite is found: absorption for emission, a step the other way for a band.
    """

    outcome: Outcome
    p: float | None = None
    significance: float | None = None
    height: float | None = None
    fwhm_kms: float | None = None
    is_opposite: bool = False


@dataclass(slots=True, eq=False)
class Light:
    """A spectrum made ready for tests; maps are made when first needed, and kept."""

    binned: Binned
    _maps: dict[str, Maps] = field(default_factory=dict)
    _highest: dict[tuple[str, int], FloatArray] = field(default_factory=dict)
    _allowed: dict[tuple[str, float], BoolArray] = field(default_factory=dict)

    def maps(self, shape: str) -> Maps:
        """Return the maps of lines or steps."""
        if shape not in self._maps:
            self._maps[shape] = line_maps(self.binned) if shape == "line" else step_maps(self.binned)
        return self._maps[shape]

    def highest(self, shape: str, sign: int) -> FloatArray:
        """Return ``(scales, n)`` the highest significance of a sign (0: either) within the tolerance."""
        if (shape, sign) not in self._highest:
            values = self.maps(shape).significance
            signed = np.abs(values) if sign == 0 else sign * values
            filled = np.where(np.isfinite(signed), signed, -np.inf)
            reach = 2 * round(TOLERANCE_KMS[shape] / self.binned.bin_kms) + 1
            highest = maximum_filter1d(filled, reach, axis=1, mode="constant", cval=-np.inf)
            # A place counts only where its own pixel has a fit.
            self._highest[shape, sign] = np.where(np.isfinite(signed) & np.isfinite(highest), highest, np.nan)
        return self._highest[shape, sign]

    def allowed(self, shape: str, redshift: float) -> BoolArray:
        """Return ``(scales, n)`` where a sham may lie, for an object at a redshift."""
        key = (shape, round(redshift, 5))
        if key not in self._allowed:
            self._allowed[key] = self._quiet(shape, redshift)
        return self._allowed[key]

    def _quiet(self, shape: str, redshift: float) -> BoolArray:
        values, binned = self.highest(shape, 0), self.binned
        quiet: BoolArray = np.isfinite(values)
        wavelength = binned.wavelength_AA
        for low, high in TELLURIC_AA:
            quiet[:, (wavelength >= low) & (wavelength <= high)] = False
        rest, sky = _listed_AA()
        widths = self.maps(shape).width_kms * (BESIDE_WIDTHS if shape == "line" else 1.0)
        for observed in (*(value * (1 + redshift) for value in rest), *sky):
            place = binned.place(observed)
            if not 0 <= place < wavelength.size:
                continue
            strong = values[:, place] >= STRONG_SIGMA
            for scale, reach_kms in enumerate(NEAR_KMS + np.where(strong, widths, 0.0)):
                reach = round(reach_kms / binned.bin_kms)
                quiet[scale, max(0, place - reach) : place + reach + 1] = False
        return quiet


def measure_light(spectrum: Spectrum) -> Light:
    """Make a spectrum ready for tests."""
    return Light(bin_log(spectrum))


def check_claim(light: Light, feature: Feature, kind: Kind | None, redshift: float = 0.0) -> Tested:
    """Test whether a feature is in the flux.

    Parameters
    ----------
    feature
        A line, band or family; the places of a family are moved together.
    kind
        Emission or absorption of a line; None takes either. A band has its own.
    redshift
        At which the feature is claimed to be.
    """
    groups: dict[tuple[str, int], list[Place]] = {}
    for place in feature.places:
        if place.is_testable and not _is_telluric(place.vacuum_AA * (1 + redshift)):
            groups.setdefault(_shape(place, feature, kind), []).append(place)
    if not groups:
        return Tested("not testable")
    (shape, sign), places = max(groups.items(), key=lambda item: len(item[1]))
    result = _test(light, shape, sign, places, redshift)
    if result.outcome == "not found" and sign and result.significance is not None:
        opposite = _test(light, shape, -sign, places, redshift)
        stronger = (opposite.significance or 0.0) > max(0.0, result.significance or 0.0)
        if opposite.outcome == "found" and stronger:
            return Tested(
                "not found",
                result.p,
                result.significance,
                opposite.height,
                opposite.fwhm_kms,
                is_opposite=True,
            )
    return result


def _shape(place: Place, feature: Feature, kind: Kind | None) -> tuple[str, int]:
    if place.edge is not None:
        return "step", 1 if place.edge == "red" else -1
    if feature.is_band:
        return "line", -1
    return "line", {"emission": 1, "absorption": -1}.get(kind or "", 0)


def _is_telluric(observed_AA: float) -> bool:
    return any(low <= observed_AA <= high for low, high in TELLURIC_AA)


def _test(light: Light, shape: str, sign: int, places: Sequence[Place], redshift: float) -> Tested:
    values = light.highest(shape, sign)
    size = values.shape[1]
    at = np.array([light.binned.place(place.vacuum_AA * (1 + redshift)) for place in places])
    at = at[(at >= 0) & (at < size)]
    at = at[np.isfinite(values[:, at]).any(axis=0)] if at.size else at
    if not at.size:
        return Tested("not testable")
    here = _combined(values, at[None])[:, 0]
    supported = np.isfinite(here)
    p_noise = _p_noise(light, shape, sign, here[supported], int(at.size), supported)
    if p_noise >= P_FOUND:
        return _result(light, shape, sign, at, p_noise)
    allowed = light.allowed(shape, redshift)
    offsets = _sham_offsets(light.binned, at, allowed)
    if offsets.size < SHAMS:
        return Tested("not testable")
    shams = _combined(np.where(allowed, values, np.nan), at[None] + offsets[:, None])
    usable = supported & (np.isfinite(shams).sum(axis=1) >= LEAST_SHAMS)
    if not usable.any():
        return Tested("not testable")
    scaled_here, scaled = _scaled(here[usable], shams[usable])
    p_sham = (1 + (scaled[None] >= scaled_here[:, None]).sum(axis=1)) / (1 + SHAMS)
    widths = np.flatnonzero(usable)
    by_strength = np.argsort(-scaled_here)
    best = int(by_strength[0])
    for (
        place
    ) in by_strength:  # wide templates of two lines peak between them: a narrower one may tell them apart
        scale = int(widths[place])
        p = max(p_sham[place], _p_noise(light, shape, sign, here[[scale]], int(at.size), supported))
        if p < P_FOUND and _is_own(light, shape, sign, at, scale):
            return _result(light, shape, sign, at, p, scale)
    p = 1.0 if p_sham[best] < P_FOUND else max(p_sham[best], p_noise)
    return _result(light, shape, sign, at, p, int(widths[best]))


def _is_own(light: Light, shape: str, sign: int, at: IntArray, scale: int) -> bool:
    """Tell whether the signal at most of the places is a feature of its own there.

    Of lines a lone one is asked, or a family within reach of one neighbour's wings: [N II] on both sides of Hα.
    """
    if shape == "line" and np.ptp(at) * light.binned.bin_kms > CLOSE_KMS:
        return True
    peaks = [_peak(light, shape, sign, int(place), scale) for place in at]
    peaking = sum(peak is True for peak in peaks)
    most = 2 * peaking > at.size if shape == "step" else 2 * peaking >= at.size
    return most and None not in peaks


def _peak(light: Light, shape: str, sign: int, at: int, scale: int) -> bool | None:
    """Tell whether the signal has a peak within the tolerance: a neighbour's flank is no feature of its own.

    The opposite must not be stronger there, unless a line beside makes it: TiO 5167 lies 2 Å from C2 5165. None where a
    step goes the wrong way beyond doubt.
    """
    values = light.maps(shape).significance[scale]
    signed = np.abs(values) if sign == 0 else sign * values
    reach = round(TOLERANCE_KMS[shape] / light.binned.bin_kms)
    first = max(0, at - reach)
    near = signed[first : at + reach + 1]
    if not np.isfinite(near).any():
        return False
    highest, lowest = np.nanmax(near), np.nanmin(near)
    top, bottom = first + int(np.nanargmax(near)), first + int(np.nanargmin(near))
    if sign and -lowest > highest:
        if shape == "step":
            return None if -lowest > max(STRONG_SIGMA, 2 * highest) else False
        if not _is_sidelobe(light, -sign, bottom, scale):
            return False
    if shape == "line" and (_is_sidelobe(light, sign, top, scale) or _is_flank(light, sign, at, top, scale)):
        return False
    return _stands_out(signed[max(0, at - 2 * reach) : top + 1][::-1]) and _stands_out(
        signed[top : at + 2 * reach + 1]
    )


def _is_sidelobe(light: Light, sign: int, top: int, scale: int) -> bool:
    """Tell whether a line of the other sign explains a peak: it tilts the continuum of the fit and makes absorption beside emission."""
    if not sign:
        return False
    maps = light.maps("line")
    signed = sign * maps.significance[scale]
    window = round(WINDOW_WIDTHS * maps.width_kms[scale] / light.binned.bin_kms)
    return bool(-np.nanmin(signed[max(0, top - window) : top + window + 1]) > SIDELOBE * signed[top])


def _is_flank(light: Light, sign: int, at: int, top: int, scale: int) -> bool:
    """Tell whether a template has a narrower and stronger line, farther than the tolerance from the place, on its flank."""
    maps, bin_kms = light.maps("line"), light.binned.bin_kms
    signed = np.abs(maps.significance) if sign == 0 else sign * maps.significance
    reach, half = round(TOLERANCE_KMS["line"] / bin_kms), round(maps.width_kms[scale] / 2 / bin_kms)
    offset = np.arange(signed.shape[1]) - at
    narrower = np.where(np.isfinite(signed[:scale]), signed[:scale], -np.inf)
    inside = narrower[:, np.abs(offset) <= reach].max(initial=signed[scale, top])
    beside = narrower[:, (np.abs(offset) > reach) & (np.abs(offset) <= half)].max(initial=-np.inf)
    return bool(beside > inside)


def _stands_out(outward: FloatArray) -> bool:
    """Tell whether, going outward from a peak, nothing is higher before the signal has sunk by much more than noise."""
    higher = np.flatnonzero(outward > outward[0])
    return not higher.size or bool(outward[0] - np.nanmin(outward[: higher[0]]) >= PROMINENCE_SIGMA)


def _result(light: Light, shape: str, sign: int, at: IntArray, p: float, scale: int | None = None) -> Tested:
    """Return the outcome with the strongest template, of one width if given, within the tolerance of the places."""
    maps = light.maps(shape)
    reach = round(TOLERANCE_KMS[shape] / light.binned.bin_kms)
    around = np.clip(at[:, None] + np.arange(-reach, reach + 1), 0, maps.significance.shape[1] - 1).ravel()
    rows = np.arange(maps.width_kms.size) if scale is None else np.array([scale])
    values = maps.significance[np.ix_(rows, around)]
    signed = np.abs(values) if sign == 0 else sign * values
    row, pixel = np.unravel_index(int(np.nanargmax(signed)), signed.shape)
    fwhm = float(maps.width_kms[rows[row]]) if shape == "line" else None
    if fwhm is not None and p < P_FOUND:
        fwhm = fit_width(light.binned, int(around[pixel]), fwhm)
    return Tested(
        outcome="found" if p < P_FOUND else "not found",
        p=float(p),
        significance=float(signed[row, pixel]),
        height=float(maps.height[rows[row], around[pixel]]),
        fwhm_kms=fwhm,
    )


def _combined(values: FloatArray, at: IntArray) -> FloatArray:
    """Return ``(scales, positions)``: the sum over the places of a pattern, over the root of their number.

    ``at`` is ``(positions, places)``; a pattern with fewer than half of its places inside the data is NaN.
    """
    size = values.shape[1]
    inside = (at >= 0) & (at < size)
    taken = np.where(inside, values[:, np.clip(at, 0, size - 1)], np.nan)
    count = np.isfinite(taken).sum(axis=-1)
    total = np.nansum(taken, axis=-1)
    found: FloatArray = np.where(2 * count >= at.shape[1], total / np.sqrt(np.maximum(count, 1)), np.nan)
    return found


def _scaled(here: FloatArray, shams: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the significances here, ``(scales,)``, and the highest of each sham, all scaled by the shams of a width."""
    middle = np.nanmedian(shams, axis=1)
    spread = 1.4826 * np.nanmedian(np.abs(shams - middle[:, None]), axis=1)
    spread = np.maximum(spread, 1.0)
    scaled = (shams - middle[:, None]) / spread[:, None]
    best = np.where(np.isfinite(scaled), scaled, -np.inf).max(axis=0)
    return (here - middle) / spread, best


def _p_noise(light: Light, shape: str, sign: int, here: FloatArray, n: int, usable: BoolArray) -> float:
    """Return how often noise alone gives so much: the widths and positions tried are counted as independent."""
    widths = (
        np.full(usable.sum(), light.binned.instrument_kms)
        if shape == "step"
        else light.maps(shape).width_kms[usable]
    )
    trials = float(np.maximum(1.0, 2 * TOLERANCE_KMS[shape] / widths).sum()) * (2 if sign == 0 else 1)
    if n == 1:
        return float(-np.expm1(trials * log_ndtr(here.max())))
    expected = float(ndtri(0.5 ** (1 / trials)))  # median of the highest of so many at each place
    return float(ndtr(-(here.max() - expected * np.sqrt(n))))


def _sham_offsets(binned: Binned, at: IntArray, allowed: BoolArray) -> IntArray:
    """Return 200 offsets in bins, evenly spread over those that are allowed; fewer where there is no room."""
    size = allowed.shape[1]
    offsets: IntArray = np.arange(-size, size)
    offsets = offsets[np.abs(offsets) * binned.bin_kms >= APART_KMS]
    moved: IntArray = at[None] + offsets[:, None]
    inside = (moved >= 0) & (moved < size)
    quiet: BoolArray = np.asarray(allowed.any(axis=0))
    usable = inside & quiet[np.clip(moved, 0, size - 1)]
    kept: IntArray = offsets[2 * usable.sum(axis=1) >= at.size]
    if kept.size < SHAMS:
        return kept
    return kept[np.linspace(0, kept.size - 1, SHAMS).round().astype(np.int64)]


@cache
def _listed_AA() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the rest wavelengths where stars and nebulae have lines or heads, and where the sky has lines.

    The Balmer series goes on beyond the list, to H16 (Rydberg).
    """
    lines = [line.vacuum_AA for line in all_lines() if {"star", "nebula"} & set(line.groups)]
    heads = [band.vacuum_AA for band in all_bands()]
    # Fe I blends of cool stars, air 5269.5 and 5328.2: among their strongest lines, and not in the list.
    iron = [5271.0, 5329.6]
    series = [1 / (RYDBERG_PER_AA * (1 / 4 - 1 / upper**2)) for upper in range(10, 17)]
    sky = [line.vacuum_AA for line in all_lines() if "sky" in line.groups]
    return (*lines, *heads, *series, *iron), tuple(sky)
