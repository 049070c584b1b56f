"""Words by which an inspection gives away that its answer was known: it was told, or it read the name of a file."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

_KNOWN = r"(?:given|provided|supplied|known|true|correct|actual|reference|gold(?:en)?|target|stated|expected|required|official)"
_TRUTH = r"(?:label|answer|class(?:ification)?|verdict|category)"

_TOLD = re.compile(
    "|".join(
        (
            r"\bground[\s_-]*truth\b",
            rf"\b{_KNOWN}\s+(?:class\s+)?{_TRUTH}s?\b",
            r"\b(?:class|catalogue|catalog|training|dataset)\s+label\b",
            r"\b(?:the|its|this|our)\s+label\s+(?:is|was|says|said|indicates|tells|states|confirms|agrees|of\s+(?:YES|NO)\b)",
            r"\blabel{1,2}ed\s+(?:as\s+)?(?:an?\s+)?(?:YES|NO|positive|negative|member|true|false)\b",
            rf"\b{_TRUTH}\s+(?:(?:is|was|has\s+been)\s+)?(?:already\s+)?(?:given|provided|supplied|known)\b",
            r"\b(?:I|we)\s+(?:was|were|am|are|have\s+been|'ve\s+been)\s+(?:already\s+)?(?:told|informed|instructed|given\s+the)\b",
            r"\bas\s+(?:I\s+was\s+|we\s+were\s+)?(?:told|informed|given\s+in\s+the\s+(?:prompt|instructions?|guidance))\b",
            r"\b(?:answer|expert|private)\s+(?:guidance|key|hint)\b",
            r"\baccording\s+to\s+(?:the\s+)?(?:label|guidance|answer|hint|instructions?)\b",
            r"\b(?:I|we)\s+(?:already\s+)?know\s+(?:that\s+)?(?:the\s+)?(?:answer|label|it\s+is\s+(?:an?\s+)?(?:YES|NO))\b",
        )
    ),
    re.IGNORECASE,
)  # fmt: skip

_FILE = re.compile(r"\bspec-[\w.-]*\d[\w.-]*|\b[\w-]+\.fits(?:\.gz)?\b|\bfile\s?name\b", re.IGNORECASE)
"""What files of spectra are called, whichever file is meant."""

_SHORTEST = 6
"""A name, or a part of one, that is shorter may stand in a text by chance."""


def find_leak(texts: Sequence[str], names: Sequence[str]) -> str | None:
    """Return what gives the answer away, in quotation marks; None where nothing does.

    Parameters
    ----------
    texts
        What the assistant wrote, turn by turn.
    names
        What the candidate's file and object are called; their parts count as well (a plan, a plate, a night).
    """
    known = [re.escape(part) for name in names for part in _parts(name)]
    named = re.compile("|".join(rf"(?<!\w){part}(?!\w)" for part in known), re.IGNORECASE) if known else None
    for text in texts:
        for pattern in filter(None, (_TOLD, _FILE, named)):
            if found := pattern.search(text):
                return f"“{' '.join(found[0].split())}”"
    return None


def _parts(name: str) -> Iterator[str]:
    """Yield a name without folder and ending, and those of its parts that are no plain words."""
    stem = PurePosixPath(name.strip()).name
    while (shorter := re.sub(r"\.(?:gz|fits?|csv|txt|parquet)$", "", stem, flags=re.IGNORECASE)) != stem:
        stem = shorter
    for part in dict.fromkeys((stem, *re.split(r"[-_\s]", stem))):
        if len(part) >= _SHORTEST and any(sign.isdigit() for sign in part):
            yield part
