"""Build, check, show, import and export splits."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from specvi_benchmark.splits.manifest import Counts
    from specvi_benchmark.splits.screening import Report
    from specvi_benchmark.splits.split import Candidate, Split

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
    _print_counts(split)
    _print_report(split)
    _end(folder, f"specvi run --vetter rules --split {_argument(out) if out else recipe}")


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
    _print_counts(found)
    typer.echo(f"Next: specvi run --vetter rules --split {shlex.quote(split)}")


@app.command()
def export(
    split: _Name,
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    pictures: Annotated[
        bool, typer.Option(help="Put a picture of the whole spectrum into every row.")
    ] = False,
    official_names: Annotated[
        bool, typer.Option("--official-names", help="Name the files as the published ones: test_cc, test_gm.")
    ] = False,
) -> None:
    """Write a split for other programs: the official schema, whole prompts, pictures if asked for."""
    from specvi_benchmark.splits.io import write_split
    from specvi_benchmark.splits.named import find_split

    found = find_split(split)
    if pictures:
        with _drawing(len(found.candidates)) as draw:
            write_split(found, out, picture=draw, official_names=official_names)
    else:
        write_split(found, out, official_names=official_names)
    _end(out, f"specvi split verify {_argument(out)}")


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(help="Official parquet file, or a folder of them.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the split. Default: that of the file or folder.")
    ] = None,
    version: Annotated[str, typer.Option(help="Its version, for example the revision on the Hub.")] = "0",
) -> None:
    """Make a split folder of official parquet files, with fingerprint and object ids."""
    from specvi_benchmark.files import sha256_file
    from specvi_benchmark.splits import Split
    from specvi_benchmark.splits.io import read_split, write_split

    found = read_split(source)
    files = [source] if source.is_file() else sorted(source.glob("*.parquet"))
    recipe = {
        **found.recipe,
        "sha256": {file.name: sha256_file(file) for file in files},
    }
    split = Split(name or found.name, version, found.candidates, recipe)
    write_split(split, out)
    _print_counts(split)
    if left_out := recipe.get("columns_left_out"):
        typer.echo(f"Left out, not in the schema: {', '.join(left_out)}")
    _end(out, f"specvi split verify {_argument(out)}")


@contextmanager
def _drawing(number: int) -> Iterator["Callable[[Candidate], bytes]"]:
    """Give the function that draws a candidate's picture, and show how far it has come."""
    from rich.console import Console
    from rich.progress import Progress

    from specvi_benchmark.splits.pictures import full_view

    with Progress(console=Console(stderr=True), transient=True) as progress:
        line = progress.add_task("Drawing pictures", total=number)

        def draw(candidate: "Candidate") -> bytes:
            png = full_view(candidate)
            progress.advance(line)
            return png

        yield draw


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


def _print_counts(split: "Split") -> None:
    from rich.console import Console
    from rich.table import Table

    from specvi_benchmark.splits.manifest import count

    simulated = any(candidate.object_id_source == "simulated" for candidate in split.candidates)
    title = f"{split.name} {split.version}" + (" — simulated spectra" if simulated else "")
    table = Table("part", "task", title=title)
    for heading in ("YES", "NO", "all", "YES share"):
        table.add_column(heading, justify="right")
    for row in _rows(count(split.candidates)):
        table.add_row(*row)
    console = Console()
    console.print(table)
    console.print(f"fingerprint {split.fingerprint}", soft_wrap=True)


def _rows(counts: "Counts") -> Iterator[tuple[str, ...]]:
    for part, tasks in counts.items():
        for task, truths in tasks.items():
            yes, whole = truths["YES"], sum(truths.values())
            yield part, task, str(yes), str(whole - yes), str(whole), f"{yes / whole:.0%}"


def _argument(path: Path) -> str:
    """Return a path as a shell takes it, and as no command takes it for an option or a split's name."""
    from specvi_benchmark.splits.named import NAMED

    text = str(path)
    return shlex.quote(f"./{text}" if text in NAMED or text.startswith("-") else text)


def _end(folder: Path, following: str) -> None:
    typer.echo(f"Wrote {folder}")
    typer.echo(f"Next: {following}")
