"""Is it a cataclysmic variable? Several broad Balmer emission lines at z ≈ 0, with helium."""

from typing import TypeGuard

from specvi_baselines.rules import galaxy
from specvi_baselines.rules.continuum_colour import COOL_COLOUR, colour
from specvi_baselines.rules.cool_star import TIO_HEADS, has_tio, measure_heads
from specvi_baselines.rules.finding import (
    Finding,
    in_absorption,
    in_emission,
    line_words,
    measure,
    no,
    rest_AA,
    width_AA,
    yes,
)
from specvi_benchmark.features import (
    MAX_STELLAR_REDSHIFT,
    LineMeasurement,
    Prepared,
    bin_spectrum,
    measure_line,
    scan_lines,
)
from specvi_benchmark.features.resolution import LIGHT_KMS

BALMER = ("Hα", "Hβ", "Hγ", "Hδ")
HELIUM = ("He I 4473", "He I 5877", "He I 6680")
BALMER_HALF_WIDTH_KMS = 2500.0
"""Lines of discs reach FWHM 2500 km/s."""

HELIUM_HALF_WIDTH_KMS = 1500.0
"""Less than for hydrogen: Na D lies 730 km/s redward of He I 5877."""

MIN_FWHM_KMS = 450.0
"""Discs and streams are broader; Be stars (200–440 km/s in the library), chromospheres, nebulae and
H II regions are narrower. Tuned on library spectra."""

MAX_FWHM_KMS = 3500.0
"""No disc of a white dwarf is broader; peaks between the bands of cool stars are (3200–4400 km/s)."""

MIN_DISC_LINES = 2
"""So many Balmer lines are that broad, Hα among them where it is covered: it is the strongest in a disc."""

MAX_OFFSET_KMS = 600.0
"""Line centroids lie within this of rest: orbital and systemic motion, and asymmetric profiles."""

MIN_WIDTH_AA = 3.0
"""Least emission EW of Hα or Hβ; 1–2 Å are left over where the continuum is uncertain."""

MIN_WIDTH_COOL_AA = 15.0
"""The same in a spectrum with TiO: peaks between two bands reach 5 Å (library giants of M7–M8)."""

MAX_FORBIDDEN_SHARE = 0.5
"""[O III] 5008 over Hβ in emission: above in nebulae, H II galaxies and most symbiotic stars."""

OXYGEN_RATIO = (2.0, 4.5)
"""[O III] 5008 over 4960: 2.98 by atomic physics (Storey & Zeippen 2000, MNRAS 312, 813), and the error of
weak lines. Asked where the redshift is not the pipeline's: residuals of the sky fit at some redshift."""

MAX_HELIUM_II_SHARE = 1.5
"""He II 4687 over Hβ in emission: about 1 at most in polars, larger in Wolf–Rayet stars."""

MAX_DECREMENT = 4.0
"""EW of Hα over that of Hβ: discs 1–3 (the library's CV 2.0), nebulae, galaxies, quasars at rest and
Wolf–Rayet stars 4–7."""

MIN_DISC_FWHM_KMS = 1400.0
"""In outburst the disc's absorption is this broad and shallow; B stars are narrower, white dwarfs deeper."""

MAX_DISC_DEPTH = 0.25
MIN_CORE_AA, CORE_HALF_WIDTH_KMS = 0.5, 700.0
"""Emission cores are measured against the trough they stand in."""


