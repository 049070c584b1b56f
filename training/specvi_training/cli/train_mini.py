"""Run the whole recipe in miniature on two CPU cores: trajectories, SFT, GRPO, the ablation and its table."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def mini(
    out: Annotated[Path, typer.Option(help="Folder of everything it makes; the same one goes on.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes: shows that everything runs, and nothing else.")
    ] = False,
) -> None:
    """Teach a tiny model from scripted inspections, reward it, and score every arm on candidates it never saw."""
    from specvi_training.ablate.config import AblateConfig
    from specvi_training.ablate.run import TABLE_FILE, ablate
    from specvi_training.ablate.table import markdown
    from specvi_training.config import load_config

    chosen = load_config("ablate_quick" if quick else "ablate_mini", AblateConfig)
    found = ablate(chosen, out, typer.echo)
    typer.echo(f"\n{markdown(found)}\n{chosen.note}")
    typer.echo(f"Wrote {out / TABLE_FILE}")
    typer.echo(f"Next: specvi trace {out}/trainings/tool/seed-0/sft-rl/rollouts")
