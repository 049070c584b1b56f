"""Write a model card with evaluation results for every system of a leaderboard."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def cards(
    sources: Annotated[
        list[Path], typer.Argument(help="Run folders over one split, or a folder with board.yaml.")
    ],
    dataset: Annotated[str, typer.Option(help="OWNER/NAME of the split on the Hub.")],
    out: Annotated[Path, typer.Option(help="Folder to write, one folder a system in it.")],
    source: Annotated[str | None, typer.Option(help="Address of the leaderboard.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Where the runs' split lies now, if it has moved.")
    ] = None,
) -> None:
    """Write OUT/ID/README.md and OUT/ID/.eval_results/, for the repository of each model."""
    import re

    from specvi_benchmark.errors import UserError
    from specvi_benchmark.hub.push import require_name
    from specvi_leaderboard.cards import write_cards
    from specvi_leaderboard.gather import gather

    require_name(dataset)
    if source is not None and not re.fullmatch(r"https://[^\s<>\"']+", source):
        raise UserError("not an address", where="--source", expected="https://…", got=source)
    found = gather(sources, split)
    if len(found.boards) > 1:
        raise UserError(
            "one dataset holds one split", got=f"{len(found.boards)} splits", fix="name runs instead"
        )
    for place in write_cards(found.boards[0], out, dataset, source):
        typer.echo(f"Wrote {place}")
