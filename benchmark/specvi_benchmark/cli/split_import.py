"""Import official files or a dataset of the Hub: row counts, spellings, duplicates, nothing lost."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.cli.split_printing import argument, end, print_counts

if TYPE_CHECKING:
    from rich.console import Console

    from specvi_benchmark.splits.duplicates import Shared
    from specvi_benchmark.splits.importing import Imported

app = typer.Typer()

SHOWN = 10


@app.command()
def import_(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="hf:OWNER/NAME (hf:Maxwell-Jia/SpecVI-Bench), official parquet files, or a folder of them.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the split. Default: that of the dataset, file or folder.")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="Its version. Default: the commit on the Hub, 0 for files.")
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(
            help="Branch, tag or commit on the Hub. Default: pinned for the published set, else main."
        ),
    ] = None,
    cold_start: Annotated[
        str | None,
        typer.Option(
            help="Released trajectories to compare with: hf:Maxwell-Jia/Spec-o3-ColdStartSFT or a file."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse files that are not as published.")] = False,
) -> None:
    """Make a split folder of official files, with fingerprint and object ids, and say what they hold."""
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.hub.download import PREFIX, fetch_dataset
    from specvi_benchmark.splits.importing import (
        check_lossless,
        import_files,
        require_published,
        split_folder,
    )
    from specvi_benchmark.splits.io import check_free, new_folder, write_files
    from specvi_benchmark.splits.official import HUB_ID, PINNED

    check_free(out)
    known = _cold_start(cold_start) if cold_start else None
    if any(source.startswith(PREFIX) for source in sources):
        if len(sources) > 1:
            raise UserError("a dataset of the Hub is imported by itself", got=" ".join(sources))
        fetched = fetch_dataset(sources[0], revision)
        files, named, release = fetched.files, fetched.repo_id.split("/")[-1], fetched.revision
        origin = {"hub": fetched.repo_id, "revision": fetched.revision}
        strict = strict or (fetched.repo_id == HUB_ID and fetched.revision == PINNED[HUB_ID])
    else:
        files, named, release, origin = _local(sources), _name_of(sources), "0", {}
    if not files:
        raise UserError(
            "no parquet file in it", where=" ".join(sources), expected="train_cc.parquet and the like"
        )
    described = split_folder(files) is not None  # a split of the suite knows its name and version
    imported = import_files(
        files,
        name=name or (None if described else named),
        version=version or (None if described else release),
        origin=origin,
        cold_start=known,
    )
    if strict:
        require_published(imported)
    with new_folder(out) as folder:  # which appears if nothing was lost
        written = write_files(imported.split, folder, picture=None, official_names=False)
        compared, mixed = check_lossless(files, folder, written)
    _tell(imported, compared, mixed, compared_with_cold_start=known is not None)
    end(out, f"specvi split verify {argument(out)}")


def _local(sources: list[str]) -> tuple[Path, ...]:
    """Return the parquet files that are named, and those in the folders that are named, by file name."""
    from specvi_benchmark.errors import UserError

    found: list[Path] = []
    for source in sources:
        path = Path(source)
        if not path.exists():
            raise UserError(
                "no such file or folder",
                where=source,
                expected="hf:OWNER/NAME, parquet files, or a folder of them",
            )
        found += path.rglob("*.parquet") if path.is_dir() else [path]
    return tuple(sorted(found, key=lambda item: item.name))


def _name_of(sources: list[str]) -> str:
    path = Path(sources[0]).resolve()
    if len(sources) > 1:
        return path.parent.name
    return path.stem if path.is_file() else path.name


def _cold_start(source: str) -> list[str]:
    from specvi_benchmark.hub.download import PREFIX, fetch_dataset
    from specvi_benchmark.splits.importing import cold_start_names

    folder = fetch_dataset(source).folder if source.startswith(PREFIX) else Path(source)
    if folder.is_file():
        return cold_start_names([folder])
    kinds = (".parquet", ".json", ".jsonl")
    return cold_start_names(sorted(path for path in folder.rglob("*") if path.suffix in kinds))


def _tell(
    imported: "Imported", compared: list[str], mixed: list[str], *, compared_with_cold_start: bool
) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    print_counts(imported.split)
    _print_files(imported, console)
    if imported.columns_left_out:
        console.print(f"Left out, not in the schema: {', '.join(imported.columns_left_out)}", markup=False)
    console.print(f"Lossless: {len(compared)} files compared value by value with what was written")
    if mixed:
        console.print(
            f"Not compared (rows parted or joined, or files of the suite): {', '.join(mixed)}", markup=False
        )
    _print_shared("in two parts, or twice in one task", imported.duplicates, console)
    if compared_with_cold_start:
        _print_shared("shared with the cold-start set", imported.cold_start, console)


def _print_files(imported: "Imported", console: "Console") -> None:
    from rich.table import Table

    from specvi_benchmark.splits.official import ROWS

    if not imported.files:
        return
    table = Table("file", "data_source", title="Official files")
    for heading in ("rows", "published", "YES", "no redshift"):
        table.add_column(heading, justify="right")
    for file in imported.files:
        rows = (file.rows, ROWS[file.name.removesuffix(".parquet")], file.yes, file.null_redshifts)
        table.add_row(file.name, ", ".join(file.spellings), *map(str, rows))
    console.print(table)
    for item in imported.differing:
        console.print(f"differs  {item.what}: {item.found}, published {item.published}", markup=False)
    if imported.missing:
        console.print(f"missing  {', '.join(imported.missing)}", markup=False)
    if not (imported.differing or imported.missing):
        console.print("holds  every published figure")


def _print_shared(what: str, found: "Iterable[Shared]", console: "Console") -> None:
    listed = list(found)
    console.print(f"{len(listed)} {what}")
    for item in listed[:SHOWN]:
        console.print(
            f"  same {item.by} {item.what}: {'; '.join(item.places)} ({', '.join(item.names)})", markup=False
        )
    if len(listed) > SHOWN:
        console.print(f"  and {len(listed) - SHOWN} more, in the recipe of split.json")
