"""Damaged tables, images and records: a sound spectrum or one refusal, never another exception."""

import json
import random
import warnings
from pathlib import Path

import astropy.units as u
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.io import fits
from astropy.table import QTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys import read_spectra

SIZE = 60
WAVELENGTH = np.linspace(3800.0, 9200.0, SIZE)
FLUX = np.random.default_rng(11).normal(5, 1, SIZE)

TOKENS = [
    *(
        b"nan",
        b"1e999",
        b"-1",
        b"9" * 400,
        b"1e-320",
        b"inf",
        b"0",
        b"-",
        b"1_0",
        b"\xff\xfe",
        b"\0",
        b"\x85",
    ),
    *(b"\n", b"\r", b",", b'"', b"#", b"{", b"[", b"'", b"\t", "Å".encode(), b"=", b"T", b"1D400", b"<"),
]


def seeds(folder: Path) -> dict[str, bytes]:
    """Return one small sound file of every format that this module's readers know."""
    columns = {"wavelength": WAVELENGTH, "flux": FLUX, "error": np.full(SIZE, 0.5)}
    record = {"sparcl_id": "x", "data_release": "SDSS-DR16", "ra": 1.0, **{k: v.tolist() for k, v in columns.items()}, "mask": [0] * SIZE}  # fmt: skip
    universe = {"spectrum": {"lambda": WAVELENGTH.tolist(), "flux": FLUX.tolist(), "mask": [False] * SIZE}, "VDISP": 1.0, "SPECTROFLUX_G": 1.0}  # fmt: skip
    rows = [
        "wavelength,flux,error",
        *(f"{a!r},{b!r},0.5" for a, b in zip(WAVELENGTH.tolist(), FLUX.tolist(), strict=True)),
    ]
    files = {
        "csv": "\n".join(rows),
        "header.txt": "# wavelength (nm) flux (mJy) error\n# in vacuum\n" + "\n".join(row.replace(",", " ") for row in rows[1:]),
        "oke": "".join(f"{w:10.2f}{m:10.3f}{7.0 if w < 5000 else 13.0:10.1f}\n" for w, m in zip(WAVELENGTH, FLUX + 12, strict=True)),
        "pickles": "".join(f"{w:7.1f}{1 + w / 1e5:10.6f}\n" for w in 1150 + 5.0 * np.arange(1895)),
        "sdss.csv": "Wavelength,Flux,BestFit,SkyFlux\n" + "\n".join(f"{row.rsplit(',', 1)[0]},1,1" for row in rows[1:]),
        "json": json.dumps([{"status": 1}, record]),
        "jsonl": json.dumps(record) + "\n" + json.dumps(record) + "\n",
    }  # fmt: skip
    contents = {name: text.encode() for name, text in files.items()}
    table = QTable({"wavelength": WAVELENGTH * u.AA, "flux": FLUX * u.Jy, "error": np.full(SIZE, 0.5) * u.Jy})
    bintable = [fits.Column(name=name, format="E", array=array) for name, array in columns.items()]
    cards = {"CRVAL1": 4000.0, "CDELT1": 2.0, "CRPIX1": 1.0, "CUNIT1": "Angstrom"}
    marks = {"STARIDEN": "HD 1", "SPECTYPE": "A0", "ISEXTINC": 0.0, "RADVEL": 0.0}
    images = {"image": {}, "miles": {"TPLLIB": "MILES"}, "stelib": marks}
    pixels = FLUX.astype("f4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.write(folder / "ecsv", format="ascii.ecsv")
        for form in ("tabledata", "binary2"):
            table.write(folder / f"votable-{form}", format="votable", tabledata_format=form)
        fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(bintable)]).writeto(
            folder / "table.fits"
        )
        crspectrum = [fits.Column(name=name, format="E", array=array) for name, array in zip(("WAVELENGTH", "FLUX", "STATERROR", "SYSERROR"), (WAVELENGTH, FLUX, FLUX / 10, FLUX / 99), strict=True)]  # fmt: skip
        primary = fits.PrimaryHDU(header=fits.Header({"DBTABLE": "CRSPECTRUM"}))
        fits.HDUList([primary, fits.BinTableHDU.from_columns(crspectrum)]).writeto(folder / "calspec.fits")
        for name, more in images.items():
            fits.PrimaryHDU(pixels, header=fits.Header(cards | more)).writeto(folder / f"{name}.fits")
        pq.write_table(pa.Table.from_pylist([record] * 3), folder / "sparcl.parquet")
        pq.write_table(pa.Table.from_pylist([universe] * 3), folder / "universe.parquet")
        universe_table = pa.Table.from_pylist([universe] * 3)
        with pa.ipc.new_stream(folder / "universe.arrow", universe_table.schema) as writer:
            writer.write_table(universe_table)
    return contents | {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> dict[str, bytes]:
    return seeds(tmp_path_factory.mktemp("seeds"))


def damage(content: bytes, chance: random.Random) -> bytes:
    """Return a file cut, with bytes changed, removed, doubled, or with a nasty word in it."""
    start = chance.randrange(min(len(content), chance.choice([300, 4000, 10**9])))
    length = chance.choice([1, 4, 80, 2880])
    kind = chance.choice(["cut", "bytes", "bytes", "word", "word", "remove", "double"])
    if kind == "cut":
        return content[: chance.randrange(1, len(content))]
    if kind == "remove":
        return content[:start] + content[start + length :]
    if kind == "double":
        return content[: start + length] + content[start:]
    changed = bytearray(content)
    if kind == "word":
        word = chance.choice(TOKENS)
        changed[start : start + len(word)] = word
    else:
        for _ in range(chance.choice([1, 1, 3, 30])):
            changed[chance.randrange(start, len(changed))] = chance.randrange(256)
    return bytes(changed)


def check(path: Path, content: bytes, medium: str | None) -> bool:
    """Read a file; whatever comes back must be sound. Return whether anything came back."""
    path.write_bytes(content)
    try:
        reading = read_spectra(path, medium=medium)
    except UserError as error:
        message = str(error)
    else:
        message = None
    if message is not None:
        assert 10 < len(message) < 4000
        return False
    for spectrum in reading.spectra:
        assert np.isfinite(spectrum.flux[spectrum.good]).all()
        assert (np.diff(spectrum.wavelength_AA) > 0).all()
        assert spectrum.wavelength_AA.size <= max(len(content), 10_000)
    return True


def test_the_sound_files_are_read(sound, tmp_path):
    air = {"pickles", "miles.fits", "stelib.fits"}
    for name, content in sound.items():
        assert check(tmp_path / "a", content, "air" if name in air else "vacuum"), name


def test_damaged_files_are_read_soundly_or_refused(sound, tmp_path):
    chance = random.Random(20260101)
    names = sorted(sound)
    read = 0
    for _ in range(1500):
        name = chance.choice(names)
        content = damage(sound[name], chance)
        read += check(tmp_path / "a", content, chance.choice(["vacuum", "vacuum", "air", None]))
    assert 100 < read < 1200  # neither does all damage go unnoticed, nor is everything refused


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(max_size=400), st.text(max_size=400).map(lambda text: text.encode("utf-8", "replace"))
    )
)
def test_any_bytes_are_refused_or_read_soundly(tmp_path, content):
    if content:
        check(tmp_path / "a", content, "vacuum")


