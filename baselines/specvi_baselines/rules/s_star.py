"""Is it an S star? ZrO bands with their sharp edge on the blue side, on a cool giant."""

from specvi_baselines.rules.continuum_colour import COOL_COLOUR, colour
from specvi_baselines.rules.cool_star import C2_HEADS, TIO_HEADS, ZRO_HEADS, has_swan, measure_heads
from specvi_baselines.rules.finding import Finding, index_words, no, yes
from specvi_benchmark.features import Prepared

MAX_TOTAL = -0.40
"""Sum of the steps at three ZrO heads, in ln flux. S and MS stars of the library −0.52 to −0.85, M giants
and supergiants −0.29 to 0.1: TiO and metals give a little at each head."""

M_GIANT_TOTAL = -0.29
"""The most that M giants reach; an S star must exceed it by `EXCESS_SIGMA`."""

EXCESS_SIGMA = 2.5
MAX_STEP = -0.06
"""Every head falls by so much: S stars −0.12 and below; late M giants and Miras lack one or two."""


def decide(prepared: Prepared) -> Finding:
    """Decide from three ZrO heads, 6474 first; C2 makes it a carbon or SC star."""
    zro = measure_heads(prepared, ZRO_HEADS)
    tio = measure_heads(prepared, TIO_HEADS)
    carbon = measure_heads(prepared, C2_HEADS)
    shade = colour(prepared)
    evidence = (zro.words(), tio.words(), index_words("colour f(4550)/f(6650)", shade))
    if zro.n_covered < len(ZRO_HEADS):
        return no("Not all ZrO heads are covered", *evidence)
    if shade is not None and shade.value > COOL_COLOUR:
        return no("Not a cool star", *evidence)
    beyond = (M_GIANT_TOTAL - zro.total) / zro.error
    if zro.total > MAX_TOTAL or beyond < EXCESS_SIGMA:
        return no("No ZrO bands beyond what an M giant shows", *evidence)
    missing = [name for name, edge in zro.edges.items() if edge is None or edge.step > MAX_STEP]
    if missing:
        return no(f"{' and '.join(missing)} missing", *evidence)
    if has_swan(prepared, carbon):
        return no("C2 Swan bands: a carbon star", *evidence, carbon.words())
    return yes(f"ZrO bands at {', '.join(name.split()[1] for name in ZRO_HEADS)} Å", *evidence)
