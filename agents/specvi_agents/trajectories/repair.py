r"""Mends damaged characters where what stood there can be told for sure, and counts what can't be.

Three kinds of damage leave enough behind. An escape that lost its mark: Greek α as the control character U+0003 and the
letters ``b1``, of ``\u03b1``. UTF-8 that was read as Windows-1252 or Latin-1: ``Î±``. And, only where asked for, a letter
that the words around it determine: ``H?`` with the wavelength of one Balmer line, a wavelength without its Å.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from specvi_benchmark.lines import get_line

_DAMAGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ud800-\udfff]")
"""No text about spectra has these on purpose."""

_LETTERS = "αβγδεζηθικλμνξοπρςστυφχψωΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩÅåµ°±·×÷²³¹¼½¾§«»¬–—‘’“”•…′″→←↔−∼≈≃≠≤≥≪≫∝∞√∆∇⊙☉Åäöüéèêñçß"
"""What texts about spectra are written with beyond ASCII: a repair gives one of these, or is none."""

_ESCAPE = re.compile(r"([\x00-\x03])([0-9a-f]{2}|[0-9A-F]{2})")
_MISREAD = re.compile(
    "[\x80-\xff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u2026\u2030\u2039\u203a\u20ac\u2122]{2,}"
)

_BALMER: Mapping[str, float] = {"α": 8.0, "β": 8.0, "γ": 8.0, "δ": 8.0, "ε": 3.0}
"""Letter → how far a wavelength may be from that line, in air or vacuum, to name it; Ca II H is near Hε."""

_NUMBER = r"(\d{4}(?:\.\d+)?)"
_BALMER_PLACE = re.compile(rf"\bH{_DAMAGE.pattern}+(?=[^.;\n]{{0,24}}?(?<!\d){_NUMBER}(?!\d))")
_WAVELENGTH = re.compile(rf"(?<![\d.]){_NUMBER}(\s?){_DAMAGE.pattern}+(?!\w)")
_OPTICAL_AA = (3000.0, 11000.0)


@dataclass(frozen=True, slots=True)
class Repaired:
    """A text after repair. ``mended`` counts characters by kind; ``left`` those that nobody can tell."""

    text: str
    mended: Mapping[str, int]
    left: int


def repair(text: str, *, by_context: bool = False) -> Repaired:
    """Mend a text.

    Parameters
    ----------
    by_context
        Also put in what the words around determine. It is a conclusion, not a restoration.
    """
    mended = dict.fromkeys(("escape", "misread", "context"), 0)
    text = _ESCAPE.sub(partial(_unescaped, mended), text)
    text = _MISREAD.sub(partial(_reread, mended), text)
    if by_context:
        text = _BALMER_PLACE.sub(partial(_balmer, mended), text)
        text = _WAVELENGTH.sub(partial(_angstrom, mended), text)
    return Repaired(
        text, {kind: count for kind, count in mended.items() if count}, len(_DAMAGE.findall(text))
    )


def _unescaped(mended: dict[str, int], found: re.Match[str]) -> str:
    letter = chr(ord(found[1]) * 256 + int(found[2], 16))
    follows = found.string[found.end() : found.end() + 1]
    is_ambiguous = found[2].isdigit() and follows.isdigit()  # a longer number, beside some other damage
    if letter not in _LETTERS or is_ambiguous:
        return found[0]
    mended["escape"] += 1
    return letter


def _reread(mended: dict[str, int], found: re.Match[str]) -> str:
    """Read a run again as UTF-8, where that gives letters of such texts."""
    try:
        text = b"".join(map(_byte, found[0])).decode("utf-8")
    except UnicodeError:
        return found[0]
    if any(sign not in _LETTERS for sign in text):
        return found[0]
    mended["misread"] += len(text)
    return text


def _byte(sign: str) -> bytes:
    """Return the byte that was read as this sign: Windows-1252 has none for five bytes, which Latin-1 has."""
    try:
        return sign.encode("cp1252")
    except UnicodeError:
        return sign.encode("latin-1")


def _balmer(mended: dict[str, int], found: re.Match[str]) -> str:
    value = float(found[1])
    near = [
        letter
        for letter, tolerance in _BALMER.items()
        if abs(value - get_line(f"H{letter}").vacuum_AA) <= tolerance
    ]
    if len(near) != 1:
        return found[0]
    mended["context"] += 1
    return f"H{near[0]}"


def _angstrom(mended: dict[str, int], found: re.Match[str]) -> str:
    if not _OPTICAL_AA[0] <= float(found[1]) <= _OPTICAL_AA[1]:
        return found[0]
    mended["context"] += 1
    return f"{found[1]}{found[2]}Å"
