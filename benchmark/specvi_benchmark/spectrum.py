"""The immutable Spectrum: what every reader returns and every system sees."""

import math
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specvi_benchmark.errors import UserError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


FARTHEST_FLUX = 1e6
"""Times the median size of flux: what lies beyond is a fault, since the 16 bits of a detector span 65 536.
Of 7,761 real and simulated spectra the most extreme reaches 15 463."""


class _Grids:
    """Looks at wavelengths once, when many spectra of one file share them."""

    def __init__(self) -> None:
        self._last: Callable[[], FloatArray | None] = lambda: None

    def is_sound(self, wavelength_AA: FloatArray) -> bool:
        """Return whether they are finite, positive and strictly increasing."""
        if self._last() is wavelength_AA:
            return True
        # The comparison is False beside a NaN; infinity can only be last.
        increasing = bool((wavelength_AA[1:] > wavelength_AA[:-1]).all())
        sound = increasing and wavelength_AA[0] > 0 and math.isfinite(wavelength_AA[-1])
        if sound:
            self._last = weakref.ref(wavelength_AA)
        return sound


_grids = _Grids()


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
            object.__setattr__(self, name, _own(getattr(self, name), np.float64))
        object.__setattr__(self, "mask", _own(self.mask, np.bool_))
        object.__setattr__(self, "header_snr", MappingProxyType(dict(self.header_snr)))
        self._check()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle through the constructor: a copy in another process is checked and immutable too."""
        values = [getattr(self, item.name) for item in fields(self)]
        return (
            _rebuild,
            tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values),
        )

    def _check(self) -> None:
        where = self.name or "spectrum"
        shape = self.wavelength_AA.shape
        one_shape = shape == self.flux.shape == self.ivar.shape == self.mask.shape
        if not one_shape or len(shape) != 1 or shape[0] < 2:
            shapes = {name: getattr(self, name).shape for name in ("wavelength_AA", "flux", "ivar", "mask")}
            raise UserError(
                "arrays do not make a spectrum",
                where=where,
                expected="four 1-D arrays of one length, at least 2",
                got=", ".join(f"{name} {shape}" for name, shape in shapes.items()),
            )
        wavelength = self.wavelength_AA
        if not _grids.is_sound(wavelength):
            steps = np.diff(wavelength)
            bad = int(np.argmin(np.where(np.isfinite(steps), steps, -math.inf)))
            pair = f"{wavelength[bad]:g} then {wavelength[bad + 1]:g} Å at pixel {bad}"
            raise UserError(
                "wavelengths are not increasing",
                where=where,
                expected="finite, positive, strictly increasing ångström",
                got=pair,
                fix="sort the rows by wavelength and remove doubled ones",
            )
        if not (self.ivar.min() >= 0 and math.isfinite(self.ivar.max())):
            raise UserError("inverse variance must be finite and at least 0", where=where)
        if not _are_finite(self.flux) and not (np.isfinite(self.flux) | self.mask).all():
            raise UserError("a pixel that is not masked has no finite flux", where=where)

    @property
    def good(self) -> BoolArray:
        """Return where a pixel may be used, the opposite of ``mask``."""
        return ~self.mask

    @property
    def has_errors(self) -> bool:
        """Return whether any good pixel has an inverse variance."""
        return bool(((self.ivar > 0) & ~self.mask).any())

    @property
    def usable(self) -> BoolArray:
        """Return where a measurement may look, ``(n,)``: what every sum and fit over pixels starts from.

        Good pixels, with an inverse variance where the source gives errors, and no flux beyond `FARTHEST_FLUX` times
        the median size: one such pixel would leave no digit of the others in a sum, and its square may be infinite.
        """
        known = self.good & (self.ivar > 0) if self.has_errors else self.good
        size = np.abs(self.flux[known])
        largest = size.max(initial=0.0)
        # Where half of the pixels reach a millionth of the largest, none lies farther from the median: no need of it.
        if 2 * np.count_nonzero(size >= largest / FARTHEST_FLUX) > size.size or not size.size:
            return known
        if largest:
            median = np.quantile(size[size > 0], 0.5)  # np.median's mean of two might overflow
            known[known] = size / FARTHEST_FLUX <= median
        return known

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
        with np.errstate(invalid="ignore"):  # of masked pixels, whose flux may be anything
            ratios = (self.flux * np.sqrt(self.ivar))[used]
        middle = ratios.size // 2
        ratios.partition(middle)  # one pass less than np.median, for the same number
        upper = ratios[middle]
        return float(upper if ratios.size % 2 else (ratios[:middle].max() + upper) / 2)

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
    given_ivar = None if ivar is None else np.asarray(ivar, dtype=np.float64)
    masked = None if mask is None else np.asarray(mask, dtype=np.bool_)
    if values.size == 0:
        raise UserError("the spectrum is empty", where=name, expected="at least 2 pixels", got="0 pixels")
    shapes = [array.shape for array in (wavelength, values, given_ivar, masked) if array is not None]
    if len(set(shapes)) != 1:
        raise UserError(
            "arrays differ in length",
            where=name,
            expected="wavelength, flux, ivar and mask of one length",
            got=", ".join(map(str, shapes)),
        )
    cleaned, weights, bad = clean_arrays(values, given_ivar, masked)
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
        _released(cleaned, flux),
        _released(weights, ivar),
        _read_only(bad),
        **about,  # type: ignore[arg-type]  # checked by Spectrum itself
    )


def clean_arrays(
    flux: FloatArray, ivar: FloatArray | None, mask: BoolArray | None = None
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return flux, ivar and mask as `clean_spectrum` would have them: bad pixels marked, with ivar 0.

    For arrays of one shape, whatever it is: a reader of many spectra cleans them together. What needs no
    change is returned as it was given.
    """
    if ivar is not None and mask is None and _are_finite(flux) and _are_finite(ivar) and ivar.min() >= 0:
        return flux, ivar, ivar == 0  # most rows of most surveys, in a third of the time
    finite = np.isfinite(flux)
    good = finite if mask is None else finite & ~mask
    if ivar is None:
        weights = np.zeros_like(flux)
    else:  # where none carries information, every pixel is bad
        good = good & (ivar > 0) & (ivar < np.inf)
        weights = ivar if (good | (ivar == 0)).all() else np.where(good, ivar, 0.0)
    return flux if finite.all() else np.where(finite, flux, 0.0), weights, ~good


