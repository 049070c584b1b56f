"""Is this the file that was asked for, whole and unharmed? Nothing enters an archive before it passed.

Three layers, as far as each exists: the survey's published checksum; gzip's CRC and the checksums inside FITS files;
the structure, and the identity that the header states.
"""

import hashlib
import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from isal import igzip, isal_zlib

from specvi_benchmark.archive.fetch.item import Item
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.surveys.fits import MAGIC, Hdu
from specvi_benchmark.surveys.packed import GZIP_MAGIC
from specvi_benchmark.surveys.source import open_source

_CHUNK = 2**20
_HEAD = 512
_DIGESTS = {32: "md5", 40: "sha1", 64: "sha256"}
_SUM_LINE = re.compile(r"(?:\\?)([0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})[ \t]+\*?(\S.*?)\s*")


class WrongFileError(Exception):
    """The bytes are not the file that was asked for; the message says in which way."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a file proved to be.

    Attributes
    ----------
    size, sha256
        Of the bytes as they came.
    by
        What was checked: ``sha256sum``, ``sha1sum`` or ``md5sum`` (published), ``crc`` (gzip), ``datasum`` (FITS),
        ``structure``, ``identity``.
    note
        What the user should know of it, None for nothing.
    """

    size: int
    sha256: str
    by: tuple[str, ...]
    note: str | None = None


def verify(path: Path, item: Item, sums: Mapping[str, str] | None = None) -> Checked:
    """Check a file that came whole.

    Parameters
    ----------
    path
        The bytes.
    item
        What was asked for.
    sums
        Published checksums by file name: MD5, SHA-1 or SHA-256, told by their length. None where none are published.

    Raises
    ------
    WrongFileError
        It is something else, or damaged.
    """
    name = Path(item.path).name
    published = (sums or {}).get(name)
    digests = _digests(path, {"sha256", *([_DIGESTS[len(published)]] if published else [])})
    by: list[str] = []
    if published:
        kind = _DIGESTS[len(published)]
        if digests[kind] != published.lower():
            raise WrongFileError(f"its {kind} sum is not the published one")
        by.append(f"{kind}sum")
    with path.open("rb") as stream:
        _refuse_page(stream.read(_HEAD))
    # Where there are sums, a file that they leave out is told: nobody should think that it was held against one.
    notes = [] if published or sums is None else ["no published checksum names it"]
    if item.kind == "fits":
        by += _check_spectra(path, item)
        if item.identity and "identity" not in by:
            notes.append("the file does not say whose it is")
    elif item.kind == "table":
        by += _check_table(path, Path(item.path).name)
    else:
        notes += filter(None, [_check_records(path, item)])
        by += ["structure", "identity"]
    return Checked(path.stat().st_size, digests["sha256"], tuple(by), "; ".join(notes) or None)


def _refuse_page(head: bytes) -> None:
    """Refuse a web page, as servers send in place of a file: a login, an error, a notice."""
    start = head.removeprefix(BOM_UTF8).lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise WrongFileError("a web page came in place of the file (does this release need a token?)")


def read_sums(text: str) -> dict[str, str]:
    """Read a list of checksums, as md5sum, sha1sum and sha256sum write it: file name (without folders) → hex digits.

    A name that has two sums, of files in two folders, is left out: it can't be told which of them is meant.
    """
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if (one := _SUM_LINE.fullmatch(line)) is not None:
            found.setdefault(Path(one[2]).name, set()).add(one[1].lower())
    return {name: next(iter(sums)) for name, sums in found.items() if len(sums) == 1}


def _digests(path: Path, kinds: set[str]) -> dict[str, str]:
    """Return hex digests of a file of any size, reading it once."""
    hashes = {kind: hashlib.new(kind, usedforsecurity=False) for kind in kinds}
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            for one in hashes.values():
                one.update(chunk)
    return {kind: one.hexdigest() for kind, one in hashes.items()}


