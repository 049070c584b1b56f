"""The FITS reader against astropy: the same values bit for bit, and a clear refusal where bytes are missing."""

import gzip
import io
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys.fits import BLOCK, FitsFile, Hdu
from specvi_benchmark.surveys.source import open_source

pytestmark = pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyWarning")

COLUMN_CODES = {
    "L": st.booleans(),
    "B": st.integers(0, 2**8 - 1),
    "I": st.integers(-(2**15), 2**15 - 1),
    "J": st.integers(-(2**31), 2**31 - 1),
    "K": st.integers(-(2**63), 2**63 - 1),
    "E": st.floats(width=32),
    "D": st.floats(width=64),
    "A": st.text("abcXYZ 019.-", max_size=7),
}


def as_bytes(hdus: list) -> bytes:
    stream = io.BytesIO()
    fits.HDUList(hdus).writeto(stream)
    return stream.getvalue()


def same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Return whether two arrays hold the same values bit for bit (NaN included), whatever the byte order."""
    theirs = np.asarray(theirs)
    native = [array.astype(array.dtype.newbyteorder("=")) for array in (ours, theirs)]
    return native[0].dtype == native[1].dtype and native[0].tobytes() == native[1].tobytes()


def agrees(hdu: Hdu, theirs: object) -> int:
    """Compare an HDU with astropy's; return how many arrays were compared."""
    if isinstance(theirs, fits.BinTableHDU):
        compared = 0
        for number, name in enumerate(theirs.columns.names):
            if theirs.columns.names.index(name) != number or any(
                name.lower() == other.lower() for other in theirs.columns.names[:number]
            ):
                continue
            cells = theirs.data.field(number)
            ours = hdu.column(name)
            if cells.dtype.kind in "US":
                texts = [str(cell).split("\0")[0].strip() for cell in cells]
                assert ours.tolist() == texts, name
            elif cells.dtype.kind != "O":
                assert same(ours.reshape(-1), cells.reshape(-1)), name
                assert len(ours) == len(cells)
            compared += 1
        return compared
    if theirs.data is None:
        assert not hdu.is_image
        return 0
    assert hdu.shape == theirs.data.shape
    assert same(hdu.image(), theirs.data)
    return 1


@pytest.fixture(scope="module")
def fits_files(shared_data: Path) -> list[Path]:
    def is_fits(path: Path) -> bool:
        with path.open("rb") as stream:
            start = stream.read(6)
        if start[:2] == b"\x1f\x8b":
            with gzip.open(path) as stream:
                start = stream.read(6)
        return start == b"SIMPLE"

    files = sorted(path for path in shared_data.rglob("*") if path.is_file())
    return [path for path in files if is_fits(path)]


def test_every_array_of_every_real_file_is_astropys_bit_for_bit(fits_files: list[Path]) -> None:
    compared = 0
    for path in fits_files:
        source = open_source(path)
        with fits.open(io.BytesIO(source.content)) as theirs:
            assert len(source.fits.hdus) == len(theirs)
            for ours, hdu in zip(source.fits.hdus, theirs, strict=True):
                compared += agrees(ours, hdu)
    assert len(fits_files) > 300
    assert compared > 7_000


def test_every_header_value_of_real_survey_files_is_astropys(fits_files: list[Path]) -> None:
    compared = 0
    for path in fits_files:
        if not {"lamost", "sdss", "desi"} & set(path.parts):
            continue
        source = open_source(path)
        with fits.open(io.BytesIO(source.content), disable_image_compression=True) as theirs:
            for ours, hdu in zip(source.fits.hdus, theirs, strict=True):
                for card in hdu.header.cards:
                    if (
                        card.keyword in {"COMMENT", "HISTORY", ""}
                        or len(card.keyword) > 8
                        or len(str(card.value)) > 60
                    ):
                        continue
                    if hdu.header.count(card.keyword) > 1 or isinstance(card.value, fits.card.Undefined):
                        continue
                    value = ours.header[card.keyword]
                    assert value == card.value, (path.name, card.keyword)
                    assert type(value) is type(card.value), (path.name, card.keyword)
                    compared += 1
    assert compared > 20_000