CELLS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.sampled_from(
        ["", "nan", "-", "1,5", "1D3", "x", '"', "1e999", "0x10", "１２", " ", "1 2", "#", "1_0", "True"]
    ),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    header=st.sampled_from(
        [
            "wavelength,flux",
            "wave_vac_nm,f_nu",
            "loglam,flux",
            "a,b",
            "",
            "# wavelength flux",
            "wavelength,flux,ivar",
        ]
    ),
    rows=st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", " ", "|"]),
)
def test_any_table_is_refused_or_read_soundly(tmp_path, header, rows, delimiter):
    body = "\n".join(delimiter.join(row) for row in rows)
    check(tmp_path / "a", f"{header.replace(',', delimiter)}\n{body}\n".encode(), "vacuum")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wavelength_form=st.sampled_from(["D", "E", "J", "I", "K", "B", "L", "10A", "C", "2D", "PD()"]),
    flux_form=st.sampled_from(["D", "E", "J", "I", "B", "L", "5A", "M", "0D", "QE()"]),
    cards=st.dictionaries(
        st.sampled_from(["TSCAL1", "TZERO1", "TSCAL2", "TZERO2", "TNULL2", "TUNIT1", "TUNIT2", "TUCD1", "AIRORVAC"]),
        st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**70), 2**70), st.sampled_from(["nm", "Jy", "x", ""])),
        max_size=4,
    ),
)  # fmt: skip
def test_tables_of_any_type_and_absurd_headers(tmp_path, wavelength_form, flux_form, cards):
    values = {
        "A": np.array(["4000", "4001", "4002"]),
        "2": np.ones((3, 2)),
        "0": np.zeros((3, 0)),
        "P": np.array([[1.0], [2.0], [3.0]]),
    }
    columns = []
    for name, form in (("wavelength", wavelength_form), ("flux", flux_form)):
        array = values.get(
            "A" if form.endswith("A") else "P" if form[0] in "PQ" else form[0], np.array([4000.0, 4001, 4002])
        )
        if form in {"I", "B", "J", "K"}:
            array = np.array([100, 101, 102])
        columns.append(fits.Column(name=name, format=form, array=array))
    path = tmp_path / "table.fits"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hdu = fits.BinTableHDU.from_columns(columns)
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path, overwrite=True)
    content = path.read_bytes()
    start = content.index(b"XTENSION")
    end = content.index(b"END     ", start)
    extra = b"".join(
        f"{key:8}= {value!r:>20}".replace("True", "T").encode()[:80].ljust(80) for key, value in cards.items()
    )
    header = content[start:end] + extra + b"END     ".ljust(80)
    content = (
        content[:start]
        + header.ljust(-(-len(header) // 2880) * 2880)
        + content[start + 2880 * (-(-(end + 80 - start) // 2880)) :]
    )
    check(path, content, "vacuum")
