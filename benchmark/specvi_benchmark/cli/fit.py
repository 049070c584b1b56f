"""Train a vetter on a split, for runs over others."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def fit(
    vetter: Annotated[str, typer.Argument(help="Vetter that can be trained, for example metadata-only.")],
    train: Annotated[str, typer.Option(help="Split whose train part is learnt from (and dev, for choices).")],
    out: Annotated[Path, typer.Option(help="Folder of the trained vetter.")],
    option: Annotated[
        list[str] | None, typer.Option(help="A vetter option, KEY=VALUE. May be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the training.")] = 0,
) -> None:
    """Train VETTER on the train part of a split. A finished folder of the same training is taken as it is."""
    from specvi_benchmark.cli.run import options
    from specvi_benchmark.runs import fitting

    spec = fitting.fit(vetter, train, out, options=options(option or []), seed=seed)
    record = fitting.read_fit_record(out)
    typer.echo(f"Trained on {record.train}, fingerprint {record.train_fingerprint[:12]}…")
    typer.echo(f"Wrote {out}")
    typer.echo(f"Next: specvi run --vetter {shlex.quote(spec)} --split {shlex.quote(train)}")
