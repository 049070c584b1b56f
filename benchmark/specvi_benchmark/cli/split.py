"""Build, check, show, import and export splits."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from specvi_benchmark.splits.manifest import Counts
    from specvi_benchmark.splits.split import Candidate, Split

app = typer.Typer(no_args_is_help=True)

_Name = Annotated[
    str, typer.Argument(metavar="SPLIT", help="Split folder, official parquet file or folder, or mini.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command()
def build(
    recipe: Annotated[str, typer.Argument(help="What to build: mini (SpecVI-Mini, simulated).")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write. Default: the cache, where `mini` is found.")
    ] = None,
) -> None:
    """Build a split. SpecVI-Mini is simulated: no network is needed, and no real spectrum is in it."""
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.splits.io import mini_folder, read_split, write_split
    from specvi_benchmark.splits.mini import build_mini

    if recipe != "mini":
        raise UserError("no such recipe", where="RECIPE", expected="mini", got=recipe)
    folder = out or mini_folder()
    if out:
        write_split(build_mini(), out)
    split = read_split(folder)
    _print_counts(split)
    _end(folder, f"specvi run --vetter rules --split {_argument(out) if out else 'mini'}")


@app.command()
def verify(split: _Name, json_: _Json = False) -> None:
    """Check a split from its files: fingerprint, counts, ids, objects apart, truths."""
    import json

    from rich.console import Console

    from specvi_benchmark.splits.io import find_split
    from specvi_benchmark.splits.verify import require, verify_split

    found = find_split(split)  # compares the files with split.json and refuses doubled ids
    checks = verify_split(found)
    if json_:
        findings = [{"name": check.name, "holds": check.holds, "detail": check.detail} for check in checks]
        typer.echo(json.dumps({"fingerprint": found.fingerprint, "checks": findings}, indent=2))
    else:
        console = Console(soft_wrap=True)
        stated = split == "mini" or (Path(split) / "split.json").exists()
        console.print(f"{found.name} {found.version}: {len(found.candidates)} candidates with unique ids")
        console.print(f"fingerprint {found.fingerprint}")
        console.print("holds  as split.json says" if stated else "no split.json: nothing to compare it with")
        for check in checks:
            console.print(
                f"{'holds' if check.holds else 'FAILS'}  {check.name}: {check.detail}", markup=False
            )
    require(checks, split)
    if not json_:
        typer.echo(f"Next: specvi split show {shlex.quote(split)}")


@app.command()
def show(split: _Name, json_: _Json = False) -> None:
    """Show what is in a split, by part, task and truth."""
    import json

    from specvi_benchmark.splits.io import find_split
    from specvi_benchmark.splits.manifest import count

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
    from specvi_benchmark.splits.io import find_split, write_split

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
    from specvi_benchmark.splits.io import NAMED

    text = str(path)
    return shlex.quote(f"./{text}" if text in NAMED or text.startswith("-") else text)


def _end(folder: Path, following: str) -> None:
    typer.echo(f"Wrote {folder}")
    typer.echo(f"Next: {following}")
