"""A byte-level BPE tokenizer with Qwen's special tokens, trained on the suite's own text."""

import json
from collections.abc import Iterable, Iterator

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
from transformers import AddedToken, Qwen2Tokenizer
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

from specvi_benchmark.splits.prompt import task_prompt
from specvi_benchmark.tasks import all_tasks
from specvi_benchmark.views.tool import TOOL_SCHEMA

END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VISION_START, VISION_END, IMAGE, VIDEO = (
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
SPECIAL_TOKENS = (END_OF_TEXT, START, END, VISION_START, VISION_END, IMAGE, VIDEO)
"""Qwen2.5-VL's tokens that stand for no text: dropped from what a model wrote."""

TEXT_TOKENS = ("<tool_call>", "</tool_call>")
"""Single tokens that are text all the same, as in Qwen2.5."""

_ANSWERS = (
    "<think>\nThe full view shows a strong line. I zoom in to check it.\n</think>\n",
    '<tool_call>\n{"name": "spectral_visualization_tool", "arguments": {"wavelength_range": [6500, 6620]}}\n</tool_call>',
    "<think>\nThe line is there.\n</think>\n<answer>\n\\boxed{YES}\n</answer>",
    "<think>\nThe line is not there.\n</think>\n<answer>\n\\boxed{NO}\n</answer>",
    "0 1 2 3 4 5 6 7 8 9 Å . , [ ] { } ( ) : ; - + − < > / \\ \n",
)


def own_texts() -> Iterator[str]:
    """Yield the suite's own text: prompts and guidelines of every task, the tool's schema, model turns."""
    for task in all_tasks():
        yield from (message.content for message in task_prompt(task))
        yield task.guideline
    yield json.dumps(TOOL_SCHEMA)
    yield from _ANSWERS


def train_tokenizer(texts: Iterable[str], vocab_size: int, phrases: Iterable[str] = ()) -> Qwen2Tokenizer:
    """Return a Qwen2 tokenizer learnt from the texts; ``vocab_size`` counts the special tokens too.

    Each of the ``phrases`` becomes one token more, wherever it stands in a text.
    """
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(SPECIAL_TOKENS) - len(TEXT_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    learnt = json.loads(learner.to_str())["model"]
    tokenizer = Qwen2Tokenizer(
        vocab=learnt["vocab"],
        merges=[tuple(pair) for pair in learnt["merges"]],
        eos_token=END,
        pad_token=END_OF_TEXT,
        padding_side="left",
    )
    tokenizer.add_tokens([AddedToken(token, special=True) for token in SPECIAL_TOKENS])
    tokenizer.add_tokens([AddedToken(token, special=False) for token in (*TEXT_TOKENS, *phrases)])
    return tokenizer
