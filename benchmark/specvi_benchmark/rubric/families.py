"""Which family a model belongs to: a judge must not rate its own without saying so."""

import re
from collections.abc import Mapping

FAMILIES: Mapping[str, str] = {
    # The released Spec-o3 checkpoints are trained from Qwen2.5-VL; theirs is no o3 of OpenAI's.
    "qwen": r"qwen|qwq|qvq|spec[-_]?o3",
    "openai": r"gpt|(?<!spec[-_])\bo[1345](?:-|\b)|davinci|codex",
    "anthropic": r"claude",
    "google": r"gemini|gemma|palm|learnlm",
    "meta": r"llama|vicuna",
    "mistral": r"mistral|mixtral|ministral|magistral|pixtral|codestral|devstral",
    "internlm": r"intern(?:vl|lm)",
    "zhipu": r"glm|cogvlm",
    "deepseek": r"deepseek",
    "xai": r"grok",
    "moonshot": r"kimi|moonshot",
    "microsoft": r"\bphi-?\d|florence",
    "openbmb": r"minicpm",
    "allenai": r"molmo|olmo",
    "nvidia": r"nemotron",
    "baidu": r"ernie",
    "amazon": r"\bnova-",
}
"""Family → how its models' names are recognised."""

BOTH = "+"
"""Between the families of a model that has several, in the order above: one distilled from another, or trained from it."""

CODE = "code"
"""Family of systems that are no model: rules, scripted, constants."""


def family_of(spec: str) -> str | None:
    """Return the family of a vetter by its spec string ``name`` or ``name:model``.

    Returns
    -------
    `CODE` for a vetter without a model; ``qwen+deepseek`` for a model of two families; None where the model's name tells
    nothing, such as a folder's.
    """
    _, _, model = spec.partition(":")
    if not model:
        return CODE
    return BOTH.join(name for name, pattern in FAMILIES.items() if re.search(pattern, model.lower())) or None


def families(family: str | None) -> frozenset[str]:
    """Return the single families of what `family_of` returns; none for code and where nothing is known."""
    return frozenset() if family in {None, CODE} else frozenset(str(family).lower().split(BOTH))
