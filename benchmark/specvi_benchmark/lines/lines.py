"""The line list: atomic lines with both wavelengths, found by any usual spelling."""

import unicodedata
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, parse_yaml, validate

Group = Literal["star", "nebula", "quasar", "sky"]


class Line(StrictModel):
    """One line, or a blend that is seen as one.

    Attributes
    ----------
    name
        Ion and rounded vacuum wavelength (``He I 5877``), or the common name (``Hα``, ``Ca II K``).
    ion
        As in ``He I``; several ions of one blend are separated by a stroke.
    air_AA, vacuum_AA
        Rest wavelength in ångström; ``air_AA`` is None below 2000 Å.
    groups
        Where it is met: in stars, in nebulae, in quasars, or as residue of the night sky.
    aliases
        Further spellings, beside those that follow from ion and wavelength.
    """

    name: str
    ion: str
    air_AA: float | None
    vacuum_AA: float
    groups: tuple[Group, ...]
    aliases: tuple[str, ...] = ()
    note: str = ""


class _LineList(StrictModel):
    lines: tuple[Line, ...]


@cache
def all_lines() -> tuple[Line, ...]:
    """Return every line, by increasing vacuum wavelength."""
    source = files("specvi_benchmark.lines") / "lines.yaml"
    listed = validate(_LineList, parse_yaml(source.read_text(encoding="utf-8"), source), source).lines
    return tuple(sorted(listed, key=lambda line: line.vacuum_AA))


def get_line(spelling: str) -> Line:
    """Return the line of this name, in any usual spelling.

    ``Hα``, ``Halpha`` and ``H-alpha`` are one line; so are ``He I 5877`` (vacuum), ``HeI 5876`` (air)
    and ``He I λ5876``. Case, blanks, hyphens and brackets do not matter.

    Raises
    ------
    UserError
        No line is spelled so.
    """
    line = _by_spelling().get(fold(spelling))
    if line is None:
        raise unknown_feature("line", spelling, [line.name for line in all_lines()])
    return line


def lines_between(low_AA: float, high_AA: float) -> tuple[Line, ...]:
    """Return the lines with ``low_AA <= vacuum_AA <= high_AA``, by increasing wavelength."""
    return tuple(line for line in all_lines() if low_AA <= line.vacuum_AA <= high_AA)


def fold(spelling: str) -> str:
    """Return what is left of a spelling once case, blanks and punctuation are gone: ``[O III]`` → ``oiii``.

    Greek letters become their names (``Hα`` → ``halpha``), a ``λ`` before a number goes.
    """
    text = unicodedata.normalize("NFKC", spelling).replace("λ", "")
    named = "".join(
        unicodedata.name(sign).rsplit(" ", 1)[-1] if "α" <= sign <= "ω" else sign for sign in text.lower()
    )
    return "".join(sign for sign in named.casefold() if sign.isalnum())


def unknown_feature(kind: str, spelling: str, names: list[str]) -> UserError:
    """Return the error for a name that is not in a list, with the nearest names that are."""
    near = get_close_matches(spelling, names, n=3, cutoff=0.4)
    return UserError(
        f"no such {kind}",
        where=f"{kind} {spelling!r}",
        expected=f"for example {', '.join(near or names[:3])}",
        got=spelling,
        fix="`specvi tasks lines` lists every line, band and index",
    )


@cache
def _by_spelling() -> dict[str, Line]:
    in_air = {fold(f"{line.ion} {line.air_AA:.0f}"): line for line in all_lines() if line.air_AA}
    in_vacuum = {fold(f"{line.ion} {line.vacuum_AA:.0f}"): line for line in all_lines()}
    given = {fold(name): line for line in all_lines() for name in (*line.aliases, line.name)}
    return in_air | in_vacuum | given  # the later wins: a name in vacuum before the same number in air
