"""Commit to a split's labels before anyone sees them: a hash to publish, a secret to keep."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def seal(
    split: Annotated[str, typer.Argument(metavar="SPLIT", help="Split folder that stays with you.")],
    out: Annotated[Path, typer.Option(help="Commitment to publish, a JSON file.")],
    secret: Annotated[Path, typer.Option(help="Secret to keep until the labels are opened, a JSON file.")],
    questions: Annotated[
        Path | None,
        typer.Option(help="Folder for the questions without labels, to publish with the commitment."),
    ] = None,
) -> None:
    """Write the salted SHA-256 of a split's labels, and the salt beside it in a file of its own."""
    from specvi_benchmark.splits.io import check_free
    from specvi_benchmark.splits.named import find_split
    from specvi_benchmark.splits.seal import write_sealed

    if questions is not None:
        check_free(questions)
    chosen = find_split(split)
    found = write_sealed(chosen, out, secret, questions)
    typer.echo(f"labels    {found.labels}\nquestions {found.questions}")
    typer.echo(
        f"Publish {out} now. Keep {secret} and the split; without the secret the seal can't be opened."
    )
    typer.echo(f"Next: specvi split open {shlex.join([str(out), split, str(secret)])}")
