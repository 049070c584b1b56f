"""Licence and acknowledgement of every survey whose spectra a split holds."""

from importlib.resources import files
from typing import Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, parse_yaml, validate
from specvi_benchmark.splits.split import Split

SIMULATED = "simulated-"
OFFICIAL_LICENCE = "apache-2.0"
"""Of the published set (dataset card of Maxwell-Jia/SpecVI-Bench), and of this suite, which simulates."""


class Terms(StrictModel):
    """One survey: terms of use, and whom to thank and cite. ``licence`` is None where it has its own policy."""

    name: str
    licence: str | None
    terms: str
    address: str
    acknowledge: str
    cite: str


class _Surveys(StrictModel):
    schema_version: Literal[1]
    surveys: dict[str, Terms]


def known_surveys() -> dict[str, Terms]:
    """Return the terms of every survey the suite knows."""
    source = files("specvi_benchmark.hub") / "surveys.yaml"
    content = parse_yaml(source.read_text(encoding="utf-8"), source.name)
    return validate(_Surveys, content, source.name).surveys


def surveys_of(split: Split) -> dict[str, Terms]:
    """Return the terms of the real surveys in a split, by name; those that are not known are left out."""
    names = {candidate.spectrum.survey for candidate in split.candidates}
    return {name: terms for name, terms in known_surveys().items() if name in names}


def unknown_surveys(split: Split) -> list[str]:
    """Return the surveys of a split whose terms are not known; ``""``: spectra of no survey."""
    known = known_surveys()
    names = {candidate.spectrum.survey for candidate in split.candidates}
    return sorted(name for name in names if name not in known and not is_simulated(name))


def require_terms(split: Split) -> None:
    """Raise unless it is known under which terms every spectrum may be handed on."""
    if strange := unknown_surveys(split):
        raise UserError(
            "the terms of a survey are not known, so its spectra can't be published",
            where=f"split {split.name}",
            expected=f"spectra of {', '.join(known_surveys())}, or simulated ones",
            got=", ".join(name or "spectra without a survey" for name in strange),
            fix="add the survey to hub/surveys.yaml, or leave those candidates out",
        )


def is_simulated(survey: str) -> bool:
    """Tell whether a survey's name marks its spectra as simulated."""
    return survey.startswith(SIMULATED)


def licence_of(split: Split) -> tuple[str, str | None]:
    """Return the licence of a split as the Hub spells it, and a name for one that is no standard licence.

    Simulated spectra are under the suite's licence. Rows as published keep the published one. A split of
    several surveys is ``other``: each spectrum keeps the terms of its survey.
    """
    surveys = surveys_of(split)
    if all(candidate.label_source == "official" for candidate in split.candidates):
        return OFFICIAL_LICENCE, None
    if unknown_surveys(split):
        return "unknown", None
    if not surveys:
        return OFFICIAL_LICENCE, None
    licences = {terms.licence for terms in surveys.values()}
    if len(licences) == 1 and None not in licences:
        return str(licences.pop()), None
    return "other", "terms-of-each-survey"
