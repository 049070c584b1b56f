"""Recipes: what a split is made of, read from YAML and checked; faults are told by line and key."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import Model, StrictModel, parse_yaml, read_text, refuse_newer
from specvi_benchmark.splits.archive import Archive
from specvi_benchmark.splits.families import Family
from specvi_benchmark.splits.simulated import SimulatedArchive, SimulatedSource
from specvi_benchmark.splits.split import Part
from specvi_benchmark.tasks import TASK_KEYS
from specvi_benchmark.tasks.task import Track

SCHEMA_VERSION = 1
BALANCED: tuple[Part, ...] = ("train", "dev")
PREVALENCE = (0.14, 0.20)
"""Share of YES in ``test`` and ``cal``: about 17 %, as in the published test set (1122 of 6754)."""

PositivesFilter = Literal["none", "same_threshold"]
TaskKey = Literal["cv", "cs", "ss", "mg", "wd", "o", "b", "a", "qso"]
assert set(TASK_KEYS) == set(TaskKey.__args__)  # type: ignore[attr-defined]  # a Literal has them


class WeakClassifier(StrictModel):
    """A small classifier on the selection features, trained on positives against random others.

    ``family`` is LightGBM unless a rebuild asks what another would have selected.

    ``acceptance`` is the score above which a non-member becomes a candidate. ``folds``: an object is
    judged by a classifier that was trained without it. ``positives``: at most so many members are learnt
    from, and ``others_per_positive`` times as many random others.
    """

    acceptance: float = Field(gt=0, lt=1)
    folds: int = Field(ge=2, le=20)
    positives: int = Field(gt=0)
    others_per_positive: float = Field(gt=0)
    trees: int = Field(gt=0)
    leaves: int = Field(ge=2)
    learning_rate: float = Field(gt=0)
    family: Family = "lightgbm"


class Quality(StrictModel):
    """Which spectra may become candidates. ``snr``: least and (exclusive) greatest median S/N per pixel."""

    snr: tuple[float | None, float | None] = (None, None)
    bad_fraction: float = Field(default=1.0, ge=0, le=1)


class ClassOfTask(StrictModel):
    """Patterns (``cv-*``) over the classes under which objects are known. A pattern with ``!`` takes away.

    ``never_negative`` is the exclusion list: objects that are no positives, but that a catalogue or a
    border case makes too doubtful to be scored as negatives.
    """

    positives: tuple[str, ...] = Field(min_length=1)
    never_negative: tuple[str, ...] = ()


def _as_counts(value: object) -> object:
    """Read ``[YES, NO]`` as a mapping."""
    if isinstance(value, list) and len(value) == 2:
        return {"YES": value[0], "NO": value[1]}
    return value


class Count(StrictModel):
    """Candidates of one part: YES and NO."""

    YES: int = Field(gt=0)
    NO: int = Field(gt=0)


class CandidateSet(StrictModel):
    """Candidates of one track, by the same rule for each of its tasks.

    With ``surveys`` every chosen object is there once for each of them and once for the archive's own
    survey, the paired ``reference``. ``quality`` replaces the recipe's own where given. ``match: snr`` gives
    YES and NO of a part the same distribution of S/N: that truth of which the larger share is needed is drawn
    freely, and the other one to its S/N.
    """

    track: Track
    tasks: tuple[TaskKey, ...] = Field(min_length=1)
    positives_filter: PositivesFilter
    counts: dict[Part, Annotated[Count, BeforeValidator(_as_counts)]] = Field(min_length=1)
    quality: Quality | None = None
    match: Literal["none", "snr"] = "none"
    surveys: tuple[str, ...] = ()
    reference: str | None = None

    @model_validator(mode="after")
    def _check(self) -> "CandidateSet":
        for part, count in self.counts.items():
            share = count.YES / (count.YES + count.NO)
            if part in BALANCED and count.YES != count.NO:
                raise ValueError(
                    f"{part} must be balanced: as many YES as NO, not {count.YES} and {count.NO}"
                )
            if part not in BALANCED and not PREVALENCE[0] <= share <= PREVALENCE[1]:
                raise ValueError(f"{part} must hold about 17 % YES ({PREVALENCE[0]:.0%} to {PREVALENCE[1]:.0%}),"
                                 f" not {share:.0%}")  # fmt: skip
        if bool(self.surveys) != (self.reference is not None):
            raise ValueError("surveys and reference go together")
        return self


class StoredSource(StrictModel):
    """An ingested archive, whose folder the caller names: the spectra of one survey, with a set of labels."""

    archive: Literal["stored"]
    survey: str = Field(min_length=1)
    labels: str = Field(min_length=1)


class Recipe(StrictModel):
    """How a split is made, in full: the same recipe gives the same bytes."""

    schema_version: Literal[1]
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    version: str
    seed: int = Field(ge=0)
    source: SimulatedSource | StoredSource = Field(discriminator="archive")
    quality: Quality
    weak_classifier: WeakClassifier
    classes: dict[TaskKey, ClassOfTask]
    sets: tuple[CandidateSet, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> "Recipe":
        lacking = sorted({task for item in self.sets for task in item.tasks} - set(self.classes))
        if lacking:
            raise ValueError(f"classes says nothing about {', '.join(lacking)}")
        return self

    @property
    def tasks(self) -> tuple[TaskKey, ...]:
        """Return the tasks that a set asks for, in order of first appearance."""
        return tuple(dict.fromkeys(task for item in self.sets for task in item.tasks))

    def scaled(self, candidates: float, archive: float) -> "Recipe":
        """Return the recipe with so many times the candidates and the archive; shares stay what they are."""

        def fewer(part: Part, count: Count) -> Count:
            yes = max(1, round(count.YES * candidates))
            return Count(YES=yes, NO=yes if part in BALANCED else round(yes * count.NO / count.YES))

        source = self.source
        if isinstance(source, SimulatedSource):
            source = source.model_copy(update={"size": max(1, round(source.size * archive))})
        sets = tuple(
            item.model_copy(update={"counts": {part: fewer(part, n) for part, n in item.counts.items()}})
            for item in self.sets
        )
        return self.model_copy(update={"source": source, "sets": sets})


class _Preset(StrictModel):
    """Another shipped recipe, with so many times its candidates and its archive, and if wanted another seed or overlap."""

    schema_version: Literal[1]
    name: str
    same_as: str
    candidates: float = Field(gt=0)
    archive: float = Field(gt=0)
    seed: int | None = None
    overlap: float | None = Field(default=None, ge=0, le=1)

    def recipe(self) -> Recipe:
        """Return the recipe that is meant."""
        other = load_recipe(self.same_as).scaled(self.candidates, self.archive)
        changes: dict[str, Any] = {"name": self.name}
        if self.seed is not None:
            changes["seed"] = self.seed
        if self.overlap is not None and isinstance(other.source, SimulatedSource):
            changes["source"] = other.source.model_copy(update={"overlap": self.overlap})
        return other.model_copy(update=changes)


def shipped() -> dict[str, Traversable]:
    """Return the recipes that come with the suite, by name."""
    folder = files("specvi_benchmark.splits") / "recipes"
    found = {
        item.name.removesuffix(".yaml"): item for item in folder.iterdir() if item.name.endswith(".yaml")
    }
    return dict(sorted(found.items()))


def load_recipe(name_or_path: str | Path) -> Recipe:
    """Read the shipped recipe of that name, or a YAML file.

    Raises
    ------
    UserError
        Neither a name nor a file, or faults in it; every fault with its line and key.
    """
    if name_or_path in shipped():
        source = shipped()[str(name_or_path)]
        return _parse(source.read_text(encoding="utf-8"), f"recipe {name_or_path}")
    path = Path(name_or_path)
    if not path.exists():
        raise UserError(
            "no such recipe",
            where=name_or_path,
            expected=f"a YAML file, or one of {', '.join(shipped())}",
            fix="docs/splits.md shows a recipe",
        )
    return _parse(read_text(path), path)


def open_archive(recipe: Recipe, folder: Path | None = None) -> Archive:
    """Open the archive that a recipe names.

    Parameters
    ----------
    folder
        An ingested archive. A recipe of the simulated sky takes its spectra from there too, if given one: from
        what `specvi archive ingest simulated:RECIPE` wrote.

    Raises
    ------
    UserError
        The recipe needs a folder, or the folder lacks its survey or labels.
    """
    source = recipe.source
    if folder is None:
        if isinstance(source, SimulatedSource):
            return SimulatedArchive(source)
        raise UserError(
            "the recipe takes its spectra from an archive",
            where=f"recipe {recipe.name}, source",
            expected="the archive's folder",
            fix="give it: --archive FOLDER (specvi archive ingest makes one)",
        )
    from specvi_benchmark.archive.source import StoredArchive  # noqa: PLC0415 -- it builds on this package

    if isinstance(source, SimulatedSource):
        return StoredArchive.open(folder, survey="lamost", labels="simulated")
    return StoredArchive.open(folder, survey=source.survey, labels=source.labels)


def matches(classes: frozenset[str], patterns: Sequence[str]) -> bool:
    """Tell whether an object known as ``classes`` is meant: one of them fits a pattern and no ``!pattern``."""
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    unwanted = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    return any(
        any(fnmatchcase(name, pattern) for pattern in wanted)
        and not any(fnmatchcase(name, pattern) for pattern in unwanted)
        for name in classes
    )


def refuse_unknown_classes(recipe: Recipe, known: frozenset[str]) -> None:
    """Raise if a pattern of a task that is asked for meets no class of the archive."""
    idle = [
        f"{task}: {pattern}"
        for task in recipe.tasks
        for pattern in (*recipe.classes[task].positives, *recipe.classes[task].never_negative)
        if not any(fnmatchcase(name, pattern.removeprefix("!")) for name in known)
    ]
    if idle:
        raise UserError(
            "a pattern meets no class of the archive",
            where=f"recipe {recipe.name}, classes",
            expected=f"patterns over {', '.join(sorted(known))}",
            got=examples(idle),
        )


def _parse(text: str, where: object) -> Recipe:
    content = parse_yaml(text, where)
    refuse_newer(content, SCHEMA_VERSION, where)
    lines = _lines(text)
    if isinstance(content, dict) and "same_as" in content:
        return _checked(_Preset, content, lines, where).recipe()
    return _checked(Recipe, content, lines, where)


def _checked(
    model: type[Model], content: object, lines: Mapping[tuple[str, ...], int], where: object
) -> Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        faults = [_told(fault, lines) for fault in error.errors()]
        raise UserError(
            f"{len(faults)} fault{'s' if len(faults) > 1 else ''} in the recipe",
            where=where,
            got=examples(faults, limit=5),
            fix="correct the named lines; docs/splits.md shows a recipe, key by key",
        ) from None


def _told(fault: Any, lines: Mapping[tuple[str, ...], int]) -> str:
    place = tuple(str(part) for part in fault["loc"])
    if place[:2] in {("source", "simulated"), ("source", "stored")}:  # pydantic names the kind of source too
        place = ("source", *place[2:])
    if fault["type"].startswith("union_tag"):
        place = (*place, "archive")
    known = next(place[:length] for length in range(len(place), -1, -1) if place[:length] in lines)
    got = fault.get("input")
    shown = "" if isinstance(got, dict | list) or got is None else f" (got {got!r})"
    said = fault["msg"].removeprefix("Value error, ")
    return f"line {lines[known]}, {'.'.join(place) or 'recipe'}: {said}{shown}"


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of every key and item of a YAML text, by its path."""
    found: dict[tuple[str, ...], int] = {(): 1}

    def walk(node: yaml.Node | None, path: tuple[str, ...]) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                found[*path, str(key.value)] = key.start_mark.line + 1
                walk(value, (*path, str(key.value)))
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                found[*path, str(number)] = value.start_mark.line + 1
                walk(value, (*path, str(number)))

    walk(yaml.compose(text, Loader=yaml.SafeLoader), ())
    return found
