"""Reads the arguments of the zoom tool as models really send them, and says what had to be mended.

Everything here is total: whatever comes in, a window or a sentence from which a model can do better comes
out. Nothing raises.
"""

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RANGE_KEY, LABEL_KEY = "wavelength_range", "label"
LONGEST_ARGUMENTS = 20_000
LONGEST_LABEL = 80
LONGEST_RANGE = 80
"""Characters of a range, or of one end of it, that stand for a number: longer text is none."""

_WRAPPERS = ("arguments", "parameters", "args", "input", "tool_input", "kwargs", "function")
_RANGE_NAMES = frozenset(
    [
        "wavelengthrange",
        "range",
        "window",
        "wavelengthwindow",
        "wavelengths",
        "wavelength",
        "wavelengthinterval",
        "interval",
        "region",
        "waverange",
        "xrange",
        "wavelengthrangeaa",
    ]
)
_LOW_NAMES = frozenset(
    [
        "min",
        "low",
        "lower",
        "start",
        "from",
        "lo",
        "minwavelength",
        "wavelengthmin",
        "startwavelength",
        "wavelengthstart",
        "lambdamin",
        "wavemin",
        "xmin",
        "minimum",
    ]
)
_HIGH_NAMES = frozenset(
    [
        "max",
        "high",
        "upper",
        "end",
        "to",
        "hi",
        "stop",
        "maxwavelength",
        "wavelengthmax",
        "endwavelength",
        "wavelengthend",
        "lambdamax",
        "wavemax",
        "xmax",
        "maximum",
    ]
)
_NUMBER = r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_ONE = re.compile(
    rf"\s*({_NUMBER})\s*(Å|A|AA|angstroms?|ångströms?|nm|nanometers?|nanometres?)?\s*", re.IGNORECASE
)
_PAIR = re.compile(
    rf"[\[(]?\s*(?P<low>{_NUMBER})\s*(?P<unit>Å|AA?|angstroms?|nm)?\s*(?:,|;|–|—|-|−|to|\.\.+|:|\s)\s*"
    rf"(?P<high>{_NUMBER})\s*(?P<unit2>Å|AA?|angstroms?|nm)?\s*[\])]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for: a window, its ends increasing and finite, and what was mended to get it.

    ``problem`` says why there is no window; exactly one of the two is there.
    """

    window_AA: tuple[float, float] | None
    label: str
    mended: tuple[str, ...]
    problem: str = ""


def read_arguments(raw: object) -> Asked:
    """Read the raw arguments of a call: JSON text, or what a client made of it."""
    mended: list[str] = []
    value, problem = _parsed(raw, mended)
    if problem:
        return _refused(problem)
    value = _unwrapped(value, mended)
    label, ends = "", value
    if isinstance(value, Mapping):
        label = _label(value)
        ends, problem = _range_of(value, mended)
        if problem:
            return _refused(problem, label)
    elif not isinstance(value, str | Sequence):
        return _refused(f"The arguments are {_shown(value)}, not an object", label)
    else:
        mended.append("the arguments were no object with a wavelength_range")
    return _window(ends, label, mended)


def _refused(problem: str, label: str = "") -> Asked:
    return Asked(None, label, (), problem)


def _parsed(raw: object, mended: list[str]) -> tuple[object, str]:
    """Return the value of the raw arguments, or a sentence why they can't be read."""
    if not isinstance(raw, str | bytes):
        return raw, ""
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
    if len(text) > LONGEST_ARGUMENTS:
        return None, f"The arguments are {len(text)} characters long, a window needs a few dozen"
    text = re.sub(r"^```[a-z]*\s*|\s*```$", "", text.strip())
    if not text:
        return None, "The arguments are empty"
    value: object = text
    for _ in range(3):  # JSON within a JSON string, as some clients send it
        parsed = _literal(value) if isinstance(value, str) else None
        if parsed is None:
            break
        value = parsed
    if isinstance(value, str) and not _match(_PAIR, value):
        return None, f"The arguments are not valid JSON: {_shown(text)}"
    if not isinstance(value, str) and text[0] in "\"'":
        mended.append("the arguments were wrapped in a string")
    return value, ""


def _literal(text: str) -> object:
    """Return the value of JSON text, or of a Python literal (single quotes, True); None if it is neither."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return found
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return found


def _unwrapped(value: object, mended: list[str]) -> object:
    """Take a call out of its wrapping: ``{"name": …, "arguments": {…}}``, or a list that holds one object."""
    for _ in range(4):
        inner: object = None
        if isinstance(value, Mapping):
            if any(_folded(key) in _RANGE_NAMES for key in value):
                return value
            inner = next(
                (value[key] for key in value if _folded(key) in _WRAPPERS and value[key] is not None), None
            )
        elif isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], Mapping):
            inner = value[0]
        if isinstance(inner, str):
            inner = _literal(inner)
        if not isinstance(inner, Mapping | list | tuple):
            return value
        mended.append("the arguments were nested")
        value = inner
    return value


def _folded(key: object) -> str:
    return re.sub(r"[^a-zåα-ω]", "", str(key).lower())


def _label(value: Mapping[Any, Any]) -> str:
    """Return the label in one line, without the marks that could close a tool's answer."""
    found = next(
        (value[key] for key in value if _folded(key) in {"label", "name", "feature", "description"}), None
    )
    if not isinstance(found, str | int | float) or isinstance(found, bool):
        return ""
    text = " ".join(re.sub(r"[<>{}|`\x00-\x1f\x7f]", " ", str(found)[: 4 * LONGEST_LABEL]).split())
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _range_of(value: Mapping[Any, Any], mended: list[str]) -> tuple[object, str]:
    """Find the range among the keys; say which were renamed or ignored."""
    keys = {_folded(key): key for key in reversed(list(value))}
    found: object = None
    used: set[object] = set()
    if RANGE_KEY in value:
        found, used = value[RANGE_KEY], {RANGE_KEY}
    elif named := next((key for key in value if _folded(key) in _RANGE_NAMES), None):
        found, used = value[named], {named}
        mended.append(f"{_shown(named)} was taken for wavelength_range")
    else:
        low = next((keys[name] for name in keys if name in _LOW_NAMES), None)
        high = next((keys[name] for name in keys if name in _HIGH_NAMES), None)
        if low is None or high is None:
            given = ", ".join(_shown(key) for key in list(value)[:3])
            return None, f"wavelength_range is missing{f' (given: {given})' if given else ''}"
        found, used = [value[low], value[high]], {low, high}
        mended.append(f"{_shown(low)} and {_shown(high)} were taken for wavelength_range")
    known = {"label", "name", "feature", "description"}
    extra = [key for key in value if key not in used and _folded(key) not in known]
    if extra:
        more = f" and {len(extra) - 3} more" if len(extra) > 3 else ""
        mended.append(f"ignored: {', '.join(_shown(key) for key in extra[:3])}{more}")
    return found, ""


def _window(ends: object, label: str, mended: list[str]) -> Asked:
    """Make two finite, increasing numbers of what was given as the range."""
    pair = _pair(ends, mended)
    if pair is None:
        return _refused(f"wavelength_range must be two numbers, got {_shown(ends)}", label)
    values = [_number(end, mended) for end in pair]
    if values[0] is None or values[1] is None:
        return _refused(f"wavelength_range must be two numbers, got {_shown(ends)}", label)
    low, high = values[0], values[1]
    if not (math.isfinite(low) and math.isfinite(high)):
        return _refused(f"wavelength_range must be finite, got {_shown(ends)}", label)
    if low == high:
        return _refused(
            f"Both ends of wavelength_range are {low:g}; a window needs some width, "
            f"for example [{low - 50:g}, {low + 50:g}]",
            label,
        )
    if low > high:
        low, high = high, low
        mended.append("the ends were reversed")
    return Asked((low, high), label, tuple(dict.fromkeys(mended)))


def _pair(ends: object, mended: list[str]) -> tuple[object, object] | None:
    """Return the two ends, whatever they came in."""
    for _ in range(4):
        if isinstance(ends, list | tuple) and len(ends) == 1:
            mended.append("the range was nested")
            ends = ends[0]
        elif isinstance(ends, str) and not _match(_PAIR, ends):
            ends = _literal(ends)
    if isinstance(ends, list | tuple) and len(ends) == 2:
        return ends[0], ends[1]
    if isinstance(ends, Mapping):
        return _named_ends(ends, mended)
    if isinstance(ends, str) and (match := _match(_PAIR, ends)):
        mended.append("the range was text")
        units = match["unit"] or match["unit2"] or "", match["unit2"] or match["unit"] or ""
        return f"{match['low']} {units[0]}", f"{match['high']} {units[1]}"
    return None


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Match a short text, its white space single: a pattern tries every way to share out a run of blanks."""
    single = " ".join(text[: 4 * LONGEST_RANGE].split())
    return (
        pattern.fullmatch(single) if len(text) <= 4 * LONGEST_RANGE and len(single) <= LONGEST_RANGE else None
    )


def _named_ends(ends: Mapping[Any, Any], mended: list[str]) -> tuple[object, object] | None:
    """Return the ends of a range given as an object, as ``{"min": 6500, "max": 6630}``."""
    keys = {_folded(key): key for key in ends}
    low = next((keys[name] for name in keys if name in _LOW_NAMES), None)
    high = next((keys[name] for name in keys if name in _HIGH_NAMES), None)
    if low is None or high is None:
        return None
    mended.append("the range was an object")
    return ends[low], ends[high]


def _number(value: object, mended: list[str]) -> float | None:
    """Return a number given as such or as text, with or without a unit."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        match = _match(_ONE, value)
        if match is None:
            return None
        mended.append("numbers were given as text")
        number = float(match[1].replace(",", ""))
        if (match[2] or "").lower().startswith("n"):
            mended.append("nanometres were converted to ångström")
            number *= 10
        return number
    try:
        return float(value)  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError):
        return None
    except OverflowError:  # an integer of hundreds of digits
        return math.inf


def _shown(value: object) -> str:
    """Return a value in short, safe to stand in a tool's answer."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except (RecursionError, ValueError):  # nested thousands deep, or an integer too long to print
        text = type(value).__name__
    text = " ".join(re.sub(r"[<>`|\x00-\x1f\x7f]", " ", text[:400]).split())
    return text if len(text) <= 60 else text[:59] + "…"
