"""Damaged files: a refusal or a sound spectrum, never another exception, never much more memory than the file.

Seeds are files written here for each FITS format, and where they exist the real files, one for each
format. Damage in lengths, types or grids must not pass as another spectrum.
"""

import gzip
import re
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys import Reading, read_spectra
from specvi_benchmark.surveys.fits import BLOCK, FitsFile
from specvi_benchmark.surveys.sample_files import WRITERS, desi_spectra
from specvi_benchmark.surveys.source import open_source

ROUNDS = 150
MEMORY_FACTOR = (
    8  # peak of Python and numpy allocations, in unpacked file sizes: float32 becomes four float64 arrays
)
MEMORY_FLOOR = 4 * 2**20

ABSURD = [
    *(b"-1", b"0", b"1", b"2", b"3", b"7", b"1000", b"2147483647", b"99999999999999999999", b"-2147483648"),
    *(b"1.0E308", b"-1.0E308", b"1E999", b"NAN", b"INF", b"T", b"F", b"'text'", b"''", b"'unclosed", b""),
    *(
        b"'1E'",
        b"'3D'",
        b"'999999999E'",
        b"'PE(1)'",
        b"'0A'",
        b"'1L'",
        b"'BINTABLE'",
        b"'IMAGE'",
        b"'SKY'",
        b"-9999",
    ),
]
Mutation = Callable[[bytes, np.random.Generator], bytes]


def truncated(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(0, len(content))]


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(content)
    for position in rng.integers(0, len(content), rng.integers(1, 30)):
        damaged[position] ^= 1 << int(rng.integers(0, 8))
    return bytes(damaged)


def flipped_at_the_start(content: bytes, rng: np.random.Generator) -> bytes:
    return flipped(content[:BLOCK], rng) + content[BLOCK:]


