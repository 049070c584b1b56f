"""Is it a cataclysmic variable? Broad Balmer emission at rest, then helium; or cores in a shallow trough."""

from dataclasses import dataclass, field
from typing import TypeGuard

from specvi_agents.scripted.inspection import Conclusion, Inspection, no, yes
from specvi_agents.scripted.seen import Seen
from specvi_agents.scripted.words import LIGHT_KMS, in_absorption, in_emission, is_band, listed, width_AA
from specvi_benchmark.features import LineMeasurement, Measurement
from specvi_benchmark.lines import get_band

BALMER_KMS, HELIUM_KMS, NARROW_KMS = 2500.0, 1500.0, 700.0
"""Half-widths to measure in: discs reach FWHM 2500 km/s; Na D is 730 km/s from He I 5877."""

MIN_FWHM_KMS, MAX_FWHM_KMS = 450.0, 3500.0
"""Be stars and chromospheres are narrower (200–440 km/s), gaps between bands of cool stars broader."""

MAX_OFFSET_KMS = 600.0
"""Orbital and systemic motion; what lies farther from rest is another line."""

MIN_EMISSION_AA, MIN_EMISSION_COOL_AA = 3.0, 15.0
"""Least EW of a disc's line; in a spectrum with bands the flux between two of them reaches 5 Å."""

MAX_DECREMENT = 4.0
"""EW of Hα over that of Hβ: discs 1–3, nebulae and galaxies 4–7."""

MAX_FORBIDDEN_SHARE = 0.5
MAX_HELIUM_II_SHARE = 1.5
"""[O III] and He II over Hβ: above in nebulae, and in Wolf–Rayet stars."""

TROUGH_FWHM_KMS, TROUGH_DEPTH = 1400.0, 0.25
"""The absorption of a thick disc is at least so broad, at most so deep."""

MIN_HELIUM_II_AA = 1.0
"""Bumps of the continuum at He II 4687 reach 0.3 Å in Be stars."""

MIN_CORE_AA = 0.5
MIN_LINES = 2
"""One line alone decides nothing."""

COOL_COLOUR = 1.0


@dataclass(slots=True)
class _Found:
    """What has been seen so far; None where something can't be seen."""

    colour: Measurement | None
    balmer: dict[str, LineMeasurement | None] = field(default_factory=dict)
    cores: dict[str, LineMeasurement | None] = field(default_factory=dict)
    helium: dict[str, LineMeasurement | None] = field(default_factory=dict)
    oxygen: LineMeasurement | None = None
    has_donor: bool = False

    def measure(self, view: Seen, name: str) -> None:
        """Measure a Balmer line, and its core too where it is not in emission as a whole."""
        self.balmer[name] = view.line(name, BALMER_KMS)
        self.cores[name] = None if in_emission(self.balmer[name]) else view.core(name, NARROW_KMS)

    @property
    def emission(self) -> list[str]:
        """Return the Balmer lines in emission at rest, as a whole or in their cores."""
        return [name for name in self.balmer if at_rest(self.balmer[name]) or at_rest(self.cores[name])]

    @property
    def troughs(self) -> list[str]:
        """Return the Balmer lines in the broad shallow absorption of a thick disc."""
        return [name for name in ("Hβ", "Hγ", "Hδ") if _is_trough(self.balmer.get(name))]

    @property
    def is_cool(self) -> bool:
        """Return whether the spectrum is that of a cool star: TiO, on a continuum that is not blue."""
        return self.has_donor and (self.colour is None or self.colour.value < COOL_COLOUR)

    @property
    def disc(self) -> list[str]:
        """Return the Balmer lines that are as broad and strong as a disc's."""
        least = MIN_EMISSION_COOL_AA if self.is_cool else MIN_EMISSION_AA
        return [name for name in self.emission if _is_disc(self.balmer[name], least)]


def inspect(look: Inspection) -> Conclusion:
    """Look at the Balmer lines, closer where they are in emission, for helium, and for what else explains them."""
    found = _look_at_lines(look)
    if not any(found.balmer.values()):
        return no("No Balmer line can be seen")
    if not (found.emission or found.troughs or in_emission(found.helium["He I 4473"])):
        return no("No Balmer line is in emission at zero redshift")
    _look_further(look, found)
    if reason := _look_alike(found):
        return no(reason)
    if reason := _quiescent(found) or _hot_gas(found) or _helium_disc(found) or _outburst(found):
        return yes(reason)
    return no(_why_not(found))


def _look_at_lines(look: Inspection) -> _Found:
    """Look where every cataclysmic variable shows something."""
    found = _Found(look.colour())
    red = look.look("Hα")
    found.measure(red, "Hα")
    found.helium["He I 6680"] = red.line("He I 6680", HELIUM_KMS)
    found.measure(look.look("Hβ"), "Hβ")
    blue = look.look("Hγ")
    found.measure(blue, "Hγ")
    found.measure(blue, "Hδ")
    found.helium["He I 4473"] = blue.line("He I 4473", HELIUM_KMS)
    found.helium["He II 4687"] = look.look("He II 4687").line("He II 4687", HELIUM_KMS)
    return found