def _are_finite(values: FloatArray) -> bool:
    """Return whether all are finite, by the extremes (a NaN is both): faster than asking each one."""
    return math.isfinite(values.min()) and math.isfinite(values.max())


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return a new array, closed to writing, so that `Spectrum` need not copy it."""
    array.setflags(write=False)
    return array


def _released(array: np.ndarray, given: object) -> np.ndarray:
    """Return ``array``, closed to writing where it was made here, so that nobody else has a hold of it."""
    made_here = array is not given and array.base is None and (given is None or isinstance(given, np.ndarray))
    return _read_only(array) if made_here else array


def _own(values: ArrayLike, dtype: type) -> np.ndarray:
    """Return a read-only array of ``dtype`` that nothing else writes to; one that is so already is kept.

    Many spectra of one file can thus share their wavelengths, and be rows of one block.
    """
    if isinstance(values, np.ndarray) and values.dtype == dtype and _is_closed(values):
        return values
    return _read_only(np.array(values, dtype=dtype))


def _is_closed(array: np.ndarray) -> bool:
    """Return whether neither the array nor the one whose memory it shows can be written to."""
    if array.flags.writeable:
        return False
    owner = array.base
    return owner is None or (
        isinstance(owner, np.ndarray) and owner.base is None and not owner.flags.writeable
    )


def _rebuild(*values: object) -> Spectrum:
    return Spectrum(*values)  # type: ignore[arg-type]  # the values of an existing Spectrum
