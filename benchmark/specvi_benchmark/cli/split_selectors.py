"""Rebuild a split with another family of weak classifier, and report how systems' ranks change."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from specvi_benchmark.runs.selectors import RankChange

app = typer.Typer()


@app.command()
def selectors(
    recipe: Annotated[str, typer.Argument(help="Recipe file, or the name of a shipped one.")],
    out: Annotated[Path, typer.Option(help="Folder for both splits and every run.")],
    vetter: Annotated[list[str], typer.Option(help="A system to rank. May be repeated.")],
    second: Annotated[
        str, typer.Option(help="The other family: random-forest or logistic.")
    ] = "random-forest",
    track: Annotated[str | None, typer.Option(help="Track to rank on. Default: main.")] = None,
    archive: Annotated[
        Path | None, typer.Option(help="Ingested archive, where the recipe needs one.")
    ] = None,
    scale: Annotated[float, typer.Option(min=0.001, help="Archive and counts times this.")] = 1.0,
    processes: Annotated[int | None, typer.Option(min=1, help="How many work at once.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Build with the recipe's own weak classifier and with another, and run every system over both."""
    from typing import cast, get_args

    from specvi_benchmark.cli.split import building
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.runs.selectors import compare_selections
    from specvi_benchmark.splits.build import build_split, recorded
    from specvi_benchmark.splits.families import Family
    from specvi_benchmark.splits.io import read_split, write_split
    from specvi_benchmark.splits.recipe import load_recipe, open_archive
    from specvi_benchmark.splits.workers import processors
    from specvi_benchmark.tasks.task import AskedTrack, Track

    chosen = load_recipe(recipe)
    chosen = chosen if scale == 1 else chosen.scaled(scale, scale)
    first = chosen.weak_classifier.family
    if second not in get_args(Family) or second == first:
        raise UserError(
            "not another family of weak classifier",
            where="--second",
            expected=" or ".join(name for name in get_args(Family) if name != first),
            got=second,
        )
    if track is not None and track not in get_args(Track):
        raise UserError("no such track", where="--track", expected=", ".join(get_args(Track)), got=track)
    source = open_archive(chosen, archive)
    folders, splits = [], []
    with building() as report:
        for family in (first, cast("Family", second)):
            weak = chosen.weak_classifier.model_copy(update={"family": family})
            wanted = chosen.model_copy(update={"weak_classifier": weak, "name": f"{chosen.name}-{family}"})
            folder = out / f"split-{family}"
            if not (folder / "split.json").exists() or read_split(folder).recipe != recorded(wanted, source):
                built = build_split(
                    wanted, archive=source, processes=processes or processors(), report=report
                )
                write_split(built, folder, replace=True)
            folders.append(folder)
            splits.append(read_split(folder))
        found = compare_selections(
            (folders[0], folders[1]),
            (splits[0], splits[1]),
            (first, second),
            vetter,
            out / "runs",
            track=cast("AskedTrack | None", track),
            report=report,
        )
    if json_:
        typer.echo(found.model_dump_json(indent=2))
    else:
        _tell(found)


def _tell(found: "RankChange") -> None:
    from rich.console import Console
    from rich.table import Table

    first, second = found.families
    table = Table("system", title=f"Selected by {first}, and by {second}: {found.track} track, test")
    for name in ("macro-F1", "rank"):
        for family in found.families:
            table.add_column(f"{name}, {family}", justify="right")
    for item in found.systems:
        table.add_row(
            item.system,
            *("–" if value is None else f"{value:.3f}" for value in item.macro_f1),
            *("–" if value is None else f"{value:g}" for value in item.rank),
        )
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    for pair in found.swapped:
        console.print(f"other order: {pair[0]} and {pair[1]}", markup=False)
    tau = "undefined" if found.tau_b is None else f"{found.tau_b:.2f}"
    console.print(f"Kendall's tau-b {tau}; {len(found.swapped)} pairs of systems change order")
    for kept in found.selections:
        console.print(
            f"{kept.group}: {kept.shared_no:.0%} of the NO, {kept.shared_yes:.0%} of the YES in both"
        )
