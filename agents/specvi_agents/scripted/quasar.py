"""Is it a quasar? Broad bumps in three wide views, the redshift they agree on, and a closer look at each."""

from collections.abc import Mapping

from specvi_agents.scripted.cool_star import C2, TIO, has_swan, has_tio
from specvi_agents.scripted.inspection import Conclusion, Inspection, no, yes
from specvi_agents.scripted.seen import Seen
from specvi_agents.scripted.words import in_absorption, in_emission, is_band, listed, width_AA
from specvi_benchmark.features import (
    LineMeasurement,
    LineScan,
    Measurement,
    Prepared,
    RedshiftFit,
    bin_spectrum,
    measure_line,
    scan_lines,
)
from specvi_benchmark.lines import get_band, get_line

BROAD = ("Lyα", "C IV 1549", "C III] 1909", "Mg II 2799", "Hβ", "Hα")
NARROW = ("[O II] 3728", "Hβ", "[O III] 4960", "[O III] 5008", "Hα")
BROAD_BOXES, NARROW_BOXES = (3, 6, 12), (1, 2)
"""Widths searched, in bins of 690 km/s."""

REDSHIFTS, GALAXY_REDSHIFTS = (0.02, 5.5), (0.0, 1.2)
AGREEMENT = 0.01
MIN_FWHM_KMS = 1000.0
"""The usual border between narrow and broad (Schneider et al. 2010, AJ 139, 2360)."""

SURE_FWHM_KMS, SURE_WIDTH_AA, SURE_COLOUR = 2000.0, 40.0, 1.2
"""One line alone is enough when so broad and strong, on so blue a continuum, without stellar lines."""

MIN_COLOUR, FOREST_REDSHIFT = 0.2, 3.0
"""Redder than any quasar whose forest does not eat the flux at 4550 Å."""

DEEP_TIO = -0.2
"""Step at a TiO head, in ln flux, of which two are enough where the other heads can't be seen."""

BLEND_FWHM_KMS = 1800.0
"""Narrow Hα blended with [N II] reaches 1600 km/s."""

HALF_WIDTH_KMS, REST_KMS, STELLAR_KMS = 6000.0, 3000.0, 1000.0
STELLAR = ("Hα", "Hβ", "Hγ", "Hδ", "Ca II K", "Mg b2", "Na D2")
MAX_CLOSER = 5
MANY = 3
"""So many broad lines need no second look for a galaxy; one fewer still makes a quasar."""

Lines = Mapping[str, LineMeasurement | None]


def inspect(look: Inspection) -> Conclusion:
    """Exclude a star in three wide views, find bumps in the full view, look closer at those of one redshift."""
    colour = look.colour()
    for window in look.task.windows[:3]:
        look.look_at(window.label.split(":", 1)[0] + " part", window.range_AA)
    wide, full = look.together(), look.full.prepared
    if wide is None or full is None:
        return no("Nothing can be seen")
    parts = look.whole(wide)
    if reason := _at_rest(parts):
        return no(reason)
    fit, claimed = _choose(scan_lines(bin_spectrum(full), BROAD_BOXES), look.question.redshift)
    places = ", ".join(f"{name} at {_at(name, fit.redshift):.0f} Å" for name in fit.seen)
    look.note(
        f"Bumps of the full view fit z = {fit.redshift:.3f}{' (the redshift given)' if claimed else ''}: {places}."
        if fit.seen
        else "No broad bump stands out in the full view."
    )
    lines = _closer(look, full, fit)
    broad = [name for name, line in lines.items() if _is_broad(line, MIN_FWHM_KMS)]
    if reason := _against(full, colour, fit, lines):
        return no(reason)
    words = (
        f"{listed(broad)} {'is' if len(broad) == 1 else 'are'} in broad emission at z = {fit.redshift:.3f}"
    )
    if len(broad) >= MANY - 1 or claimed:
        return yes(words)
    if _is_sure(parts, colour, lines[broad[0]]):
        return yes(f"{words}; with one line the redshift is ambiguous")
    return no(f"One bump alone, {broad[0]} at z = {fit.redshift:.3f} perhaps, is not broad enough")