def _look_further(look: Inspection, found: _Found) -> None:
    """Look at what tells a disc from its look-alikes, once something is in emission."""
    if at_rest(line := found.balmer["Hα"]):
        _look_closer(look, line)
    found.helium["He I 5877"] = look.look("He I 5877").line("He I 5877", HELIUM_KMS)
    found.has_donor = is_band(get_band("TiO 7054"), look.look("TiO 7054").edge("TiO 7054"))
    found.oxygen = look.look("[O III] 5008").line("[O III] 5008", NARROW_KMS)


def _look_closer(look: Inspection, line: LineMeasurement) -> None:
    """Zoom onto the profile, to see its width against the instrument's and whether it has two peaks."""
    reach = line.centre_AA * max(2.5 * line.fwhm_kms, 2 * BALMER_KMS) / LIGHT_KMS
    close = look.look_at("profile of Hα", (round(line.centre_AA - reach), round(line.centre_AA + reach)))
    if close.prepared is None:
        return
    look.note(
        f"The profile of Hα is {line.fwhm_kms / line.instrument_kms:.1f} times as wide as the instrument's."
    )
    if apart_kms := close.peaks_apart_kms("Hα", line.fwhm_kms):
        look.note(f"Hα has two peaks {apart_kms:.0f} km/s apart, the mark of a disc.")


def _look_alike(found: _Found) -> str:
    """Return what else explains the emission, or nothing."""
    h_alpha, h_beta, helium = found.balmer["Hα"], found.balmer["Hβ"], found.helium["He II 4687"]
    hydrogen = max(0.0, -width_AA(h_beta))
    if in_emission(found.oxygen) and -width_AA(found.oxygen) > MAX_FORBIDDEN_SHARE * hydrogen:
        return "[O III] 5008 is in emission: a nebula or a galaxy"
    if in_emission(helium) and -width_AA(helium) > MAX_HELIUM_II_SHARE * max(hydrogen, MIN_EMISSION_AA):
        return "He II 4687 is far stronger than Hβ: a Wolf–Rayet star, or a line at another redshift"
    both = in_emission(h_alpha) and in_emission(h_beta)
    if both and not found.troughs and -width_AA(h_alpha) > MAX_DECREMENT * hydrogen:
        return "The Balmer decrement from Hα to Hβ is too steep for a disc: a nebula or a chromosphere"
    return ""


def _quiescent(found: _Found) -> str:
    """Return the words for a disc or stream in quiescence, or nothing; so do the three that follow."""
    disc = found.disc
    if len(disc) < MIN_LINES or (found.balmer["Hα"] is not None and "Hα" not in disc):
        return ""
    helium = [name for name, line in found.helium.items() if in_emission(line)]
    if not helium and (found.is_cool or len(found.emission) <= MIN_LINES):
        return ""
    also = f" with {listed(helium)}" if helium else ""
    return f"{listed(disc)} are in broad emission at zero redshift{also}: gas of a disc or a stream"


def _hot_gas(found: _Found) -> str:
    line = found.helium["He II 4687"]
    strong = in_emission(line) and -width_AA(line) >= MIN_HELIUM_II_AA
    whole = [name for name, measured in found.balmer.items() if at_rest(measured)]
    if len(whole) < MIN_LINES or not strong or found.is_cool:
        return ""
    return f"{listed(whole)} are in emission together with He II 4687: a polar or a nova-like"


def _helium_disc(found: _Found) -> str:
    broad = [
        name
        for name, line in found.helium.items()
        if name.startswith("He I ") and _is_disc(line, MIN_EMISSION_AA)
    ]
    if len(broad) < MIN_LINES or found.emission:
        return ""
    return f"{listed(broad)} are in broad emission without hydrogen: an AM CVn star"


def _outburst(found: _Found) -> str:
    cores = [
        name
        for name in found.balmer
        if _is_disc(found.balmer[name], MIN_CORE_AA) or _is_disc(found.cores[name], MIN_CORE_AA)
    ]
    is_red = found.colour is not None and found.colour.value <= COOL_COLOUR
    if (
        len(cores) < MIN_LINES
        or not {"Hα", "Hβ"} & set(cores)
        or not found.troughs
        or is_red
        or found.is_cool
    ):
        return ""
    return f"Emission cores of {listed(cores)} in broad shallow absorption: a disc in outburst"


def _why_not(found: _Found) -> str:
    seen = found.emission
    if not seen:
        return "No Balmer line is in emission at zero redshift"
    if len(seen) == 1:
        return f"Only {seen[0]} is in emission; one line alone decides nothing"
    if len(found.disc) < MIN_LINES:
        star = "an active M dwarf" if found.is_cool else "a Be star, a chromosphere or a nebula"
        return f"The emission of {listed(seen)} is narrower or weaker than a disc's: {star}"
    return "Balmer emission without helium, or Hα is not the strongest line"


def at_rest(line: LineMeasurement | None) -> TypeGuard[LineMeasurement]:
    """Tell whether a line is in emission at zero redshift."""
    return in_emission(line) and abs(line.offset_kms) <= MAX_OFFSET_KMS


def _is_disc(line: LineMeasurement | None, least_AA: float) -> bool:
    return (
        at_rest(line)
        and MIN_FWHM_KMS <= line.intrinsic_fwhm_kms <= MAX_FWHM_KMS
        and (line.equivalent_width_AA is None or -line.equivalent_width_AA >= least_AA)
    )


def _is_trough(line: LineMeasurement | None) -> bool:
    return in_absorption(line) and line.fwhm_kms >= TROUGH_FWHM_KMS and (line.height or 0.0) >= -TROUGH_DEPTH