def decide(prepared: Prepared, redshift: float | None) -> Finding:
    """Decide from the Balmer and helium lines at rest, and from what would speak for a look-alike.

    ``redshift`` is the pipeline's; it only serves to recognise the lines of a galaxy.
    """
    balmer = {name: measure(prepared, name, BALMER_HALF_WIDTH_KMS) for name in BALMER}
    helium = {name: measure(prepared, name, HELIUM_HALF_WIDTH_KMS) for name in HELIUM}
    helium_ii = measure(prepared, "He II 4687", HELIUM_HALF_WIDTH_KMS)
    tio = measure_heads(prepared, TIO_HEADS)
    cool = has_tio(tio)
    needed = MIN_WIDTH_COOL_AA if cool else MIN_WIDTH_AA
    seen = [name for name, line in balmer.items() if _at_rest(line)]
    disc = [name for name in seen if _is_disc_line(balmer[name], needed)]
    with_helium = [name for name, line in {**helium, "He II 4687": helium_ii}.items() if in_emission(line)]
    evidence = (
        *(line_words(name, line) for name, line in balmer.items()),
        *(line_words(name, helium[name]) for name in with_helium if name in helium),
        line_words("He II 4687", helium_ii) if "He II 4687" in with_helium else "",
        f"TiO bands ({tio.words()})" if cool else "",
    )
    if not any(balmer.values()):
        return no("No Balmer line is covered", *evidence)
    if (shifted := _galaxy(prepared, redshift)) is not None:
        words = [line_words(name, shifted.lines[name]) for name in shifted.fit.seen]
        lines = (f"at z = {shifted.fit.redshift:.3f}: {'; '.join(words)}", *evidence)
        return no(f"The lines fit {shifted.words}, better than rest: a galaxy or its nucleus", *lines)
    troughs = [name for name in ("Hβ", "Hγ", "Hδ") if _is_trough(balmer[name])]
    if reason := _look_alike(prepared, balmer, helium_ii, in_trough=bool(troughs)):
        return no(reason, *evidence)
    quiescent = len(disc) >= MIN_DISC_LINES and (balmer["Hα"] is None or "Hα" in disc)
    if quiescent and (with_helium or (len(seen) >= 3 and not cool)):
        helium_words = f" with {' and '.join(with_helium)}" if with_helium else ""
        return yes(f"Broad Balmer emission from a disc or stream at z ≈ 0{helium_words}", *evidence)
    if reason := (
        _hot_gas(prepared, seen, helium_ii, cool=cool)
        or _helium_disc(balmer, helium)
        or _outburst(prepared, balmer, troughs)
    ):
        return yes(reason, *evidence)
    return no(_why_not(seen, disc, cool=cool), *evidence)


def _at_rest(line: LineMeasurement | None) -> TypeGuard[LineMeasurement]:
    return in_emission(line) and abs(line.offset_kms) <= MAX_OFFSET_KMS


def _is_disc_line(line: LineMeasurement | None, least_AA: float) -> bool:
    return (
        _at_rest(line)
        and MIN_FWHM_KMS <= line.intrinsic_fwhm_kms <= MAX_FWHM_KMS
        and (line.equivalent_width_AA is None or -line.equivalent_width_AA >= least_AA)
    )


def _is_trough(line: LineMeasurement | None) -> bool:
    """Tell whether a line is the broad shallow absorption of a thick disc."""
    return (
        in_absorption(line) and line.fwhm_kms >= MIN_DISC_FWHM_KMS and (line.height or 0.0) >= -MAX_DISC_DEPTH
    )


def _galaxy(prepared: Prepared, redshift: float | None) -> galaxy.GalaxyLines | None:
    """Return the lines of a galaxy, [O III] 5008 among them, if more of them fit there than at rest.

    A pipeline that gives the redshift of a star is believed.
    """
    if redshift is not None and abs(redshift) < MAX_STELLAR_REDSHIFT:
        return None
    scan = scan_lines(bin_spectrum(prepared), galaxy.BOXES)
    found = galaxy.find_lines(prepared, scan, 2 * MAX_STELLAR_REDSHIFT, redshift)
    if found is None or not in_emission(oxygen := found.lines["[O III] 5008"]):
        return None
    if sum(map(in_emission, found.lines.values())) < galaxy.MIN_LINES:
        return None
    if not (found.claimed or _is_oxygen(prepared, found.fit.redshift, oxygen)):
        return None
    at_rest = scan.at({name: rest_AA(name) for name in galaxy.LINES}, 0.0)
    return found if len(found.fit.seen) > len(at_rest.seen) else None


def _is_oxygen(prepared: Prepared, redshift: float, brighter: LineMeasurement) -> bool:
    """Tell whether two lines are [O III] by their ratio, each measured without the other."""
    factor = (1 + redshift) * (1 + brighter.offset_kms / LIGHT_KMS)
    weak, strong = (
        measure_line(prepared, rest_AA(f"[O III] {name}") * factor, CORE_HALF_WIDTH_KMS)
        for name in ("4960", "5008")
    )
    if not (in_emission(weak) and in_emission(strong)) or not width_AA(weak):
        return False
    return OXYGEN_RATIO[0] <= width_AA(strong) / width_AA(weak) <= OXYGEN_RATIO[1]


