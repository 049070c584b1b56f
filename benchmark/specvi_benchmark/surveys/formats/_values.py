"""What surveys write where they know nothing, and how several formats clean it."""

from collections.abc import Iterable, Mapping

UNKNOWN_NUMBERS = frozenset({-9999.0, -999.0})
UNKNOWN_WORDS = frozenset({"", "non", "none", "null", "unknown", "nan"})


def known_number(value: float | None, *more_sentinels: float) -> float | None:
    """Return a number, or None where the survey wrote a sentinel (−9999, −999, or one named here)."""
    if value is None or value in UNKNOWN_NUMBERS or value in more_sentinels:
        return None
    return value


def known_text(value: object) -> str | None:
    """Return text, or None where the survey wrote a word for unknown."""
    text = "" if value is None else str(value).strip()
    return None if text.casefold() in UNKNOWN_WORDS else text


def known_bands(values: Iterable[tuple[str, float | None]]) -> Mapping[str, float]:
    """Return the bands whose number is known."""
    return {band: value for band, value in values if value is not None}
