"""Train the agent: trajectories to SFT to GRPO."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:
    """Train the agent: trajectories to SFT to GRPO. Needs the extra [train]."""


@app.command()
def configs(
    name: Annotated[str | None, typer.Argument(help="Print this one.")] = None,
    copy: Annotated[
        Path | None, typer.Option(help="Write all of them, and launch/, into this folder.")
    ] = None,
) -> None:
    """List the shipped configurations, print one, or write copies to change."""
    from specvi_training.config import config_names, copy_configs, find_config

    if name is not None:
        typer.echo(find_config(name).read_text(encoding="utf-8"), nl=False)
        return
    if copy is not None:
        for path in copy_configs(copy):
            typer.echo(f"Wrote {path}")
        return
    for known in config_names():
        first = find_config(known).read_text(encoding="utf-8").split("\n", 1)[0]
        typer.echo(f"{known:18} {first.removeprefix('# ')}")
    typer.echo("Next: specvi train configs NAME, or specvi train configs --copy FOLDER")
