"""A file of a layout that was read before is told from its headers alone, and told right."""

import numpy as np
import pytest
from astropy.io import fits

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys import registry
from specvi_benchmark.surveys.reading import read_spectra
from specvi_benchmark.surveys.sample_files import WRITERS, lamost_array, lamost_coadd


@pytest.fixture(autouse=True)
def nothing_told():
    registry._told.clear()
    yield
    registry._told.clear()


def asked(monkeypatch):
    """Count how often every format is asked."""
    calls = []
    plain = registry._recognise
    monkeypatch.setattr(registry, "_recognise", lambda source: calls.append(source.name) or plain(source))
    return calls


def same(one, other):
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ("wavelength_AA", "flux", "ivar", "mask")
    )


def rewritten(path, **cards):
    """Change values of the primary header, keywords and their order kept."""
    with fits.open(path, mode="update") as hdus:
        for keyword, value in cards.items():
            assert keyword in hdus[0].header
            hdus[0].header[keyword] = value


@pytest.mark.parametrize("write", [lamost_array, lamost_coadd])
def test_the_second_file_of_a_layout_asks_nobody_and_reads_as_astropy_does(tmp_path, monkeypatch, write):
    calls = asked(monkeypatch)
    for seed in range(3):
        write(tmp_path / f"{seed}.fits", seed)
        rewritten(tmp_path / f"{seed}.fits", OBSID=500 + seed, Z=0.001 * seed, SNRG=20.5 + seed)
        (found,) = read_spectra(tmp_path / f"{seed}.fits").spectra
        with fits.open(tmp_path / f"{seed}.fits") as hdus:
            flux, ivar = (
                hdus[0].data[:2]
                if write is lamost_array
                else (hdus[1].data[name][0] for name in ("FLUX", "IVAR"))
            )
        good = found.good
        assert good.sum() == good.size - 50
        assert (found.flux[good] == flux[good]).all()
        assert (found.ivar[good] == ivar[good]).all()
        assert (found.survey_id, found.claims.redshift) == (str(500 + seed), 0.001 * seed)
        assert found.header_snr["g"] == 20.5 + seed
    assert calls == ["0.fits"]


def test_what_a_format_looks_at_is_looked_at_again(tmp_path):
    for name in ("one", "other", "sky", "air", "grid"):
        lamost_array(tmp_path / name)
    assert read_spectra(tmp_path / "one").format == "lamost-array"
    rewritten(tmp_path / "other", TELESCOP="NONE", AUTHOR="nobody", ORIGIN="nowhere")
    with pytest.raises(UserError):  # no other format knows five rows
        read_spectra(tmp_path / "other")
    rewritten(tmp_path / "sky", FIBERTYP="Sky")
    with pytest.raises(UserError, match="no usable spectrum"):
        read_spectra(tmp_path / "sky")
    rewritten(tmp_path / "air", VACUUM=False)
    with pytest.raises(UserError, match="in air"):
        read_spectra(tmp_path / "air")
    rewritten(tmp_path / "grid", COEFF0=3.57, CRVAL1=3.57)
    with pytest.raises(UserError, match="contradict the header"):
        read_spectra(tmp_path / "grid")
    assert same(*(read_spectra(tmp_path / "one").spectra[0] for _ in range(2)))


def test_one_wrong_wavelength_is_found_among_files_of_one_grid(tmp_path):
    for name in ("first", "wrong", "last"):
        lamost_coadd(tmp_path / name)
    with fits.open(tmp_path / "wrong", mode="update") as hdus:
        hdus[1].data["WAVELENGTH"][0][2000] += np.float32(0.3)
    one = read_spectra(tmp_path / "first").spectra[0]
    with pytest.raises(UserError, match="contradict the header"):
        read_spectra(tmp_path / "wrong")
    other = read_spectra(tmp_path / "last").spectra[0]
    assert same(one, other)
    assert one.wavelength_AA is other.wavelength_AA  # kept once
    assert not one.wavelength_AA.flags.writeable


def test_layouts_in_any_order_are_told_as_alone(tmp_path):
    alone = {}
    for name, write in WRITERS.items():
        write(tmp_path / f"{name}.fits")
        registry._told.clear()
        alone[name] = read_spectra(tmp_path / f"{name}.fits")
    for _ in range(2):
        for name, reading in alone.items():
            again = read_spectra(tmp_path / f"{name}.fits")
            assert again.format == reading.format
            assert all(map(same, again.spectra, reading.spectra))
    assert len(registry._told) <= len(WRITERS)


def test_an_end_card_with_something_behind_it_still_ends_the_header(tmp_path):
    lamost_array(tmp_path / "plain")
    content = (tmp_path / "plain").read_bytes()
    at = content.index(b"END" + b" " * 77)
    (tmp_path / "odd").write_bytes(content[:at] + b"END     / of it".ljust(80) + content[at + 80 :])
    one, other = (read_spectra(tmp_path / name).spectra[0] for name in ("plain", "odd"))
    assert same(one, other)
    assert one.survey_id == other.survey_id
