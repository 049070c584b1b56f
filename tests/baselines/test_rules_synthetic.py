"""States for which no real spectrum is at hand, drawn from closed forms; and damage that must not matter."""

from dataclasses import replace

import numpy as np
import pytest

from specvi_baselines.rules import explain
from specvi_benchmark.features import measure_line, prepare
from specvi_benchmark.lines import get_band, get_line
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.tasks import TASK_KEYS, all_tasks, get_task
from specvi_benchmark.vetting import Question

LIGHT_KMS = 299_792.458
GRID_AA = 3700 * 10 ** (1e-4 * np.arange(3909))
BLUE = (GRID_AA / 5500) ** -2.5
BALMER = ("Hα", "Hβ", "Hγ", "Hδ")


def drawn(lines, continuum=BLUE, snr=30.0, seed=0, mask=None):
    """Return a spectrum with Gaussian lines ``(name, FWHM km/s, height over the continuum)``."""
    flux = continuum.copy()
    for name, fwhm_kms, height in lines:
        centre = get_line(name).vacuum_AA
        sigma = centre * np.hypot(fwhm_kms, LIGHT_KMS / 1800) / LIGHT_KMS / 2.3548
        flux = flux + continuum * height * np.exp(-0.5 * ((GRID_AA - centre) / sigma) ** 2)
    noise = np.abs(continuum) / snr
    noisy = flux + np.random.default_rng(seed).normal(size=flux.size) * noise
    return clean_spectrum(GRID_AA, noisy, noise**-2, mask, survey="lamost")


def ask(spectrum, task):
    return explain(Question("q", get_task(task), spectrum))


QUIESCENT = [(name, 1500, height) for name, height in zip(BALMER, (3.0, 2.0, 1.5, 1.2), strict=True)]
QUIESCENT += [("He I 5877", 1400, 0.7), ("He I 6680", 1400, 0.4)]
OUTBURST = [(name, 3000, -0.15) for name in BALMER[1:]] + [(name, 700, 0.2) for name in BALMER]
POLAR = [(name, 350, 1.5) for name in BALMER] + [("He II 4687", 400, 1.3)]
AM_CVN = [(name, 1200, 0.6) for name in ("He I 4473", "He I 5877", "He I 6680")]
ACTIVE_STAR = [(name, 60, 2.0) for name in BALMER]
NEBULA = [
    ("Hα", 100, 8.0),
    ("Hβ", 100, 2.0),
    ("Hγ", 100, 1.0),
    ("[O III] 5008", 100, 9.0),
    ("[O III] 4960", 100, 3.0),
]
BE_STAR = [
    ("Hα", 300, 3.0),
    ("Hβ", 300, 0.4),
    ("Hγ", 900, -0.3),
    ("Hδ", 900, -0.35),
    ("He I 4473", 300, -0.15),
]


@pytest.mark.parametrize(
    "lines", [QUIESCENT, OUTBURST, POLAR, AM_CVN], ids=["quiescent", "outburst", "polar", "AM CVn"]
)
def test_states_of_a_cv(lines):
    assert ask(drawn(lines), "cv")[0].answer == "YES"


@pytest.mark.parametrize(
    "lines", [[], ACTIVE_STAR, NEBULA, BE_STAR], ids=["nothing", "active star", "nebula", "Be star"]
)
def test_what_is_no_cv(lines):
    assert ask(drawn(lines), "cv")[0].answer == "NO"


def test_one_broad_line_alone_decides_nothing():
    finding, _ = ask(drawn([("Hα", 1500, 3.0)]), "cv")
    assert finding.answer == "NO"
    assert "Only Hα is in emission" in finding.reason


def test_emission_away_from_rest_is_no_cv():
    moved = drawn(QUIESCENT)
    moved = clean_spectrum(moved.wavelength_AA * 1.02, moved.flux, moved.ivar, moved.mask, survey="lamost")
    assert ask(moved, "cv")[0].answer == "NO"


def test_the_words_are_the_measurement():
    spectrum = drawn(QUIESCENT)
    line = measure_line(prepare(spectrum), get_line("Hα").vacuum_AA, 2500.0)
    _, text = ask(spectrum, "cv")
    words = f"- Hα emission, FWHM {line.fwhm_kms:.0f} km/s, EW {-line.equivalent_width_AA:.1f} Å, {line.significance:.0f}σ"
    assert words in text.split("\n")


@pytest.mark.parametrize("task", TASK_KEYS)
@pytest.mark.parametrize(
    "spectrum",
    [
        drawn([], np.zeros(GRID_AA.size) + 1e-20, snr=0.01),
        drawn([], -BLUE),
        clean_spectrum(GRID_AA, np.zeros(GRID_AA.size)),
        clean_spectrum(GRID_AA, np.ones(GRID_AA.size)),
        clean_spectrum([4000.0, 9000.0], [1.0, 2.0]),
        clean_spectrum(GRID_AA[:300], 1e-17 * BLUE[:300]),
        drawn([], mask=np.arange(GRID_AA.size) != 2000),
    ],
    ids=["noise", "negative", "zero", "constant", "two pixels", "blue end only", "one good pixel"],
)
def test_nothing_to_see_is_no_for_every_task(task, spectrum):
    finding, text = ask(spectrum, task)
    assert finding.answer == "NO"
    assert finding.reason
    assert "nan" not in text
    assert " inf" not in text


