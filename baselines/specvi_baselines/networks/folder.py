"""A model folder: ``model.json`` says what the network is and how it was made, ``model.safetensors`` holds its weights."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from specvi_baselines.networks.build import build
from specvi_baselines.networks.settings import Settings
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import (
    StrictModel,
    parse_json,
    read_text,
    refuse_newer,
    sha256_file,
    validate,
    write_bytes,
    write_json,
)

MODEL_FILE = "model.json"
WEIGHTS_FILE = "model.safetensors"
SCHEMA_VERSION: Literal[1] = 1

NETWORKS_VERSION = 1
"""Raised whenever a network would read a spectrum, or the same weights, in another way."""


class Learnt(StrictModel):
    """What was learnt from: the split, its train part by fingerprint, candidates a task, and whether it is simulated."""

    split: str
    fingerprint: str
    candidates: Mapping[str, Mapping[Literal["YES", "NO"], int]]
    simulated: bool


class Metrics(StrictModel):
    """How training went. Losses weigh every class of every task alike: 0.693 is guessing."""

    best_epoch: int
    dev_log_loss: float
    dev_auroc: Mapping[str, float]
    history: Mapping[str, tuple[Mapping[str, float], ...]]


class ModelRecord(StrictModel):
    """The content of ``model.json``.

    ``published_weights`` is the SHA-256 of a file of published weights that training began with; ``unlabelled``
    is how many spectra masked pre-training saw. ``references`` are the spectra that the read-out ``knn`` keeps.
    """

    schema_version: Literal[1]
    network: str
    networks_version: int
    suite_version: str
    torch_version: str = ""
    setting: str
    settings: Settings
    tasks: tuple[str, ...] = Field(min_length=1)
    parameters: int
    references: int = 0
    seed: int
    train: Learnt
    published_weights: str | None = None
    unlabelled: int = 0
    metrics: Metrics
    weights_sha256: str


def write_model(out: Path, network: nn.Module, name: str, **about: Any) -> ModelRecord:
    """Write weights and description; ``about`` are the fields of `ModelRecord` that are not known here."""
    state = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
    write_bytes(out / WEIGHTS_FILE, save(state))
    record = ModelRecord(
        schema_version=SCHEMA_VERSION,
        network=name,
        networks_version=NETWORKS_VERSION,
        suite_version=version("specvi-bench"),
        torch_version=version("torch"),
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        weights_sha256=sha256_file(out / WEIGHTS_FILE),
        **about,
    )
    write_json(out / MODEL_FILE, record.model_dump(mode="json"))
    return record


def read_record(folder: Path, name: str | None = None) -> ModelRecord:
    """Read ``model.json`` and check that it is of this suite, and of the network ``name`` if one is named.

    Raises
    ------
    UserError
        No model folder, one of another network, or of another version of the networks.
    """
    path = folder / MODEL_FILE
    fix = f"train again: specvi fit {name or 'NETWORK'} --train SPLIT --out FOLDER"
    if not path.is_file():
        raise UserError(
            f"not a trained {name or 'network'}",
            where=folder,
            expected=f"a folder with {MODEL_FILE}",
            fix=fix,
        )
    content = parse_json(read_text(path), path)
    refuse_newer(content, SCHEMA_VERSION, path)
    found = content.get("network") if isinstance(content, dict) else None
    if found is None or (name is not None and found != name):
        raise UserError(
            "a model of another kind",
            where=folder,
            expected=name or "a network",
            got=found or "no network",
            fix=f"name it {found}:{folder}" if found else fix,
        )
    if content.get("networks_version") != NETWORKS_VERSION:
        raise UserError(
            "a model of another version of the networks: the same weights would mean something else here",
            where=path,
            expected=f"networks_version {NETWORKS_VERSION} (specvi-bench {version('specvi-bench')})",
            got=f"networks_version {content.get('networks_version')} (specvi-bench {content.get('suite_version')})",
            fix=f"install that version of specvi-bench, or {fix}",
        )
    return validate(ModelRecord, content, path)


def read_model(folder: Path, record: ModelRecord) -> nn.Module:
    """Return the trained network, ready to be asked.

    Raises
    ------
    UserError
        The weights are missing, are not the ones that were written, or don't fit the description.
    """
    path = folder / WEIGHTS_FILE
    if not path.is_file() or sha256_file(path) != record.weights_sha256:
        raise UserError(
            "the weights are missing, or not the ones that were written",
            where=path,
            expected=f"SHA-256 {record.weights_sha256[:12]}…",
            fix="copy the whole folder again, or train again",
        )
    network = build(record.network, record.settings, len(record.tasks), record.references)
    try:
        network.load_state_dict(load_file(path))
    except (SafetensorError, RuntimeError) as error:
        raise UserError(
            "the weights don't fit the description beside them", where=path, got=str(error).splitlines()[0]
        ) from None
    return network.eval()