@given(data=st.data())
@settings(max_examples=60)
def test_images_of_every_type_are_astropys(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["u1", "i2", "i4", "i8", "f4", "f8", "u2", "u4"]))
    image = data.draw(arrays(dtype, array_shapes(min_dims=1, max_dims=3, max_side=5)))
    content = as_bytes([fits.PrimaryHDU(), fits.ImageHDU(image, name="X")])
    ours = FitsFile(content, "made")["x"]
    assert ours.shape == image.shape
    with fits.open(io.BytesIO(content)) as theirs:
        assert same(ours.image(), theirs[1].data)
    assert same(ours.image(), image)


@given(
    dtype=st.sampled_from(["u1", "i2", "i4", "i8", "f4", "f8"]),
    scale=st.sampled_from([1.0, 0.5, -2.25, 1e-3]),
    zero=st.sampled_from([0.0, 3.5, -1e4, 32768.0]),
    blank=st.sampled_from([None, 7]),
    data=st.data(),
)
@settings(max_examples=80)
def test_scaled_images_are_astropys(
    dtype: str, scale: float, zero: float, blank: int | None, data: st.DataObject
) -> None:
    elements = st.floats(-(2.0**99), 2.0**99, width=32) if dtype[0] == "f" else st.integers(0, 100)
    image = data.draw(arrays(dtype, (2, 3), elements=elements))
    cards = {"BSCALE": scale, "BZERO": zero}
    if blank is not None and dtype[0] != "f":
        assume(zero != 32768.0)  # unsigned, where astropy overlooks BLANK
        cards["BLANK"] = blank
    content = _with_cards(as_bytes([fits.PrimaryHDU(image)]), cards)
    with fits.open(io.BytesIO(content)) as theirs:
        expected = theirs[0].data
    ours = FitsFile(content, "made")[0].image()
    assert ours.dtype.newbyteorder("=") == expected.dtype.newbyteorder("=")
    assert np.array_equal(ours, expected, equal_nan=True)


def test_a_blank_of_zero_is_no_data_as_the_standard_says_though_astropy_overlooks_it() -> None:
    content = _with_cards(as_bytes([fits.PrimaryHDU(np.array([0, 1, 2], np.int16))]), {"BLANK": 0})
    assert np.array_equal(FitsFile(content, "made")[0].image(), [np.nan, 1.0, 2.0], equal_nan=True)


@given(data=st.data())
@settings(max_examples=80)
def test_table_columns_of_every_type_are_astropys(data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 4))
    columns = []
    for number in range(data.draw(st.integers(1, 5))):
        code = data.draw(st.sampled_from(sorted(COLUMN_CODES)))
        length = 1 if code == "A" else data.draw(st.integers(1, 3))
        cells = data.draw(
            st.lists(
                st.lists(COLUMN_CODES[code], min_size=length, max_size=length), min_size=rows, max_size=rows
            )
        )
        values = [cell[0] for cell in cells] if length == 1 else cells
        array = np.array(values if code != "A" else [text.encode() for text in values])
        form = "7A" if code == "A" else f"{length}{code}"
        columns.append(
            fits.Column(f"c{number}", form, array=array.reshape((rows,) + (length,) * (length > 1)))
        )
    content = as_bytes([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(columns, nrows=rows)])
    with fits.open(io.BytesIO(content)) as theirs:
        assert agrees(FitsFile(content, "made")[1], theirs[1]) == len(columns)


@pytest.mark.parametrize("unsigned", ["u2", "u4", "u8"])
def test_unsigned_columns_keep_their_full_range(unsigned: str) -> None:
    info = np.iinfo(unsigned)
    values = np.array([0, 1, info.max // 2, info.max // 2 + 1, info.max], dtype=unsigned)
    content = as_bytes([fits.PrimaryHDU(), fits.BinTableHDU(np.rec.fromarrays([values], names=["x"]))])
    ours = FitsFile(content, "made")[1].column("x")
    assert ours.dtype == np.dtype(unsigned)
    assert ours.tolist() == values.tolist()


@given(scale=st.floats(-1e3, 1e3).filter(bool), zero=st.floats(-1e6, 1e6))
def test_scaled_columns_are_astropys(scale: float, zero: float) -> None:
    for form, values in (("J", [-3, 0, 2**30]), ("E", [0.5, -1.25, 3e8])):
        table = fits.BinTableHDU.from_columns([fits.Column("x", form, array=np.array(values))])
        content = _with_cards(as_bytes([fits.PrimaryHDU(), table]), {"TSCAL1": scale, "TZERO1": zero}, hdu=1)
        with fits.open(io.BytesIO(content)) as theirs:
            expected = np.asarray(theirs[1].data["x"])
        assert np.array_equal(FitsFile(content, "made")[1].column("x"), expected)


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "u4", "f4"])
@pytest.mark.parametrize("kind", ["GZIP_1", "GZIP_2", "RICE_1"])
def test_compressed_images_are_astropys(kind: str, dtype: str) -> None:
    image = np.random.default_rng(3).integers(0, 90, (4, 300)).astype(dtype)
    hdus = [
        fits.PrimaryHDU(),
        fits.CompImageHDU(image, name="B_MASK", compression_type=kind, quantize_level=0.0),
    ]
    content = as_bytes(hdus)
    ours = FitsFile(content, "made")["B_MASK"]
    assert ours.shape == (4, 300)
    assert ours.is_image
    assert not ours.is_table
    with fits.open(io.BytesIO(content)) as theirs:
        assert np.array_equal(ours.image(), theirs[1].data)
        assert ours.image().dtype.newbyteorder("=") == theirs[1].data.dtype.newbyteorder("=")


