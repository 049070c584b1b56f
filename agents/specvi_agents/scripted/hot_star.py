"""Is it an O, a B or an A star? He II, then He I, then hydrogen and calcium; gravity excludes dwarfs."""

import math
from collections.abc import Mapping

from specvi_agents.scripted.inspection import Conclusion, Inspection, no, yes
from specvi_agents.scripted.white_dwarf import DO_FWHM_KMS, DO_WIDTH_AA, HELIUM_II_KMS, is_pressure_broadened
from specvi_agents.scripted.words import HINT_SIGMA, SEEN_SIGMA, in_absorption, listed, width_AA
from specvi_benchmark.features import LineMeasurement

METAL_KMS, BALMER_KMS, WING_KMS = 600.0, 1500.0, 5000.0
"""Half-widths to measure in: helium and calcium have neighbours; hydrogen; its wings in a white dwarf."""

MIN_PLACES = 2
"""Helium is there when two of its lines are likely and all together beyond doubt: one dip alone is noise."""

LIKELY_SIGMA = 2.0
MIN_HELIUM_AA, MIN_HELIUM_II_AA = 0.15, 0.2
"""Least EW of the stronger of He I 4473 and 4027 (A0 stars have 0.02–0.13 Å), and of He II 4543 (B0 and later
have less than 0.1 Å)."""

SUBDWARF_FWHM_KMS, MAX_O_FWHM_KMS, ROTATION_SHARE = 800.0, 1000.0, 1.25
"""FWHM of hydrogen with He II: O stars 300–600 km/s, subdwarfs 900–1500; the fastest rotator has 920, and
rotation broadens helium alike."""

SUBDWARF_H9_SHARE = 0.8
"""Depth of H9 over that of Hδ: 0.35–0.75 in sdB stars, whose series ends early, 0.9 up in B and A stars."""

MIN_A_HYDROGEN_AA, MAX_A_CALCIUM_AA, MAX_B_CALCIUM_AA = 7.0, 5.4, 1.0
"""EW of Hγ in A stars, F0 stars reach 6.2 Å; Ca II K of A stars, more in F, less in B stars."""

MAX_O_CALCIUM_AA = 2.5
"""Interstellar Ca II K is weaker than this; cool stars, with metals at the places of He II, have 5–10 Å."""

HELIUM_LIMIT_AA = 0.45
"""Without calcium, A is claimed only where He I of a middle B star (0.5 Å) would have been seen."""

Lines = Mapping[str, LineMeasurement | None]


def inspect_o(look: Inspection) -> Conclusion:
    """Look for He II at four places, then at the width of hydrogen."""
    first = look.look("He II 4543")
    helium_ii = {"He II 4543": first.line("He II 4543", METAL_KMS)}
    helium_i = {"He I 4473": first.line("He I 4473", METAL_KMS)}
    second = look.look("He II 4201")
    helium_ii["He II 4201"] = second.line("He II 4201", METAL_KMS)
    helium_i["He I 4027"] = second.line("He I 4027", METAL_KMS)
    helium_ii["He II 5413"] = look.look("He II 5413").line("He II 5413", METAL_KMS)
    if not has_lines(helium_ii) or width_AA(helium_ii["He II 4543"]) < MIN_HELIUM_II_AA:
        return no("He II is not seen in absorption at two places")
    strongest = look.look("He II 4687").line("He II 4687", HELIUM_II_KMS)
    if in_absorption(strongest) and strongest.fwhm_kms >= DO_FWHM_KMS and width_AA(strongest) >= DO_WIDTH_AA:
        return no("He II 4687 is as broad as in a white dwarf")
    h_gamma, is_dwarf = _hydrogen(look)
    if not in_absorption(h_gamma):
        return no("He II, but no hydrogen in absorption")
    calcium = look.look("Ca II K").line("Ca II K", METAL_KMS)
    if width_AA(calcium) > MAX_O_CALCIUM_AA:
        return no("Ca II K is far too strong for a hot star: the dips at He II are metals")
    if _is_subdwarf(h_gamma, [*helium_ii.values(), *helium_i.values()]) or is_dwarf:
        return no("He II with hydrogen lines too broad for an O star: a hot subdwarf or a white dwarf")
    return yes(f"{listed(likely(helium_ii))} are in absorption with narrow hydrogen")


