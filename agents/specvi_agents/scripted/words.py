"""How measurements are put into words: what is there, what is absent, and what can't be seen."""

from collections.abc import Sequence
from typing import TypeGuard

from specvi_benchmark.features import EdgeMeasurement, LineMeasurement, Measurement
from specvi_benchmark.lines import Band

SEEN_SIGMA = 5.0
"""A feature counts from this significance on: an inspection looks at up to twenty places, and errors of surveys
are often a little small."""

HINT_SIGMA = 3.0
"""A weaker feature is a hint from here on; below, it is absent as far as the noise lets one say."""

MIN_STEP = 0.03
"""Steps below this, in ln flux, are within what flux calibration leaves over."""

LIGHT_KMS = 299_792.458


def in_emission(line: LineMeasurement | None) -> TypeGuard[LineMeasurement]:
    """Tell whether a line is in emission beyond doubt, and no spike."""
    return line is not None and line.significance >= SEEN_SIGMA and not line.narrower_than_instrument


def in_absorption(line: LineMeasurement | None) -> TypeGuard[LineMeasurement]:
    """Tell whether a line is in absorption beyond doubt, and not a few dead pixels."""
    return line is not None and line.significance <= -SEEN_SIGMA and not line.narrower_than_instrument


def width_AA(line: LineMeasurement | None) -> float:
    """Return the equivalent width, positive in absorption; 0 where it is not known."""
    return 0.0 if line is None or line.equivalent_width_AA is None else line.equivalent_width_AA


def line_words(name: str, shifted_AA: float | None, line: LineMeasurement | None) -> str:
    """Say what was seen of a line: ``Hα is in emission: EW 32.1 Å, FWHM 1240 km/s (27 Å), 14σ.``"""
    where = name if shifted_AA is None else f"{name} at {shifted_AA:.0f} Å"
    if line is None:
        return f"{where} cannot be seen: too few good pixels."
    strength = abs(line.significance)
    kind = "emission" if line.significance > 0 else "absorption"
    if strength < HINT_SIGMA:
        limit = line.equivalent_width_error_AA
        bound = "" if limit is None else f" (EW below {HINT_SIGMA * limit:.1f} Å)"
        return f"{where} is absent: neither emission nor absorption above the noise{bound}."
    if strength < SEEN_SIGMA:
        return f"{where}: a hint of {kind} at {strength:.1f}σ, which does not count."
    if line.narrower_than_instrument:
        return f"{where}: a spike narrower than the instrument's profile, which does not count."
    width = f"FWHM {line.fwhm_kms:.0f} km/s ({line.fwhm_kms / LIGHT_KMS * line.centre_AA:.0f} Å)"
    if line.intrinsic_fwhm_kms == 0:
        width = "unresolved"
    strength_words = "" if line.equivalent_width_AA is None else f"EW {abs(line.equivalent_width_AA):.1f} Å, "
    return f"{where} is in {kind}: {strength_words}{width}, {strength:.0f}σ."


def is_band(band: Band, edge: EdgeMeasurement | None) -> bool:
    """Tell whether a step is beyond doubt and goes the way of the band."""
    if edge is None or abs(edge.step) < MIN_STEP:
        return False
    return _toward(band) * edge.significance >= SEEN_SIGMA


def edge_words(band: Band, edge: EdgeMeasurement | None) -> str:
    """Say what was seen at a band head: ``TiO 7054 is present: the flux falls by 24 % going redward, 31σ.``"""
    if edge is None:
        return f"{band.name} cannot be seen: too few good pixels."
    change = f"{100 * abs(edge.ratio - 1):.0f} %"
    going = f"the flux {'rises' if edge.step > 0 else 'falls'} by {change} going redward"
    strength = abs(edge.significance)
    if is_band(band, edge):
        return (
            f"{band.name} is present: {going}, the sharp edge on the {band.sharp_edge} side, {strength:.0f}σ."
        )
    if strength < HINT_SIGMA or abs(edge.step) < MIN_STEP:
        return f"{band.name} is absent: no step above the noise (± {100 * edge.error:.0f} %)."
    if _toward(band) * edge.step < 0:
        return f"{band.name} is absent: {going}, the wrong way for this band."
    return f"{band.name}: a hint of a step ({going}, {strength:.1f}σ), which does not count."


def index_words(name: str, index: Measurement | None) -> str:
    """Say what an index measures: ``TiO5 index 0.43 ± 0.01.``"""
    if index is None:
        return f"The {name} index cannot be measured: too few good pixels or too little flux."
    return f"{name} index {index.value:.2f} ± {index.error:.2f}."


def _toward(band: Band) -> int:
    """Return 1 where the flux rises at the head going redward, -1 where it falls."""
    return 1 if band.sharp_edge == "red" else -1


def listed(names: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
