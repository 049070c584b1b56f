"""A split as it is published: official schema with pictures, card, Croissant metadata and previews."""

from pathlib import Path

from specvi_benchmark.files import write_json, write_text
from specvi_benchmark.hub.card import dataset_card
from specvi_benchmark.hub.croissant import FILE_NAME as CROISSANT
from specvi_benchmark.hub.croissant import croissant
from specvi_benchmark.hub.previews import write_previews
from specvi_benchmark.splits.io import new_folder, write_files
from specvi_benchmark.splits.rows import Picture
from specvi_benchmark.splits.split import Split

CARD = "README.md"


def export_split(
    split: Split,
    folder: Path,
    *,
    repo_id: str,
    date: str,
    picture: Picture | None,
    official_names: bool = False,
) -> tuple[Path, ...]:
    """Write a split with everything a dataset repository needs; return the files, relative to ``folder``.

    The folder appears whole, and holds nothing else. It is a split folder like any other, and
    ``datasets.load_dataset(folder, GROUP)`` reads it by its card.

    Parameters
    ----------
    repo_id
        ``OWNER/NAME`` that the card names.
    date
        Of publication, ``YYYY-MM-DD``; the same split, name and date give the same bytes.
    picture
        Makes the picture of a candidate that has no published one; None leaves those pictures out.
    official_names
        Name the files with the published task spellings.

    Raises
    ------
    UserError
        The folder holds something.
    """
    with new_folder(folder) as building:
        manifest = write_files(split, building, picture=picture, official_names=official_names)
        previews = write_previews(split, building)
        write_text(building / CARD, str(dataset_card(split, manifest, repo_id, previews)))
        write_json(building / CROISSANT, croissant(split, manifest, building, repo_id, date))
        return tuple(sorted(path.relative_to(building) for path in building.rglob("*") if path.is_file()))