def inspect_b(look: Inspection) -> Conclusion:
    """Look for He I, then for He II, calcium and the end of the Balmer series."""
    view = look.look("He I 4473")
    helium_i = {"He I 4473": view.line("He I 4473", METAL_KMS)}
    view.line("Mg II 4482", METAL_KMS / 2)
    blue = look.look("He I 4027")
    helium_i["He I 4027"] = blue.line("He I 4027", METAL_KMS)
    h_delta = blue.line("Hδ", BALMER_KMS)
    helium_i["He I 5877"] = look.look("He I 5877").line("He I 5877", METAL_KMS)
    strongest = max(width_AA(helium_i[name]) for name in ("He I 4473", "He I 4027"))
    if not has_lines(helium_i) or strongest < MIN_HELIUM_AA:
        return no("He I is not seen in absorption at two places")
    hot = look.look("He II 4543").line("He II 4543", METAL_KMS)
    if hot is not None and hot.significance <= -HINT_SIGMA and width_AA(hot) >= MIN_HELIUM_II_AA:
        return no("He II 4543 is in absorption, or likely so: hotter than B")
    look.look("He II 4687").line("He II 4687", METAL_KMS)
    end = look.look("H9")
    calcium = end.line("Ca II K", METAL_KMS)
    h9 = end.line("H9", BALMER_KMS)
    if not in_absorption(h_delta):
        return no("He I, but no hydrogen in absorption")
    if width_AA(calcium) > MAX_B_CALCIUM_AA:
        return no("Ca II K is too strong for a B star")
    if _series_ends_early(h_delta, h9):
        return no("He I, but the Balmer series ends early: a hot subdwarf or a white dwarf")
    return yes(f"{listed(likely(helium_i))} are in absorption, and He II is not")


def inspect_a(look: Inspection) -> Conclusion:
    """Look at hydrogen and calcium, then for helium, then at the end of the Balmer series."""
    blue = look.look("Hγ")
    h_gamma = blue.line("Hγ", BALMER_KMS)
    h_delta = blue.line("Hδ", BALMER_KMS)
    if not in_absorption(h_gamma) or width_AA(h_gamma) < MIN_A_HYDROGEN_AA:
        return no("Hydrogen is too weak for an A star")
    calcium = look.look("Ca II K").line("Ca II K", METAL_KMS)
    if width_AA(calcium) > MAX_A_CALCIUM_AA:
        return no("Ca II K is too strong for an A star")
    helium = {"He I 4473": look.look("He I 4473").line("He I 4473", METAL_KMS)}
    close = look.look_at("He I 4027", (4000, 4060))
    helium["He I 4027"] = close.line("He I 4027", METAL_KMS)
    if has_lines(helium) and max(map(width_AA, helium.values())) >= MIN_HELIUM_AA:
        return no("He I is in absorption: hotter than A")
    h9 = look.look("H9").line("H9", BALMER_KMS)
    if _series_ends_early(h_delta, h9) or _hydrogen(look)[1]:
        return no("Hydrogen is as broad as in a white dwarf or a subdwarf")
    has_calcium = calcium is not None and calcium.significance <= -SEEN_SIGMA
    if not (has_calcium and width_AA(calcium) > MAX_B_CALCIUM_AA) and _limit_AA(helium) > HELIUM_LIMIT_AA:
        return no("Strong hydrogen, but the He I of a B star would not have been seen at this noise")
    return yes("Hydrogen is strong, He I is absent, and Ca II K is weaker than in an F star")


def likely(lines: Lines) -> list[str]:
    """Return the names of the lines that are likely in absorption."""
    return [name for name, line in lines.items() if line is not None and line.significance <= -LIKELY_SIGMA]


def has_lines(lines: Lines) -> bool:
    """Tell whether two of the lines are likely, and all that can be seen are beyond doubt together."""
    found = [line.significance for line in lines.values() if line is not None]
    if len(likely(lines)) < MIN_PLACES:
        return False
    total = sum(max(-SEEN_SIGMA, min(SEEN_SIGMA, value)) for value in found)
    return total / math.sqrt(len(found)) <= -SEEN_SIGMA


def _limit_AA(lines: Lines) -> float:
    """Return the 3σ limit on the EW of the line that is known best."""
    errors = [line.equivalent_width_error_AA for line in lines.values() if line is not None]
    return 3 * min((error for error in errors if error is not None), default=math.inf)


def _is_subdwarf(hydrogen: LineMeasurement, helium: list[LineMeasurement | None]) -> bool:
    widest = max((line.fwhm_kms for line in helium if in_absorption(line)), default=0.0)
    return hydrogen.fwhm_kms > min(MAX_O_FWHM_KMS, max(SUBDWARF_FWHM_KMS, ROTATION_SHARE * widest))


def _series_ends_early(h_delta: LineMeasurement | None, h9: LineMeasurement | None) -> bool:
    if h9 is None or not in_absorption(h_delta) or h_delta.fwhm_kms < SUBDWARF_FWHM_KMS:
        return False
    return (h9.height or 0.0) / (h_delta.height or -1.0) < SUBDWARF_H9_SHARE


def _hydrogen(look: Inspection) -> tuple[LineMeasurement | None, bool]:
    """Look at Hβ and Hγ in windows wide enough for the wings of a white dwarf.

    Returns
    -------
    Hγ measured as a star's, and whether both lines are a white dwarf's.
    """
    wings = {"Hβ": look.look_at("Hβ and its wings", (4680, 5040)).line("Hβ", WING_KMS)}
    view = look.look_at("Hγ and its wings", (4180, 4500))
    h_gamma = view.line("Hγ", BALMER_KMS)
    wings["Hγ"] = view.line("Hγ", WING_KMS, quietly=True)
    return h_gamma, is_pressure_broadened(wings)
