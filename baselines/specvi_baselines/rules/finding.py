"""What a rule returns, and how measurements are put into words."""

from dataclasses import dataclass
from functools import cache
from typing import TypeGuard

from specvi_benchmark.features import EdgeMeasurement, LineMeasurement, Measurement, Prepared, measure_line
from specvi_benchmark.lines import get_line
from specvi_benchmark.vetting import Answer

SEEN_SIGMA = 5.0
"""A feature counts from this significance on. Five, because a rule looks at up to fifteen places and the
errors of surveys are often a little small."""

MENTIONED_SIGMA = 3.0
"""A weaker feature is mentioned from here on, and decides nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer, the reason in one sentence, and what was measured, each in a few words."""

    answer: Answer
    reason: str
    evidence: tuple[str, ...]


def yes(reason: str, *evidence: str) -> Finding:
    """Return a YES; empty words are left out of the evidence."""
    return Finding("YES", reason, tuple(filter(None, evidence)))


def no(reason: str, *evidence: str) -> Finding:
    """Return a NO; empty words are left out of the evidence."""
    return Finding("NO", reason, tuple(filter(None, evidence)))


def measure(prepared: Prepared, line: str, half_width_kms: float) -> LineMeasurement | None:
    """Measure a line by its name in the line list."""
    return measure_line(prepared, rest_AA(line), half_width_kms)


@cache
def rest_AA(line: str) -> float:
    """Return the vacuum wavelength of a line by its name; remembered, since a run asks it millions of times."""
    return get_line(line).vacuum_AA


def in_emission(line: LineMeasurement | None) -> TypeGuard[LineMeasurement]:
    """Tell whether a line is in emission beyond doubt, and no spike."""
    return line is not None and line.significance >= SEEN_SIGMA and not line.narrower_than_instrument


def in_absorption(line: LineMeasurement | None) -> TypeGuard[LineMeasurement]:
    """Tell whether a line is in absorption beyond doubt, and not a few dead pixels."""
    return line is not None and line.significance <= -SEEN_SIGMA and not line.narrower_than_instrument


def width_AA(line: LineMeasurement | None) -> float:
    """Return the equivalent width, positive in absorption; 0 where it could not be measured."""
    return 0.0 if line is None or line.equivalent_width_AA is None else line.equivalent_width_AA


def line_words(name: str, line: LineMeasurement | None) -> str:
    """Say what was measured of a line: ``Hα emission, FWHM 1240 km/s, EW 32.1 Å, 14σ``."""
    if line is None:
        return f"{name} not covered"
    if abs(line.significance) < MENTIONED_SIGMA:
        limit = line.equivalent_width_error_AA
        return f"no {name}" if limit is None else f"no {name} (|EW| < {3 * limit:.1f} Å)"
    kind = "emission" if line.significance > 0 else "absorption"
    if line.narrower_than_instrument:
        return f"{name} {kind} no wider than a spike, not counted"
    width = f"FWHM {line.fwhm_kms:.0f} km/s"
    if line.intrinsic_fwhm_kms == 0:
        width = f"unresolved (instrument {line.instrument_kms:.0f} km/s)"
    strength = "continuum not detected"
    if line.equivalent_width_AA is not None:
        strength = f"EW {abs(line.equivalent_width_AA):.1f} Å"
    return f"{name} {kind}, {width}, {strength}, {abs(line.significance):.0f}σ"


def edge_words(name: str, edge: EdgeMeasurement | None) -> str:
    """Say what was measured at a band head: ``TiO 7054: flux falls by 24 % going redward, 31σ``."""
    if edge is None:
        return f"{name} not covered"
    if abs(edge.significance) < MENTIONED_SIGMA:
        return f"no step at {name}"
    kind = "rises" if edge.step > 0 else "falls"
    return f"{name}: flux {kind} by {100 * abs(edge.ratio - 1):.0f} % going redward, {abs(edge.significance):.0f}σ"


def index_words(name: str, index: Measurement | None) -> str:
    """Say what an index measured: ``TiO5 0.43 ± 0.01``."""
    return f"{name} not covered" if index is None else f"{name} {index.value:.2f} ± {index.error:.2f}"
