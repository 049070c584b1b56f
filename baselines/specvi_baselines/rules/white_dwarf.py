"""Is it a white dwarf? Balmer or helium lines broadened by pressure, calcium alone, C2 on blue, or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from specvi_baselines.rules.continuum_colour import BLUE_COLOUR, colour
from specvi_baselines.rules.cool_star import (
    C2_HEADS,
    has_swan,
    is_white_dwarf_with_swan,
    measure_heads,
    measure_named,
)
from specvi_baselines.rules.finding import (
    MENTIONED_SIGMA,
    Finding,
    in_absorption,
    in_emission,
    index_words,
    line_words,
    measure,
    no,
    width_AA,
    yes,
)
from specvi_benchmark.features import LineMeasurement, Measurement, Prepared, bin_spectrum

BALMER = ("Hα", "Hβ", "Hγ", "Hδ")
HELIUM_I = ("He I 4473", "He I 5877", "He I 4027", "He I 6680")

WING_KMS = 5000.0
"""Half-width for lines with Stark wings, which reach 80 Å at Hβ."""

HELIUM_KMS = 2000.0
CALCIUM_KMS = 3000.0
SERIES_KMS = 1500.0
"""Half-width for Hγ and H9 against the flux right beside them, where the wings of neighbours may meet."""

MAX_FWHM_KMS = 6000.0
"""Nothing in a star is broader; galaxies and quasars have such dips between their lines."""

MAX_EMISSION_AA = 5.0
"""Emission of Hα or Hβ beyond this means accretion or an active companion."""

CORE_KMS = 700.0
MIN_CORE_AA, MIN_CORE_FWHM_KMS = 1.0, 250.0
"""So strong and broad an emission core of Hα or Hβ in its trough is that of a disc (WZ Sge stars show the white dwarf);
the trough hides some of both. The active companion of a white dwarf has narrower lines."""

DA_LINES = ("Hβ", "Hγ", "Hδ")
DA_FWHM_KMS = 2050.0
"""Median FWHM of these lines: DA stars of the library 2290–4600, A and B stars at most 1310, hot subdwarfs at
most 1720 km/s."""

STRONG_WIDTH_AA, STRONG_FWHM_KMS = 19.0, 1500.0
"""Lines of that EW are a white dwarf's from that width on: A stars reach 17 Å, subdwarfs 9 Å (library)."""

MERGED_FWHM_KMS, H9_SHARE = 1400.0, 0.35
"""That width is enough where H9 has merged away. Depth of H9 over that of Hγ: 0.05–0.2 in DA stars, 0.6–1.1
in A stars, BHB stars and sdB (library)."""

DOUBT_SIGMA = 2.0
"""Every one of those lines that is covered is there at least so clearly; a chance dip has no partners."""

DA_MAX_CALCIUM_AA = 1.5
"""Metals with Balmer lines make an ordinary star: F and G stars have 2.5–10 Å of Ca II K (library)."""

DB_FWHM_KMS, DB_WIDTH_AA = 800.0, 3.0
"""One He I line at least is so broad and strong: 1100 km/s and 9 Å in the library's DB; 150–750 km/s and at
most 2.3 Å in B stars and helium-rich subdwarfs."""

DO_FWHM_KMS, DO_WIDTH_AA = 2200.0, 5.0
"""He II 4687: 2700 km/s and 6.6 Å in the library's DO, at most 1800 km/s and 4.0 Å in subdwarfs."""

DO_COLOUR = 2.0
"""A DO is hotter than 45,000 K: 4.2 without reddening. K stars have MgH at He II 4687."""

DZ_FWHM_KMS, DZ_WIDTH_AA = 1200.0, 8.0
"""Ca II K, with H beside it, is so broad and strong (1570 km/s and 21 Å in the SDSS mean DZ)."""

DZ_G_BAND = 0.93
"""PyHammer's G band index: F to K stars 0.75–0.9, none in a DZ."""

