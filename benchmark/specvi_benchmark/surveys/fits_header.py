"""FITS headers: keywords and their values, read with patience for cards that break the standard."""

import math
import re
from collections.abc import Iterator, Mapping

BLOCK = 2880
CARD = 80

Value = str | bool | int | float | None

_NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([EeDd][+-]?\d+)?$", re.ASCII)

_CARDS = re.compile(rb"(.{8})(..)(.{70})", re.DOTALL)  # keyword, sign of a value, value and comment: 80 bytes


class Header(Mapping[str, Value]):
    """Keywords and values of one header. Cards that break the standard are left out, not fatal.

    The first of several cards with one keyword counts, as in astropy. A keyword without a value
    reads as None.
    """

    def __init__(self, cards: Mapping[str, bytes]) -> None:
        self._cards = cards
        self._values: dict[
            str, Value
        ] = {}  # parsed so far: formats ask for the same keywords again and again

    def __getitem__(self, keyword: str) -> Value:
        """Return the value of a keyword; KeyError where it is missing."""
        if keyword not in self._values:
            self._values[keyword] = _parse_value(self._cards[keyword])
        return self._values[keyword]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keywords."""
        return iter(self._cards)

    def __len__(self) -> int:
        """Return how many keywords have a value field."""
        return len(self._cards)

    def number(self, keyword: str) -> float | None:
        """Return a finite number, also where it was written as text; None otherwise."""
        value = self[keyword] if keyword in self._cards else None
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
        value = self[keyword] if keyword in self._cards else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        number = self.number(keyword)
        return int(number) if number is not None and number == int(number) else None

    def text(self, keyword: str) -> str | None:
        """Return a value as text without surrounding blanks; None where missing or empty."""
        value = self[keyword] if keyword in self._cards else None
        return str(value).strip() or None if value is not None else None


def parse_cards(block: bytes, cards: dict[str, bytes]) -> bool:
    """Add the cards of one 2880-byte block to ``cards``; return whether END was among them."""
    for keyword, sign, value in _CARDS.findall(block):
        if sign == b"= ":
            cards.setdefault(keyword.rstrip().decode("ascii", "replace"), value)
        elif keyword == b"END     ":
            return True
    return False


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
