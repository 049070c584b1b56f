"""Is it a white dwarf? Hydrogen broadened by pressure; else helium, C2 or calcium alone, or nothing at all."""

from collections.abc import Mapping
from statistics import median

import numpy as np

from specvi_agents.scripted.cool_star import C2, has_swan
from specvi_agents.scripted.inspection import Conclusion, Inspection, no, yes
from specvi_agents.scripted.words import in_absorption, in_emission, listed, width_AA
from specvi_benchmark.features import LineMeasurement, Measurement, bin_spectrum

WING_KMS = {"Hα": 4500.0, "Hβ": 5000.0, "Hγ": 5000.0, "Hδ": 4500.0}
SERIES_KMS = 1500.0
HELIUM_KMS, HELIUM_II_KMS, CALCIUM_KMS = 2000.0, 2500.0, 3000.0
"""Half-widths to measure in: Stark wings reach 80 Å at Hβ; what a view has no room for is left out."""

MAX_FWHM_KMS = 6000.0
"""Nothing in a star is broader."""

MAX_EMISSION_AA = 5.0
"""More Balmer emission means accretion or an active companion."""

DA_LINES = ("Hβ", "Hγ", "Hδ")
DA_FWHM_KMS, STRONG_FWHM_KMS, STRONG_WIDTH_AA = 2050.0, 1500.0, 19.0
"""Median FWHM of a DA, 2290–4600 in library stars; A and B stars stay below 1310, hot subdwarfs below 1720.
Lines of 19 Å EW are a white dwarf's from a smaller width on: A stars reach 17 Å, subdwarfs 9 Å."""

MERGED_FWHM_KMS, H9_SHARE = 1400.0, 0.35
"""That width is enough where H9 is gone: depth of H9 over that of Hγ 0.05–0.2 in DA stars, 0.6 up in others."""

DOUBT_SIGMA = 2.0
"""A Balmer line less sure than this is a missing one."""

ALIKE = 2.5
"""The lines of one star are alike in width, to this factor; dips between the lines of a quasar are not."""

DA_MAX_CALCIUM_AA = 1.5
"""More Ca II K beside hydrogen makes an ordinary star."""

DB_FWHM_KMS, DB_WIDTH_AA = 800.0, 3.0
DO_FWHM_KMS, DO_WIDTH_AA, DO_COLOUR = 2200.0, 5.0, 2.0
DZ_FWHM_KMS, DZ_WIDTH_AA, DZ_MAX_HYDROGEN_AA = 900.0, 8.0, 3.0
DC_DEPTH, DC_SNR, DC_RANGE_AA = 0.06, 30.0, (4000.0, 6800.0)
"""A DC has no line deeper than 5 % (McCook & Sion 1999); at this S/N one would be seen in the full view."""

WHITE_COLOUR, DZ_COLOUR, BLUE_COLOUR = 1.0, 1.1, 1.3
G_BAND_MAX = 0.93
"""PyHammer's G band index: 0.75–0.9 in F to K stars, none in a DZ."""

Lines = Mapping[str, LineMeasurement | None]


def inspect(look: Inspection) -> Conclusion:
    """Look at the Balmer lines and the end of their series, then at what other types would show."""
    colour = look.colour()
    balmer: dict[str, LineMeasurement | None] = {"Hβ": look.look("Hβ").line("Hβ", WING_KMS["Hβ"])}
    blue = look.look("Hγ")
    for name in ("Hγ", "Hδ"):
        balmer[name] = blue.line(name, WING_KMS[name])
    h_gamma = blue.line("Hγ", SERIES_KMS, quietly=True) if _may_merge(balmer) else None
    g_band = blue.index("PyHammer G band") if not in_absorption(balmer["Hγ"]) else None
    end = look.look("H9")
    h9 = end.line("H9", SERIES_KMS)
    calcium = end.line("Ca II K", CALCIUM_KMS)
    balmer["Hα"] = look.look("Hα").line("Hα", WING_KMS["Hα"])
    if any(_is_accretion(balmer[name]) for name in ("Hα", "Hβ")):
        return no("Balmer lines are in emission: not a single white dwarf")
    metals = in_absorption(calcium) and width_AA(calcium) > DA_MAX_CALCIUM_AA
    hydrogen = max((width_AA(line) for line in balmer.values() if in_absorption(line)), default=0.0)
    if not metals and is_pressure_broadened(balmer, goes_on=_goes_on(h_gamma, h9)):
        return yes("The Balmer lines are as broad as the pressure in a white dwarf makes them: DA")
    if not metals and _is_merged(balmer, h_gamma, h9):
        helium_ii = look.look("He II 4687").line("He II 4687", HELIUM_II_KMS)
        if not in_absorption(helium_ii):
            return yes("The Balmer lines are broad and have merged before H9: DA")
    reason = _without_hydrogen(look, colour, hydrogen) or _calcium(calcium, g_band, colour, hydrogen)
    if reason:
        return yes(reason)
    if _is_featureless(look, balmer, colour):
        return yes("Blue and featureless at a good S/N: DC")
    return no("No line is as broad as a white dwarf's, and the spectrum is not featureless")


