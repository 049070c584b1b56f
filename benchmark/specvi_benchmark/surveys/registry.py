"""The registry of formats: each file in `formats/` is found, asked whether it knows a file, and reads it.

A format is one module that defines ``FORMAT``. Adding one needs no other change; the order of the
modules plays no part, because no two formats may recognise one file. Only general formats (any text
table, any FITS table or image) wait until every other one has said no.
"""

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal

from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys import formats
from specvi_benchmark.surveys.source import Medium, Source
from specvi_benchmark.surveys.unknown import EXPECTED, SEE, explain

OPTICAL_AA = (1000.0, 30000.0)
"""Å. Generous about the optical surveys (3500 to 10,500 Å), and no spectrum in nm or µm lies in it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row of a file that holds no spectrum one can use, and why."""

    row: int
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Note:
    """What a format took for granted or left out when it read this file, told to the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    Attributes
    ----------
    name
        Short name, kept in `Spectrum.format`.
    recognised_by, reads, leaves_out
        Sentences for the documentation: by which content it is known, what is read (empty: it is
        refused), what is not.
    recognises
        Whether a file is of this format. Looks at content only, and never raises for another format's file.
    read
        Yields the file's spectra in order, a `Skipped` for each row that holds none, and a `Note` for
        what it had to take for granted. A format that is known but out of scope raises a `UserError`
        that says which tool to use.
    medium
        What wavelengths are measured in: ``air`` or ``vacuum`` by the format's definition, or
        ``stated`` where each file says it, or else the caller.
    general
        Whether it knows a whole kind of file, so that every other format is asked first.
    range_AA
        Where every wavelength of such a file lies. One outside tells of another unit, a logarithm, or a
        damaged header, and the file is refused. None where the format checks it by itself.
    """

    name: str
    recognised_by: str
    reads: str
    leaves_out: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Iterator[Spectrum | Skipped | Note]]
    medium: Medium | Literal["stated"] = "vacuum"
    general: bool = False
    range_AA: tuple[float, float] | None = OPTICAL_AA


def refusal(
    name: str, recognised_by: str, why: str, instead: str, recognises: Callable[[Source], bool]
) -> Format:
    """Return a format that is known only to be refused: ``why`` says what it holds, ``instead`` what to do."""

    def read(source: Source) -> Iterator[Spectrum | Skipped]:
        raise source.fault(f"{name} files are not read: they hold {why}", fix=instead)

    return Format(name, recognised_by, "", f"{why}. Instead: {instead}", recognises, read)


@cache
def all_formats() -> tuple[Format, ...]:
    """Return every known format, by name."""
    modules = (
        import_module(f"{formats.__name__}.{info.name}") for info in pkgutil.iter_modules(formats.__path__)
    )
    found: list[Format] = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return tuple(sorted(found, key=lambda known: known.name))


def recognise(source: Source) -> Format:
    """Return the one format that knows this file.

    Formats are told from headers. So where a FITS file has the keywords of an earlier one, and the same values
    wherever these were looked at, it is of the same format, and nobody is asked again.

    Raises
    ------
    UserError
        No format knows it; the message says what the file holds and what to do. Or two know it, which is
        a fault of their rules.
    """
    fits = source.fits
    if fits is None:
        return _recognise(source)
    layout = tuple(hdu.header.keywords for hdu in fits.hdus)
    for asked, known in _told.get(layout, ()):
        if all(hdu.header.has(cards) for hdu, cards in zip(fits.hdus, asked, strict=True)):
            return known
    known = _recognise(source)
    if not fits.touched:  # headers alone decided
        if len(_told) >= _MOST_TOLD:
            _told.clear()
        told = _told.setdefault(layout, [])
        told[_MOST_OF_A_LAYOUT - 1 :] = [([hdu.header.asked() for hdu in fits.hdus], known)]
    return known


_told: dict[tuple[bytes, ...], list[tuple[list[list[tuple[int, bytes]]], Format]]] = {}
"""What files were told to be: by the keywords of all headers, the cards that were looked at, and the format."""

_MOST_TOLD, _MOST_OF_A_LAYOUT = 256, 16


def _recognise(source: Source) -> Format:
    for general in (False, True):
        known = [one for one in all_formats() if one.general is general and one.recognises(source)]
        if known:
            break
    if len(known) == 1:
        return known[0]
    layouts = [(one.name, one.recognised_by) for one in all_formats() if one.reads]
    held, advice = explain(source, layouts)
    if known:
        names = " and ".join(candidate.name for candidate in known)
        raise source.fault(
            f"the file could be {names}",
            expected="a file that one format knows",
            got=held,
            fix="the rules of these formats overlap: please report it with this file",
        )
    raise source.fault("no known format of spectra", expected=EXPECTED, got=held, fix=f"{advice}. {SEE}")
