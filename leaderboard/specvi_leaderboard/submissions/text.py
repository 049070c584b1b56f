"""What a submitted text may hold: words that every page, table and terminal can show as they are."""

import re
import unicodedata
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

_TAG = re.compile(
    r"<[a-zA-Z/!?]|&[a-zA-Z#][a-zA-Z0-9]*;|\]\(|\b(?:javascript:|vbscript:|data:[a-z]+/)", re.IGNORECASE
)
_FORMULA = "=+-@|%"  # what a spreadsheet takes for the start of a formula or a command
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs without ink
_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL"})
_TWINS = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s", "8": "b", "2": "z"})


def skeleton(name: str) -> str:
    """Return what is left of a name at a glance: names with one skeleton can be taken for each other."""
    folded = unicodedata.normalize("NFKD", name).casefold().translate(_TWINS)
    return "".join(c for c in folded.replace("rn", "m").replace("vv", "w") if c.isalnum())


def shown(value: object, longest: int = 60) -> str:
    """Return hostile text as it may stand in a message: in quotes, escaped and short."""
    text = ascii(value if isinstance(value, str) else str(value)[: 4 * longest])
    return text if len(text) <= longest else f"{text[: longest - 4]}…{text[-1]}"


def _plain(text: str) -> str:
    if unicodedata.normalize("NFC", text) != text:
        raise ValueError("letters and accents must be composed (Unicode NFC)")
    if any(unicodedata.category(c) in _UNSEEN or c in _BLANKS for c in text):
        raise ValueError("characters that can't be seen are not allowed")
    if _stacked(text):
        raise ValueError("marks stacked upon letters are not allowed")
    if text != text.strip():
        raise ValueError("blanks around it are not allowed")
    if _TAG.search(text):
        raise ValueError("markup is not allowed, only plain words")
    if text[:1] and text[0] in _FORMULA:
        raise ValueError("it must not begin as a formula of a spreadsheet does")
    return text


def _stacked(text: str) -> bool:
    """Tell whether a letter bears more marks than any writing needs: two of its own script, or one from outside."""
    run = 0
    for c in text:
        run = run + 1 if unicodedata.category(c) == "Mn" else 0
        if run > (1 if unicodedata.name(c, "?").startswith("COMBINING") else 2):
            return True
    return False


def _person(text: str) -> str:
    if unicodedata.normalize("NFKC", text) != text:
        raise ValueError("letters that only look like others are not allowed")
    for word in text.split():
        scripts = {unicodedata.name(c, "?").split()[0] for c in word if c.isalpha()} & _SCRIPTS
        if len(scripts) > 1:
            raise ValueError(f"one word mixes {' and '.join(sorted(scripts))} letters")
    return text


def _no_user(link: str) -> str:
    if "xn--" in link.split("/")[2]:
        raise ValueError("a host in punycode can look like another one")
    return link


def _day(text: str) -> str:
    date.fromisoformat(text)  # the 30th of February is a ValueError
    return text


Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+()-]{0,58}[A-Za-z0-9)+]$"),
    AfterValidator(_plain),
]
"""Of a system: ASCII letters, digits and a few signs, so that no two names look the same."""

SystemId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
"""Of a submission, and the name of its folder."""

Person = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_plain), AfterValidator(_person)]
Line = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain)]
Words = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_plain)]
Licence = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+-]{0,39}$")]
"""An SPDX identifier, or ``proprietary``."""
Link = Annotated[
    str,
    StringConstraints(
        pattern=r"^https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~/?#=&+%:,@-]*)?$", max_length=300
    ),
    AfterValidator(_no_user),
]
HubId = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}$")
]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
VetterName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
Day = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), AfterValidator(_day)]
