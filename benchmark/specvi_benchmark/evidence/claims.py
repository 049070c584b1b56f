"""What a text claims about the object: which feature, in emission or absorption, present, absent or uncertain.

By words, not by a model: the same text gives the same claims, and a person can follow why. Cut into sentences and
clauses; every feature mentioned in a clause gets the words that state, deny or doubt it there, or in the clauses
beside it. Sentences about the class in general, about what will be looked at and about artefacts claim nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from specvi_benchmark.evidence import wording
from specvi_benchmark.evidence.features import get_feature
from specvi_benchmark.evidence.mentions import Mention, find_mentions

EXTRACTOR_VERSION = 2
"""Raised whenever a text could give other claims."""

Kind = Literal["emission", "absorption", "band"]
Polarity = Literal["present", "absent", "uncertain"]
Breadth = Literal["broad", "narrow"]
Said = Polarity | Literal["weak"]
"""What a clause says of a feature; ``weak`` where its words only name it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Attributes
    ----------
    feature
        Name of a line, a band or a family, as in `evidence.features`.
    kind
        None where the text does not say.
    polarity
        ``uncertain``: said with a doubt.
    written_AA
        The wavelength written with it; None without.
    is_misplaced
        It belongs to no line or band of that name.
    redshift
        The redshift named in the same text; None without.
    breadth, fwhm_kms, fwhm_AA, equivalent_width_AA
        Width and strength where the clause gives them.
    sentence
        The plain sentence it was read from.
    """

    feature: str
    kind: Kind | None
    polarity: Polarity
    written_AA: float | None = None
    is_misplaced: bool = False
    redshift: float | None = None
    breadth: Breadth | None = None
    fwhm_kms: float | None = None
    fwhm_AA: float | None = None
    equivalent_width_AA: float | None = None
    sentence: str = ""


@dataclass(slots=True)
class _Clause:
    """A clause: its text, what it mentions, and the kind and polarity that its words give."""

    text: str
    start: int
    mentions: list[Mention]
    is_general: bool = False
    is_artefact: bool = False
    claims: list[Claim] = field(default_factory=list)


def extract_claims(text: str, *, quasar: bool = False) -> list[Claim]:
    """Return the claims of a text in order.

    Parameters
    ----------
    text
        Raw: markup, tags and LaTeX are read as they stand.
    quasar
        The question is about a quasar: wavelengths are observed ones, and Mg II is 2799.
    """
    found: list[Claim] = []
    topic: list[Mention] = []
    redshift: float | None = None
    for sentence in wording.sentences(wording.plain(text)):
        if match := wording.REDSHIFT.search(sentence):
            redshift = float(match[1] or match[2])
        mentions = find_mentions(sentence, quasar=quasar)
        if sentence.endswith("?"):
            topic = []
            continue
        if wording.INTENT.search(sentence) or wording.UNSEEN.search(sentence):
            topic = mentions or topic
            continue
        claims, topic = _read(sentence, mentions, topic)
        features = {name for mention in mentions for name in mention.features}
        found.extend(
            replace(
                _measured(claim, sentence, is_alone=len(features) == 1), sentence=sentence, redshift=redshift
            )
            for claim in claims
        )
    return found


def _read(sentence: str, mentions: list[Mention], topic: list[Mention]) -> tuple[list[Claim], list[Mention]]:
    """Return the claims of one sentence, and what a pronoun in the next would mean."""
    clauses = list(_cut(sentence, mentions))
    for place, clause in enumerate(clauses):
        if clause.is_general:
            topic = clause.mentions or topic
        elif clause.is_artefact:
            _retract(clauses[:place], clause)
        elif clause.mentions:
            clause.claims = list(_claims_of(clauses, place))
            topic = clause.mentions
        elif topic:
            _apply_to_topic(clauses, place, topic)
    return [claim for clause in clauses for claim in clause.claims], topic


def _cut(sentence: str, mentions: list[Mention]) -> Iterator[_Clause]:
    """Yield the clauses with their mentions; ``not X`` right after an artefact belongs to it."""
    end = 0
    was_artefact = was_general = False
    for text in wording.clauses(sentence):
        start = sentence.index(text, end)
        end = start + len(text)
        inside = [
            mention
            for mention in mentions
            if start <= mention.start < end and not wording.BORDERED.match(sentence[mention.end :])
        ]
        if not re.search(r"\bboth\b", sentence, re.IGNORECASE):
            inside = [m for m in inside if not wording.COMPARED.search(sentence[start : m.start])]
        artefact = any(
            not wording.NO_ARTEFACT.search(text[: found.start()]) for found in wording.ARTEFACT.finditer(text)
        )
        follows = was_artefact and re.match(r"(?:and |but )?(?:not|rather than)\b", text) is not None
        was_artefact = artefact or follows
        was_general = bool(wording.GENERAL.search(text)) or was_general
        yield _Clause(text, start, inside, was_general, was_artefact)
        was_general = was_general and not inside and text.lower().startswith(("in ", "for ", "unlike "))


def _retract(before: Sequence[_Clause], clause: _Clause) -> None:
    """Take back what was just claimed present where this clause calls it an artefact."""
    refers = re.match(
        r"(?:i\.e\.|(?:but|and|so)?\s*(?:it|this|that|which)\b|most likely|probably)", clause.text
    )
    if clause.mentions or not refers:
        return
    for earlier in reversed(before):
        if earlier.claims:
            earlier.claims = [claim for claim in earlier.claims if claim.polarity != "present"]
            return


def _claims_of(clauses: list[_Clause], place: int) -> Iterator[Claim]:
    """Yield what one clause claims of each of its mentions."""
    clause = clauses[place]
    for mention in clause.mentions:
        start, end = mention.start - clause.start, mention.end - clause.start
        polarity = _polarity(clause.text, start, end)
        kinds = _kinds(clause, start, end)
        if polarity is None or (polarity == "weak" and not kinds):
            polarity, more = _from_neighbours(clauses, place, polarity)
            kinds = kinds or more
        elif place and _continues_list(clauses, place):
            kinds = _before(clauses, place) or kinds
        elif not kinds and place and _inherits_kind(clauses, place, polarity):
            kinds = _before(clauses, place)
        if polarity is None:
            continue
        said: Polarity = "present" if polarity == "weak" else polarity
        for kind in kinds or (None,):
            yield from _claims(mention, kind, said, clause.text)


def _inherits_kind(clauses: Sequence[_Clause], place: int, polarity: Said) -> bool:
    """Tell whether a clause without a kind means that of the clause before: ``…, but no He II``, ``…, Hδ are not``."""
    if re.search(r"\bare not$|\bis not$", clauses[place].text):
        return True
    return polarity == "present" and _opens_list(clauses[:place])


def _measured(claim: Claim, sentence: str, *, is_alone: bool) -> Claim:
    """Return a claim with the width and strength that its sentence gives, where it is about nothing else.

    A step that goes the wrong way for a band denies the band.
    """
    if not is_alone:
        return claim
    fwhm, strength = wording.FWHM.search(sentence), wording.EQUIVALENT_WIDTH.search(sentence)
    in_kms = fwhm is not None and fwhm[2].lower() == "km"
    edges = {place.edge for place in get_feature(claim.feature).places}
    wrong = (wording.FALLS.search(sentence) and edges == {"red"}) or (
        wording.RISES.search(sentence) and edges == {"blue"}
    )
    return replace(
        claim,
        polarity="absent" if wrong and claim.polarity == "present" else claim.polarity,
        fwhm_kms=float(fwhm[1]) if fwhm and in_kms else None,
        fwhm_AA=float(fwhm[1]) if fwhm and not in_kms else None,
        equivalent_width_AA=float(strength[1]) if strength else None,
    )


def _claims(mention: Mention, kind: Kind | None, polarity: Polarity, text: str) -> Iterator[Claim]:
    breadth: Breadth | None = None
    if wording.BROAD.search(text):
        breadth = "broad"
    elif wording.NARROW.search(text):
        breadth = "narrow"
    for name in mention.features:
        yield Claim(
            feature=name,
            kind="band" if get_feature(name).is_band else kind,
            polarity=polarity,
            written_AA=mention.written_AA,
            is_misplaced=mention.is_misplaced,
            breadth=breadth,
        )


def _polarity(text: str, start: int, end: int) -> Said | None:
    """Return what the words of a clause say of a mention; ``weak`` where they only name it."""
    before, after = text[:start], text[end:]
    if wording.LACKS_PART.match(after):
        return None
    if wording.NEGATOR.search(before) or _denies_kind(after):
        return "absent"
    if wording.DOUBT.search(text):
        return "uncertain"
    if wording.DENIED.search(after):
        return "absent"
    return _stated(before + " " + after)


def _stated(text: str) -> Said | None:
    strong = [m[0].lower() for m in wording.PRESENT.finditer(text)]
    if any(word not in _NAMING for word in strong) or wording.EMISSION.search(text):
        return "present"
    if wording.ABSORPTION.search(text):
        return "present"
    return "weak" if strong else None


_NAMING = frozenset(
    {"is", "are", "feature", "features", "band", "bands", "line", "lines", "head", "heads", "peak", "peaks"}
    | {"broad", "narrow", "wide"}
)
"""Words of `wording.PRESENT` that name a feature rather than state it."""

_NO_KIND = re.compile(
    r"\b(?:no|not|without|lacks? any|lacks?|any)\s+(?:\w+\s){0,2}?(?:emission|absorption)\b", re.IGNORECASE
)


def _denies_kind(after: str) -> bool:
    found = _NO_KIND.search(after)
    return found is not None and not re.search(r"\b(?:neither|but)\b", after[: found.start()])


def _kinds(clause: _Clause, start: int, end: int) -> list[Kind]:
    """Return emission or absorption as a clause says of a mention; both where one line has a core in a trough."""
    text = clause.text
    found = sorted(
        [(m.start(), m.end(), "emission") for m in wording.EMISSION.finditer(text)]
        + [(m.start(), m.end(), "absorption") for m in wording.ABSORPTION.finditer(text)]
    )
    if not found or re.search(r"\bneither emission nor absorption\b", text):
        return []
    after = [kind for first, _, kind in found if first >= end]
    before = [(last, kind) for _, last, kind in found if last <= start]
    if len(clause.mentions) == 1 and len(set(after)) > 1 and not wording.NEGATOR.search(text):
        return list(dict.fromkeys(after))  # type: ignore[arg-type]  # the two literals
    linked = before and re.match(
        r"(?:\s\w+){0,2}\s(?:of|at|from|in|by|near|for)\s(?!.*\b(?:is|are)\b.*)", text[before[-1][0] : start]
    )
    if linked and after:
        return [before[-1][1]]  # type: ignore[list-item]
    if after:
        return [after[0]]  # type: ignore[list-item]
    return [before[-1][1]] if before else []  # type: ignore[list-item]


def _from_neighbours(clauses: list[_Clause], place: int, own: Said | None) -> tuple[Said | None, list[Kind]]:
    """Return what the clauses beside one say of its mentions: lists, and explanations after a colon."""
    return _from_later(clauses, place, own) or _from_earlier(clauses, place) or (own, [])


def _from_later(clauses: list[_Clause], place: int, own: Said | None) -> tuple[Said, list[Kind]] | None:
    for later in clauses[place + 1 :]:
        if later.is_general or later.is_artefact or wording.ASIDE.match(later.text):
            return None
        first = min((m.start - later.start for m in later.mentions), default=len(later.text))
        last = max((m.end - later.start for m in later.mentions), default=0)
        if later.mentions and wording.NEGATOR.search(later.text[:first]):
            return None
        said = _polarity(later.text, 0, last) if later.mentions else _alone(later.text)
        if said in {"present", "absent", "uncertain"}:
            kinds = _kinds(later, 0, last)
            if later.mentions and not _kinds(later, first, last) and said == "present" and own:
                return None
            return said, kinds or (_before(clauses, place) if _opens_list(clauses[:place]) else [])
        if later.mentions and said == "weak":
            return None
    return None


def _from_earlier(clauses: list[_Clause], place: int) -> tuple[Said, list[Kind]] | None:
    for earlier in reversed(clauses[:place]):
        if earlier.is_general or earlier.is_artefact:
            return None
        if earlier.claims:
            claim = earlier.claims[-1]
            return claim.polarity, [] if claim.kind is None or claim.kind == "band" else [claim.kind]
        kinds = _kinds(earlier, len(earlier.text), len(earlier.text))
        named = _OWNER.sub("", clauses[place].text)
        names_what = all(named == name for name in _names(clauses[place]))  # ``…: C2.``, ``…, typical of C2``
        if not earlier.mentions and (kinds or (names_what and _alone(earlier.text) == "present")):
            return "present", kinds
    return None


_OWNER = re.compile(
    r"^(?:which (?:is|are) )?(?:typical|characteristic|indicative) of |^(?:consistent|identified) with |^(?:due|attributed) to ",
    re.IGNORECASE,
)


def _names(clause: _Clause) -> list[str]:
    """Return the names of a clause's mentions as they are written."""
    return [clause.text[m.start - clause.start : m.end - clause.start] for m in clause.mentions]


