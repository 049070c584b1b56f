"""Is it an M giant? TiO bands, with weak CaH, MgH and Na I."""

import math

from specvi_baselines.rules import s_star
from specvi_baselines.rules.continuum_colour import COOL_COLOUR, colour
from specvi_baselines.rules.cool_star import (
    MIN_TIO_HEADS,
    TIO_HEADS,
    has_tio,
    measure_heads,
    measure_named,
    named_words,
)
from specvi_baselines.rules.finding import Finding, index_words, no, yes
from specvi_benchmark.features import Prepared

CAH1_BORDER = 0.925
"""Giants 0.95–1.03, dwarfs 0.76–0.90 (library)."""

NAI_BORDER = 0.95
"""Na I 8190 index: giants 0.98–1.03, dwarfs 0.78–0.92 (library)."""

NAD_BORDER = 0.71
"""Na D index: giants 0.73–1.03, dwarfs of types M0–M6 0.56–0.72 (library)."""


MAX_VOTE, MIN_VOTE = 5.0, 5.0
"""One criterion counts at most so many sigma; their sum decides from `MIN_VOTE` on."""

SYSTEMATIC = 0.02
"""Least error of an index: flux calibration between windows."""


def cah_border(tio5: float) -> float:
    """Return the CaH2 + CaH3 that separates giants (above) from dwarfs at equal TiO5.

    A straight line between the library's giants and dwarfs in the plane of Zhong et al. (2015).
    """
    return 0.85 + 0.95 * tio5


def decide(prepared: Prepared) -> Finding:
    """Decide first whether it is of type M, then giant or dwarf by a vote of four criteria."""
    tio = measure_heads(prepared, TIO_HEADS)
    indices = named_words(
        prepared,
        "PyHammer TiO5",
        "PyHammer CaH2",
        "PyHammer CaH3",
        "PMSU CaH1",
        "PyHammer NaI",
        "PyHammer NaD",
    )
    shade = colour(prepared)
    evidence = (tio.words(), indices, index_words("colour f(4550)/f(6650)", shade))
    if tio.n_covered < MIN_TIO_HEADS:
        return no(f"Fewer than {MIN_TIO_HEADS} TiO heads are covered", *evidence)
    if not has_tio(tio) or (shade is not None and shade.value > COOL_COLOUR):
        return no("No TiO bands on a red continuum: not of type M", *evidence)
    if s_star.decide(prepared).answer == "YES":
        return no("ZrO bands: an S star", *evidence)
    votes = _votes(prepared)
    told = ", ".join(f"{name} {'giant' if sigma > 0 else 'dwarf'}" for name, sigma in votes.items())
    total = sum(votes.values())
    if total >= MIN_VOTE:
        return yes(f"TiO bands of type M, luminosity of a giant ({told})", *evidence)
    if total <= -MIN_VOTE:
        return no(f"TiO bands of type M, luminosity of a dwarf ({told})", *evidence)
    return no(f"TiO bands of type M, luminosity not clear ({told or 'no index covered'})", *evidence)


def _votes(prepared: Prepared) -> dict[str, float]:
    """Return each criterion's distance from its border in sigma, positive for a giant, at most `MAX_VOTE`."""
    distances: dict[str, tuple[float, float]] = {}
    for name, index, border in (
        ("CaH1", "PMSU CaH1", CAH1_BORDER),
        ("Na I 8190", "PyHammer NaI", NAI_BORDER),
        ("Na D", "PyHammer NaD", NAD_BORDER),
    ):
        if (value := measure_named(prepared, index)) is not None:
            distances[name] = (value.value - border, value.error)
    tio5, cah2, cah3 = (measure_named(prepared, f"PyHammer {name}") for name in ("TiO5", "CaH2", "CaH3"))
    if tio5 is not None and cah2 is not None and cah3 is not None:
        distance = cah2.value + cah3.value - cah_border(tio5.value)
        distances["CaH2 + CaH3 against TiO5"] = (distance, math.hypot(cah2.error, cah3.error))
    return {
        name: max(-MAX_VOTE, min(MAX_VOTE, distance / max(error, SYSTEMATIC)))
        for name, (distance, error) in distances.items()
    }
