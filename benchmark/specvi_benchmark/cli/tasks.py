"""Show the nine tasks, their guidelines, and the list of lines and bands."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from specvi_benchmark.lines import Band, Index, Line
    from specvi_benchmark.tasks import Task

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

app = typer.Typer()


@app.callback(invoke_without_command=True)
def list_tasks(context: typer.Context, json_: JsonOption = False) -> None:
    """List the tasks; `show` prints one in full, `lines` the list of lines and bands."""
    from specvi_benchmark.tasks import all_tasks

    if context.invoked_subcommand:
        return
    if json_:
        _print_json([_summary(task) for task in all_tasks()])
        return
    table = _table("key", "class name", "track", "official", "also accepted", "frame")
    for task in all_tasks():
        names = ", ".join(name for name in task.aliases if name != task.data_source)
        table.add_row(task.key, task.class_name, task.track, task.data_source, names, task.frame)
    console = _console()
    console.print(table)
    console.print("Next: specvi tasks show cv")


@app.command()
def show(
    task: Annotated[str, typer.Argument(help="Key or any official spelling, for example cv, gm, carbon.")],
    json_: JsonOption = False,
) -> None:
    """Print everything about one task: indicators, confusers, windows, guideline, border cases."""
    from specvi_benchmark.tasks import get_task

    chosen = get_task(task)
    if json_:
        _print_json(chosen.model_dump(mode="json"))
    else:
        _print_task(chosen, _console())


@app.command()
def lines(
    between: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Only from LOW to HIGH, in vacuum ångström.", metavar="LOW HIGH"),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Print the list of lines, bands and index windows, in vacuum and in air."""
    from dataclasses import asdict

    from specvi_benchmark.errors import UserError
    from specvi_benchmark.lines import all_bands, all_indices, lines_between

    low, high = between or (0.0, float("inf"))
    if not low < high:
        raise UserError(
            "the range is empty",
            where="--between",
            expected="the lower wavelength first",
            got=f"{low:g} {high:g}",
        )
    chosen = lines_between(low, high)
    bands = [band for band in all_bands() if low <= band.vacuum_AA <= high]
    indices = [index for index in all_indices() if low <= index.numerator_AA[0][0] <= high]
    if json_:
        _print_json(
            {
                "lines": [line.model_dump(mode="json") for line in chosen],
                "bands": [asdict(band) for band in bands],
                "indices": [asdict(index) for index in indices],
            }
        )
    else:
        console = _console()
        for table in (_lines_table(chosen), _bands_table(bands), _indices_table(indices)):
            if table.row_count:
                console.print(table)


def _lines_table(lines: Iterable["Line"]) -> "Table":
    table = _table("line", "vacuum Å", "air Å", "met in", "note", title="Lines (named by vacuum wavelength)")
    for line in lines:
        air = "" if line.air_AA is None else f"{line.air_AA:.2f}"
        table.add_row(line.name, f"{line.vacuum_AA:.2f}", air, ", ".join(line.groups), line.note)
    return table


def _bands_table(bands: Iterable["Band"]) -> "Table":
    table = _table("band", "vacuum Å", "air Å", "sharp edge", "note", title="Bands (named by air wavelength)")
    for band in bands:
        end = "" if band.end_AA is None else f"–{band.end_AA:.0f}"
        edge = band.sharp_edge or "–"
        table.add_row(band.name, f"{band.vacuum_AA:.0f}{end}", f"{band.air_AA:.0f}", edge, band.note)
    return table


def _indices_table(indices: Iterable["Index"]) -> "Table":
    table = _table("index", "numerator Å", "denominator Å", title="Index windows (vacuum)")
    for index in indices:
        table.add_row(index.name, _ranges(index.numerator_AA), _ranges(index.denominator_AA))
    return table


def _print_task(task: "Task", console: "Console") -> None:
    console.rule(f"{task.key}  {task.class_name}")
    console.print(task.question, style="bold")
    console.print(f"\n{task.summary}\n")
    console.print(
        f"track {task.track} · official spelling {task.data_source} · "
        f"also {', '.join(task.aliases)} · {task.frame} frame\n"
    )
    table = _table("rank", "holds for", "indicator", title="What speaks for it")
    for indicator in task.indicators:
        table.add_row(indicator.rank, indicator.state or "all", indicator.text)
    console.print(table)
    table = _table("looks alike", "how to tell", title="What confuses it")
    for confuser in task.confusers:
        table.add_row(confuser.name, confuser.tell)
    console.print(table)
    table = _table("window", "Å", "look for", title=f"Where to zoom (vacuum, {task.frame} frame)")
    for window in task.windows:
        table.add_row(window.label, _ranges([window.range_AA]), window.look_for)
    console.print(table)
    console.rule("Guideline")
    console.print(task.guideline + "\n")
    table = _table("border case", "label", "why", title="How border cases are labelled")
    for border in task.border_cases:
        table.add_row(border.case, border.label, border.reason)
    console.print(table)
    console.print("Sources: " + " · ".join(task.sources))


def _summary(task: "Task") -> dict[str, Any]:
    fields = {"key", "class_name", "track", "data_source", "aliases", "frame", "question", "summary"}
    return task.model_dump(mode="json", include=fields)


def _ranges(windows: Iterable[tuple[float, float]]) -> str:
    return ", ".join(f"{round(low, 1):g}–{round(high, 1):g}" for low, high in windows)


def _table(*columns: str, title: str | None = None) -> "Table":
    from rich import box
    from rich.table import Table

    return Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD)


def _console() -> "Console":
    """Return a console that prints text as it stands: the brackets of ``[O III]`` are no markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False)


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
