"""Judge how real simulated spectra are, on labelled real ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from specvi_benchmark.realism.assess import Call, OriginResult, Seen
    from specvi_benchmark.realism.judge import Simulated

app = typer.Typer(add_completion=False)


@app.command()
def bench_realism(
    data: Annotated[list[Path], typer.Argument(help="Folders with labelled real spectra.")],
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="Lists of labels, CSV or YAML; paths in them start from a folder of DATA. "
                     "Default: labels.csv in each folder."),
    ] = None,
    half: Annotated[
        Literal["open", "held-out", "both"],
        typer.Option(help="Objects to judge: the half to look at while the simulator is worked on, the "
                     "half that is left alone until the end, or both."),
    ] = "both",
    per_class: Annotated[int, typer.Option(min=10, help="Simulated spectra a class to train on.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulated spectra, the noise and the judge.")] = 0,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a contact sheet (PNG) here: real | nearest simulated.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs a class on the contact sheet.")] = 4,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:  # fmt: skip
    """Train a classifier on simulated spectra alone and judge it on labelled real ones."""
    import json

    from rich.console import Console

    from specvi_benchmark.realism import assess
    from specvi_benchmark.realism.judge import simulate, train
    from specvi_benchmark.realism.labels import halves, read_labels

    listed = read_labels(data, labels or [])
    side = halves(listed)
    seen = list(assess.look([label for label in listed if half in ("both", side[label.object])], seed))
    simulated = simulate(per_class, seed)
    judges = train(simulated, seed)
    calls = assess.ask(judges, seen)
    results = [
        assess.summarise(calls, seen, origin, listed) for origin in sorted({one.label.origin for one in seen})
    ]
    inside = assess.accuracy_on_simulated(judges, simulate(max(10, per_class // 5), seed + 1))
    if sheet is not None:
        _write_sheet(sheet, seen, calls, simulated, pairs)
    if json_:
        about = {"half": half, "per_class": per_class, "seed": seed, "balanced_accuracy_on_simulated": inside}
        called = [
            {"path": str(call.label.path), "object": call.label.object, "class": call.label.class_name,
             "called": call.called, "probability": round(call.probability, 4)}
            for call in calls
        ]  # fmt: skip
        found = [result.model_dump() for result in results]
        typer.echo(json.dumps(about | {"origins": found, "calls": called}, indent=2))
        return
    console = Console(highlight=False)
    for result in results:
        _print(console, result)
    console.print(f"On simulated spectra that the judge has not seen: {inside:.3f} (its ceiling)")
    if sheet is not None:
        console.print(f"Wrote {sheet}")


def _write_sheet(
    path: Path, seen: "list[Seen]", calls: "list[Call]", simulated: "Simulated", pairs: int
) -> None:
    import io

    from specvi_benchmark.files import write_bytes
    from specvi_benchmark.realism.pairs import nearest_pairs
    from specvi_benchmark.realism.sheet import contact_sheet

    stream = io.BytesIO()
    found = nearest_pairs(seen, calls, simulated, pairs)
    contact_sheet(found).save(stream, format="PNG", optimize=True)
    write_bytes(path, stream.getvalue())


def _print(console: "Console", result: "OriginResult") -> None:
    console.print(_table(result))
    value = result.balanced_accuracy
    if value.value is None:
        console.print("No class has enough objects to count.\n")
    else:
        console.print(
            f"Balanced accuracy over the {result.classes_counted} classes that count: "
            f"{value.value:.3f} ({value.low:.3f}–{value.high:.3f})"
        )
    for reason, counts in result.not_judged.items():
        console.print(f"  {reason}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    console.print()


def _table(result: "OriginResult") -> "Table":
    from rich.table import Table

    title = f"{result.origin}: {result.objects} objects, {result.spectra} spectra"
    table = Table(
        title=title,
        caption="recall over objects with 95 % interval; called: spectra, in brackets too few to count",
    )
    for name in ("class", "objects", "recall", "95 %", "called"):
        table.add_column(name, justify="right" if name in {"objects", "recall"} else "left")
    for one in result.classes:
        called = ", ".join(f"{name} {count}" for name, count in one.called.items())
        name = one.class_name if one.counts else f"({one.class_name})"
        recall = one.recall
        table.add_row(
            name, str(one.objects), f"{recall.value:.2f}", f"{recall.low:.2f}–{recall.high:.2f}", called
        )
    return table
