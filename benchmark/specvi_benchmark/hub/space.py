"""A leaderboard as a static Space: the site's files, and the card the Hub reads."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from huggingface_hub import SpaceCard

SPACE_CARD = "README.md"


def space_card(title: str, page: str, datasets: list[str], *, licence: str = "apache-2.0") -> "SpaceCard":
    """Return the card of a static Space.

    Parameters
    ----------
    page
        The file that opens.
    datasets
        ``OWNER/NAME`` of the splits that were scored, as far as they are on the Hub.
    """
    from huggingface_hub import SpaceCard, SpaceCardData  # noqa: PLC0415 -- slow to import

    data = SpaceCardData(
        title=title,
        sdk="static",
        app_file=page,
        license=licence,
        datasets=datasets or None,
        tags=["leaderboard", "astronomy", "spectroscopy"],
    )
    told = (
        "Systems that vet candidates for rare objects in survey spectra, scored anew from their answers. Ranks are 95 % "
        "confidence sets. `leaderboard.json` holds every number; `leaderboard.schema.json` describes it."
    )
    card: SpaceCard = SpaceCard(f"---\n{data.to_yaml()}\n---\n\n# {title}\n\n{told}\n")
    return card
