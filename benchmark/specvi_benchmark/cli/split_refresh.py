"""Extend a split by a new release, and say what changed; or write the new part alone, to be sealed."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.cli.split_printing import argument, end, print_counts

app = typer.Typer()


@app.command()
def refresh(
    split: Annotated[str, typer.Argument(metavar="SPLIT", help="The earlier version: a split folder.")],
    recipe: Annotated[
        str, typer.Argument(help="Recipe of what is added, of another version: file or shipped name.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    archive: Annotated[
        Path | None, typer.Option(help="Ingested archive, where the recipe needs one.")
    ] = None,
    version: Annotated[str | None, typer.Option(help="Version of the result. Default: the recipe's.")] = None,
    scale: Annotated[float, typer.Option(min=0.001, help="Archive and counts times this.")] = 1.0,
    fresh_only: Annotated[
        bool, typer.Option("--fresh-only", help="Write only what is new: a part that can be sealed.")
    ] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="How many work at once.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print what changed as JSON.")] = False,
) -> None:
    """Keep what is in the split, withdraw what the new labels contradict, and add objects that are new."""
    from specvi_benchmark.cli.split import building
    from specvi_benchmark.cli.split_tables import difference_lines
    from specvi_benchmark.splits.io import check_free, write_split
    from specvi_benchmark.splits.named import find_split
    from specvi_benchmark.splits.recipe import load_recipe, open_archive
    from specvi_benchmark.splits.refresh import refresh_split
    from specvi_benchmark.splits.workers import processors

    check_free(out)
    wanted = load_recipe(recipe)
    wanted = wanted if scale == 1 else wanted.scaled(scale, scale)
    wanted = wanted.model_copy(update={"version": version or wanted.version})
    with building() as report:
        done = refresh_split(
            find_split(split),
            wanted,
            archive=open_archive(wanted, archive),
            processes=processes or processors(),
            report=report,
        )
    written = done.fresh if fresh_only else done.split
    write_split(written, out)
    if json_:
        typer.echo(done.difference.model_dump_json(indent=2))
        return
    print_counts(written)
    for line in difference_lines(done.difference):
        typer.echo(line)
    for item in done.withdrawn:
        typer.echo(f"withdrawn {item.part} {item.group} {item.truth} {item.id}: {item.why}")
    if done.not_there:
        typer.echo(
            f"{done.not_there} earlier candidates show no object of the archive: kept as they are, and its labels say "
            "nothing of them"
        )
    if fresh_only:
        end(
            out,
            f"specvi split seal {argument(out)} --out commitment.json --secret {shlex.quote('secret.json')}",
        )
    else:
        end(out, f"specvi split verify {argument(out)}")
