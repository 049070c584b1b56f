"""P(YES) from the log-probabilities of the token in which the answer begins."""

import math
import re
from typing import Any

ANSWER_BOX = re.compile(r"\\boxed\{\s*(YES|NO)\s*\}", re.IGNORECASE)
"""The box of an answer, its word the first group."""


def p_yes_of(logprobs: Any) -> float | None:
    r"""Return P(YES) / (P(YES) + P(NO)) at the first letter of the last ``\boxed{YES|NO}``.

    Parameters
    ----------
    logprobs
        The ``logprobs`` of a chat-completion choice: ``content`` lists tokens with ``top_logprobs``.

    Returns
    -------
    None without log-probabilities or without an answer. Words that are not among the listed alternatives
    count as impossible, so ask for as many as the server gives.
    """
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return None
    try:
        tokens = [str(one["token"]) for one in content]
        answers = [found.start(1) for found in ANSWER_BOX.finditer("".join(tokens))]
        begin = 0
        for token, one in zip(tokens, content, strict=True):
            if answers and begin + len(token) > answers[-1]:
                return _share(one, token[: answers[-1] - begin])
            begin += len(token)
    except (LookupError, TypeError, AttributeError):
        return None
    return None


def _share(one: dict[str, Any], before: str) -> float | None:
    """Compare the alternatives of one token that begin with ``before`` and go on with YES or NO."""
    mass = {"YES": 0.0, "NO": 0.0}
    for other in one.get("top_logprobs") or [one]:
        word = str(other["token"])
        rest = word[len(before) :].strip().upper()
        if not word.startswith(before) or not rest:
            continue
        for answer in mass:
            if answer.startswith(rest) or re.match(rf"{answer}\b", rest):
                mass[answer] += math.exp(float(other["logprob"]))
    total = sum(mass.values())
    return mass["YES"] / total if total > 0 else None
