"""Measure what reading survey files costs, against bare astropy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from specvi_benchmark.surveys.cost import Cost

app = typer.Typer(add_completion=False)


@app.command()
def bench_read(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files, or folders of files. Default: files made up here.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Timed turns for each file.")] = 15,
    targets: Annotated[int, typer.Option(min=1, help="Spectra in the DESI file that is made up.")] = 500,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Read each file in turns with this suite and with astropy (open, copy the same arrays)."""
    import json
    import tempfile
    from dataclasses import asdict

    from rich.console import Console

    from specvi_benchmark.surveys.cost import measure
    from specvi_benchmark.surveys.sample_files import WRITERS, desi_spectra

    with tempfile.TemporaryDirectory() as folder:
        if paths:
            files = _files(paths)
        else:
            files = [Path(folder) / f"{name}.fits" for name in WRITERS]
            for (name, write), path in zip(WRITERS.items(), files, strict=True):
                if name == "desi-spectra":
                    desi_spectra(path, targets=targets)
                else:
                    write(path)
        costs, refused = measure(files, rounds)
    if not costs:
        raise UserError("nothing to measure", expected="at least one file that can be read", got=len(refused))
    if json_:
        typer.echo(json.dumps({"rounds": rounds, "costs": [asdict(cost) for cost in costs]}, indent=2))
        return
    Console().print(_table(costs))
    if refused:
        typer.echo(f"{len(refused)} files hold no spectra, or are refused")


def _files(paths: list[Path]) -> list[Path]:
    """Return files and the files of folders, sorted."""
    found = []
    for path in paths:
        if not path.exists():
            raise UserError("no such file or folder", where=path, fix="check the path")
        found += sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return found


def _table(costs: "list[Cost]") -> "Table":
    from rich.table import Table

    from specvi_benchmark.surveys.cost import MOST_RATIO

    title = "Reading: path to checked spectra, against astropy's open and copy"
    table = Table(title=title, caption=f"ratio: median over the turns; at most {MOST_RATIO:g} is the aim")
    for column in ("format", "files", "spectra", "ms a file", "astropy ms", "ratio"):
        table.add_column(column, justify="left" if column == "format" else "right")
    for cost in costs:
        bare = "–" if cost.bare_ms is None else f"{cost.bare_ms:.2f}"
        ratio = "–" if cost.ratio is None else f"{cost.ratio:.2f}"
        table.add_row(cost.format, str(cost.files), str(cost.spectra), f"{cost.ours_ms:.2f}", bare, ratio)
    return table
