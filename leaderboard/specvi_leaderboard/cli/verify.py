"""Run a submission's declared public model again, on a sample or on everything, and compare the answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from specvi_leaderboard.submissions.verify import Verification

EXIT_NOT_REPRODUCED = 1

app = typer.Typer()


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of the submission: submissions/ID.")],
    out: Annotated[Path, typer.Option(help="Run folder of the new answers; a stopped run goes on in it.")],
    split: Annotated[
        list[str] | None, typer.Option(help="Where its split may lie. Default: as in `specvi validate`.")
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="How many candidates to ask again.")] = 200,
    all_: Annotated[bool, typer.Option("--all", help="Ask all of them.")] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of the sample; a stopped run needs its own. Default: drawn.")
    ] = None,
    model_path: Annotated[
        str | None, typer.Option(help="Folder with a copy of the checkpoint at the declared revision.")
    ] = None,
    agreement: Annotated[
        float, typer.Option(min=0, max=1, help="Share of equal answers below which it is not reproduced.")
    ] = 0.95,
    json_: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Let one of the suite's own vetters answer with the declared checkpoint, and compare.

    Nothing of the submission is run. Exit code 1: not reproduced.
    """
    import secrets

    from rich.console import Console

    from specvi_benchmark.cli.printing import kept_for_answers
    from specvi_benchmark.cli.run import RunBar
    from specvi_benchmark.errors import UserError
    from specvi_leaderboard.collection import is_collection, read_board_file
    from specvi_leaderboard.submissions.validate import validate_submission
    from specvi_leaderboard.submissions.verify import declared_vetter
    from specvi_leaderboard.submissions.verify import verify as run_again

    home = folder.absolute().parent.parent
    places = list(split or []) + (list(read_board_file(home).splits) if is_collection(home) else [])
    if not places:
        raise UserError("where the split lies is not known", where=folder, fix="name it with --split")
    checked = validate_submission(folder, places)
    with kept_for_answers():
        spec, vetter = declared_vetter(checked.submission.model, model_path, folder)
    drawn = secrets.randbelow(2**31) if seed is None else seed
    typer.echo(f"Seed of the sample: {drawn}", err=True)
    number = None if all_ else sample
    total = len(checked.matched.predictions) if number is None else number
    with kept_for_answers(), RunBar(spec, total, Console(stderr=True)) as bar:
        found = run_again(
            checked,
            spec,
            vetter,
            out,
            sample=number,
            seed=drawn,
            least=agreement,
            report=bar.show,
        )
    if json_:
        typer.echo(found.model_dump_json(indent=2))
    else:
        _print(found)
    if not found.reproduced:
        raise typer.Exit(EXIT_NOT_REPRODUCED)


def _print(found: "Verification") -> None:
    import datetime as dt

    asked = "a sample of " if found.sampled else "all "
    typer.echo(
        f"{found.vetter} on {asked}{found.candidates} candidates: {found.agree} answers agree, "
        f"{found.agreement:.1%} ({found.low:.1%} to {found.high:.1%})"
    )
    for track in found.tracks:
        both = [
            f"{value:.3f}" if value is not None else "undefined"
            for value in (track.submitted, track.run_again)
        ]
        p = "" if track.p is None else f", p = {track.p:.3f}"
        typer.echo(f"{track.track}: {track.metric} {both[0]} as submitted, {both[1]} run again{p}")
    for difference in found.differences[:10]:
        typer.echo(f"  {difference.task} {difference.id}: {difference.submitted}, now {difference.run_again}")
    if len(found.differences) > 10:
        typer.echo(f"  and {len(found.differences) - 10} more (--json)")
    if not found.reproduced:
        typer.echo("Not reproduced: it stays re-scored.")
        return
    today = dt.datetime.now(dt.UTC).date().isoformat()
    note = f"{found.agree} of {found.candidates} answers agree, seed {found.seed}"
    typer.echo("Reproduced. For board.yaml, under decisions:")
    typer.echo(
        f'  {found.id}:\n    verified: {{date: {today}, by: run, digest: {found.digest}, note: "{note}"}}'
    )
