"""The registry of formats: each file in `formats/` is found, asked whether it knows a file, and reads it.

A format is one module that defines ``FORMAT``. Adding one needs no other change; the order of the
modules plays no part, because no two formats may recognise one file.
"""

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys import formats
from specvi_benchmark.surveys.source import Source


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row of a file that holds no spectrum one can use, and why."""

    row: int
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    Attributes
    ----------
    name
        Short name, kept in `Spectrum.format`.
    recognised_by, reads, leaves_out
        Sentences for the documentation: by which content it is known, what is read, what is not.
    recognises
        Whether a file is of this format. Looks at content only, and never raises for another format's file.
    read
        Yields the file's spectra in order, and a `Skipped` for each row that holds none. A format that
        is known but out of scope raises a `UserError` that says which tool to use.
    """

    name: str
    recognised_by: str
    reads: str
    leaves_out: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Iterator[Spectrum | Skipped]]


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

    Raises
    ------
    UserError
        No format knows it; the message names the formats and what the file holds.
    """
    known = [candidate for candidate in all_formats() if candidate.recognises(source)]
    if len(known) == 1:
        return known[0]
    if known:
        names = " and ".join(candidate.name for candidate in known)
        raise AssertionError(f"{source.path} is recognised by {names}: their rules must exclude each other")
    raise source.fault(
        "no known format of spectra",
        expected=f"one of {', '.join(candidate.name for candidate in all_formats())}",
        got=describe(source),
        fix="docs/formats.md lists what each format is recognised by, and how to add one",
    )


def describe(source: Source) -> str:
    """Return in a few words what a file holds, for messages."""
    if source.fits is None:
        start = source.content[:40].decode("ascii", "replace").splitlines()
        return f"not FITS; it starts with {start[0] if start else ''!r}"
    parts = [
        f"{hdu.name or ('primary' if hdu.index == 0 else 'HDU')} "
        + (
            f"table({', '.join(list(hdu.columns)[:4])}…)"
            if hdu.is_table
            else f"image{hdu.shape}"
            if hdu.is_image
            else "empty"
        )
        for hdu in source.fits.hdus[:6]
    ]
    return "FITS with " + "; ".join(parts)