DZ_MAX_HYDROGEN_AA = 3.0
DC_MAX_DEPTH = 0.06
"""A DC shows no line deeper than 5 % (McCook & Sion 1999), and calibration ripples by 1 %."""

DC_RANGE_AA = (4000.0, 6800.0)
DC_MIN_SNR = 30.0
"""S/N a pixel from which a dip of 5 % stands out in 350 bins of ten pixels: 5σ."""

WHITE_COLOUR = 1.0
"""Types without hydrogen are claimed on a continuum at least so blue; cool stars have their lines in plenty."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was measured; None where not covered."""

    prepared: Prepared
    balmer: Mapping[str, LineMeasurement | None]
    helium_i: Mapping[str, LineMeasurement | None]
    helium_ii: LineMeasurement | None
    calcium: LineMeasurement | None
    colour: Measurement | None

    @property
    def hydrogen_AA(self) -> float:
        """Return the EW of the strongest Balmer absorption, 0 without any."""
        return max((width_AA(line) for line in self.balmer.values() if in_absorption(line)), default=0.0)

    def bluer_than(self, border: float) -> bool:
        """Tell whether the continuum is bluer; where no colour is covered nothing speaks against."""
        return self.colour is None or self.colour.value > border

    def words(self) -> tuple[str, ...]:
        """Say what was measured."""
        helium = {**self.helium_i, "He II 4687": self.helium_ii}
        return (
            *(line_words(name, line) for name, line in self.balmer.items()),
            *(line_words(name, line) for name, line in helium.items() if in_absorption(line)),
            line_words("Ca II K", self.calcium),
            index_words("colour f(4550)/f(6650)", self.colour),
        )


def decide(prepared: Prepared) -> Finding:
    """Try the spectral types in the order DA, DB, DO, DQ, DZ, DC."""
    seen = _Seen(
        prepared,
        balmer={name: measure(prepared, name, WING_KMS) for name in BALMER},
        helium_i={name: measure(prepared, name, HELIUM_KMS) for name in HELIUM_I},
        helium_ii=measure(prepared, "He II 4687", WING_KMS),
        calcium=measure(prepared, "Ca II K", CALCIUM_KMS),
        colour=colour(prepared),
    )
    cores = {name: measure(prepared, name, CORE_KMS) for name in ("Hα", "Hβ")}
    if any(_is_accretion(seen.balmer[name]) or _is_disc_core(core) for name, core in cores.items()):
        return no("Balmer emission: not a single white dwarf", *seen.words())
    for spectral_type in (_da, _db, _do, _dq, _dz, _dc):
        if reason := spectral_type(seen):
            return yes(reason, *seen.words())
    return no("No line as broad as a white dwarf's, and not featureless", *seen.words())


def _is_accretion(line: LineMeasurement | None) -> bool:
    return in_emission(line) and line.fwhm_kms < MAX_FWHM_KMS and -width_AA(line) > MAX_EMISSION_AA


def _is_disc_core(line: LineMeasurement | None) -> bool:
    return (
        in_emission(line) and line.intrinsic_fwhm_kms >= MIN_CORE_FWHM_KMS and -width_AA(line) >= MIN_CORE_AA
    )


def _da(seen: _Seen) -> str:
    """Return the words for hydrogen lines broadened by pressure, or nothing; so do all that follow."""
    covered = [line for name in DA_LINES if (line := seen.balmer[name]) is not None]
    widths = [line.fwhm_kms for line in covered if in_absorption(line)]
    metals = in_absorption(seen.calcium) and width_AA(seen.calcium) > DA_MAX_CALCIUM_AA
    if len(widths) < 2 or metals or any(line.significance > -DOUBT_SIGMA for line in covered):
        return ""
    typical = median(widths)
    strong = max(width_AA(line) for line in covered) >= STRONG_WIDTH_AA
    if (STRONG_FWHM_KMS if strong else DA_FWHM_KMS) <= typical <= MAX_FWHM_KMS:
        return f"Balmer lines broadened by pressure (median FWHM {typical:.0f} km/s): DA"
    if typical >= MERGED_FWHM_KMS and not in_absorption(seen.helium_ii) and _series_merges(seen.prepared):
        return f"Balmer lines broad (median FWHM {typical:.0f} km/s) and merged before H9: DA"
    return ""


