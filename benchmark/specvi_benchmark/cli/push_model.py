"""Publish a trained vetter on the Hugging Face Hub with its card, or write the card only (--dry-run)."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def push_model(
    folder: Annotated[Path, typer.Argument(help="Folder that specvi fit wrote.")],
    repo: Annotated[str, typer.Option(help="Model repository, OWNER/NAME; made if it is missing.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Upload nothing; write README.md only.")] = False,
    private: Annotated[bool, typer.Option("--private", help="Make a private repository.")] = False,
    branch: Annotated[str | None, typer.Option(help="Branch to commit to. Default: main.")] = None,
) -> None:
    """Write the card into FOLDER and upload the folder in one commit.

    The token comes from the environment variable HF_TOKEN, and from nowhere else.
    """
    from specvi_benchmark.hub.push import push_folder, token_from_environment
    from specvi_benchmark.hub.system_card import write_system_card
    from specvi_benchmark.runs.fitting import read_fit_record

    token = None if dry_run else token_from_environment()
    names = write_system_card(folder, repo)
    size = sum((folder / name).stat().st_size for name in names)
    told = f"{len(names)} files, {size / 1e6:.1f} MB"
    if token is None:
        typer.echo(f"Nothing was uploaded. {told} would be, to {repo}: look at {folder / 'README.md'}")
        return
    record = read_fit_record(folder)
    address = push_folder(
        folder,
        repo,
        token=token,
        message=f"{record.vetter}, trained on {record.train}, seed {record.seed}",
        private=private,
        revision=branch,
        kind="model",
        replaced=("*.safetensors", "*.json"),
    )
    typer.echo(f"Uploaded {told}: {address}")
