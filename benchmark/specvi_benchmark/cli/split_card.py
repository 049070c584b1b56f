"""Print the dataset card of a split, as `split export` writes it."""

from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def card(
    split: Annotated[str, typer.Argument(metavar="SPLIT", help="Split folder, or mini.")],
    repo: Annotated[
        str | None, typer.Option(help="Name on the Hub that the card states. Default: your-name/SPLIT.")
    ] = None,
) -> None:
    """Print the card: counts, columns, provenance, traps, licences, how to load and cite it."""
    from specvi_benchmark.hub.card import dataset_card, file_names
    from specvi_benchmark.splits.manifest import describe
    from specvi_benchmark.splits.named import find_split

    found = find_split(split)
    manifest = describe(found, file_names(found))
    typer.echo(str(dataset_card(found, manifest, repo or f"your-name/{found.name}", {})))
