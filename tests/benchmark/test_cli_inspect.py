"""`specvi inspect`: one file, several, a folder, what can't be read, and the real files of three surveys."""

import io
import json
import re
from typing import ClassVar

import numpy as np
import pytest
from astropy.io import fits
from PIL import Image
from typer.testing import CliRunner

from specvi_benchmark.cli import inspect as inspect_module
from specvi_benchmark.cli.inspect import app
from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import answered

WIDE = {"COLUMNS": "3000"}  # nothing is wrapped, so that whole sentences can be looked for
GRID = np.arange(3.5798, 3.9638, 1e-4)  # log10 λ, 3800 to 9200 Å
BALMER_AA = (6564.61, 4862.69, 4341.69, 4102.90)


def write_sdss(path, emission=0.0, snr=20.0, redshift=0.0):
    """Write a file as SDSS does (spec-lite), with Balmer emission 1500 km/s wide."""
    wavelength = 10**GRID
    flux = (wavelength / 5500) ** -2
    for centre in BALMER_AA:
        flux = flux * (1 + emission * np.exp(-0.5 * ((wavelength / centre - 1) * 299_792.458 / 637) ** 2))
    sigma = (wavelength / 5500) ** -2 / snr
    flux = flux + np.random.default_rng(1).normal(size=flux.size) * sigma
    columns = {
        "flux": flux,
        "loglam": GRID,
        "ivar": sigma**-2,
        "and_mask": np.zeros(flux.size, dtype=np.int32),
    }
    coadd = fits.BinTableHDU.from_columns(
        [
            fits.Column(name, "J" if name == "and_mask" else "E", array=values)
            for name, values in columns.items()
        ],
        name="COADD",
    )
    row = fits.BinTableHDU.from_columns(
        [
            fits.Column("CLASS", "6A", array=["STAR"]),
            fits.Column("SUBCLASS", "8A", array=["F5"]),
            fits.Column("Z", "E", array=[redshift]),
            fits.Column("PLATE", "J", array=[266]),
            fits.Column("MJD", "J", array=[51602]),
            fits.Column("FIBERID", "J", array=[31]),
        ],
        name="SPECOBJ",
    )
    fits.HDUList([fits.PrimaryHDU(), coadd, row]).writeto(path)
    return path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env=WIDE)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code
    return result.stdout


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_file_in_full(here):
    text = run(write_sdss(here / "spec-0266-51602-0031.fits", emission=3), "--task", "cv")
    assert "spec-0266-51602-0031.fits: Is this object a cataclysmic variable? YES" in text
    assert "SDSS" in text
    assert "3840 pixels, 3800 to 9" in text
    assert "the pipeline says STAR F5 z = 0.00000" in text
    assert 1400 < float(re.search(r"- Hα emission, FWHM (\d+) km/s", text)[1]) < 1600
    assert "Read with S/N" in text
    (picture,) = (here / "specvi-inspect").glob("*.png")
    assert f"specvi-inspect/{picture.name}" in text
    assert Image.open(io.BytesIO(picture.read_bytes())).size == (896, 448)


def test_the_pictures_of_an_inspection(here):
    path = write_sdss(here / "a.fits", emission=3)
    found = json.loads(run(path, "--task", "cv", "--save-views", here / "views", "--json"))
    views = found["spectra"][0]["views"]
    covered = [w for w in get_task("cv").windows if w.range_AA[0] > 3800 and w.range_AA[1] < 9200]
    assert views[0]["label"] == "full"
    assert {w.label for w in covered} <= {view["label"] for view in views[1:]}
    windows = {w.label: w.range_AA for w in get_task("cv").windows}
    for view in views[1:]:
        low, high = windows[view["label"]]
        assert low <= view["window_AA"][0] < view["window_AA"][1] <= high
        assert view["window_AA"][1] - view["window_AA"][0] >= (high - low) / 2
    files = [here / view["file"] for view in views]
    assert sorted((here / "views").iterdir()) == sorted(files)
    assert sorted(files) == files
    assert {Image.open(io.BytesIO(file.read_bytes())).size for file in files} == {(896, 448)}
    assert "View:" in run(path, "--task", "cv", "--save-views", here / "views")
    assert sorted((here / "views").iterdir()) == sorted(files)


