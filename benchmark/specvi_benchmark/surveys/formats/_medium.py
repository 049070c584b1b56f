"""Air or vacuum: what a file says of its wavelengths, and the way to vacuum.

The two differ by 0.028 %: 1.8 Å at Hα. A file that doesn't say which it holds is not guessed at.
"""

import re
from collections.abc import Iterable

from specvi_benchmark.errors import UserError
from specvi_benchmark.lines.wavelengths import SHORTEST_REFRACTED_AA, air_to_vacuum
from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.surveys.source import Medium, Source

_WORDS: dict[str, Medium] = {"air": "air", "vac": "vacuum", "vacuum": "vacuum"}
_SENTENCE_END = re.compile(r"[.;\n](?:\s|$)")
_SAYS = re.compile(
    r"\bwavelengths?(?: scale| axis| grid)?(?: is| are)?(?: all)?(?: given| measured| quoted| expressed)?"
    r"(?: in|:| =|,)? ?(?:the |standard )*\(?(air|vac|vacuum)\b"
    r"|\b(air|vac|vacuum)[ _-]wavelengths?\b"
    r"|\b(?:medium|airorvac|air_or_vacuum|wavelength_medium|wavetype) ?[:=] ?'?(air|vac|vacuum)\b"
)
# A sentence that tells of a change or denies something is not taken as a statement.
_UNCLEAR = re.compile(r"\b(?:not|no|convert\w*|correct\w*|to|from|unless|if|or)\b|n't")


class MediumUnknownError(UserError):
    """Neither the file nor the caller says whether wavelengths are in air or in vacuum."""


def medium_word(word: str) -> Medium | None:
    """Return the medium that a single word names, as ``air``, ``vac``, ``VACUUM``."""
    return _WORDS.get(word.strip().casefold())


def medium_in_text(text: str) -> Medium | None:
    """Return what free text says in so many words, as "all wavelengths are in vacuum".

    None where it says nothing, both, or something that could be taken either way: "converted from
    air", "not in vacuum".
    """
    found: set[Medium] = set()
    for sentence in _SENTENCE_END.split(text):
        plain = " ".join(sentence.split()).casefold()
        if ("air" in plain or "vac" in plain) and not _UNCLEAR.search(plain):
            found |= {_WORDS[word] for match in _SAYS.findall(plain) for word in match if word}
    return found.pop() if len(found) == 1 else None


def to_vacuum(source: Source, wavelength_AA: FloatArray, stated: Iterable[Medium | None] = ()) -> FloatArray:
    """Return the wavelengths in vacuum.

    Flux per Å of air is left as it is per Å of vacuum: the factor is 0.9997, the same within 3e-5 over
    3000-10,000 Å.

    Parameters
    ----------
    source
        The file, with what the caller says.
    wavelength_AA
        ``(n,)``, Å, as stored.
    stated
        What parts of the file say, None for those that say nothing.

    Raises
    ------
    UserError
        Neither file nor caller says air or vacuum and some wavelength is from 2000 Å up (shorter ones
        are given in vacuum everywhere), or they contradict each other.
    """
    said = {medium for medium in stated if medium is not None}
    if len(said) > 1:
        raise source.fault(
            "the file says both air and vacuum of its wavelengths",
            expected="one of the two",
            fix="correct the column name, unit or header that is wrong",
        )
    medium = next(iter(said), source.medium)
    if medium is not None and source.medium not in {None, medium}:
        raise source.fault(
            f"the file says that its wavelengths are measured in {medium}",
            expected=f"medium {medium}, or none given",
            got=f"medium {source.medium}",
            fix="leave the medium out: it is only asked for where a file does not say",
        )
    if not (wavelength_AA >= SHORTEST_REFRACTED_AA).any():
        return wavelength_AA
    if medium is None:
        raise MediumUnknownError(
            "are these wavelengths in air or in vacuum?",
            where=source.path,
            expected="a file that says so, or the answer from you (they differ by 1.8 Å at Hα)",
            got="a file that does not say",
            fix="give medium='air' or medium='vacuum' (--medium on the command line), or name the column "
            "wavelength_air or wavelength_vacuum",
        )
    return air_to_vacuum(wavelength_AA) if medium == "air" else wavelength_AA
