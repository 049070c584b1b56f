"""`specvi bench ingest` and `specvi bench screen`: they time what they say, and carry it over to a survey."""

import json

import numpy as np
import pytest

from specvi_benchmark.archive import cost
from specvi_benchmark.cli import bench_screen
from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys.reading import read_spectra
from specvi_benchmark.surveys.sample_files import desi_stack, lamost_array, lamost_coadd


def run(*arguments):
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


@pytest.mark.parametrize(("name", "write"), [("lamost-array", lamost_array), ("lamost-coadd", lamost_coadd)])
def test_the_plain_loop_reads_what_the_reader_does(tmp_path, name, write):
    write(tmp_path / "spec.fits")
    (spectrum,) = read_spectra(tmp_path / "spec.fits").spectra
    arrays, values = cost.plain_loop(tmp_path / "spec.fits", cost.LAYOUTS[name])
    rows = arrays[0] if name == "lamost-array" else [array[0] for array in arrays]
    good = spectrum.good
    assert np.array_equal(rows[0][good], spectrum.flux[good])
    assert np.array_equal(rows[1][good], spectrum.ivar[good])
    told = dict(zip(cost.LAYOUTS[name].keywords, values, strict=True))
    assert (str(told["OBSID"]), told["RA"]) == (spectrum.survey_id, spectrum.ra_deg)


def test_ingesting_is_timed_in_turns(tmp_path, capsys):
    lamost_coadd(tmp_path / "spec.fits")
    assert run("bench", "ingest", str(tmp_path / "spec.fits"), "--rounds", "3", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["format"], found["files"]) == ("lamost-coadd", 1)
    assert found["ours_ms"] > 0
    assert found["astropy_ms"] > 0
    assert found["against_two"] > 0


def test_another_layout_is_not_timed(tmp_path):
    desi_stack(tmp_path / "stack.fits")
    with pytest.raises(UserError, match="not a common layout"):
        cost.measure_ingest([tmp_path / "stack.fits"], 1)


@pytest.mark.parametrize("name", ["sdss-spec", "sdss-spspec"])
def test_the_plain_loop_reads_sdss_files_too(tmp_path, name):
    layout = cost.LAYOUTS[name]
    layout.write(tmp_path / "spec.fits", 0)
    (spectrum,) = read_spectra(tmp_path / "spec.fits").spectra
    arrays, values = cost.plain_loop(tmp_path / "spec.fits", layout)
    flux = arrays[0] if name == "sdss-spec" else arrays[0][0]
    assert np.array_equal(flux[spectrum.good], spectrum.flux[spectrum.good])
    assert {spectrum.mjd, round(spectrum.claims.redshift, 4)} <= {
        round(float(value), 4) for value in values if not isinstance(value, str)
    }


def test_a_survey_takes_what_the_figures_say(capsys):
    made = cost.SimulatedCost(spectra=1000, seconds=10.0, bytes=32_000_000)
    costs = [
        cost.ScreenCost(1000, 0.3, 0.2, 2000.0, 300.0),
        cost.ScreenCost(101_000, 30.0, 10.0, 2500.0, 330.0),
    ]
    from rich.console import Console

    Console(width=300).print(bench_screen._table(made, costs))
    told = " ".join(capsys.readouterr().out.split())
    assert "11,000,000 spectra would take 1.2 core hours and 352 GB" in told
    assert "memory grows by 300 MB a million spectra, to 3.6 GB" in told


def test_the_archive_is_made_of_as_many_spectra_as_asked(tmp_path):
    made = cost.make_archive(tmp_path / "archive", 700, processes=1)
    assert made.spectra == 700
    assert (
        31_000 < made.bytes / made.spectra < 36_000
    )  # 3909 pixels of 8 bytes and a bit, and what else is known
    with pytest.raises(UserError, match="the archive is smaller"):
        cost.measure_screening(tmp_path / "archive", [1000])
