"""Publish a leaderboard's site as a static Space, or write exactly what would be uploaded (--dry-run)."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def push(
    site: Annotated[Path, typer.Argument(help="Folder that `specvi leaderboard build` wrote.")],
    repo: Annotated[str, typer.Option(help="Space, OWNER/NAME; made if it is missing.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Upload nothing; write what would be uploaded into --out.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of a dry run.")] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="OWNER/NAME of a split on the Hub. May be repeated.")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a private Space.")] = False,
    branch: Annotated[str | None, typer.Option(help="Branch to commit to. Default: main.")] = None,
) -> None:
    """Upload SITE with a Space's card in one commit.

    The token comes from the environment variable HF_TOKEN, and from nowhere else.
    """
    import shlex
    import tempfile

    from specvi_benchmark.errors import UserError
    from specvi_benchmark.hub.push import push_folder, require_name, token_from_environment
    from specvi_leaderboard.cards import SHOWN, write_space

    if dry_run == (out is None):
        raise UserError("--dry-run and --out FOLDER go together", got="one without the other")
    for name in (repo, *(dataset or [])):
        require_name(name)
    token = None if dry_run else token_from_environment()
    with tempfile.TemporaryDirectory(prefix="specvi-push-") as temporary:
        folder = out or Path(temporary) / "upload"
        files = write_space(site, folder, dataset or [])
        size = sum((folder / file).stat().st_size for file in files)
        told = f"{len(files)} files, {size / 1e6:.1f} MB"
        if token is None:
            typer.echo(f"Nothing was uploaded. {told} would be, to the Space {repo}: look at {folder}")
            typer.echo(f"Next: {shlex.join(['specvi', 'leaderboard', 'push', str(site), '--repo', repo])}")
            return
        address = push_folder(
            folder,
            repo,
            token=token,
            message="Leaderboard",
            private=private,
            revision=branch,
            kind="space",
            replaced=[f"*{ending}" for ending in sorted(SHOWN)],
        )
    typer.echo(f"Uploaded {told}: {address}")