def is_pressure_broadened(balmer: Lines, *, goes_on: bool = False) -> bool:
    """Tell whether Hβ, Hγ and Hδ, those that are covered, are a white dwarf's.

    Where the series goes on to H9 strength does not count, only width.
    """
    covered = [line for name in DA_LINES if (line := balmer.get(name)) is not None]
    widths = [line.fwhm_kms for line in covered if in_absorption(line)]
    if len(widths) < 2 or any(line.significance > -DOUBT_SIGMA for line in covered):
        return False
    if max(widths) > ALIKE * min(widths):
        return False
    strong = not goes_on and max(width_AA(line) for line in covered) >= STRONG_WIDTH_AA
    return (STRONG_FWHM_KMS if strong else DA_FWHM_KMS) <= median(widths) <= MAX_FWHM_KMS


def _goes_on(h_gamma: LineMeasurement | None, h9: LineMeasurement | None) -> bool:
    """Tell whether H9 is clearly there beside Hγ, as in an A star."""
    if not in_absorption(h9) or not in_absorption(h_gamma) or not h_gamma.height:
        return False
    return (h9.height or 0.0) / h_gamma.height > H9_SHARE


def _may_merge(balmer: Lines) -> bool:
    widths = [line.fwhm_kms for name in DA_LINES if in_absorption(line := balmer.get(name))]
    return len(widths) >= 2 and median(widths) >= MERGED_FWHM_KMS


def _is_merged(balmer: Lines, h_gamma: LineMeasurement | None, h9: LineMeasurement | None) -> bool:
    if not _may_merge(balmer) or h9 is None or not in_absorption(h_gamma) or not h_gamma.height:
        return False
    covered = [line for name in DA_LINES if (line := balmer[name]) is not None]
    if any(line.significance > -DOUBT_SIGMA for line in covered):
        return False
    return (h9.height or 0.0) / h_gamma.height < H9_SHARE


def _is_accretion(line: LineMeasurement | None) -> bool:
    return in_emission(line) and line.fwhm_kms < MAX_FWHM_KMS and -width_AA(line) > MAX_EMISSION_AA


def _without_hydrogen(look: Inspection, colour: Measurement | None, hydrogen_AA: float) -> str:
    """Return the words for a DB, DO or DQ, or nothing."""
    view = look.look("He I 4473")
    helium = {name: view.line(name, HELIUM_KMS) for name in ("He I 4473", "He I 4027")}
    helium["He I 5877"] = look.look("He I 5877").line("He I 5877", HELIUM_KMS)
    seen = [name for name, line in helium.items() if in_absorption(line)]
    strongest = max(
        (width_AA(line) for line in helium.values() if in_absorption(line) and line.fwhm_kms >= DB_FWHM_KMS),
        default=0.0,
    )
    white = colour is None or colour.value > WHITE_COLOUR
    if "He I 4473" in seen and len(seen) >= 2 and strongest >= max(DB_WIDTH_AA, hydrogen_AA) and white:
        return f"{listed(seen)} are in broad absorption, stronger than hydrogen: DB"
    helium_ii = look.look("He II 4687").line("He II 4687", HELIUM_II_KMS)
    hot = colour is None or colour.value > DO_COLOUR
    broad = in_absorption(helium_ii) and helium_ii.fwhm_kms >= DO_FWHM_KMS
    if hot and broad and width_AA(helium_ii) >= max(DO_WIDTH_AA, hydrogen_AA):
        return "He II 4687 is in broad absorption, stronger than hydrogen: DO"
    if colour is not None and colour.value <= BLUE_COLOUR:
        return ""
    carbon = look.look("C2 4737")
    steps = {name: carbon.edge(name) for name in C2[:2]}
    return "C2 bands on a blue continuum: DQ" if has_swan(steps, carbon) else ""


def _calcium(
    line: LineMeasurement | None, g_band: Measurement | None, colour: Measurement | None, hydrogen_AA: float
) -> str:
    """Return the words for a DZ, or nothing."""
    blue = colour is None or colour.value > DZ_COLOUR
    no_star = g_band is not None and g_band.value > G_BAND_MAX
    if hydrogen_AA > DZ_MAX_HYDROGEN_AA or not no_star or not blue or not in_absorption(line):
        return ""
    if width_AA(line) < DZ_WIDTH_AA or not DZ_FWHM_KMS <= line.fwhm_kms <= MAX_FWHM_KMS:
        return ""
    return "Ca II K is broad, without hydrogen and without a G band: DZ"


def _is_featureless(look: Inspection, balmer: Lines, colour: Measurement | None) -> bool:
    """Tell whether nothing stands out in the full view nor at a Balmer line."""
    prepared = look.full.prepared
    if prepared is None or prepared.snr < DC_SNR or (colour is not None and colour.value <= WHITE_COLOUR):
        return False
    binned = bin_spectrum(prepared)
    used = binned.covered & (binned.wavelength_AA > DC_RANGE_AA[0]) & (binned.wavelength_AA < DC_RANGE_AA[1])
    flux = binned.flux[used]
    if flux.size < 100 or flux.min() <= 0:
        return False
    place = np.log(binned.wavelength_AA[used])
    fit = np.polynomial.Polynomial.fit(place, np.log(flux), 4)
    deepest = float(np.abs(flux / np.exp(fit(place)) - 1).max())
    lines = [abs(line.height or 0.0) for line in balmer.values() if line is not None]
    return deepest < DC_DEPTH and max(lines, default=1.0) < DC_DEPTH
