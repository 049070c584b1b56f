"""Loads the parts of a checkpoint: weights, processor, chat template. Whatever is wrong with them is one message."""

from typing import Any

from transformers import AutoModelForImageTextToText, AutoProcessor, AutoTokenizer
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.utils import is_torchvision_available

from specvi_agents.models.chat_template import choose_template
from specvi_agents.models.checkpoint import Checkpoint
from specvi_agents.models.local.chat import Chat
from specvi_agents.models.local.image_only import ImageOnlyProcessor
from specvi_benchmark.errors import UserError

QWEN_VL = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe")
"""Model types whose stock processor needs torchvision for video, and whose pictures `ImageOnlyProcessor` prepares."""


def load_chat(checkpoint: Checkpoint) -> Chat:
    """Load processor and template.

    Raises
    ------
    UserError
        Files are missing or broken, or the model can't be shown pictures from a tool.
    """
    try:
        processor = _load_processor(checkpoint)
    except UserError:
        raise
    except Exception as error:
        raise _broken(checkpoint, error) from error
    return Chat(processor, choose_template(processor, checkpoint.folder))


def load_weights(checkpoint: Checkpoint, *, dtype: str) -> Any:
    """Load the model, on the CPU.

    Raises
    ------
    UserError
        Files are missing or broken, or weights are left out.
    """
    try:
        model, report = AutoModelForImageTextToText.from_pretrained(
            checkpoint.folder, dtype=dtype, output_loading_info=True
        )
    except Exception as error:  # damaged files raise whatever their reader raises
        raise _broken(checkpoint, error) from error
    if report["missing_keys"]:
        raise UserError(
            "the model's weights are incomplete: the rest would be random",
            where=checkpoint.folder,
            expected="every weight of the architecture",
            got=f"{len(report['missing_keys'])} missing, for example {min(report['missing_keys'])}",
        )
    return model


def _broken(checkpoint: Checkpoint, error: Exception) -> UserError:
    return UserError(
        "the model can't be loaded",
        where=checkpoint.folder,
        got=f"{type(error).__name__}: {(str(error).strip() or 'no reason given').splitlines()[0]}",
        fix="check that the folder is complete and made for the installed transformers",
    )


def _load_processor(checkpoint: Checkpoint) -> Any:
    """Return a processor with an image processor in it.

    Without torchvision ``AutoProcessor`` gives the bare tokenizer of a Qwen-VL model, and no word of it.
    """
    folder = checkpoint.folder
    path = folder / "processor_config.json"
    ours = path.exists() and ImageOnlyProcessor.__name__ in path.read_text(encoding="utf-8")
    if ours or (checkpoint.config.get("model_type") in QWEN_VL and not is_torchvision_available()):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        template = getattr(tokenizer, "chat_template", None)
        image_processor = Qwen2VLImageProcessorPil.from_pretrained(folder)
        return ImageOnlyProcessor(image_processor, tokenizer, chat_template=template)
    processor = AutoProcessor.from_pretrained(folder)
    if not hasattr(processor, "image_processor"):
        raise UserError(
            "the model's processor can't take pictures",
            where=folder,
            expected="a processor with an image processor",
            got=type(processor).__name__,
            fix="install torchvision, which most processors of pictures need",
        )
    return processor
