"""Check that an opened split is the one whose commitment was published before."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command("open")
def open_(
    commitment: Annotated[Path, typer.Argument(help="The commitment, as it was published.")],
    split: Annotated[str, typer.Argument(metavar="SPLIT", help="The split with its labels.")],
    secret: Annotated[Path, typer.Argument(help="The secret, published with the labels.")],
) -> None:
    """Compare questions and labels with the hashes that were published first; exit code 2 if they differ."""
    from specvi_benchmark.splits.named import find_split
    from specvi_benchmark.splits.seal import read_commitment, read_secret, verify_seal

    known = read_commitment(commitment)
    found = find_split(split)
    verify_seal(known, found, read_secret(secret))
    typer.echo(
        f"{known.name} {known.version}: {len(found.candidates)} candidates, labels and questions as sealed"
    )
    typer.echo(f"Next: specvi score PREDICTIONS --split {shlex.quote(split)}")
