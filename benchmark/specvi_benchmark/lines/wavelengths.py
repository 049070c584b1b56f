"""Air and vacuum wavelengths, one into the other."""

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

SHORTEST_REFRACTED_AA = 2000.0
"""By convention wavelengths below this are quoted in vacuum everywhere, so they are left as they are."""

_ITERATIONS = 6  # each gains more than three digits: the index changes by less than 4e-4 over its own shift


@overload
def vacuum_to_air(vacuum_AA: float) -> float: ...
@overload
def vacuum_to_air(vacuum_AA: ArrayLike) -> FloatArray: ...
def vacuum_to_air(vacuum_AA: ArrayLike) -> FloatArray | float:
    """Return the wavelengths in standard air (15 °C, 1 atm) of wavelengths in vacuum.

    Parameters
    ----------
    vacuum_AA
        Ångström, a number or an array of any shape. Below 2000 Å a value is returned unchanged; NaN
        stays NaN.

    Returns
    -------
    A number, or an array of the same shape. λ_air = λ_vac / n, with n of `refractive_index`.
    """
    vacuum = np.asarray(vacuum_AA, dtype=np.float64)
    air: FloatArray = np.where(vacuum >= SHORTEST_REFRACTED_AA, vacuum / _index_or_edge(vacuum), vacuum)
    return float(air) if air.ndim == 0 else air


@overload
def air_to_vacuum(air_AA: float) -> float: ...
@overload
def air_to_vacuum(air_AA: ArrayLike) -> FloatArray: ...
def air_to_vacuum(air_AA: ArrayLike) -> FloatArray | float:
    """Return the wavelengths in vacuum of wavelengths in standard air (15 °C, 1 atm).

    The inverse of `vacuum_to_air`, by fixed-point iteration of λ_vac = λ_air · n(λ_vac) down to the
    rounding of float64. Air → vacuum → air returns the value that went in; the other way round this
    holds from 2000.65 Å up, since vacuum 2000–2000.65 Å is air *below* 2000 Å, where nothing is converted.

    Parameters
    ----------
    air_AA
        Ångström, a number or an array of any shape. Below 2000 Å a value is returned unchanged; NaN
        stays NaN.

    Returns
    -------
    A number, or an array of the same shape.
    """
    air = np.asarray(air_AA, dtype=np.float64)
    vacuum = air
    for _ in range(_ITERATIONS):
        vacuum = air * _index_or_edge(vacuum)
    converted: FloatArray = np.where(air >= SHORTEST_REFRACTED_AA, vacuum, air)
    return float(converted) if converted.ndim == 0 else converted


def refractive_index(vacuum_AA: ArrayLike) -> FloatArray:
    """Return n of standard air at wavelengths given in vacuum (Å, at least 2000).

    Morton (2000, ApJS 130, 403, eq. 8) after Birch & Downs (1994), with s = 10⁴ / λ_vac:
    n = 1 + 8.34254e-5 + 0.02406147 / (130 − s²) + 0.00015998 / (38.9 − s²). Ciddor (1996), which SDSS
    uses, agrees to better than 0.003 Å between 3000 and 10,000 Å.
    """
    s_squared = (1e4 / np.asarray(vacuum_AA, dtype=np.float64)) ** 2
    n: FloatArray = 1 + 8.34254e-5 + 0.02406147 / (130 - s_squared) + 0.00015998 / (38.9 - s_squared)
    return n


def _index_or_edge(vacuum_AA: FloatArray) -> FloatArray:
    """Return n, below 2000 Å that at 2000 Å: there the result is not used, and the formula has poles."""
    return refractive_index(np.maximum(vacuum_AA, SHORTEST_REFRACTED_AA))
