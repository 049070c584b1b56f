"""The card of a trained model: everything in it is taken from the record of its training."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from specvi_benchmark.hub.card import PAPER

if TYPE_CHECKING:
    from huggingface_hub import ModelCard

_METHODS = {"sft": "supervised fine-tuning on trajectories", "grpo": "GRPO with the outcome as reward"}


def model_card(record: Mapping[str, Any]) -> "ModelCard":
    """Return the card of a model.

    Parameters
    ----------
    record
        The content of a training's ``train.json``: recipe, config, base, data, environment and outcome.
    """
    from huggingface_hub import ModelCard, ModelCardData  # noqa: PLC0415 -- slow to import

    config = record["config"]
    hub_id = record["base"].get("hub_id")
    template = files("specvi_benchmark.hub") / "model_card.md.jinja"
    data = ModelCardData(
        language="en",
        library_name="transformers",
        pipeline_tag="image-text-to-text",
        base_model=hub_id,
        tags=["astronomy", "spectroscopy", "agent", record["recipe"], PAPER],
    )
    options = " ".join(f"--option {key}={value}" for key, value in sorted(config["inspection"].items()))
    card: ModelCard = ModelCard.from_template(
        card_data=data,
        template_str=template.read_text(encoding="utf-8"),
        method=_METHODS.get(record["recipe"], record["recipe"]),
        note=config["note"],
        base=hub_id or record["base"].get("folder"),
        identity=dict(record["base"]),
        data=dict(record["data"]),
        dev=record["dev"],
        outcome=dict(record["outcome"] or {}),
        options=options,
        settings=json.dumps(config, indent=2, ensure_ascii=False),
        environment=dict(record["environment"]),
        started=record["started"],
        ended=record["ended"],
    )
    return card
