"""Measure what a picture costs, against one pyplot figure a call."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.spectrum import Spectrum
    from specvi_benchmark.views.cost import ViewCost

app = typer.Typer(add_completion=False)


@app.command()
def bench_view(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Survey files. Default: simulated spectra.", show_default=False),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Timed turns for each style and window.")] = 30,
    renders: Annotated[
        int, typer.Option(min=0, help="Pictures drawn to see whether the process grows; 0 leaves this out.")
    ] = 100_000,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="How long one and two processes draw; 0 leaves this out.")
    ] = 5.0,
    first_call: Annotated[
        bool,
        typer.Option("--first-call/--no-first-call", help="Start new processes to time their first call."),
    ] = True,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a contact sheet here, matplotlib beside ours, and stop.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Draw full views and 120 Å zooms in turns with this suite and with the released tool's pyplot way."""
    from dataclasses import asdict

    from specvi_benchmark.views.cost import first_calls, growth, measure, simulated_spectra, throughput

    spectra = _read(files) if files else simulated_spectra()
    if sheet is not None:
        _write_sheet(sheet, spectra)
        return
    costs = measure(spectra, rounds)
    result: dict[str, Any] = {"rounds": rounds, "spectra": len(spectra), "views": [asdict(c) for c in costs]}
    if first_call:
        cold, warm = first_calls()
        result["first_call"] = {"cold": asdict(cold), "warm": asdict(warm)}
    if seconds:
        result["pictures_per_second"] = {str(count): throughput(count, seconds) for count in (1, 2)}
    if renders:
        result["growth"] = asdict(growth(spectra, renders))
    if json_:
        import json

        typer.echo(json.dumps(result, indent=2))
        return
    _print(costs, result)


def _read(files: list[Path]) -> "list[Spectrum]":
    """Read every spectrum of the files; a folder is searched to the bottom, what is no spectrum left out."""
    from specvi_benchmark.surveys import read_spectra

    spectra: list[Spectrum] = []
    for path in files:
        if not path.exists():
            raise UserError("no such file or folder", where=path, fix="check the path")
        inside = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
        for file in inside:
            try:
                spectra += read_spectra(file).spectra
            except UserError:
                if not path.is_dir():
                    raise
    if not spectra:
        raise UserError("nothing to draw", expected="at least one file that holds a spectrum")
    return spectra


def _write_sheet(path: Path, spectra: "list[Spectrum]") -> None:
    import io

    from specvi_benchmark.files import write_bytes
    from specvi_benchmark.views.sheet import contact_sheet

    stream = io.BytesIO()
    contact_sheet(spectra).save(stream, format="PNG", optimize=True)
    write_bytes(path, stream.getvalue())
    typer.echo(f"Wrote {path}")


def _print(costs: "list[ViewCost]", result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Spectrum to PNG, against one pyplot figure a call (medians)")
    columns = (
        "style",
        "window",
        "ms",
        "pyplot ms",
        "ratio",
        "decide",
        "paint",
        "PNG",
        "+ record ms",
        "kB",
        "most kB",
    )
    for name in columns:
        table.add_column(name, justify="left" if name in {"style", "window"} else "right")
    for cost in costs:
        table.add_row(
            cost.style,
            cost.window,
            f"{cost.ours_ms:.2f}",
            f"{cost.pyplot_ms:.0f}",
            f"{cost.ratio:.0f}",
            *(f"{100 * share:.0f} %" for share in cost.shares.values()),
            f"{cost.record_ms:.2f}",
            f"{cost.kilobytes:.1f}",
            f"{cost.most_kilobytes:.1f}",
        )
    console = Console(highlight=False)
    console.print(table)
    for state, call in result.get("first_call", {}).items():
        console.print(
            f"First call, {state} cache: {call['import_s']:.2f} s import + {call['picture_s']:.2f} s picture"
        )
    for processes, rate in result.get("pictures_per_second", {}).items():
        console.print(f"Pictures a second, {processes} process{'es' if processes != '1' else ''}: {rate:.0f}")
    if grown := result.get("growth"):
        console.print(
            f"Memory over {grown['renders']:,} pictures: {grown['before_MB']:.1f} → {grown['after_MB']:.1f} MB"
        )
