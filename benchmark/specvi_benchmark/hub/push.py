"""Uploads a folder to the Hub, in one commit: an exported split, or a leaderboard."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from specvi_benchmark.errors import UserError

TOKEN = "HF_TOKEN"  # noqa: S105 -- the variable's name


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


SPLIT_FILES = ("*.parquet", "split.json", "previews/*")
"""What a newer version of a split replaces; other files of its repository stay."""

Repository = Literal["dataset", "space", "model"]
_WHAT = {"dataset": "dataset", "space": "Space", "model": "model"}


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

    Raises
    ------
    UserError
        The Hub refuses: a wrong token, no right to write, or no network.
    """
    from huggingface_hub import HfApi  # noqa: PLC0415 -- slow to import
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError  # noqa: PLC0415

    api = HfApi(token=token)
    try:
        api.create_repo(
            repo_id,
            repo_type=kind,
            private=private,
            exist_ok=True,
            space_sdk="static" if kind == "space" else None,
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
    except HFValidationError:
        raise UserError(
            "not a repository's name", where="--repo", expected="OWNER/NAME", got=repo_id
        ) from None
    except (HfHubHTTPError, OSError, ValueError) as error:
        raise UserError(
            f"the Hub did not take the {_WHAT[kind]}",
            where=repo_id,
            got=str(error).splitlines()[0][:300],
            fix=f"check that {TOKEN} may write to it, and the network; the repository is as it was",
        ) from None
    return str(commit.commit_url)