def _against(prepared: Prepared, colour: Measurement | None, fit: RedshiftFit, lines: Lines) -> str:
    """Return what speaks against a quasar at the redshift of the fit, or nothing."""
    broad = [name for name, line in lines.items() if _is_broad(line, MIN_FWHM_KMS)]
    narrow = [name for name, line in lines.items() if in_emission(line) and name not in broad]
    if colour is not None and colour.value < MIN_COLOUR and fit.redshift < FOREST_REDSHIFT:
        return "The continuum is too red for a quasar at that redshift"
    if len(broad) < MANY and (reason := _galaxy(prepared)):
        return reason
    return "" if len(broad) > len(narrow) else "No broad emission lines agree on a redshift"


def _at(name: str, redshift: float) -> float:
    return get_line(name).vacuum_AA * (1 + redshift)


def _choose(scan: LineScan, redshift: float | None) -> tuple[RedshiftFit, bool]:
    """Return the fit at the redshift where most lines agree, the given one where it does as well; and which it was."""
    rest = {name: get_line(name).vacuum_AA for name in BROAD}
    best = scan.best(rest, *REDSHIFTS)
    if redshift is None or redshift < REDSHIFTS[0]:
        return best, False
    given = scan.at(rest, redshift)
    agrees = abs(given.redshift - best.redshift) < AGREEMENT * (1 + best.redshift)
    fits = bool(given.seen) and (agrees or len(given.seen) >= len(best.seen))
    return (given, True) if fits else (best, False)


def _closer(look: Inspection, prepared: Prepared, fit: RedshiftFit) -> dict[str, LineMeasurement | None]:
    """Zoom onto the strongest lines of the fit and measure each there; the others in the wide views."""
    order = sorted(fit.seen, key=lambda name: -fit.seen[name])
    lines: dict[str, LineMeasurement | None] = {}
    for place, name in enumerate(order):
        centre = _at(name, fit.redshift)
        if place < MAX_CLOSER:
            view = look.look_at(
                f"{name} at z = {fit.redshift:.3f}", (round(centre * 0.955), round(centre * 1.045))
            )
            lines[name] = view.line(name, HALF_WIDTH_KMS, fit.redshift)
        else:
            lines[name] = measure_line(prepared, centre, HALF_WIDTH_KMS)
    return lines


def _is_broad(line: LineMeasurement | None, least_kms: float) -> bool:
    return in_emission(line) and line.intrinsic_fwhm_kms >= least_kms


def _at_rest(parts: Seen) -> str:
    """Return which features at zero redshift make it an object of the Galaxy, or nothing."""
    tio = {name: parts.edge(name) for name in TIO}
    deep = [
        edge for name, edge in tio.items() if edge and is_band(get_band(name), edge) and edge.step <= DEEP_TIO
    ]
    if has_tio(tio) or len(deep) >= MANY - 1:
        return "TiO bands at rest: a cool star, whose flux between bands looks like emission"
    carbon = {name: parts.edge(name) for name in C2}
    if has_swan(carbon, parts):
        return "C2 bands at rest: a carbon star, whose flux between bands looks like emission"
    hydrogen = [parts.line(name, REST_KMS) for name in ("Hα", "Hβ")]
    if all(in_emission(line) and abs(line.offset_kms) < 600 and width_AA(line) < -3 for line in hydrogen):
        return "Hα and Hβ are in emission at rest: an object of the Galaxy"
    return ""


def _is_sure(parts: Seen, colour: Measurement | None, line: LineMeasurement | None) -> bool:
    """Tell whether one line alone can only be a quasar's."""
    if colour is None or colour.value < SURE_COLOUR or not _is_broad(line, SURE_FWHM_KMS):
        return False
    stellar = sum(in_absorption(parts.line(name, STELLAR_KMS)) for name in STELLAR)
    return stellar < 2 and -width_AA(line) >= SURE_WIDTH_AA


def _galaxy(prepared: Prepared) -> str:
    """Return the words for narrow lines of a galaxy that explain the spectrum, or nothing."""
    rest = {name: get_line(name).vacuum_AA for name in NARROW}
    fit = scan_lines(bin_spectrum(prepared), NARROW_BOXES).best(rest, *GALAXY_REDSHIFTS)
    if len(fit.seen) < 3:
        return ""
    lines = {name: measure_line(prepared, _at(name, fit.redshift), REST_KMS) for name in NARROW}
    narrow = [line for line in lines.values() if in_emission(line) and line.intrinsic_fwhm_kms < MIN_FWHM_KMS]
    if len(narrow) < 2 or _is_broad(lines["Hβ"], MIN_FWHM_KMS) or _is_broad(lines["Hα"], BLEND_FWHM_KMS):
        return ""
    return f"The lines are narrow and fit a galaxy at z = {fit.redshift:.3f}"
