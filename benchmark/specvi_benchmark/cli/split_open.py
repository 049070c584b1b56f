"""Check that an opened split is the one whose commitment was published before, or that its questions are."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command("open")
def open_(
    commitment: Annotated[Path, typer.Argument(help="The commitment, as it was published.")],
    split: Annotated[
        str | None, typer.Argument(metavar="SPLIT", help="The split with its labels, once it is published.")
    ] = None,
    secret: Annotated[Path | None, typer.Argument(help="The secret, published with the labels.")] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Folder of the published questions: needs neither labels nor secret.")
    ] = None,
) -> None:
    """Compare questions and labels with the hashes that were published first; exit code 2 if they differ."""
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.splits.named import find_split
    from specvi_benchmark.splits.seal import read_commitment, read_secret, verify_questions, verify_seal

    if (split is None) != (secret is None) or (split is None and questions is None):
        raise UserError(
            "nothing to compare with the commitment",
            expected="the split with its secret, or --questions FOLDER, or both",
            got="one without the other" if split is not None else "neither",
        )
    known = read_commitment(commitment)
    if questions is not None:
        verify_questions(known, questions)
        typer.echo(f"{known.name} {known.version}: questions as sealed")
    if split is not None and secret is not None:
        found = find_split(split)
        verify_seal(known, found, read_secret(secret))
        typer.echo(
            f"{known.name} {known.version}: {len(found.candidates)} candidates, labels and questions as sealed"
        )
        typer.echo(f"Next: specvi score PREDICTIONS --split {shlex.quote(split)}")
