"""Spectra as columns, and back: flux and inverse variance as float32, bad pixels as bits.

LAMOST, SDSS and DESI publish float32, so their arrays come back bit for bit. What is given in more digits is
rounded to float32, and the column ``rounded`` says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from specvi_benchmark.spectrum import BoolArray, Claims, FloatArray, Spectrum

LEAST_FLUX, MOST_FLUX = 1e-15, 1e15
MOST_IVAR = 1e30
"""Beyond these a float32 could lose a spectrum in erg/s/cm²/Å: its numbers are stored times a power of two."""

_META = pa.schema(
    [
        ("id", pa.string()),
        ("checksum", pa.string()),  # CRC-32 of flux and wavelength, and of ivar and mask, as stored
        ("file", pa.string()),
        ("row", pa.int32()),
        ("survey", pa.string()),
        ("release", pa.string()),
        ("survey_id", pa.string()),
        ("name", pa.string()),
        ("format", pa.string()),
        ("ra_deg", pa.float64()),
        ("dec_deg", pa.float64()),
        ("gaia_id", pa.int64()),
        ("mjd", pa.int32()),
        ("header_snr", pa.map_(pa.string(), pa.float64())),
        ("object_class", pa.string()),
        ("subclass", pa.string()),
        ("redshift", pa.float64()),
        ("redshift_warning", pa.int64()),
        ("pixels", pa.int32()),
        ("exponent", pa.int16()),  # flux = stored · 2^exponent, ivar = stored · 2^(-2·exponent)
        ("rounded", pa.bool_()),
    ]
)
Number = TypeVar("Number", np.float32, np.uint8)
PIXEL_COLUMNS = ("wavelength_AA", "flux", "ivar", "mask")


@dataclass(frozen=True, slots=True)
class Ingested:
    """A spectrum with its id in the archive, and the file and row it was read from."""

    id: str
    file: str
    row: int
    spectrum: Spectrum


def pack(items: Sequence[Ingested]) -> pa.Table:
    """Return a table of spectra, a row each; shorter ones are filled up with bad pixels.

    Wavelengths (float64, little-endian) stand in a dictionary: a grid that many spectra share is stored once.
    """
    spectra = [item.spectrum for item in items]
    width = max(spectrum.flux.size for spectrum in spectra)
    flux, ivar = (np.zeros((len(items), width), dtype="<f4") for _ in range(2))
    bad = np.ones((len(items), width), dtype=np.bool_)
    exponents = [_exponent(spectrum) for spectrum in spectra]
    rounded = []
    for place, (spectrum, exponent) in enumerate(zip(spectra, exponents, strict=True)):
        used = slice(0, spectrum.flux.size)
        values, weights = _scaled(spectrum.flux, spectrum.ivar, -exponent)
        flux[place, used], ivar[place, used], bad[place, used] = values, weights, spectrum.mask
        rounded.append(bool((flux[place, used] != values).any() or (ivar[place, used] != weights).any()))
    records = [_meta(item) for item in items]
    for place, record in enumerate(records):
        light = crc32(spectra[place].wavelength_AA.astype("<f8").tobytes(), crc32(flux[place]))
        record["checksum"] = f"{light:08x}{crc32(bad[place], crc32(ivar[place])):08x}"
        record["exponent"], record["rounded"] = exponents[place], rounded[place]
    table = pa.Table.from_pylist(records, _META)
    columns = (_grids(spectra), _fixed(flux), _fixed(ivar), _fixed(np.packbits(bad, 1, bitorder="little")))
    for name, column in zip(PIXEL_COLUMNS, columns, strict=True):
        table = table.append_column(name, column)
    return table


def unpack(table: pa.Table) -> Iterator[Spectrum]:
    """Yield the spectra of a table that `pack` made. All are rows of one block, shared and read-only."""
    if not len(table):
        return
    flux, ivar = (_block(table, name, np.float32) for name in ("flux", "ivar"))
    bits = _block(table, "mask", np.uint8)
    bad = np.unpackbits(bits, axis=1, count=flux.shape[1], bitorder="little").view(np.bool_)
    exponents = np.asarray(table.column("exponent"))
    values, weights = flux.astype(np.float64), ivar.astype(np.float64)
    for place in np.flatnonzero(exponents).tolist():
        values[place], weights[place] = _scaled(values[place], weights[place], int(exponents[place]))
    for block in (values, weights, bad):
        block.setflags(write=False)
    grids, grid_of = _unique_grids(table.column("wavelength_AA"))
    for place, record in enumerate(table.select(_META.names).to_pylist()):
        used = slice(0, record["pixels"])
        yield _spectrum(
            record, grids[grid_of[place]], values[place, used], weights[place, used], bad[place, used]
        )


def _meta(item: Ingested) -> dict[str, object]:
    spectrum, claims = item.spectrum, item.spectrum.claims
    return {
        "id": item.id,
        "file": item.file,
        "row": item.row,
        "survey": spectrum.survey,
        "release": spectrum.release,
        "survey_id": spectrum.survey_id,
        "name": spectrum.name,
        "format": spectrum.format,
        "ra_deg": spectrum.ra_deg,
        "dec_deg": spectrum.dec_deg,
        "gaia_id": spectrum.gaia_id,
        "mjd": spectrum.mjd,
        "header_snr": list(spectrum.header_snr.items()),
        "object_class": claims.object_class,
        "subclass": claims.subclass,
        "redshift": claims.redshift,
        "redshift_warning": claims.redshift_warning,
        "pixels": spectrum.flux.size,
    }


def _spectrum(
    record: dict[str, object], wavelength_AA: FloatArray, flux: FloatArray, ivar: FloatArray, mask: BoolArray
) -> Spectrum:
    claims = ("object_class", "subclass", "redshift", "redshift_warning")
    about = ("survey", "release", "survey_id", "name", "format", "ra_deg", "dec_deg", "gaia_id", "mjd")
    return Spectrum(
        wavelength_AA,
        flux,
        ivar,
        mask,
        **{name: record[name] for name in about},  # type: ignore[arg-type]  # the types of _META
        header_snr=dict(record["header_snr"]),  # type: ignore[call-overload]  # pairs
        claims=Claims(**{name: record[name] for name in claims}),  # type: ignore[arg-type]
    )


def _exponent(spectrum: Spectrum) -> int:
    """Return the power of two by which flux is divided before it becomes float32; 0 for the surveys' units."""
    largest = max(float(spectrum.flux.max()), -float(spectrum.flux.min()))
    in_range = largest == 0 or LEAST_FLUX <= largest <= MOST_FLUX
    if in_range and float(spectrum.ivar.max()) <= MOST_IVAR:
        return 0
    scale = largest if largest > 0 else float(spectrum.ivar.max()) ** -0.5
    return int(np.frexp(scale)[1])


