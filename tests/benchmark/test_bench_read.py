"""`specvi bench read`: it reads what it says, against astropy reading the same, and reading is cheap."""

import json
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.cli.main import main
from specvi_benchmark.surveys.cost import bare_copy, measure
from specvi_benchmark.surveys.sample_files import WRITERS, lamost_coadd, sdss_spec


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_the_bare_copy_is_the_arrays_of_the_spectrum_and_no_catalogue_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdss_spec(tmp_path / "a.fits")
    copied = []
    monkeypatch.setattr(
        "specvi_benchmark.surveys.cost.bare_copy",
        lambda path, arrays: copied.append(list(arrays)) or bare_copy(path, arrays),
    )
    (cost,), refused = measure([tmp_path / "a.fits"], rounds=1)
    assert (cost.format, cost.files, cost.spectra, refused) == ("sdss-spec", 1, 1, [])
    assert {column for _, column in copied[-1]} == {"flux", "loglam", "ivar", "and_mask"}
    assert {hdu for hdu, _ in copied[-1]} == {1}
    flux = bare_copy(tmp_path / "a.fits", [(1, "flux")])[0]
    with fits.open(tmp_path / "a.fits") as hdus:
        assert np.array_equal(flux, hdus[1].data["flux"])
    assert flux.dtype == np.float64


def test_files_that_hold_no_spectrum_are_named_not_timed(tmp_path: Path) -> None:
    lamost_coadd(tmp_path / "a.fits")
    (tmp_path / "b.fits").write_bytes((tmp_path / "a.fits").read_bytes()[:3000])
    (tmp_path / "c.txt").write_text("no spectrum\n")
    costs, refused = measure(sorted(tmp_path.iterdir()), rounds=2)
    assert [cost.format for cost in costs] == ["lamost-coadd"]
    assert [path.name for path in refused] == ["b.fits", "c.txt"]


def test_text_is_timed_without_a_ratio(tmp_path: Path) -> None:
    rows = [f"{wave},1.0" for wave in range(4000, 6000)]
    (tmp_path / "a.csv").write_text("\n".join(["wavelength_vacuum_AA,flux", *rows]))
    (cost,), _ = measure([tmp_path / "a.csv"], rounds=1)
    assert cost.ratio is None
    assert cost.bare_ms is None
    assert cost.ours_ms > 0


def test_the_command_measures_files_it_makes_up(capsys: pytest.CaptureFixture) -> None:
    assert run("bench", "read", "--rounds", "1", "--targets", "3", "--json") == 0
    costs = json.loads(capsys.readouterr().out)["costs"]
    assert [cost["format"] for cost in costs] == sorted(WRITERS)
    assert {cost["format"]: cost["spectra"] for cost in costs}["desi-spectra"] == 3


def test_the_command_prints_a_table_for_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    lamost_coadd(tmp_path / "a.fits")
    (tmp_path / "notes.txt").write_text("no spectrum\n")
    assert run("bench", "read", str(tmp_path), "--rounds", "1") == 0
    out = capsys.readouterr().out
    assert "lamost-coadd" in out
    assert "1 files hold no spectra" in out
    assert run("bench", "read", str(tmp_path / "missing")) == 2
    assert run("bench", "read", str(tmp_path / "notes.txt")) == 2
