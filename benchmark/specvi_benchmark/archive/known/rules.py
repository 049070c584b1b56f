"""Rules for turning catalogue tables into labels, read from YAML: what each row means, and what it can't mean."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from specvi_benchmark.files import StrictModel, parse_yaml, read_text, refuse_newer, validate

SCHEMA_VERSION = 1
DOUBTFUL = "doubtful-"
"""Before a class that catalogues contradict: neither its positive nor, by the recipes, its negative."""

ClassName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]


class ClassRule(StrictModel):
    """Which rows of a table are ``as``. The first rule of a table that fits a row counts.

    ``column``: names under which the column may go, the first that is there is read; with none, every row
    fits. ``like``: patterns over its values, without case.
    """

    as_: ClassName = Field(alias="as")
    column: tuple[str, ...] = ()
    like: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "ClassRule":
        if bool(self.column) != bool(self.like):
            raise ValueError("column and like go together")
        return self

    def fits(self, value: str | None) -> bool:
        """Tell whether a row with this value is meant."""
        if not self.column:
            return True
        return value is not None and any(
            fnmatchcase(value.strip().casefold(), pattern.casefold()) for pattern in self.like
        )


class CatalogueRule(StrictModel):
    """One catalogue.

    ``files``: patterns over file names in the folder of tables. ``resolution``: of the spectra its labels were
    made from; ``medium`` ones say nothing certain of a low-resolution spectrum. ``needed``: labelling is
    refused without it, since a member it alone knows would become a negative.
    """

    files: tuple[str, ...] = Field(min_length=1)
    cites: str
    address: str
    resolution: Literal["low", "medium"] = "low"
    needed: bool = True
    classes: tuple[ClassRule, ...] = Field(min_length=1)


class ClaimRule(StrictModel):
    """A claim of the survey's pipeline: never a member by itself, but no negative either."""

    as_: ClassName = Field(alias="as")
    subclass: tuple[str, ...] = ()
    object_class: tuple[str, ...] = ()

    def fits(self, object_class: str | None, subclass: str | None) -> bool:
        """Tell whether a spectrum with these claims is meant."""
        pairs = ((object_class, self.object_class), (subclass, self.subclass))
        return any(
            value is not None and fnmatchcase(value.strip(), pattern)
            for value, patterns in pairs
            for pattern in patterns
        )


class Trap(StrictModel):
    """An object known as ``known`` that is also known as one of ``also`` is doubtful as ``known``."""

    known: ClassName
    also: tuple[ClassName, ...] = Field(min_length=1)
    why: str


class LabelRules(StrictModel):
    """All rules.

    ``changing``: classes whose spectra differ from night to night, so that a label holds for the spectrum it was
    made from alone.
    """

    schema_version: Literal[1]
    name: str
    version: str
    catalogues: dict[str, CatalogueRule] = Field(min_length=1)
    claims: tuple[ClaimRule, ...] = ()
    changing: tuple[ClassName, ...] = ()
    traps: tuple[Trap, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "LabelRules":
        known = {rule.as_ for item in self.catalogues.values() for rule in item.classes}
        idle = sorted({*self.changing, *(trap.known for trap in self.traps)} - known)
        if idle:
            raise ValueError(f"no catalogue gives the class {', '.join(idle)}")
        return self

    @property
    def classes(self) -> tuple[str, ...]:
        """Return every class that these rules can give, doubtful ones too."""
        certain = {rule.as_ for item in self.catalogues.values() for rule in item.classes}
        claimed = {rule.as_ for rule in self.claims}
        return tuple(sorted(certain | claimed | {f"{DOUBTFUL}{name}" for name in certain}))


def load_rules(path: Path | None = None) -> LabelRules:
    """Read rules from a YAML file; None: the shipped ones.

    Raises
    ------
    UserError
        Faults in it.
    """
    if path is None:
        source = files("specvi_benchmark.archive.known") / "known-objects.yaml"
        text, where = source.read_text(encoding="utf-8"), "known-objects.yaml"
    else:
        text, where = read_text(path), str(path)
    content = parse_yaml(text, where)
    refuse_newer(content, SCHEMA_VERSION, where)
    return validate(LabelRules, content, where)


def matching_files(folder: Path, rules: LabelRules) -> Mapping[str, tuple[Path, ...]]:
    """Return the tables of each catalogue in a folder; case makes no difference."""
    names = sorted(path for path in folder.iterdir() if path.is_file())
    return {
        key: tuple(
            path
            for path in names
            if any(fnmatchcase(path.name.casefold(), pattern.casefold()) for pattern in item.files)
        )
        for key, item in rules.catalogues.items()
    }
