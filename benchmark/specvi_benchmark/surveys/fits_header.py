"""FITS headers: keywords and their values, read with patience for cards that break the standard."""

import math
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import numpy as np

BLOCK = 2880
CARD = 80

Value = str | bool | int | float | None

_NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([EeDd][+-]?\d+)?$", re.ASCII)

_END = b"END" + b" " * (CARD - 3)
_SPLIT = np.dtype([("keyword", "S10"), ("value", "S70")])  # keyword and sign of a value; value and comment


class Header(Mapping[str, Value]):
    """Keywords and values of one header. Cards that break the standard are left out, not fatal.

    The first of several cards with one keyword counts, as in astropy. A keyword without a value
    reads as None.

    Attributes
    ----------
    keywords
        The first ten bytes of every card, which files of one layout share.
    """

    def __init__(self, content: bytes, keywords: bytes, places: Mapping[str, int]) -> None:
        self.keywords = keywords
        self._content = content
        self._places = places
        self._values: dict[
            str, Value
        ] = {}  # parsed so far: formats ask for the same keywords again and again

    def __getitem__(self, keyword: str) -> Value:
        """Return the value of a keyword; KeyError where it is missing."""
        if keyword not in self._values:
            at = self._places[keyword]
            self._values[keyword] = _parse_value(self._content[at : at + CARD - 10])
        return self._values[keyword]

    def __contains__(self, keyword: object) -> bool:
        """Return whether there is a card with this keyword and a value field."""
        return keyword in self._places

    def asked(self) -> list[tuple[int, bytes]]:
        """Return the cards that were looked at: where the value field begins, and its bytes."""
        places = [self._places[keyword] for keyword in self._values]
        return [(at, self._content[at : at + CARD - 10]) for at in places]

    def has(self, cards: Iterable[tuple[int, bytes]]) -> bool:
        """Return whether the same bytes stand at these places; see `asked`."""
        content = self._content
        return all(content[at : at + CARD - 10] == card for at, card in cards)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keywords."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return how many keywords have a value field."""
        return len(self._places)

    def number(self, keyword: str) -> float | None:
        """Return a finite number, also where it was written as text; None otherwise."""
        value = self[keyword] if keyword in self._places else None
        if isinstance(value, str) and _NUMBER.match(value.strip()):
            value = _parse_number(value.strip())
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None

    def integer(self, keyword: str) -> int | None:
        """Return a whole number, also where it was written as text or with a point; None otherwise."""
        value = self[keyword] if keyword in self._places else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        number = self.number(keyword)
        return int(number) if number is not None and number == int(number) else None

    def text(self, keyword: str) -> str | None:
        """Return a value as text without surrounding blanks; None where missing or empty."""
        value = self[keyword] if keyword in self._places else None
        return str(value).strip() or None if value is not None else None


def read_header(stored: bytes | mmap.mmap, start: int) -> tuple[Header, int] | None:
    """Return the header that begins at a byte, and where its data begin; None where it has no END."""
    end = stored.find(_END, start)
    header = _header(stored[start:end]) if end >= 0 and (end - start) % CARD == 0 else None
    if header is None:
        end = _odd_end(stored, start)
        header = _header(stored[start:end]) if end >= 0 else None
    return None if header is None else (header, start + (end - start) // BLOCK * BLOCK + BLOCK)


def _header(content: bytes) -> Header | None:
    """Return the header of these cards, None where END is among them."""
    keywords = np.frombuffer(content, _SPLIT)["keyword"].tobytes()
    places = _places(keywords)
    return None if places is None else Header(content, keywords, places)


def _odd_end(stored: bytes | mmap.mmap, start: int) -> int:
    """Return where the END card stands, also one with something behind it; -1 where there is none."""
    for block in range(start, len(stored), BLOCK):
        for at in range(block, min(block + BLOCK, len(stored) - CARD + 1), CARD):
            if stored[at : at + 8] == b"END     " and stored[at + 8 : at + 10] != b"= ":
                return at
    return -1


@lru_cache(maxsize=256)
def _places(keywords: bytes) -> Mapping[str, int] | None:
    """Return where each keyword's value begins; None where END is among them. Most files of a survey share it."""
    places: dict[str, int] = {}
    for at in range(0, len(keywords), 10):
        keyword, sign = keywords[at : at + 8], keywords[at + 8 : at + 10]
        if sign == b"= ":
            places.setdefault(keyword.rstrip().decode("ascii", "replace"), 8 * at + 10)
        elif keyword == b"END     ":
            return None
    return places


@lru_cache(maxsize=4096)
def _parse_value(card: bytes) -> Value:
    text = card.decode("ascii", "replace").strip()
    if text.startswith("'"):
        end = text.find("'", 1)
        if end > 0 and text[end + 1 : end + 2] != "'":  # nearly all
            return text[1:end].rstrip()
        inside, position = [], 1
        while (end := text.find("'", position)) >= 0:
            inside.append(text[position:end])
            if text[end + 1 : end + 2] != "'":
                return "".join(inside).rstrip()
            inside.append("'")
            position = end + 2
        return text[1:].rstrip()  # the closing quote is missing
    word = text.split("/", 1)[0].rstrip()
    if word.isdigit():
        return int(word)
    if word in {"T", "F"}:
        return word == "T"
    return _parse_number(word) if _NUMBER.match(word) else word or None


def _parse_number(word: str) -> int | float:
    if word.lstrip("+-").isdigit():
        return int(word)
    return float(word.upper().replace("D", "E"))
