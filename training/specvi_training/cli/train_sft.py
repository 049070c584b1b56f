"""Fine-tune a model on trajectories (SFT): checkpoints, resume, early stop on dev."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def sft(
    config: Annotated[str, typer.Argument(help="A YAML file, or a shipped one by name: sft_3b, sft_mini, …")],
    out: Annotated[Path, typer.Option(help="Folder of the training; the same one goes on.")],
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Another value: KEY=VALUE, as in --set seed=3.")
    ] = None,
) -> None:
    """Fine-tune a model on trajectories. Type the command again after a kill: it goes on."""
    from specvi_training.cli.progress import on_lines, without_bars
    from specvi_training.config import load_config, read_overrides
    from specvi_training.sft.config import SftConfig
    from specvi_training.sft.train import train

    without_bars()
    chosen = load_config(config, SftConfig, read_overrides(setting or []))
    record = train(chosen, out, on_lines)
    outcome = dict(record.outcome or {})
    typer.echo(f"Trained {outcome.get('trained_weights'):,} of {outcome.get('weights'):,} weights")
    typer.echo(f"Wrote {out / 'model'}")
    options = " ".join(f"--option {key}={value}" for key, value in sorted(chosen.inspection.items()))
    vetter = shlex.quote(f"transformers:{out / 'model'}")
    typer.echo(f"Next: specvi run --vetter {vetter} {options} --split mini --out runs/NAME")
