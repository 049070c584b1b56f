r"""The wording of claims: how a text is made plain, cut into clauses, and which words claim, deny, doubt or exempt.

Everything here is a list of words or a cut at words; `claims` puts them together.
"""

import re
import unicodedata
from textwrap import wrap

_MARKUP = (
    (re.compile(r"\\boxed\s*\{[^}]*\}"), " "),
    (re.compile(r"</?(?:think|answer|tool_call|tool_response)>"), "\n"),
    (re.compile(r"\\(?:mathrm|text|rm|mathsf|textrm)\s*"), ""),
    (re.compile(r"\\(alpha|beta|gamma|delta|epsilon|zeta|eta|lambda|sim|approx|AA)(?![a-z])"), r"⟨\1⟩"),
    (re.compile(r"\\[,;:!( )\[\]]"), " "),
    (re.compile(r"[${}\\]"), ""),
    (re.compile(r"\bH[_\s]?⟨"), "H⟨"),
    (re.compile(r"\bC_2\b"), "C2"),
    (re.compile(r"\bH_(?=[a-zα-η])"), "H"),
    (re.compile(r"\*\*|__|`"), ""),
    (re.compile(r"(?m)^\s*(?:[-*•#]+|\d+[.)])\s+"), ""),
)
_NAMES = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η",
    "lambda": "λ", "sim": "~", "approx": "~", "AA": "Å",
}  # fmt: skip


def plain(text: str) -> str:
    r"""Return a text without markup, tags, boxes and contractions: ``$H\alpha$`` becomes ``Hα``, ``isn't`` ``is not``."""
    text = text.replace("₂", "2")
    for pattern, instead in _MARKUP:
        text = pattern.sub(instead, text)
    text = re.sub("⟨([a-zA-Z]+)⟩", lambda found: _NAMES[found[1]], text)
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return re.sub(r"n't\b", " not", re.sub(r"\b([Cc]an)'t\b", r"\1not", text))


_SENTENCE = re.compile(r"(?<=[?!])\s+|(?<!i\.e)(?<!e\.g)(?<!cf)(?<!approx)\.(?=\s|$)|[;\n]+")


LONGEST = 600
"""Characters of a sentence; a longer one, such as a model that repeats itself writes, is cut at a blank."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a plain text; a semicolon and a new line end one too."""
    found = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    return [piece for part in found for piece in ([part] if len(part) <= LONGEST else wrap(part, LONGEST))]


_CLAUSE = re.compile(
    r"""
    \s*[:—]\s+ | \s+-\s+ | \s+–\s+
    | ,?\s+(?=(?:but|while|whereas|although|though|however|yet|because|hence|since|unlike|despite)\b)
    | \s+(?=and\ instead\b)
    | ,\s+ (?!\d{4}|(?:identified|attributed|corresponding|consistent)\ (?:with|to)\b|(?:strong|weak|broad|narrow|shallow|deep|wide|clear|asymmetric|double-peaked)\b
      [^,]*\b(?:emission|absorption)) | \s\((?=[A-Za-z]) | \)\s
    | \s+(?=(?:rather\ than|instead\ of)\b)
    | \s+(?=(?:and|with)\s+(?:no|not|the\ absence|emission|absorption)\b)
    | \s+(?=without\b) | \s+(?=except\ for\b)
    | \s+(?=and\s+(?:the\s+)?\S+(?:\s\S+){0,4}?\sis\s(?:not|absent|missing|weak|strong|present|lacking|undetected|seen)\b)
    """,
    re.VERBOSE,
)


def clauses(sentence: str) -> list[str]:
    """Return a sentence cut at commas, colons and conjunctions; the conjunction begins its clause."""
    return [part.strip() for part in _CLAUSE.split(sentence) if part and part.strip()]


EMISSION = re.compile(r"\bemi(?:ssion|tted|tting|t|ts)\b|\bemission-line\b|\bin emission\b", re.IGNORECASE)
ABSORPTION = re.compile(r"\babsor(?:ption|bed|bing|bs)\b|\btroughs?\b", re.IGNORECASE)

