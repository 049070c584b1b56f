"""Builds the folder of a tiny Qwen2.5-VL: random weights, own tokenizer, image-only processor. No download."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import GenerationConfig, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from specvi_agents.models.chat_template import hermes_template
from specvi_agents.models.local.image_only import ImageOnlyProcessor
from specvi_agents.tiny.tokenizer import (
    END,
    END_OF_TEXT,
    IMAGE,
    VIDEO,
    VISION_END,
    VISION_START,
    own_texts,
    train_tokenizer,
)


@dataclass(frozen=True, slots=True)
class TinyShape:
    """Sizes of the model. The defaults make 0.56 million parameters and a folder of 2.4 MB.

    ``initializer_range`` is four times Qwen's: with 0.02 so narrow a model hardly learns.
    ``largest_picture_px`` bounds width × height; a larger picture is scaled down, so that a view costs few
    tokens (one for each 28 × 28 pixels).
    """

    vocab_size: int = 3000
    hidden_size: int = 64
    layers: int = 2
    heads: int = 4
    vision_hidden_size: int = 64
    vision_layers: int = 2
    initializer_range: float = 0.08
    largest_picture_px: int = 224 * 112


def build_tiny_model(
    folder: Path,
    *,
    texts: Iterable[str] | None = None,
    phrases: Iterable[str] = (),
    shape: TinyShape | None = None,
    seed: int = 0,
) -> Path:
    """Write a tiny, untrained Qwen2.5-VL that loads wherever a released one does.

    It has the real architecture (vision tower, three-part rotary positions, chat template with tools), so
    that every line of code that serves or trains a released checkpoint runs on it, within seconds on a CPU.
    It knows nothing: its answers are noise.

    Parameters
    ----------
    folder
        Made if it does not exist; files in it are replaced.
    texts
        What the tokenizer learns from; other text is spelt in bytes. None: the suite's own prompts.
    phrases
        Boilerplate, each spelt as one token of its own: conversations of a few hundred tokens instead of
        thousands. An answer has no place in them, else a random model would draw it whole.
    shape
        Sizes; None: the defaults of `TinyShape`.
    seed
        Of the weights. The same seed and texts give the same files.

    Returns
    -------
    The folder: weights, configuration, tokenizer, chat template, processor with the file that defines it.
    """
    shape = shape or TinyShape()
    tokenizer = train_tokenizer(own_texts() if texts is None else texts, shape.vocab_size, phrases)
    processor = ImageOnlyProcessor(_image_processor(shape), tokenizer, chat_template=hermes_template())
    processor.register_for_auto_class("AutoProcessor")
    model = _model(
        shape, {name: tokenizer.convert_tokens_to_ids(name) for name in tokenizer.get_vocab()}, seed
    )
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _image_processor(shape: TinyShape) -> Qwen2VLImageProcessorPil:
    """White becomes 0, so that an empty page is no signal."""
    return Qwen2VLImageProcessorPil(
        size={"shortest_edge": 56 * 56, "longest_edge": shape.largest_picture_px},
        image_mean=[1.0, 1.0, 1.0],
        image_std=[0.5, 0.5, 0.5],
    )


def _model(shape: TinyShape, ids: dict[str, int], seed: int) -> Qwen2_5_VLForConditionalGeneration:
    head = shape.hidden_size // shape.heads
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(ids),
            "hidden_size": shape.hidden_size,
            "intermediate_size": 2 * shape.hidden_size,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.heads // 2,
            "initializer_range": shape.initializer_range,
            "bos_token_id": ids[END_OF_TEXT],
            "eos_token_id": ids[END],
            "pad_token_id": ids[END_OF_TEXT],
            # Half a head's dimensions, shared among time, height and width as in Qwen2.5-VL (16, 24, 24 of 64).
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1_000_000.0,
                "mrope_section": [head // 2 - 2 * (3 * head // 16), 3 * head // 16, 3 * head // 16],
            },
        },
        vision_config={
            "depth": shape.vision_layers,
            "hidden_size": shape.vision_hidden_size,
            "intermediate_size": 2 * shape.vision_hidden_size,
            "num_heads": shape.heads,
            "out_hidden_size": shape.hidden_size,
            "fullatt_block_indexes": [shape.vision_layers - 1],
            "initializer_range": shape.initializer_range,
        },
        image_token_id=ids[IMAGE],
        video_token_id=ids[VIDEO],
        vision_start_token_id=ids[VISION_START],
        vision_end_token_id=ids[VISION_END],
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2_5_VLForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        eos_token_id=ids[END], pad_token_id=ids[END_OF_TEXT], do_sample=True
    )
    return model
