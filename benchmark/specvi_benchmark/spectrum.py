"""The immutable Spectrum: what every reader returns and every system sees."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specvi_benchmark.errors import UserError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Claims:
    """What the survey's pipeline says about the object. Claims, not truth."""

    object_class: str | None = None
    subclass: str | None = None
    redshift: float | None = None
    redshift_warning: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """One spectrum, checked when made and never changed after.

    Attributes
    ----------
    wavelength_AA
        ``(n,)`` float64, ångström, vacuum, observed frame, strictly increasing.
    flux
        ``(n,)`` float64, per unit wavelength, in the survey's unit. Where ``mask`` is True it means nothing.
    ivar
        ``(n,)`` float64, inverse variance of ``flux``; 0 means no information. All zero: the source
        gives no errors (`has_errors` is False).
    mask
        ``(n,)`` bool, True where a pixel is bad.
    survey, release, survey_id
        Where it comes from, as ``lamost``, ``DR10``, the survey's own id; empty or None when unknown.
    name
        File name, row or target it was read from.
    format
        Name of the reader, as in the registry of `specvi_benchmark.surveys`.
    ra_deg, dec_deg, gaia_id
        Position (ICRS, degrees) and Gaia source id, None when unknown.
    mjd
        Modified Julian date of the observation (the survey's night number), None when unknown.
    header_snr
        Signal to noise as the file claims it, by band (``u g r i z``, ``median``); sentinels left out.
    claims
        Class, subclass and redshift of the survey's pipeline.
    """

    wavelength_AA: FloatArray
    flux: FloatArray
    ivar: FloatArray
    mask: BoolArray
    survey: str = ""
    release: str | None = None
    survey_id: str = ""
    name: str = ""
    format: str = ""
    ra_deg: float | None = None
    dec_deg: float | None = None
    gaia_id: int | None = None
    mjd: int | None = None
    header_snr: Mapping[str, float] = field(default_factory=dict)
    claims: Claims = field(default_factory=Claims)

    def __post_init__(self) -> None:
        for name in ("wavelength_AA", "flux", "ivar"):
            self._freeze(name, np.array(getattr(self, name), dtype=np.float64))
        self._freeze("mask", np.array(self.mask, dtype=np.bool_))
        object.__setattr__(self, "header_snr", MappingProxyType(dict(self.header_snr)))
        self._check()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle through the constructor: a copy in another process is checked and immutable too."""
        values = [getattr(self, item.name) for item in fields(self)]
        return (
            _rebuild,
            tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values),
        )

    def _freeze(self, name: str, array: np.ndarray) -> None:
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    def _check(self) -> None:
        shapes = {name: getattr(self, name).shape for name in ("wavelength_AA", "flux", "ivar", "mask")}
        where = self.name or "spectrum"
        if len(set(shapes.values())) != 1 or self.wavelength_AA.ndim != 1 or self.wavelength_AA.size < 2:
            raise UserError(
                "arrays do not make a spectrum",
                where=where,
                expected="four 1-D arrays of one length, at least 2",
                got=", ".join(f"{name} {shape}" for name, shape in shapes.items()),
            )
        steps = np.diff(self.wavelength_AA)
        if not np.isfinite(self.wavelength_AA).all() or self.wavelength_AA[0] <= 0 or not (steps > 0).all():
            bad = int(np.argmin(np.where(np.isfinite(steps), steps, -math.inf)))
            pair = f"{self.wavelength_AA[bad]:g} then {self.wavelength_AA[bad + 1]:g} Å at pixel {bad}"
            raise UserError(
                "wavelengths are not increasing",
                where=where,
                expected="finite, positive, strictly increasing ångström",
                got=pair,
                fix="sort the rows by wavelength and remove doubled ones",
            )
        if not np.isfinite(self.ivar).all() or (self.ivar < 0).any():
            raise UserError("inverse variance must be finite and at least 0", where=where)
        if not np.isfinite(self.flux[~self.mask]).all():
            raise UserError("a pixel that is not masked has no finite flux", where=where)

    @property
    def good(self) -> BoolArray:
        """Return where a pixel may be used, the opposite of ``mask``."""
        return ~self.mask

    @property
    def has_errors(self) -> bool:
        """Return whether any good pixel has an inverse variance."""
        return bool((self.ivar[~self.mask] > 0).any())

    @property
    def bad_fraction(self) -> float:
        """Return the share of pixels that are masked."""
        return float(self.mask.mean())

    @property
    def range_AA(self) -> tuple[float, float]:
        """Return the first and last wavelength with a good pixel (observed frame, Å)."""
        used = self.wavelength_AA[~self.mask]
        return float(used[0]), float(used[-1])

    @property
    def snr(self) -> float | None:
        """Return the median of flux·√ivar over good pixels with errors; None without errors."""
        used = ~self.mask & (self.ivar > 0)
        if not used.any():
            return None
        return float(np.median(self.flux[used] * np.sqrt(self.ivar[used])))

    def window(self, low_AA: float, high_AA: float) -> slice:
        """Return the slice of pixels with ``low_AA <= wavelength <= high_AA`` (observed frame)."""
        first = int(np.searchsorted(self.wavelength_AA, low_AA, side="left"))
        last = int(np.searchsorted(self.wavelength_AA, high_AA, side="right"))
        return slice(first, max(first, last))


def clean_spectrum(
    wavelength_AA: ArrayLike,
    flux: ArrayLike,
    ivar: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    **about: object,
) -> Spectrum:
    """Make a Spectrum from a survey's arrays, marking every pixel that carries no information.

    Bad are: pixels the survey masked, flux or ivar that is not finite, and, where errors exist at
    all, ivar ≤ 0. Bad pixels get ivar 0, and flux 0 where it is not finite. ``about`` are the other
    fields of `Spectrum`.

    Raises
    ------
    UserError
        The arrays differ in length, wavelengths do not increase, or no good pixel is left.
    """
    name = str(about.get("name") or "spectrum")
    wavelength = np.asarray(wavelength_AA, dtype=np.float64)
    values = np.asarray(flux, dtype=np.float64)
    weights = np.zeros_like(values) if ivar is None else np.asarray(ivar, dtype=np.float64)
    bad = np.zeros(values.shape, dtype=np.bool_) if mask is None else np.asarray(mask, dtype=np.bool_)
    if values.size == 0:
        raise UserError("the spectrum is empty", where=name, expected="at least 2 pixels", got="0 pixels")
    if not (wavelength.shape == values.shape == weights.shape == bad.shape):
        raise UserError(
            "arrays differ in length",
            where=name,
            expected="wavelength, flux, ivar and mask of one length",
            got=f"{wavelength.shape}, {values.shape}, {weights.shape}, {bad.shape}",
        )
    bad = bad | ~np.isfinite(values) | ~np.isfinite(weights)
    if (np.where(np.isfinite(weights), weights, 0) > 0).any():
        bad = bad | ~(weights > 0)
    elif ivar is not None and np.asarray(ivar).size:
        bad = np.ones_like(bad)  # errors are given, and none carries information
    if bad.all():
        raise UserError(
            "every pixel is bad",
            where=name,
            expected="at least one pixel with finite flux and ivar > 0",
            got=f"{bad.size} masked pixels",
            fix="leave this spectrum out; the survey recorded no light for it",
        )
    return Spectrum(
        wavelength,
        np.where(np.isfinite(values), values, 0.0),
        np.where(bad, 0.0, weights),
        bad,
        **about,  # type: ignore[arg-type]  # checked by Spectrum itself
    )


def _rebuild(*values: object) -> Spectrum:
    return Spectrum(*values)  # type: ignore[arg-type]  # the values of an existing Spectrum
