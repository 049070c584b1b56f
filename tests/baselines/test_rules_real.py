"""The vetter `rules` on real survey files: what an astronomer would say of them."""

import numpy as np
import pytest

from specvi_baselines.rules import create, explain
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.surveys import read_spectra, read_spectrum
from specvi_benchmark.tasks import TASK_KEYS, get_task
from specvi_benchmark.vetting import Question

FOLDERS = (
    "lamost/dr*",
    "sdss/spec_full",
    "sdss/spec_lite",
    "sdss/eboss_lite",
    "sdss/spspec_dr7",
    "sdss/odd",
    "desi/desihigh",
    "desi/coadd",
)


def ask(spectrum, task, redshift=None):
    return explain(Question("q", get_task(task), spectrum, redshift))


@pytest.fixture(scope="module")
def surveys(shared_data):
    """Return every spectrum of the real survey files that is read, with its file name."""
    paths = [
        path for folder in FOLDERS for path in sorted(shared_data.glob(f"real/{folder}/*")) if path.is_file()
    ]
    left_out = ("redrock-", "zbest-", "spPlate-")  # tables and plates, which hold no spectrum of one object
    return [
        (path.name, spectrum)
        for path in paths
        if not path.name.startswith(left_out)
        for spectrum in read_spectra(path).spectra
    ]


def test_no_star_or_galaxy_is_called_something_rare(surveys):
    others = [(name, one) for name, one in surveys if one.claims.object_class != "QSO"]
    assert len(others) > 80
    alarms = [
        (name, task)
        for name, spectrum in others
        for task in ("cv", "cs", "ss", "qso")
        if ask(spectrum, task, spectrum.claims.redshift)[0].answer == "YES"
    ]
    assert alarms == []


def test_white_dwarfs_are_found_and_nothing_else_is_one(surveys):
    found = [name for name, one in surveys if ask(one, "wd", one.claims.redshift)[0].answer == "YES"]
    assert found == ["spec-0266-51602-0031.fits", "coadd-mws-66003-20200315-wd.fits"]


def test_quasars_are_found(surveys):
    quasars = [(name, one) for name, one in surveys if one.claims.object_class == "QSO"]
    missed = [name for name, one in quasars if ask(one, "qso", one.claims.redshift)[0].answer == "NO"]
    assert len(quasars) == 15
    assert missed == ["Mrk477.fits", "spec-10000-57346-0002.fits", "spec-5400-56308-0220.fits"]


def test_lamost_m_dwarfs_are_no_giants(surveys):
    dwarfs = [(name, one) for name, one in surveys if (one.claims.subclass or "").startswith("dM")]
    assert len(dwarfs) == 4
    assert [name for name, one in dwarfs if ask(one, "mg", one.claims.redshift)[0].answer == "YES"] == []


def test_the_white_dwarf_of_sdss_in_words(shared_data):
    spectrum = read_spectrum(shared_data / "real/sdss/spec_lite/spec-0266-51602-0031.fits")
    finding, text = ask(spectrum, "wd", spectrum.claims.redshift)
    assert finding.answer == "YES"
    assert text.startswith("YES. Balmer lines broadened by pressure")
    assert "- Hβ absorption, FWHM 3" in text
    assert "S/N 7.2 a pixel (the survey's errors)" in text
    assert "shifted to rest by the pipeline's z = -0.00004" in text


def test_a_label_at_no_snr_is_not_believed(shared_data):
    spectrum = read_spectrum(shared_data / "real/sdss/spec_full/spec-3764-55514-0972.fits")
    assert spectrum.claims.subclass.startswith("M6III")
    finding, text = ask(spectrum, "mg", spectrum.claims.redshift)
    assert finding.answer == "NO"
    assert "At S/N 1.1 a pixel little can be measured" in text


