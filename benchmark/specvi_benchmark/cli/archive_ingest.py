"""Bring files of spectra, or a simulated sky, into an archive: each once, bad ones listed."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.archive.ingest import IngestReport

app = typer.Typer(add_completion=False)

SIMULATED = "simulated:"


@app.command()
def archive_ingest(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Folders, lists (a path a line), files; or simulated:RECIPE, such as simulated:mini."
        ),
    ],
    into: Annotated[Path, typer.Option(help="Folder of the archive; made where it is not there.")],
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many work at once. Default: one a processor.")
    ] = None,
    medium: Annotated[
        str | None, typer.Option(help="air or vacuum: wavelengths of files that don't say it.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Open files again that were refused.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Read files into shards. The same command goes on where a stopped one ended, and adds what is new."""
    import json
    from dataclasses import asdict

    from specvi_benchmark.splits.workers import processors

    if medium not in {None, "air", "vacuum"}:
        raise UserError("no such medium", where="--medium", expected="air or vacuum", got=medium)
    count = processes or processors()
    with _progress() as show:
        report = _ingest(sources, into, count, medium, retry, show)
    if json_:
        typer.echo(json.dumps(asdict(report), indent=2))
        return
    for line in _sentences(report):
        typer.echo(line)
    if report.refused or report.left_out or report.repeated:
        typer.echo(f"Each with its reason: {into / 'refused.csv'}")
    typer.echo(f"Wrote {into}")
    simulated = sources[0].startswith(SIMULATED)  # it has its labels
    following = "screen {} --recipe RECIPE --out FOLDER" if simulated else "list {} --out list.parquet"
    typer.echo(f"Next: specvi archive {following.format(shlex.quote(str(into)))}")


def _ingest(
    sources: list[str],
    into: Path,
    processes: int,
    medium: str | None,
    retry: bool,
    show: Callable[[int, int], None],
) -> "IngestReport":
    from specvi_benchmark.archive.ingest import ingest
    from specvi_benchmark.archive.ingest.simulated import ingest_simulated
    from specvi_benchmark.splits.recipe import load_recipe, open_archive
    from specvi_benchmark.splits.simulated import SimulatedArchive

    simulated = [source for source in sources if source.startswith(SIMULATED)]
    if not simulated:
        return ingest(
            map(Path, sources),
            into,
            processes=processes,
            medium=medium,  # type: ignore[arg-type]  # checked above
            retry=retry,
            progress=show,
        )
    if len(sources) > 1:
        raise UserError(
            "simulated and other spectra are kept apart",
            where="SOURCES",
            expected="one simulated:RECIPE, or files",
            got=", ".join(sources),
            fix="ingest them into archives of their own",
        )
    sky = open_archive(load_recipe(simulated[0].removeprefix(SIMULATED)))
    if not isinstance(sky, SimulatedArchive):
        raise UserError("the recipe simulates nothing", where=simulated[0], expected="archive: simulated")
    return ingest_simulated(sky, into, processes=processes, progress=show)


def _sentences(report: "IngestReport") -> list[str]:
    lines = [f"{report.files} files looked at, {report.known} known from before"]
    lines.append(f"{report.spectra} spectra entered; {report.in_archive} in the archive")
    for count, said in (
        (sum(report.refused.values()), "files refused"),
        (report.left_out, "rows of good files left out"),
        (report.repeated, "spectra that were there already"),
        (report.renamed, "other spectra of an id that was taken, kept under the id and a checksum"),
        (report.rounded, "spectra given in more digits than float32, rounded"),
    ):
        if count:
            lines.append(f"{count} {said}")
            if said == "files refused":
                lines += [f"  {number} × {reason}" for reason, number in report.refused.most_common(10)]
    return lines


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        line = progress.add_task("Ingesting")

        def show(files: int, spectra: int) -> None:
            progress.update(
                line, description=f"Ingesting: {files} files looked at, {spectra} spectra entered"
            )

        yield show