def test_official_spelling_of_a_task_and_another_vetter(here):
    path = write_sdss(here / "star.fits")
    assert "Is this object a carbon star? YES" in run(
        path, "--task", "carbon", "--vetter", "always-yes"
    ).replace("\n", " ")
    assert "the vetter gives none" in run(path, "--task", "cs", "--vetter", "always-no")


def test_a_redshift_no_star_has_is_ignored_and_said(here):
    text = run(write_sdss(here / "star.fits", emission=3, redshift=0.31), "--task", "cv")
    assert "YES" in text
    assert "pipeline's z = 0.3100 ignored" in text


def test_a_folder_gives_a_table_and_no_traceback(here):
    folder = here / "night"
    folder.mkdir()
    write_sdss(folder / "a.fits", emission=3)
    write_sdss(folder / "b.fits")
    (folder / "notes.txt").write_text("seeing 1.2\n")
    (folder / "cut.fits").write_bytes((folder / "a.fits").read_bytes()[:4000])
    (folder / ".hidden").write_text("")
    text = run(folder, "--task", "cv", "--pictures", here / "out")
    rows = {
        cells[0].strip(): cells for line in text.splitlines() if (cells := line.strip("│").split("│"))[1:]
    }
    assert (rows["a.fits"][2].strip(), rows["b.fits"][2].strip()) == ("YES", "NO")
    assert float(rows["b.fits"][1]) == pytest.approx(20, abs=0.5)
    assert "Broad Balmer emission" in rows["a.fits"][3]
    assert "No Balmer emission" in rows["b.fits"][3]
    assert "2 spectra: 1 YES, 1 NO" in text
    assert "2 without a spectrum:" in text
    for name in ("notes.txt", "cut.fits"):
        (line,) = [line for line in text.splitlines() if name in line]
        assert len(line.split(": ", 1)[1]) > 10
    assert ".hidden" not in text
    assert len(list((here / "out").glob("*.png"))) == 2


def test_files_of_one_name_keep_their_own_pictures(here):
    for night, emission in (("n1", 0), ("n2", 3)):
        (here / night).mkdir()
        write_sdss(here / night / "spec.fits", emission=emission)
    run(here / "n1/spec.fits", here / "n2/spec.fits", "--task", "cv")
    assert len(list((here / "specvi-inspect").glob("*.png"))) == 2


def test_json(here):
    write_sdss(here / "a.fits", emission=3)
    (here / "b.fits").write_text("nothing")
    found = json.loads(run(here / "a.fits", here / "b.fits", "--task", "cv", "--json"))
    assert (found["task"], found["vetter"]) == ("cv", "rules")
    (record,) = found["spectra"]
    assert record["answer"] == "YES"
    assert record["outcome"] == "answered"
    assert record["p_yes"] is None
    assert record["survey_id"].startswith("266-51602-")
    assert record["claimed_subclass"] == "F5"
    assert record["snr"] == pytest.approx(20, rel=0.1)
    assert record["evidence"].startswith("Broad Balmer emission")
    assert Image.open(io.BytesIO((here / record["picture"]).read_bytes())).format == "PNG"
    assert [item["where"] for item in found["left_out"]] == [str(here / "b.fits")]


def test_info_reads_and_asks_nothing(here):
    write_sdss(here / "a.fits", emission=3, redshift=0.001)
    text = run(here / "a.fits", "--info")
    assert text.startswith("name     a.fits\nformat   sdss-spec\nsurvey   sdss\n")
    assert "claims   STAR F5 z = 0.00100" in text
    assert not (here / "specvi-inspect").exists()
    (record,) = json.loads(run(here / "a.fits", "--info", "--json"))["spectra"]
    assert record["format"] == "sdss-spec"
    assert "answer" not in record


