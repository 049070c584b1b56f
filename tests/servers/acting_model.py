"""A tiny Qwen2.5-VL that plays a part: its weights are set by hand so that it calls the tool or answers, by chance.

Each phrase is one token, and the next token depends on the last one alone: attention and MLP add nothing, each
token of the part has a direction of its own in the embedding, and the output layer maps it to what follows.
"""

import math
from collections.abc import Mapping
from pathlib import Path

THINK = "<think>\nI look at the line.\n</think>\n"
CALL = '<tool_call>\n{"name": "spectral_visualization_tool", "arguments": {"wavelength_range": [6500, 6620]}}\n</tool_call>'
YES = "<answer>\n\\boxed{YES}\n</answer>"
NO = "<answer>\n\\boxed{NO}\n</answer>"

CHANCES: Mapping[str, Mapping[str, float]] = {
    "\n": {THINK: 1.0},  # a turn begins after a line break
    THINK: {CALL: 0.5, YES: 0.3, NO: 0.2},
    CALL: {"<|im_end|>": 1.0},
    YES: {"<|im_end|>": 1.0},
    NO: {"<|im_end|>": 1.0},
}
SURE = 30.0  # logits by which what follows stands above everything else


def make_acting_model(tiny_folder: Path, folder: Path) -> Path:
    """Write a copy of the tiny model that plays the part."""
    import torch
    from transformers import AddedToken, Qwen2_5_VLForConditionalGeneration

    from specvi_agents.models.local.image_only import ImageOnlyProcessor

    processor = ImageOnlyProcessor.from_pretrained(tiny_folder)
    tokenizer = processor.tokenizer
    tokenizer.add_tokens(
        [AddedToken(phrase, special=False, normalized=False) for phrase in (THINK, CALL, YES, NO)]
    )
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(tiny_folder)
    model.resize_token_embeddings(len(tokenizer))
    text = model.model.language_model
    size = model.config.get_text_config().hidden_size
    with torch.no_grad():
        for layer in text.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        text.norm.weight.fill_(1.0)
        text.embed_tokens.weight.zero_()
        text.embed_tokens.weight[:, -1] = 1.0  # every other token points this way, from which nothing follows
        model.lm_head.weight.zero_()
        for direction, (last, following) in enumerate(CHANCES.items()):
            (token,) = tokenizer(last)["input_ids"]
            text.embed_tokens.weight[token] = 0
            text.embed_tokens.weight[token, direction] = 1.0
            for phrase, chance in following.items():
                (then,) = tokenizer(phrase)["input_ids"]
                # The norm makes the direction √size long.
                model.lm_head.weight[then, direction] = (SURE + math.log(chance)) / math.sqrt(size)
    model.save_pretrained(folder)
    processor.register_for_auto_class("AutoProcessor")
    processor.save_pretrained(folder)
    return folder