@pytest.mark.parametrize("task", TASK_KEYS)
def test_a_wild_pixel_is_as_if_masked(task):
    lone = np.arange(GRID_AA.size) == 1500
    clean = drawn([])
    struck = replace(clean, flux=np.where(lone, 1e300, clean.flux))
    assert ask(struck, task) == ask(replace(clean, mask=lone), task)


def test_noise_alone_is_no_for_every_task():
    for seed in range(8):
        spectrum = drawn([], np.full(GRID_AA.size, 1.0), snr=1.1, seed=seed)
        for task in TASK_KEYS:
            finding, text = ask(spectrum, task)
            assert finding.answer == "NO", (seed, task)
            assert "little can be measured" in text


def test_masked_pixels_cannot_change_a_verdict():
    mask = np.zeros(GRID_AA.size, dtype=bool)
    mask[np.random.default_rng(5).integers(0, GRID_AA.size, 300)] = True
    good = drawn(QUIESCENT, mask=mask)
    wild = np.where(mask, 1e9, good.flux)
    for task in TASK_KEYS:
        other = clean_spectrum(GRID_AA, wild, good.ivar, mask, survey="lamost")
        assert explain(Question("q", get_task(task), other)) == ask(good, task)


def test_what_is_not_covered_is_said():
    spectrum = drawn(QUIESCENT, mask=GRID_AA > 6000)
    finding, _ = ask(spectrum, "cv")
    assert finding.answer == "YES"  # Hβ to Hδ are still there, and He I 5877
    assert "Hα not covered" in finding.evidence
    assert ask(drawn(QUIESCENT, mask=GRID_AA < 7000), "cv")[0].reason == "No Balmer line is covered"


def test_the_pipelines_redshift_of_a_quasar_is_used_or_ignored():
    flux = (GRID_AA / 5500) ** -1.5
    for rest_AA, height in ((1549.06, 1.0), (1908.73, 0.6), (2798.75, 0.8)):
        centre = rest_AA * 2.2
        flux = flux + height * flux * np.exp(
            -0.5 * ((GRID_AA - centre) / (centre * 4000 / LIGHT_KMS / 2.3548)) ** 2
        )
    spectrum = drawn([], flux, snr=10)
    for redshift, words in (
        (None, "found here"),
        (1.2, "the pipeline's, and the lines are there"),
        (0.1, "z = 0.100 fits worse"),
    ):
        finding, text = explain(Question("q", get_task("qso"), spectrum, redshift))
        assert finding.answer == "YES"
        assert "z = 1.20" in finding.reason
        assert words in text


def test_every_task_has_a_rule():
    spectrum = drawn([])
    assert {task.key for task in all_tasks()} == {task for task in TASK_KEYS if ask(spectrum, task)}


def swan(depths, colour):
    """A power law with the three Swan sequences: each falls to ``depth`` at its head and recovers over 300 Å bluewards."""
    flux = (GRID_AA / 5500) ** colour
    for name, depth in zip(("C2 4737", "C2 5165", "C2 5636"), depths, strict=True):
        head = get_band(name).vacuum_AA
        inside = (head > GRID_AA) & (head - 300 < GRID_AA)
        flux = flux * np.where(inside, 1 - depth * (1 - (head - GRID_AA) / 300), 1.0)
    return flux


def cyanogen(flux):
    for name in ("CN 6925", "CN 7259"):
        head = get_band(name).vacuum_AA
        inside = (head < GRID_AA) & (head + 300 > GRID_AA)
        flux = flux * np.where(inside, 1 - 0.2 * (1 - (GRID_AA - head) / 300), 1.0)
    return flux


def test_a_carbon_star_a_reddened_dq_and_a_galaxy_with_breaks():
    bands = (0.4, 0.4, 0.3)
    cool, warm = swan(bands, 2.5), swan(bands, 0.0)
    for flux, answers in (
        (cyanogen(cool), {"cs": "YES", "wd": "NO"}),
        (cool, {"cs": "YES", "wd": "NO"}),  # a dwarf carbon star may lack CN, but is as red as the others
        (cyanogen(warm), {"cs": "YES", "wd": "NO"}),
        (warm, {"cs": "NO", "wd": "YES"}),
        (swan((0.4, 0.3, 0.0), 2.5), {"cs": "NO", "wd": "NO"}),  # no third sequence: no C2
    ):
        spectrum = drawn([], flux)
        assert {task: ask(spectrum, task)[0].answer for task in answers} == answers


def test_emission_cores_in_a_white_dwarf_are_a_disc():
    white_dwarf = [(name, 3500, -0.5) for name in BALMER]
    assert ask(drawn(white_dwarf), "wd")[0].answer == "YES"
    with_disc = [*white_dwarf, ("Hα", 700, 0.5), ("Hβ", 700, 0.4)]
    assert ask(drawn(with_disc), "wd")[0].answer == "NO"