def test_one_file_that_cannot_be_read_is_told_in_full(here):
    (here / "broken.fits").write_bytes(b"SIMPLE  =                    T")
    with pytest.raises(UserError, match="broken"):
        run(here / "broken.fits", "--task", "cv")
    with pytest.raises(UserError, match="no such file"):
        run(here / "missing.fits", "--task", "cv")


def test_nothing_read_exits_with_2(here):
    (here / "a").write_text("x")
    (here / "b").write_text("y")
    text = run(here / "a", here / "b", "--task", "cv", code=2)
    assert "2 without a spectrum" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "unicorn"], "no such task"),
        (["--task", "cv", "--vetter", "oracle"], "no such vetter"),
        (["--task", "cv", "--row", "3"], "no usable spectrum in that row"),
        ([], "nothing is asked"),
    ],
)
def test_mistakes_get_one_message_and_exit_code_2(here, capsys, arguments, words):
    path = write_sdss(here / "a.fits")
    with pytest.raises(SystemExit) as stopped:
        main(["inspect", str(path), *arguments])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith(f"Error: {words}")
    assert "Traceback" not in message


class Faulty:
    """Answers YES, and goes wrong at chosen spectra: by an exception, by silence, or by answering twice."""

    config: ClassVar = {}

    def __init__(self, wrong, fault):
        self.wrong, self.fault = wrong, fault

    def vet(self, questions):
        for question in questions:
            if self.wrong in question.id:
                if self.fault == "raises":
                    raise ZeroDivisionError("no continuum")
                if self.fault == "skips":
                    continue
                if self.fault == "none":
                    yield None
                    continue
                if self.fault == "twice":
                    yield answered(question, "YES")
            yield answered(question, "YES")


@pytest.fixture
def faulty(here, monkeypatch):
    """Return a function that vets a.fits to d.fits with a vetter that goes wrong at one of them."""
    for name in "abcd":
        write_sdss(here / f"{name}.fits")

    def vet(wrong, fault, *arguments):
        monkeypatch.setattr(inspect_module, "load_vetter", lambda _: Faulty(wrong, fault))
        return run(*(here / f"{name}.fits" for name in "abcd"), "--task", "cv", *arguments)

    return vet


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raises", "ZeroDivisionError: no continuum"),
        ("skips", "the vetter gave no verdict"),
        ("none", "NoneType"),
    ],
)
def test_a_fault_of_the_vetter_costs_that_spectrum_only(faulty, here, fault, reason):
    records = json.loads(faulty("b.fits", fault, "--json"))["spectra"]
    assert [record["file"] for record in records] == [str(here / f"{name}.fits") for name in "abcd"]
    assert [record["answer"] for record in records] == ["YES", None, "YES", "YES"]
    assert [record["outcome"] for record in records] == ["answered", "error", "answered", "answered"]
    assert reason in records[1]["evidence"]
    text = faulty("b.fits", fault)
    (line,) = [line for line in text.splitlines() if "b.fits" in line]
    assert "error" in line
    assert reason in line
    assert "4 spectra: 3 YES, 0 NO, 1 without an answer" in text


def test_a_second_verdict_on_a_spectrum_costs_no_other(faulty):
    records = json.loads(faulty("b.fits", "twice", "--json"))["spectra"]
    assert [record["answer"] for record in records] == ["YES"] * 4


def test_a_fault_at_the_only_spectrum_is_told(here, monkeypatch):
    monkeypatch.setattr(inspect_module, "load_vetter", lambda _: Faulty("a.fits", "raises"))
    text = run(write_sdss(here / "a.fits"), "--task", "cv")
    assert "cataclysmic variable? error" in text
    assert "ZeroDivisionError: no continuum" in text