def cut_out(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = sorted(rng.integers(0, len(content), 2))
    return content[:start] + content[stop:]


def hdus(content: bytes) -> list[bytes]:
    """Return a FITS file's HDUs as bytes, one piece where it is not FITS."""
    if not content.startswith(b"SIMPLE"):
        return [content]
    ends = [hdu.start + hdu.size + -hdu.size % BLOCK for hdu in FitsFile(content, "seed").hdus]
    return [content[start:stop] for start, stop in zip([0, *ends[:-1]], ends, strict=True)]


def without_hdus(content: bytes, rng: np.random.Generator) -> bytes:
    pieces = hdus(content)
    keep = rng.random(len(pieces)) < 0.7
    keep[0] |= rng.random() < 0.9
    return b"".join(piece for piece, kept in zip(pieces, keep, strict=True) if kept)


def shuffled_hdus(content: bytes, rng: np.random.Generator) -> bytes:
    first, *rest = hdus(content)
    return b"".join([first, *(rest[number] for number in rng.permutation(len(rest)))])


def header_cards(content: bytes) -> list[tuple[int, bytes]]:
    """Return position and keyword of every header card with a value."""
    found, start = [], 0
    for piece in hdus(content):
        for at in range(0, len(piece) - 79, 80):
            if piece[at : at + 8] == b"END     ":
                break
            if piece[at + 8 : at + 10] == b"= ":
                found.append((start + at, piece[at : at + 8].rstrip()))
        start += len(piece)
    return found


def with_value(content: bytes, at: int, value: bytes) -> bytes:
    return content[: at + 10] + value.rjust(20).ljust(70)[:70] + content[at + 80 :]


def absurd_values(content: bytes, rng: np.random.Generator) -> bytes:
    cards = header_cards(content)
    for _ in range(rng.integers(1, 4) if cards else 0):
        at, _keyword = cards[rng.integers(0, len(cards))]
        content = with_value(content, at, ABSURD[rng.integers(0, len(ABSURD))])
    return content


def other_types(content: bytes, rng: np.random.Generator) -> bytes:
    cards = [
        card for card in header_cards(content) if re.match(rb"BITPIX|TFORM|ZBITPIX|NAXIS|TFIELDS", card[1])
    ]
    for _ in range(rng.integers(1, 4) if cards else 0):
        at, keyword = cards[rng.integers(0, len(cards))]
        if keyword.startswith(b"TFORM"):
            letter = b"LXBIJKAEDCMPQ"[rng.integers(0, 13)]
            value = re.sub(
                rb"[A-Z]", bytes([letter]), content[at + 10 : at + 40].split(b"/")[0].strip(), count=1
            )
        elif keyword.endswith(b"BITPIX"):
            value = str(rng.choice([8, 16, 32, 64, -32, -64])).encode()
        else:
            value = str(rng.integers(0, 6000)).encode()
        content = with_value(content, at, value)
    return content


def repeated(content: bytes, rng: np.random.Generator) -> bytes:
    pieces = hdus(content)
    return content + pieces[rng.integers(0, len(pieces))]


MUTATIONS: list[Mutation] = [
    *(truncated, flipped, flipped_at_the_start, cut_out, without_hdus, shuffled_hdus),
    *(absurd_values, other_types, repeated),
]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("seeds")
    found = {}
    for name, write in WRITERS.items():
        path = folder / f"{name}.fits"
        if name == "desi-spectra":
            desi_spectra(path, targets=2)
        else:
            write(path)
        found[name] = path.read_bytes()
    return found


def outcome(path: Path, content: bytes, medium: str | None = None) -> Reading | UserError:
    """Read damaged bytes; no other exception and no warning may come of it."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return read_spectra(path, medium=medium)
        except UserError as error:
            return error


def measured_outcome(path: Path, content: bytes, medium: str | None = None) -> Reading | UserError:
    """Read damaged bytes, and check that memory stays in bounds."""
    tracemalloc.start()
    try:
        return outcome(path, content, medium)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MEMORY_FACTOR * len(content) + MEMORY_FLOOR, f"{peak} bytes for {len(content)}"


def check(result: Reading | UserError) -> None:
    if isinstance(result, UserError):
        assert result.what
        assert len(str(result)) < 3000
        return
    for spectrum in result.spectra:
        assert isinstance(spectrum, Spectrum)  # its constructor has checked lengths, order and finiteness
        assert spectrum.good.any()
        str(spectrum.claims)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize("name", sorted(WRITERS))
def test_damaged_files_are_refused_or_read_soundly(
    seeds: dict[str, bytes], tmp_path: Path, name: str, mutation: Mutation
) -> None:
    rng = np.random.default_rng([sorted(WRITERS).index(name), MUTATIONS.index(mutation)])
    for _ in range(ROUNDS // 10):
        check(measured_outcome(tmp_path / "coadd-a.fits", mutation(seeds[name], rng)))


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_damaged_gzip_is_refused_or_read_soundly(seeds: dict[str, bytes], tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(5)
    packed = gzip.compress(seeds[name])
    for mutation in (truncated, flipped, cut_out):
        for _ in range(10):
            path = tmp_path / "a.fits"
            path.write_bytes(mutation(packed, rng))
            try:
                check(read_spectra(path))
            except UserError as error:
                check(error)


STRUCTURE = re.compile(
    rb"(NAXIS\d*|BITPIX|TFIELDS|TFORM\d+|PCOUNT|GCOUNT|XTENSION|COEFF[01]|CRVAL1|CD1_1|EXTNAME)$"
)


def damages(keyword: bytes, value: bytes) -> list[bytes]:
    """Return other values of a keyword that decides where bytes lie or what they mean."""
    if keyword.startswith(b"TFORM"):
        return [
            re.sub(rb"[A-Z]", letter, value, count=1) for letter in (b"E", b"D", b"J", b"I", b"K", b"A", b"B")
        ]
    if keyword in {b"XTENSION", b"EXTNAME"}:
        return [b"'IMAGE   '", b"'BINTABLE'", b"'OTHER   '"]
    if keyword == b"BITPIX":
        return [b"8", b"16", b"32", b"64", b"-32", b"-64"]
    if keyword.startswith((b"COEFF", b"CRVAL", b"CD1")):
        number = float(value)
        return [
            str(changed).encode() for changed in (number * 1.001, number + 0.001, -number, number * 10, 0.0)
        ]
    number = int(value)
    return [
        str(changed).encode()
        for changed in (number + 1, number - 1, number + 7, number // 2, 0, -number, 10**12)
    ]


def same(one: Reading, other: Reading) -> bool:
    return len(one.spectra) == len(other.spectra) and all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.spectra, other.spectra, strict=True)
        for name in ("wavelength_AA", "flux", "ivar", "mask")
    )


# What no length can show: nothing in the file says it twice, and more pixels fit into the last block.
UNSEEN = {("sdss-spspec", b"NAXIS1")}


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_damage_in_lengths_types_and_grids_never_passes_as_another_spectrum(
    seeds: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    content = seeds[name]
    path = tmp_path / "a.fits"
    path.write_bytes(content)
    whole = read_spectra(path)
    wrong, tried = [], 0
    for at, keyword in header_cards(content):
        if not STRUCTURE.match(keyword) or (name, keyword) in UNSEEN:
            continue
        stated = content[at + 10 : at + 80].split(b"/")[0].strip()
        for value in damages(keyword, stated):
            if value == stated:
                continue
            tried += 1
            result = outcome(path, with_value(content, at, value))
            check(result)
            if isinstance(result, Reading) and not same(result, whole):
                wrong.append((at, keyword, stated, value))
    assert tried > 20
    assert not wrong


@pytest.mark.slow
def test_damaged_real_files_of_every_format_are_refused_or_read_soundly(
    shared_data: Path, tmp_path: Path
) -> None:
    smallest: dict[str, tuple[bytes, str | None]] = {}
    for path in sorted((shared_data / "real").rglob("*"), key=lambda path: path.stat().st_size):
        if path.is_file() and path.name != "SOURCES.md" and path.stat().st_size < 2**20:
            name, medium = name_and_medium(path)
            smallest.setdefault(name, (open_source(path).content, medium))
    assert len(smallest) > 18
    for number, (content, medium) in enumerate(smallest.values()):
        for index, mutation in enumerate(MUTATIONS):
            rng = np.random.default_rng([number, index])
            for _ in range(6):
                check(measured_outcome(tmp_path / "a.fits", mutation(content, rng), medium))


def name_and_medium(path: Path) -> tuple[str, str | None]:
    """Return what reads or refuses a file, and the medium it has to be given."""
    for medium in (None, "vacuum"):
        try:
            return read_spectra(path, medium=medium).format, medium
        except UserError as error:
            refused = error.what
    return refused.split(" files")[0], None
