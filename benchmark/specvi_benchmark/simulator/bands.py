"""Molecular bands as optical depth: abrupt at the head, fading away from it on the other side."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from specvi_benchmark.lines import Band, all_bands
from specvi_benchmark.simulator.lattice import remembered
from specvi_benchmark.spectrum import FloatArray


@dataclass(frozen=True, slots=True)
class _Shape:
    """How one band of a species looks, relative to the others of that species.

    ``extent_AA`` is the distance over which a headed band fades by e, or the width of a broad one.
    ``heads`` are further heads of the same sequence: (distance from the first, away from the sharp edge
    into the band in Å; strength relative to the first). A broad band rises and falls over ``softness_AA``,
    around its listed wavelength if ``centred``, else from it, and fades by e over ``fade_AA``.
    """

    strength: float
    extent_AA: float
    heads: tuple[tuple[float, float], ...] = ()
    centred: bool = False
    softness_AA: float = 6.0
    fade_AA: float = np.inf


# Relative strengths and extents are set by eye to the look of the species at R ≈ 1800: they are of the
# right order, not measured. Wavelengths and the side of the edge come from the band list.
_SHAPES: Mapping[str, _Shape] = {
    "TiO 4761": _Shape(0.8, 50, ((43, 0.8), (87, 0.6))),
    "TiO 4954": _Shape(1.0, 60, ((47, 0.8), (92, 0.5))),
    "TiO 5167": _Shape(1.1, 110, ((73, 0.4),)),
    "TiO 5448": _Shape(0.8, 100, ((49, 0.6), (311, 0.5), (363, 0.4))),
    "TiO 5847": _Shape(0.25, 100),
    "TiO 5862": _Shape(0.35, 110),
    "TiO 6158": _Shape(0.6, 65, ((29, 0.7), (57, 0.7), (95, 0.5), (130, 0.4), (165, 0.3), (321, 0.3))),
    "TiO 6651": _Shape(0.35, 90, ((30, 0.7), (63, 0.8), (96, 0.8), (131, 0.8), (164, 0.7), (198, 0.4))),
    "TiO 7054": _Shape(1.0, 170),
    "TiO 7088": _Shape(0.6, 170),
    "TiO 7126": _Shape(0.7, 190),
    "TiO 7589": _Shape(0.7, 160, ((77, 0.6), (116, 0.4))),
    "TiO 8432": _Shape(0.6, 130, ((20, 0.5), (428, 0.9))),
    "VO 7334": _Shape(1.0, 60),
    "VO 7851": _Shape(1.3, 120),
    "CaH 6382": _Shape(0.6, 8),
    "CaH 6750": _Shape(0.8, 250, softness_AA=25, fade_AA=170),
    "MgH 4780": _Shape(0.35, 60),
    "MgH 5211": _Shape(0.6, 150),
    "C2 4383": _Shape(0.7, 30, ((12, 0.6),)),
    "C2 4737": _Shape(1.0, 32, ((22, 0.6), (39, 0.4), (52, 0.25))),
    "C2 5165": _Shape(1.2, 55, ((36, 0.5), (67, 0.25))),
    "C2 5636": _Shape(0.9, 48, ((51, 0.6), (95, 0.35))),
    "C2 6060": _Shape(0.25, 25),
    "C2 6122": _Shape(0.35, 28),
    "C2 6191": _Shape(0.45, 32),
    "¹²C¹³C 4744": _Shape(1.0, 14),
    "¹²C¹³C 6168": _Shape(0.5, 20),
    "CN 3883": _Shape(2.5, 45),
    "CN 4216": _Shape(1.3, 40),
    "CN 6925": _Shape(0.7, 70),
    "CN 7065": _Shape(0.8, 90),
    "CN 7259": _Shape(0.7, 110),
    "CN 7820": _Shape(0.6, 60),
    "CN 7876": _Shape(0.9, 110),
    "CN 8060": _Shape(0.8, 110, ((210, 0.6),)),
    "CH 4300": _Shape(1.0, 30, centred=True),
    "CH 4342": _Shape(0.5, 30, centred=True),
    "ZrO 4620": _Shape(0.5, 40),
    "ZrO 4641": _Shape(0.6, 50),
    "ZrO 5552": _Shape(0.8, 80),
    "ZrO 5718": _Shape(0.7, 70),
    "ZrO 6229": _Shape(0.5, 60),
    "ZrO 6345": _Shape(0.6, 60),
    "ZrO 6378": _Shape(0.5, 60),
    "ZrO 6474": _Shape(1.0, 70),
    "ZrO 6495": _Shape(0.6, 60),
    "LaO 7404": _Shape(1.0, 50),
    "LaO 7910": _Shape(0.9, 60),
    "YO 5972": _Shape(0.7, 40),
    "YO 6132": _Shape(0.6, 40),
}
_REACH = 7.0  # extents after which exp(−x) is below 0.1 %


def optical_depth(wavelength_AA: FloatArray, strengths: Mapping[str, float]) -> FloatArray:
    """Return the summed optical depth of molecules.

    Parameters
    ----------
    wavelength_AA
        Rest frame, vacuum, increasing.
    strengths
        Species (as in the band list: ``TiO``, ``C2``, ``CN``) → optical depth at its standard head.

    Returns
    -------
    Array of the wavelengths' shape; the transmission is exp(−depth).
    """
    depth = np.zeros_like(wavelength_AA)
    for species, strength in strengths.items():
        if strength > 0:
            depth += strength * _unit_depth(wavelength_AA, species)
    return depth


@remembered
def _unit_depth(wavelength_AA: FloatArray, species: str) -> FloatArray:
    depth = np.zeros_like(wavelength_AA)
    for band in all_bands():
        if band.species == species and band.name in _SHAPES:
            _add(depth, wavelength_AA, band, 1.0)
    return depth


def _add(depth: FloatArray, wavelength_AA: FloatArray, band: Band, strength: float) -> None:
    shape = _SHAPES[band.name]
    if band.sharp_edge is None:
        start = band.vacuum_AA - (shape.extent_AA / 2 if shape.centred else 0)
        end = band.end_AA or start + shape.extent_AA
        fade = np.exp(-np.clip(wavelength_AA - start, 0, None) / shape.fade_AA)
        depth += strength * shape.strength * fade * _plateau(wavelength_AA, start, end, shape.softness_AA)
        return
    direction = 1 if band.sharp_edge == "blue" else -1
    for offset, share in ((0.0, 1.0), *shape.heads):
        head = band.vacuum_AA + direction * offset
        ends = sorted((head, head + direction * _REACH * shape.extent_AA))
        inside = slice(*np.searchsorted(wavelength_AA, ends))
        away = np.abs(wavelength_AA[inside] - head) / shape.extent_AA
        depth[inside] += strength * shape.strength * share * np.exp(-away)


def _plateau(wavelength_AA: FloatArray, start_AA: float, end_AA: float, softness_AA: float) -> FloatArray:
    rise = np.tanh((wavelength_AA - start_AA) / softness_AA)
    fall = np.tanh((wavelength_AA - end_AA) / softness_AA)
    return (rise - fall) / 2
