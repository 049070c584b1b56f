"""From the bytes of a FITS file to values: scaling, blanks, text, compressed tiles."""

import warnings
from io import BytesIO
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from specvi_benchmark.surveys.packed import unpack

if TYPE_CHECKING:
    from specvi_benchmark.surveys.fits import Hdu

IMAGE_DTYPES = {8: "u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
MOST_UNPACKED = 16  # times the whole file; real ones stay below 2, since flux hardly shrinks
_UNSIGNED = {(">i2", 2**15): "u2", (">i4", 2**31): "u4", (">i8", 2**63): "u8"}


def scale_column(
    values: np.ndarray, scale: float | None, zero: float | None, null: int | None = None
) -> np.ndarray:
    """Apply TSCAL and TZERO. Scaled columns are float64; a zero of half the range means unsigned.

    Stored integers equal to ``null`` become NaN, which makes a float64 column too.
    """
    if null is not None:
        scaled: np.ndarray = scale_column(values, scale, zero).astype(np.float64)
        scaled[values == null] = np.nan
        return scaled
    scale, zero = 1.0 if scale is None else scale, zero or 0.0
    if scale == 1.0 and zero == 0.0:
        return values
    unsigned = _unsigned(values, scale, zero)
    return unsigned if unsigned is not None else values.astype(np.float64) * scale + zero


def scale_image(
    pixels: np.ndarray, scale: float | None, zero: float | None, blank: int | None = None
) -> np.ndarray:
    """Apply BSCALE, BZERO and BLANK. Short integers become float32, long ones float64, as in astropy."""
    scale, zero = 1.0 if scale is None else scale, zero or 0.0
    if pixels.dtype.kind == "f":
        blank = None  # floats mark missing pixels by NaN
    if scale == 1.0 and zero == 0.0 and blank is None:
        return pixels
    unsigned = _unsigned(pixels, scale, zero) if blank is None else None
    if unsigned is not None:
        return unsigned
    values: np.ndarray[tuple[int, ...], np.dtype[np.floating]] = pixels.astype(
        np.float64 if pixels.dtype.str in {">i4", ">i8", ">f8"} else np.float32
    )
    if scale != 1.0:
        values = values * scale
    if zero:
        values = values + zero
    if blank is not None:
        values[pixels == blank] = np.nan
    return values


def text_cells(cells: np.ndarray) -> np.ndarray:
    """Return ``(rows, width)`` bytes as text: up to the first NUL, without surrounding blanks."""
    texts = [cell.tobytes().split(b"\0", 1)[0].decode("ascii", "replace").strip() for cell in cells]
    return np.array(texts, dtype=object)


def decompressed_image(hdu: "Hdu") -> np.ndarray:
    """Return the pixels of a tile-compressed image.

    Rows of integers packed with GZIP_1, as DESI writes its masks, are unpacked here, everything else
    by astropy, which takes 100 times as long.

    Raises
    ------
    UserError
        The tiles can't be decoded.
    """
    pixel_bytes = abs(hdu.header.integer("ZBITPIX") or 64) // 8
    if prod(hdu.shape) * pixel_bytes > MOST_UNPACKED * len(hdu.file.stored):
        raise hdu.fault("a compressed image announces more pixels than the file can hold", got=hdu.shape)
    try:
        pixels = _gzip_rows(hdu)
        return _by_astropy(hdu) if pixels is None else pixels
    except Exception as error:  # noqa: BLE001  # damaged tiles raise many kinds, inside astropy too
        raise hdu.fault("the compressed image can't be decoded", got=error) from None


def _gzip_rows(hdu: "Hdu") -> np.ndarray | None:
    """Return an integer image whose tiles are rows packed with GZIP_1, None where it is another kind.

    After the FITS standard 4.0, section 10: a table row holds one tile as a descriptor (length,
    offset) into the heap; the packed bytes are big-endian pixels.
    """
    header = hdu.header
    shape, bits = hdu.shape, header.integer("ZBITPIX")
    if (
        header.text("ZCMPTYPE") != "GZIP_1"
        or bits not in {8, 16, 32}
        or len(shape) != 2
        or (header.integer("ZTILE1") or shape[1]) != shape[1]
        or (header.integer("ZTILE2") or 1) != 1
        or header.integer("TFIELDS") != 1
        or header.integer("NAXIS1") != 8
        or hdu.n_rows != shape[0]
        or "BLANK" in header
        or "ZBLANK" in header
    ):
        return None
    heap = header.integer("THEAP") or hdu.n_rows * 8
    dtype = np.dtype(IMAGE_DTYPES[bits])
    row_bytes = shape[1] * dtype.itemsize
    rows = []
    for length, offset in np.frombuffer(hdu.content, ">i4", 2 * hdu.n_rows).reshape(-1, 2).tolist():
        rows.append(unpack(bytes(hdu.content[heap + offset : heap + offset + length]), row_bytes))
        if len(rows[-1]) != row_bytes:
            raise ValueError(f"a tile of {len(rows[-1])} bytes, expected {shape[1]} pixels of {bits} bits")
    pixels = np.frombuffer(b"".join(rows), dtype).reshape(shape)
    return scale_image(pixels, header.number("BSCALE"), header.number("BZERO"))


def _by_astropy(hdu: "Hdu") -> np.ndarray:
    from astropy.io import fits  # noqa: PLC0415  # slow to import, and rarely needed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.open(BytesIO(hdu.file.whole()), memmap=False) as hdus:
            return np.array(hdus[hdu.index].data)


def _unsigned(values: np.ndarray, scale: float, zero: float) -> np.ndarray | None:
    """Return unsigned integers where that is what the scaling says (FITS standard 4.0, table 11)."""
    dtype = _UNSIGNED.get((values.dtype.str, int(zero))) if np.isfinite(zero) else None
    if dtype is None or scale != 1.0:
        return None
    native = values.astype(values.dtype.newbyteorder("=")).view(dtype)
    flipped: np.ndarray = np.bitwise_xor(native, native.dtype.type(int(zero)))
    return flipped
