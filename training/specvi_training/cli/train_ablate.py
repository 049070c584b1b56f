"""Train and score every arm of an ablation: base, SFT, RL, both; with and without the tool; one table."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def ablate(
    config: Annotated[
        str, typer.Argument(help="A YAML file, or a shipped one by name: ablate_3b, ablate_mini.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the ablation; the same one goes on.")],
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Another value: KEY=VALUE, as in --set seeds=[0].")
    ] = None,
) -> None:
    """Train and score every arm, and write one table. Type the command again after a kill: it goes on."""
    from specvi_training.ablate.config import AblateConfig
    from specvi_training.ablate.run import TABLE_FILE, ablate
    from specvi_training.ablate.table import markdown
    from specvi_training.config import load_config, read_overrides

    chosen = load_config(config, AblateConfig, read_overrides(setting or []))
    found = ablate(chosen, out, typer.echo)
    typer.echo(f"\n{markdown(found)}")
    if chosen.note:
        typer.echo(chosen.note)
    typer.echo(f"Wrote {out / TABLE_FILE}")
