"""Molecular bands of cool stars, measured once for the four rules that need them: cs, ss, mg, cv."""

import math
from dataclasses import dataclass
from functools import cache

from specvi_baselines.rules.continuum_colour import BLUE_COLOUR, CARBON_COLOUR
from specvi_baselines.rules.finding import MENTIONED_SIGMA, SEEN_SIGMA, edge_words, index_words
from specvi_benchmark.features import (
    EdgeMeasurement,
    Measurement,
    Prepared,
    measure_edge,
    measure_index,
    window_mean,
)
from specvi_benchmark.lines import Index, get_band, get_index

WIDTH_AA = {"C2": 40.0, "CN": 40.0, "TiO": 25.0, "ZrO": 15.0}
"""Stretch compared on either side of a head: as wide as the band keeps its depth and the other side is
free of the next band (read off library spectra)."""

GAP_AA = {"C2": 6.0, "CN": 6.0, "TiO": 4.0, "ZrO": 4.0}
"""Left out beside the head: C2 edges are 10 Å wide at survey resolution, blue edges sharper."""

C2_HEADS = ("C2 4737", "C2 5165", "C2 5636")
TIO_HEADS = ("TiO 4954", "TiO 5448", "TiO 6158", "TiO 7054")
ZRO_HEADS = ("ZrO 5552", "ZrO 6345", "ZrO 6474")
CN_HEADS = ("CN 6925", "CN 7259")


MAX_TIO = -0.40
"""Sum of the steps at four TiO heads, in ln flux: M giants −0.6 and below, K5–M0 giants −0.27 to −0.52, K7
dwarfs −0.28 (library). The wide windows are steadier than TiO5, whose denominator is 4 Å wide."""

MAX_TIO_HEAD = -0.04
"""Step at TiO 5448 and at TiO 7054: M stars −0.13 and below, M0.5 dwarfs −0.05, K stars −0.08 to 0.02
(library). Emission lines of galaxies can mimic one head, not both."""

MIN_TIO_HEADS = 3

MIN_C2_STEP = 0.12
"""Rise at one C2 head that counts. Library G and K giants reach 0.14 at 4737 alone, from CN and metals, and
stay below 0.08 at 5165 and 5636."""

MIN_C2_HEADS = 2
MIN_C2 = 0.40
"""Sum over the heads: carbon stars of the library reach 2.7, the strongest barium star 0.25."""

MIN_C2_EACH = 0.05
"""And each covered head rises by so much: all three sequences belong to one molecule, while the break of a galaxy at
4000 Å, moved to 4737, leaves 5636 flat."""

MAX_CN = -0.05
"""Sum of the steps at the red CN heads: 0 in DQ white dwarfs, whose air has no nitrogen to see; most carbon stars fall by
0.1 to 1."""

MIN_FILL = 1.05
"""Flux at 4780–4850 Å, where C2 5165 has run out, over that just blueward of its head: 2.4 in the library's
carbon star, 0.9–1.0 in other stars and in galaxies, whose break at 4000 Å can fall on C2 4737."""


@dataclass(frozen=True, slots=True)
class Heads:
    """The steps at several heads of one molecule; None where a head is not covered."""

    edges: dict[str, EdgeMeasurement | None]

    @property
    def total(self) -> float:
        """Return the sum of the steps at the covered heads, in ln flux."""
        return sum(edge.step for edge in self.edges.values() if edge is not None)

    @property
    def n_covered(self) -> int:
        """Return how many heads could be measured."""
        return sum(edge is not None for edge in self.edges.values())

    @property
    def error(self) -> float:
        """Return the standard error of `total`; infinite when nothing is covered."""
        errors = [edge.error for edge in self.edges.values() if edge is not None]
        return math.hypot(*errors) if errors else math.inf

    @property
    def significance(self) -> float:
        """Return `total` over its standard error; 0 when nothing is covered."""
        return self.total / self.error

    def count_rising(self, least: float) -> int:
        """Return how many heads rise by at least ``least``, beyond doubt."""
        return sum(
            edge is not None and edge.step >= least and edge.significance >= SEEN_SIGMA
            for edge in self.edges.values()
        )

    def words(self) -> str:
        """Say what was measured at each head."""
        return "; ".join(edge_words(name, edge) for name, edge in self.edges.items())


def measure_heads(prepared: Prepared, names: tuple[str, ...]) -> Heads:
    """Measure the band heads of these names, all of one molecule."""
    species = names[0].split()[0]
    return Heads(
        {name: measure_edge(prepared, _head_AA(name), WIDTH_AA[species], GAP_AA[species]) for name in names}
    )


@cache
def _head_AA(name: str) -> float:
    return get_band(name).vacuum_AA


@cache
def _index(name: str) -> Index:
    return get_index(name)


def measure_named(prepared: Prepared, name: str) -> Measurement | None:
    """Measure an index by its name in the index list."""
    return measure_index(prepared, _index(name))


def named_words(prepared: Prepared, *names: str) -> str:
    """Say what several indices of the list measure."""
    return ", ".join(index_words(name.split()[1], measure_named(prepared, name)) for name in names)


def has_tio(tio: Heads) -> bool:
    """Tell whether TiO is there: the sum of the steps, and the heads at 5448 and 7054 Å each by itself."""
    decisive = [tio.edges[name] for name in ("TiO 5448", "TiO 7054")]
    if tio.n_covered < MIN_TIO_HEADS or any(
        edge is not None and edge.step > MAX_TIO_HEAD for edge in decisive
    ):
        return False
    return tio.total <= MAX_TIO and tio.significance <= -SEEN_SIGMA


def has_swan(prepared: Prepared, carbon: Heads) -> bool:
    """Tell whether C2 is there: two heads rise, and the flux recovers blueward of the head at 5165 Å."""
    if (
        carbon.count_rising(MIN_C2_STEP) < MIN_C2_HEADS
        or carbon.total < MIN_C2
        or carbon.significance < SEEN_SIGMA
        or any(edge is not None and edge.step < MIN_C2_EACH for edge in carbon.edges.values())
    ):
        return False
    outside, inside = window_mean(prepared, (4780.0, 4850.0)), window_mean(prepared, (5100.0, 5160.0))
    if outside is None or inside is None:
        return True
    excess = outside.value - MIN_FILL * inside.value
    return excess > MENTIONED_SIGMA * math.hypot(outside.error, MIN_FILL * inside.error)


def is_white_dwarf_with_swan(prepared: Prepared, shade: Measurement | None) -> bool:
    """Tell whether C2 bands are those of a DQ: a blue continuum, or one bluer than carbon stars and without CN."""
    if shade is None:
        return False
    red = measure_heads(prepared, CN_HEADS)
    without_cn = red.n_covered == len(CN_HEADS) and (
        red.total > MAX_CN or red.significance > -MENTIONED_SIGMA
    )
    return shade.value > BLUE_COLOUR or (shade.value > CARBON_COLOUR and without_cn)
