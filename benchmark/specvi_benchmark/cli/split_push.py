"""Publish a split on the Hugging Face Hub, or write exactly what would be uploaded (--dry-run)."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.cli.split_printing import drawing

app = typer.Typer()


@app.command()
def push(
    split: Annotated[str, typer.Argument(metavar="SPLIT", help="Split folder, or mini.")],
    repo: Annotated[str, typer.Option(help="Dataset repository, OWNER/NAME; made if it is missing.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Upload nothing; write what would be uploaded into --out.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of a dry run.")] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Make a private repository; refuse a public one that is there.")
    ] = False,
    branch: Annotated[str | None, typer.Option(help="Branch to commit to. Default: main.")] = None,
    official_names: Annotated[
        bool, typer.Option("--official-names", help="Name the files as the published ones: test_cc, test_gm.")
    ] = False,
    date: Annotated[str | None, typer.Option(help="Date of publication, YYYY-MM-DD. Default: today.")] = None,
) -> None:
    """Upload a split with pictures, card, Croissant metadata and previews in one commit.

    The token comes from the environment variable HF_TOKEN, and from nowhere else.
    """
    import tempfile

    from specvi_benchmark.cli.split_export import day
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.hub.export import export_split
    from specvi_benchmark.hub.push import push_folder, require_name, token_from_environment
    from specvi_benchmark.hub.surveys import require_terms
    from specvi_benchmark.splits.io import check_free
    from specvi_benchmark.splits.named import find_split

    if dry_run == (out is None):
        raise UserError("--dry-run and --out FOLDER go together", got="one without the other")
    require_name(repo)
    token = None if dry_run else token_from_environment()
    published = day(date)
    if out is not None:
        check_free(out)
    found = find_split(split)
    require_terms(found)
    with (
        tempfile.TemporaryDirectory(prefix="specvi-push-") as temporary,
        drawing(len(found.candidates)) as draw,
    ):
        folder = out or Path(temporary) / "upload"
        files = export_split(
            found, folder, repo_id=repo, date=published, picture=draw, official_names=official_names
        )
        size = sum((folder / file).stat().st_size for file in files)
        told = f"{len(files)} files, {size / 1e6:.1f} MB"
        if token is None:
            typer.echo(f"Nothing was uploaded. {told} would be, to {repo}: look at {folder}")
            again = ["specvi", "split", "push", split, "--repo", repo, "--date", published]
            again += ["--official-names"] if official_names else []
            again += ["--private"] if private else []
            again += ["--branch", branch] if branch else []
            typer.echo(f"Next: {shlex.join(again)}")
            return
        address = push_folder(
            folder,
            repo,
            token=token,
            message=f"{found.name} {found.version}, fingerprint {found.fingerprint[:16]}",
            private=private,
            revision=branch,
        )
    typer.echo(f"Uploaded {told}: {address}")
    typer.echo(f"Next: specvi split import hf:{repo} --out {shlex.quote(found.name)}")
