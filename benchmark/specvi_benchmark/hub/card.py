"""The dataset card of a split: everything in it is taken from the split itself."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from specvi_benchmark.hub.columns import columns
from specvi_benchmark.hub.surveys import is_simulated, licence_of, surveys_of, unknown_surveys
from specvi_benchmark.splits.manifest import Manifest, count
from specvi_benchmark.splits.split import Candidate, Split

if TYPE_CHECKING:
    from huggingface_hub import DatasetCard, DatasetCardData

PAPER = "arxiv:2601.06498"
_SIZES = (1_000, 10_000, 100_000, 1_000_000)


def dataset_card(
    split: Split, manifest: Manifest, repo_id: str, previews: Mapping[str, Mapping[str, str]]
) -> "DatasetCard":
    """Return the card of a split as it is stored.

    Parameters
    ----------
    manifest
        Of the files, as `splits.io.write_split` returned it.
    repo_id
        ``OWNER/NAME`` on the Hub.
    previews
        For each group (task, and track where it is not its own) the picture's path by truth.
    """
    from huggingface_hub import DatasetCard  # noqa: PLC0415 -- slow to import

    surveys = surveys_of(split)
    simulated = _is_simulated(split)
    groups = _groups(split)
    template = files("specvi_benchmark.hub") / "dataset_card.md.jinja"
    card: DatasetCard = DatasetCard.from_template(
        card_data=_data(split, manifest, repo_id),
        template_str=template.read_text(encoding="utf-8"),
        title=f"{split.name} {split.version}",
        summary=_summary(groups, simulated=simulated),
        simulated=simulated,
        version=split.version,
        fingerprint=manifest.fingerprint,
        total=len(split.candidates),
        survey_names=", ".join(_survey_counts(split)),
        repo_id=repo_id,
        folder=repo_id.rsplit("/", 1)[-1],
        groups=groups,
        counts=list(_counts(split)),
        previews=[
            {"group": group, **{truth.lower(): f"![{truth}]({path})" for truth, path in paths.items()}}
            for group, paths in previews.items()
        ],
        columns=[{"name": path, "type": str(kind), "content": told} for path, kind, told in columns()],
        provenance=list(provenance(split)),
        traps=list(traps(split)),
        surveys=list(surveys.values()),
        unknown=unknown_surveys(split),
        sources=label_sources(split),
    )
    return card


def _data(split: Split, manifest: Manifest, repo_id: str) -> "DatasetCardData":
    from huggingface_hub import DatasetCardData  # noqa: PLC0415 -- slow to import

    licence, name = licence_of(split)
    more: dict[str, Any] = {"license_name": name, "license_link": f"https://huggingface.co/datasets/{repo_id}#licences-and-acknowledgements"} if name else {}  # fmt: skip
    tags = ["astronomy", "spectroscopy", "agent", "visual-question-answering", PAPER]
    return DatasetCardData(
        language="en",
        license=licence,
        pretty_name=f"{split.name} {split.version}",
        size_categories=[size_category(len(split.candidates))],
        task_categories=["image-text-to-text", "visual-question-answering"],
        tags=[*tags, "simulated"] if _is_simulated(split) else tags,
        configs=configs(split, manifest),
        **more,
    )


def configs(split: Split, manifest: Manifest) -> list[dict[str, Any]]:
    """Return the Hub's configurations: one a task and track, with a file for each part."""
    pairs = list(dict.fromkeys((candidate.part, candidate.group) for candidate in split.candidates))
    files_of = dict(zip(pairs, manifest.files, strict=True))
    return [
        {
            "config_name": group,
            "data_files": [
                {"split": part, "path": files_of[part, name]} for part, name in pairs if name == group
            ],
        }
        for group in dict.fromkeys(group for _, group in pairs)
    ]


def file_names(split: Split) -> list[str]:
    """Return the names that `splits.io.write_split` gives a split's files, in its order."""
    pairs = dict.fromkeys((candidate.part, candidate.group) for candidate in split.candidates)
    return [f"{part}_{group}.parquet" for part, group in pairs]


def size_category(rows: int) -> str:
    """Return the Hub's word for a number of rows."""
    names = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M")
    return names[sum(rows >= size for size in _SIZES)]


