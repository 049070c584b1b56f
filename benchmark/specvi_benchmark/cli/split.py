"""Build, check, show, import, export, refresh, seal and publish splits."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.cli.split_printing import argument, end, print_counts

if TYPE_CHECKING:
    from rich.console import Console

    from specvi_benchmark.splits.screening import Report
    from specvi_benchmark.splits.split import Split

app = typer.Typer(no_args_is_help=True)

_Name = Annotated[
    str, typer.Argument(metavar="SPLIT", help="Split folder, official parquet file or folder, or mini.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command()
def build(
    recipe: Annotated[
        str, typer.Argument(help="Recipe file (YAML), or mini or mini-small (SpecVI-Mini, simulated).")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write. Default: the cache for mini, where it is found by name."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many work at once. Default: one a processor.")
    ] = None,
    archive: Annotated[
        Path | None, typer.Option(help="Folder of an ingested archive to take the spectra from.")
    ] = None,
    scale: Annotated[
        float, typer.Option(min=0.001, help="Archive and counts times this: a trial of a large recipe.")
    ] = 1.0,
) -> None:
    """Build a split by a recipe. The same command goes on where a stopped build ended.

    The result depends on the recipe alone: not on processes, kills or what was built before.
    """
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.splits.build import build_split
    from specvi_benchmark.splits.io import check_free, read_split, write_split
    from specvi_benchmark.splits.named import NAMED, named_folder
    from specvi_benchmark.splits.recipe import load_recipe, open_archive
    from specvi_benchmark.splits.workers import processors

    chosen = load_recipe(recipe)
    if out is None and (recipe not in NAMED or scale != 1 or archive is not None):
        raise UserError("no folder to write to", where="--out", expected="--out FOLDER", got="nothing")
    with building() as report:
        if out is None:
            folder = named_folder(recipe, report=report, processes=processes)
        else:
            folder = out
            check_free(out)
            wanted = chosen if scale == 1 else chosen.scaled(scale, scale)
            source = open_archive(wanted, archive)
            work = None if archive is None else archive / "screened"
            built = build_split(
                wanted, archive=source, work=work, processes=processes or processors(), report=report
            )
            write_split(built, out)
    split = read_split(folder)
    print_counts(split)
    _print_report(split)
    end(folder, f"specvi run --vetter rules --split {argument(out) if out else recipe}")


@app.command()
def verify(split: _Name, json_: _Json = False) -> None:
    """Check a split from its files: fingerprint, counts, balance, objects and near-duplicates apart, leaks."""
    import json

    from rich.console import Console

    from specvi_benchmark.splits.named import NAMED, find_split
    from specvi_benchmark.splits.verify import require, verify_split

    found = find_split(split)  # compares the files with split.json and refuses doubled ids
    checks = verify_split(found)
    if json_:
        findings = [
            {"name": check.name, "holds": check.holds, "warns": check.warns, "detail": check.detail}
            for check in checks
        ]
        typer.echo(json.dumps({"fingerprint": found.fingerprint, "checks": findings}, indent=2))
    else:
        console = Console(soft_wrap=True, highlight=False)
        stated = split in NAMED or (Path(split) / "split.json").exists()
        console.print(f"{found.name} {found.version}: {len(found.candidates)} candidates with unique ids")
        console.print(f"fingerprint {found.fingerprint}")
        console.print("holds  as split.json says" if stated else "no split.json: nothing to compare it with")
        for check in checks:
            console.print(f"{check.verdict}  {check.name}: {check.detail}", markup=False)
    require(checks, split)
    if not json_:
        typer.echo(f"Next: specvi split show {shlex.quote(split)}")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="Split folder, or mini.")],
    after: Annotated[str, typer.Argument(help="Another split.")],
    json_: _Json = False,
) -> None:
    """Say what changed between two splits: candidates, truths, parts, spectra, recipe."""
    from rich.console import Console

    from specvi_benchmark.cli.split_tables import difference_lines
    from specvi_benchmark.splits.difference import compare_splits
    from specvi_benchmark.splits.named import find_split

    found = compare_splits(find_split(before), find_split(after))
    if json_:
        typer.echo(found.model_dump_json(indent=2))
        return
    console = Console(soft_wrap=True, highlight=False)
    for line in difference_lines(found):
        console.print(line, markup=False)


@app.command()
def show(split: _Name, json_: _Json = False) -> None:
    """Show what is in a split, by part, task and truth."""
    import json

    from specvi_benchmark.splits.manifest import count
    from specvi_benchmark.splits.named import find_split

    found = find_split(split)
    if json_:
        record = {
            "name": found.name,
            "version": found.version,
            "fingerprint": found.fingerprint,
            "counts": count(found.candidates),
            "recipe": found.recipe,
        }
        typer.echo(json.dumps(record, indent=2, ensure_ascii=False))
        return
    print_counts(found)
    typer.echo(f"Next: specvi run --vetter rules --split {shlex.quote(split)}")


@contextmanager
def building(console: "Console | None" = None) -> Iterator["Report"]:
    """Give a report that shows each stage of a build as a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console or Console(stderr=True), transient=True) as progress:
        lines: dict[str, TaskID] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in lines:
                lines[step] = progress.add_task(step, total=total)
            progress.update(lines[step], completed=done)

        yield report


def _print_report(split: "Split") -> None:
    from rich.console import Console

    from specvi_benchmark.cli.split_tables import report_tables

    console = Console(highlight=False)
    for table in report_tables(split.report):
        console.print(table)
