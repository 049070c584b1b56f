"""Is it a carbon star? C2 Swan bands with their sharp edge on the red side."""

from specvi_baselines.rules.continuum_colour import colour
from specvi_baselines.rules.cool_star import (
    C2_HEADS,
    CN_HEADS,
    MIN_C2_HEADS,
    TIO_HEADS,
    has_swan,
    is_white_dwarf_with_swan,
    measure_heads,
)
from specvi_baselines.rules.finding import Finding, index_words, no, yes
from specvi_benchmark.features import Prepared


def decide(prepared: Prepared) -> Finding:
    """Decide from the steps at three C2 heads; a blue continuum, or no CN (a DQ white dwarf), speaks against."""
    carbon = measure_heads(prepared, C2_HEADS)
    tio = measure_heads(prepared, TIO_HEADS)
    shade = colour(prepared)
    evidence = (carbon.words(), tio.words(), index_words("colour f(4550)/f(6650)", shade))
    if carbon.n_covered < MIN_C2_HEADS:
        return no(f"Fewer than {MIN_C2_HEADS} C2 heads are covered", *evidence)
    if not has_swan(prepared, carbon):
        return no("No C2 Swan bands", *evidence)
    if is_white_dwarf_with_swan(prepared, shade):
        cyanogen = measure_heads(prepared, CN_HEADS).words()
        return no(
            "C2 Swan bands on a continuum too blue for a carbon star: a DQ white dwarf", *evidence, cyanogen
        )
    return yes("C2 Swan bands, with their sharp edges on the red side", *evidence)
