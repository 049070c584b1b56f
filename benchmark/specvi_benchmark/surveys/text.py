"""Bytes as text, in the encodings that text files come in."""

import codecs

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LOOKED_AT = 8192  # bytes; binary files show control characters long before
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\x0b\x0c\r\x1a\x1b")


def decoded(content: bytes) -> str | None:
    """Return the text, None where the bytes are no text.

    A byte-order mark names the encoding; otherwise UTF-8, else Latin-1 (older files write Å and µ so).
    Control characters tell a binary file.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), None)
    if encoding is None and not _CONTROLS.isdisjoint(content[:_LOOKED_AT]):
        return None
    for attempt in [encoding] if encoding else ["utf-8", "latin-1"]:
        try:
            return content.decode(attempt)
        except UnicodeDecodeError:
            continue
    return None