def test_the_one_real_cv_and_what_may_not_change_it(pipeline_spectrum, as_lamost):
    spectrum = pipeline_spectrum("306-51690-020_CV")
    finding, text = ask(spectrum, "cv")
    assert finding.answer == "YES"
    assert "Hα emission, FWHM 1" in text
    assert "He I 5877" in finding.reason
    wrong_z, text = ask(spectrum, "cv", 0.62)
    assert (wrong_z.answer, wrong_z.evidence) == (finding.answer, finding.evidence)
    assert "z = 0.6200 ignored" in text
    assert [task for task in TASK_KEYS if ask(spectrum, task)[0].answer == "YES"] == ["cv"]
    for snr in (10, 5, 3, 2):  # S/N below 5 is a track of its own
        answers = {
            ask(as_lamost(spectrum, snr, np.random.default_rng(i), 150.0), "cv")[0].answer for i in range(5)
        }
        assert answers == {"YES"}, snr
    assert ask(as_lamost(spectrum, 0.3, np.random.default_rng(0)), "cv")[0].answer == "NO"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("301-51641-305_Carbon", ["cs"]),
        ("Carbon", ["cs"]),
        ("301-51641-223_Carbon_DQ", ["wd"]),
        ("301-51641-322_WD", ["wd"]),
        ("WDhotter", ["wd"]),
        ("WDcooler", ["wd"]),
        ("WDmagnetic", ["wd"]),
        ("CalciumWD", ["wd"]),
        ("301-51641-402_A", ["a"]),
        ("M2III_169305", ["mg"]),
        ("M5III_221615", ["mg"]),
        ("M6III_148783", ["mg"]),
        ("M7IIIevar_177940", ["mg"]),
        ("M8IIIe_84748", ["mg"]),
        ("Ldwarf", []),
    ],
)
def test_sdss_pipeline_templates(pipeline_spectrum, name, expected):
    spectrum = pipeline_spectrum(name)
    assert [task for task in TASK_KEYS if ask(spectrum, task)[0].answer == "YES"] == expected


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.7, "no wider than a spike, not counted"),
        (5, "12 pixels of spikes sharper than the instrument are left out"),
        (1e5, "12 pixels of spikes sharper than the instrument are left out"),
        (1e9, "NO"),  # no light at all, and not read
    ],
)
def test_a_cosmic_ray_makes_no_cv(shared_data, factor, words):
    star = read_spectrum(shared_data / "real/lamost/dr6/spec-57287-KP193637N444141V03_sp10-161.fits.gz")
    flux = np.array(star.flux)
    for line_AA in (6564.61, 4862.69, 4341.69, 5877.25):
        pixel = int(np.argmin(np.abs(star.wavelength_AA - line_AA)))
        flux[pixel : pixel + 3] *= factor
    struck = clean_spectrum(star.wavelength_AA, flux, star.ivar, star.mask, survey="lamost")
    finding, text = ask(struck, "cv")
    assert finding.answer == "NO"
    assert words in text


def test_verdicts_of_the_vetter(pipeline_spectrum):
    questions = [
        Question(f"{task}-1", get_task(task), pipeline_spectrum("Carbon"), None) for task in TASK_KEYS
    ]
    rules = create(None, {})
    first, second = (list(rules.vet(questions)) for _ in range(2))
    assert first == second
    assert [(verdict.id, verdict.task) for verdict in first] == [(one.id, one.task.key) for one in questions]
    assert [verdict.answer for verdict in first] == ["YES" if task == "cs" else "NO" for task in TASK_KEYS]
    assert {verdict.p_yes for verdict in first} == {None}
    for question, verdict in zip(questions, first, strict=True):
        (turn,) = verdict.traces[0].turns
        assert turn.text.startswith(f"{verdict.answer}. ")
        assert verdict.traces[0].record(question.task.key, question.id).turns[0].text == turn.text


@pytest.mark.parametrize(
    ("name", "redshift"),
    [
        ("spec_lite/SHOC579_SDSS_dr18.fits", 0.0472),  # He II falls on a shifted line: no Wolf–Rayet star
        ("spec_full/Mrk477.fits", 0.0369),
        ("spspec_dr7/cg922.fits", 0.0486),
    ],
)
def test_emission_of_a_galaxy_is_told_by_its_redshift_and_not_as_a_star(shared_data, name, redshift):
    paths = list(shared_data.glob(f"real/sdss/*/{name.split('/')[1]}"))
    spectrum = read_spectrum(paths[0])
    assert spectrum.claims.redshift == pytest.approx(redshift, abs=1e-4)
    for given, words, slack in ((spectrum.claims.redshift, ", the pipeline's", 5e-4), (None, "", 2.5e-3)):
        finding, _ = ask(spectrum, "cv", given)
        assert finding.answer == "NO"
        assert finding.reason.startswith("The lines fit z = ")
        assert float(finding.reason[18:23]) == pytest.approx(redshift, abs=slack)
        assert f"{words} ([O II] 3728, Hβ, [O III] 4960, [O III] 5008, Hα)" in finding.reason
        assert "a galaxy" in finding.reason
        assert "[O III] 5008" in finding.evidence[0]


def test_a_star_by_the_pipeline_is_not_called_a_galaxy_in_cv(surveys):
    stars = [one for _, one in surveys if one.claims.object_class == "STAR"]
    assert len(stars) > 50
    reasons = [ask(one, "cv", one.claims.redshift)[0].reason for one in stars]
    assert [reason for reason in reasons if "a galaxy or its nucleus" in reason] == []
