"""Is it an O, a B or an A star? He II, then He I, then hydrogen alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from specvi_baselines.rules import white_dwarf
from specvi_baselines.rules.finding import (
    MENTIONED_SIGMA,
    SEEN_SIGMA,
    Finding,
    in_absorption,
    line_words,
    measure,
    no,
    width_AA,
    yes,
)
from specvi_benchmark.features import LineMeasurement, Prepared

HELIUM_I = ("He I 4027", "He I 4473", "He I 5877")
HELIUM_II = ("He II 4201", "He II 4543", "He II 5413")
"""He II 4687 is not among them, since winds fill it or turn it into emission; He I 4923 is not, since A stars
have Fe II there."""

HALF_WIDTH_KMS = 600.0
"""Neighbouring lines of hot stars lie farther apart; also what Ca II K (to Hε) allows."""

BALMER_HALF_WIDTH_KMS = 1500.0

MIN_PLACES = 2
"""One dip alone is noise; helium is there when so many of its lines are likely, and together beyond doubt."""

MIN_HELIUM_AA = 0.15
"""Least EW of the stronger of He I 4027 and 4473: B9 stars of the library 0.15–0.3 Å, A0 stars 0.02–0.13 Å."""

MIN_HELIUM_II_AA = 0.2
"""Least EW of He II 4543: O9.5 stars 0.2 Å, B0 and later below 0.1 Å (library)."""

SUBDWARF_FWHM_KMS = 800.0
"""FWHM of Hγ with He II: 300–600 km/s in O stars, 900–1500 in hot subdwarfs (library)."""

MAX_O_FWHM_KMS = 1000.0
"""The fastest rotator known, HD 93521, reaches 920 km/s at a resolution of 380 km/s."""

ROTATION_SHARE = 1.25
"""Rotation broadens all lines alike, pressure hydrogen most: Hγ is broader than helium by this factor in a
subdwarf only."""

SUBDWARF_H9_SHARE = 0.8
"""Depth of H9 over that of Hγ: 0.35–0.75 in sdB stars, whose series ends early, 0.9 and above in B and A
stars (library)."""

MIN_A_HYDROGEN_AA = 7.0
"""Least EW of Hγ of an A star; F0 stars of the library 6.2 Å and below."""

MAX_A_CALCIUM_AA = 5.4
"""Largest EW of Ca II K; F2 stars and later exceed it or have weaker hydrogen."""

MAX_B_CALCIUM_AA = 1.0
"""An A star's Ca II K exceeds this; in a B star it is interstellar or absent."""

HELIUM_LIMIT_AA = 0.45
"""Without calcium an A star is claimed only where He I of a middle B star (0.5 Å) would have been seen."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that order hot stars; None where not covered."""

    helium_ii: Mapping[str, LineMeasurement | None]
    helium_i: Mapping[str, LineMeasurement | None]
    h_beta: LineMeasurement | None
    h_gamma: LineMeasurement | None
    calcium: LineMeasurement | None

    @property
    def has_helium_ii(self) -> bool:
        """Return whether He II is in absorption beyond doubt."""
        strength = width_AA(self.helium_ii["He II 4543"])
        return _together(self.helium_ii) <= -SEEN_SIGMA and strength >= MIN_HELIUM_II_AA

    @property
    def has_hydrogen(self) -> bool:
        """Return whether Hγ, or Hβ where that is not covered, is in absorption."""
        return in_absorption(self.h_beta if self.h_gamma is None else self.h_gamma)

    @property
    def may_have_helium_ii(self) -> bool:
        """Return whether He II 4543, which nothing blends with, is likely."""
        line = self.helium_ii["He II 4543"]
        likely = line is not None and line.significance <= -MENTIONED_SIGMA
        return likely and width_AA(line) >= MIN_HELIUM_II_AA

    @property
    def has_helium_i(self) -> bool:
        """Return whether He I is in absorption beyond doubt."""
        strength = max(width_AA(self.helium_i[name]) for name in HELIUM_I[:2])
        return _together(self.helium_i) <= -SEEN_SIGMA and strength >= MIN_HELIUM_AA

    def words(self) -> tuple[str, ...]:
        """Say what was measured of each line."""
        helium = {**self.helium_ii, **self.helium_i}
        return (
            *(line_words(name, line) for name, line in helium.items()),
            line_words("Hβ", self.h_beta),
            line_words("Hγ", self.h_gamma),
            line_words("Ca II K", self.calcium),
        )


def measure_lines(prepared: Prepared) -> Lines:
    """Measure the lines of He II and He I, Hγ and Ca II K."""
    return Lines(
        helium_ii={name: measure(prepared, name, HALF_WIDTH_KMS) for name in HELIUM_II},
        helium_i={name: measure(prepared, name, HALF_WIDTH_KMS) for name in HELIUM_I},
        h_beta=measure(prepared, "Hβ", BALMER_HALF_WIDTH_KMS),
        h_gamma=measure(prepared, "Hγ", BALMER_HALF_WIDTH_KMS),
        calcium=measure(prepared, "Ca II K", HALF_WIDTH_KMS),
    )


