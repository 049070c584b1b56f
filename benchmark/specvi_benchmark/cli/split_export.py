"""Write a split for other programs: official schema with pictures, card, Croissant metadata, previews."""

from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.cli.split_printing import argument, drawing, end

app = typer.Typer()


@app.command()
def export(
    split: Annotated[
        str, typer.Argument(metavar="SPLIT", help="Split folder, official parquet file or folder, or mini.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    pictures: Annotated[
        bool, typer.Option(help="Put a picture of the whole spectrum into every row.")
    ] = True,
    official_names: Annotated[
        bool, typer.Option("--official-names", help="Name the files as the published ones: test_cc, test_gm.")
    ] = False,
    repo: Annotated[
        str | None, typer.Option(help="Name on the Hub that the card states. Default: your-name/SPLIT.")
    ] = None,
    date: Annotated[str | None, typer.Option(help="Date of publication, YYYY-MM-DD. Default: today.")] = None,
) -> None:
    """Write a split as it is published; `datasets.load_dataset(FOLDER, TASK)` reads it."""
    from contextlib import nullcontext

    from specvi_benchmark.hub.export import export_split
    from specvi_benchmark.splits.io import check_free
    from specvi_benchmark.splits.named import find_split

    check_free(out)
    found = find_split(split)
    with drawing(len(found.candidates)) if pictures else nullcontext() as draw:
        export_split(
            found,
            out,
            repo_id=repo or f"your-name/{found.name}",
            date=day(date),
            picture=draw,
            official_names=official_names,
        )
    end(out, f"specvi split verify {argument(out)}")


def day(text: str | None) -> str:
    """Return a date as text, today's for none.

    Raises
    ------
    UserError
        It is not a date.
    """
    import datetime as dt

    from specvi_benchmark.errors import UserError

    if text is None:
        return dt.datetime.now(dt.UTC).date().isoformat()
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError:
        raise UserError("not a date", where="--date", expected="YYYY-MM-DD", got=text) from None