def test_gzip_rows_are_unpacked_without_astropy(monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.arange(600, dtype=np.int32).reshape(3, 200)
    content = as_bytes([fits.PrimaryHDU(), fits.CompImageHDU(image, compression_type="GZIP_1")])
    monkeypatch.setattr("specvi_benchmark.surveys.fits_values._by_astropy", pytest.fail)
    assert np.array_equal(FitsFile(content, "made")[1].image(), image)


def test_a_large_file_is_mapped_and_only_asked_parts_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specvi_benchmark.surveys.source.MAPPED_FROM", 1000)
    image = np.arange(5000.0).reshape(5, 1000)
    path = tmp_path / "large.fits"
    path.write_bytes(as_bytes([fits.PrimaryHDU(), fits.ImageHDU(image, name="X")]))
    source = open_source(path)
    assert not isinstance(source.stored, bytes)
    assert np.array_equal(source.fits["X"].image(), image)
    assert source.content == path.read_bytes()


def test_names_are_found_in_any_case_and_the_first_of_doubled_ones_counts() -> None:
    hdus = [fits.PrimaryHDU(), *(fits.ImageHDU(np.full(3, float(n)), name="FLUX") for n in range(2))]
    file = FitsFile(as_bytes(hdus), "made")
    assert file["flux"].image()[0] == 0.0
    assert file.get("ivar") is None
    with pytest.raises(KeyError):
        file["ivar"]


def test_values_keep_quotes_exponents_and_missing_ones() -> None:
    header = fits.Header(
        {"QUOTE": "it's", "FORTRAN": 1, "NOTHING": None, "ANSWER": True, "TEXT": "12.5", "WHOLE": 3.0}
    )
    content = as_bytes([fits.PrimaryHDU(header=header)]).replace(
        b"FORTRAN =                    1", b"FORTRAN =             1.25D+02"
    )
    ours = FitsFile(content, "made").primary
    assert ours["QUOTE"] == "it's"
    assert ours.number("FORTRAN") == 125.0
    assert ours["NOTHING"] is None
    assert ours["ANSWER"] is True
    assert ours.number("ANSWER") is None
    assert ours.number("TEXT") == 12.5
    assert ours.integer("WHOLE") == 3
    assert ours.integer("TEXT") is None
    assert "MISSING" not in ours


def test_cards_that_break_the_standard_are_left_out() -> None:
    content = as_bytes([fits.PrimaryHDU(header=fits.Header({"APNUM1": "x", "Z": 0.5}))])
    broken = content.replace(b"APNUM1  = 'x", b"APNUM1 \x00= 'x").replace(b"Z       =", b"Z       =")
    assert FitsFile(broken, "made").primary.number("Z") == 0.5


@pytest.mark.parametrize("keep", [10, 2000, BLOCK + 5, -BLOCK - 1, -4 * BLOCK])
def test_a_cut_file_is_refused(keep: int) -> None:
    content = as_bytes([fits.PrimaryHDU(), fits.ImageHDU(np.zeros(5000))])
    with pytest.raises(UserError, match="truncated or damaged") as caught:
        FitsFile(content[:keep], "cut.fits")
    assert "cut.fits" in str(caught.value)


def test_padding_cut_from_the_end_does_no_harm() -> None:
    content = as_bytes([fits.PrimaryHDU(), fits.ImageHDU(np.arange(10.0))])
    assert np.array_equal(FitsFile(content[: -(BLOCK - 80)], "short").hdus[1].image(), np.arange(10.0))


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("NAXIS", -1),
        ("NAXIS", 10**9),
        ("NAXIS1", -5),
        ("NAXIS1", "x"),
        ("BITPIX", 7),
        ("PCOUNT", -1),
        ("GCOUNT", -3),
    ],
)
def test_lengths_that_cannot_be_true_are_refused(keyword: str, value: object) -> None:
    content = as_bytes([fits.PrimaryHDU(), fits.ImageHDU(np.zeros((3, 4)))])
    with pytest.raises(UserError, match=r"can't be true|truncated"):
        FitsFile(_with_cards(content, {keyword: value}, hdu=1), "made")


