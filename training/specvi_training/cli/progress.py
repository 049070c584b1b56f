"""How a training tells of itself on the terminal: one line for each line of its log."""

from collections.abc import Mapping
from typing import Any

import typer

_TOLD = (
    "loss",
    "reward",
    "rollout/correct",
    "rollout/format",
    "rollout/calls",
    "rollout/drawing_share",
    "learning_rate",
)


def without_bars() -> None:
    """Leave out the bars of transformers, of which there is one for every checkpoint."""
    from transformers.utils.logging import disable_progress_bar  # slow to import

    disable_progress_bar()


def on_lines(line: Mapping[str, Any]) -> None:
    """Print a line of the log."""
    place = f"step {line['step']}/{line['of']}"
    if dev := line.get("dev"):
        told = ", ".join(f"{name} {value:.3f}" for name, value in dev.items())
        typer.echo(f"{place}  on dev: {told}")
        return
    told = ", ".join(f"{name.removeprefix('rollout/')} {line[name]:.4g}" for name in _TOLD if name in line)
    if told:
        typer.echo(f"{place}  {told}")
