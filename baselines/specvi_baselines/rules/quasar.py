"""Is it a quasar? Broad emission lines that fit at one redshift."""

from dataclasses import dataclass

from specvi_baselines.rules import galaxy
from specvi_baselines.rules.continuum_colour import colour
from specvi_baselines.rules.cool_star import C2_HEADS, TIO_HEADS, has_swan, has_tio, measure_heads
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
    LineMeasurement,
    LineScan,
    Prepared,
    RedshiftFit,
    bin_spectrum,
    measure_line,
    scan_lines,
)

BROAD = ("Lyα", "C IV 1549", "C III] 1909", "Mg II 2799", "Hβ", "Hα")
"""Permitted and semi-forbidden lines from the broad-line region, those that survey spectra show best."""

STELLAR = ("Hα", "Hβ", "Hγ", "Hδ", "Ca II K", "Mg b2", "Na D2")
"""The strongest absorption lines of stars of any temperature."""

BROAD_BOXES = (3, 6, 12)
"""Widths searched, in bins of 690 km/s: 2000 to 8000 km/s."""

MIN_REDSHIFT, MAX_REDSHIFT = 0.02, 5.5
MIN_FWHM_KMS = galaxy.MAX_FWHM_KMS
"""FWHM of at least one line."""

SURE_FWHM_KMS = 2000.0
"""From this width on, one line alone makes a quasar; no other object has it away from rest wavelengths."""

SURE_WIDTH_AA = 40.0
"""And from this observed EW on: bumps between the bands and lines of stars reach 25 Å (library)."""

SURE_COLOUR = 1.2
"""And on a continuum at least this blue: a quasar's power law has 1.8, cool stars below 1.1."""

MIN_COLOUR, FOREST_REDSHIFT = 0.2, 3.0
"""Redder than any quasar whose forest does not eat the flux at 4550 Å; L dwarfs have 0.1."""

HALF_WIDTH_KMS = 6000.0
BALMER_HALF_WIDTH_KMS = galaxy.HALF_WIDTH_KMS

BLEND_FWHM_KMS = 1800.0
"""Narrow Hα blended with [N II] reaches 1600 km/s."""

AGREEMENT = 0.01
"""Two redshifts agree within this share of 1 + z."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """A redshift that was settled on, and where it comes from."""

    fit: RedshiftFit
    origin: str
    claimed: bool


def decide(prepared: Prepared, redshift: float | None) -> Finding:
    """Decide by the redshift at which most broad lines fit; the pipeline's is tried beside it."""
    binned = bin_spectrum(prepared)
    rest = {name: rest_AA(name) for name in BROAD}
    choice = _choose(scan_lines(binned, BROAD_BOXES), rest, redshift)
    fit = choice.fit
    lines = {
        name: measure_line(prepared, rest[name] * (1 + fit.redshift), HALF_WIDTH_KMS) for name in fit.seen
    }
    evidence = (
        f"best fit z = {fit.redshift:.3f} ({choice.origin}), {len(fit.seen)} of {len(fit.covered)} broad lines seen",
        *(line_words(name, line) for name, line in lines.items()),
    )
    broad = [name for name, line in lines.items() if _is_broad(line, MIN_FWHM_KMS)]
    narrow = [name for name, line in lines.items() if _is_narrow(line)]
    if reason := _at_rest(prepared, fit.redshift):
        return no(reason, *evidence)
    if len(broad) < 3 and (reason := _narrow_lines(prepared, scan_lines(binned, galaxy.BOXES))):
        return no(reason, *evidence)
    if len(broad) <= len(narrow):
        return no("No broad emission lines at one redshift", *evidence)
    words = f"Broad emission of {' and '.join(broad)} at z = {fit.redshift:.3f}"
    if len(broad) >= 2 or choice.claimed:
        return yes(words, *evidence)
    if _is_sure(prepared, lines[broad[0]]):
        return yes(f"{words}; one line, so the redshift is ambiguous", *evidence)
    return no(f"One bump alone ({broad[0]} at z = {fit.redshift:.3f}?), not broad enough", *evidence)


def _choose(scan: LineScan, rest: dict[str, float], redshift: float | None) -> _Choice:
    best = scan.best(rest, MIN_REDSHIFT, MAX_REDSHIFT)
    if redshift is None or redshift < MIN_REDSHIFT:
        return _Choice(best, "found here", claimed=False)
    given = scan.at(rest, redshift)
    agrees = abs(given.redshift - best.redshift) < AGREEMENT * (1 + best.redshift)
    if given.seen and (agrees or len(given.seen) >= len(best.seen)):
        return _Choice(given, "the pipeline's, and the lines are there", claimed=True)
    return _Choice(
        best, f"found here; the pipeline's z = {redshift:.3f} fits worse and is ignored", claimed=False
    )


def _is_broad(line: LineMeasurement | None, least_kms: float) -> bool:
    return in_emission(line) and line.intrinsic_fwhm_kms >= least_kms


def _is_narrow(line: LineMeasurement | None) -> bool:
    return in_emission(line) and line.intrinsic_fwhm_kms < MIN_FWHM_KMS


def _is_sure(prepared: Prepared, line: LineMeasurement | None) -> bool:
    """Tell whether one line alone can only be a quasar's."""
    shade = colour(prepared)
    if shade is None or shade.value < SURE_COLOUR or _stellar_lines(prepared):
        return False
    return _is_broad(line, SURE_FWHM_KMS) and -width_AA(line) >= SURE_WIDTH_AA


def _at_rest(prepared: Prepared, redshift: float) -> str:
    """Return which features at zero redshift make it an object of the Galaxy, or nothing."""
    if has_tio(measure_heads(prepared, TIO_HEADS)):
        return "TiO bands at rest: a cool star, whose flux between bands looks like emission"
    if has_swan(prepared, measure_heads(prepared, C2_HEADS)):
        return "C2 bands at rest: a carbon star, whose flux between bands looks like emission"
    shade = colour(prepared)
    if shade is not None and shade.value < MIN_COLOUR and redshift < FOREST_REDSHIFT:
        return "Too red for a quasar at that redshift: a star later than M"
    hydrogen = [measure(prepared, name, BALMER_HALF_WIDTH_KMS) for name in ("Hα", "Hβ")]
    if all(_is_rest_emission(line) for line in hydrogen):
        return "Hα and Hβ in emission at rest: not a quasar"
    return ""


def _is_rest_emission(line: LineMeasurement | None) -> bool:
    return in_emission(line) and abs(line.offset_kms) < 600 and width_AA(line) < -3.0


def _stellar_lines(prepared: Prepared) -> bool:
    """Tell whether two strong lines of stars are in absorption at rest."""
    seen = [in_absorption(measure(prepared, name, 1000.0)) for name in STELLAR]
    return sum(seen) >= 2


def _narrow_lines(prepared: Prepared, scan: LineScan) -> str:
    """Return the words for a galaxy whose narrow lines explain the spectrum better, or nothing."""
    found = galaxy.find_lines(prepared, scan, 0.0)
    if found is None:
        return ""
    if _is_broad(found.lines["Hβ"], MIN_FWHM_KMS) or _is_broad(found.lines["Hα"], BLEND_FWHM_KMS):
        return ""
    return f"Narrow lines of a galaxy at {found.words}, none of them broad"
