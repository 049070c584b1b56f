"""Inspections to learn from: draft, screen, review by people, export, import."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from specvi_agents.trajectories.screening import Funnel
    from specvi_agents.trajectories.store import Store
    from specvi_benchmark.vetting import Question

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def group() -> None:
    """Hold the commands together; a group of one would be taken for its only command."""


@app.command()
def screen(
    folder: Annotated[Path, typer.Argument(help="Trajectory folder.")],
    split: Annotated[
        list[str] | None,
        typer.Option(help="Split with the spectra, where it is no longer where it was. May be repeated."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the funnel as JSON.")] = False,
) -> None:
    """Screen every draft of FOLDER: answer, format, windows, repetition, leaks, evidence; print the funnel."""
    from specvi_agents.trajectories.candidates import questions_of
    from specvi_agents.trajectories.store import Store

    store = Store(folder)
    screen_and_tell(store, questions_of(store, split or []), json_=json_)


def screen_and_tell(store: "Store", questions: "Mapping[str, Question]", *, json_: bool) -> None:
    """Screen what is waiting, write the funnel into the folder and print it."""
    from rich.console import Console
    from rich.progress import Progress

    from specvi_agents.trajectories.screening import FUNNEL_FILE, funnel, screen_all
    from specvi_benchmark.files import write_json

    with Progress(console=Console(stderr=True), transient=True) as progress:
        line = progress.add_task("Screening", total=None)
        screen_all(store, questions, lambda done, total: progress.update(line, completed=done, total=total))
    found = funnel(store.trajectories().values())
    content = [one.model_dump(mode="json") for one in found]
    write_json(store.folder / FUNNEL_FILE, content)
    if json_:
        import json

        typer.echo(json.dumps(content, indent=2))
    else:
        print_funnel(found)


def print_funnel(found: "Sequence[Funnel]") -> None:
    """Print how many of each task every check let through."""
    from rich.console import Console
    from rich.table import Table

    from specvi_benchmark.cli.printing import print_whole

    if not found:
        typer.echo("Nothing was screened yet.")
        return
    table = Table("task", title="How many are left after each check")
    headings = ["drafted", *(step.check for step in found[0].steps), "pass rate (95 %)"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        rate = one.rate
        between = (
            f" ({rate.low:.0%}–{rate.high:.0%})" if rate.low is not None and rate.high is not None else ""
        )
        told = f"{rate.value:.0%}{between}" if rate.value is not None else "–"
        table.add_row(one.task, str(one.drafted), *(str(step.passed) for step in one.steps), told)
    console = Console()
    print_whole(console, table)
    total = found[-1]
    if unchecked := [f"{step.check} ({step.unchecked})" for step in total.steps if step.unchecked]:
        typer.echo(f"Not checked, for want of a spectrum: {', '.join(unchecked)}")
