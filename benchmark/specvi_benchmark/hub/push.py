"""Uploads a folder to the Hub, in one commit: an exported split, a trained system, or a leaderboard."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.hub.troubles import hub_troubles

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?/[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?")
TOKEN = "HF_TOKEN"  # noqa: S105 -- the variable's name

SPLIT_FILES = ("*.parquet", "split.json", "previews/*")
"""What a newer version of a split replaces; other files of its repository stay."""

Repository = Literal["dataset", "space", "model"]
_WHAT = {"dataset": "dataset", "space": "Space", "model": "model"}


def token_from_environment() -> str:
    """Return the token to push with. Only the environment is asked, never a stored login.

    Raises
    ------
    UserError
        ``HF_TOKEN`` is not set.
    """
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise UserError(
            "no token to push with",
            where=f"environment variable {TOKEN}",
            expected="a token of the Hugging Face Hub that may write",
            got="nothing",
            fix=f"export {TOKEN}=…, or look at what would be uploaded: --dry-run --out FOLDER",
        )
    return token


def require_name(repo_id: str) -> None:
    """Raise unless a text can be the name of a repository, before anything is drawn or sent."""
    if not _NAME.fullmatch(repo_id):
        raise UserError("not a repository's name", where="--repo", expected="OWNER/NAME", got=repo_id)


def push_folder(
    folder: Path,
    repo_id: str,
    *,
    token: str,
    message: str,
    private: bool,
    revision: str | None,
    kind: Repository = "dataset",
    replaced: Sequence[str] = SPLIT_FILES,
) -> str:
    """Upload every file of a folder to a repository, made if it is missing; return the commit's address.

    One commit: the repository has the old state or the new one. Files that match ``replaced`` and that the
    folder no longer has are removed with it, so that no file of an earlier version stays beside the new ones.

    Parameters
    ----------
    private
        The repository is made private; one that is there already must be.

    Raises
    ------
    UserError
        The Hub refuses: a wrong token, no right to write, or no network. Or the repository is public, and
        ``private`` was asked for.
    """
    from huggingface_hub import HfApi  # noqa: PLC0415 -- slow to import

    require_name(repo_id)
    api = HfApi(token=token)
    try:
        api.create_repo(
            repo_id,
            repo_type=kind,
            private=private,
            exist_ok=True,
            space_sdk="static" if kind == "space" else None,
        )
        # A repository that is there keeps who may see it, whatever was asked for.
        if private and not api.repo_info(repo_id, repo_type=kind).private:
            raise UserError(
                "the repository is public, so nothing was uploaded",
                where=repo_id,
                expected="a private repository, as --private asks for",
                got="one that is there and public",
                fix="make it private in its settings on the Hub, choose another name, or leave --private out",
            )
        if revision is not None:
            api.create_branch(repo_id, repo_type=kind, branch=revision, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repo_id,
            repo_type=kind,
            folder_path=folder,
            commit_message=message,
            revision=revision,
            delete_patterns=list(replaced),
        )
    except hub_troubles() as error:
        raise UserError(
            f"the Hub did not take the {_WHAT[kind]}",
            where=repo_id,
            got=" ".join(str(error).split())[:300] or type(error).__name__,
            fix=f"check that {TOKEN} may write to it, and the network; nothing was committed",
        ) from None
    return str(commit.commit_url)
