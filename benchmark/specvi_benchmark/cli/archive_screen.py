"""Score every spectrum of an archive by weak classifiers, on this machine or a Ray cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.archive.screen import Engine, ScreenReport

app = typer.Typer(add_completion=False)


@app.command()
def archive_screen(
    archive: Annotated[Path, typer.Argument(help="Folder of the archive.")],
    out: Annotated[Path, typer.Option(help="Folder to write scores and candidates to.")],
    recipe: Annotated[
        str | None, typer.Option(help="Recipe whose classes and settings the classifiers learn by.")
    ] = None,
    classifiers: Annotated[
        Path | None,
        typer.Option(help="Folder of an earlier screening, whose classifiers judge; no labels needed."),
    ] = None,
    survey: Annotated[str, typer.Option(help="Survey to screen, with --classifiers.")] = "lamost",
    engine: Annotated[str, typer.Option(help="local or ray.")] = "local",
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster. Default: a Ray on this machine.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many work at once. Default: one a processor.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Measure features, train or take classifiers, score every spectrum. Goes on where a stopped one ended."""
    import json
    from dataclasses import asdict

    from specvi_benchmark.archive.screen import ENGINES, apply_classifiers, screen_archive
    from specvi_benchmark.archive.screen import engine as start
    from specvi_benchmark.archive.source import StoredArchive
    from specvi_benchmark.cli.split import building
    from specvi_benchmark.splits.recipe import load_recipe, open_archive
    from specvi_benchmark.splits.workers import processors

    if engine not in ENGINES:
        raise UserError("no such engine", where="--engine", expected=" or ".join(ENGINES), got=engine)
    if (recipe is None) == (classifiers is None):
        raise UserError(
            "classifiers come from a recipe or from an earlier screening",
            expected="--recipe RECIPE, or --classifiers FOLDER",
            got="both" if recipe else "neither",
        )
    count = processes or processors()
    chosen: Engine = "ray" if engine == "ray" else "local"
    with start(chosen, processes=count, address=address) as pool, building() as report:
        if recipe is not None:
            wanted = load_recipe(recipe)
            opened = open_archive(wanted, archive)
            assert isinstance(opened, StoredArchive)
            done = screen_archive(opened, wanted, out, pool, report)
        else:
            assert classifiers is not None
            done = apply_classifiers(StoredArchive.open(archive, survey), classifiers, out, pool, report)
    if json_:
        typer.echo(json.dumps(asdict(done), indent=2))
        return
    for line in _sentences(done):
        typer.echo(line)
    typer.echo(f"Wrote {out / 'scores.parquet'} and {out / 'candidates.csv'}")
    if recipe is not None:
        typer.echo(f"Next: specvi split build {recipe} --archive {archive} --out FOLDER")


def _sentences(done: "ScreenReport") -> list[str]:
    rate = f", {done.new / done.features_s:,.0f} a second" if done.new else ""
    lines = [
        f"{done.spectra:,} spectra: features of {done.new:,} measured in {done.features_s:,.1f} s{rate}",
        f"classifiers and scores: {done.scores_s:,.1f} s",
    ]
    lines += [
        f"{task}: {done.accepted[task]:,} above the threshold, {number:,} of them not known as the class"
        for task, number in done.candidates.items()
    ]
    return lines