def _alone(text: str) -> Said | None:
    """Return what a clause without a feature says of the one before it."""
    if wording.DENIED.search(text) or wording.NEGATOR.match(text) or _denies_kind(text):
        return "absent"
    if wording.DOUBT.search(text):
        return "uncertain"
    return _stated(text)


_LIST = re.compile(r"\b(?:emission|absorption)\s(?:\w+\s){0,2}(?:of|at|from|in)\s", re.IGNORECASE)


_CORES = re.compile(
    r"\b(?:emission|absorption)\s(?:cores?|lines?|wings?)\s(?:of|at|from|in)\s", re.IGNORECASE
)


def _continues_list(clauses: Sequence[_Clause], place: int) -> bool:
    """Tell whether a clause goes on with a list such as ``Emission cores of Hα, Hβ and Hγ``."""
    starts = bool(clauses[place].mentions) and clauses[place].mentions[0].start - clauses[place].start <= len(
        "and "
    )
    return starts and any(_CORES.search(clause.text) for clause in clauses[place - 1 : place])


def _opens_list(earlier: Sequence[_Clause]) -> bool:
    """Tell whether the last claims stand in a list that begins ``Emission lines of``."""
    return any(_LIST.search(clause.text) for clause in earlier if clause.claims)


def _before(clauses: list[_Clause], place: int) -> list[Kind]:
    for earlier in reversed(clauses[:place]):
        if earlier.claims:
            kind = earlier.claims[-1].kind
            return [] if kind is None else [kind]
    return []


