"""Check a submission as a maintainer does, offline, and print the scores it gets."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def validate(
    folder: Annotated[Path, typer.Argument(help="Folder of the submission: submissions/ID.")],
    split: Annotated[list[str] | None, typer.Option(help="Where its split may lie. May be repeated.")] = None,
    board: Annotated[
        Path | None,
        typer.Option(help="Leaderboard's folder, with board.yaml. Default: the one it lies in, if any."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print results.json instead of a table.")] = False,
) -> None:
    """Check schema, coverage, duplicates, fingerprint, training data, sizes and provenance of FOLDER.

    Nothing of a submission is run, and nothing is fetched.
    """
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.runs.evaluate import score_matched
    from specvi_leaderboard.cli.printed_check import print_check
    from specvi_leaderboard.collection import (
        is_collection,
        known_names,
        read_board_file,
        refuse_replacing,
        taken_names,
    )
    from specvi_leaderboard.submissions.validate import validate_submission

    home = board or folder.absolute().parent.parent
    kept = is_collection(home)
    if board is not None and not kept:
        raise UserError("not a leaderboard's folder", where=board, expected="board.yaml in it")
    places = list(split or []) + (list(read_board_file(home).splits) if kept else [])
    if not places:
        raise UserError("where the split lies is not known", where=folder, fix="name it with --split")
    refuse_replacing(folder, home)
    checked = validate_submission(folder, places, known_names(home) if kept else taken_names())
    if json_:
        typer.echo(score_matched(checked.matched).model_dump_json(indent=2))
        return
    print_check(checked)
    typer.echo(f"{checked.id} is valid.")
