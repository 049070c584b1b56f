"""A processor for pictures and text alone: the Qwen-VL processors without their video half.

The stock processors import torchvision for video; without it ``AutoProcessor`` hands back the bare tokenizer
and every picture is lost in silence. This one needs Pillow and NumPy only and gives the same pixel values.

The file imports nothing of this project, because a model folder that names it in ``auto_map`` carries a copy
of it: that is how ``transformers serve --trust-remote-code`` finds it.
"""

from typing import Any

from transformers import ProcessorMixin
from transformers.processing_utils import ProcessingKwargs


class _Defaults(ProcessingKwargs, total=False):  # type: ignore[misc, call-arg]  # a foreign class
    _defaults = {"text_kwargs": {"padding": False, "return_mm_token_type_ids": True}}  # noqa: RUF012  # where the base class looks


class ImageOnlyProcessor(ProcessorMixin):  # type: ignore[misc]  # a foreign class
    """Image processor, tokenizer and chat template of a Qwen-VL model.

    Each ``<|image_pad|>`` of the text becomes one token for each merged patch of its picture.
    """

    valid_processor_kwargs = _Defaults

    def __init__(
        self, image_processor: Any = None, tokenizer: Any = None, chat_template: Any = None, **kwargs: Any
    ) -> None:
        self.image_token = "<|image_pad|>"  # noqa: S105  # no password
        self.image_token_id = tokenizer.convert_tokens_to_ids(self.image_token)
        super().__init__(image_processor, tokenizer, chat_template=chat_template, **kwargs)

    def replace_image_token(self, image_inputs: Any, image_idx: int, **_: Any) -> str:
        """Return the placeholder tokens of one picture."""
        patches = int(image_inputs["image_grid_thw"][image_idx].prod())
        return "<|image_pad|>" * (patches // int(self.image_processor.merge_size) ** 2)
