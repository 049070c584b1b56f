"""Write trajectories for training: TRL messages with pictures, or the released form, with a card."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_agents.trajectories.records import State

app = typer.Typer(add_completion=False)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Trajectory folder.")],
    out: Annotated[Path, typer.Option(help="New folder to write.")],
    form: Annotated[
        Literal["messages", "released"],
        typer.Option(help="messages: parquet for TRL. released: ShareGPT turns beside a folder of pictures."),
    ] = "messages",
    at_least: Annotated[
        str, typer.Option(help="Take those that have come so far: screened, revised, audited, accepted.")
    ] = "accepted",
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="Split whose held-out parts must share no file or object. Default: that of the drafts."
        ),
    ] = None,
    allow_overlap: Annotated[
        bool, typer.Option("--allow-overlap", help="Write what is shared as well; the card will say so.")
    ] = False,
    repo: Annotated[str | None, typer.Option(help="Name on the Hub that the card states.")] = None,
) -> None:
    """Write the trajectories of FOLDER into OUT; `datasets.load_dataset(OUT)` reads them."""
    from specvi_agents.trajectories.candidates import splits_of
    from specvi_agents.trajectories.exporting import chosen
    from specvi_agents.trajectories.exporting import export as write
    from specvi_agents.trajectories.overlap import overlaps, refuse, require_splits
    from specvi_agents.trajectories.store import Store
    from specvi_benchmark.splits.io import check_free

    check_free(out)
    store = Store(folder)
    state = cast("State", at_least)
    records = {item.id: item.record for item in chosen(store, state)}
    try:
        splits = splits_of(records, against or [])
    except UserError:
        if against or not allow_overlap:
            raise
        splits = []
    require_splits(splits, folder, allowed=allow_overlap)
    found = overlaps(records.values(), splits)
    if not allow_overlap:
        refuse(found, folder)
    names = [f"{split.name} {split.version}" for split in splits]
    number = write(
        store,
        out,
        form,
        at_least=state,
        repo_id=repo or f"your-name/{out.name}",
        overlap=found,
        compared_with=names,
    )
    typer.echo(
        f"{number} trajectories"
        + (f", {len(found)} of them shared with held-out candidates" if found else "")
    )
    typer.echo(f"Wrote {out}")
