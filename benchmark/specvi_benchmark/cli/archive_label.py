"""Give an archive's spectra their labels from a table of ids and classes."""

from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.errors import UserError, examples

app = typer.Typer(add_completion=False)


@app.command()
def archive_label(
    archive: Annotated[Path, typer.Argument(help="Folder of the archive.")],
    tables: Annotated[
        list[Path],
        typer.Argument(
            help="CSV or parquet: id, known_as (parted by ;); if wanted evidence, decidable, random, gaia_id."
        ),
    ],
    name: Annotated[str, typer.Option(help="Name of the set of labels, as a recipe's source names it.")],
    source: Annotated[str, typer.Option(help="Where the labels come from: catalogues, with citations.")],
) -> None:
    """Write a set of labels for every spectrum; those of one object (Gaia id, else 3″) share their classes."""
    import re

    from specvi_benchmark.archive.labelling import label_archive, read_known, together

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise UserError(
            "no name for a set of labels", where="--name", expected="letters, digits, . _ -", got=name
        )
    done = label_archive(archive, name, source, together(map(read_known, tables)))
    typer.echo(f"{done.labelled} of {done.spectra} spectra labelled; {done.objects} objects")
    if done.not_there:
        typer.echo(
            f"{len(done.not_there)} ids of the tables are not in the archive: {examples(done.not_there)}"
        )
    typer.echo(f"Wrote {archive / 'labels' / name}")
