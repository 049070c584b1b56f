"""Spectra in shards: what goes in comes out, bit for bit, by place and by id."""

import numpy as np
import pyarrow as pa
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.archive.store import Store, read_shard, spectrum_key, write_shard
from specvi_benchmark.archive.store.index import find, write_index
from specvi_benchmark.archive.store.packing import Ingested, pack, unpack
from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Claims, clean_spectrum
from specvi_benchmark.surveys.reading import read_spectra
from specvi_benchmark.surveys.sample_files import lamost_array, lamost_coadd, sdss_spec


def made(seed, pixels=300, scale=1.0, **about):
    rng = np.random.default_rng(seed)
    flux = (rng.normal(10, 3, pixels) * scale).astype(np.float32).astype(np.float64)
    ivar = (rng.uniform(0.5, 2, pixels) / scale**2).astype(np.float32).astype(np.float64)
    ivar[:7] = 0
    return clean_spectrum(3700.0 * 10 ** (1e-4 * np.arange(pixels)), flux, ivar, name=f"s{seed}", **about)


def items(spectra):
    return [Ingested(f"id-{n}", f"/files/{n}", n, spectrum) for n, spectrum in enumerate(spectra)]


def assert_same(one, other):
    for name in ("wavelength_AA", "flux", "ivar", "mask"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    for name in ("survey", "release", "survey_id", "name", "format", "ra_deg", "dec_deg", "gaia_id", "mjd"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.claims == other.claims
    assert dict(one.header_snr) == dict(other.header_snr)


def test_every_field_comes_back(tmp_path):
    full = made(
        1,
        survey="lamost",
        release="DR10",
        survey_id="123",
        format="lamost-coadd",
        ra_deg=10.25,
        dec_deg=-5.5,
        gaia_id=2**62 + 1,
        mjd=58000,
        header_snr={"g": 12.5, "i": 3.0},
        claims=Claims("STAR", "G5", -0.0001, 4),
    )
    bare = made(2)
    write_shard(tmp_path / "shard.parquet", pack(items([full, bare])))
    for one, other in zip([full, bare], read_shard(tmp_path / "shard.parquet"), strict=True):
        assert_same(one, other)


def test_lengths_and_grids_may_differ_within_a_shard(tmp_path):
    spectra = [made(n, pixels=200 + 37 * (n % 5)) for n in range(250)]  # three row groups
    table = pack(items(spectra))
    assert table.column("flux").type == pa.binary(4 * (200 + 37 * 4))
    assert len(table.column("wavelength_AA").chunk(0).dictionary) == 5
    path = tmp_path / "shard.parquet"
    write_shard(path, table)
    back = list(read_shard(path))
    assert len(back) == 250
    for one, other in zip(spectra, back, strict=True):
        assert_same(one, other)
    rows = [0, 99, 100, 249]
    for row, other in zip(rows, read_shard(path, rows=rows), strict=True):
        assert_same(spectra[row], other)


def test_spectra_of_one_grid_share_it_in_memory(tmp_path):
    write_shard(tmp_path / "shard.parquet", pack(items([made(n) for n in range(10)])))
    first, *others = read_shard(tmp_path / "shard.parquet")
    assert all(other.wavelength_AA is first.wavelength_AA for other in others)


@settings(max_examples=40, deadline=None)
@given(power=st.integers(-100, 60), seed=st.integers(0, 2**16))
def test_units_of_any_size_keep_their_digits(power, seed):
    spectrum = made(seed, pixels=50)
    flux, ivar = np.ldexp(spectrum.flux, power), np.ldexp(spectrum.ivar, -2 * power)
    scaled = clean_spectrum(spectrum.wavelength_AA, flux, ivar)
    table = pack(items([scaled]))
    assert table.column("rounded").to_pylist() == [False]
    (back,) = unpack(table)
    assert back.flux.tobytes() == scaled.flux.tobytes()
    assert back.ivar.tobytes() == scaled.ivar.tobytes()


def test_more_digits_than_float32_are_rounded_and_told():
    spectrum = made(3)
    precise = clean_spectrum(spectrum.wavelength_AA, spectrum.flux * (1 + 1e-10), spectrum.ivar)
    table = pack(items([precise, spectrum]))
    assert table.column("rounded").to_pylist() == [True, False]
    back = next(unpack(table))
    np.testing.assert_allclose(back.flux, precise.flux, rtol=2**-24)


def test_a_spectrum_without_errors_has_none_afterwards():
    flux = np.linspace(1, 2, 100)
    (back,) = unpack(pack(items([clean_spectrum(np.linspace(4000, 5000, 100), flux)])))
    assert not back.has_errors
    assert not back.mask.any()


@pytest.mark.parametrize(
    ("write", "hdu", "rows"),
    [
        (lamost_array, 0, (0, 1)),
        (lamost_coadd, 1, ("FLUX", "IVAR")),
        (sdss_spec, 1, ("flux", "ivar")),
    ],
)
def test_arrays_of_surveys_are_those_that_astropy_reads(tmp_path, write, hdu, rows):
    path = tmp_path / "spec.fits"
    write(path)
    (spectrum,) = read_spectra(path).spectra
    table = pack(items([spectrum]))
    assert table.column("rounded").to_pylist() == [False]
    (back,) = unpack(table)
    with fits.open(path) as hdus:
        stored = [np.asarray(hdus[hdu].data[row], dtype=np.float64).ravel() for row in rows]
    good = ~back.mask
    assert good.any()
    assert np.array_equal(back.flux[good], stored[0][good])
    assert np.array_equal(back.ivar[good], stored[1][good])


def test_real_lamost_and_sdss_files_are_bit_for_bit_the_same(shared_data):
    kept = rounded = 0
    for path in sorted(p for s in ("lamost", "sdss") for p in (shared_data / "real" / s).rglob("*.fits*")):
        try:
            spectra = read_spectra(path).spectra
        except UserError:
            continue
        table = pack(items(spectra))
        rounded += sum(table.column("rounded").to_pylist())
        for one, other, lossy in zip(
            spectra, unpack(table), table.column("rounded").to_pylist(), strict=True
        ):
            if not lossy:
                assert_same(one, other)
                kept += 1
    assert kept > 70
    assert rounded < 5  # old SDSS files give an error array, of which ivar is made


def test_a_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "shard.parquet"
    write_shard(path, pack(items([made(n) for n in range(20)])))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match="missing or damaged") as caught:
        list(read_shard(path))
    assert caught.value.where == str(path)


def test_an_index_finds_every_id_and_no_other(tmp_path):
    shards = [[f"a{n}" for n in range(500)], [f"b{n}" for n in range(300)]]
    write_index(tmp_path / "index.npy", shards)
    assert find(tmp_path / "index.npy", "a17") == [(0, 17)]
    assert find(tmp_path / "index.npy", "b299") == [(1, 299)]
    assert find(tmp_path / "index.npy", "c0") == []


def test_ids_come_from_the_survey_else_from_the_file():
    assert spectrum_key(made(1, survey="lamost", release="DR10", survey_id="7"), 0) == "lamost:DR10:7"
    assert spectrum_key(made(1, survey="sdss", survey_id="1-2-3"), 0) == "sdss::1-2-3"
    assert spectrum_key(made(4), 2) == "file:s4:2"


def test_a_folder_that_holds_something_else_is_refused(tmp_path):
    with pytest.raises(UserError, match="not an archive"):
        Store.open(tmp_path)
    (tmp_path / "thesis.tex").write_text("no")
    with pytest.raises(UserError, match="holds something else"):
        Store.create(tmp_path)
    newer = tmp_path / "newer"
    newer.mkdir()
    (newer / "archive.json").write_text('{"schema_version": 99}')
    with pytest.raises(UserError, match="newer version"):
        Store.open(newer)
