"""Is it a carbon star, an S star, an M giant? Which side of the heads is dark, and the luminosity of M stars."""

import math
from collections.abc import Mapping

from specvi_agents.scripted.inspection import Conclusion, Inspection, no, yes
from specvi_agents.scripted.seen import Seen
from specvi_agents.scripted.words import HINT_SIGMA, is_band, listed
from specvi_benchmark.features import EdgeMeasurement, Measurement
from specvi_benchmark.lines import get_band

C2 = ("C2 5165", "C2 4737", "C2 5636")
MIN_C2_STEP, MIN_C2_TOTAL, MIN_C2_HEADS = 0.12, 0.40, 2
"""Rise at a head that counts, in ln flux, and the sum wanted: G and K giants reach 0.14 at 4737 alone, the
strongest barium star 0.25 together, carbon stars up to 2.7 (library spectra)."""

REACH_AA = (4740.0, 5190.0)
FILL_AA = ((4780.0, 4850.0), (5100.0, 5160.0))
MIN_FILL = 1.05
"""Flux blueward of the reach of C2 5165 over that just blueward of its head: a band recovers, the break of a
galaxy at the place of C2 4737 does not."""

BLUE_COLOUR = 1.3
"""Bluer than any star with C2 but a DQ white dwarf."""

COOL_COLOUR = 1.0
"""M and S stars are redder."""

ZRO = ("ZrO 6474", "ZrO 6345", "ZrO 5552")
MAX_ZRO_STEP, MAX_ZRO_TOTAL = -0.06, -0.40
M_GIANT_ZRO, ZRO_SIGMA = -0.29, 2.5
"""Steps at three heads together: S and MS stars −0.52 to −0.85, M giants down to −0.29, which an S star
must exceed by so many sigma (library spectra)."""

S_STAR_STEP = -0.22
"""Step at ZrO 6474 alone that makes an S star: S stars −0.21 to −0.42 in ln flux, M giants down to −0.17 (domain
reference: ratios 0.66–0.81 and 0.84–0.97)."""

TIO = ("TiO 7054", "TiO 5448", "TiO 6158", "TiO 4954")
MAX_TIO_STEP, MAX_TIO_TOTAL = -0.04, -0.40
"""Steps of M stars: −0.13 and below at 5448 and 7054 each, K stars −0.08 at most; together M giants −0.6 and
below, K5–M0 giants −0.27 to −0.52 (library spectra)."""

CAH1_BORDER, NAI_BORDER, NAD_BORDER = 0.925, 0.95, 0.71
"""Index between dwarfs (below) and giants (above): windows of Reid et al. 1995 and Kesseli et al. 2017, borders
from library spectra."""

CAH_BORDER = (0.85, 0.95)
"""CaH2 + CaH3 at a TiO5 index: intercept and slope of the border, in the plane of Zhong et al. 2015."""

MAX_VOTE, MIN_VOTE = 5.0, 5.0
SYSTEMATIC = 0.02
"""A criterion counts at most `MAX_VOTE` sigma, its error is at least `SYSTEMATIC`; `MIN_VOTE` together decide."""

Edges = Mapping[str, EdgeMeasurement | None]


def inspect_carbon(look: Inspection) -> Conclusion:
    """Look at three C2 heads; then at CN, which confirms them, or at TiO, which explains why they are missing."""
    colour = look.colour()
    steps = {name: look.look(name).edge(name) for name in C2}
    if sum(edge is not None for edge in steps.values()) < MIN_C2_HEADS:
        return no("Fewer than two C2 heads can be seen")
    if not (_rises(steps) and has_swan(steps, look.look_at("C2 5165 and blueward", REACH_AA))):
        look.look("TiO 7054").edge("TiO 7054")
        return no("The flux does not rise as it must at two C2 heads, so there are no Swan bands")
    if colour is not None and colour.value > BLUE_COLOUR:
        return no("C2 bands on a blue continuum: a DQ white dwarf")
    look.look("CN 7820").edge("CN 7820")
    return yes(f"{listed(_rising(steps))} are dark on the blue side of a sharp edge: Swan bands")


def inspect_s_star(look: Inspection) -> Conclusion:
    """Look at ZrO 6474, then at two more systems, then for carbon."""
    colour = look.colour()
    if colour is not None and colour.value > COOL_COLOUR:
        look.look(ZRO[0]).edge(ZRO[0])
        return no("The continuum is not that of a cool star")
    steps = {name: look.look(name).edge(name) for name in ZRO[:2]}
    if steps[ZRO[0]] is None:
        return no("ZrO 6474 cannot be seen")
    if all(edge is not None and edge.step > MAX_ZRO_STEP / 2 for edge in steps.values()):
        return no("No step at ZrO 6474 nor at ZrO 6345")
    steps[ZRO[2]] = look.look(ZRO[2]).edge(ZRO[2])
    look.look("TiO 7054").edge("TiO 7054")
    if not _has_zirconium(steps):
        return no("The steps at the ZrO heads are no more than those of an M giant, or not all can be seen")
    carbon = look.look("C2 5165").edge("C2 5165")
    if carbon is not None and carbon.step > MIN_C2_STEP and is_band(get_band("C2 5165"), carbon):
        return no("C2 5165 is there: a carbon star")
    return yes(f"{listed(ZRO)} all fall going redward: ZrO of an S star")


