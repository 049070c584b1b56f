"""The lenient reading: form forgiven, content never guessed. Reported beside the strict one, and never ranked.

YES and NO are treated alike in every rule, so exchanging them in a text exchanges its reading. Where a text
says both, or denies what it says, it has no reading.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

from specvi_agents.thinking import split_thinking
from specvi_benchmark.vetting import Answer

_TAG = re.compile(r"<\s{0,3}(/?)\s{0,3}(think|answer)\s{0,3}>", re.IGNORECASE)
_BLOCK = re.compile(r"<answer>(.*?)(?:</answer>|(?=<answer>)|\Z)", re.DOTALL)
_BOX = re.compile(r"(?:\\+b|\x08)oxed\s*\{")  # \x08: where a JSON reader took \b for a backspace
_BRACE = re.compile(r"[{}]")
_OPINION = re.compile(r"\b(?:yes|no|uncertain)\b", re.IGNORECASE)
_DENIED = re.compile(r"(?:\b(?:not|never|neither|nor)|n['’]t)\W{0,6}\Z", re.IGNORECASE)
_ORNAMENT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|rm|bf)\b|[\\{}$*_`\"'“”‘’\[\]()]")
_MARKED = re.compile(
    r"\b(?:answer|verdict|decision|conclusion|classification)\b\W{0,4}(?:\bis\b)?\W{0,6}"
    r"(?P<denied>\b(?:not|neither|never)\b\W{0,3})?"
    r"\b(?P<word>yes|no|uncertain)\b(?=(?P<after>[^\n]{0,12}))",
    re.IGNORECASE,
)
_FIRST = re.compile(r"(yes|no)\b[^\S\n]*(?:$|[.,;:!–—\n-])", re.IGNORECASE)
_ALONE = re.compile(r"\W*\b(yes|no)\b\W*", re.IGNORECASE)

_SPELLED_OUT = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,1000}")
"""A piece to bring into one form: a run of marks takes the square of its length, and a model may write any run."""

MOST_BOXES = 50
"""A text with more boxes repeats itself, and has no reading by its boxes."""

Opinion = Answer | None
"""What a place says; None: it says something that is neither YES nor NO, or both."""


def read_leniently(text: str) -> Answer | None:
    """Return YES, NO, or None where the text has no reading.

    Looked at in turn, outside of thoughts: the boxes of answer blocks; what else the answer blocks say; boxes
    anywhere; "the answer is …"; a text that is no more than the word. The first place that has an opinion
    decides, and all that stands in places of its kind must agree.
    """
    outside = _outside(_SPELLED_OUT.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text))
    blocks = _BLOCK.findall(outside)
    places = (
        [opinion for block in blocks for opinion in _boxes(block)],
        [opinion for block in blocks for opinion in _block_words(block)],
        list(_boxes(outside)),
        list(_marked(outside)),
        list(_alone(outside)),
    )
    said = next((opinions for opinions in places if opinions), [])
    return said[0] if len(set(said)) == 1 else None


def _outside(text: str) -> str:
    """Return the text without thoughts, tags in one spelling.

    Of a thought that is never closed, the answer blocks at its end are kept; before a closing tag without an
    opening one (which a chat template may have written) all is thought.
    """
    spelled = _TAG.sub(lambda tag: f"<{tag[1]}{tag[2].lower()}>", text)
    thinking = split_thinking(spelled)
    outside = thinking.outside
    if not thinking.is_closed:
        before, _, thought = outside.partition("<think>")
        start = thought.find("<answer>")
        outside = before + (thought[start:] if start >= 0 else "")
    return outside.rpartition("</think>")[2]


def _boxes(text: str) -> Iterator[Opinion]:
    """Yield the opinion of each box; a box about something else, such as a wavelength, has none."""
    boxes = list(islice(_BOX.finditer(text), MOST_BOXES + 1))
    if len(boxes) > MOST_BOXES:
        yield None
        return
    for box in boxes:
        content = _content(text, box.end())
        if _OPINION.search(content):
            denied = _DENIED.search(text[max(0, box.start() - 20) : box.start()])
            yield None if denied else _opinion(content)


def _content(text: str, start: int) -> str:
    """Return what stands in a box up to the brace that closes it; if none does, the rest of the line."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start : brace.start()]
    return text[start:].partition("\n")[0]


def _opinion(content: str) -> Opinion:
    """Return the word a content begins with; None where another one stands beside it."""
    if len({word.upper() for word in _OPINION.findall(content)}) > 1:
        return None
    first = _FIRST.match(_ORNAMENT.sub(" ", content).strip())
    return _answer(first[1]) if first is not None else None


def _block_words(block: str) -> Iterator[Opinion]:
    """Yield the opinion of an answer block that begins with its word."""
    first = _FIRST.match(_ORNAMENT.sub(" ", block).strip())
    if first is not None:
        yield _answer(first[1])
    else:
        yield from _marked(block)


def _marked(text: str) -> Iterator[Opinion]:
    """Yield the opinion of each "the answer is …"; a word that goes on, as in "no emission", is none."""
    plain = _ORNAMENT.sub(" ", text)
    for found in _MARKED.finditer(plain):
        after = found["after"]
        if found["denied"] or found["word"].lower() == "uncertain" or _either(after):
            yield None
        elif re.match(r"\s*(?:$|[.,;:!–—-])", after):
            yield _answer(found["word"])


def _either(after: str) -> bool:
    """Return whether another choice follows: "YES or NO", "YES/NO"."""
    return re.match(r"\s*(?:/|or\b)", after, re.IGNORECASE) is not None


def _alone(text: str) -> Iterator[Opinion]:
    """Yield the word that is all of the text, but for marks."""
    whole = _ALONE.fullmatch(text)
    if whole is not None:
        yield _answer(whole[1])


def _answer(word: str) -> Answer:
    return "YES" if word.upper() == "YES" else "NO"