def _check_spectra(path: Path, item: Item) -> list[str]:
    """Check a FITS file of spectra: CRC, every length, every checksum it has, and whose it is."""
    with path.open("rb") as stream:
        by = ["crc"] if stream.read(2) == GZIP_MAGIC else []
    try:
        source = open_source(path)
        if source.fits is None:
            raise WrongFileError(f"not a FITS file: it begins with {source.stored[:12]!r}")
        has_sums = [_check_hdu(hdu) for hdu in source.fits.hdus]
    except UserError as error:
        raise WrongFileError(f"{error.what}: {error.got or error.expected or 'damaged'}") from None
    header = source.fits.primary
    known = {key: header.get(key) for key in item.identity}
    # Files of LAMOST's first release have OBSID -28762 and the like: no id, and no contradiction.
    told = {
        key: value
        for key, value in known.items()
        if value is not None and not (isinstance(value, int | float) and value <= 0)
    }
    for key, value in told.items():
        if str(value).strip() != str(item.identity[key]):
            raise WrongFileError(f"another object's file: {key} is {value}, not {item.identity[key]}")
    return [
        *by,
        *(["datasum"] if any(has_sums) else []),
        "structure",
        *(["identity"] if told else []),
    ]


def _check_hdu(hdu: Hdu) -> bool:
    """Check an HDU's data against its lengths and, where it has one, its checksum; return whether it has."""
    content = hdu.content
    stated = hdu.header.text("DATASUM")
    if stated is None or not stated.strip().isdigit():
        return False
    if _data_sum(content) != int(stated):
        raise WrongFileError(f"the data of HDU {hdu.index} do not fit their DATASUM")
    return True


def _data_sum(content: memoryview) -> int:
    """Return the 32-bit ones' complement sum of data as big-endian words (FITS standard 4.0, appendix J)."""
    rest = -len(content) % 4
    words = np.frombuffer(content, ">u4", len(content) // 4)
    total = int(words.sum(dtype=np.uint64))
    if rest:
        total += int.from_bytes(bytes(content[len(content) // 4 * 4 :]) + bytes(rest), "big")
    while total >> 32:
        total = (total & 0xFFFFFFFF) + (total >> 32)
    return total


def _check_table(path: Path, name: str) -> list[str]:
    """Check a catalogue: that gzip ends with the right CRC, and that it begins as its name says."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD)
    if head.startswith(GZIP_MAGIC):
        try:
            with igzip.open(path, "rb") as stream:  # type: ignore[no-untyped-call]
                _refuse_other(stream.read(_HEAD), name.removesuffix(".gz"))
                while stream.read(_CHUNK):
                    pass
        except (EOFError, OSError, isal_zlib.error) as error:  # type: ignore[misc]  # an exception all the same
            raise WrongFileError(f"the gzip stream is cut or damaged: {error}") from None
        return ["crc"]
    if name.endswith(".gz"):
        raise WrongFileError(f"not gzipped, as {name} is: it begins with {head[:12]!r}")
    _refuse_other(head, name)
    if head.startswith(MAGIC):
        try:
            fits = open_source(path).fits
            assert fits is not None
            list(fits.hdus)
        except UserError as error:
            raise WrongFileError(f"{error.what}: {error.got or error.expected or 'damaged'}") from None
    return ["structure"]


def _refuse_other(head: bytes, name: str) -> None:
    """Refuse what begins otherwise than a table of this name: a page, an error as JSON or XML, nothing."""
    if not head.strip():
        raise WrongFileError("an empty file")
    _refuse_page(head)
    is_fits = head.startswith(MAGIC)
    is_other = head.startswith(GZIP_MAGIC) or head.removeprefix(BOM_UTF8).lstrip()[:1] in {b"<", b"{"}
    if is_fits != name.endswith(".fits") or is_other:
        raise WrongFileError(f"no table as {name} is: it begins with {head[:12]!r}")


def _check_records(path: Path, item: Item) -> str | None:
    """Check a JSON answer: whole, no error, and of the spectra that were asked for; return what is missing."""
    try:
        answer = json.loads(path.read_bytes())
    except ValueError as error:
        raise WrongFileError(f"not whole JSON: {error}") from None
    records = [record for record in answer if isinstance(record, dict)] if isinstance(answer, list) else []
    spectra = {str(record["sparcl_id"]): record for record in records if "sparcl_id" in record}
    if strange := set(spectra) - set(item.record_ids):
        raise WrongFileError(f"spectra that were not asked for: {examples(sorted(strange))}")
    if not spectra:
        raise WrongFileError("the answer holds none of the spectra")
    for identity, record in spectra.items():
        lengths = {name: len(record.get(name) or ()) for name in ("wavelength", "flux")}
        if len(set(lengths.values())) != 1 or not lengths["flux"]:
            raise WrongFileError(f"{identity}: arrays of lengths {lengths}")
    missing = [identity for identity in item.record_ids if identity not in spectra]
    if not missing:
        return None
    return f"{len(missing)} of {len(item.record_ids)} ids are not known there: {examples(missing)}"