@pytest.mark.parametrize("rows", [99, 90])
def test_rows_that_a_header_hides_are_noticed(rows: int) -> None:
    table = fits.BinTableHDU.from_columns([fits.Column("x", "D", array=np.arange(1.0, 101.0))])
    content = _with_cards(as_bytes([fits.PrimaryHDU(), table]), {"NAXIS2": rows}, hdu=1)
    with pytest.raises(UserError, match="do not fit the data"):
        FitsFile(content, "made")[1].column("x")


def test_columns_that_do_not_fill_the_row_are_not_guessed() -> None:
    table = fits.BinTableHDU.from_columns([fits.Column("x", "D", array=np.arange(4.0))])
    content = as_bytes([fits.PrimaryHDU(), table]).replace(b"TFORM1  = 'D ", b"TFORM1  = 'E ")
    file = FitsFile(content, "made")
    assert dict(file[1].columns) == {}
    with pytest.raises(UserError, match="column is missing"):
        file[1].column("x")


def test_what_a_table_lacks_is_named_with_file_hdu_and_columns() -> None:
    table = fits.BinTableHDU.from_columns([fits.Column("flux", "D", array=np.arange(4.0))], name="COADD")
    file = FitsFile(as_bytes([fits.PrimaryHDU(), table]), "spec.fits")
    with pytest.raises(UserError) as caught:
        file[1].column("ivar")
    message = str(caught.value)
    assert "spec.fits, HDU 1 (COADD)" in message
    assert "ivar" in message
    assert "flux" in message
    with pytest.raises(UserError, match="no image"):
        file[0].image()


def test_a_compressed_image_with_absurd_size_allocates_nothing() -> None:
    image = np.zeros((3, 200), np.int32)
    content = as_bytes([fits.PrimaryHDU(), fits.CompImageHDU(image, compression_type="RICE_1")])
    broken = _with_cards(content, {"ZNAXIS1": 2_000_000_000}, hdu=1)
    with pytest.raises(UserError, match="more pixels than the file can hold"):
        FitsFile(broken, "made")[1].image()


def test_damaged_tiles_are_a_user_error() -> None:
    image = np.arange(600, dtype=np.int32).reshape(3, 200)
    content = bytearray(as_bytes([fits.PrimaryHDU(), fits.CompImageHDU(image, compression_type="GZIP_1")]))
    start = FitsFile(bytes(content), "made")[1].start
    length, offset = struct.unpack(">ii", content[start : start + 8])
    content[start + 24 + offset + length // 2] ^= 0xFF
    with pytest.raises(UserError, match="can't be decoded"):
        FitsFile(bytes(content), "made")[1].image()


def _with_cards(content: bytes, cards: dict[str, object], hdu: int = 0) -> bytes:
    """Replace cards of one HDU, or put them before its END, leaving the data as they are."""
    file = FitsFile(content, "made")
    end = file.hdus[hdu].start
    start = file.hdus[hdu - 1].start + -(-file.hdus[hdu - 1].size // BLOCK) * BLOCK if hdu else 0
    lines = [content[at : at + 80] for at in range(start, end, 80)]
    kept = lines[: lines.index(b"END".ljust(80))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for keyword, value in cards.items():
            card = str(fits.Card(keyword, value)).encode().ljust(80)
            at = next((n for n, line in enumerate(kept) if line[:8].rstrip() == keyword.encode()), len(kept))
            kept[at : at + 1] = [card]
    header = b"".join([*kept, b"END".ljust(80)])
    return content[:start] + header + b" " * (-len(header) % BLOCK) + content[end:]
