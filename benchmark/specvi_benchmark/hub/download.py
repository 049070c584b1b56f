"""Dataset repositories of the Hub, fetched at one commit."""

from dataclasses import dataclass
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.hub.troubles import hub_troubles
from specvi_benchmark.splits.official import PINNED

PREFIX = "hf:"
_WANTED = ["*.parquet", "*.json", "*.jsonl"]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A dataset as it stood at one commit; ``folder`` is in the Hub's own cache and is not to be changed."""

    repo_id: str
    revision: str
    folder: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """Return its parquet files, by name, wherever in the repository they lie."""
        return tuple(sorted(self.folder.rglob("*.parquet"), key=lambda path: path.name))


def fetch_dataset(source: str, revision: str | None = None) -> Fetched:
    """Fetch the data files of ``hf:OWNER/NAME``; what the cache holds is not fetched again.

    Parameters
    ----------
    source
        ``hf:OWNER/NAME``, or ``hf:OWNER/NAME@REVISION``.
    revision
        Branch, tag or commit. None: the pinned commit of a published dataset, else the main branch. The
        commit that was found is in the result.

    Raises
    ------
    UserError
        Not such a name, no such dataset or revision, or no way to the Hub.
    """
    from huggingface_hub import snapshot_download  # noqa: PLC0415 -- slow to import
    from huggingface_hub.errors import (  # noqa: PLC0415
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    repo_id, _, named = source.removeprefix(PREFIX).partition("@")
    wanted = revision or named or PINNED.get(repo_id)
    try:
        folder = Path(
            snapshot_download(repo_id, repo_type="dataset", revision=wanted, allow_patterns=_WANTED)
        )
    except HFValidationError:
        raise UserError("not the name of a dataset", where=source, expected="hf:OWNER/NAME") from None
    except RevisionNotFoundError:
        raise UserError(
            "no such revision", where=source, got=wanted, fix="--revision main takes the newest"
        ) from None
    except RepositoryNotFoundError:
        raise UserError(
            "no such dataset on the Hub", where=source, fix="check the name; a private one needs HF_TOKEN"
        ) from None
    except hub_troubles() as error:
        raise UserError(
            "the dataset can't be fetched",
            where=source,
            got=" ".join(str(error).split())[:200] or type(error).__name__,
            fix="check the network and HF_ENDPOINT; or give a folder with the files instead",
        ) from None
    # The cache names a snapshot's folder by its commit.
    return Fetched(repo_id, folder.name, folder)
