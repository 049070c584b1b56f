"""The chat template a local model is spoken to with: its own where that knows tools and pictures, else ours."""

from functools import cache
from importlib.resources import files
from typing import Any

from specvi_benchmark.errors import UserError
from specvi_benchmark.views.tool import TOOL_NAME, TOOL_SCHEMA

QWEN_TOKENS = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>")
"""A tokenizer that has these can use `hermes_template`."""

_TOOL_TEXT = "what the tool said"


@cache
def hermes_template() -> str:
    """Return the suite's template for Qwen models: text as Qwen3-VL's own, pictures in tool turns, assistant marks.

    Qwen2.5-VL is released with a template that knows no tools.
    """
    return (files("specvi_agents.models") / "hermes.jinja").read_text(encoding="utf-8")


def choose_template(processor: Any, where: object) -> str:
    """Return the processor's own template if it shows tools, their answers and every picture, else ours.

    Raises
    ------
    UserError
        The model has no such template, and is no Qwen model that could use ours.
    """
    own = processor.chat_template or processor.tokenizer.chat_template
    problem = "there is no chat template" if own is None else _problem(processor, own)
    if problem is None:
        return str(own)
    vocabulary = processor.tokenizer.get_vocab()
    if all(token in vocabulary for token in QWEN_TOKENS):
        return hermes_template()
    raise UserError(
        "the model can't be shown a tool and its pictures",
        where=where,
        expected="a chat template with tools, tool turns and pictures in both user and tool turns",
        got=problem,
        fix="serve the model with a template of your own and use openai: or vllm:",
    )


def _problem(processor: Any, template: object) -> str | None:
    """Return what the template loses of a conversation that has everything an inspection has."""
    if isinstance(template, dict):
        return "several chat templates"
    picture = {"type": "image"}
    conversation = [
        {"role": "system", "content": [{"type": "text", "text": "s"}]},
        {"role": "user", "content": [picture, {"type": "text", "text": "q"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        {"role": "tool", "content": [picture, {"type": "text", "text": _TOOL_TEXT}]},
    ]
    try:
        text = processor.apply_chat_template(
            conversation, chat_template=template, tools=[TOOL_SCHEMA], add_generation_prompt=True
        )
    except Exception as error:  # noqa: BLE001  # a template is foreign code: whatever it raises, it can't be used
        return f"its chat template fails on a tool turn: {type(error).__name__}: {error}"
    if TOOL_NAME not in text:
        return "its chat template knows no tools"
    if _TOOL_TEXT not in text:
        return "its chat template loses what a tool says"
    if text.count(processor.image_token) != 2:
        return "its chat template loses pictures in tool turns"
    return None
