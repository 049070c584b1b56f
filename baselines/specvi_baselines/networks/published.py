"""Loads published SpecFormer weights from a user's file, without unpickling anything but tensors."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from specvi_baselines.networks.specformer import SpecFormer
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import sha256_file

PREFIXES = ("", "model.", "spectrum_encoder.backbone.")
"""What stands before the names: SpecFormer's own checkpoint, a wrapped one, the encoder inside AstroCLIP's."""


def load_published(encoder: SpecFormer, path: Path) -> str:
    """Fill an encoder with published weights; return the file's SHA-256.

    The file is ``.safetensors``, or a checkpoint of torch or Lightning (``state_dict`` inside), which is read by
    ``torch.load(weights_only=True)``: anything in it but tensors and plain values is refused, nothing is run.

    Raises
    ------
    UserError
        No such file, not such weights, or another size than the setting's.
    """
    state = _read(path)
    wanted = encoder.state_dict()
    marker = next(iter(wanted))
    prefix = next((one for one in PREFIXES if one + marker in state), None)
    if prefix is None:
        raise UserError(
            "no SpecFormer weights in this file",
            where=path,
            expected=f"tensors named {examples(wanted)}",
            got=examples(state) or "nothing",
        )
    found = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
    if prefix:  # the file may hold more than the encoder
        found = {name: value for name, value in found.items() if name in wanted}
    faults = [f"{name} missing" for name in wanted if name not in found]
    faults += [f"{name} unknown" for name in found if name not in wanted]
    faults += [
        f"{name} {tuple(found[name].shape)}, not {tuple(value.shape)}"
        for name, value in wanted.items()
        if name in found and found[name].shape != value.shape
    ]
    if faults:
        raise UserError(
            "these weights don't fit the network",
            where=path,
            got=examples(faults),
            fix="the published weights fit --option setting=full",
        )
    encoder.load_state_dict(found)
    return sha256_file(path)


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise UserError(
            "no such file of weights", where=path, fix="download AstroCLIP's specformer checkpoint first"
        )
    content: Any
    try:
        if path.suffix == ".safetensors":
            content = load_file(path)
        else:
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise UserError(
            "not a file of weights that can be read safely",
            where=path,
            expected="safetensors, or a torch checkpoint of tensors and plain values",
            got=str(error).splitlines()[0][:200],
        ) from error
    state = content.get("state_dict", content) if isinstance(content, dict) else {}
    return {name: value for name, value in state.items() if isinstance(value, Tensor)}