def decide_o(prepared: Prepared) -> Finding:
    """Decide by He II absorption in narrow hydrogen."""
    lines = measure_lines(prepared)
    if not (lines.has_helium_ii and lines.has_hydrogen):
        return no("No He II absorption together with hydrogen", *lines.words())
    if _is_subdwarf(lines) or white_dwarf.decide(prepared).answer == "YES":
        return no("He II with lines too broad for an O star: a hot subdwarf or a white dwarf", *lines.words())
    return yes("He II in absorption", *lines.words())


def decide_b(prepared: Prepared) -> Finding:
    """Decide by He I without He II."""
    lines = measure_lines(prepared)
    evidence = lines.words()
    if lines.has_helium_ii or lines.may_have_helium_ii:
        return no("He II in absorption, or likely so: hotter than B", *evidence)
    if not lines.has_helium_i:
        return no("No He I absorption", *evidence)
    if not lines.has_hydrogen:
        return no("He I, but no hydrogen in absorption", *evidence)
    if width_AA(lines.calcium) > MAX_B_CALCIUM_AA:
        return no("Ca II K too strong for a B star", *evidence)
    if _series_ends_early(prepared):
        return no("He I, but the Balmer series ends early: a hot subdwarf or a white dwarf", *evidence)
    return yes("He I in absorption, no He II", *evidence)


def decide_a(prepared: Prepared) -> Finding:
    """Decide by strong hydrogen without helium, and calcium weaker than in F stars."""
    lines = measure_lines(prepared)
    evidence = lines.words()
    if not in_absorption(lines.h_gamma) or width_AA(lines.h_gamma) < MIN_A_HYDROGEN_AA:
        return no("Hydrogen too weak for an A star", *evidence)
    if lines.has_helium_ii or lines.has_helium_i:
        return no("Helium in absorption: hotter than A", *evidence)
    calcium = width_AA(lines.calcium)
    if calcium > MAX_A_CALCIUM_AA:
        return no("Ca II K too strong for an A star", *evidence)
    if _series_ends_early(prepared) or white_dwarf.decide(prepared).answer == "YES":
        return no("Hydrogen as broad as a white dwarf's or a subdwarf's", *evidence)
    has_calcium = lines.calcium is not None and lines.calcium.significance <= -SEEN_SIGMA
    if not (has_calcium and calcium > MAX_B_CALCIUM_AA) and _helium_limit(lines) > HELIUM_LIMIT_AA:
        return no("Strong hydrogen, but helium of a B star would not have been seen", *evidence)
    return yes("Strong hydrogen, no helium, Ca II K weaker than in F stars", *evidence)


def _together(lines: Mapping[str, LineMeasurement | None]) -> float:
    """Return the summed significance of several lines over √n; 0 unless `MIN_PLACES` of them are likely.

    Negative in absorption. A line of three pixels counts here, since a spike has no partners.
    """
    found = [line.significance for line in lines.values() if line is not None]
    if sum(value <= -MENTIONED_SIGMA / 1.5 for value in found) < MIN_PLACES:
        return 0.0
    return sum(max(-SEEN_SIGMA, min(SEEN_SIGMA, value)) for value in found) / math.sqrt(len(found))


def _helium_limit(lines: Lines) -> float:
    """Return the 3σ upper limit on the EW of He I 4473 or 4027, the better one, in Å."""
    errors = [
        line.equivalent_width_error_AA
        for name in HELIUM_I[:2]
        if (line := lines.helium_i[name]) is not None and line.equivalent_width_error_AA is not None
    ]
    return 3 * min(errors, default=math.inf)


def _is_subdwarf(lines: Lines) -> bool:
    helium = [line for line in (*lines.helium_ii.values(), *lines.helium_i.values()) if in_absorption(line)]
    widest = max((line.fwhm_kms for line in helium), default=0.0)
    hydrogen = 0.0 if lines.h_gamma is None else lines.h_gamma.fwhm_kms
    return hydrogen > min(MAX_O_FWHM_KMS, max(SUBDWARF_FWHM_KMS, ROTATION_SHARE * widest))


def _series_ends_early(prepared: Prepared) -> bool:
    h9, h_gamma = (measure(prepared, name, BALMER_HALF_WIDTH_KMS) for name in ("H9", "Hγ"))
    if h9 is None or h_gamma is None or not in_absorption(h_gamma) or h_gamma.fwhm_kms < SUBDWARF_FWHM_KMS:
        return False
    return (h9.height or 0.0) / (h_gamma.height or -1.0) < SUBDWARF_H9_SHARE
