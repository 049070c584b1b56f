"""Words by which an inspection gives away that its answer was known: it was told, or it read the name of a file."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

_KNOWN = (
    r"(?:given|provided|supplied|known|true|correct|actual|reference|gold(?:en)?|target|stated|expected|required"
    r"|official|desired|intended|assigned|prior|catalogued|expert|human)"
)
_TRUTH = r"(?:label|answer|class(?:ification)?|verdict|category|annotation|conclusion)"
_YES_NO = r"(?-i:YES|NO)\b"
_MEMBER = (
    rf"(?:{_YES_NO}|CVs?\b|cataclysmic|carbon\s+star|S[-\s](?:type\s+)?star|M[-\s](?:type\s+)?giant|gM\b|white\s+dwarf|WDs?\b"
    r"|quasar|QSO|member|positive|negative|one\s+of\s+(?:the\s+class|them))"
)
_OBJECT = r"(?:it|this|(?:the|this)\s+(?:object|star|source|target|candidate|spectrum))"
_AUTHORITY = (
    r"(?:catalog(?:ue)?s?|literature|SIMBAD|VizieR|metadata|database|labels?|annotat(?:ions?|ors?)|gold\s+standard"
    r"|guidance|hints?|(?:\w+\s+)?prompts?|instructions?|experts?|archive|users?)"
)
_STATES = (
    r"(?:say|said|list|give|state|tell|told|classif|identif|indicat|confirm|report|agree|support|mark)\w*"
)

_TOLD = re.compile(
    "|".join(
        (
            r"(?<!in )\b(?:ground[\s_-]*)?truth\b",
            r"\bgold\s+standard\b",
            rf"\b{_KNOWN}\s+(?:class\s+)?{_TRUTH}s?\b",
            r"\b(?:class|catalog(?:ue)?|training|dataset)\s+label\b",
            rf"\b(?:class|object|star|source|target|true|the|its|this|our)?\s*label\s*(?:is|was|=|:)\s*(?:an?\s+)?{_MEMBER}",
            rf"\b(?:label{{1,2}}ed|annotated|tagged|catalogu?ed|listed|flagged)\s+(?:as\b|(?:an?\s+)?{_MEMBER}|true\b|false\b)",
            rf"\b{_OBJECT}\s+(?:is|was|has\s+been)\s+(?:already\s+)?(?:label{{1,2}}ed|annotated|tagged|catalogu?ed|listed)\b",
            rf"\b(?:an?|the|already)\s+(?:well[-\s])?(?:known|confirmed|catalogu?ed)\s+(?:an?\s+)?{_MEMBER}",
            rf"\b(?:known|confirmed)\s+(?:to\s+be|as)\s+(?:an?\s+)?{_MEMBER}",
            rf"\b{_TRUTH}\s+(?:(?:is|was|has\s+been|(?:I|we)\s+(?:was|were|am|are))\s+)?(?:already\s+)?(?:given|provided|supplied|known)\b",
            r"\b(?:I|we)(?:\s+(?:was|were|am|are|have\s+been)|'ve\s+been|'m|'re)\s+(?:already\s+)?(?:told|informed|instructed|given\s+the)\b",
            r"\bas\s+(?:I\s+was\s+|we\s+were\s+)?(?:told|informed|given\s+in\s+the\s+(?:prompt|instructions?|guidance))\b",
            r"\b(?:answer|expert|private)\s+(?:guidance|key|hint)\b",
            rf"\b(?:according\s+to|(?:stated|listed|given|recorded|reported|found|classified|confirmed|identified|known|published)\s+(?:in|by)|(?:agree|consistent|accordance)s?\s+with|match(?:es|ing)?)\s+(?:(?:the|its|my|this)\s+)?(?:\w+\s+)?(?:{_AUTHORITY}|{_TRUTH}|its\s+classification)\b",
            rf"\b{_AUTHORITY}\s+(?:entry\s+|already\s+|here\s+)?{_STATES}\b",
            rf"\bas\s+experts\b|\b(?:the|its|this|our)\s+reference\s+(?:says|states|gives)\b|\bas\s+given\s*:\s*{_YES_NO}",
            rf"\b(?:I|we)\s+(?:already\s+)?know\s+(?:that\s+)?(?:the\s+(?:answer|label|class)|{_OBJECT}(?:\s+is|'s)\s+(?:an?\s+)?(?:{_MEMBER}|one\b))",
            rf"\b(?:justify|rationali[sz]e|arrive\s+at|reach|conclude)\s+(?:with\s+)?(?:an?\s+|the\s+)?{_YES_NO}\s+(?:answer|as)?|\b(?:must|need\s+to|have\s+to|has\s+to)\s+(?:conclude|answer|arrive\s+at|justify|say)\s+{_YES_NO}",
            r"\bpretend(?:ing|ed)?\b|\bas\s+if\s+(?:I|we)\s+(?:did\s+not|didn't|do\s+not|don't)\s+know\b",
            r"\bwithout\s+(?:revealing|mentioning|giving\s+away)\b",
            r"\b(?:seed|expert)\s+examples?\b|\bexample\s+(?:inspection|trajector|conversation)\w*|\b(?-i:Example)\s+\d|\bexamples?\s+(?:I|we)\s+(?:was|were)\b",
        )
    ),
    re.IGNORECASE,
)  # fmt: skip

_FILE = re.compile(
    r"\bspec-[\w.-]*\d[\w.-]*|\b[\w-]+\.fits(?:\.gz)?\b|\bfile\s?name\b|\bobs[\s_-]?id\b|\btarget[\s_-]?id\b"
    r"|\b(?:its|object(?:'s)?|target(?:'s)?|source(?:'s)?)\s+(?:identifier|designation|name)\b"
    r"|\bJ\d{4,}(?:\.\d+)?[+-]\d{4,}"
    r"|\b(?:Gaia|LAMOST|SDSS|DESI|2MASS|TIC|KIC|EPIC|WDJ?|HD|HIP)\s*(?:E?DR\s?\d+\s+)?[JG]?\d{5,}",
    re.IGNORECASE,
)
"""What files of spectra and objects are called, whichever is meant."""

_SHORTEST = 6
"""A name, or a part of one, that is shorter may stand in a text by chance."""

_CYRILLIC_OR_GREEK, _LATIN = "аеорсухіјѕԁԛһο", "aeopcyxijsdqho"
_ALIKE = str.maketrans(
    f"{_CYRILLIC_OR_GREEK}{_CYRILLIC_OR_GREEK.upper()}‐‑‒–—―−’‘",
    f"{_LATIN}{_LATIN.upper()}-------''",
    '*`"“”«»',
)
"""Letters and signs that look like others; marks of emphasis and quotation go."""


def find_leak(texts: Sequence[str], names: Sequence[str]) -> str | None:
    """Return what gives the answer away, in quotation marks; None where nothing does.

    Parameters
    ----------
    texts
        What was written, turn by turn.
    names
        What the candidate's file and object are called; their parts count as well (a plan, a plate, a night).
    """
    known = [re.escape(part) for name in names for part in _parts(folded(name))]
    named = re.compile("|".join(rf"(?<!\w){part}(?!\w)" for part in known), re.IGNORECASE) if known else None
    for text in map(folded, texts):
        for pattern in filter(None, (_TOLD, _FILE, named)):
            if found := pattern.search(text):
                return f"“{' '.join(found[0].split())}”"
    return None


def folded(text: str) -> str:
    """Return a text in one spelling: nothing unseen, and one sign for those that look alike."""
    plain = unicodedata.normalize("NFKC", text).translate(_ALIKE)
    return "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")


def _parts(name: str) -> Iterator[str]:
    """Yield a name without folder and ending, and those of its parts that are no plain words."""
    stem = PurePosixPath(name.strip()).name
    while (shorter := re.sub(r"\.(?:gz|fits?|csv|txt|parquet)$", "", stem, flags=re.IGNORECASE)) != stem:
        stem = shorter
    for part in dict.fromkeys((stem, *re.split(r"[-_\s]", stem))):
        if len(part) >= _SHORTEST and any(sign.isdigit() for sign in part):
            yield part