NEGATOR = re.compile(
    r"""\b(?:no|none(?=\ of\ the\b)|not\ any|not\ a\ single|not\ one|without|lack(?:s|ing)?|absence\ of|neither|nor|devoid\ of|free\ of|rather\ than
    |instead\ of|nothing|(?:hardly|scarcely|barely)\ any|contains?\ no|fail(?:s|ed)?\ to\ \w+|unable\ to\ \w+
    |zero(?=\s(?:emission|absorption|sign|trace|evidence)\b)
    |missing(?=\s+(?!from)\w)
    |(?:can\s?not|do(?:es)?\ not|did\ not|could\ not)
      \ (?:make\ out|see|detect|find|identify|show|discern|exhibit|display|have|recogni[sz]e)
    |not(?=\s+(?:an?\s|the\s)?\s*$))\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that deny what follows them."""

DENIED = re.compile(
    r"""\b(?:absent|missing|lacking|undetected|undetectable|invisible|nowhere\ to\ be\ seen
    |found\ nothing|negligible|no\ more\ than|none(?!\ of)|fail(?:s|ed)?\ to\ (?:appear|show)|nothing\ (?:is|was)\ (?:seen|found)|not\ there
    |(?:is|are|was|were|remains?)\ lacking|within\ the\ noise|consistent\ with\ (?:the\ )?noise
    |shows?\ (?:only\ |just\ )?(?:a\ )?(?:flat|smooth|featureless)\ (?:continuum|spectrum)
    |(?:not|never)\ (?:\w+ly\ )?
      (?:seen|detected|present|visible|apparent|evident|observed|found|in\ emission|in\ absorption|there|above|
      discernible|identified|detectable|rise|appear(?!\ to)|noticeable|confirmed\ in)
    |(?:can\s?not|could\ not)\ be\ (?:seen|made\ out|detected|found|identified|discerned|recogni[sz]ed)
    |(?:is|are)\ not$|:\ no$)\b|^no$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that deny what stands before them."""

DOUBT = re.compile(
    r"""\b(?:may|might|could|possibl[ey]|possibly|perhaps|maybe|probabl[ey]|likely|tentative(?:ly)?|hints?
    |marginal(?:ly)?|ambiguous|uncertain|unclear|not\ sure|not\ clear|hard\ to\ (?:tell|say)|hardly\ visible
    |lost\ in\ the\ noise|(?:can\s?not|could\ not)\ be\ (?:confirmed|excluded|ruled\ out)
    |(?:weak|faint)\ or\ absent|too\ (?:weak|noisy|faint)|barely|if\ (?:present|any|at\ all)|suspect(?:ed)?|questionable|trace
    |not\ (?:think|believe|convinced))\b""",
    re.IGNORECASE | re.VERBOSE,
)

PRESENT = re.compile(
    r"""\b(?:present|visible|seen|see|sees|detect(?:ed|s)?|evident|prominent|strong(?:ly|er|est)?|weak(?:ly|er)?|clear(?:ly)?
    |apparent|confirm(?:s|ed)?|shows?|exhibits?|displays?|has|have|found|find|reveals?|there\ (?:is|are)|obvious|appears?|emerges?|stands?|noticeable|discernible|recogni[sz]able|deep|broad
    |narrow|enhanced|conspicuous|unmistakable|dominates?|shapes?|forms?|coexist|flank|support|measured|note|wide|well\ developed
    |falls?|rises?|drops?|step|edge|dip|it\ is|yes|real|moderate(?:ly)?|develops?|sharp|identified|is|are|features?|bands?|lines?
    |heads?|bumps?|peaks?)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that state, where nothing denies or doubts."""

ARTEFACT = re.compile(
    r"""\bcosmic[- ]rays?|\b(?:night[- ])?sky[- ](?:\[O\ I\]\ )?(?:subtraction|residual|residue|line|emission)|\bresidu(?:als?|es?)\b
    |\btelluric|\bart[ei]facts?\b|(?<!emission\ )\bspikes?\b|\bbad\ pixels?|\barms?\ (?:join|junction)|\b(?:join|junction)\ of\ the\ (?:two\ )?arms|\bcontaminat
    |\bnarrower\ than\ the\ instrument|\bblended\ with\ (?:interstellar|sky)|\bhot\ pixels?|\bfringing""",
    re.IGNORECASE | re.VERBOSE,
)
NO_ARTEFACT = re.compile(
    r"\b(?:not|no sign of|no|rather than)\s+(?:just\s+)?(?:an?\s+|due to\s+|from\s+|caused by\s+)?(?:\w+\s+)?$",
    re.IGNORECASE,
)
"""What stands before the name of an artefact where it is denied."""

_CLASSES = r"""(?:CVs?|cataclysmic\ variables|dwarf\ novae|polars|[A-Z]?\s?giants|[A-Z]?\s?dwarfs|white\ dwarfs
    |[A-Z]\s?-?(?:type\s)?stars|carbon\ stars|quasars|QSOs|nova-likes|DAs?|DBs?|galaxies|nebulae|subdwarfs)"""
GENERAL = re.compile(
    rf"""^(?:(?:but|while|whereas|and|since|although)\s)?(?:in\s|for\s|unlike\s)?(?:most\s|all\s|many\s|typical\s|hot\s|late\s|
      DO\s|DA\s|ordinary\s|cool\s|active\s)*{_CLASSES}\b(?!\s+is\b)
    |\b(?:should|would(?!\ (?:say|argue|call))|ought\ to|must)\b|\bneed(?:s|ed)?\ (?:not\ |to\ )?(?:be|show|have)\b
    |\bguidelines?\b|\bcriteri(?:a|on)\b|\b(?:is|are)\ (?:the\ )?(?:hall)?mark\ of
    |\btypically\b|\bone\ expects\b|^such\ (?:stars|objects)\b|^for\ an?\ |\busually\b|\b(?:is|are)\ expected\b|\bcharacteri[sz]ed\ by\b|\bwere\b.*\bif\b|^if\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Clauses about a class, a rule or a supposition, not about this object."""

INTENT = re.compile(
    r"""\bnext\b.*\bzoom\b|\bno\ zoom\ is\ left|\blet\ (?:me|us)\b|\blet's\b|\bI(?:'ll|\ will|\ shall|\ need\ to|\ want\ to
    |\ should|\ must|\ expect|\ am\ going)\b|\bto\ check\b|\bone\ should\b|\b(?:will|to)\ (?:tell|show|see|decide)\ (?:\w+\ )?whether\b|\bneed\ to\ (?:check|verify|look|inspect)
    |\blook\ for\b|\bverify\b.*\bpresence\b|\b(?:now|first)\ (?:zoom|check|look)\b|^(?:zoom|check|inspect|verify|look)\b|\bis\ what\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Sentences about what will be looked at, or what something else looks like."""

UNSEEN = re.compile(
    r"\bnot covered\b|\btoo few good pixels\b|\boutside (?:of )?the\b|\bno picture\b|\bcannot be (?:measured|read off)\b"
    r"|\bnothing can be said\b|\b(?:do|does) not count it\b|\btells? nothing\b|\bprevents? any\b",
    re.IGNORECASE,
)
"""Sentences that say that something could not be looked at, or is set aside."""

PRONOUN = re.compile(r"\b(?:it|this|that|they|these|both|which|i\.e)\b", re.IGNORECASE)
COMPARED = re.compile(
    r"(?:(?<!rather )\bthan(?:\ (?:by|to|from|with|in|at))?|\bbetween|\bcompar(?:ed|able)(?:\s\w+){0,3}\s(?:to|with)|\bas\s\w+\sas|\bnext\sto|\bratio\sto)\s(?:the\s)?$",
    re.IGNORECASE,
)
"""What stands before a feature that is only the measure of another."""

ASIDE = re.compile(
    r"^(?:the\s)?(?:luminosity|spectral type|type|colou?r|continuum|redshift|class|S/N)\b", re.IGNORECASE
)
"""Clauses that speak of something other than a feature."""

BORDERED = re.compile(
    r"^\s*(?:\d{4}\s)?(?:giant|dwarf)\b|^\s?/\s?\S.{0,12}\bratio\b|^\s(?:(?:flux|line|EW|strength|intensity)\s)?ratio\b",
    re.IGNORECASE,
)
"""What stands after a feature that is only named as a criterion of luminosity, or in a ratio."""

SUBJECTLESS = re.compile(
    r"^(?:(?:and|but|is|are|was|were|it|this|that|they|these|here|there|still|however|clearly|completely|entirely"
    r"|almost|yes|in fact|indeed|both|all|simply|also|seems|appears|to|be)\W+)*$",
    re.IGNORECASE,
)
"""What may stand before a denial that is about the feature mentioned last: ``metals are absent`` is not."""

LACKS_PART = re.compile(r"^(?:\slines?)?\slacks?\s(?!.*\b(?:emission|absorption)\b)", re.IGNORECASE)
"""What follows a feature of which only a part is denied: ``Na D lacks the broad wings``."""

FALLS = re.compile(r"\b(?:falls?|drops?|decreases?)\b.*\bredward\b", re.IGNORECASE)
RISES = re.compile(r"\b(?:rises?|jumps?|increases?)\b.*\bredward\b", re.IGNORECASE)
"""The way the flux goes at a band head."""

BROAD = re.compile(r"\b(?:broad|wide|broadened)\b", re.IGNORECASE)
NARROW = re.compile(r"\bnarrow\b", re.IGNORECASE)
FWHM = re.compile(r"\bFWHM\b[^\d,;]{0,12}(\d+(?:\.\d+)?)\s*(km|Å|A\b|angstroms?)", re.IGNORECASE)
EQUIVALENT_WIDTH = re.compile(
    r"\b(?:EW|equivalent width)\b(?!\s*(?:below|<))[^\d,;<]{0,12}(\d+(?:\.\d+)?)\s*(?:Å|A\b)", re.IGNORECASE
)
REDSHIFT = re.compile(r"\bz\s*[=≈~]\s*(\d+(?:\.\d+)?)|\bredshift (?:of |is )?(\d+\.\d+)", re.IGNORECASE)
