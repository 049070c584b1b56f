"""Do narrow emission lines of a galaxy fit at one redshift? What two rules ask."""

from dataclasses import dataclass

from specvi_baselines.rules.finding import in_emission, rest_AA
from specvi_benchmark.features import LineMeasurement, LineScan, Prepared, RedshiftFit, measure_line

LINES = ("[O II] 3728", "Hβ", "[O III] 4960", "[O III] 5008", "Hα")
"""Lines of star-forming and narrow-line galaxies."""

BOXES = (1, 2)
"""Widths searched, in bins of 690 km/s."""

MAX_REDSHIFT = 1.2
MAX_FWHM_KMS = 1000.0
"""The usual border between narrow and broad (Schneider et al. 2010, AJ 139, 2360)."""

MIN_LINES, MIN_NARROW = 3, 2
"""So many lines are seen at one redshift, and so many of them measured as narrow."""

HALF_WIDTH_KMS = 3000.0
"""Half as far as [O III] 4960 is from Hβ."""


@dataclass(frozen=True, slots=True)
class GalaxyLines:
    """The redshift at which lines fit, whether it is the pipeline's, and each line as measured there."""

    fit: RedshiftFit
    claimed: bool
    lines: dict[str, LineMeasurement | None]

    @property
    def words(self) -> str:
        """Say the redshift, where it comes from, and which lines fit."""
        origin = ", the pipeline's" if self.claimed else ""
        return f"z = {self.fit.redshift:.3f}{origin} ({', '.join(self.fit.seen)})"


def find_lines(
    prepared: Prepared, scan: LineScan, least: float, redshift: float | None = None
) -> GalaxyLines | None:
    """Return the lines at the redshift from ``least`` up at which most fit; None where too few do.

    The pipeline's redshift is taken instead where as many lines fit.
    """
    rest = {name: rest_AA(name) for name in LINES}
    fit, claimed = scan.best(rest, least, MAX_REDSHIFT), False
    if redshift is not None and redshift >= least:
        given = scan.at(rest, redshift)
        if len(given.seen) >= len(fit.seen):
            fit, claimed = given, True
    if len(fit.seen) < MIN_LINES:
        return None
    lines = {name: measure_line(prepared, rest[name] * (1 + fit.redshift), HALF_WIDTH_KMS) for name in LINES}
    narrow = [in_emission(line) and line.intrinsic_fwhm_kms < MAX_FWHM_KMS for line in lines.values()]
    return GalaxyLines(fit, claimed, lines) if sum(narrow) >= MIN_NARROW else None
