"""Write what an archive holds as a catalogue: ids, positions, claims; to match others with."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def archive_list(
    archive: Annotated[Path, typer.Argument(help="Folder of the archive.")],
    out: Annotated[Path, typer.Option(help="File to write: .parquet or .csv.")],
) -> None:
    """Write a row for each spectrum, with column names that `specvi archive match` knows."""
    from specvi_benchmark.archive.labelling import write_list

    rows = write_list(archive, out)
    typer.echo(f"Wrote {out}: {rows} spectra")
    typer.echo(
        f"Next: specvi archive match CATALOGUE {shlex.quote(str(out))} --known-as CLASS --out pairs.csv"
    )