def provenance(split: Split) -> Iterator[str]:
    """Yield where spectra, labels and the choice of candidates come from."""
    recipe = split.recipe
    for name, number in _survey_counts(split).items():
        yield f"{number} spectra of {name}"
    if "hub" in recipe:
        yield f"Imported from the Hub: `{recipe['hub']}` at commit `{recipe['revision']}`"
    elif "sha256" in recipe:
        yield f"Imported from {len(recipe['sha256'])} official files, whose SHA-256 stand in `split.json`"
    labels = Counter(candidate.label_source for candidate in split.candidates)
    yield "Labels: " + "; ".join(f"{source} ({number})" for source, number in labels.most_common())
    if weak := recipe.get("weak_classifier"):
        yield (
            f"Negatives by rejection sampling: non-members to which a weak classifier "
            f"({weak.get('family', 'lightgbm')}, out of fold by object) gives more than {weak['acceptance']}"
        )
    for item in recipe.get("sets", ()):
        rule = (
            "pass the same threshold" if item["positives_filter"] == "same_threshold" else "are not filtered"
        )
        yield f"{item['track']} track ({', '.join(item['tasks'])}): positives {rule}"
    ids = Counter(candidate.object_id_source for candidate in split.candidates)
    yield "Objects known by: " + ", ".join(f"{source} ({number})" for source, number in ids.most_common())
    if extended := recipe.get("extends"):
        yield f"Extends {extended['name']} {extended['version']} (fingerprint `{extended['fingerprint']}`)"


def traps(split: Split) -> Iterator[str]:
    """Yield what a user must know not to be misled, with the numbers of this split."""
    candidates = split.candidates
    missing = sum(candidate.redshift is None for candidate in candidates)
    yield (
        f"{missing} of {len(candidates)} rows have no redshift. A pipeline's redshift can be far off exactly for rare "
        "objects: λ/(1+z) then moves every line."
    )
    bare = sum(not candidate.spectrum.has_errors for candidate in candidates)
    if bare:
        yield f"{bare} rows have no errors and no mask; their S/N is not known."
    if any(candidate.object_id_source == "file-name" for candidate in candidates):
        yield "Objects are known by file name only: a second visit of an object may stand in another part."
    names = len({candidate.spectrum.name for candidate in candidates})
    yield f"{len(candidates)} rows show {names} spectra. Intervals have to be taken over objects, not rows."
    yield "File names state field and night. Don't show them to a system: they can go with the label's source."
    unfiltered = [
        item["track"] for item in split.recipe.get("sets", ()) if item["positives_filter"] == "none"
    ]
    if unfiltered or any(candidate.label_source == "official" for candidate in candidates):
        yield "Negatives passed a threshold that positives did not have to pass: a low score of that classifier gives a YES away."
    parts = count(candidates)
    if "train" in parts and "test" in parts:
        yield "`train` is balanced, `test` is not: probabilities learnt on one need correcting for the other."
    if duplicates := split.recipe.get("duplicates"):
        yield f"{len(duplicates)} spectra or targets stand in two parts, or twice in one task; `split.json` lists them."


def label_sources(split: Split) -> list[str]:
    """Return every catalogue that the labels of a split cite, in alphabetical order."""
    cited = {
        str(entry["cites"])
        for candidate in split.candidates
        for entry in candidate.label_evidence.get("catalogues", ())
    }
    return sorted(cited)


def _summary(groups: Sequence[Mapping[str, Any]], *, simulated: bool) -> str:
    return (
        f"{'Simulated s' if simulated else 'S'}ingle-object spectra with a YES/NO question each: is it what a survey's "
        f"search for rare objects took it for? {len(groups)} {'sets' if len(groups) > 1 else 'set'} by task and track, "
        "with hard negatives. Made with the SpecVI-Bench suite."
    )


def _groups(split: Split) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for candidate in split.candidates:
        group = found.setdefault(
            candidate.group,
            {
                "name": candidate.group,
                "class_name": candidate.task.class_name,
                "track": candidate.track,
                "parts": [],
            },
        )
        if candidate.part not in group["parts"]:
            group["parts"].append(candidate.part)
    return list(found.values())


def _counts(split: Split) -> Iterator[dict[str, str]]:
    for part, groups in count(split.candidates).items():
        for group, truths in groups.items():
            yes, no = truths["YES"], truths["NO"]
            share = f"{yes / (yes + no):.0%}"
            yield {"part": part, "group": group, "yes": str(yes), "no": str(no), "share": share}


def _survey_counts(split: Split) -> dict[str, int]:
    def named(candidate: Candidate) -> str:
        spectrum = candidate.spectrum
        if is_simulated(spectrum.survey):
            return spectrum.survey
        return f"{spectrum.survey.upper()} {spectrum.release or ''}".strip()

    return dict(Counter(named(candidate) for candidate in split.candidates).most_common())


def _is_simulated(split: Split) -> bool:
    return any(is_simulated(candidate.spectrum.survey) for candidate in split.candidates)