def _series_merges(prepared: Prepared) -> bool:
    h9, h_gamma = (measure(prepared, name, SERIES_KMS) for name in ("H9", "Hγ"))
    if h9 is None or h_gamma is None or not in_absorption(h_gamma) or not h_gamma.height:
        return False
    return (h9.height or 0.0) / h_gamma.height < H9_SHARE


def _db(seen: _Seen) -> str:
    lines = {name: line for name, line in seen.helium_i.items() if in_absorption(line)}
    broad = [width_AA(line) for line in lines.values() if line.fwhm_kms >= DB_FWHM_KMS]
    strongest = max(broad, default=0.0)
    if (
        "He I 4473" not in lines
        or len(lines) < 2
        or strongest < max(DB_WIDTH_AA, seen.hydrogen_AA)
        or not seen.bluer_than(WHITE_COLOUR)
    ):
        return ""
    return f"Broad absorption of {', '.join(lines)}, stronger than hydrogen: DB"


def _do(seen: _Seen) -> str:
    line = seen.helium_ii
    if not in_absorption(line) or not seen.bluer_than(DO_COLOUR):
        return ""
    broad = line.fwhm_kms >= DO_FWHM_KMS and width_AA(line) >= max(DO_WIDTH_AA, seen.hydrogen_AA)
    others = (measure(seen.prepared, name, SERIES_KMS) for name in ("He II 4543", "He II 5413"))
    if not broad or not any(other is not None and other.significance <= -MENTIONED_SIGMA for other in others):
        return ""
    return f"Broad He II 4687 absorption (FWHM {line.fwhm_kms:.0f} km/s), stronger than hydrogen: DO"


def _dq(seen: _Seen) -> str:
    if not is_white_dwarf_with_swan(seen.prepared, seen.colour):
        return ""
    carbon = measure_heads(seen.prepared, C2_HEADS)
    return (
        "C2 Swan bands on a continuum too blue for a carbon star: DQ"
        if has_swan(seen.prepared, carbon)
        else ""
    )


def _dz(seen: _Seen) -> str:
    g_band = measure_named(seen.prepared, "PyHammer G band")
    no_star = g_band is not None and g_band.value > DZ_G_BAND and seen.bluer_than(BLUE_COLOUR)
    if seen.hydrogen_AA > DZ_MAX_HYDROGEN_AA or not no_star or not _is_dz_calcium(seen):
        return ""
    return "Broad Ca II H and K without hydrogen and without the G band: DZ"


def _is_dz_calcium(seen: _Seen) -> bool:
    line = seen.calcium
    if not in_absorption(line) or width_AA(line) < DZ_WIDTH_AA:
        return False
    return DZ_FWHM_KMS <= line.fwhm_kms <= MAX_FWHM_KMS


def _dc(seen: _Seen) -> str:
    binned = bin_spectrum(seen.prepared)
    used = binned.covered & (binned.wavelength_AA > DC_RANGE_AA[0]) & (binned.wavelength_AA < DC_RANGE_AA[1])
    if not seen.bluer_than(WHITE_COLOUR) or seen.prepared.snr < DC_MIN_SNR or used.sum() < 100:
        return ""
    flux = binned.flux[used]
    if flux.min() <= 0:
        return ""
    wavelength = np.log(binned.wavelength_AA[used])
    fit = np.polynomial.Polynomial.fit(wavelength, np.log(flux), 4)
    deepest = float(np.abs(flux / np.exp(fit(wavelength)) - 1).max())
    lines = [abs(line.height or 0.0) for line in seen.balmer.values() if line is not None]
    if deepest >= DC_MAX_DEPTH or max(lines, default=1.0) >= DC_MAX_DEPTH:
        return ""
    return f"Blue and featureless, nothing deeper than {100 * deepest:.1f} % from 4000 to 6800 Å: DC"