def _look_alike(
    prepared: Prepared,
    balmer: dict[str, LineMeasurement | None],
    helium_ii: LineMeasurement | None,
    *,
    in_trough: bool,
) -> str:
    """Return why the emission is that of a nebula, a galaxy or a Wolf–Rayet star, or nothing.

    The decrement says nothing where absorption eats into Hβ.
    """
    h_alpha, h_beta = balmer["Hα"], balmer["Hβ"]
    oxygen = measure(prepared, "[O III] 5008", CORE_HALF_WIDTH_KMS)
    hydrogen = max(0.0, -width_AA(h_beta))
    if in_emission(oxygen) and -width_AA(oxygen) > MAX_FORBIDDEN_SHARE * hydrogen:
        return f"Forbidden emission ({line_words('[O III] 5008', oxygen)}): a nebula or a galaxy"
    if in_emission(helium_ii) and -width_AA(helium_ii) > MAX_HELIUM_II_SHARE * max(hydrogen, MIN_WIDTH_AA):
        return f"{line_words('He II 4687', helium_ii)}, far stronger than Hβ: a Wolf–Rayet star, or a shifted line"
    steep = in_emission(h_alpha) and in_emission(h_beta) and -width_AA(h_alpha) > MAX_DECREMENT * hydrogen
    if steep and not in_trough:
        ratio = -width_AA(h_alpha) / hydrogen if hydrogen else float("inf")
        return f"Balmer decrement too steep for a disc (EW of Hα {ratio:.1f} times that of Hβ)"
    return ""


def _hot_gas(prepared: Prepared, seen: list[str], helium_ii: LineMeasurement | None, *, cool: bool) -> str:
    """Return the words for a polar or nova-like, whose lines may be narrow, or nothing."""
    of_star = in_absorption(measure(prepared, "He II 4543", CORE_HALF_WIDTH_KMS))
    if cool or of_star or len(seen) < 2 or not in_emission(helium_ii):
        return ""
    return f"Balmer emission with He II 4687 ({line_words('He II 4687', helium_ii)}): a polar or a nova-like"


def _helium_disc(balmer: dict[str, LineMeasurement | None], helium: dict[str, LineMeasurement | None]) -> str:
    """Return the words for broad helium emission without hydrogen (AM CVn), or nothing."""
    disc = [name for name, line in helium.items() if _is_disc_line(line, MIN_WIDTH_AA)]
    if len(disc) < 2 or any(in_emission(line) for line in balmer.values()):
        return ""
    return f"Broad emission of {' and '.join(disc)} without hydrogen: an AM CVn star"


def _outburst(prepared: Prepared, balmer: dict[str, LineMeasurement | None], troughs: list[str]) -> str:
    """Return the words for emission cores in the broad shallow absorption of a thick disc, or nothing."""
    cores = {name: measure(prepared, name, CORE_HALF_WIDTH_KMS) for name in BALMER}
    seen = {
        name: line
        for name in BALMER
        for line in (balmer[name], cores[name])
        if _at_rest(line) and _is_disc_line(line, MIN_CORE_AA)
    }
    shade = colour(prepared)
    blue = shade is not None and shade.value > COOL_COLOUR
    if not (blue and troughs) or len(seen) < MIN_DISC_LINES or not {"Hα", "Hβ"} & set(seen):
        return ""
    words = "; ".join(line_words(name, line) for name, line in seen.items())
    return f"Emission ({words}) with broad shallow absorption at {', '.join(troughs)}: a disc in outburst"


def _why_not(seen: list[str], disc: list[str], *, cool: bool) -> str:
    if not seen:
        return "No Balmer emission"
    if len(seen) == 1:
        return f"Only {seen[0]} is in emission; one line alone decides nothing"
    if len(disc) < MIN_DISC_LINES:
        star = "an active M dwarf or a Mira" if cool else "a Be star, a chromosphere or a nebula"
        return f"Balmer emission narrower or weaker than a disc gives: {star}"
    return "Balmer emission, but no helium and no third Balmer line, or Hα is not the strongest"
