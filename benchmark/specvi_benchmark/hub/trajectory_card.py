"""The dataset card of a set of trajectories: everything in it is taken from the set and its record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from specvi_benchmark.hub.card import PAPER, size_category
from specvi_benchmark.hub.surveys import OFFICIAL_LICENCE, is_simulated, known_surveys

if TYPE_CHECKING:
    from huggingface_hub import DatasetCard


@dataclass(frozen=True, slots=True)
class TrajectoryFacts:
    """What a card says of a set of trajectories.

    Attributes
    ----------
    repo_id
        ``OWNER/NAME`` on the Hub.
    form, data_file
        How the conversations are written, and in which file.
    counts
        Task → truth → how many.
    states
        State → how many.
    surveys
        Of the spectra; ``""`` where it is not known.
    origin
        Where they come from, a sentence each.
    funnel
        A screening's counts, one a task, the last of all together: ``task``, ``drafted``, ``passed``, ``rate``, ``steps``.
    reviewers, rewritten
        How many people had a part in the review, and how many trajectories they changed.
    compared_with, overlap
        Splits whose held-out parts were looked through, and what is shared with them.
    """

    repo_id: str
    form: Literal["messages", "released"]
    data_file: str
    counts: Mapping[str, Mapping[str, int]]
    states: Mapping[str, int]
    surveys: Sequence[str]
    origin: Sequence[str]
    funnel: Sequence[Mapping[str, Any]]
    reviewers: int
    rewritten: int
    compared_with: Sequence[str]
    overlap: Sequence[str]


def trajectory_card(facts: TrajectoryFacts) -> "DatasetCard":
    """Return the card of a set of trajectories."""
    from huggingface_hub import DatasetCard, DatasetCardData  # noqa: PLC0415 -- slow to import

    known = known_surveys()
    simulated = any(is_simulated(name) for name in facts.surveys)
    unknown = [name for name in facts.surveys if name not in known and not is_simulated(name)]
    real = [known[name] for name in facts.surveys if name in known]
    total = sum(number for truths in facts.counts.values() for number in truths.values())
    more: dict[str, Any] = {"license_name": "terms-of-each-survey"} if real and not unknown else {}
    tags = [
        "astronomy",
        "spectroscopy",
        "agent",
        "trajectories",
        PAPER,
        *(["simulated"] if simulated else []),
    ]
    template = files("specvi_benchmark.hub") / "trajectory_card.md.jinja"
    card: DatasetCard = DatasetCard.from_template(
        card_data=DatasetCardData(
            language="en",
            license="unknown" if unknown else "other" if real else OFFICIAL_LICENCE,
            pretty_name=facts.repo_id.rsplit("/", 1)[-1],
            size_categories=[size_category(total)],
            task_categories=["image-text-to-text"],
            tags=tags,
            configs=[{"config_name": "default", "data_files": [{"split": "train", "path": facts.data_file}]}],
            **more,
        ),
        template_str=template.read_text(encoding="utf-8"),
        facts=facts,
        total=total,
        simulated=simulated,
        unknown=unknown,
        terms=real,
        is_reviewed=set(facts.states) == {"accepted"},
    )
    return card
