"""From a path to spectra: what is told of files that can't be read, of rows, and of what was understood."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Claims, clean_spectrum
from specvi_benchmark.surveys import read_spectra, read_spectrum
from specvi_benchmark.surveys.info import in_full, in_short
from specvi_benchmark.surveys.registry import Format, all_formats, recognise
from specvi_benchmark.surveys.sample_files import (
    WRITERS,
    desi_spectra,
    desi_table,
    lamost_array,
    lamost_coadd,
)
from specvi_benchmark.surveys.source import open_source


def test_a_file_that_cannot_be_opened_is_told_in_one_message(tmp_path: Path) -> None:
    (tmp_path / "empty.fits").touch()
    for path, message in [
        (tmp_path / "missing.fits", "no such file"),
        (tmp_path, "this is a folder"),
        (tmp_path / "empty.fits", "the file is empty"),
    ]:
        with pytest.raises(UserError, match=message) as caught:
            read_spectra(path)
        assert str(path) in str(caught.value)


def test_an_unknown_file_is_described_with_what_would_be_known(tmp_path: Path) -> None:
    path = tmp_path / "image.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(np.zeros((3, 4, 5)), name="CUBE")]).writeto(path)
    with pytest.raises(UserError, match="no known format") as caught:
        read_spectra(path)
    assert "CUBE image(3, 4, 5)" in caught.value.got
    assert "LAMOST, SDSS or DESI" in caught.value.expected
    assert "frames or cubes" in caught.value.fix
    assert "docs/formats.md" in caught.value.fix
    path.write_bytes(b"\x89PNG\r\n\x1a\n and so on")
    with pytest.raises(UserError, match="no known format") as caught:
        read_spectra(path)
    assert caught.value.got == "a PNG picture"


def test_two_formats_that_know_one_file_are_a_message_not_a_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lamost_array(tmp_path / "a.fits")
    again = Format("again", "anything", "all", "nothing", bool, iter)
    monkeypatch.setattr("specvi_benchmark.surveys.registry.all_formats", lambda: (*all_formats(), again))
    with pytest.raises(UserError, match="could be lamost-array and again"):
        recognise(open_source(tmp_path / "a.fits"))


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_each_sample_file_is_read_as_the_format_it_is_named_after(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / "a.fits", seed=3)
    reading = read_spectra(tmp_path / "a.fits")
    assert reading.format == name
    assert reading.skipped == ()
    assert all(spectrum.format == name for spectrum in reading.spectra)
    assert pickle.loads(pickle.dumps(reading)).rows == reading.rows


def test_one_of_several_spectra_needs_its_row(tmp_path: Path) -> None:
    path = tmp_path / "coadd-a.fits"
    desi_spectra(path, targets=3)
    with pytest.raises(UserError, match="several spectra") as caught:
        read_spectrum(path)
    assert caught.value.got == "rows 0, 1, 2"
    assert np.array_equal(read_spectrum(path, row=2).flux, read_spectra(path).spectra[2].flux)
    with pytest.raises(UserError, match="no usable spectrum in that row") as caught:
        read_spectrum(path, row=7)
    assert caught.value.got == "no such row"


def test_what_was_understood_is_told_in_words(tmp_path: Path) -> None:
    lamost_coadd(tmp_path / "spec.fits")
    spectrum = read_spectrum(tmp_path / "spec.fits")
    told = dict(line.split(maxsplit=1) for line in in_full(spectrum))
    assert told["format"] == "lamost-coadd"
    assert told["survey"] == "lamost DR10"
    assert told["id"] == "101001"
    assert told["object"] == "RA 332.20227°, Dec -2.05677°, MJD 55859"
    # 50 of 3909 pixels have no inverse variance: the first good one is 10^(3.5682 + 50e-4) Å.
    assert told["range"] == "3700.0–9099.1 Å (vacuum, observed); good pixels 3742.8–9099.1 Å"
    assert told["pixels"] == "3909, 1.3 % masked"
    assert (
        told["S/N"] == f"median S/N {spectrum.snr:.1f} a pixel; the file says u 0.7, g 12.2, r 27.2, z 21.1"
    )
    assert told["claims"] == "STAR G7 z = -0.00014"
    assert in_short(spectrum) == (
        "LAMOST DR10 (lamost-coadd), 3909 pixels, 3743 to 9099 Å, 1 % masked, "
        f"median S/N {spectrum.snr:.1f} a pixel; the pipeline says STAR G7 z = -0.00014"
    )


def test_what_is_not_known_is_said_to_be_so(tmp_path: Path) -> None:
    desi_table(tmp_path / "a.fits")
    told = dict(line.split(maxsplit=1) for line in in_full(read_spectrum(tmp_path / "a.fits", row=1)))
    assert told["object"] == "no position, no Gaia id, no date"
    assert told["S/N"] == "no errors given"
    assert told["claims"] == "no class, no redshift"
    warned = clean_spectrum(
        [4000.0, 4001.0], [1, 2], gaia_id=7, claims=Claims(redshift=0.1, redshift_warning=4)
    )
    told = dict(line.split(maxsplit=1) for line in in_full(warned) if len(line.split()) > 1)
    assert told["object"] == "Gaia 7"
    assert told["claims"] == "z = 0.10000 redshift warning 4"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_the_command_prints_what_was_understood(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    lamost_coadd(tmp_path / "spec.fits")
    assert run("inspect", "--info", str(tmp_path / "spec.fits")) == 0
    out = capsys.readouterr().out
    for line in in_full(read_spectrum(tmp_path / "spec.fits")):
        assert line in out
    (tmp_path / "broken.fits").write_bytes((tmp_path / "spec.fits").read_bytes()[:4000])
    assert run("inspect", "--info", str(tmp_path)) == 0
    assert "truncated" in capsys.readouterr().out
    assert run("inspect", "--info", str(tmp_path / "broken.fits")) == 2
    assert "truncated" in capsys.readouterr().err


def test_the_command_asks_for_air_or_vacuum_and_takes_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "spectrum.csv"
    rows = [f"{wave:.1f},{1 + wave / 1e4:.4f}" for wave in np.arange(4000.0, 7000.0, 2.0)]
    path.write_text("\n".join(["wavelength_AA,flux", *rows]) + "\n")
    assert run("inspect", "--info", str(path)) == 2
    assert "--medium" in capsys.readouterr().err
    for medium, first in (("vacuum", 4000.0), ("air", 4001.1)):
        assert run("inspect", "--info", "--json", "--medium", medium, str(path)) == 0
        (record,) = json.loads(capsys.readouterr().out)["spectra"]
        assert record["range_AA"][0] == pytest.approx(first, abs=0.1)


def test_without_info_a_task_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    lamost_coadd(tmp_path / "spec.fits")
    assert run("inspect", str(tmp_path / "spec.fits")) == 2
    assert "--info" in capsys.readouterr().err
