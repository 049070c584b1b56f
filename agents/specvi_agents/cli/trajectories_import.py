"""Read trajectories in the released form, mending or leaving out rows with damaged characters."""

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from specvi_agents.trajectories.importing import ImportReport

LISTED = 10

app = typer.Typer(add_completion=False)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON, JSON lines or parquet in the released form.")],
    out: Annotated[Path, typer.Option(help="New trajectory folder.")],
    pictures: Annotated[
        Path | None,
        typer.Option(help="Folder of the pictures. Default: where FILE lies, or images beside it."),
    ] = None,
    against: Annotated[
        list[str] | None, typer.Option(help="Split whose held-out parts no row may show. May be repeated.")
    ] = None,
    allow_overlap: Annotated[
        bool, typer.Option("--allow-overlap", help="Take rows that show them; the report and cards say so.")
    ] = False,
    by_context: Annotated[
        bool,
        typer.Option("--by-context", help="Also mend what only the words around determine: Hα by its 6563."),
    ] = False,
    task: Annotated[str | None, typer.Option(help="What every row asks. Default: as each says.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Read FILE into the trajectory folder OUT. Every row is taken or left out, with the reason in import.json."""
    from specvi_agents.trajectories.importing import import_released
    from specvi_agents.trajectories.overlap import require_splits
    from specvi_benchmark.splits.named import find_split
    from specvi_benchmark.tasks import get_task

    splits = [find_split(path) for path in against or []]
    require_splits(splits, file, allowed=allow_overlap)
    report = import_released(
        file,
        out,
        pictures=pictures,
        against=splits,
        allow_overlap=allow_overlap,
        by_context=by_context,
        task=get_task(task) if task else None,
    )
    if json_:
        typer.echo(report.model_dump_json(indent=2))
        return
    _tell(report)
    typer.echo(f"Wrote {out}\nNext: specvi trajectories screen {shlex.quote(str(out))} --split SPLIT")


def _tell(report: "ImportReport") -> None:
    from specvi_benchmark.trace_page.text import visible

    typer.echo(f"{report.taken} of {report.rows} rows taken")
    if report.mended:
        kinds = ", ".join(f"{count} {kind}" for kind, count in report.mended.items())
        typer.echo(
            f"{sum(report.mended.values())} damaged characters mended in {report.mended_rows} rows: {kinds}"
        )
    if report.beyond_repair:
        typer.echo(f"{report.beyond_repair} damaged characters that nobody can tell: their rows are left out")
    if report.miscounted:
        typer.echo(f"{report.miscounted} rows state other counts of turns and calls than they have")
    if report.overlapping:
        verb = "taken all the same" if report.overlap_allowed else "left out"
        typer.echo(f"{len(report.overlapping)} rows show held-out candidates, {verb}")
    for why, count in Counter(one.why for one in report.left_out).most_common(LISTED):
        typer.echo(f"  left out, {count}: {visible(why)}")