def _apply_to_topic(clauses: list[_Clause], place: int, topic: list[Mention]) -> None:
    """Let a clause without a feature speak of the last one mentioned, where it says ``it`` or denies it."""
    clause = clauses[place]
    earlier = [claim for other in clauses[:place] for claim in other.claims]
    contrast = re.match(r"(?:rather than|instead of)\b", clause.text)
    pronoun = wording.PRONOUN.search(clause.text)
    added = re.match(r"(?:both )?in (?:\w+ )?(?:emission|absorption)$", clause.text)
    denied = None if earlier else wording.DENIED.search(clause.text)
    bare = denied is not None and wording.SUBJECTLESS.match(clause.text[: denied.start()]) is not None
    if not (pronoun or contrast or added or bare):
        return
    kinds = _kinds(clause, 0, 0)
    said = "absent" if contrast else _alone(clause.text)
    if said not in {"present", "absent", "uncertain"} or (said == "present" and not kinds):
        return
    if kinds and (added or (pronoun and pronoun[0].lower() == "both")):
        for other in clauses[:place]:
            other.claims = [replace(c, kind=kinds[0]) if c.kind is None else c for c in other.claims]
        return
    for mention in topic:
        for claim in _claims(mention, kinds[0] if kinds else None, said, clause.text):
            known = {(c.feature, c.kind) for c in earlier}
            if (claim.feature, claim.kind) not in known and not (
                claim.kind is None and claim.feature in {c.feature for c in earlier}
            ):
                clause.claims.append(claim)
