"""Finds the checkpoint that a spec string names, and says what it is: a folder here, or a repository of the Hub."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specvi_benchmark.errors import UserError

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")

PICTURE_KEYS = ("vision_config", "vision_tower", "mm_vision_tower", "img_processor", "perceiver_config")
"""One of these stands in the configuration of every model that takes pictures."""

_LOADED = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model", "*.py")
"""Everything that decides what a checkpoint writes. Other files of a folder (logs, training state) do not count."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model folder with ``config.json`` and weights.

    Attributes
    ----------
    name
        As the user wrote it.
    folder
        Where the files are; of a Hub repository, the snapshot in the local cache.
    identity
        What run.json keeps: Hub id and commit, or the folder's name and the SHA-256 of its files.
    config
        ``config.json``.
    """

    name: str
    folder: Path
    identity: Mapping[str, str]
    config: Mapping[str, Any]


def find_checkpoint(argument: str | None, backend: str, *, revision: str | None = None) -> Checkpoint:
    """Return the checkpoint of ``backend:argument``; a Hub repository is downloaded into the Hub's cache.

    ``revision`` is a commit, branch or tag of the Hub. Files of a folder are read once, whole, for their hash.

    Raises
    ------
    UserError
        Nothing is named, there is no such folder or repository, or it holds no model that takes pictures.
    """
    where = f"{backend}:{argument or ''}"
    if not argument:
        raise UserError(
            "no model is named", where=where, expected=f"{backend}:FOLDER or {backend}:OWNER/NAME of the Hub"
        )
    folder = Path(argument).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise UserError("a folder has no revision", where=f"{where}, revision", got=revision)
        identity = {"folder": folder.resolve().name}
    elif HUB_ID.fullmatch(argument) and not folder.exists():
        folder = _download(argument, revision, where)
        identity = {"hub_id": argument, "commit": folder.name}
    else:
        raise UserError(
            "no such model folder",
            where=where,
            expected="a folder with config.json and weights, or OWNER/NAME of the Hub",
            got="a file" if folder.exists() else "no such folder",
        )
    config = _read_config(folder, where)
    if "hub_id" not in identity:
        identity["sha256"] = folder_sha256(folder)
    return Checkpoint(argument, folder, identity, config)


def folder_sha256(folder: Path) -> str:
    """Return one hash of the names and contents of all files that are loaded from a model folder."""
    total = hashlib.sha256()
    for path in sorted({path for pattern in _LOADED for path in folder.glob(pattern)}):
        with path.open("rb") as stream:
            total.update(f"{path.name}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def _download(hub_id: str, revision: str | None, where: str) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415  # slow to import; needed for Hub ids only
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415

    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=list(_LOADED)))
    except (
        OSError,
        HFValidationError,
    ) as error:  # all of the Hub's errors about finding and reaching are OSErrors
        raise UserError(
            "the model can't be had from the Hub",
            where=where,
            got=f"{type(error).__name__}: {str(error).strip().splitlines()[0]}",
            fix="check the name, the network and HF_TOKEN, or give the folder of a downloaded copy",
        ) from error


def _read_config(folder: Path, where: str) -> Mapping[str, Any]:
    path = folder / "config.json"
    if not path.exists():
        adapter = (folder / "adapter_config.json").exists()
        raise UserError(
            "the folder holds no model",
            where=where,
            expected="config.json",
            got="a LoRA adapter alone"
            if adapter
            else ", ".join(sorted(p.name for p in folder.iterdir())[:5]),
            fix="merge the adapter into its base model and save that" if adapter else None,
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError("the model's configuration is not JSON", where=path, got=error) from None
    if not isinstance(config, dict) or not any(key in config for key in PICTURE_KEYS):
        kind = config.get("model_type", "no model type") if isinstance(config, dict) else "no object"
        raise UserError(
            "the model takes no pictures",
            where=where,
            expected="a vision-language model, such as Qwen2.5-VL",
            got=kind,
        )
    return config
