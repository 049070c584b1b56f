"""Give an archive's spectra their labels from catalogue tables, by rules with citations and label traps."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def know(
    archive: Annotated[Path, typer.Argument(help="Folder of the archive.")],
    tables: Annotated[Path, typer.Argument(help="Folder of catalogue tables.")],
    rules: Annotated[
        Path | None, typer.Option(help="Rules file. Default: the shipped ones, known-objects.")
    ] = None,
    name: Annotated[
        str, typer.Option(help="Name of the set of labels, as a recipe's source names it.")
    ] = "known-objects",
    without: Annotated[
        list[str] | None, typer.Option(help="A catalogue that may be lacking. May be repeated.")
    ] = None,
    ordinary: Annotated[
        Path | None,
        typer.Option(help="Table of the spectra that are there by the survey's own odds. Default: all are."),
    ] = None,
) -> None:
    """Match the tables with the archive by obsid or file, Gaia id, then 3″, and write what is known of each object."""
    from specvi_benchmark.archive.known.label import label_by_catalogues
    from specvi_benchmark.archive.known.rules import load_rules
    from specvi_benchmark.errors import UserError

    if not tables.is_dir():
        raise UserError("no such folder", where=tables, expected="a folder of catalogue tables")
    done = label_by_catalogues(
        archive, tables, load_rules(rules), name, without=without or (), ordinary=ordinary
    )
    for key, (matched, rows) in done.matched.items():
        note = f", {done.unclassed[key]} of no class" if done.unclassed.get(key) else ""
        typer.echo(f"{key}: {matched} of {rows} rows are in the archive{note}")
    for line in done.remarks:
        typer.echo(line)
    if done.without:
        typer.echo(f"Without: {', '.join(done.without)}")
    for what, number in done.doubtful.items():
        typer.echo(f"{number} objects are doubtful as {what}")
    for what, number in done.undecidable.items():
        typer.echo(f"{number} spectra can't be decided: {what}")
    typer.echo(
        f"{done.labels.labelled} of {done.labels.spectra} spectra labelled; {done.labels.objects} objects"
    )
    typer.echo(f"Wrote {archive / 'labels' / name}")