def inspect_m_giant(look: Inspection) -> Conclusion:
    """Look for TiO, then for the luminosity: CaH, Na I, Na D, and for ZrO of an S star."""
    colour = look.colour()
    red = look.look("TiO 7054")
    steps = {"TiO 7054": red.edge("TiO 7054")}
    steps["TiO 5448"] = look.look("TiO 5448").edge("TiO 5448")
    if colour is not None and colour.value > COOL_COLOUR:
        return no("The continuum is not that of an M star")
    if any(edge is not None and edge.step > MAX_TIO_STEP for edge in steps.values()):
        return no("No TiO at 5448 or 7054 Å: not of type M")
    for name in TIO[2:]:
        steps[name] = look.look(name).edge(name)
    if not has_tio(steps):
        return no("The TiO bands are too weak for type M, or cannot be seen")
    votes = _luminosity(look, red)
    zro = look.look("ZrO 6474").edge("ZrO 6474")
    total = sum(votes.values())
    told = ", ".join(f"{name} {'giant' if sigma > 0 else 'dwarf'}" for name, sigma in votes.items())
    if total < MIN_VOTE:
        kind = "a dwarf" if total <= -MIN_VOTE else "not clear"
        return no(f"TiO of type M, the luminosity is {kind} ({told or 'no index measured'})")
    if is_band(get_band("ZrO 6474"), zro) and zro is not None and zro.step <= S_STAR_STEP:
        return no("ZrO steps beyond those of an M giant: an S star")
    return yes(f"TiO of type M with the luminosity of a giant ({told})")


def has_swan(steps: Edges, view: Seen) -> bool:
    """Tell whether C2 is there: two heads rise, and in ``view`` the flux recovers blueward of C2 5165."""
    if not _rises(steps):
        return False
    beyond, inside = (view.mean(window) for window in FILL_AA)
    if beyond is None or inside is None:
        return True
    excess = beyond.value - MIN_FILL * inside.value
    recovers = excess > HINT_SIGMA * math.hypot(beyond.error, MIN_FILL * inside.error)
    view.notes.append(
        f"Blueward of C2 5165 the flux {'recovers' if recovers else 'does not clearly recover'}: its mean is "
        f"{beyond.value:.3g} near 4815 Å and {inside.value:.3g} just below the head."
    )
    return recovers


def _rises(steps: Edges) -> bool:
    """Tell whether the flux rises at two heads, and by enough at all of them together."""
    known = [edge for edge in steps.values() if edge is not None]
    total, error = sum(edge.step for edge in known), math.hypot(*(edge.error for edge in known), 1e-9)
    return len(_rising(steps)) >= MIN_C2_HEADS and total >= MIN_C2_TOTAL and total >= 5 * error


def _rising(steps: Edges) -> list[str]:
    return [
        name
        for name, edge in steps.items()
        if edge is not None and edge.step >= MIN_C2_STEP and is_band(get_band(name), edge)
    ]


def _has_zirconium(steps: Edges) -> bool:
    known = [edge for edge in steps.values() if edge is not None]
    if len(known) < len(ZRO):
        return False
    total, error = sum(edge.step for edge in known), math.hypot(*(edge.error for edge in known))
    every = all(edge.step <= MAX_ZRO_STEP for edge in known)
    return every and total <= MAX_ZRO_TOTAL and M_GIANT_ZRO - total >= ZRO_SIGMA * error


def has_tio(steps: Edges) -> bool:
    """Tell whether TiO of type M is there: every decisive head falls, and all of them together."""
    if any((edge := steps.get(name)) is not None and edge.step > MAX_TIO_STEP for name in TIO[:2]):
        return False
    known = [edge for edge in steps.values() if edge is not None]
    total, error = sum(edge.step for edge in known), math.hypot(*(edge.error for edge in known), 1e-9)
    return len(known) >= 3 and total <= MAX_TIO_TOTAL and total <= -5 * error


def _luminosity(look: Inspection, red: Seen) -> dict[str, float]:
    """Return each criterion's distance from its border in sigma, positive for a giant."""
    distances: dict[str, tuple[float, float]] = {}
    tio5, cah2, cah3 = (red.index(f"PyHammer {name}") for name in ("TiO5", "CaH2", "CaH3"))
    if tio5 is not None and cah2 is not None and cah3 is not None:
        border = CAH_BORDER[0] + CAH_BORDER[1] * tio5.value
        distances["CaH against TiO"] = (cah2.value + cah3.value - border, math.hypot(cah2.error, cah3.error))
    for name, window, index, border in (
        ("CaH 6382", "CaH 6382", "PMSU CaH1", CAH1_BORDER),
        ("Na I 8190", "Na I 8186", "PyHammer NaI", NAI_BORDER),
        ("Na D", "Na D2", "PyHammer NaD", NAD_BORDER),
    ):
        value: Measurement | None = look.look(window).index(index)
        if value is not None:
            distances[name] = (value.value - border, value.error)
    return {
        name: max(-MAX_VOTE, min(MAX_VOTE, distance / max(error, SYSTEMATIC)))
        for name, (distance, error) in distances.items()
    }