def test_a_progress_bar_stands_on_standard_error_where_a_person_looks(here):
    paths = [str(write_sdss(here / f"{name}.fits")) for name in "abcd"]
    terminal = {**WIDE, "FORCE_COLOR": "1", "TERM": "xterm"}
    watched = CliRunner().invoke(app, [*paths, "--task", "cv", "--json"], env=terminal)
    assert "reading" in watched.stderr
    assert "vetting" in watched.stderr
    assert len(json.loads(watched.stdout)["spectra"]) == 4
    few = CliRunner().invoke(app, [*paths[:3], "--task", "cv", "--json"], env=terminal)
    assert few.stderr == ""
    logged = CliRunner().invoke(app, [*paths, "--task", "cv", "--json"], env=WIDE)
    assert logged.stderr.strip() == ""


def test_an_empty_folder_beside_a_good_file_is_left_out(here):
    (here / "empty").mkdir()
    text = run(write_sdss(here / "a.fits"), here / "empty", "--task", "cv")
    assert "1 spectra: 0 YES, 1 NO" in text
    assert f"{here / 'empty'}: the folder holds no files" in text


def test_a_file_named_twice_is_vetted_once(here):
    path = write_sdss(here / "a.fits")
    found = json.loads(run(path, here / "b", path, here, "--task", "cv", "--json"))
    assert [record["file"] for record in found["spectra"]] == [str(path)]


def test_what_is_left_out_is_told_with_the_option_that_helps(here):
    write_sdss(here / "a.fits")
    rows = "\n".join(f"{wave},{1 + wave % 7 / 100}" for wave in range(4000, 9000, 2))
    (here / "b.csv").write_text(f"wavelength,flux\n{rows}\n")
    text = run(here / "a.fits", here / "b.csv", "--task", "cv")
    (line,) = [line for line in text.splitlines() if "b.csv" in line]
    assert "air or in vacuum" in line
    assert "--medium" in line
    assert "2 spectra: " in run(here / "a.fits", here / "b.csv", "--task", "cv", "--medium", "air")


def test_an_empty_folder_is_told(here):
    (here / "empty").mkdir()
    with pytest.raises(UserError, match="holds no files"):
        run(here / "empty", "--task", "cv")


@pytest.mark.parametrize(
    ("path", "task", "answer", "words"),
    [
        ("lamost/dr7/spec-58575-HD103621N361936B01_sp03-061.fits", "wd", "NO", "dM1"),
        ("lamost/dr13/spec-60591-LN042429N340750BM01_sp01-005.fits.gz", "qso", "YES", "at z = 0.308"),
        ("sdss/spec_lite/spec-0266-51602-0031.fits", "wd", "YES", "Hβ absorption, FWHM 3"),
        ("desi/desihigh/coadd-mws-66003-20200315-wd.fits", "wd", "YES", "DESI"),
    ],
)
def test_real_files_of_three_surveys(here, shared_data, path, task, answer, words):
    text = run(shared_data / "real" / path, "--task", task)
    assert f"? {answer}" in text
    assert words in text


def test_one_row_of_a_desi_file(here, shared_data):
    path = shared_data / "real/desi/desihigh/coadd-qso-68002-20200315.fits"
    text = run(path, "--task", "qso", "--row", "3")
    assert "Is this object a quasar? YES" in text
    table = run(path, "--task", "qso")
    assert "coadd-qso-68002-20200315.fits row 3" in table
    assert "5 spectra: 5 YES" in table


@pytest.mark.slow
def test_no_lamost_star_is_called_a_cv(here, shared_data):
    found = json.loads(run(shared_data / "real/lamost", "--task", "cv", "--json"))
    assert len(found["spectra"]) == 48
    assert [record["file"] for record in found["spectra"] if record["answer"] != "NO"] == []
    assert [item["where"].rsplit("/", 1)[1] for item in found["left_out"]] == [
        "med-58625-TD192102N424113K01_sp12-076.fits.gz"
    ]


def test_a_table_that_does_not_say_air_or_vacuum(here, shared_data):
    path = shared_data / "real/sdss/pipeline_single_csv/306-51690-020_CV.csv"
    with pytest.raises(UserError, match="air or in vacuum"):
        run(path, "--task", "cv")
    text = run(path, "--task", "cv", "--medium", "vacuum")
    assert "Is this object a cataclysmic variable? YES" in text
    assert "Note:" in text
