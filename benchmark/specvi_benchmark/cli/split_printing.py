"""What the commands on splits print alike: counts, and how a command ends."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from specvi_benchmark.splits.manifest import Counts
    from specvi_benchmark.splits.split import Candidate, Split


def print_counts(split: "Split") -> None:
    """Print candidates by part, task and truth, and the fingerprint."""
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


def argument(path: Path) -> str:
    """Return a path as a shell takes it, and as no command takes it for an option or a split's name."""
    from specvi_benchmark.splits.named import NAMED

    text = str(path)
    return shlex.quote(f"./{text}" if text in NAMED or text.startswith("-") else text)


def end(folder: Path, following: str) -> None:
    """Say what was written and what to type next."""
    typer.echo(f"Wrote {folder}")
    typer.echo(f"Next: {following}")


@contextmanager
def drawing(number: int) -> Iterator["Callable[[Candidate], bytes]"]:
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


def _rows(counts: "Counts") -> Iterator[tuple[str, ...]]:
    for part, tasks in counts.items():
        for task, truths in tasks.items():
            yes, whole = truths["YES"], sum(truths.values())
            yield part, task, str(yes), str(whole - yes), str(whole), f"{yes / whole:.0%}"
