"""The chat template: letter for letter Qwen3-VL's, and chosen only where the model's own loses something."""

import importlib.util
from pathlib import Path

import pytest

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("torch", reason="torch is not installed")

from specvi_agents.dialects import tools_block  # noqa: E402
from specvi_agents.models.chat_template import choose_template, hermes_template  # noqa: E402
from specvi_agents.models.local.image_only import ImageOnlyProcessor  # noqa: E402
from specvi_benchmark.errors import UserError  # noqa: E402
from specvi_benchmark.views.tool import TOOL_SCHEMA  # noqa: E402

IMAGE = {"type": "image"}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


CALL = {
    "type": "function",
    "function": {"name": "zoom", "arguments": {"wavelength_range": [1.5, 2], "label": "Hα"}},
}
CONVERSATIONS = {
    "question": [
        {"role": "system", "content": "Be careful."},
        {"role": "user", "content": [IMAGE, text("Is it?")]},
    ],
    "no system": [{"role": "user", "content": [text("a "), IMAGE, text(" b")]}],
    "calls in the text": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [text("<think>x</think>\n<tool_call>\n{}\n</tool_call>")]},
        {"role": "user", "content": [text("<tool_response>\n"), IMAGE, text("seen\n</tool_response>")]},
    ],
    "calls apart": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "thinking", "tool_calls": [CALL, CALL]},
        {"role": "tool", "content": [IMAGE, text("one")]},
        {"role": "tool", "content": "two"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": [IMAGE, text("three")]},
    ],
}


@pytest.fixture(scope="module")
def processor(tiny_folder: Path) -> ImageOnlyProcessor:
    return ImageOnlyProcessor.from_pretrained(tiny_folder)


@pytest.mark.parametrize("tools", [None, [TOOL_SCHEMA]])
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_renders_as_qwen3_vl_does(processor: ImageOnlyProcessor, name: str, tools: list | None) -> None:
    found = importlib.util.find_spec("trl")
    if found is None or found.origin is None:
        pytest.skip("trl, which holds Qwen3-VL's template, is not installed")
    theirs = (Path(found.origin).parent / "chat_templates" / "qwen3_vl.jinja").read_text(encoding="utf-8")
    ours, reference = (
        processor.apply_chat_template(
            CONVERSATIONS[name], chat_template=template, tools=tools, add_generation_prompt=True
        )
        for template in (hermes_template(), theirs)
    )
    assert ours == reference


def test_the_tools_block_is_the_one_of_the_text_dialect(processor: ImageOnlyProcessor) -> None:
    conversation = CONVERSATIONS["question"]
    rendered = processor.apply_chat_template(
        conversation, chat_template=hermes_template(), tools=[TOOL_SCHEMA]
    )
    assert f"<|im_start|>system\nBe careful.\n\n{tools_block()}<|im_end|>" in rendered


def test_only_what_the_assistant_wrote_is_marked_for_the_loss(processor: ImageOnlyProcessor) -> None:
    conversation = [
        {"role": "user", "content": [text("q")]},
        {"role": "assistant", "content": [text("first")]},
        {"role": "user", "content": [text("r")]},
        {"role": "assistant", "content": [text("second")]},
    ]
    out = processor.tokenizer.apply_chat_template(
        conversation, chat_template=hermes_template(), return_dict=True, return_assistant_tokens_mask=True
    )
    marked = [token for token, mask in zip(out["input_ids"], out["assistant_masks"], strict=True) if mask]
    assert processor.tokenizer.decode(marked) == "first<|im_end|>second<|im_end|>"


STOCK = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}{% if c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}"""
COMPLETE = "{% if tools %}{{ tools | tojson }}{% endif %}" + STOCK
DROPS_TOOL_PICTURES = COMPLETE.replace(
    "c.type == 'image' %}", "c.type == 'image' %}{% if m.role != 'tool' %}"
).replace("<|vision_end|>{% else %}", "<|vision_end|>{% endif %}{% else %}")
FAILS_ON_TOOLS = (
    COMPLETE + "{% for m in messages if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endfor %}"
)


@pytest.mark.parametrize(
    ("own", "is_kept"),
    [(None, False), (STOCK, False), (COMPLETE, True), (DROPS_TOOL_PICTURES, False), (FAILS_ON_TOOLS, False)],
)
def test_own_template_is_kept_only_if_it_loses_nothing(
    tiny_folder: Path, own: str | None, *, is_kept: bool
) -> None:
    processor = ImageOnlyProcessor.from_pretrained(tiny_folder)
    processor.chat_template = processor.tokenizer.chat_template = own
    assert choose_template(processor, "here") == (own if is_kept else hermes_template())


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (None, "there is no chat template"),
        (STOCK, "knows no tools"),
        (DROPS_TOOL_PICTURES, "loses pictures in tool turns"),
        (FAILS_ON_TOOLS, "fails on a tool turn"),
    ],
)
def test_a_model_of_another_family_is_refused_with_the_reason(
    tiny_folder: Path, own: str | None, reason: str
) -> None:
    processor = ImageOnlyProcessor.from_pretrained(tiny_folder)
    processor.chat_template = processor.tokenizer.chat_template = own
    processor.tokenizer.get_vocab = lambda: {"<s>": 0}
    with pytest.raises(UserError, match="can't be shown a tool") as caught:
        choose_template(processor, "here")
    assert reason in str(caught.value)