def _scaled(flux: FloatArray, ivar: FloatArray, exponent: int) -> tuple[FloatArray, FloatArray]:
    """Return flux · 2^exponent and ivar · 2^(-2·exponent), exactly."""
    if exponent == 0:
        return flux, ivar
    return np.ldexp(flux, exponent), np.ldexp(ivar, -2 * exponent)


def _fixed(block: NDArray[np.generic]) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(block.shape[1] * block.itemsize), len(block), [None, pa.py_buffer(block)]
    )


def _block(table: pa.Table, name: str, dtype: type[Number]) -> NDArray[Number]:
    """Return a column of `_fixed` as ``(rows, values)``, without copying where it is in one piece."""
    column = table.column(name)
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    width = array.type.byte_width
    content = array.buffers()[1][array.offset * width : (array.offset + len(array)) * width]
    return np.frombuffer(content, dtype=np.dtype(dtype).newbyteorder("<")).reshape(len(array), -1)


def _grids(spectra: Sequence[Spectrum]) -> pa.DictionaryArray:
    places: dict[bytes, int] = {}
    known: dict[int, int] = {}  # by identity: spectra of one file share their array
    numbers = []
    for spectrum in spectra:
        array = spectrum.wavelength_AA
        if id(array) not in known:
            content = np.ascontiguousarray(array, dtype="<f8").tobytes()
            known[id(array)] = places.setdefault(content, len(places))
        numbers.append(known[id(array)])
    return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(list(places), pa.binary()))


def _unique_grids(column: pa.ChunkedArray) -> tuple[list[FloatArray], NDArray[np.int32]]:
    encoded = column.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    grids = [_grid(content) for content in encoded.dictionary.to_pylist()]
    return grids, encoded.indices.to_numpy(zero_copy_only=False)


def _grid(content: bytes) -> FloatArray:
    grid = np.frombuffer(content, dtype="<f8").astype(np.float64)
    grid.setflags(write=False)
    return grid
