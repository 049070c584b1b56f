"""Which family a model belongs to: a judge must not rate its own without saying so."""

import re
from collections.abc import Mapping

FAMILIES: Mapping[str, str] = {
    # The released Spec-o3 checkpoints are trained from Qwen2.5-VL; the name is looked for before OpenAI's o3.
    "qwen": r"qwen|qwq|qvq|spec[-_]?o3",
    "openai": r"gpt|\bo[134](?:-|\b)|davinci",
    "anthropic": r"claude",
    "google": r"gemini|gemma|palm",
    "meta": r"llama",
    "mistral": r"mistral|mixtral|ministral|magistral|pixtral",
    "internlm": r"intern(?:vl|lm)",
    "zhipu": r"glm|cogvlm",
    "deepseek": r"deepseek",
    "xai": r"grok",
    "moonshot": r"kimi|moonshot",
    "microsoft": r"\bphi-?\d|florence",
    "openbmb": r"minicpm",
    "allenai": r"molmo|olmo",
}
"""Family → how its models' names are recognised, in order."""

CODE = "code"
"""Family of systems that are no model: rules, scripted, constants."""


def family_of(spec: str) -> str | None:
    """Return the family of a vetter by its spec string ``name`` or ``name:model``.

    Returns
    -------
    `CODE` for a vetter without a model; None where the model's name tells nothing, such as a folder's.
    """
    _, _, model = spec.partition(":")
    if not model:
        return CODE
    name = model.lower()
    return next((family for family, pattern in FAMILIES.items() if re.search(pattern, name)), None)
